//! What reports that are set beside each other do not have in common: first of all whether they are of one study, then what they were run
//! with. A ratio of figures says something of the targets only as far as everything else is the same.

use super::figures::{count, duration, number};
use super::model::{PhaseKind, Report};
use super::rounds::rounds;
use crate::study::Study;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What a report does not tell.
const NOT_TOLD: &str = "not told";
/// Of the environment: another value each time, which makes no other machine of it.
const PASSING: [&str; 1] = ["load of the machine before"];
/// Flags that the environment tells of as well.
const TOLD_BY_ENVIRONMENT: [&str; 2] = ["--server-cpus", "--load-cpus"];

/// How much a difference matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Other questions were asked: their figures have nothing to do with each other.
    Study,
    /// The same was asked under other conditions: some part of each ratio is theirs.
    Conditions,
    /// Another version: often what the comparison is for.
    Version,
}

/// Something that is not the same in all reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What, for example `scale`, `duration of run`, `memory`.
    pub what: String,
    /// How much it matters.
    pub kind: Kind,
    /// Its value in each report, in their order.
    pub values: Vec<String>,
}

impl Difference {
    /// Whether report `at` has another value than the first.
    #[must_use]
    pub fn is_of(&self, at: usize) -> bool {
        self.values.get(at) != self.values.first()
    }
}

/// All differences, the gravest first.
#[must_use]
pub fn differences(reports: &[(String, Report)]) -> Vec<Difference> {
    if reports.is_empty() {
        return Vec::new();
    }
    let mut all = Found { reports, all: Vec::new() };
    all.add("study", Kind::Study, |report| Some(report.study.name.clone()));
    all.phases();
    all.add("scale", Kind::Conditions, |report| Some(without_zeros(report.scale)));
    all.add("repeats", Kind::Conditions, |report| Some(report.repeats.to_string()));
    all.study_files();
    all.add("finished", Kind::Conditions, |report| Some(if report.complete { "yes" } else { "no" }.to_owned()));
    all.by_name(
        |_| Kind::Conditions,
        "",
        |report| {
            let stays = |(name, _): &(&String, &String)| !PASSING.contains(&name.as_str());
            report.environment.iter().filter(stays).map(|(name, value)| (name.clone(), value.clone())).collect()
        },
    );
    all.by_name(
        |_| Kind::Conditions,
        "",
        |report| {
            let counts = |(flag, _): &(&String, &String)| !TOLD_BY_ENVIRONMENT.contains(&flag.as_str());
            report.settings.iter().filter(counts).map(|(flag, value)| (flag.clone(), value.clone())).collect()
        },
    );
    all.targets();
    all.add("version of the tool", Kind::Version, |report| Some(report.tool.clone()));
    all.all.sort_by_key(|difference| difference.kind as u8);
    all.all
}

/// Whether report `at` was run under other conditions than the first, or is of another study.
#[must_use]
pub(super) fn is_unlike_first(differences: &[Difference], at: usize) -> bool {
    differences.iter().any(|difference| difference.kind != Kind::Version && difference.is_of(at))
}

fn without_zeros(value: f64) -> String {
    let text = number(value);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Name and value.
type Words = BTreeMap<String, String>;

struct Found<'a> {
    reports: &'a [(String, Report)],
    all: Vec<Difference>,
}

