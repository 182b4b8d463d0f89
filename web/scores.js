// Sorts the table of scores by a column: the highest numbers first, names from A; a second time the other way round.

const body = document.querySelector("tbody");
const headings = [...document.querySelectorAll("th")];

// Numbers have commas between thousands, and perhaps an asterisk; a dash is less than any.
function value(row, column) {
  const text = row.cells[column].textContent.trim();
  if (!headings[column].classList.contains("number")) return text.toLowerCase();
  const number = Number.parseFloat(text.replaceAll(",", ""));
  return Number.isNaN(number) ? -Infinity : number;
}

function sort(column) {
  const heading = headings[column];
  const first = heading.classList.contains("number") ? "descending" : "ascending";
  const other = first === "descending" ? "ascending" : "descending";
  const order = heading.getAttribute("aria-sort") === first ? other : first;
  for (const each of headings) each.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  const rows = [...body.rows].map((row) => [value(row, column), row]);
  rows.sort(([a], [b]) => (a < b ? -sign : a > b ? sign : 0));
  body.append(...rows.map(([, row]) => row));
}

headings.forEach((heading, column) => heading.firstChild.addEventListener("click", () => sort(column)));
