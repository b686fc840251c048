// Filters and sorts the table of kernels, and sets two kernels side by side. The page reads without it.
(() => {
"use strict";
const all = document.getElementById("all"), tools = document.getElementById("tools");
if (!all) return;
const make = (tag, set, ...inside) => {
  const element = Object.assign(document.createElement(tag), set);
  element.append(...inside);
  return element;
};
const body = all.tBodies[0], rows = [...body.rows];
const names = rows.map(row => row.cells[0].textContent);

// Filter.
const wanted = make("input", {type: "search", id: "wanted", autocomplete: "off"});
const shown = make("output", {});
wanted.addEventListener("input", () => {
  const words = wanted.value.toLowerCase().split(/\s+/);
  const match = row => words.every(word => row.textContent.toLowerCase().includes(word));
  rows.forEach(row => row.hidden = !match(row));
  shown.value = rows.filter(row => !row.hidden).length + " of " + rows.length;
});

// Sort: a number where a cell begins with one, thousands set apart by narrow spaces.
const value = cell => {
  const text = cell.textContent.replace(/\u202f/g, ""), number = parseFloat(text);
  return Number.isNaN(number) ? text : number;
};
const compare = (a, b) => typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1;
[...all.tHead.rows[0].cells].forEach((head, index) => {
  const button = make("button", {type: "button"}, ...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => {
    const falling = head.getAttribute("aria-sort") === "ascending";
    for (const other of all.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const empty = row => row.cells[index].textContent.trim() === "";
    rows.sort((a, b) => empty(a) - empty(b)
      || (falling ? -1 : 1) * compare(value(a.cells[index]), value(b.cells[index])));
    body.append(...rows);
  });
});

// Two kernels side by side.
const article = name => document.getElementById("kernel-" + name);
const choice = (id, chosen) => make("select", {id}, ...names.map(name =>
  make("option", {value: name, selected: name === chosen}, name)));
const one = choice("one", names[0]), other = choice("other", names[1] || names[0]);
const facts = name => {
  const found = new Map();
  const row = rows.find(row => row.cells[0].textContent === name);
  [...row.cells].slice(1).forEach((cell, index) =>
    found.set(all.tHead.rows[0].cells[index + 1].textContent, cell.textContent));
  for (const fact of article(name).querySelectorAll("dl.facts div"))
    found.set(fact.querySelector("dt").textContent, fact.querySelector("dd").textContent);
  return found;
};
const source = name => [...article(name).querySelectorAll("table.source")].slice(0, 1).flatMap(table =>
  [...table.tBodies[0].rows].map(row => ({share: row.cells[0].textContent, text: row.cells[4].textContent})));
// The longest common subsequence of lines, then what each has alone.
const pairs = (a, b) => {
  const same = (i, j) => a[i].text.trim() === b[j].text.trim();
  const longest = Array.from({length: a.length + 1}, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      longest[i][j] = same(i, j) ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
  const lines = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && same(i, j)) lines.push([a[i++], b[j++]]);
    else if (j === b.length || i < a.length && longest[i + 1][j] >= longest[i][j + 1]) lines.push([a[i++], null]);
    else lines.push([null, b[j++]]);
  }
  return lines;
};
const table = (label, head, lines, set) => {
  const header = make("tr", {}, ...head.map(text => make("th", {scope: "col"}, text)));
  const scroll = make("div", {className: "scroll", tabIndex: 0, role: "region", ariaLabel: label},
    make("table", set, make("thead", {}, header), make("tbody", {}, ...lines)));
  return scroll;
};
const show = () => {
  const [a, b] = [one.value, other.value], [left, right] = [facts(a), facts(b)];
  const keys = [...new Set([...left.keys(), ...right.keys()])];
  const counters = keys.map(key => make("tr", {}, make("th", {scope: "row"}, key),
    make("td", {className: "n"}, left.get(key) || ""), make("td", {className: "n"}, right.get(key) || "")));
  const half = (line, alone) => [make("td", {className: "n"}, line ? line.share : ""),
    make("td", {className: "code" + (line && alone ? " alone" : "")}, line ? line.text : "")];
  const lines = pairs(source(a), source(b)).map(([x, y]) =>
    make("tr", {}, ...half(x, !y), ...half(y, !x)));
  document.getElementById("diff").replaceChildren(
    make("h3", {}, a + " beside " + b),
    table("Figures of both", ["figure", a, b], counters, {}),
    table("Source of both", ["%", a, "%", b], lines, {className: "source"}));
};
tools.append(
  make("p", {}, make("label", {htmlFor: "wanted"}, "Only those with "), wanted, " ", shown),
  make("p", {}, make("label", {htmlFor: "one"}, "Compare "), one, " ",
    make("label", {htmlFor: "other"}, "with "), other, " ",
    Object.assign(make("button", {type: "button"}, "Side by side"), {onclick: show})));
tools.hidden = false;
})();
