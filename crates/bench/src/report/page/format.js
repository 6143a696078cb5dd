// Figures as a person reads them: thousands separators, three significant digits, units. The twin of figures.rs.
"use strict";

const NONE = "–";

/** Whole with separators from 1,000 on, else three significant digits. */
function number(value) {
  if (value == null || !Number.isFinite(value)) return NONE;
  const magnitude = Math.abs(value);
  if (magnitude === 0) return "0";
  if (magnitude >= 99.95) return Math.round(value).toLocaleString("en-US").replace("-", "−");
  const decimals = magnitude >= 9.995 ? 1 : magnitude >= 0.9995 ? 2 : Math.min(9, 2 - Math.floor(Math.log10(magnitude)));
  return value.toFixed(decimals).replace("-", "−");
}

/** Things that are counted: always whole. */
function count(value) {
  return value == null ? NONE : Math.round(value).toLocaleString("en-US");
}

/** On axes: no more digits than needed, and a letter for thousands and up. */
function short(value) {
  if (value == null) return "";
  const magnitude = Math.abs(value);
  for (const [unit, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (magnitude >= unit) return `${parseFloat((value / unit).toPrecision(3))} ${letter}`;
  }
  return String(parseFloat(value.toPrecision(3)));
}

function times(value) {
  return value == null ? NONE : `${number(value)} ×`;
}

/** With the digits that a publication gives. */
function timesGiven(value) {
  return value == null ? NONE : Math.abs(value) >= 1000 ? times(value) : `${parseFloat(value.toFixed(2))} ×`;
}

function percent(share) {
  return share == null ? NONE : `${number(share * 100)} %`;
}

/** Microseconds in the unit that suits them. */
function latency(us) {
  if (us == null || !Number.isFinite(us)) return NONE;
  if (us < 999.5) return `${number(us)} µs`;
  if (us < 999500) return `${number(us / 1e3)} ms`;
  return `${number(us / 1e6)} s`;
}

function latencyShort(us) {
  if (us == null) return "";
  const [unit, name] = us < 1e3 ? [1, "µs"] : us < 1e6 ? [1e3, "ms"] : [1e6, "s"];
  return `${parseFloat((us / unit).toPrecision(3))} ${name}`;
}

/** Bytes with binary units, as the rest of TarnDB writes them. */
function bytes(value) {
  if (value == null) return NONE;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (value >= 1024 && at < units.length - 1) {
    value /= 1024;
    at += 1;
  }
  return `${at === 0 ? Math.round(value) : number(value)} ${units[at]}`;
}

function bytesShort(value) {
  if (!value) return "0";
  const [figure, unit] = bytes(value).split(" ");
  return `${parseFloat(figure)} ${unit}`;
}

/** On axes of what flows: a second's. */
function rateShort(value) {
  return value ? `${short(value)}/s` : "0";
}

function byteRateShort(value) {
  return value ? `${bytesShort(value)}/s` : "0";
}

/** Seconds as 12.3 ms, 42 s, 12 min 5 s, 3 h 20 min; what is shorter than half a millisecond is none. */
function duration(seconds) {
  if (seconds == null) return NONE;
  if (seconds < 0.0005) return "0 s";
  if (seconds < 0.9995) return `${number(seconds * 1e3)} ms`;
  if (seconds < 99.95) return `${Number.isInteger(seconds) ? seconds : number(seconds)} s`;
  const whole = Math.round(seconds);
  const two = (large, name, small, unit) => (small === 0 ? `${count(large)} ${name}` : `${count(large)} ${name} ${small} ${unit}`);
  return whole < 3600 ? two(Math.floor(whole / 60), "min", whole % 60, "s") : two(Math.floor(whole / 3600), "h", Math.floor((whole % 3600) / 60), "min");
}

/** Seconds on an axis whose ticks are `step` apart. */
function clock(seconds, step) {
  if (seconds === 0) return "0";
  if (step % 3600 === 0) return `${seconds / 3600} h`;
  if (seconds >= 3600 || step % 60 === 0) {
    if (seconds < 3600) return `${parseFloat((seconds / 60).toFixed(1))} min`;
    return `${Math.floor(seconds / 3600)}:${String(Math.floor((seconds % 3600) / 60)).padStart(2, "0")} h`;
  }
  return seconds < 180 ? `${parseFloat(seconds.toFixed(1))} s` : `${Math.floor(seconds / 60)}:${String(Math.round(seconds % 60)).padStart(2, "0")} min`;
}

/** A figure whose name tells its unit by its ending, as in events. */
function named(name, value) {
  if (name === "errors") return [name, count(value)];
  if (name === "lowest") return [name, percent(value)];
  if (name.endsWith("_s")) return [name.slice(0, -2), duration(value)];
  if (name.endsWith("_us")) return [name.slice(0, -3), latency(value)];
  return [name, number(value)];
}

function dollars(value) {
  return value == null ? NONE : `$${value >= 0.995 ? value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 }) : parseFloat(value.toPrecision(3))}`;
}
