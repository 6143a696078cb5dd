//! A report, or several beside each other, as one HTML file that opens offline.
//!
//! Rust does not draw: it puts figures into a script block as JSON and the page's own scripts make tables and charts of them. Invariants:
//! nothing in the data can end its block or become markup (every `<`, `>` and `&` in it is escaped, and the scripts only set text); the
//! file's size is bounded however long the run was; the page's policy forbids it every request.

use super::differences::{Difference, differences};
use super::findings;
use super::headline::headline;
use super::model::Report;
use super::page_rounds::Rounds;
use super::rounds::{Counted, Merged};
use super::timeline::{self, Columns};
use serde::Serialize;
use std::collections::BTreeMap;

/// Intervals of all operations of all phases of all targets in a file: at about 110 bytes each, 2 MB.
const INTERVALS_MAX: usize = 20_000;
/// Intervals of one phase: what is told apart in a chart 1,200 pixels wide.
const PHASE_INTERVALS_MAX: u32 = 720;
/// Points of a latency spectrum.
const SPECTRUM_POINTS_MAX: usize = 240;

const TEMPLATE: &str = include_str!("page/page.html");
/// In the order in which the page needs them.
const PARTS: [(&str, &str); 10] = [
    ("/*{uplot.css}*/", include_str!("../../../../third_party/uplot-1.6.32/uPlot.min.css")),
    ("/*{page.css}*/", include_str!("page/page.css")),
    ("/*{uplot.js}*/", include_str!("../../../../third_party/uplot-1.6.32/uPlot.iife.min.js")),
    ("/*{format.js}*/", include_str!("page/format.js")),
    ("/*{elements.js}*/", include_str!("page/elements.js")),
    ("/*{theme.js}*/", include_str!("page/theme.js")),
    ("/*{charts.js}*/", include_str!("page/charts.js")),
    ("/*{rounds.js}*/", include_str!("page/rounds.js")),
    ("/*{sections.js}*/", include_str!("page/sections.js")),
    ("/*{page.js}*/", include_str!("page/page.js")),
];

/// What the page's scripts read.
#[derive(Serialize)]
struct Page {
    runs: Vec<Run>,
    /// What the runs do not have in common.
    differences: Vec<Difference>,
}

#[derive(Serialize)]
struct Run {
    /// What this run is called beside others; empty when it is alone.
    label: String,
    headline: String,
    verdict: String,
    warnings: Vec<String>,
    /// What targets are called, in their order.
    labels: Vec<String>,
    /// Timelines by target and phase, in their order.
    timelines: Vec<Vec<Columns>>,
    /// The report without timelines, its spectra thinned; a target's rounds are one, with the medians of their figures.
    report: Report,
    /// What else there is of several rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    rounds: Option<Rounds>,
}

/// The report as a page.
#[must_use]
pub fn html(report: &Report) -> String {
    let title = format!("{} · tarndb bench", report.study.name);
    page(&title, &[(String::new(), report)], Vec::new())
}

/// Several reports in one page, each by a label; figures are compared with the first.
#[must_use]
pub fn compare_html(reports: &[(String, Report)]) -> String {
    let borrowed: Vec<(String, &Report)> = reports.iter().map(|(label, report)| (label.clone(), report)).collect();
    let names: Vec<&str> = reports.iter().map(|(label, _)| label.as_str()).collect();
    page(&format!("{} · tarndb bench", names.join(", ")), &borrowed, differences(reports))
}

