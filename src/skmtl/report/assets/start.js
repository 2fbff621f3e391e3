/* Light and dark. */
const watchers = [];
function onTheme(draw) { watchers.push(draw); }
const system = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
const button = $("theme"), KEY = "skmtl-report-theme";
/* Some browsers keep nothing for pages that are files; then the theme is that of the system. */
function remembered() {
  try { return localStorage.getItem(KEY); } catch { return null; }
}
function remember(theme) {
  try { localStorage.setItem(KEY, theme); } catch { /* nothing to be done */ }
}
if (["light", "dark"].includes(remembered())) document.documentElement.dataset.theme = remembered();
function retheme() {
  button.textContent = isDark() ? "Light" : "Dark";
  button.setAttribute("aria-label", isDark() ? "Switch to light colours" : "Switch to dark colours");
  watchers.forEach((draw) => draw());
}
button.hidden = false;
button.addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  remember(document.documentElement.dataset.theme);
  retheme();
});
system.addEventListener("change", retheme);

const views = [...document.querySelectorAll(".view")], looks = [...document.querySelectorAll('input[name="view"]')];
function showView() {
  const at = looks.findIndex((look) => look.checked);
  views.forEach((view, k) => { view.hidden = looks.length > 0 && k !== at; });
}
looks.forEach((look) => look.addEventListener("change", showView));
if (looks.length) $("view-controls").hidden = false;
showView();
document.querySelectorAll("table.sortable").forEach(sortable);

const tables = [...document.querySelectorAll(".method")], choices = [...document.querySelectorAll('input[name="method"]')];
function showMethod() {
  const at = choices.findIndex((choice) => choice.checked);
  tables.forEach((table, k) => { table.hidden = choices.length > 0 && k !== at; });
}
choices.forEach((choice) => choice.addEventListener("change", showMethod));
if (choices.length) $("method-controls").hidden = false;
showMethod();

for (const [id, draw] of [
  ["matrix-canvas", drawMatrix],
  ["path-canvas", drawPath],
  ["history-canvas", drawHistory],
])
  if ($(id)) draw($(id));
views.forEach((view, k) => { if (data.graphs[k].edges.length) drawGraph(view, data.graphs[k]); });
retheme();
addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });
