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

  const widest = () => {
    ruler.font = `12.5px ${getComputedStyle(document.body).fontFamily}`;
    return Math.max(...names.map((text) => ruler.measureText(shorten(text, 40)).width)) + 18;
  };

  function draw() {
    // Room for whole names where cells stay large enough for them.
    // On paper it takes two fifths of a page where names allow that, for it cannot be torn.
    const most = width > PAPER ? 680 : clamp(12 * n, 380, 680);
    const fits = (room) => Math.min((width - room - 4) / n, most / n) >= 10;
    const narrow = clamp(width * 0.2, 60, 150), whole = clamp(widest(), narrow, Math.max(narrow, Math.min(width * 0.36, 170)));
    const room = fits(whole) ? whole : narrow, named = fits(room);
    top = 12;
    left = named ? room : 12;
    cell = Math.min((width - left - 4) / n, most / n, width > PAPER ? 64 : 44);
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
      const value = entry(half, s, t), share = Math.min(1, Math.abs(value) / limit);
      // Only zero is empty: the faintest relation has a tint.
      const part = value === 0 ? 0 : Math.max(0.07, share ** 0.6);
      pen.fillStyle = s === t ? mix(line, line, 0) : mix(paper, value > 0 ? same : opposite, part);
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
        const dot = $(`probe-${groupClass(groups[order[i]])}`);
        if (dot) {
          pen.fillStyle = getComputedStyle(dot).backgroundColor;
          pen.fillRect(left + i * cell + 1, top - 7, (end - i) * cell - 2, 4);
          pen.fillRect(left - 7, top + i * cell + 1, 4, (end - i) * cell - 2);
        }
      }
      i = end;
    }
    if (named) {
      pen.font = `${clamp(cell * 0.72, 8.5, 12.5)}px ${getComputedStyle(document.body).fontFamily}`;
      pen.fillStyle = mix(ink, ink, 0);
      pen.textBaseline = "middle";
      pen.textAlign = "right";
      order.forEach((t, i) => pen.fillText(fitted(t, Math.min(left, 170) - 14), left - 11, top + (i + 0.5) * cell));
    }
    if (cursor) {
      pen.lineWidth = 2;
      pen.strokeStyle = mix(ink, ink, 0);
      pen.strokeRect(left + cursor[1] * cell, top + cursor[0] * cell, cell, cell);
    }
    $("ramp-low").textContent = number(-limit, 2);
    $("ramp-high").textContent = "+" + number(limit, 2);
  }
  function fitted(t, room) {
    // What tells a name apart from the others, where there is no room for the whole.
    const all = [names[t], ...labels.map((some) => some[t])];
    const text = all.find((one) => pen.measureText(one).width <= room) || all[all.length - 1];
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
      pairRows(entry(data.structure, s, t), entry(data.correlation, s, t), null), cell);
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
