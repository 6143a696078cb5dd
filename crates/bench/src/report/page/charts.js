// Line charts on uPlot: one function that takes what to draw and gives a <figure>. Axes over time, percentiles or nodes; linear or
// logarithmic figures; lines named at their ends; marks for events; a readout under the pointer or the arrow keys; drag to zoom,
// double click or Escape to see all again.
"use strict";

const HEIGHT = 260;
const HEIGHT_SMALL = 150;
const FONT = '11px system-ui, "Helvetica Neue", Arial, sans-serif';
const TIME_STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 180, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
const BYTE_STEPS = [...Array(60).keys()].map((power) => 2 ** power);
const charts = [];

/** 1, 2 or 5 times a power of ten, not above (or not below) the value. */
function roundStep(value, up) {
  const decade = 10 ** Math.floor(Math.log10(value));
  const steps = [1, 2, 5, 10].map((step) => step * decade);
  return up ? steps.find((step) => step >= value * 0.999) : steps.reverse().find((step) => step <= value * 1.001);
}

function logRange(u, low, high) {
  if (low == null || low <= 0) return [1, 10];
  return [roundStep(low, false), Math.max(roundStep(high, true), roundStep(low, false) * 10)];
}

/** Every 1, 2 and 5 when they have room, else every power of ten. */
function logSplits(u, axis, low, high) {
  const steps = Math.log10(high / low) > 2.4 ? [1] : [1, 2, 5];
  const splits = [];
  for (let decade = 10 ** Math.floor(Math.log10(low)); decade <= high * 1.001; decade *= 10) {
    for (const step of steps) {
      const at = Number((step * decade).toPrecision(6));
      if (at >= low * 0.999 && at <= high * 1.001) splits.push(at);
    }
  }
  return splits;
}

/** Percentiles stand where their distance to 100 halves by decades: 0, 90, 99, 99.9 … are equally far from each other. */
function percentilePlace(percentile, replies) {
  const last = Math.log10(Math.max(10, replies || 1e6));
  return percentile >= 100 ? last : Math.min(last, -Math.log10(1 - percentile / 100));
}

const X_AXES = {
  time: {
    incrs: TIME_STEPS,
    values: (u, splits, axis, space, step) => splits.map((at) => clock(at, step)),
    range: (u, low, high) => [low <= u.data[0][0] ? 0 : low, high],
    readout: (at) => `at ${at < 180 ? `${parseFloat(at.toFixed(1))} s` : duration(at)}`,
    space: 64,
  },
  percentile: {
    splits: (u, axis, low, high) => [0, Math.log10(2), 1, 2, 3, 4, 5, 6, 7, 8].filter((at) => at >= low - 0.01 && at <= high + 0.01),
    values: (u, splits) => splits.map((at) => (at === 0 ? "" : at < 1 ? "50 %" : `${Number((100 - 100 / 10 ** at).toFixed(7))} %`)),
    readout: (at) => `${Number((100 - 100 / 10 ** at).toPrecision(at > 3 ? 7 : 5))} %`,
    space: 20,
  },
  nodes: {
    incrs: [1, 2, 5, 10, 20, 50, 100],
    values: (u, splits) => splits.map((at) => String(at)),
    readout: (at) => (at === 1 ? "1 node" : `${at} nodes`),
    space: 40,
    range: (u, low, high) => [0, high * 1.04],
  },
};

/**
 * spec: {title, caption, x: "time" | "percentile" | "nodes", log, choice (the reader may change it), bytes, small, wide, format, axisFormat, sync, marks: [{at, text, colour}], series}
 * series: [{name, group, index, x, y, width, dash, end, points, low, high, faint, whiskers}]; `group` is the target it belongs to, `index` its
 * colour, `end` what stands at the line's end, `low` and `high` the bounds of a tint, `faint` a line that is not read out, `whiskers` error
 * bars: [[x, lowest, highest]].
 */
