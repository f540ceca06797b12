"use strict";
function sorted(table, column, down) {
  const order = (row) => {
    const cell = row.cells[column];
    const value = cell.dataset.sort ?? cell.textContent.trim().replaceAll(",", "");
    const number = Number(value);
    return value === "" || value === "-" ? null : Number.isNaN(number) ? value : number;
  };
  const compare = (one, other) => {
    const [a, b] = [order(one), order(other)];
    if (a === null || b === null) return (a === null) - (b === null);
    const way = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
    return down ? -way : way;
  };
  table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
}
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button")?.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((other) => other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    sorted(table, column, down);
  }));
}
const findings = document.querySelector("#findings");
if (findings) {
  const rows = [...findings.querySelectorAll("tbody tr")];
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const buttons = [...findings.querySelectorAll("[data-severity]")];
  const search = findings.querySelector("input");
  const show = () => {
    const wanted = new Set(buttons.filter((button) => button.ariaPressed === "true").map((button) => button.dataset.severity));
    let shown = 0;
    for (const row of rows) {
      const fits = wanted.has(row.cells[0].textContent) && texts.get(row).includes(search.value.toLowerCase());
      row.hidden = !fits;
      shown += fits;
    }
    findings.querySelector(".shown").textContent = shown === rows.length ? "" : `${shown} of ${rows.length}`;
  };
  search.addEventListener("input", show);
  for (const button of buttons) button.addEventListener("click", () => {
    button.ariaPressed = button.ariaPressed === "true" ? "false" : "true";
    show();
  });
}
for (const button of document.querySelectorAll(".copy")) button.addEventListener("click", async () => {
  await navigator.clipboard.writeText(button.nextElementSibling.textContent);
  button.textContent = "copied";
});
document.documentElement.dataset.ready = "yes";
