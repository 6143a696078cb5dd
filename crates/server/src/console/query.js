// The query box: one statement, its rows.
import { byId, el, fill } from "./dom.js";
import { ask } from "./node.js";

export function start() {
  byId("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  byId("statement").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      run();
    }
  });
}

/** Puts a statement into the box and runs it. */
export function runThis(statement) {
  byId("statement").value = statement;
  byId("language").value = "cql";
  run();
}

function say(text, kind = "") {
  byId("answer-says").textContent = text;
  byId("answer-says").className = `says ${kind}`;
}

async function run() {
  const query = byId("statement").value.trim();
  if (!query) return;
  byId("run").disabled = true;
  say("running …", "quiet");
  try {
    show(await ask("query", { query, language: byId("language").value }));
  } catch (error) {
    byId("answer").hidden = true;
    say(error.message, "error");
  }
  byId("run").disabled = false;
}

function show({ columns, rows, has_more: hasMore, took_ms: took }) {
  say(`${rows.length} row${rows.length === 1 ? "" : "s"}${hasMore ? ", and there are more" : ""} · ${took.toFixed(1)} ms`, "quiet");
  const head = el("tr", "", ...columns.map(({ name, type }) => el("th", "", name, el("small", "", type ?? ""))));
  const cell = (value) => (value === null ? el("td", "null", "null") : el("td", "value", value));
  fill(byId("answer"), el("table", "rows", el("thead", "", head), el("tbody", "", ...rows.map((row) => el("tr", "", ...row.map(cell))))));
  byId("answer").hidden = false;
}