function chart(spec, tableOf) {
  const plot = el("div", { class: "plot", tabindex: 0, role: "img", "aria-label": `${spec.title}. ${spec.caption || ""} The figures are in the table below.` });
  const readout = el("p", { class: "readout", "aria-live": "polite" });
  const groups = [...new Map(spec.series.filter((series) => series.group).map((series) => [series.group, series.index]))];
  const state = { spec, plot, readout, hidden: new Set(), log: Boolean(spec.log), chart: null };
  const figure = el("figure", { class: `chart${spec.wide ? " full" : ""}${spec.small ? " small" : ""}` },
    el("figcaption", {}, el("h3", {}, spec.title), groups.length > 1 ? key(state, groups) : null, spec.choice && groups.length > 1 ? scaleSwitch(state) : null, readout),
    plot,
    spec.caption ? el("p", { class: "caption" }, spec.caption) : null,
    tableOf ? details("Figures", tableOf) : null);
  plot.addEventListener("keydown", (event) => moveCursor(state, event));
  charts.push(state);
  return figure;
}

/** Names of targets in their colours; a press hides or shows one. */
function key(state, groups) {
  return el("div", { class: "key" }, groups.map(([group, index]) => {
    const button = el("button", { type: "button", "aria-pressed": "true", class: `series-${index % SERIES_COLOURS}` }, el("span", { class: "swatch", "aria-hidden": "true" }), group);
    button.addEventListener("click", () => {
      const hide = !state.hidden.has(group);
      if (hide) state.hidden.add(group);
      else state.hidden.delete(group);
      button.setAttribute("aria-pressed", String(!hide));
      drawChart(state);
    });
    return button;
  }));
}

/** Linear or logarithmic, for figures where each shows what the other hides. */
function scaleSwitch(state) {
  const button = el("button", { type: "button", class: "switch scale", "aria-pressed": "false" }, "log");
  button.addEventListener("click", () => {
    state.log = !state.log;
    button.setAttribute("aria-pressed", String(state.log));
    drawChart(state);
  });
  return button;
}

/** The columns that uPlot wants, on common places, and for each its description. */
function align({ spec, hidden, log }) {
  const tables = [];
  const lines = [];
  const bands = [];
  const clean = (values) => (log ? values.map((value) => (value > 0 ? value : null)) : values);
  for (const series of spec.series) {
    if (hidden.has(series.group) || !series.x.length) continue;
    const columns = [series.x, clean(series.y)];
    lines.push({ series });
    if (series.high) {
      columns.push(clean(series.high), clean(series.low));
      lines.push({ series, bound: true }, { series, bound: true });
      bands.push({ series: [lines.length - 1, lines.length], fill: seriesColour(series.index) + colour("tint") });
    }
    tables.push(columns);
  }
  return { data: tables.length ? uPlot.join(tables) : [[]], lines, bands };
}

function heightOf(spec) {
  return spec.small ? HEIGHT_SMALL : HEIGHT;
}

function drawChart(state) {
  const { spec, plot } = state;
  if (state.chart) state.chart.destroy();
  const { data, lines, bands } = align(state);
  state.lines = lines;
  const xAxis = X_AXES[spec.x];
  const soft = colour("soft");
  const grid = { stroke: colour("faint"), width: 1 };
  const whiskersTop = Math.max(0, ...lines.flatMap(({ series }) => series.whiskers || []).map(([, , highest]) => highest));
  const labels = lines.map((line) => (line.bound ? null : line.series.end)).filter(Boolean);
  const options = {
    width: Math.max(200, plot.clientWidth),
    height: heightOf(spec),
    padding: [8, labels.length ? endWidth(labels) : 14, 0, 0],
    legend: { show: false },
    cursor: {
      points: { size: 5 },
      drag: { x: true, y: false, uni: 20 },
      sync: spec.sync ? { key: spec.sync, scales: ["x", null] } : undefined,
    },
    scales: {
      x: { time: false, range: xAxis.range },
      y: state.log ? { distr: 3, range: logRange } : { range: (u, low, high) => [0, Math.max(high, whiskersTop) > 0 ? Math.max(high, whiskersTop) * 1.06 : 1] },
    },
    axes: [
      { stroke: soft, font: FONT, grid: { show: false }, ticks: { stroke: colour("faint"), size: 4 }, incrs: xAxis.incrs, splits: xAxis.splits, values: xAxis.values, space: spec.small ? xAxis.space * 0.75 : xAxis.space, gap: 3, size: 28 },
      {
        stroke: soft, font: FONT, grid, ticks: { show: false }, gap: 6, size: spec.bytes ? 74 : 62, space: spec.small ? 24 : 34,
        values: (u, splits) => splits.map(spec.axisFormat || short),
        incrs: spec.bytes ? BYTE_STEPS : undefined,
        ...(state.log ? { splits: logSplits, filter: (u, splits) => splits } : {}),
      },
    ],
    bands,
    series: [{}, ...lines.map(({ series, bound }) => ({
      label: series.name,
      stroke: bound ? "transparent" : seriesColour(series.index) + (series.faint ? colour("faint-line") : ""),
      width: bound ? 0 : series.width || 1.5,
      dash: series.dash || seriesDash(series.index) || undefined,
      points: { show: !bound && (series.points || data[0].length < 2), size: 7, fill: seriesColour(series.index) },
      spanGaps: false,
    }))],
    hooks: { draw: [(u) => drawMarks(u, spec.marks || [], state), (u) => drawEnds(u, lines), (u) => drawWhiskers(u, lines)], setCursor: [(u) => read(state, u)] },
  };
  state.chart = new uPlot(options, data, plot);
  state.chart.root.setAttribute("aria-hidden", "true");
}

