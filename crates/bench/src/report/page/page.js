// Puts the page together: what must be known first stands first.
"use strict";

(() => {
  const { runs, differences } = JSON.parse(document.getElementById("data").textContent);
  const alone = runs.length === 1;
  const all = [];
  for (const run of runs) {
    run.report.targets.forEach((target, at) => {
      const label = alone ? run.labels[at] : run.report.targets.length === 1 && runs.every(({ report }) => report.targets.length === 1) ? run.label : `${run.label}: ${run.labels[at]}`;
      all.push({ label: isUnlikeFirst(differences, runs.indexOf(run)) ? `${label}\u00a0≠` : label, index: all.length, run, target, timelines: run.timelines[at], rounds: roundsOfTarget(run, at) });
    });
  }

  const when = ({ report }) => [report.started.replace("T", " ").replace("Z", " UTC"), `took ${duration(report.seconds)} in all`, report.scale === 1 ? "full scale" : `scale ${report.scale}`, report.tool].join(" · ");
  const header = (run) => {
    const { study } = run.report;
    return el("header", {},
      el("p", { class: "study" }, alone ? study.name : `${run.label} · ${study.name}`, alone ? themeSwitch() : null),
      el(alone ? "h1" : "h2", { class: "headline" }, run.headline),
      el("p", { class: "title" }, study.title),
      study.paper ? el("p", { class: "paper" }, "After ", link(study.paper.citation, study.paper.url)) : null,
      el("p", { class: "when" }, when(run)));
  };

  const page = document.getElementById("page");
  const first = runs[0];
  const parts = [
    alone ? header(first) : el("header", {}, el("p", { class: "study" }, "comparison", themeSwitch()), el("h1", {}, runs.map(({ label }) => label).join(" · "))),
    alone ? null : el("div", { class: "columns" }, runs.map(header)),
    differenceSection(runs, differences),
    warningBox(runs),
    runs.map((run) => el("p", { class: "verdict" }, alone ? null : el("span", { class: "of" }, `${run.label} `), run.verdict.replace(/ ×/g, "\u00a0×"))),
    alone ? ratioSection(first, all) : compareSection(all),
    alone && first.report.study.description ? el("p", { class: "prose description" }, first.report.study.description) : null,
    scalingSection(all),
    eventSection(all),
    // What was measured before what prepared it.
    ...["run", "warm-up", "load", "settle", "verify", "validate"].flatMap((kind) => phaseNames(all)
      .filter((name) => kindOf(withPhase(all, name)[0].phase) === kind)
      .map((name) => (kind === "load" && name === firstLoad(all) ? [insertSection(all), phaseSection(all, name)] : phaseSection(all, name)))),
    costSection(all),
    faultSection(all),
    alone ? paperSection(first) : null,
    repeatSection(runs, all),
  ].flat(Infinity).filter(Boolean);
  page.replaceChildren(...parts);
  const contents = parts.filter((part) => part.tagName === "SECTION" && part.id && part.querySelector(":scope > h2"));
  if (contents.length > 2) {
    const nav = el("nav", { "aria-label": "Contents" }, contents.map(({ id, firstChild }) => el("a", { href: `#${id}` }, firstChild.firstChild.textContent)));
    contents[0].before(nav);
  }

  themeListeners.push(drawCharts);
  drawCharts();
  followWidth();
})();

function firstLoad(all) {
  return phaseNames(all).find((name) => withPhase(all, name)[0].phase.kind === "load");
}
