// The parts of a report, each a function from data to an element, or to null where there is nothing to show.
// `all` is a list of series: {label, index, run, target, timelines, rounds}, one for each target of each run; rounds.js says what `rounds` is.
"use strict";

const PERCENTILES = [["p50", "p50", 2.2, null], ["p95", "p95", 1.4, null], ["p99", "p99", 1.1, [5, 3]], ["p999", "p99.9", 1, [1.5, 2.5]]];

/** Series that have a phase of this name: {series, phase, at, columns}, `at` its place. */
function withPhase(all, name) {
  return all.flatMap((series) => series.target.phases.map((phase, at) => ({ series, phase, at, columns: series.timelines[at] })).filter(({ phase }) => phase.name === name));
}

function phaseNames(all) {
  return [...new Set(all.flatMap(({ target }) => target.phases.map(({ name }) => name)))];
}

/** A run before the one that is measured is of a kind of its own here. */
function kindOf(phase) {
  return phase.kind === "run" && phase.name === "warm-up" ? "warm-up" : phase.kind;
}

function operationNames(shown) {
  return [...new Set(shown.flatMap(({ phase }) => phase.operations.map(({ operation }) => operation)))];
}

function warningBox(runs) {
  const lines = runs.flatMap(({ label, warnings }) => warnings.map((warning) => (label ? `${label}: ${warning}` : warning)));
  if (!lines.length) return null;
  return el("section", { class: "warnings", role: "alert", "aria-label": "Warnings" },
    el("h2", {}, lines.length === 1 ? "Read this first" : `Read these ${lines.length} first`),
    el("ul", {}, lines.map((line) => el("li", {}, line))));
}

/** Whether run `at` was run under other conditions than the first, or is of another study. */
function isUnlikeFirst(differences, at) {
  return differences.some(({ kind, values }) => kind !== "version" && values[at] !== values[0]);
}

/** What runs beside each other do not have in common. */
function differenceSection(runs, differences) {
  if (!differences.length) return null;
  const grave = differences.filter(({ kind }) => kind !== "version");
  const said = differences.some(({ kind }) => kind === "study") ? "These runs are of different studies: ratios between them say nothing."
    : grave.length ? "These runs were not made under the same conditions: a part of each ratio comes from that. ≠ marks what is not like the first run." : null;
  return el("section", { class: grave.length ? "differences warnings" : "differences", role: grave.length ? "alert" : null },
    el("h2", {}, grave.length ? "Not the same" : "What differs"), said ? el("p", {}, said) : null,
    table("What differs between the runs", [{ head: "", left: true }, ...runs.map(({ label }) => ({ head: label, left: true }))],
      differences.map(({ what, kind, values }) => [kind === "version" ? what : `${what} ≠`, ...values]), "events"));
}