fn page(title: &str, reports: &[(String, &Report)], differences: Vec<Difference>) -> String {
    let widths = widths(reports);
    let page = Page { runs: reports.iter().map(|(label, report)| run(label, report, &widths)).collect(), differences };
    let data = serde_json::to_string(&page).expect("a report is text, numbers and maps with text for keys");
    let mut out = String::with_capacity(data.len() + 200_000);
    // The template is cut at its marks, once, from front to back: what is put in is never searched for marks.
    let mut rest = TEMPLATE;
    let title = escape_markup(title);
    let data = escape_json(&data);
    let marks = [("<!--{title}-->", title.as_str())].into_iter().chain(PARTS).chain([("/*{data}*/", data.as_str())]);
    let mut places: Vec<(usize, &str, &str)> =
        marks.map(|(mark, text)| (TEMPLATE.find(mark).expect("page.html has every mark"), mark, text)).collect();
    places.sort_unstable_by_key(|(place, ..)| *place);
    for (_, mark, text) in places {
        let (before, after) = rest.split_once(mark).expect("marks are in the order of their places");
        out.push_str(before);
        out.push_str(text);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Seconds in an interval, by phase name: the same for every target, round and report, and so wide that all fit.
fn widths(reports: &[(String, &Report)]) -> BTreeMap<String, u32> {
    let phases = || reports.iter().flat_map(|(_, report)| report.targets.iter().flat_map(|target| &target.phases));
    let rows: usize = phases().filter(|phase| !phase.timeline.is_empty()).map(|phase| phase.operations.len().max(1)).sum();
    let intervals = u32::try_from(INTERVALS_MAX / rows.max(1)).unwrap_or(u32::MAX).clamp(20, PHASE_INTERVALS_MAX);
    let mut longest: BTreeMap<String, f64> = BTreeMap::new();
    for phase in phases() {
        let end = phase.timeline.last().map_or(0.0, |second| second.second);
        let seconds = longest.entry(phase.name.clone()).or_default();
        *seconds = seconds.max(end);
    }
    longest.into_iter().map(|(name, seconds)| (name, timeline::width(seconds, intervals))).collect()
}

fn run(label: &str, report: &Report, widths: &BTreeMap<String, u32>) -> Run {
    let merged = Merged::of(report);
    let columns = |counted: &Counted<'_>| timeline::columns(counted.drawn(), widths[&counted.drawn().name]);
    let timelines = merged.phases.iter().map(|phases| phases.iter().map(columns).collect()).collect();
    let rounds = merged.extremes.as_ref().map(|extremes| Rounds::of(report, &merged.phases, extremes, widths));
    let labels = findings::labels(&merged.report);
    let mut without = Report { repeats: report.repeats, ..merged.report.into_owned() };
    for phase in without.targets.iter_mut().flat_map(|target| &mut target.phases) {
        phase.timeline = Vec::new();
        for operation in &mut phase.operations {
            operation.spectrum = thin(&operation.spectrum);
        }
    }
    Run {
        label: label.to_owned(),
        headline: headline(report),
        verdict: findings::verdict(report),
        warnings: findings::warnings(report),
        labels,
        timelines,
        rounds,
        report: without,
    }
}

/// Every n-th point, and the last.
fn thin(spectrum: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let step = spectrum.len().div_ceil(SPECTRUM_POINTS_MAX).max(1);
    let last = spectrum.len().saturating_sub(1);
    spectrum.iter().enumerate().filter(|(at, _)| at % step == 0 || *at == last).map(|(_, point)| *point).collect()
}

/// JSON that cannot end the script block it stands in, nor open a comment there.
fn escape_json(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

fn escape_markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thinned_spectrum_keeps_its_ends() {
        let spectrum: Vec<(f64, f64)> = (0..1001).map(|at| (f64::from(at) / 10.0, f64::from(at))).collect();
        let thinned = thin(&spectrum);
        assert!(thinned.len() <= SPECTRUM_POINTS_MAX + 1, "{}", thinned.len());
        assert_eq!(thinned.first(), spectrum.first());
        assert_eq!(thinned.last(), spectrum.last());
        assert_eq!(thin(&[]), []);
    }

    #[test]
    fn our_own_scripts_cannot_end_their_block() {
        for (name, text) in PARTS {
            assert!(!text.to_lowercase().contains("</s"), "{name} would end the block it stands in");
        }
    }
}
