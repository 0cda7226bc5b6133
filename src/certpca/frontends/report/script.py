"""The script of the page: tables are sorted, searched, copied and saved, and a slider turns over the path.

Without it the page says the same. It fetches nothing, and the policy of the page allows it by its hash alone.
"""

SCRIPT = r"""
"use strict";
(() => {
const LEAST_ROWS = 6;
const make = (tag, text, name) => {
  const element = document.createElement(tag);
  element.textContent = text || "";
  if (name) element.className = name;
  if (tag === "button") element.type = "button";
  return element;
};
const words = cell => cell.textContent.trim();
const number = text => {
  const plain = text.replace(/[\s,\u00a0%]/g, "").replace("\u2212", "-");
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(plain) ? parseFloat(plain) : null;
};
const rowsOf = table => [...table.tBodies[0].rows];
const seen = table => [...table.tHead.rows, ...rowsOf(table).filter(row => !row.hidden)]
  .map(row => [...row.cells].map(words));

const sortBy = (table, column, button) => {
  const down = button.parentElement.getAttribute("aria-sort") === "ascending";
  const key = row => words(row.cells[column]);
  const order = rowsOf(table).sort((first, second) => {
    const one = number(key(first)), two = number(key(second));
    if (one !== null && two !== null) return one - two;
    if ((one === null) !== (two === null)) return one === null ? 1 : -1;
    return key(first).localeCompare(key(second), undefined, {numeric: true});
  });
  if (down) order.reverse();
  table.tBodies[0].append(...order);
  for (const head of table.tHead.rows[0].cells) head.removeAttribute("aria-sort");
  button.parentElement.setAttribute("aria-sort", down ? "descending" : "ascending");
};

const copy = (text, done) => {
  const old = () => {
    const area = make("textarea", text);
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    done(copied);
  };
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => done(true), old);
  else old();
};
const quoted = cell => /[",\n\r]/.test(cell) ? '"' + cell.replaceAll('"', '""') + '"' : cell;
const line = row => row.map(cell => quoted(cell.replace(/^\u2212/, "-"))).join(",");
const csv = table => seen(table).map(line).join("\r\n") + "\r\n";
const save = (table, name) => {
  const link = make("a");
  link.href = URL.createObjectURL(new Blob(["\ufeff" + csv(table)], {type: "text/csv"}));
  link.download = name + ".csv";
  link.dataset.text = csv(table);
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

const equip = (table, place) => {
  for (const [column, head] of [...table.tHead.rows[0].cells].entries()) {
    const button = make("button", words(head), "sort");
    head.replaceChildren(button);
    button.addEventListener("click", () => sortBy(table, column, button));
  }
  if (rowsOf(table).length < LEAST_ROWS) return;
  const bar = make("div", "", "tools"), field = make("input"), count = make("span", "", "count");
  field.type = "search";
  field.placeholder = "search";
  field.setAttribute("aria-label", "search the table");
  count.setAttribute("role", "status");
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    let left = 0;
    for (const row of rowsOf(table)) {
      row.hidden = !words(row).toLowerCase().includes(wanted);
      left += !row.hidden;
    }
    count.textContent = wanted ? left + " of " + rowsOf(table).length : "";
  });
  const copies = make("button", "copy"), saves = make("button", "CSV");
  copies.title = "copy the rows shown, to be pasted into a spreadsheet";
  saves.title = "save the rows shown";
  copies.addEventListener("click", () => copy(seen(table).map(row => row.join("\t")).join("\n"), good => {
    copies.textContent = good ? "copied" : "not allowed";
    setTimeout(() => { copies.textContent = "copy"; }, 1500);
  }));
  saves.addEventListener("click", () => save(table, table.dataset.name || "table-" + (place + 1)));
  bar.append(field, copies, saves, count);
  table.closest(".scroll").before(bar);
};
document.querySelectorAll("table.plain").forEach(equip);

for (const box of document.querySelectorAll(".turns")) {
  const panels = [...box.querySelectorAll(".turn")], slide = make("input"), label = make("label", "", "slide");
  if (panels.length < 2) continue;
  slide.type = "range";
  slide.min = 0;
  slide.max = panels.length - 1;
  slide.value = panels.findIndex(panel => !panel.hidden);
  const told = make("output", panels[slide.value].dataset.label);
  slide.addEventListener("input", () => {
    panels.forEach((panel, place) => { panel.hidden = place !== +slide.value; });
    told.textContent = panels[slide.value].dataset.label;
  });
  label.append(make("span", box.dataset.label + " "), slide, told);
  box.prepend(label);
}
document.documentElement.dataset.ready = "yes";
})();
"""