/** Ratios beside the paper's: a bar on a logarithmic scale from 1, the paper's ratio as a mark on it. */
function ratioSection(run, all) {
  const { ratios, study } = run.report;
  if (!ratios.length) return null;
  const figures = ratios.flatMap(({ measured, paper, measured_spread: spread }) => [measured, paper, spread?.lowest, spread?.highest]).filter((value) => value > 0);
  const low = Math.min(1, ...figures);
  const high = Math.max(2, ...figures) * 1.08;
  const place = (value) => (Math.log(value / low) / Math.log(high / low)) * 100;
  const bar = (ratio) => {
    const index = all.find(({ target, run: of }) => of === run && target.name === ratio.subject)?.index ?? 0;
    const [from, to] = [place(1), place(ratio.measured || 1)].sort((a, b) => a - b);
    const spread = ratio.measured > 0 ? ratio.measured_spread : null;
    const told = spread ? whiskerText(times, ratio.measured, spread) : times(ratio.measured);
    return el("div", { class: `bullet series-${index % SERIES_COLOURS}`, role: "img", "aria-label": `${told}, paper ${timesGiven(ratio.paper)}`, title: spread ? told : null },
      ratio.measured > 0 ? el("span", { class: "bar", style: `left:${from}%;width:${Math.max(0.6, to - from)}%` }) : null,
      low < 1 ? el("span", { class: "one", style: `left:${place(1)}%` }) : null,
      ratio.paper > 0 ? el("span", { class: "mark", style: `left:${place(ratio.paper)}%` }) : null,
      spread ? whisker(place(spread.lowest) / 100, place(spread.highest) / 100) : null);
  };
  const figure = (show, value, spread) => [show(value), spread ? rangeText(show, spread.lowest, spread.highest) : null];
  const pairsOf = [...new Set(ratios.map(({ subject, baseline }) => `${subject}\n${baseline}`))];
  return el("section", { id: "ratios" }, pairsOf.map((pair) => {
    const [subject, baseline] = pair.split("\n");
    const rows = ratios.filter((ratio) => ratio.subject === subject && ratio.baseline === baseline).map((ratio) => [
      [ratio.measure, ratio.measured_spread?.rounds < run.report.repeats ? el("small", { class: "range" }, `${ratio.measured_spread.rounds} of ${run.report.repeats} rounds`) : null],
      cell(ratio.subject_value == null ? NONE : figure((value) => `${number(value)} ${ratio.unit}`, ratio.subject_value, ratio.subject_spread), ratio.subject_value),
      cell(ratio.baseline_value == null ? NONE : figure((value) => `${number(value)} ${ratio.unit}`, ratio.baseline_value, ratio.baseline_spread), ratio.baseline_value),
      cell([el("strong", {}, times(ratio.measured)), ratio.measured_spread ? rangeText(times, ratio.measured_spread.lowest, ratio.measured_spread.highest) : null], ratio.measured),
      cell(timesGiven(ratio.paper), ratio.paper),
      bar(ratio),
    ]);
    return table(`${subject} against ${baseline}: how many times better`, [
      { head: "Measure", left: true }, { head: subject }, { head: baseline }, { head: "Measured" },
      { head: study.paper ? "Paper" : "Expected" }, { head: "", left: true },
    ], rows, "ratios");
  }), el("p", { class: "caption" }, `Bars are ratios from 1 on a logarithmic scale; the upright mark is ${study.paper ? "the paper's" : "the study's"}. For latencies, twice as good is half as long.`,
    run.rounds ? ` ${WHISKERS} Ratios are of a round to the same round of the other.` : null));
}

/** Replies and latencies of a phase: a row an operation and target. */
function figureTable(name, shown) {
  const rows = shown.flatMap(({ series, phase, at }) => phase.operations.map((operation, place) => {
    const figure = (of, show) => spreadCell(series, (target) => of(target.phases[at].operations[place]), show);
    return [
      cell(el("span", { class: `name series-${series.index % SERIES_COLOURS}` }, el("span", { class: "swatch", "aria-hidden": "true" }), series.label, phase.complete ? null : el("em", {}, " unfinished"), roundsOf(series, at))),
      operation.operation,
      figure((one) => one.throughput, number),
      ...["mean", "p50", "p95", "p99", "p999", "max"].map((name) => figure((one) => one.latency[name], latency)),
      figure((one) => one.replies, count),
      figure((one) => one.errors, count),
    ];
  }));
  return table(`${name}: replies and latencies`, [
    { head: "Target", left: true }, { head: "Operation", left: true }, { head: "Replies/s" }, { head: "mean" }, { head: "p50" }, { head: "p95" }, { head: "p99" },
    { head: "p99.9" }, { head: "max" }, { head: "Replies" }, { head: "Errors" },
  ], rows);
}

/** Evenness, and what a phase took of target and client. */
function resourceTable(name, shown) {
  const rows = shown.map(({ series, phase: { resources: { client_limited: isLimit } }, at }) => {
    const figure = (of, show, text) => spreadCell(series, (target) => of(target.phases[at]), show, text);
    // What stands there is by reply, what the cell holds is of the phase.
    const each = (of, show) => {
      const byReply = (target) => {
        const replies = target.phases[at].operations.reduce((sum, operation) => sum + operation.replies, 0);
        const value = of(target.phases[at].resources);
        return value == null || !replies ? null : value / replies;
      };
      const { text } = spreadCell(series, byReply, (value) => (value == null ? NONE : show(value)));
      return cell(text, of(series.target.phases[at].resources));
    };
    return [
      series.label,
      figure((one) => one.seconds, duration),
      figure((one) => one.throughput, number),
      figure((one) => one.variation, percent),
      figure((one) => one.drift, percent),
      each((of) => of.target_cpu_s, (seconds) => latency(seconds * 1e6)),
      figure((one) => one.resources.target_memory_peak, bytes),
      each((of) => of.device_read, bytes),
      each((of) => of.device_written, bytes),
      each(({ target_network_received: received, target_network_sent: sent }) => (received == null && sent == null ? null : (received || 0) + (sent || 0)), bytes),
      each((of) => of.network_received + of.network_sent, bytes),
      each((of) => of.client_cpu_s, (seconds) => latency(seconds * 1e6)),
      figure((one) => one.resources.client_busiest, percent, (value) => el("span", { class: isLimit ? "alarm" : null }, percent(value) + (isLimit ? " limit" : ""))),
    ];
  });
  return table(`${name}: evenness and resources, each by reply`, [
    { head: "Target", left: true }, { head: "Took" }, { head: "Replies/s" }, { head: "Variation" }, { head: "Drift" }, { head: "Target CPU" }, { head: "Memory peak" },
    { head: "Device read" }, { head: "Device write" }, { head: "Target network" }, { head: "Client network" }, { head: "Client CPU" }, { head: "Busiest client thread" },
  ], rows);
}

