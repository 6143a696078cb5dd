// The first part of the console: how the node and its cluster are.
import { byId, count, el, facts, fill, micros, parts, size, span, table } from "./dom.js";
import { drawHeat, drawRates } from "./charts.js";
import { History, counted } from "./history.js";

const PROTOCOLS = { cql: "CQL", aerospike: "Aerospike", griddb: "GridDB" };
const COLOURS = ["series-1", "series-2", "series-3", "series-4", "series-5", "series-6", "series-7", "series-8", "series-9"];
const HELD = {
  clients: "held back for clients", replica: "held back by how fast the member acknowledges", device: "held back by reading from the device",
  slow: "dropped for a while: the member cannot keep up", full: "dropped for a while: the member has no room", unasked: "the member has not asked yet",
};

const history = new History();
let at = () => "";

/** Takes in an overview, and shows it. */
export function show(overview) {
  history.add(overview);
  chooseHeat(overview);
  tiles(overview);
  draw();
  memory(overview);
  device(overview);
  work(overview);
  nodes(overview);
  tables(overview);
  cores(overview);
}

const wantedHeat = () => {
  const [protocol, kind] = byId("heat-of").value.split(" ");
  return (one) => (!protocol || one.protocol === protocol) && (kind ? one.kind === kind : protocol || one.kind !== "other");
};

/** Only what has been asked of this node can be chosen. */
function chooseHeat(overview) {
  const chosen = byId("heat-of");
  const used = overview.requests.filter(({ buckets }) => buckets.some((value) => value > 0));
  const options = [["", "reads and writes"], ...used.map(({ protocol, kind }) => [`${protocol} ${kind}`, `${PROTOCOLS[protocol]} ${kind}`])];
  if (options.length === chosen.options.length) return;
  const before = chosen.value;
  fill(chosen, ...options.map(([value, name]) => Object.assign(el("option", "", name), { value })));
  chosen.value = before;
}

/** Draws the charts anew: for a new look, another size or other colours. */
export function draw() {
  const last = history.last;
  if (!last) return;
  at = drawHeat(byId("heat"), history, last.latency_bounds_us, wantedHeat());
  const used = last.requests.map(({ protocol, kind, buckets }, index) => ({ protocol, kind, index, used: buckets.some((value) => value > 0) }));
  const series = used.filter((one) => one.used).map(({ protocol, kind, index }) => ({
    name: `${PROTOCOLS[protocol]} ${kind}`,
    colour: COLOURS[index],
    wanted: (one) => one.protocol === protocol && one.kind === kind,
  }));
  drawRates(byId("rates"), history, series);
  fill(byId("rates-key"), ...series.map(({ name, colour, wanted }) => el(
    "span", "", el("i", `dot ${colour}`), `${name} `, el("b", "", count(Math.round(history.rate((look) => counted(look, wanted))))),
  )));
}

export function start() {
  byId("heat-of").addEventListener("change", draw);
  byId("heat").addEventListener("pointermove", (event) => { byId("heat-says").textContent = at(event.offsetX, event.offsetY) || "\u00a0"; });
  byId("heat").addEventListener("pointerleave", () => { byId("heat-says").textContent = "\u00a0"; });
  new ResizeObserver(draw).observe(byId("heat"));
}

const total = (overview, name) => overview.cores.reduce((all, core) => all + core[name], 0);

function tiles(overview) {
  const bounds = overview.latency_bounds_us;
  const rate = (wanted) => count(Math.round(history.rate((look) => counted(look, wanted))));
  const late = (part) => {
    const us = history.percentile(part, bounds, (one) => one.kind !== "other");
    return us === null ? "–" : `≤ ${micros(us)}`;
  };
  const errors = history.rate((look) => look.errors);
  const made = [
    ["requests/s", rate(() => true)],
    ["reads/s", rate(({ kind }) => kind === "read")],
    ["writes/s", rate(({ kind }) => kind === "write")],
    ["errors/s", count(errors < 1 ? Math.round(errors * 100) / 100 : Math.round(errors)), errors > 0 ? "bad" : ""],
    ["median", late(0.5)],
    ["99 %", late(0.99)],
    ["connections", count(total(overview, "connections"))],
    ["CPUs in use", history.rate((look) => look.cpu).toFixed(2)],
  ];
  fill(byId("tiles"), ...made.map(([name, value, kind]) => el("div", `tile ${kind || ""}`, el("span", "quiet", name), el("b", "", value))));
}

function memory(overview) {
  const limit = overview.memory_limit_bytes;
  const [index, frames, pins] = ["index_bytes", "frame_bytes", "pin_bytes"].map((name) => total(overview, name));
  const other = Math.max(0, total(overview, "memory_bytes") - index - frames - pins);
  const waiting = total(overview, "waiting_bytes");
  const list = [
    ["Index", index, "series-1"], ["Segments and cache", frames, "series-2"], ["Pinned records", pins, "series-3"], ["Buffers", other, "series-4"],
    ["Waiting requests", waiting, "series-5"],
  ];
  const used = list.reduce((all, [, value]) => all + value, 0);
  byId("memory-total").textContent = `${size(used)} of ${size(limit)}`;
  const process = overview.process.resident_bytes;
  fill(byId("memory"), parts(limit, list), facts([...list.map(([name, value, kind]) => [name, size(value), kind]), ["The process", process === null ? "–" : size(process)]]));
}

