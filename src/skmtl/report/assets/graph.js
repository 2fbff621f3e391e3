function drawGraph(view, { groups, places, order, edges: listed }) {
  const host = view.querySelector(".graph-canvas");
  const edges = listed.map(([a, b, weight, correlation, share, moot]) =>
    ({ a, b, weight, correlation, share, moot, size: Math.abs(weight) })).reverse();
  const strongest = edges[edges.length - 1].size || 1;
  const many = names.length > 40;
  const svg = make("svg", { role: "group", "aria-label": "Task graph" }, host);
  // What is pointed at is drawn once more above the dimmed rest: thousands of lines keep their style.
  const lines = make("g", { class: "edges" }, svg), marked = make("g", {}, svg), points = make("g", {}, svg);
  const radius = many ? 5 : 7.5;
  let spots = [], hidden = 0, target = null;
  for (const edge of edges) {
    const part = edge.size / strongest;
    edge.line = make("line", {
      class: `edge ${edge.moot ? "moot" : sign(edge.weight)}`,
      "stroke-width": (0.7 + (many ? 4.5 : 7.5) * part ** 1.3).toFixed(2),
      "stroke-opacity": (0.4 + 0.5 * part).toFixed(2),
    }, lines);
  }
  const shown = () => edges.slice(hidden);
  const joined = new Set(edges.flatMap((edge) => [edge.a, edge.b]));
  const related = order.filter((t) => places[t] !== null && joined.has(t));
  const nodes = new Map(related.map((t) => {
    const group = make("g", { class: `node ${predictable[t] ? groupClass(groups[t]) : "moot"}`, tabindex: -1, role: "img", "aria-label": names[t] }, points);
    make("circle", { r: radius }, group);
    make("text", {}, group);
    return [t, group];
  }));
  nodes.get(related[0]).setAttribute("tabindex", 0);

  const edgesOf = (t) => shown().filter((edge) => edge.a === t || edge.b === t).reverse();
  const other = (edge, t) => (edge.a === t ? edge.b : edge.a);

  // Places reach further from side to side; on a narrow screen they may be turned, where more names find room then.
  function layOut(width) {
    const crowded = (turned) => { drawAt(width, turned); return points.querySelectorAll(".crowded").length; };
    if (width >= 600 || crowded(true) > crowded(false)) drawAt(width, false);
    else drawAt(width, true);
  }

  function drawAt(width, turned) {
    // Few tasks need little room, and many no more than a screen.
    const few = Math.min(1, related.length / 6), wanted = 60 + 35 * related.length * few, narrow = width < 600;
    const room = Math.min(Math.max(width * (narrow ? 1.15 : 0.62) * few, wanted), clamp(20 * related.length, 600, 860)) - 62;
    const sides = (narrow ? 52 : 70) + Math.max(0, width / 2 - 150) * (1 - few);
    // What is flat takes less room.
    const [across, up] = turned ? [1, 0] : [0, 1], levels = related.map((t) => places[t][up]);
    const highest = Math.max(...levels), height = Math.round(62 + Math.max(28, room * (highest - Math.min(...levels))));
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    spots = places.map((p) => p && [sides + p[across] * (width - 2 * sides), 26 + (highest - p[up]) * room]);
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
    const strength = new Map(related.map((t) => [t, 0])), down = new Map(strength);
    for (const edge of edges)
      for (const t of [edge.a, edge.b]) {
        const [[x1, y1], [x2, y2]] = [spots[t], spots[other(edge, t)]];
        strength.set(t, strength.get(t) + edge.size);
        down.set(t, down.get(t) + edge.size * (y2 - y1) / (Math.hypot(x2 - x1, y2 - y1) || 1));
      }
    for (const t of [...related].sort((s, u) => strength.get(u) - strength.get(s))) {
      const [x, y] = spots[t], text = nodes.get(t).lastChild;
      nodes.get(t).firstChild.setAttribute("cx", x.toFixed(1));
      nodes.get(t).firstChild.setAttribute("cy", y.toFixed(1));
      text.textContent = labels[width < 600 ? 1 : 0][t];
      const w = ruler.measureText(text.textContent).width + 4, gap = radius + 3;
      const aside = 0.75 * gap, choices = [
        ["middle", x, y + gap + 11, [x - w / 2, y + gap, x + w / 2, y + gap + 14]],
        ["middle", x, y - gap - 2, [x - w / 2, y - gap - 13, x + w / 2, y - gap + 1]],
        ["start", x + gap, y + 4, [x + gap, y - 7, x + gap + w, y + 7]],
        ["end", x - gap, y + 4, [x - gap - w, y - 7, x - gap, y + 7]],
        ...[1, -1].flatMap((s) => [
          ["start", x + aside, y + s * aside + 4 + 5 * s, [x + aside, y + s * aside - 7 + 5 * s, x + aside + w, y + s * aside + 7 + 5 * s]],
          ["end", x - aside, y + s * aside + 4 + 5 * s, [x - aside - w, y + s * aside - 7 + 5 * s, x - aside, y + s * aside + 7 + 5 * s]],
        ]),
      ];
      // Above a task whose lines lead downwards, so that none crosses its name.
      if (down.get(t) > 0) choices.unshift(...choices.splice(1, 1));
      const inside = ([, , , box]) => box[0] >= 0 && box[2] <= width && box[1] >= 0 && box[3] <= height;
      const able = choices.filter((c) => inside(c) && !taken.some((box) => overlaps(c[3], box)));
      // The first that no line crosses, or as few as can be.
      const free = nearest(able, (c) => edges.filter((edge) => crosses(c[3], spots[edge.a], spots[edge.b])).length, Infinity);
      const chosen = free || choices.find(inside) || choices[0];
      if (free) taken.push(free[3]);
      text.classList.toggle("crowded", !free);
      text.setAttribute("text-anchor", chosen[0]);
      text.setAttribute("x", clamp(chosen[1], 2, width - 2).toFixed(1));
      text.setAttribute("y", chosen[2].toFixed(1));
    }
  }

  /* Whether a line passes through a box: the part of it between the sides, and between top and bottom. */
  function crosses([left, top, right, bottom], [x1, y1], [x2, y2]) {
    let [from, to] = [0, 1];
    for (const [start, step, low, high] of [[x1, x2 - x1, left, right], [y1, y2 - y1, top, bottom]]) {
      if (Math.abs(step) < 1e-9) {
        if (start < low || start > high) return false;
        continue;
      }
      const ends = [(low - start) / step, (high - start) / step];
      [from, to] = [Math.max(from, Math.min(...ends)), Math.min(to, Math.max(...ends))];
    }
    return from < to;
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
    showTip(...onPage(spots[t]), [name(t)], [[head, "weight in A"], ...rows]);
    nodes.get(t).setAttribute("aria-label",
      `${names[t]}. ${count}. ` + some.slice(0, 6).map((edge) =>
        `${names[other(edge, t)]}: ${inWords(edge.weight)}, ` +
        pairRows(edge.weight, edge.correlation, edge.share).map((row) => row.join(" ")).join(", ")).join("; "));
  }
  const whyMoot = (edge) => unjudged.includes(edge.a) || unjudged.includes(edge.b)
    ? "a task whose labels are all the same" : "a task without clear gain over a constant";
  function pointAtEdge(edge, at) {
    light([edge.a, edge.b], [edge]);
    showTip(...onPage(at), [name(edge.a), " – ", name(edge.b)],
      [[edge.moot ? whyMoot(edge) : inWords(edge.weight)],
        ...pairRows(edge.weight, edge.correlation, edge.share)]);
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

  const controls = view.querySelector(".graph-controls");
  const slider = controls.querySelector("input"), words = controls.querySelector("output");
  function hide() {
    hidden = Number(slider.value);
    edges.forEach((edge, k) => { edge.line.style.display = k < hidden ? "none" : ""; });
    const linked = new Set(shown().flatMap((edge) => [edge.a, edge.b]));
    for (const [t, group] of nodes) group.style.opacity = linked.has(t) ? "" : 0.35;
    const all = edges.length, left = all - hidden;
    words.textContent = hidden
      ? `${count(left)} of ${count(all)} shown: strength ${number(edges[hidden].size)} and more`
      : `all ${count(all)} shown`;
    slider.setAttribute("aria-valuetext", words.textContent);
  }
  // A crowded graph opens with its strongest relations.
  slider.value = Math.max(0, edges.length - Math.max(names.length, 30));
  slider.addEventListener("input", hide);
  controls.hidden = edges.length < 2;
  hide();
  onWidth(host, layOut);
}
