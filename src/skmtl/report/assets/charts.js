/* Line charts: panels one above the other on one axis, with a cross-hair. */
function ticks(low, high, count, least = 0) {
  const rough = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(least, [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.7));
  const found = [];
  // By count: sums of steps miss zero by their rounding.
  for (let k = Math.ceil(low / step - 1e-9); k <= high / step + 1e-9; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}

/* With so many decimals that neighbours look different, unless these are very many. */
function tickLabels(values) {
  const step = values.length > 1 ? values[1] - values[0] : 1;
  const decimals = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  return (v) => (v === 0 || decimals > 4 ? number(v) : v.toFixed(decimals).replace("-", "−"));
}

function drawPanel(svg, panel, x, width, margin) {
  const { top, height, titleAt = top - 13 } = panel;
  const values = panel.series.flatMap((s) => s.values.concat(s.low || [], s.high || [])).filter((v) => v !== null);
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (panel.zero) [low, high] = [Math.min(0, low), Math.max(0, high)];
  if (high - low < 1e-12) [low, high] = [low - 0.5, high + 0.5];
  const pad = 0.06 * (high - low);
  if (!(panel.zero && low === 0)) low -= pad;
  high += pad;
  const y = (v) => top + height - ((v - low) / (high - low)) * height;
  const axis = make("g", { class: "axis" }, svg);
  make("text", { class: "title", x: 0, y: titleAt }, axis, panel.title);
  const marked = ticks(low, high, height > 110 ? 4 : 3, panel.whole ? 1 : 0), label = panel.label || tickLabels(marked);
  for (const v of marked) {
    make("line", { x1: margin.left, x2: width - margin.right, y1: y(v), y2: y(v) }, axis);
    make("text", { x: margin.left - 7, y: y(v) + 4, "text-anchor": "end" }, axis, label(v));
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
  const { mus, n_edges, scores, errors, curves, scoring } = data.path;
  const hasScores = scores.some((s) => s !== null);
  const svg = make("svg", { tabindex: 0, role: "img", "aria-label": "The path along mu; the table below holds its numbers." }, host);
  let x = () => 0, cursor = null, cross = null, floor = 0;

  function draw(width) {
    const margin = { left: 50, right: 14 }, panels = [];
    const marked = [[data.mu, "predicts"], [data.stableMu, "to look at"]].filter(([mu], k, all) =>
      mu !== null && mu >= mus[0] && mu <= mus[mus.length - 1] && (k === 0 || mu !== all[0][0])).sort(([a], [b]) => a - b);
    // The first title, then the marks of mu, then the first panel; on paper all a little lower.
    const low = width === PAPER ? 0.8 : 1;
    let top = 34 + 14 * marked.length;
    const add = (title, tall, series, options) => {
      const height = low * tall;
      panels.push({ title, top, height, series, ...options });
      top += height + 46;
    };
    if (curves.length)
      add("weight of each relation", width < 600 ? 170 : 220,
        curves.map((c) => ({ values: c.weights, kind: sign(c.weights[c.weights.length - 1]) })), { zero: true });
    add("related pairs", 90, [{ values: n_edges, kind: "main" }], { zero: true, whole: true, label: count });
    if (hasScores)
      add(`${scoring} on held-out rows, ± error`, 110, [{
        values: scores, kind: "main",
        low: scores.map((s, k) => s === null ? null : s - (errors[k] || 0)),
        high: scores.map((s, k) => s === null ? null : s + (errors[k] || 0)),
      }], {});
    panels[0].titleAt = 12;
    floor = top - 46;
    const height = floor + 44, span = mus[mus.length - 1] - mus[0] || 1;
    const at = (mu) => margin.left + ((mu - mus[0]) / span) * (width - margin.left - margin.right);
    x = (k) => at(mus[k]);
    svg.replaceChildren();
    for (const [key, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, width, height })) svg.setAttribute(key, value);
    // Of two marks the left one has its words to the left and beneath those of the other, where there is room, and else
    // above them: then no line of one passes through the words of the other.
    const words = 130, leans = marked.length > 1 && at(marked[0][0]) > words;
    marked.forEach(([mu, what], k) => {
      const end = marked.length === 1 ? at(mu) > width / 2 : k === 0 ? leans : width - at(mu) < words;
      const y = 29 + 14 * (leans ? 1 - k : k);
      make("line", { class: "chosen", x1: at(mu), x2: at(mu), y1: y + 5, y2: floor }, svg);
      const axis = make("g", { class: "axis" }, svg);
      make("text", { class: "flag", x: at(mu) + (end ? 4 : -4), y, "text-anchor": end ? "end" : "start" }, axis, `${what}: mu = ${number(mu)}`);
    });
    for (const panel of panels) drawPanel(svg, panel, x, width, margin);
    const axis = make("g", { class: "axis" }, svg);
    for (const mu of ticks(mus[0], mus[mus.length - 1], width < 600 ? 4 : 8))
      make("text", { x: at(mu), y: floor + 18, "text-anchor": "middle" }, axis, number(mu));
    make("text", { x: width - margin.right, y: floor + 37, "text-anchor": "end" }, axis, "mu  →  more relations");
    make("text", { x: margin.left, y: floor + 37 }, axis, "fewer  ←");
    cross = make("line", { class: "cross", y1: panels[0].top, y2: floor, visibility: "hidden" }, svg);
  }
  function show(k) {
    cursor = k;
    for (const end of ["x1", "x2"]) cross.setAttribute(end, x(k));
    cross.setAttribute("visibility", "visible");
    const box = svg.getBoundingClientRect();
    const rows = [["threshold 1 − mu", number(1 - mus[k])], ["related pairs", count(n_edges[k])]];
    if (scores[k] !== null) rows.push([scoring, `${number(scores[k], 4)} ± ${number(errors[k], 2)}`]);
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
