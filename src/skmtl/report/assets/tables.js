/* Tables sort by a column when its head is pressed. */
const valueOf = (cell) => {
  const text = cell.textContent.trim(), value = parseFloat(text.replace("−", "-").replace(/,/g, ""));
  return cell.classList.contains("n") ? (Number.isNaN(value) ? -Infinity : value) : text.toLowerCase();
};

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, column) => {
    // Bars are drawn from numbers that have a column of their own.
    if (head.classList.contains("bars") || body.rows.length < 2) return;
    const press = document.createElement("button");
    press.type = "button";
    press.className = "sort";
    // Browsers leave buttons out where they print the head of a table again on the next page.
    head.dataset.label = head.textContent;
    press.append(...head.childNodes);
    head.append(press);
    press.addEventListener("click", () => {
      const numeric = head.classList.contains("n");
      const before = head.getAttribute("aria-sort");
      // Numbers begin with the largest, words with the first.
      const down = before ? before === "ascending" : numeric;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].map((row) => [valueOf(row.cells[column]), row]);
      rows.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
      body.append(...rows.map(([, row]) => row));
    });
  });
}