/** Means of tenths of a phase: what a chart over time says, in figures. */
function tenths(shown, valuesOf, show) {
  const columns = [{ head: "From", left: true }, ...shown.map(({ series }) => ({ head: series.label }))];
  const end = Math.max(...shown.map(({ columns: { t, width } }) => (t.length ? t[t.length - 1] + width / 2 : 0)));
  const parts = Math.min(10, Math.max(1, Math.ceil(end / Math.max(...shown.map(({ columns: { width } }) => width)))));
  const rows = [];
  for (let tenth = 0; tenth < parts; tenth += 1) {
    const [from, to] = [(end * tenth) / parts, (end * (tenth + 1)) / parts];
    rows.push([duration(from), ...shown.map((one) => {
      const values = valuesOf(one).filter((value, at) => value != null && one.columns.t[at] >= from && one.columns.t[at] < to);
      const mean = values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
      return cell(mean == null ? NONE : show(mean), mean);
    })]);
  }
  return table("Means of intervals", columns, rows);
}

function widthNote(shown) {
  const width = Math.max(1, ...shown.map(({ columns }) => columns.width));
  return width > 1 ? `A point is ${duration(width)}: the mean; the tint reaches from the lowest to the highest second in it.` : "A point is a second.";
}

function eventMarks(shown) {
  return shown.flatMap(({ series, phase }) => phase.events.map((event) => ({
    at: event.second, text: shown.length > 1 ? `${event.what} · ${series.label}` : event.what, group: series.label, index: series.index,
  }))).sort((a, b) => a.at - b.at);
}

/** Throughput of one operation, or of all together. */
function throughputChart(name, shown, operation) {
  const rateOf = (columns, figure) => {
    if (operation) return columns.operations[operation]?.[figure] || [];
    const each = Object.values(columns.operations);
    return columns.t.map((_, at) => each.reduce((sum, of) => sum + (of[figure][at] || 0), 0));
  };
  const some = shown.filter(({ columns }) => columns.t.length && (!operation || columns.operations[operation]));
  if (!some.length) return null;
  // The lowest second of a sum is not the sum of the lowest seconds: a tint only where it is true.
  const single = operation || operationNames(some).length === 1;
  const others = faintRounds(some, operation);
  return chart({
    title: operation ? `${operation}: replies a second` : "Replies a second",
    caption: (single ? widthNote(some) : widthNote(some).replace(/: the mean;.*/, ": the mean.")) + (others.length ? " Faint: the other rounds." : ""),
    x: "time", sync: name, format: (value) => `${number(value)}/s`, axisFormat: rateShort, wide: !operation, choice: true, marks: eventMarks(some),
    series: [...others, ...some.map(({ series, columns }) => ({
      name: series.label, group: series.label, index: series.index, x: columns.t, y: rateOf(columns, "rate"), end: series.label, width: 1.6,
      ...(single && columns.width > 1 ? { low: rateOf(columns, "rate_min"), high: rateOf(columns, "rate_max") } : {}),
    }))],
  }, tenths(some, ({ columns }) => rateOf(columns, "rate"), number));
}