/** A name that leaves room for the lines. */
function shortened(name) {
  return name.length > 20 ? `${name.slice(0, 18)}…` : name;
}

/** Room at the right for the names of lines. */
function endWidth(labels) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = FONT;
  return Math.min(120, Math.ceil(Math.max(...labels.map((label) => context.measureText(shortened(label)).width))) + 12);
}

/** Each line's name at its end, pushed apart where they would touch. */
function drawEnds(u, lines) {
  const ratio = uPlot.pxRatio;
  const { left, top, width, height } = u.bbox;
  const ends = [];
  lines.forEach(({ series, bound }, at) => {
    if (bound || !series.end) return;
    const inView = u.data[at + 1].filter((value, place) => value != null && u.data[0][place] <= u.scales.x.max && u.data[0][place] >= u.scales.x.min);
    const recent = inView.slice(inView.length < 20 ? -1 : -9);
    if (!recent.length) return;
    // The median of the last points: one outlier must not carry the name away.
    const middle = recent.sort((a, b) => a - b)[recent.length >> 1];
    ends.push({ text: shortened(series.end), fill: seriesColour(series.index), y: u.valToPos(middle, "y", true) });
  });
  ends.sort((a, b) => a.y - b.y);
  const apart = 12 * ratio;
  ends.forEach((end, at) => { end.y = Math.max(end.y, at ? ends[at - 1].y + apart : top); });
  for (let at = ends.length - 1, below = top + height + apart / 2; at >= 0; at -= 1) {
    ends[at].y = Math.min(ends[at].y, below);
    below = ends[at].y - apart;
  }
  const context = u.ctx;
  context.save();
  context.font = FONT.replace("11px", `${11 * ratio}px`);
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (const end of ends) {
    context.fillStyle = end.fill;
    context.fillText(end.text, left + width + 6 * ratio, end.y);
  }
  context.restore();
}

/** Error bars: an upright line with ends from the lowest to the highest. */
function drawWhiskers(u, lines) {
  const ratio = uPlot.pxRatio;
  const context = u.ctx;
  context.save();
  context.lineWidth = 1.5 * ratio;
  // The line that was drawn last may have dashes.
  context.setLineDash([]);
  for (const { series, bound } of lines) {
    if (bound || !series.whiskers) continue;
    context.strokeStyle = seriesColour(series.index);
    for (const [at, lowest, highest] of series.whiskers) {
      const [x, low, high] = [u.valToPos(at, "x", true), u.valToPos(lowest, "y", true), u.valToPos(highest, "y", true)];
      context.beginPath();
      context.moveTo(x, low);
      context.lineTo(x, high);
      for (const y of [low, high]) {
        context.moveTo(x - 5 * ratio, y);
        context.lineTo(x + 5 * ratio, y);
      }
      context.stroke();
    }
  }
  context.restore();
}

