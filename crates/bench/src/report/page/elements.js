// Elements and tables. Text only ever becomes a text node: nothing in a report can turn into markup.
"use strict";

/** el("p", {class: "x"}, "text", child, [more]) */
function el(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value != null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child != null && child !== false) element.append(child);
  }
  return element;
}

/** A cell: what is shown, and the figure itself for those who read the page with a program. */
function cell(text, value) {
  return { text, value };
}

/**
 * A table that scrolls by itself when it is wider than the page. `columns`: {head, left}; rows: arrays of text, elements or cells; the
 * first cell of a row is its heading.
 */
function table(caption, columns, rows, kind) {
  const classes = (column) => (column.left ? "left" : null);
  const head = el("tr", {}, columns.map((column) => el("th", { scope: "col", class: classes(column) }, column.head)));
  const body = rows.map((row) =>
    el("tr", {}, row.map((given, at) => {
      const { text, value } = given != null && typeof given === "object" && "text" in given && !(given instanceof Node) ? given : { text: given };
      const attributes = { class: classes(columns[at]), "data-value": value };
      return at === 0 ? el("th", { scope: "row", ...attributes }, text) : el("td", attributes, text);
    })));
  return el("div", { class: `scroll ${kind || ""}`, tabindex: 0, role: "region", "aria-label": caption },
    el("table", {}, el("caption", {}, caption), el("thead", {}, head), el("tbody", {}, body)));
}

/** Closed until asked for. */
function details(title, ...children) {
  return el("details", {}, el("summary", {}, title), children);
}

/** Names and values. */
function pairs(map) {
  const entries = Object.entries(map || {});
  return entries.length ? el("dl", { class: "pairs" }, entries.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))) : null;
}

/** A link, if it goes to the web; else its text. */
function link(text, url) {
  return /^https?:\/\//.test(url) ? el("a", { href: url, rel: "noreferrer noopener" }, text) : text;
}

/** A link to a file beside the report. */
function fileLink(path) {
  return el("a", { href: "./" + path.split("/").map(encodeURIComponent).join("/") }, path);
}