/** Percentiles of one operation over time, all targets in one chart on a logarithmic axis. */
function latencyChart(name, shown, operation) {
  const some = shown.filter(({ columns }) => columns.operations[operation]);
  if (!some.length) return null;
  // More than two targets: their medians and 99th percentiles only, or nothing could be told apart.
  const few = some.length <= 2;
  const percentiles = !few ? PERCENTILES.filter(([field]) => field === "p50" || field === "p99") : PERCENTILES;
  const wide = some.some(({ columns }) => columns.width > 1);
  return chart({
    title: `${operation}: latency over time`,
    caption: `${percentiles.map(([, label]) => label).join(", ")}, from below; logarithmic. ` +
      (wide ? `A point is ${duration(Math.max(...some.map(({ columns }) => columns.width)))}: the mean of its seconds${few ? "; the tint reaches from the lowest p50 to the highest p99.9 of a second" : ""}.`
        : `A point is a second${few ? "; the tint reaches from p50 to p99.9" : ""}.`),
    x: "time", log: true, sync: name, format: latency, axisFormat: latencyShort, marks: eventMarks(some),
    series: some.flatMap(({ series, columns }) => {
      const of = columns.operations[operation];
      return percentiles.map(([field, label, width, dash], at) => ({
        name: `${series.label} ${label}`, short: label, group: series.label, index: series.index, x: columns.t, y: of[field], end: label, width, dash,
        ...(at === 0 && few ? { low: of.p50_min, high: of.p999_max } : {}),
      }));
    }),
  }, percentiles.map(([field, label]) => [el("h4", {}, label), tenths(some, ({ columns }) => columns.operations[operation][field], latency)]));
}

/** Latency by percentile, on the axis that HDR plots have. */
function spectrumChart(shown, operation) {
  const some = shown.map(({ series, phase }) => ({ series, of: phase.operations.find((one) => one.operation === operation) })).filter(({ of }) => of && of.spectrum.length);
  if (!some.length) return null;
  const at = (of, percentile) => (of.spectrum.find(([place]) => place >= percentile) || of.spectrum[of.spectrum.length - 1])[1];
  return chart({
    title: `${operation}: latency spectrum`,
    caption: "How long the given share of replies took at most; both axes logarithmic.",
    x: "percentile", log: true, format: latency, axisFormat: latencyShort,
    series: some.map(({ series, of }) => ({
      name: series.label, group: series.label, index: series.index, end: series.label, width: 1.8,
      x: rising(of.spectrum.map(([percentile]) => percentilePlace(percentile, of.replies))), y: of.spectrum.map(([, us]) => us),
    })),
  }, table("Latency by percentile", [{ head: "Percentile", left: true }, ...some.map(({ series }) => ({ head: series.label }))],
    [50, 90, 95, 99, 99.9, 99.99, 99.999, 100].map((percentile) => [percentile === 100 ? "max" : `${percentile} %`,
      ...some.map(({ of }) => cell(latency(percentile === 100 ? of.latency.max : at(of, percentile)), percentile === 100 ? of.latency.max : at(of, percentile)))])));
}

/** Places that strictly rise, as uPlot needs them. */
function rising(places) {
  let last = -Infinity;
  return places.map((place) => (last = place > last ? place : last + 1e-9));
}

/** A resource of the target over time. */
function resourceChart(name, shown, field, title, format, axisFormat) {
  const some = shown.filter(({ columns }) => columns[field].some((value) => value != null));
  if (!some.length || (field === "errors" && !some.some(({ columns }) => columns.errors.some((value) => value > 0)))) return null;
  const width = Math.max(1, ...some.map(({ columns }) => columns.width));
  return chart({
    title, caption: width > 1 ? `A point is ${duration(width)}: its ${field === "memory" ? "largest" : "mean"}.` : null,
    x: "time", sync: name, format, axisFormat, bytes: axisFormat === bytesShort || axisFormat === byteRateShort, small: true, marks: eventMarks(some),
    series: some.map(({ series, columns }) => ({ name: series.label, group: series.label, index: series.index, x: columns.t, y: columns[field], end: series.label, width: 1.4 })),
  }, tenths(some, ({ columns }) => columns[field], format));
}

const KIND_TEXT = {
  check: "connects and makes the schema", validate: "a short run whose reads are compared with what was written", load: "fills the dataset",
  settle: "waits until compaction or defragmentation is done", "drop-caches": "empties the caches", run: "the load that is measured",
  "warm-up": "the same before it is measured",
  verify: "reads every row once and compares it with what was acknowledged",
};

