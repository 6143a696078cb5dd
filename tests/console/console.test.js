// The console as an operator meets it: two nodes, one without log-ins and one with, and what a driver has written.
"use strict";

const assert = require("node:assert");
const http = require("node:http");
const { after, before, test } = require("node:test");
const { Client, auth } = require("cassandra-driver");
const { launch } = require("./browser.js");

const { CONSOLE_OPEN: open, CONSOLE_LOGIN: locked, CONSOLE_OPEN_CQL: openCql, CONSOLE_LOGIN_CQL: lockedCql } = process.env;
const KEYSPACE = "WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
const HOSTILE = "<img src=x onerror=alert(1)>";
const WAIT = { timeout: 120_000 };
let browser;
let client;

const patient = { socketOptions: { connectTimeout: 120_000, readTimeout: 120_000 }, protocolOptions: { maxSchemaAgreementWaitSeconds: 120 } };
const connect = (address, more = {}) => new Client({ contactPoints: [address], localDataCenter: "datacenter1", ...patient, ...more });
const as = (username, password) => ({ authProvider: new auth.PlainTextAuthProvider(username, password) });

before(async () => {
  browser = await launch();
  client = connect(openCql);
  for (const statement of [
    `CREATE KEYSPACE app ${KEYSPACE}`,
    "CREATE TABLE app.orders (id int PRIMARY KEY, note text, tags list<text>) WITH comment = 'about <script>alert(2)</script>'",
    "CREATE INDEX by_note ON app.orders (note)",
    `CREATE TABLE app."Hostile" (id int PRIMARY KEY, "${HOSTILE}" text)`,
    `INSERT INTO app."Hostile" (id, "${HOSTILE}") VALUES (1, '<script>alert(3)</script>')`,
    "INSERT INTO app.orders (id) VALUES (1)",
  ]) await client.execute(statement);
});
after(async () => {
  await client?.shutdown();
  await browser?.close();
});

const text = (page, selector) => page.$eval(selector, (found) => found.textContent);
const shows = (page, selector, wanted) => page.waitForFunction((where, what) => document.querySelector(where)?.textContent.includes(what), WAIT, selector, wanted);

/** Nothing was said, and nothing was asked of anybody but the node. `expected` are codes of replies that browsers tell of. */
function isClean(page, origin, expected = /^$/) {
  assert.deepStrictEqual(page.said.filter((line) => !expected.test(line)), []);
  assert.deepStrictEqual(page.asked.filter((url) => new URL(url).origin !== origin), []);
}

async function run(page, statement) {
  await page.$eval("#statement", (box, value) => { box.value = value; }, statement);
  await page.click("#run");
  await page.waitForFunction(() => !document.querySelector("#run").disabled, WAIT);
  return text(page, "#answer-says");
}

