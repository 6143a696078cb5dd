// The two drawings: requests a second as lines, latency over time as heat.
import { count, micros } from "./dom.js";
import { counted, sum } from "./history.js";

/** The looks that a chart has room for: few at first, so that it does not begin empty. */
const COLUMNS_MIN = 30;
const COLUMNS_MAX = 150;
const columnsFor = (looks) => Math.max(COLUMNS_MIN, looks.length);

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** A canvas as large as it is shown, cleared; sizes in CSS pixels. */
function prepare(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  if (width === 0) return null;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const em = parseFloat(getComputedStyle(canvas).fontSize);
  pen.font = `${em * 0.75}px ${getComputedStyle(canvas).fontFamily}`;
  pen.textBaseline = "middle";
  return { pen, width, height, em };
}

const clock = (time) => new Date(time).toLocaleTimeString([], { hour12: false });

/** The times below a chart. */
function times({ pen, em }, looks, left, right, y) {
  pen.fillStyle = colour("quiet");
  pen.textAlign = "left";
  if (looks.length === 0) return;
  if (right - left > 11 * em) pen.fillText(clock(looks[0].time), left, y);
  pen.textAlign = "right";
  pen.fillText(clock(looks.at(-1).time), right, y);
  const middle = looks[Math.floor(looks.length / 2)];
  if (right - left > 24 * em && looks.length > 10) {
    pen.textAlign = "center";
    pen.fillText(clock(middle.time), (left + right) / 2, y);
  }
}

/** A round number that is no less. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((step) => step >= value);
}

/** Lines: `series` are { name, colour, wanted }. */
export function drawRates(canvas, history, series) {
  const drawn = prepare(canvas);
  if (!drawn) return;
  const { pen, width, height, em } = drawn;
  const looks = history.looks.slice(-COLUMNS_MAX);
  const rates = series.map(({ wanted }) => smooth(looks.map((look) => counted(look, wanted) / look.seconds)));
  const top = roundUp(Math.max(1, ...rates.flat()));
  const [left, right, bottom] = [em * 3.6, width - em * 0.5, height - em * 1.4];
  const y = (value) => bottom - (value / top) * (bottom - em * 0.7);
  pen.textAlign = "right";
  for (const part of [0, 0.5, 1]) {
    pen.fillStyle = colour("quiet");
    pen.fillText(count(top * part), left - em * 0.5, y(top * part));
    pen.fillStyle = colour("line");
    pen.fillRect(left, Math.round(y(top * part)), right - left, 1);
  }
  const step = (right - left) / (columnsFor(looks) - 1);
  const x = (at) => right - (looks.length - 1 - at) * step;
  rates.forEach((values, at) => {
    if (values.length === 0 || Math.max(...values) === 0) return;
    pen.beginPath();
    values.forEach((value, position) => (position === 0 ? pen.moveTo(x(position), y(value)) : pen.lineTo(x(position), y(value))));
    pen.lineWidth = Math.max(1.5, em * 0.12);
    pen.lineJoin = "round";
    pen.strokeStyle = colour(series[at].colour);
    pen.stroke();
    pen.lineTo(x(values.length - 1), bottom);
    pen.lineTo(x(0), bottom);
    pen.globalAlpha = 0.1;
    pen.fillStyle = colour(series[at].colour);
    pen.fill();
    pen.globalAlpha = 1;
  });
  times(drawn, looks, Math.max(left, x(0)), right, height - em * 0.5);
}

/** Means of three: cores write their figures once a second, which the looks do not keep in step with. */
function smooth(values) {
  return values.map((_, at) => {
    const near = values.slice(Math.max(0, at - 1), at + 2);
    return near.reduce((a, b) => a + b, 0) / near.length;
  });
}

/** Heat: a column a look, a row a bucket; gives what is at a place of the canvas, in words. */
export function drawHeat(canvas, history, bounds, wanted) {
  const drawn = prepare(canvas);
  if (!drawn) return () => "";
  const { pen, width, height, em } = drawn;
  const looks = history.looks.slice(-COLUMNS_MAX);
  const columns = looks.map((look) => ({ look, buckets: sum(look.series.filter(wanted)) }));
  const all = sum(columns.filter(({ buckets }) => buckets.length));
  const used = [...all.keys()].filter((at) => all[at] > 0);
  const [left, right, bottom] = [em * 4.2, width - em * 0.5, height - em * 1.4];
  const lowest = Math.max(0, Math.min(...used, 3) - 1);
  const highest = Math.min(bounds.length, Math.max(...used, lowest + 7) + 1);
  const rows = highest - lowest + 1;
  const high = (bottom - 2) / rows;
  const step = (right - left) / columnsFor(looks);
  const most = Math.max(1, ...columns.flatMap(({ buckets, look }) => buckets.map((value) => value / look.seconds)));
  const scale = [1, 2, 3, 4].map((at) => colour(`heat-${at}`));
  const name = (at) => (at < bounds.length ? micros(bounds[at]) : `> ${micros(bounds.at(-1))}`);
  const y = (at) => bottom - (at - lowest + 1) * high;
  pen.textAlign = "right";
  const every = Math.max(1, Math.ceil((em * 1.1) / high));
  for (let at = lowest; at <= highest; at += 1) {
    pen.fillStyle = colour("quiet");
    if ((at - lowest) % every === 0) pen.fillText(name(at), left - em * 0.5, y(at) + high / 2);
    pen.fillStyle = colour("cell");
    pen.fillRect(left, y(at), right - left, Math.max(1, high - 1));
  }
  columns.forEach(({ look, buckets }, position) => {
    const x = right - (columns.length - position) * step;
    buckets.forEach((value, at) => {
      if (value === 0) return;
      const heat = Math.sqrt(value / look.seconds / most);
      pen.fillStyle = scale[Math.min(3, Math.floor(heat * 4))];
      pen.fillRect(x, y(at), step + 0.5, Math.max(1, high - 1));
    });
  });
  times(drawn, looks, Math.max(left, right - columns.length * step), right, height - em * 0.5);
  return (x, fromTop) => {
    const column = columns[columns.length - 1 - Math.floor((right - x) / step)];
    const at = lowest + Math.floor((bottom - fromTop) / high);
    if (!column || x > right || at < lowest || at > highest || column.buckets.length === 0) return "";
    const within = at < bounds.length ? `at most ${name(at)}` : name(at);
    return `${clock(column.look.time)}: ${count(column.buckets[at] / column.look.seconds)} requests a second took ${within}`;
  };
}