/** Everything about a phase. */
function phaseSection(all, name) {
  const shown = withPhase(all, name);
  const operations = operationNames(shown);
  const drawn = shown.some(({ columns }) => columns.t.length > 1);
  if (!operations.length && !drawn) return null;
  // What only compares has nothing to say over time.
  const charted = drawn && !["validate", "verify"].includes(shown[0].phase.kind);
  const rate = (value) => `${bytes(value)}/s`;
  const grids = !charted ? [] : [[
    operations.length > 1 ? throughputChart(name, shown, null) : null,
    operations.map((operation) => [throughputChart(name, shown, operation), latencyChart(name, shown, operation)]),
    operations.map((operation) => spectrumChart(shown, operation)),
  ], [
    resourceChart(name, shown, "errors", "Errors a second", (value) => `${number(value)}/s`, rateShort),
    resourceChart(name, shown, "cpu", "Target: cores busy", number, short),
    resourceChart(name, shown, "memory", "Target: resident memory", bytes, bytesShort),
    resourceChart(name, shown, "device_read", "Target: device reads", rate, byteRateShort),
    resourceChart(name, shown, "device_written", "Target: device writes", rate, byteRateShort),
    resourceChart(name, shown, "target_network_received", "Target: network received", rate, byteRateShort),
    resourceChart(name, shown, "target_network_sent", "Target: network sent", rate, byteRateShort),
  ]].map((parts) => parts.flat(Infinity).filter(Boolean));
  return el("section", { class: "phase", id: `phase-${phaseNames(all).indexOf(name)}`, "data-phase": name },
    el("h2", {}, name, el("small", {}, KIND_TEXT[kindOf(shown[0].phase)] || "")),
    operations.length ? [roundsNote(shown), figureTable(name, shown), resourceTable(name, shown)] : null,
    grids.filter((parts) => parts.length).map((parts, at) => el("div", { class: at ? "grid small" : "grid" }, parts)));
}

/** Inserts a second, and with the time that the target then took to settle counted in. */
function insertSection(all) {
  const rows = all.flatMap((series) => {
    const { phases } = series.target;
    return phases.flatMap((load, at) => {
      if (load.kind !== "load" || !load.operations.length || load.seconds <= 0) return [];
      const next = phases.slice(at + 1).findIndex(({ kind }) => kind !== "settle");
      const settles = phases.slice(at + 1, next < 0 ? undefined : at + 1 + next);
      const settling = settles.reduce((sum, { seconds }) => sum + seconds, 0);
      // Only what was waited for to its end counts.
      const settled = settles.length > 0 && settles.every(({ complete, unknown }) => complete && !unknown);
      // Not of medians: the median of what each round comes to.
      const summary = series.rounds?.phases[at].with_settling;
      const alone = (load.throughput * load.seconds) / (load.seconds + settling);
      const settlingOf = (target) => settles.reduce((sum, one) => sum + target.phases[phases.indexOf(one)].seconds, 0);
      return [{ series, load, at, settling, settlingOf, settled: settled && (!series.rounds || Boolean(summary)), with: summary ? summary.median : alone, summary }];
    });
  });
  if (!rows.length) return null;
  const extreme = (series, at, which) => series.rounds?.[which].phases[at].throughput;
  const most = Math.max(...rows.map(({ series, load, at }) => Math.max(load.throughput, extreme(series, at, "highest") || 0)), 1e-9);
  const bar = (series, at, value, kind, label, lowest, highest) => {
    const spread = series.rounds && { lowest, highest, rounds: series.rounds.phases[at].rounds };
    return el("div", { class: `insert series-${series.index % SERIES_COLOURS}`, title: spread ? whiskerText(number, value, spread) : null },
      el("span", { class: `bar ${kind}`, style: `width:${Math.max(0.4, (value / most) * 100)}%` }),
      // It stands behind the whisker.
      el("span", { class: "label", style: spread ? `margin-left:${((highest - value) / most) * 100}%` : null }, label),
      // The label's room is not the bar's.
      spread ? whisker(lowest / most, highest / most, "(100% - 96px)") : null);
  };
  return el("section", { id: "inserts" }, el("h2", {}, "Inserts", el("small", {}, "loading the dataset, without and with the wait for the target to settle")),
    table("Inserts a second", [{ head: "Target", left: true }, { head: "Load" }, { head: "Settling" }, { head: "Inserts/s" }, { head: "with settling" }, { head: "", left: true }],
      rows.map(({ series, load, at, settling, settlingOf, settled, with: whole, summary }) => [
        [series.label + (load.complete ? "" : " (unfinished)"), roundsOf(series, at)], spreadCell(series, (target) => target.phases[at].seconds, duration),
        settled ? spreadCell(series, settlingOf, duration) : cell(NONE, settling), spreadCell(series, (target) => target.phases[at].throughput, number),
        cell(settled ? [number(whole), summary ? rangeText(number, summary.least, summary.most) : null] : NONE, settled ? whole : null),
        [bar(series, at, load.throughput, "full", "load", extreme(series, at, "lowest"), extreme(series, at, "highest")),
          settled ? bar(series, at, whole, "settled", "with settling", summary?.least, summary?.most) : null],
      ]), "inserts"),
    all.some(({ rounds }) => rounds) ? el("p", { class: "caption" }, WHISKERS) : null);
}

