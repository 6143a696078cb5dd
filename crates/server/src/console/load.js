// What the node is asked for: hot partitions and slow requests.
import { byId, count, el, fill, table } from "./dom.js";
import { ask } from "./node.js";

const duration = (us) => (us < 1e6 ? `${(us / 1e3).toFixed(us < 1e4 ? 1 : 0)} ms` : `${(us / 1e6).toFixed(2)} s`);
const share = (part) => `${(100 * part).toFixed(1)} %`;
const of = (row) => [row.keyspace, row.table].filter(Boolean).join(".");

/** Asks anew and shows it; a refusal is said in place of the rows. */
export async function show() {
  try {
    const seen = await ask("load");
    fill(byId("hot"), table(
      [["table"], ["partition", "mono"], ["requests/s", "number"], ["of its core", "number"], ["core", "number"]],
      seen.hot.map((hot) => [of(hot), hot.partition_key, count(Math.round(hot.requests_per_second)), share(hot.share), hot.core]),
      "no partition was asked for more often than others in the last seconds",
    ));
    fill(byId("slow"), table(
      [["began"], ["took", "number"], ["table"], ["statement", "mono"], ["waited for"], ["client", "mono"], ["role"]],
      seen.slow.map((slow) => [
        new Date(slow.started_ms).toLocaleTimeString(), duration(slow.duration_us), of(slow), slow.statement ?? `${slow.protocol}: ${slow.kind}`, slow.waited_for,
        slow.client ?? "", slow.role ?? "",
      ]),
      "nothing was slow",
    ));
  } catch (error) {
    fill(byId("slow"), el("p", "error", error.message));
    fill(byId("hot"));
  }
}
