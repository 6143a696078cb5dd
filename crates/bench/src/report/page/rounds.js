// Several rounds of a study: medians with the lowest and the highest beside them, whiskers on bars, and what says which is which.
// A series of several rounds has `rounds`: {count, lowest, highest, phases, each}; one of a single round has null.
"use strict";

/** What a run has of several rounds of a target. */
function roundsOfTarget({ report, rounds }, at) {
  return rounds ? { count: report.repeats, lowest: rounds.lowest[at], highest: rounds.highest[at], phases: rounds.phases[at], each: rounds.each } : null;
}

/** From the lowest to the highest, the unit once: 190–230 µs. The twin of figures.rs. */
function range(show, lowest, highest) {
  const [low, high] = [show(lowest), show(highest)];
  if (low === high) return high;
  const [figure, unit] = low.split(" ");
  return unit && unit === high.split(" ")[1] && low.split(" ").length === 2 ? `${figure}–${high}` : `${low}–${high}`;
}

/**
 * A cell with a figure of a target, and below it the lowest and the highest of its rounds. `of` takes a target's report: that of medians,
 * of the lowest or of the highest figures.
 */
function spreadCell(series, of, show, text = show) {
  const value = of(series.target);
  const { rounds } = series;
  if (!rounds || value == null) return cell(text(value), value);
  return cell([text(value), rangeText(show, of(rounds.lowest), of(rounds.highest))], value);
}

function rangeText(show, lowest, highest) {
  return lowest == null || highest == null ? null : el("small", { class: "range" }, range(show, lowest, highest));
}

/** A label, and of how many rounds its figures are where not all have them. */
function roundsOf(series, at) {
  if (!series.rounds) return null;
  const { rounds } = series.rounds.phases[at];
  return rounds === series.rounds.count ? null : el("small", { class: "range" }, `${rounds} of ${series.rounds.count} rounds`);
}

/** The lowest and the highest on a bar, for those who point at it or have it read to them. */
function whiskerText(show, median, { lowest, highest, rounds }) {
  return rounds === 1 ? `one round: ${show(median)}` : `median ${show(median)}, lowest ${show(lowest)}, highest ${show(highest)} of ${rounds} rounds`;
}

/** An error bar: a thin line with ends from one place of a bar to another, as parts of its width. */
function whisker(from, to, width = "100%") {
  const at = (part) => `calc(${width} * ${Math.max(0, Math.min(1, part))})`;
  return el("span", { class: "whisker", style: `left:${at(from)};width:calc(${width} * ${Math.max(0, to - from)})`, "aria-hidden": "true" });
}

const WHISKERS = "Bars and points are medians; the thin line with ends reaches from the lowest to the highest of the rounds.";

/** What the figures of a phase are of, and which rounds its charts show. */
function roundsNote(shown) {
  const several = shown.filter(({ series }) => series.rounds);
  if (!several.length) return null;
  const drawn = several.map(({ series, at }) => `${series.label}: round ${series.rounds.phases[at].drawn}`).join("; ");
  return el("p", { class: "caption rounds" }, `Figures are medians of ${[...new Set(several.map(({ series }) => series.rounds.count))].join(" and ")} rounds, below them the lowest and the highest. `,
    `Charts show the round whose throughput is the median (of two the lower). ${drawn}.`);
}

/** Throughput of the rounds that a chart does not show in full. */
function faintRounds(some, operation) {
  return some.flatMap(({ series, at }) => (series.rounds?.phases[at].others || []).map(({ round, t, operations }) => {
    const all = operation ? [operations[operation] || []] : Object.values(operations);
    return {
      name: `${series.label} round ${round}`, group: series.label, index: series.index, faint: true, width: 1, x: t,
      y: t.map((_, place) => all.reduce((sum, rates) => sum + (rates[place] || 0), 0)),
    };
  }));
}

/** Every round by itself, as a series. */
function eachRound(all) {
  return all.flatMap((series) => {
    if (!series.rounds) return [series];
    const own = series.rounds.each.filter(({ target }) => target.name === series.target.name && target.nodes === series.target.nodes);
    return own.map(({ label, target }) => ({ ...series, target, label: series.run.label ? `${series.run.label}: ${label}` : label }));
  });
}
