// The console's start: which part is shown, who has logged in, and looking at the node every other second while somebody looks at the page.
import { byId, count, el, fill, span, table } from "./dom.js";
import { ask, isLoggedIn, logIn } from "./node.js";
import * as load from "./load.js";
import * as overview from "./overview.js";
import * as query from "./query.js";
import * as schema from "./schema.js";

const EVERY_MS = 2000;
const VIEWS = ["overview", "schema", "query", "load", "clients"];
let timer = 0;

const shown = () => VIEWS.find((view) => location.hash === `#/${view}`) ?? "overview";

/** Asks and shows; a wrong login asks again, everything else is said above. */
async function look() {
  clearTimeout(timer);
  try {
    const seen = await ask("overview");
    byId("login").close();
    byId("logout").hidden = !isLoggedIn();
    health(seen);
    overview.show(seen);
    await part();
  } catch (error) {
    refused(error);
    if (error.code === 401) return;
  }
  if (!document.hidden) timer = setTimeout(look, EVERY_MS);
}

function refused(error) {
  if (error.code === 401) {
    pill("log in", "wait");
    byId("login-says").textContent = isLoggedIn() ? error.message : "";
    logIn(null);
    if (!byId("login").open) byId("login").showModal();
  } else {
    pill(error.code ? `refused (${error.code})` : "no answer", "bad");
    problems([error.code ? error.message : "The node does not answer. This page asks again every other second."]);
  }
}

/** These change every other second, too. */
async function part() {
  if (shown() === "clients") await clients();
  if (shown() === "load") await load.show();
}

async function clients() {
  try {
    const seen = await ask("clients");
    byId("clients-count").textContent = `${count(seen.count)} connections`;
    fill(byId("clients-table"), table(
      [["address", "mono"], ["role"], ["keyspace"], ["driver"], ["application"], ["protocol"], ["requests", "number"]],
      seen.clients.map((client) => [
        client.address, client.role ?? "anonymous", client.keyspace ?? "", [client.driver, client.driver_version].filter(Boolean).join(" "), client.application ?? "",
        `v${client.protocol_version}${client.is_encrypted ? ", TLS" : ""}`, count(client.requests),
      ]),
      "nobody is connected",
    ));
  } catch (error) {
    fill(byId("clients-table"), el("p", "error", error.message));
  }
}

function pill(text, kind) {
  byId("health").textContent = text;
  byId("health").className = `pill ${kind}`;
}

function problems(list) {
  byId("problems").hidden = list.length === 0;
  fill(byId("problems"), ...list.map((problem) => el("li", "", problem)));
}

function health(seen) {
  pill(seen.healthy ? "healthy" : `${seen.problems.length} problem${seen.problems.length === 1 ? "" : "s"}`, seen.healthy ? "good" : "bad");
  problems(seen.problems);
  const name = seen.cluster ? `${seen.cluster.name}, member ${seen.cluster.node ?? "–"}` : "";
  const up = seen.process.started_s === null ? "" : `up ${span(seen.time_ms / 1000 - seen.process.started_s)}`;
  byId("node").textContent = [name, seen.version, up].filter(Boolean).join(" · ");
}

function show() {
  const chosen = shown();
  for (const view of VIEWS) byId(view).hidden = view !== chosen;
  document.querySelectorAll("nav a").forEach((link) => {
    if (link.hash === `#/${chosen}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  });
  window.scrollTo(0, 0);
  if (chosen === "overview") overview.draw();
  if (byId("login").open) return;
  if (chosen === "schema") schema.show(read).catch(refused);
  if (chosen === "clients") clients();
  if (chosen === "load") load.show();
}

/** Shows the rows that a statement gives. */
function read(statement) {
  location.hash = "#/query";
  query.runThis(statement);
}

/** The browser's choice, until another is made; only the choice of colours is kept. */
function theme() {
  const isDark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const kept = localStorage.getItem("tarndb-theme");
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
  byId("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    localStorage.setItem("tarndb-theme", document.documentElement.dataset.theme);
    overview.draw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", overview.draw);
}

byId("login-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  logIn(byId("role").value, byId("password").value);
  byId("password").value = "";
  await look();
  if (isLoggedIn()) show();
});
byId("login").addEventListener("cancel", (event) => event.preventDefault());
byId("logout").addEventListener("click", () => {
  logIn(null);
  location.reload();
});
document.addEventListener("visibilitychange", () => { if (!document.hidden && !byId("login").open) look(); });
window.addEventListener("hashchange", show);
theme();
overview.start();
query.start();
look().then(show);