/** Throughput by nodes beside the straight line from the smallest size. */
function scalingSection(all) {
  const families = new Map();
  for (const series of all) {
    const family = `${series.run.label ? `${series.run.label}: ` : ""}${series.target.name.replace(/[-_ ]*\d+ *(nodes?)?$/, "") || series.target.name}`;
    if (!families.has(family)) families.set(family, []);
    families.get(family).push(series);
  }
  const sized = [...families].filter(([, members]) => new Set(members.map(({ target }) => target.nodes)).size > 1);
  if (!sized.length) return null;
  const names = phaseNames(all).filter((name) => withPhase(all, name).some(({ phase }) => phase.operations.length && (phase.kind === "run" || phase.kind === "load")));
  const shown = names.map((name) => {
    const lines = sized.map(([family, members], index) => {
      const extreme = (series, at, which) => series.rounds?.[which].phases[at].throughput ?? null;
      const points = withPhase(members, name).map(({ series, phase, at }) => ({
        nodes: series.target.nodes, rate: phase.throughput, lowest: extreme(series, at, "lowest"), highest: extreme(series, at, "highest"),
      })).filter(({ rate }) => rate > 0).sort((a, b) => a.nodes - b.nodes);
      return { family, index, points };
    }).filter(({ points }) => points.length > 1);
    if (!lines.length) return null;
    const linear = ({ points: [first] }, nodes) => (first.rate / first.nodes) * nodes;
    const several = lines.some(({ points }) => points.some(({ lowest }) => lowest != null));
    return chart({
      title: `${name}: replies a second by nodes`, caption: `Dashes: the straight line through the smallest size.${several ? ` ${WHISKERS}` : ""}`, x: "nodes", format: (value) => `${number(value)}/s`, axisFormat: rateShort,
      series: lines.flatMap((line) => [
        { name: line.family, group: line.family, index: line.index, x: line.points.map(({ nodes }) => nodes), y: line.points.map(({ rate }) => rate), points: true, width: 2, end: "measured",
          whiskers: line.points.filter(({ lowest }) => lowest != null).map(({ nodes, lowest, highest }) => [nodes, lowest, highest]) },
        { name: "linear", group: line.family, index: line.index, x: [0, ...line.points.map(({ nodes }) => nodes)], y: [0, ...line.points.map(({ nodes }) => linear(line, nodes))], dash: [4, 4], width: 1, end: "linear" },
      ]),
    }, table("Throughput by nodes", [{ head: "Nodes", left: true }, { head: "Target" }, { head: "Replies/s" }, { head: "Factor" }, { head: "Of linear" }],
      lines.flatMap((line) => line.points.map(({ nodes, rate, lowest, highest }) => [cell(count(nodes), nodes), line.family, cell([number(rate), rangeText(number, lowest, highest)], rate), cell(times(rate / line.points[0].rate)), cell(percent(rate / linear(line, nodes)))]))));
  }).filter(Boolean);
  return shown.length ? el("section", { id: "scaling" }, el("h2", {}, "Scaling"), el("div", { class: "grid" }, shown)) : null;
}

function costSection(all) {
  const rows = all.flatMap((series) => series.target.costs.map((cost, at) => [series.label, cost.phase, cell(count(series.target.nodes), series.target.nodes), cell(dollars(cost.node_hour), cost.node_hour), spreadCell(series, (target) => target.costs[at].per_100m, dollars)]));
  return rows.length ? el("section", { id: "costs" }, el("h2", {}, "Cost"), table("Cost of 100 million operations", [
    { head: "Target", left: true }, { head: "Phase", left: true }, { head: "Nodes" }, { head: "Node and hour" }, { head: "100 million operations" },
  ], rows)) : null;
}