impl Found<'_> {
    fn add(&mut self, what: &str, kind: Kind, value: impl Fn(&Report) -> Option<String>) {
        let values = self.reports.iter().map(|(_, report)| value(report)).collect();
        self.keep(what, kind, values, NOT_TOLD);
    }

    /// Keeps it if the reports do not agree.
    fn keep(&mut self, what: &str, kind: Kind, values: Vec<Option<String>>, absent: &str) {
        if values.iter().any(|value| *value != values[0]) {
            let values = values.into_iter().map(|value| value.unwrap_or_else(|| absent.to_owned())).collect();
            self.all.push(Difference { what: what.to_owned(), kind, values });
        }
    }

    /// Each name that any report has; `before` stands before it.
    fn by_name(&mut self, kind: impl Fn(&str) -> Kind, before: &str, of: impl Fn(&Report) -> Words) {
        let maps: Vec<Words> = self.reports.iter().map(|(_, report)| of(report)).collect();
        // A report of an earlier version that tells nothing at all is not another machine.
        if maps.iter().any(BTreeMap::is_empty) {
            return;
        }
        self.keys(&maps, NOT_TOLD, |name| (format!("{before}{name}"), kind(name)));
    }

    fn keys(&mut self, maps: &[Words], absent: &str, told: impl Fn(&str) -> (String, Kind)) {
        for name in maps.iter().flat_map(BTreeMap::keys).collect::<BTreeSet<_>>() {
            let (what, kind) = told(name);
            self.keep(&what, kind, maps.iter().map(|map| map.get(name).cloned()).collect(), absent);
        }
    }

    /// Reports of one study by name that measure nothing in common are of different studies.
    fn phases(&mut self) {
        let measured = |report: &Report| -> BTreeSet<String> {
            let phases = report.targets.iter().flat_map(|target| &target.phases);
            phases.filter(|phase| phase.kind == PhaseKind::Run).map(|phase| phase.name.clone()).collect()
        };
        let all: Vec<BTreeSet<String>> = self.reports.iter().map(|(_, report)| measured(report)).collect();
        let Some(first) = all.first() else { return };
        let disjoint = |other: &BTreeSet<String>| !first.is_empty() && !other.is_empty() && first.is_disjoint(other);
        if all.iter().any(disjoint) {
            let values = all.iter().map(|names| names.iter().cloned().collect::<Vec<_>>().join(", ")).collect();
            self.all.push(Difference { what: "measured phases".to_owned(), kind: Kind::Study, values });
        }
    }

    /// What the files of the studies say, each phase by its name. What follows from the scale is not said again.
    fn study_files(&mut self) {
        let scaled = self.reports.iter().any(|(_, report)| report.scale != self.reports[0].1.scale);
        let study = |report: &Report| Study::parse(&report.study.name, &report.study.file).ok();
        let maps = self.reports.iter().map(|(_, report)| Some(leaves(&study(report)?, scaled)));
        match maps.collect::<Option<Vec<Words>>>() {
            Some(maps) => self.keys(&maps, "none", |name| (name.to_owned(), Kind::Conditions)),
            // A file of a version that knew other keys: only that it is another can be said.
            None if scaled => {}
            None => {
                let files: Vec<&str> = self.reports.iter().map(|(_, report)| report.study.file.as_str()).collect();
                let which = |file: &&str| files.iter().position(|other| other == file).map(|at| format!("file {}", at + 1));
                self.keep("study's file", Kind::Conditions, files.iter().map(which).collect(), NOT_TOLD);
            }
        }
    }

    /// Servers and settings of targets that have the same name and size in all reports.
    fn targets(&mut self) {
        let Some((_, first)) = self.reports.first() else { return };
        for target in rounds(&first.targets).into_iter().map(|rounds| rounds[0]) {
            let same = |report: &Report| {
                report
                    .targets
                    .iter()
                    .find(|other| other.name == target.name && other.nodes == target.nodes && !other.server.is_empty())
                    .cloned()
            };
            if self.reports.iter().any(|(_, report)| same(report).is_none()) {
                continue;
            }
            self.add(&format!("version of {}", target.name), Kind::Version, |report| Some(same(report)?.server));
            let kind = |name: &str| if name == "version" { Kind::Version } else { Kind::Conditions };
            let told = |(name, value): &(String, String)| name != "cpus" && !value.starts_with('/');
            self.by_name(kind, &format!("{}: ", target.name), |report| {
                same(report).map(|target| target.settings.into_iter().filter(told).collect()).unwrap_or_default()
            });
        }
    }
}

/// What a study says, in words, by name. Without what only explains (title, publication), and without numbers of rows and operations if they
/// follow from the scale.
fn leaves(study: &Study, scaled: bool) -> Words {
    let mut told = BTreeMap::new();
    for phase in &study.phases {
        let name = phase.name();
        if let Some(seconds) = phase.seconds {
            told.insert(format!("duration of {name}"), duration(seconds));
        }
        if let Some(operations) = phase.operations.filter(|_| !scaled) {
            told.insert(format!("operations of {name}"), count(operations));
        }
        if let Some(rate) = phase.rate {
            told.insert(format!("rate of {name}"), format!("{}/s", number(rate)));
        }
        let mut rest = phase.clone();
        (rest.seconds, rest.operations, rest.rate) = (None, None, None);
        // They move with the duration.
        rest.events.iter_mut().for_each(|event| event.at_s = 0.0);
        told.extend(words(&format!("{name}: "), &rest));
    }
    let mut rest = study.clone();
    rest.phases.clear();
    // The report tells it, whatever version it is of.
    rest.repeats = 1;
    (rest.title, rest.description, rest.paper, rest.cost) = (String::new(), String::new(), None, None);
    if scaled {
        rest.rows.count = 0;
    }
    told.extend(words("study: ", &rest));
    told
}

/// The values of anything that can be a table, by their paths.
fn words(before: &str, of: &impl Serialize) -> Words {
    fn walk(path: &str, value: &toml::Value, told: &mut Words) {
        match value {
            toml::Value::Table(table) => {
                let dot = if path.is_empty() || path.ends_with(' ') { "" } else { "." };
                table.iter().for_each(|(key, value)| walk(&format!("{path}{dot}{key}"), value, told));
            }
            toml::Value::String(text) => drop(told.insert(path.to_owned(), text.clone())),
            other => drop(told.insert(path.to_owned(), other.to_string())),
        }
    }
    let mut told = BTreeMap::new();
    walk(before, &toml::Value::try_from(of).expect("a study is made of tables, numbers and texts"), &mut told);
    told.remove(&format!("{before}name"));
    told
}
