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