/** What is asked first of an event, in this order; other figures follow. */
const EVENT_FIGURES = ["noticed_s", "served_s", "ready_s", "whole_s", "lowest", "silent_s", "shows_after_s", "recovered_after_s", "longest_us", "errors", "before"];

/** What was done to targets, and what came of it: a column a figure. */
function eventSection(all) {
  const events = all.flatMap((series) => series.target.phases.flatMap((phase, at) => phase.events.map((event, place) => ({ series, phase, event, at, place }))));
  const known = [...new Set(events.flatMap(({ event }) => Object.keys(event.figures)))];
  const place = (name) => (EVENT_FIGURES.indexOf(name) + 1 || EVENT_FIGURES.length + 1);
  const names = known.sort((a, b) => place(a) - place(b));
  if (!events.length) return null;
  return el("section", { id: "events" }, el("h2", {}, "Events", el("small", {}, "what was done to the target under load, and what came of it")),
    table("Events that were made to happen", [
      { head: "Target", left: true }, { head: "Phase", left: true }, { head: "At" }, { head: "What", left: true },
      ...names.map((name) => ({ head: named(name, 0)[0].replace(/_/g, " ") })),
    ], events.map(({ series, phase, event, at, place }) => [
      series.label, phase.name, cell(duration(event.second), event.second), event.what,
      ...names.map((name) => (name in event.figures ? spreadCell(series, (target) => target.phases[at].events[place].figures[name], (value) => named(name, value)[1]) : NONE)),
    ])),
    names.includes("noticed_s") || names.includes("whole_s") ? el("p", { class: "caption" },
      "Noticed, served, ready, whole: after so long the other nodes said that a node is down, that each slot is served again, that the node that was started takes clients, "
      + "that nothing is missing any more. Lowest: the worst second's share of what was before. Longest: the slowest reply until the next event.") : null);
}

/** Whether a figure of a verification is bad news: rows that differ, or nothing but rows of which nothing was known. */
function isAlarm(verified, field) {
  if (field === "compared") return false;
  return verified[field] > 0 && (field !== "unknown" || verified.compared === 0);
}

/** Errors and comparisons of all phases. */
function faultSection(all) {
  const phases = eachRound(all).flatMap((series) => series.target.phases.map((phase) => ({ series, phase })));
  const left = [{ head: "Target", left: true }, { head: "Phase", left: true }];
  const errors = phases.flatMap(({ series, phase }) => phase.errors.map(({ kind, count: times }) => [series.label, phase.name, kind, cell(count(times), times)]));
  const verified = phases.filter(({ phase }) => phase.verified.compared + phase.verified.unknown > 0).map(({ series, phase }) => [
    series.label, phase.name, ...["compared", "lost", "stale", "wrong", "unknown"].map((field) => cell(el("span", { class: isAlarm(phase.verified, field) ? "alarm" : null }, count(phase.verified[field])), phase.verified[field])),
  ]);
  if (!errors.length && !verified.length) return null;
  return el("section", { id: "checks" }, el("h2", {}, "Errors, verification"),
    errors.length ? table("Errors by kind", [...left, { head: "Kind", left: true }, { head: "Count" }], errors) : el("p", { class: "caption" }, "No request failed."),
    verified.length ? table("Reads compared with what had been written", [...left, { head: "Compared" }, { head: "Lost" }, { head: "Stale" }, { head: "Wrong" }, { head: "Unknown" }], verified) : null,
    phases.some(({ phase }) => phase.verified.unknown > 0) ? el("p", { class: "caption" },
      "Unknown: reads of rows of which nothing was known, so that they say nothing of lost or stale ones; they are not among those compared.") : null);
}

/** The publication: what it ran on and what it found. */
function paperSection({ report }) {
  const { paper } = report.study;
  if (!paper) return null;
  return el("section", { id: "paper" }, el("h2", {}, "The paper"),
    el("p", {}, link(paper.citation, paper.url)), el("p", { class: "prose" }, paper.setup),
    paper.results.length ? table("Its own results", [{ head: "System", left: true }, { head: "Nodes" }, { head: "Measure", left: true }, { head: "Result" }],
      paper.results.map(({ system, nodes, measure, value, unit }) => [system, cell(count(nodes), nodes), measure, cell(`${number(value)} ${unit}`, value)])) : null);
}

