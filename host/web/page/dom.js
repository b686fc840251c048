// Elements in few words.

export const byId = id => document.getElementById(id);

// An element with properties; nothing stands for no child.
export const make = (tag, set = {}, ...inside) => {
  const {data, aria, ...properties} = set;
  const element = Object.assign(document.createElement(tag), properties);
  Object.assign(element.dataset, data);
  for (const [name, value] of Object.entries(aria ?? {}))
    element.setAttribute("aria-" + name, value);
  element.append(...inside.filter(child => child !== null && child !== undefined));
  return element;
};

export const row = (...cells) => make("tr", {}, ...cells);
export const head = text => make("th", {scope: "col"}, text);
export const text = content => make("td", {}, content);
export const number = content => make("td", {className: "n"}, content);

// A table that scrolls by itself, also by keys.
export const table = (label, heads, rows, className = "") =>
  make(
    "div",
    {className: "scroll", tabIndex: 0, role: "region", ariaLabel: label},
    make(
      "table",
      {className},
      make("thead", {}, row(...heads.map(head))),
      make("tbody", {}, ...rows),
    ),
  );

export const count = value => value.toLocaleString("en");

export const ratio = value => (value === null || value === undefined ? "" : value.toFixed(2));

export const bytes = value =>
  value < 1e6 ? `${(value / 1e3).toFixed(0)} kB` : `${(value / 1e6).toFixed(1)} MB`;