/** Events: a thin upright line with its name at the top. */
function drawMarks(u, marks, state) {
  const ratio = uPlot.pxRatio;
  const { left, top, width, height } = u.bbox;
  const context = u.ctx;
  context.save();
  context.font = FONT.replace("11px", `${11 * ratio}px`);
  context.textBaseline = "top";
  context.textAlign = "left";
  let free = -Infinity;
  let row = 0;
  for (const mark of marks) {
    const name = shortened(mark.text);
    if (state.hidden.has(mark.group)) continue;
    const x = u.valToPos(mark.at, "x", true);
    if (x < left || x > left + width) continue;
    context.strokeStyle = context.fillStyle = seriesColour(mark.index);
    context.lineWidth = ratio;
    context.setLineDash([2 * ratio, 3 * ratio]);
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, top + height);
    context.stroke();
    const wide = context.measureText(name).width;
    const place = x + 4 * ratio + wide > left + width ? x - 4 * ratio - wide : x + 4 * ratio;
    // Names that would overlap take the next row.
    row = place < free ? row + 1 : 0;
    free = Math.max(free, place + wide + 8 * ratio);
    context.fillStyle = colour("paper");
    context.fillRect(place - ratio, top + row * 14 * ratio, wide + 2 * ratio, 13 * ratio);
    context.fillStyle = seriesColour(mark.index);
    context.fillText(name, place, top + (1 + row * 14) * ratio);
  }
  context.restore();
}

/** What stands under the pointer, in words. */
function read(state, u) {
  const at = u.cursor.idx;
  if (at == null || u.cursor.left < 0) {
    state.readout.textContent = "";
    return;
  }
  const { spec } = state;
  const parts = [];
  let group = null;
  state.lines.forEach(({ series, bound }, place) => {
    const value = u.data[place + 1][at];
    if (bound || series.faint || value == null) return;
    const name = series.group === group ? series.short || series.name : series.name;
    group = series.group;
    const show = spec.format || number;
    const whisker = (series.whiskers || []).find(([x]) => x === u.data[0][at]);
    parts.push(`${name} ${show(value)}${whisker ? ` (median; lowest ${show(whisker[1])}, highest ${show(whisker[2])})` : ""}`);
  });
  state.readout.textContent = parts.length ? `${X_AXES[spec.x].readout(u.data[0][at])}: ${parts.join(" · ")}` : "";
}

/** Arrow keys walk along the line, Escape shows all of it again. */
function moveCursor(state, event) {
  const u = state.chart;
  if (!u || !u.data[0].length) return;
  if (event.key === "Escape") {
    u.setData(u.data, true);
    u.setCursor({ left: -10, top: -10 });
    return;
  }
  const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
  if (!step) return;
  event.preventDefault();
  const first = u.valToIdx(u.scales.x.min);
  const last = u.valToIdx(u.scales.x.max);
  const from = u.cursor.idx ?? (step > 0 ? first - 1 : last + 1);
  const to = Math.min(last, Math.max(first, from + step));
  u.setCursor({ left: u.valToPos(u.data[0][to], "x"), top: u.over.clientHeight / 2 });
}

/** Draws all charts again: after the first layout, in other colours, at another width. */
function drawCharts() {
  for (const state of charts) drawChart(state);
}

let drawnWidth = 0;
function followWidth() {
  const observer = new ResizeObserver(() => {
    const width = document.documentElement.clientWidth;
    if (Math.abs(width - drawnWidth) < 1 || printing) return;
    drawnWidth = width;
    for (const { chart: u, plot, spec } of charts) if (u) u.setSize({ width: Math.max(200, plot.clientWidth), height: heightOf(spec) });
  });
  observer.observe(document.documentElement);
}

// Paper is white and has one width: charts are drawn for it, and again for the screen afterwards.
let printing = false;
let themeBefore = null;
window.addEventListener("beforeprint", () => {
  printing = true;
  themeBefore = document.documentElement.dataset.theme || null;
  document.documentElement.classList.add("printing");
  for (const element of document.querySelectorAll("details.print")) element.open = true;
  setTheme("light");
});
window.addEventListener("afterprint", () => {
  printing = false;
  document.documentElement.classList.remove("printing");
  setTheme(themeBefore);
});