test("the overview shows the node, and its figures move with what a driver does", async () => {
  const page = await browser.open(`${open}/`);
  await shows(page, "#health", "healthy");
  await shows(page, "#nodes", "this node");
  await shows(page, "#tables", "app.orders");
  assert.strictEqual(await page.$$eval("#cores tbody tr", (rows) => rows.length), 2);
  let done = false;
  const load = (async () => { for (let id = 0; !done; id += 1) await client.execute("INSERT INTO app.orders (id, note) VALUES (?, 'x')", [id % 500], { prepare: true }); })();
  await page.waitForFunction(() => Number(document.querySelector(".tile:nth-child(3) b")?.textContent.replace(/\D/g, "")) > 0, WAIT);
  await shows(page, "#rates-key", "CQL write");
  const inked = (id) => page.$eval(id, (canvas) => new Set(new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size);
  const deadline = Date.now() + WAIT.timeout;
  while (await inked("#heat") <= 3 || await inked("#rates") <= 3) assert.ok(Date.now() < deadline, "the charts are empty");
  done = true;
  await load;
  isClean(page, open);
  await page.close();
});

test("hostile names, comments and values are texts", async () => {
  const page = await browser.open(`${open}/#/schema`);
  await shows(page, "#tree", "Hostile");
  const choose = (name) => page.$$eval(".leaf", (leaves, wanted) => leaves.find((leaf) => leaf.textContent.startsWith(wanted)).click(), name);
  await choose("orders");
  await shows(page, "#element .comment", "about <script>alert(2)</script>");
  await shows(page, "#element", "list<text>");
  await shows(page, "#element pre", "CREATE INDEX by_note ON app.orders (note);");
  await choose("Hostile");
  await shows(page, "#element table", HOSTILE);
  await page.click("#element button");
  await shows(page, "#answer", "<script>alert(3)</script>");
  assert.strictEqual(await text(page, "#answer th:nth-child(2)"), `${HOSTILE}text`);
  assert.strictEqual(await page.$$eval("main img, main script", (found) => found.length), 0);
  isClean(page, open);
  await page.close();
});

test("the query box reads, and refuses what writes", async () => {
  for (let id = 0; id <= 200; id += 1) await client.execute("INSERT INTO app.orders (id, note) VALUES (?, 'x')", [1000 + id], { prepare: true });
  const page = await browser.open(`${open}/#/query`);
  await shows(page, "#health", "healthy");
  assert.match(await run(page, "SELECT id, tags FROM app.orders WHERE id = 1;"), /^1 row · /);
  assert.deepStrictEqual(await page.$$eval("#answer td", (cells) => cells.map((cell) => [cell.textContent, cell.className])), [["1", "value"], ["null", "null"]]);
  assert.match(await run(page, "SELECT * FROM app.orders"), /^200 rows, and there are more · /);
  assert.match(await run(page, "DELETE FROM app.orders WHERE id = 1"), /^the console only reads/);
  assert.match(await run(page, "SELECT * FROM app.nothing"), /nothing/);
  assert.match(await run(page, "SELEC 1"), /SELEC/);
  assert.strictEqual((await client.execute("SELECT id FROM app.orders WHERE id = 1")).rowLength, 1);
  isClean(page, open, /status of 40[03]/);
  await page.close();
});

test("the query box reads in SQL, too", async () => {
  const page = await browser.open(`${open}/#/query`);
  await shows(page, "#health", "healthy");
  await page.select("#language", "sql");
  assert.match(await run(page, "SELECT COUNT(*) AS n, MIN(o.id), NULL AS nil FROM app.orders o JOIN app.\"Hostile\" h ON h.id = o.id"), /^1 row · /);
  assert.deepStrictEqual(await page.$$eval("#answer td", (cells) => cells.map((cell) => [cell.textContent, cell.className])), [["1", "value"], ["1", "value"], ["null", "null"]]);
  assert.match(await run(page, `SELECT "${HOSTILE}" FROM app."Hostile"`), /^1 row · /);
  assert.strictEqual(await text(page, "#answer td"), "<script>alert(3)</script>");
  assert.match(await run(page, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c"), /^200 rows, and there are more · /);
  assert.match(await run(page, "DELETE FROM app.orders"), /^SQL only reads here/);
  assert.match(await run(page, "SELECT * FROM app.absent"), /no such table: app.absent/);
  isClean(page, open, /status of 40[03]/);
  await page.close();
});

test("load shows which partitions are asked for most", async () => {
  const read = () => client.execute("SELECT note FROM app.orders WHERE id = ?", [77], { prepare: true });
  for (let number = 0; number < 4000; number += 1) await read();
  // What is counted is of the last ten to twenty seconds: it is asked for until it is shown.
  let done = false;
  const load = (async () => { while (!done) await read(); })();
  const page = await browser.open(`${open}/#/load`);
  await shows(page, "#hot td", "app.orders").finally(() => { done = true; });
  await load;
  assert.strictEqual(await text(page, "#hot td:nth-child(2)"), "77");
  await shows(page, "#slow", "");
  isClean(page, open);
  await page.close();
});

test("without a login there is a page and nothing of the node", async () => {
  const page = await browser.open(`${locked}/`);
  await page.waitForSelector("#login[open]", WAIT);
  assert.strictEqual(await text(page, "#tiles"), "");
  const logIn = async (role, password) => {
    await page.type("#role", role);
    await page.type("#password", password);
    await page.click("#login-form button");
  };
  await logIn("cassandra", "wrong");
  await shows(page, "#login-says", "wrong role or password");
  assert.ok(await page.$("#login[open]"));
  await page.$eval("#role", (box) => { box.value = ""; });
  await logIn("cassandra", "cassandra");
  await shows(page, "#health", "healthy");
  assert.strictEqual(await page.$("#login[open]"), null);
  assert.deepStrictEqual(await page.evaluate(() => [Object.keys(localStorage), Object.keys(sessionStorage), document.cookie]), [[], [], ""]);
  await page.evaluate(() => { location.hash = "#/query"; });
  assert.match(await run(page, "SELECT cluster_name FROM system.local"), /^1 row /);
  await page.click("#logout");
  await page.waitForSelector("#login[open]", WAIT);
  isClean(page, locked, /status of 40[01]/);
  await page.close();
});

test("a role reads what it may", async () => {
  const admin = connect(lockedCql, as("cassandra", "cassandra"));
  for (const statement of [
    `CREATE KEYSPACE bank ${KEYSPACE}`, "CREATE TABLE bank.open (id int PRIMARY KEY)", "CREATE TABLE bank.secret (id int PRIMARY KEY)", "INSERT INTO bank.open (id) VALUES (7)",
    "CREATE ROLE ann WITH PASSWORD = 'ann' AND LOGIN = true", "GRANT SELECT ON bank.open TO ann",
  ]) await admin.execute(statement);
  await admin.shutdown();
  const asAnn = { authorization: `Basic ${Buffer.from("ann:ann").toString("base64")}` };
  const query = (statement) => post("/api/v1/query", asAnn, JSON.stringify({ query: statement }));
  const seen = await query("SELECT id FROM bank.open");
  assert.deepStrictEqual([seen.code, JSON.parse(seen.body).rows], [200, [["7"]]]);
  const refused = await query("SELECT id FROM bank.secret");
  assert.strictEqual(refused.code, 403);
  assert.match(refused.body, /ann has no SELECT permission on <table bank\.secret>/);
  assert.strictEqual((await post("/api/v1/query", {}, "{}")).code, 401);
  assert.strictEqual((await get(locked, "/api/v1/clients", asAnn)).code, 403);
  assert.strictEqual((await get(locked, "/api/v1/overview", {})).code, 401);
});

function get(origin, path, headers) {
  return ask(origin, path, "GET", headers, "");
}

function post(path, headers, body) {
  return ask(locked, path, "POST", headers, body);
}

function ask(origin, path, method, headers, body) {
  return new Promise((done, failed) => {
    const request = http.request(`${origin}${path}`, { method, headers: { ...headers, "content-length": Buffer.byteLength(body) } }, (reply) => {
      let said = "";
      reply.setEncoding("utf8").on("data", (piece) => { said += piece; }).on("end", () => done({ code: reply.statusCode, headers: reply.headers, body: said }));
    });
    request.on("error", failed);
    request.end(body);
  });
}

test("other web pages get nothing", async () => {
  const body = JSON.stringify({ query: "SELECT * FROM app.orders" });
  const foreign = await ask(open, "/api/v1/query", "POST", { origin: "http://evil.example" }, body);
  assert.strictEqual(foreign.code, 403);
  const rebound = { host: "evil.example:8080", origin: "http://evil.example:8080" };
  assert.strictEqual((await ask(open, "/api/v1/query", "POST", rebound, body)).code, 403);
  assert.strictEqual((await get(open, "/api/v1/schema", { host: "evil.example" })).code, 403);
  assert.strictEqual((await ask(open, "/api/v1/query", "POST", {}, JSON.stringify({ query: "x".repeat(100_000) }))).code, 413);
  const page = await get(open, "/", {});
  assert.match(page.headers["content-security-policy"], /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'$/);
});

for (const width of [390, 1280, 2560]) {
  test(`${width} pixels wide nothing scrolls sideways, dark or light`, async () => {
    for (const dark of [true, false]) {
      const page = await browser.open(`${open}/`, { width, height: 900, dark });
      await shows(page, "#tables", "app.orders");
      for (const view of ["overview", "schema", "query", "clients"]) {
        await page.evaluate((to) => { location.hash = `#/${to}`; }, view);
        await page.waitForSelector(`#${view}:not([hidden])`, WAIT);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth), view);
      }
      const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
      const light = (colour) => Number(colour.match(/\d+/)[0]) > 128;
      assert.strictEqual(light(await ground()), !dark);
      await page.click("#theme");
      assert.strictEqual(light(await ground()), dark);
      await page.evaluate(() => localStorage.clear());
      isClean(page, open);
      await page.close();
    }
  });
}
