"use strict";
// Names come from users: they reach the page through textContent and setAttribute only.
const data = JSON.parse(document.getElementById("data").textContent);
const { names, labels, groups, order, predictable, unjudged } = data;
const SVG = "http://www.w3.org/2000/svg";
document.documentElement.classList.add("scripted");
const $ = (id) => document.getElementById(id);
const tip = $("tip");
const ruler = document.createElement("canvas").getContext("2d");

function make(tag, attributes = {}, parent = null, text = null) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== null) element.textContent = text;
  if (parent) parent.append(element);
  return element;
}

const number = (value, digits = 3) =>
  value === null ? "–" : Number(value.toPrecision(digits)).toString().replace("-", "−");
const count = (value) => value.toLocaleString("en");
const entry = (half, i, j) => (i >= j ? half[(i * (i + 1)) / 2 + j] : half[(j * (j + 1)) / 2 + i]);
const shorten = (name, most) => {
  const letters = [...name];
  if (letters.length <= most) return name;
  // Beginnings and ends tell names apart.
  const tail = Math.floor((most - 1) / 2);
  return letters.slice(0, most - 1 - tail).join("") + "…" + letters.slice(letters.length - tail).join("");
};
const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
const groupClass = (group) => "g" + (group >= 0 && group < 8 ? group : "x");
const sign = (weight) => (weight > 0 ? "same" : "opposite");
const inWords = (weight) => (weight > 0 ? "positive weight" : "negative weight");

/* The tooltip: a head of task names, then rows of a label and a value. */
function name(t) {
  const element = document.createElement("bdi");
  element.className = "name";
  element.textContent = names[t];
  return element;
}

function showTip(x, y, head, rows, drop = 0) {
  const top = document.createElement("span");
  top.className = "head";
  top.append(...head);
  const lines = rows.map((cells) => {
    const line = document.createElement("div");
    line.append(...cells.map((cell) => {
      if (cell instanceof Node) return cell;
      const span = document.createElement("span");
      span.textContent = cell;
      return span;
    }));
    return line;
  });
  tip.replaceChildren(top, ...lines);
  tip.hidden = false;
  const width = document.documentElement.clientWidth;
  const box = tip.getBoundingClientRect();
  const above = y - box.height - 14;
  tip.style.left = `${clamp(x - box.width / 2, 8, Math.max(8, width - box.width - 8)) + scrollX}px`;
  tip.style.top = `${(above > 8 ? above : y + drop + 14) + scrollY}px`;
}
const hideTip = () => { tip.hidden = true; };

function pairRows(weight, correlation, share) {
  const rows = [["weight in A", number(weight)]];
  if (correlation !== null) rows.push(["correlation", number(correlation)]);
  if (share !== null) rows.push(["found on", `${Math.round(100 * share)}% of halves`]);
  return rows;
}

/* Redraw when the width changes, and only then. */
/* On paper a drawing is as wide as the page, and its letters as large as those around it. */
const PAPER = 640;
function onWidth(element, draw) {
  let last = 0;
  addEventListener("beforeprint", () => { if (last > PAPER) draw(PAPER); });
  addEventListener("afterprint", () => { if (last > PAPER) draw(last); });
  new ResizeObserver(() => {
    const width = Math.floor(element.clientWidth);
    if (width > 0 && width !== last) { last = width; draw(width); }
  }).observe(element);
}
