(() => {
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

  function showTip(x, y, head, rows) {
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
    tip.style.top = `${(above > 8 ? above : y + 18) + scrollY}px`;
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

  function drawGraph(host) {
    const strongest = edges[edges.length - 1].size;
    const many = names.length > 40;
    const svg = make("svg", { role: "group", "aria-label": "Task graph" }, host);
    // What is pointed at is drawn once more above the dimmed rest: thousands of lines keep their style.
    const lines = make("g", { class: "edges" }, svg), marked = make("g", {}, svg), points = make("g", {}, svg);
    const radius = many ? 5 : 7.5;
    let spots = [], hidden = 0, target = null;
    for (const edge of edges) {
      const part = edge.size / strongest;
      edge.line = make("line", {
        class: `edge ${sign(edge.weight)}`,
        "stroke-width": (0.7 + (many ? 4.5 : 7.5) * part ** 1.3).toFixed(2),
        "stroke-opacity": (0.4 + 0.5 * part).toFixed(2),
      }, lines);
    }
    const shown = () => edges.slice(hidden);
    const related = order.filter((t) => places[t] !== null);
    const nodes = new Map(related.map((t) => {
      const group = make("g", { class: `node ${groupClass(t)}`, tabindex: -1, role: "img" }, points);
      make("circle", { r: radius }, group);
      make("text", {}, group, shorten(names[t], 22));
      return [t, group];
    }));
    nodes.get(related[0]).setAttribute("tabindex", 0);

    const edgesOf = (t) => shown().filter((edge) => edge.a === t || edge.b === t).reverse();
    const other = (edge, t) => (edge.a === t ? edge.b : edge.a);

    function layOut(width) {
      const height = Math.round(clamp(width * (width < 600 ? 1.15 : 0.62), 320, many ? 760 : 600));
      const sides = width < 600 ? 34 : 70;
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      svg.setAttribute("width", width);
      svg.setAttribute("height", height);
      spots = places.map((p) => p && [sides + p[0] * (width - 2 * sides), 26 + (1 - p[1]) * (height - 62)]);
      for (const edge of edges) {
        const [[x1, y1], [x2, y2]] = [spots[edge.a], spots[edge.b]];
        for (const [key, value] of Object.entries({ x1, y1, x2, y2 })) edge.line.setAttribute(key, value.toFixed(1));
      }
      placeLabels(width, height);
    }

    function placeLabels(width, height) {
      ruler.font = "12px sans-serif";
      const overlaps = (p, q) => p[0] < q[2] && q[0] < p[2] && p[1] < q[3] && q[1] < p[3];
      const taken = related.map((t) => {
        const [x, y] = spots[t];
        return [x - radius, y - radius, x + radius, y + radius];
      });
      // The most related tasks choose first; a label that finds no room is shown when its task is pointed at.
      const strength = new Map(related.map((t) => [t, 0]));
      for (const edge of edges)
        for (const t of [edge.a, edge.b]) strength.set(t, strength.get(t) + edge.size);
      for (const t of [...related].sort((s, u) => strength.get(u) - strength.get(s))) {
        const [x, y] = spots[t], text = nodes.get(t).lastChild;
        nodes.get(t).firstChild.setAttribute("cx", x.toFixed(1));
        nodes.get(t).firstChild.setAttribute("cy", y.toFixed(1));
        const w = ruler.measureText(text.textContent).width + 4, gap = radius + 3;
        const choices = [
          ["middle", x, y + gap + 11, [x - w / 2, y + gap, x + w / 2, y + gap + 14]],
          ["middle", x, y - gap - 2, [x - w / 2, y - gap - 13, x + w / 2, y - gap + 1]],
          ["start", x + gap, y + 4, [x + gap, y - 7, x + gap + w, y + 7]],
          ["end", x - gap, y + 4, [x - gap - w, y - 7, x - gap, y + 7]],
        ];
        const inside = ([, , , box]) => box[0] >= 0 && box[2] <= width && box[1] >= 0 && box[3] <= height;
        const free = choices.find((c) => inside(c) && !taken.some((box) => overlaps(c[3], box)));
        const chosen = free || choices.find(inside) || choices[0];
        if (free) taken.push(free[3]);
        text.classList.toggle("crowded", !free);
        text.setAttribute("text-anchor", chosen[0]);
        text.setAttribute("x", clamp(chosen[1], 2, width - 2).toFixed(1));
        text.setAttribute("y", chosen[2].toFixed(1));
      }
    }

    function clear() {
      target = null;
      svg.classList.remove("pointing");
      marked.replaceChildren();
      for (const node of points.querySelectorAll(".on")) node.classList.remove("on");
      hideTip();
    }
    function light(tasks, some) {
      clear();
      svg.classList.add("pointing");
      marked.replaceChildren(...some.map((edge) => edge.line.cloneNode()));
      for (const t of tasks) nodes.get(t).classList.add("on");
    }
    const onPage = ([x, y]) => {
      const box = svg.getBoundingClientRect();
      return [box.left + x, box.top + y];
    };
    function pointAtTask(t) {
      const some = edgesOf(t);
      light([t, ...some.map((edge) => other(edge, t))], some);
      const rows = some.slice(0, 6).map((edge) => [name(other(edge, t)), number(edge.weight)]);
      if (some.length > 6) rows.push([`and ${some.length - 6} more`]);
      const count = `${some.length} ${some.length === 1 ? "relation" : "relations"} shown`;
      const head = groups[t] >= 0 ? `Group ${groups[t] + 1}, ${count}` : count;
      showTip(...onPage(spots[t]), [name(t)], [[head], ...rows]);
      nodes.get(t).setAttribute("aria-label",
        `${names[t]}. ${count}. ` + some.slice(0, 6).map((edge) =>
          `${names[other(edge, t)]}: ${inWords(edge.weight)}, weight ${number(edge.weight)}, ` +
          `correlation ${number(edge.correlation)}`).join("; "));
    }
    function pointAtEdge(edge, at) {
      light([edge.a, edge.b], [edge]);
      showTip(...onPage(at), [name(edge.a), " – ", name(edge.b)],
        [[inWords(edge.weight)], ...pairRows(edge.a, edge.b, edge.weight, edge.correlation)]);
    }
    function distance([x, y], edge) {
      const [[x1, y1], [x2, y2]] = [spots[edge.a], spots[edge.b]];
      const [dx, dy] = [x2 - x1, y2 - y1];
      const t = clamp(((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1), 0, 1);
      return Math.hypot(x - x1 - t * dx, y - y1 - t * dy);
    }
    function nearest(items, measure, within) {
      let best = null, least = within;
      for (const item of items) {
        const d = measure(item);
        if (d < least) { best = item; least = d; }
      }
      return best;
    }
    function point(event) {
      const box = svg.getBoundingClientRect(), at = [event.clientX - box.left, event.clientY - box.top];
      const task = nearest(related, (t) => Math.hypot(at[0] - spots[t][0], at[1] - spots[t][1]), radius + 7);
      const edge = task === null ? nearest(shown(), (e) => distance(at, e), 8) : null;
      if (task === null && !edge) return clear();
      if (target === (edge || task)) return;
      if (edge) pointAtEdge(edge, at);
      else pointAtTask(task);
      target = edge || task;
    }
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    svg.addEventListener("pointerleave", clear);

    for (const [t, group] of nodes) {
      group.addEventListener("focus", () => pointAtTask(t));
      group.addEventListener("blur", clear);
      group.addEventListener("keydown", (event) => {
        const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
        if (event.key === "Escape") return clear();
        if (!(event.key in steps)) return;
        event.preventDefault();
        const next = related[(related.indexOf(t) + steps[event.key] + related.length) % related.length];
        group.setAttribute("tabindex", -1);
        nodes.get(next).setAttribute("tabindex", 0);
        nodes.get(next).focus();
      });
    }

    const slider = $("strength"), words = $("strength-words");
    function hide() {
      hidden = Number(slider.value);
      edges.forEach((edge, k) => { edge.line.style.display = k < hidden ? "none" : ""; });
      const linked = new Set(shown().flatMap((edge) => [edge.a, edge.b]));
      for (const [t, group] of nodes) group.style.opacity = linked.has(t) ? "" : 0.35;
      const all = edges.length, left = all - hidden;
      words.textContent = hidden
        ? `${left} of ${all} shown: strength ${number(edges[hidden].size)} and more`
        : `all ${all} shown`;
      slider.setAttribute("aria-valuetext", words.textContent);
    }
    // A crowded graph opens with its strongest relations.
    slider.value = Math.max(0, edges.length - Math.max(3 * names.length, 30));
    slider.addEventListener("input", hide);
    $("graph-controls").hidden = false;
    hide();
    onWidth(host, layOut);
  }

  function drawMatrix(host) {
    const canvas = document.createElement("canvas"), pen = canvas.getContext("2d"), n = names.length;
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "Heat map of all pairs of tasks; the tables below hold its numbers.");
    host.append(canvas);
    let kind = document.querySelector('input[name="kind"]:checked').value, cell = 1, left = 0, top = 0, width = 0, cursor = null;
    const color = (id) => getComputedStyle($(id)).color.match(/[\d.]+/g).slice(0, 3).map(Number);
    const mix = (from, to, part) => `rgb(${from.map((c, k) => Math.round(c + part * (to[k] - c))).join(" ")})`;
    const limitOf = (half) => {
      let limit = 0;
      for (let i = 0; i < n; i++) for (let j = 0; j < i; j++) limit = Math.max(limit, Math.abs(entry(half, i, j)));
      return limit || 1;
    };

    function draw() {
      const room = clamp(width * 0.2, 60, 150);
      const labels = Math.min((width - room - 4) / n, 680 / n) >= 10;
      top = 12;
      left = labels ? room : 12;
      cell = Math.min((width - left - 4) / n, 680 / n, 64);
      left = Math.max(left, (width - cell * n) / 2);
      const [w, h, dense] = [width, Math.ceil(top + cell * n + 4), devicePixelRatio || 1];
      canvas.width = Math.round(w * dense);
      canvas.height = Math.round(h * dense);
      canvas.style.width = `${w}px`;
      canvas.style.height = `${h}px`;
      pen.setTransform(dense, 0, 0, dense, 0, 0);
      const half = data[kind], limit = limitOf(half);
      const [same, opposite, paper, ink, line] =
        ["same", "opposite", "paper", "ink", "soft"].map((id) => color(`probe-${id}`));
      const edge = (k, from) => Math.round((from + k * cell) * dense) / dense;
      order.forEach((s, i) => order.forEach((t, j) => {
        const value = entry(half, s, t), part = Math.min(1, Math.abs(value) / limit);
        pen.fillStyle = s === t ? mix(line, line, 0) : mix(paper, value > 0 ? same : opposite, part ** 0.6);
        const [x, y] = [edge(j, left), edge(i, top)];
        pen.fillRect(x, y, edge(j + 1, left) - x, edge(i + 1, top) - y);
      }));
      pen.strokeStyle = mix(line, line, 0);
      pen.strokeRect(left, top, cell * n, cell * n);
      // A frame around each group, and its colour along the sides.
      for (let i = 0; i < n;) {
        let end = i;
        while (end < n && groups[order[end]] === groups[order[i]]) end++;
        if (groups[order[i]] >= 0) {
          pen.strokeStyle = mix(ink, ink, 0);
          pen.lineWidth = 1;
          pen.strokeRect(left + i * cell, top + i * cell, (end - i) * cell, (end - i) * cell);
          const dot = document.querySelector(`.node.${groupClass(order[i])} circle`);
          if (dot) {
            pen.fillStyle = getComputedStyle(dot).fill;
            pen.fillRect(left + i * cell + 1, top - 7, (end - i) * cell - 2, 4);
            pen.fillRect(left - 7, top + i * cell + 1, 4, (end - i) * cell - 2);
          }
        }
        i = end;
      }
      if (labels) {
        pen.font = `${clamp(cell * 0.72, 8.5, 12.5)}px ${getComputedStyle(document.body).fontFamily}`;
        pen.fillStyle = mix(ink, ink, 0);
        pen.textBaseline = "middle";
        pen.textAlign = "right";
        order.forEach((t, i) => pen.fillText(fitted(names[t], Math.min(left, 170) - 14), left - 11, top + (i + 0.5) * cell));
      }
      if (cursor) {
        pen.lineWidth = 2;
        pen.strokeStyle = mix(ink, ink, 0);
        pen.strokeRect(left + cursor[1] * cell, top + cursor[0] * cell, cell, cell);
      }
      $("ramp-low").textContent = number(-limit, 2);
      $("ramp-high").textContent = "+" + number(limit, 2);
    }
    function fitted(text, room) {
      let most = [...text].length;
      // Isolated, so that a name from right to left keeps its ellipsis.
      while (most > 1 && pen.measureText(shorten(text, most)).width > room) most = Math.min(most - 1, 40);
      return `\u2068${shorten(text, most).replace(/\s+/g, " ")}\u2069`;
    }
    function show(i, j) {
      cursor = [i, j];
      draw();
      const [s, t] = [order[i], order[j]], box = canvas.getBoundingClientRect();
      const head = s === t ? [name(s)] : [name(s), " – ", name(t)];
      showTip(box.left + left + (j + 0.5) * cell, box.top + top + i * cell, head,
        pairRows(s, t, entry(data.structure, s, t), entry(data.correlation, s, t)));
    }
    function leave() { cursor = null; hideTip(); draw(); }
    function point(event) {
      const box = canvas.getBoundingClientRect();
      const [j, i] = [event.clientX - box.left - left, event.clientY - box.top - top].map((v) => Math.floor(v / cell));
      if (i < 0 || j < 0 || i >= n || j >= n) return cursor && leave();
      if (!cursor || cursor[0] !== i || cursor[1] !== j) show(i, j);
    }
    canvas.addEventListener("pointermove", point);
    canvas.addEventListener("pointerdown", point);
    canvas.addEventListener("pointerleave", leave);
    canvas.addEventListener("blur", leave);
    canvas.addEventListener("keydown", (event) => {
      const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (event.key === "Escape") leave();
      if (!move) return;
      event.preventDefault();
      const [i, j] = cursor || [0, 0];
      show(clamp(i + move[0], 0, n - 1), clamp(j + move[1], 0, n - 1));
    });
    for (const choice of document.querySelectorAll('input[name="kind"]'))
      choice.addEventListener("change", () => { kind = choice.value; draw(); });
    $("matrix-controls").hidden = false;
    onWidth(host, (now) => { width = now; draw(); });
    onTheme(draw);
  }

  /* Line charts: panels one above the other on one axis, with a cross-hair. */
  function ticks(low, high, count) {
    const rough = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
    const found = [];
    for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + 1e-9 * step; v += step) found.push(Number(v.toPrecision(12)));
    return found;
  }

  function drawPanel(svg, panel, x, width, margin) {
    const { top, height } = panel;
    const values = panel.series.flatMap((s) => s.values.concat(s.low || [], s.high || [])).filter((v) => v !== null);
    let [low, high] = [Math.min(...values), Math.max(...values)];
    if (panel.zero) [low, high] = [Math.min(0, low), Math.max(0, high)];
    if (high - low < 1e-12) [low, high] = [low - 0.5, high + 0.5];
    const pad = 0.06 * (high - low);
    if (!(panel.zero && low === 0)) low -= pad;
    high += pad;
    const y = (v) => top + height - ((v - low) / (high - low)) * height;
    const axis = make("g", { class: "axis" }, svg);
    make("text", { class: "title", x: 0, y: top - 9 }, axis, panel.title);
    for (const v of ticks(low, high, height > 110 ? 4 : 3)) {
      make("line", { x1: margin.left, x2: width - margin.right, y1: y(v), y2: y(v) }, axis);
      make("text", { x: margin.left - 7, y: y(v) + 4, "text-anchor": "end" }, axis, panel.label ? panel.label(v) : number(v));
    }
    for (const s of panel.series) {
      const known = s.values.map((v, k) => k).filter((k) => s.values[k] !== null);
      const path = (list, ks) => ks.map((k) => `${x(k).toFixed(1)},${y(list[k]).toFixed(1)}`).join("L");
      if (s.low) make("path", { class: "band", d: `M${path(s.high, known)}L${path(s.low, [...known].reverse())}Z` }, svg);
      make("path", { class: `curve ${s.kind}`, d: `M${path(s.values, known)}` }, svg);
      if (s.kind === "main")
        for (const k of known) make("circle", { class: "mark", cx: x(k).toFixed(1), cy: y(s.values[k]).toFixed(1), r: 2.6 }, svg);
    }
  }

  function drawPath(host) {
    const { mus, n_edges, scores, errors, curves } = data.path;
    const hasScores = scores.some((s) => s !== null);
    const svg = make("svg", { tabindex: 0, role: "img", "aria-label": "The path along mu; the table below holds its numbers." }, host);
    let x = () => 0, cursor = null, cross = null, floor = 0;

    function draw(width) {
      const margin = { left: 46, right: 14 }, panels = [];
      let top = 48;
      const add = (title, height, series, options) => {
        panels.push({ title, top, height, series, ...options });
        top += height + 46;
      };
      if (curves.length)
        add("weight of each relation", width < 600 ? 170 : 220,
          curves.map((c) => ({ values: c.weights, kind: sign(c.weights[c.weights.length - 1]) })), { zero: true });
      add("related pairs", 90, [{ values: n_edges, kind: "main" }], { zero: true });
      if (hasScores)
        add("score on held-out rows, ± standard error", 110, [{
          values: scores, kind: "main",
          low: scores.map((s, k) => s === null ? null : s - (errors[k] || 0)),
          high: scores.map((s, k) => s === null ? null : s + (errors[k] || 0)),
        }], {});
      floor = top - 46;
      const height = floor + 44, span = mus[mus.length - 1] - mus[0] || 1;
      const at = (mu) => margin.left + ((mu - mus[0]) / span) * (width - margin.left - margin.right);
      x = (k) => at(mus[k]);
      svg.replaceChildren();
      for (const [key, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, width, height })) svg.setAttribute(key, value);
      if (data.mu !== null && data.mu >= mus[0] && data.mu <= mus[mus.length - 1]) {
        make("line", { class: "chosen", x1: at(data.mu), x2: at(data.mu), y1: 18, y2: floor }, svg);
        const end = at(data.mu) > width / 2;
        const axis = make("g", { class: "axis" }, svg);
        make("text", { x: at(data.mu) + (end ? 4 : -4), y: 12, "text-anchor": end ? "end" : "start" }, axis, `this graph: mu = ${number(data.mu)}`);
      }
      for (const panel of panels) drawPanel(svg, panel, x, width, margin);
      const axis = make("g", { class: "axis" }, svg);
      for (const mu of ticks(mus[0], mus[mus.length - 1], width < 600 ? 4 : 8))
        make("text", { x: at(mu), y: floor + 18, "text-anchor": "middle" }, axis, number(mu));
      make("text", { x: width - margin.right, y: floor + 37, "text-anchor": "end" }, axis, "mu  →  more relations");
      make("text", { x: margin.left, y: floor + 37 }, axis, "fewer  ←");
      cross = make("line", { class: "cross", y1: 30, y2: floor, visibility: "hidden" }, svg);
    }
    function show(k) {
      cursor = k;
      for (const end of ["x1", "x2"]) cross.setAttribute(end, x(k));
      cross.setAttribute("visibility", "visible");
      const box = svg.getBoundingClientRect();
      const rows = [["threshold 1 − mu", number(1 - mus[k])], ["related pairs", String(n_edges[k])]];
      if (scores[k] !== null) rows.push(["score", `${number(scores[k], 4)} ± ${number(errors[k], 2)}`]);
      showTip(box.left + x(k), box.top + 30, [`mu = ${number(mus[k])}`], rows);
    }
    function leave() {
      cursor = null;
      if (cross) cross.setAttribute("visibility", "hidden");
      hideTip();
    }
    function point(event) {
      const at = event.clientX - svg.getBoundingClientRect().left;
      show(mus.reduce((best, _, k) => (Math.abs(x(k) - at) < Math.abs(x(best) - at) ? k : best), 0));
    }
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    svg.addEventListener("pointerleave", leave);
    svg.addEventListener("blur", leave);
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      show(clamp((cursor === null ? -step : cursor) + step, 0, mus.length - 1));
    });
    onWidth(host, draw);
  }

  function drawHistory(host) {
    const logs = data.history.map((gap) => (gap === null ? null : Math.log10(Math.max(gap, 1e-16))));
    const svg = make("svg", { role: "img", "aria-label": "The gap closing while the solver ran" }, host);
    onWidth(host, (width) => {
      const margin = { left: 46, right: 10 };
      const x = (k) => margin.left + (k / (logs.length - 1)) * (width - margin.left - margin.right);
      svg.replaceChildren();
      for (const [key, value] of Object.entries({ viewBox: `0 0 ${width} 150`, width, height: 150 })) svg.setAttribute(key, value);
      const label = (v) => (Number.isInteger(v) ? `1e${v}`.replace("-", "−") : "");
      drawPanel(svg, { title: "gap", top: 26, height: 112, series: [{ values: logs, kind: "main" }], label }, x, width, margin);
    });
  }

  /* Light and dark. */
  const watchers = [];
  function onTheme(draw) { watchers.push(draw); }
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const button = $("theme");
  function retheme() {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Switch to light colours" : "Switch to dark colours");
    watchers.forEach((draw) => draw());
  }
  button.hidden = false;
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    retheme();
  });
  system.addEventListener("change", retheme);

  const tables = [...document.querySelectorAll(".method")], choices = [...document.querySelectorAll('input[name="method"]')];
  function showMethod() {
    const at = choices.findIndex((choice) => choice.checked);
    tables.forEach((table, k) => { table.hidden = choices.length > 0 && k !== at; });
  }
  choices.forEach((choice) => choice.addEventListener("change", showMethod));
  if (choices.length) $("method-controls").hidden = false;
  showMethod();

  for (const [id, draw, wanted] of [
    ["graph-canvas", drawGraph, edges.length],
    ["matrix-canvas", drawMatrix, true],
    ["path-canvas", drawPath, true],
    ["history-canvas", drawHistory, true],
  ])
    if ($(id) && wanted) draw($(id));
  retheme();
  addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });
})();
