// What is declared: keyspaces and what is in them, and all of a table.
import { byId, el, fill, table } from "./dom.js";
import { ask } from "./node.js";

const quoted = (name) => `"${name.replaceAll('"', '""')}"`;

/** Shows what there is; `read` is told a statement that shows a table's rows. */
export async function show(read) {
  const { keyspaces } = await ask("schema");
  if (keyspaces.length === 0) {
    fill(byId("tree"), el("p", "quiet", "None yet."));
    fill(byId("element"), el("p", "quiet", "CREATE KEYSPACE makes one."));
    return;
  }
  const open = new Set([...byId("tree").querySelectorAll("details[open]")].map((one) => one.dataset.name));
  fill(byId("tree"), ...keyspaces.map((keyspace) => branch(keyspace, read, open.size === 0 ? keyspaces.length < 4 : open.has(keyspace.name))));
  if (!byId("element").hasChildNodes()) showKeyspace(keyspaces[0]);
}

function branch(keyspace, read, isOpen) {
  const leaf = (name, kind, act) => {
    const button = el("button", "leaf plain", name, kind ? el("span", "quiet", ` ${kind}`) : "");
    button.type = "button";
    button.addEventListener("click", () => {
      byId("tree").querySelectorAll("[aria-current]").forEach((one) => one.removeAttribute("aria-current"));
      button.setAttribute("aria-current", "true");
      act();
    });
    return button;
  };
  const made = el("details", "", el("summary", "", keyspace.name), leaf("keyspace", "", () => showKeyspace(keyspace)));
  made.dataset.name = keyspace.name;
  made.open = isOpen;
  made.append(...keyspace.tables.map((name) => leaf(name, "", () => showTable(keyspace.name, name, read))));
  made.append(...keyspace.views.map((name) => leaf(name, "view", () => showTable(keyspace.name, name, read))));
  made.append(...keyspace.types.map((type) => leaf(type.name, "type", () => showText(`${keyspace.name}.${type.name}`, "type", type.describe))));
  return made;
}

const code = (text) => el("pre", "", el("code", "", text));

function heading(name, kind, ...more) {
  return el("header", "", el("h2", "", name), el("span", "quiet", kind), ...more);
}

function showText(name, kind, text) {
  fill(byId("element"), heading(name, kind), code(text));
}

function showKeyspace(keyspace) {
  const { class: strategy, parameters } = keyspace.replication;
  const replication = [strategy, ...Object.entries(parameters).map(([name, value]) => `${name} ${value}`)].join(", ");
  const functions = [...keyspace.functions, ...keyspace.aggregates];
  fill(byId("element"), heading(keyspace.name, "keyspace"), el("p", "", replication),
    el("p", "quiet", `${keyspace.tables.length} tables, ${keyspace.views.length} views, ${keyspace.types.length} types${functions.length ? `; functions ${functions.join(", ")}` : ""}`),
    code(keyspace.describe));
}

async function showTable(keyspace, name, read) {
  const path = `schema?keyspace=${encodeURIComponent(keyspace)}&table=${encodeURIComponent(name)}`;
  let one;
  try {
    one = await ask(path);
  } catch (error) {
    fill(byId("element"), heading(`${keyspace}.${name}`, ""), el("p", "error", error.message));
    return;
  }
  const rows = el("button", "", "Show rows");
  rows.type = "button";
  rows.addEventListener("click", () => read(`SELECT * FROM ${quoted(keyspace)}.${quoted(name)} LIMIT 50`));
  const kind = one.base ? `${one.kind} of ${one.base}` : one.kind;
  fill(byId("element"), heading(`${keyspace}.${name}`, kind, rows),
    ...(one.comment ? [el("p", "comment", one.comment)] : []),
    el("div", "scroll", table([["column"], ["type", "mono"], ["part", "quiet"]], one.columns.map((column) => [column.name, column.type, column.kind]))),
    ...(one.indexes.length ? [el("h3", "", "Indexes"), el("div", "scroll", table([["index"], ["of", "mono"]], one.indexes.map((index) => [index.name, index.target])))] : []),
    ...(one.views.length ? [el("h3", "", "Views"), el("p", "", one.views.join(", "))] : []),
    el("h3", "", "Statement"), code([one.describe, ...one.indexes.map((index) => index.describe)].join("\n\n")));
}