/** Everything needed to run it again. */
function repeatSection(runs, all) {
  return el("section", { id: "repeat" }, el("h2", {}, "To repeat it"), runs.map((run) => {
    const { report } = run;
    const own = all.filter((series) => series.run === run);
    const phases = eachRound(own).flatMap((series) => series.target.phases.map((phase) => ({ series, phase })));
    const logs = phases.filter(({ phase }) => phase.histogram_log);
    const settings = phases.filter(({ phase }) => Object.keys(phase.settings).length);
    return [
      run.label ? el("h3", {}, run.label) : null,
      el("h4", {}, "Command"), el("pre", { class: "command" }, report.command.map((word) => (/^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`)).join(" ")),
      el("div", { class: "columns" },
        el("div", {}, el("h4", {}, "Machine"), pairs({ ...report.environment, tool: report.tool })),
        own.map(({ label, target }) => el("div", {}, el("h4", {}, label), pairs({ server: target.server, protocol: target.protocol, address: target.address, nodes: count(target.nodes), ...target.settings })))),
      phases.length ? table("Phases in their order", [{ head: "Target", left: true }, { head: "Phase", left: true }, { head: "Started" }, { head: "Took" }, { head: "Finished", left: true }, { head: "Settings", left: true }],
        phases.map(({ series, phase }) => [series.label, phase.name, cell(duration(phase.started_s), phase.started_s), cell(duration(phase.seconds), phase.seconds), phase.complete ? "yes" : "no",
          settings.length ? Object.entries(phase.settings).map(([name, value]) => `${name} ${value}`).join(", ") : ""]), "events") : null,
      logs.length ? el("p", { class: "prose" }, "Histogram logs (HdrHistogram, version 2): ", logs.map(({ series, phase }, at) => [at ? ", " : "", fileLink(phase.histogram_log), ` (${series.label}, ${phase.name})`])) : null,
      el("details", { class: "print", open: runs.length === 1 }, el("summary", {}, "Study file, after scale and flags"), el("pre", {}, report.study.file)),
    ];
  }));
}

/** What a series is compared with: the target of the same name in the first run, else the first target; itself in the first run. */
function baseOf(all, at) {
  const first = all.filter(({ run }) => run === all[0].run);
  if (all[at].run === all[0].run) return at;
  const same = first.find(({ target }) => target.name === all[at].target.name && target.nodes === all[at].target.nodes) || first[0];
  return all.indexOf(same);
}

/** Runs beside each other: every figure, and how many times the first run's it is. */
function compareSection(all) {
  const names = ["run", "load"].flatMap((kind) => phaseNames(all).filter((name) => withPhase(all, name).some(({ phase }) => phase.kind === kind && phase.operations.length)));
  const sections = names.map((name) => {
    const shown = withPhase(all, name);
    const rows = operationNames(shown).flatMap((operation) => [["replies/s", (of) => of.throughput, number], ...["p50", "p95", "p99", "p999"].map((field) => [field.replace("999", "99.9"), (of) => of.latency[field], latency])].map(([label, figure, show]) => {
      const values = all.map((series) => {
        const of = shown.find((one) => one.series === series)?.phase.operations.find((one) => one.operation === operation);
        return of ? figure(of) : null;
      });
      const extreme = (at, which) => {
        const one = shown.find(({ series }) => series === all[at]);
        const place = one.phase.operations.findIndex((other) => other.operation === operation);
        return figure(all[at].rounds[which].phases[one.at].operations[place]);
      };
      return [`${operation} ${label}`, ...values.map((value, at) => {
        const base = values[baseOf(all, at)];
        if (value == null) return cell(NONE, value);
        return cell([show(value), base > 0 && baseOf(all, at) !== at ? el("small", {}, ` ${times(value / base)}`) : null,
          all[at].rounds ? rangeText(show, extreme(at, "lowest"), extreme(at, "highest")) : null, roundsOf(all[at], shown.find(({ series }) => series === all[at]).at)], value);
      })];
    }));
    return table(`${name}: each run, and how many times the first run's`, [{ head: "Measure", left: true }, ...all.map(({ label }) => ({ head: label }))], rows, "compare");
  });
  return sections.length ? el("section", { id: "compare" }, sections) : null;
}
