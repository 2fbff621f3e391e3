"use strict";
// Names come from users: they reach the page through textContent and setAttribute only.
const data = JSON.parse(document.getElementById("data").textContent);
const { names, groups, places, order } = data;
const SVG = "http://www.w3.org/2000/svg";
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
const entry = (half, i, j) => (i >= j ? half[(i * (i + 1)) / 2 + j] : half[(j * (j + 1)) / 2 + i]);
const shorten = (name, most) => {
  const letters = [...name];
  return letters.length <= most ? name : letters.slice(0, most - 1).join("") + "…";
};
const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
const groupClass = (t) => "g" + (groups[t] >= 0 && groups[t] < 8 ? groups[t] : "x");
const sign = (weight) => (weight > 0 ? "same" : "opposite");
const inWords = (weight) => (weight > 0 ? "move together" : "move in opposite directions");

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

const frequency = new Map(data.frequencies.map(([a, b, share]) => [`${a},${b}`, share]));
const isStudied = data.frequencies.length > 0;
const edges = [];
for (let i = 0; i < names.length; i++)
  for (let j = 0; j < i; j++) {
    const weight = entry(data.structure, i, j);
    if (weight !== 0)
      edges.push({ a: j, b: i, weight, size: Math.abs(weight), correlation: entry(data.correlation, i, j) });
  }
edges.sort((one, other) => one.size - other.size);

function pairRows(a, b, weight, correlation) {
  const rows = [["weight in A", number(weight)], ["correlation", number(correlation)]];
  if (isStudied && a !== b) {
    const share = frequency.get(`${Math.min(a, b)},${Math.max(a, b)}`) || 0;
    rows.push(["found again", `${Math.round(100 * share)}% of halves`]);
  }
  return rows;
}

/* Redraw when the width changes, and only then. */
function onWidth(element, draw) {
  let last = 0;
  new ResizeObserver(() => {
    const width = Math.floor(element.clientWidth);
    if (width > 0 && width !== last) { last = width; draw(width); }
  }).observe(element);
}
