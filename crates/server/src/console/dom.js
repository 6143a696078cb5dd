// What makes elements and texts. Everything that comes from the node goes through `textContent`: names and values may have anything in them.

/** An element: its class, and children, which are elements or texts. */
export function el(tag, className = "", ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

export const byId = (id) => document.getElementById(id);

export const fill = (parent, ...children) => parent.replaceChildren(...children);

/** A table; columns are [title, class], cells elements or texts. */
export function table(columns, rows, empty = "none") {
  if (rows.length === 0) return el("p", "quiet", empty);
  const head = el("tr", "", ...columns.map(([title, kind]) => el("th", kind || "", title)));
  const body = rows.map((cells) => el("tr", "", ...cells.map((cell, at) => el("td", columns[at][1] || "", cell))));
  return el("table", "", el("thead", "", head), el("tbody", "", ...body));
}

/** Parts of a whole as one bar; parts are [name, value, class]. */
export function parts(whole, list) {
  const bar = el("div", "parts");
  for (const [name, value, kind] of list) {
    const part = el("span", kind);
    part.style.width = `${whole > 0 ? Math.min(100, (100 * value) / whole) : 0}%`;
    part.title = name;
    bar.append(part);
  }
  return bar;
}

/** Lines of "name … value", each with the colour of its part if it has one. */
export function facts(list) {
  return el("dl", "facts", ...list.flatMap(([name, value, kind]) => {
    const term = el("dt", "", name);
    if (kind) term.prepend(el("i", `dot ${kind}`));
    return [term, el("dd", "", value)];
  }));
}

const digits = (value) => (value >= 100 || value === 0 ? Math.round(value).toString() : value >= 10 ? value.toFixed(1) : value.toFixed(2));

export function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let at = 0;
  for (; bytes >= 1024 && at < units.length - 1; at += 1) bytes /= 1024;
  return `${at === 0 ? Math.round(bytes) : digits(bytes)} ${units[at]}`;
}

export function count(value) {
  const units = ["", " k", " M", " G", " T"];
  let at = 0;
  for (; value >= 10000 && at < units.length - 1; at += 1) value /= 1000;
  return `${at === 0 && Number.isInteger(value) ? value : digits(value)}${units[at]}`;
}

export function micros(us) {
  if (us === null || Number.isNaN(us)) return "–";
  if (us < 1000) return `${Number(digits(us))} µs`;
  return us < 1e6 ? `${Number(digits(us / 1000))} ms` : `${Number(digits(us / 1e6))} s`;
}

export function span(seconds) {
  for (const [unit, name] of [[86400, "d"], [3600, "h"], [60, "min"]]) if (seconds >= unit) return `${Math.floor(seconds / unit)} ${name}`;
  return `${Math.max(0, Math.floor(seconds))} s`;
}