function device(overview) {
  const [used, live, capacity] = ["device_used_bytes", "live_bytes", "device_capacity_bytes"].map((name) => total(overview, name));
  const [user, defrag, pages] = ["user_bytes", "defrag_bytes", "page_bytes"].map((name) => total(overview, name));
  byId("device-total").textContent = `${size(used)} of ${size(capacity)}`;
  const obsolete = Math.max(0, used - live);
  fill(byId("device"), parts(capacity, [["Live", live, "series-1"], ["Obsolete", obsolete, "series-4"]]), facts([
    ["Live records", size(live), "series-1"],
    ["Obsolete or unused", size(obsolete), "series-4"],
    ["Written a second", size(history.rate((look) => look.written))],
    ["Reads a second", count(Math.round(history.rate((look) => look.reads)))],
    ["Write amplification", user > 0 ? ((user + defrag + pages) / user).toFixed(2) : "–"],
    ["Free segments", `${count(total(overview, "segments_free"))} of ${count(total(overview, "segments"))}`],
  ]));
}

function work(overview) {
  const items = overview.rebuilds.map(({ node, slots, left_bytes: left, bytes_per_s: speed, held_by: held }) =>
    [`Rebuilding member ${node}`, `${count(slots)} slots, about ${size(left)} left, ${size(speed)}/s${HELD[held] ? `, ${HELD[held]}` : ""}`]);
  for (const [name, title, unit] of [
    ["slots_to_index", "Building indexes", "slots left"], ["vectors_left", "Linking vectors", "left"],
    ["view_slots_left", "Building views", "slots left"], ["views_behind", "Views to catch up", "slots"],
    ["to_wipe", "Emptying slots of rows from before", "slots"], ["unserved", "Taking over", "slots"], ["unfinished_batches", "Finishing batches", "batches"],
  ]) {
    const left = total(overview, name);
    if (left > 0) items.push([title, `${count(left)} ${unit}`]);
  }
  const learners = (overview.cluster?.members ?? []).filter((member) => member.learners > 0);
  for (const member of learners) items.push([`Member ${member.id} is being rebuilt`, `${count(member.learners)} slots`]);
  const leaving = (overview.cluster?.members ?? []).filter((member) => member.leaving);
  for (const member of leaving) items.push([`Member ${member.id} is being emptied`, `${count(member.replicas)} slots left`]);
  fill(byId("work"), items.length === 0 ? el("p", "quiet", "Nothing: no rebuild, no migration, no index or view being built.") : facts(items));
}

function nodes(overview) {
  const { cluster } = overview;
  const started = overview.process.started_s;
  if (!cluster) {
    byId("cluster").textContent = overview.clustered ? "not taken in yet" : "a node by itself";
    const up = started === null ? "–" : span(overview.time_ms / 1000 - started);
    fill(byId("nodes"), table([["node"], ["state"], ["version"], ["up for"], ["cores", "number"], ["rows", "number"]],
      [["this node", el("span", "pill good", "up"), overview.version, up, overview.cores.length, count(total(overview, "rows"))]]));
    return;
  }
  byId("cluster").textContent = `${cluster.name}, led by ${cluster.leader === null ? "nobody" : `member ${cluster.leader}`}; ${cluster.short_slots} slots short, ${cluster.unavailable_slots} unavailable`;
  const slots = cluster.members.reduce((all, member) => all + member.primaries, 0);
  const state = (member) => el("span", `pill ${member.state === "up" ? "good" : member.state === "down" ? "bad" : "wait"}`, member.leaving && member.state === "down" ? "down, leaving" : member.state);
  fill(byId("nodes"), table(
    [["member", "number"], ["state"], ["slots led"], ["", "number"], ["in sync", "number"], ["rebuilding", "number"], ["address"], ["CQL"], ["place"], ["version"]],
    cluster.members.map((member) => [
      `${member.id}${member.id === cluster.node ? " (this)" : ""}`, state(member), parts(slots, [["led", member.primaries, "series-1"]]), count(member.primaries), count(member.replicas),
      count(member.learners), member.address, member.cql_address, `${member.data_center} / ${member.rack}`, `${member.version}${member.votes ? ", votes" : ""}`,
    ]),
  ));
}

function tables(overview) {
  const most = Math.max(1, ...overview.tables.map(({ bytes }) => bytes));
  fill(byId("tables"), table([["table"], ["", "wide-cell"], ["partitions", "number"], ["size", "number"]], overview.tables.slice(0, 12).map((one) =>
    [`${one.keyspace}.${one.table}`, parts(most, [["size", one.bytes, "series-2"]]), count(one.partitions), size(one.bytes)]), "no tables yet"));
}

function cores(overview) {
  fill(byId("cores"), table(
    [["core", "number"], ["clients", "number"], ["rows", "number"], ["memory", "number"], ["device", "number"], ["segments free", "number"], ["leads", "number"], ["follows", "number"], ["state"]],
    overview.cores.map((core) => [
      core.core, count(core.connections), count(core.rows), size(core.memory_bytes), size(core.device_used_bytes), count(core.segments_free), count(core.primaries), count(core.secondaries),
      core.is_full ? el("span", "pill bad", "full") : core.damaged_records > 0 ? el("span", "pill bad", `${core.damaged_records} damaged`) : el("span", "pill good", "ok"),
    ]),
  ));
}
