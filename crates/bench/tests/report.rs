//! Reports on disk and as text and pages, without a browser: `tests/report` looks at the pages in one.

#[path = "../examples/report_fixtures/generate.rs"]
mod generate;

use bench::report::model::{SCHEMA, Verified};
use bench::report::{
    Comparison, Difference, Kind, Report, ReportError, compare_html, compare_text, differences, headline, html, labels, read_json, summary,
    verdict, warnings, write_json,
};
use std::fs;
use std::path::{Path, PathBuf};

/// A directory of this test's own, empty.
fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("the target directory can be written");
    path
}

fn made(name: &str) -> Report {
    generate::ALL.iter().find(|(other, _)| *other == name).expect("a name of generate::ALL").1()
}

#[test]
fn what_is_written_is_read_again() {
    let path = directory("written").join("report.json");
    // The long one is only longer.
    for (_, make) in generate::ALL.iter().filter(|(name, _)| *name != "long") {
        let report = make();
        write_json(&path, &report).expect("there is room");
        assert_eq!(read_json(&path).expect("it was just written"), report);
    }
    let names: Vec<_> = fs::read_dir(path.parent().expect("it has one")).expect("it exists").collect();
    assert_eq!(names.len(), 1, "nothing is left beside it: {names:?}");
}

#[test]
fn a_full_device_leaves_the_old_report() {
    let directory = directory("full");
    let path = directory.join("report.json");
    write_json(&path, &made("empty")).expect("there is room");
    // What is written beside the report goes to a device that is always full.
    std::os::unix::fs::symlink("/dev/full", directory.join("report.json.partial")).expect("links are allowed");
    let error = write_json(&path, &made("resilience")).expect_err("/dev/full has no room");
    assert!(matches!(error, ReportError::Write { .. }));
    let text = error.to_string();
    assert!(text.contains("No space left on device") && text.contains("report.json: "), "{text}");
    assert_eq!(text.lines().count(), 1);
    assert_eq!(read_json(&path).expect("it is still there"), made("empty"));
    assert!(!directory.join("report.json.partial").exists());
}

#[test]
fn what_is_no_report_is_said_in_a_line() {
    let path = directory("garbage").join("report.json");
    let written = serde_json::to_string(&made("empty")).expect("a report is JSON");
    for garbage in ["", "not JSON", "{}", "[1]", "{\"schema\": 1}", "{\"schema\": \"one\"}", &written[..written.len() / 2], "\u{0}\u{0}"] {
        fs::write(&path, garbage).expect("there is room");
        let error = read_json(&path).expect_err(garbage);
        assert!(matches!(error, ReportError::Malformed { .. }), "{garbage}: {error:?}");
        assert!(error.to_string().contains("is no report of tarndb bench") && error.to_string().lines().count() == 1, "{error}");
    }
    fs::write(&path, format!("{{\"schema\": {}, \"phases\": {{}}}}", SCHEMA + 1)).expect("there is room");
    assert!(matches!(read_json(&path), Err(ReportError::Newer { schema, .. }) if schema == SCHEMA + 1));
    fs::remove_file(&path).expect("it was written");
    assert!(matches!(read_json(&path), Err(ReportError::Read { .. })));
}

#[test]
fn golden_report_is_still_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/report-v1.json");
    let mut golden = made("resilience");
    golden.targets[0].phases[0].timeline.truncate(5);
    if std::env::var_os("TARNDB_WRITE_GOLDEN").is_some() {
        write_json(&path, &golden).expect("there is room");
    }
    let read = read_json(&path).expect("a report of schema 1 is read by every later version");
    assert_eq!((read.schema, read.study.name.as_str()), (1, "resilience"));
    let phase = &read.targets[0].phases[0];
    assert_eq!((phase.operations[0].latency.p50, phase.timeline.len(), phase.events[0].figures["noticed_s"]), (280.0, 5, 1.8));
    assert_eq!(phase.errors[0].count, 1_600);
}

#[test]
fn reports_from_before_unknown_reads_were_counted_are_still_read() {
    let path = directory("without-unknown").join("report.json");
    let mut written = serde_json::to_value(made("resilience")).expect("a report is JSON");
    let verified = written["targets"][0]["phases"][0]["verified"].as_object_mut().expect("every phase has it");
    assert!(verified.remove("unknown").is_some());
    fs::write(&path, written.to_string()).expect("there is room");
    let read = read_json(&path).expect("the field may be missing");
    assert_eq!(read.targets[0].phases[0].verified, Verified { compared: 3_400_000, ..Verified::default() });
}

/// Every `pub` field of the model and every field's kind is named in the page that documents `report.json`.
#[test]
fn every_field_is_documented() {
    let model = concat!(include_str!("../src/report/model.rs"), include_str!("../src/report/model/phase.rs"));
    let page = include_str!("../../../docs/reference/bench-report.md");
    let mut structure = "";
    let mut fields = 0;
    for line in model.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("pub struct ") {
            structure = rest.split([' ', '(', '<']).next().expect("split gives a part");
            assert!(page.contains(&format!("## {structure}\n")), "docs/reference/bench-report.md has no section {structure}");
        } else if let Some((name, _)) = line.strip_prefix("pub ").and_then(|rest| rest.split_once(':'))
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        {
            let section = page.split(&format!("## {structure}\n")).nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap_or("");
            assert!(section.contains(&format!("| `{name}` |")), "section {structure} of docs/reference/bench-report.md lacks `{name}`");
            fields += 1;
        }
    }
    assert!(fields > 80, "only {fields} fields were found in the model: this test no longer reads it rightly");
}

#[test]
fn a_page_asks_nobody_for_anything() {
    for (name, make) in generate::ALL {
        let page = html(&make());
        for asking in [
            "src=\"http",
            "src='http",
            "<link rel=\"stylesheet",
            "@import",
            "url(http",
            "fetch(",
            "XMLHttpRequest",
            "WebSocket(",
            "sendBeacon",
            "import(",
        ] {
            assert!(!page.contains(asking), "{name}: {asking}");
        }
        assert!(page.contains("default-src 'none'"), "{name}");
        assert!(page.len() < 5_000_000, "{name}: {} bytes", page.len());
    }
}

#[test]
fn what_a_report_says_cannot_become_markup() {
    let plain = html(&made("empty"));
    let hostile = html(&made("hostile"));
    let scripts = |page: &str| {
        (page.matches("<script").count(), page.matches("</script").count(), page.matches("<img").count(), page.matches("<!--").count())
    };
    assert_eq!(scripts(&hostile), scripts(&plain));
    let data = hostile.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next()).expect("the page has data");
    assert!(!data.contains(['<', '>', '&']));
    let read: serde_json::Value = serde_json::from_str(data).expect("the block is whole");
    assert_eq!(read["runs"][0]["report"]["study"]["title"], made("hostile").study.title.as_str());
}

#[test]
fn a_summary_says_first_what_matters_and_keeps_to_its_width() {
    let report = made("incomplete");
    for width in [40, 80, 120] {
        let text = summary(&report, width);
        let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("no {words:?} in\n{text}"));
        assert!(at("WARNING") < at("run throughput") && at("WARNING") < at("replies/s"));
        assert!(text.contains("OutOfMemoryError") && text.contains("unfinished"), "{text}");
        let prose: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
        assert!(prose.iter().all(|line| line.chars().count() <= width), "{prose:#?}");
    }
    let wide = summary(&made("aerospike-cassandra"), 120);
    for figure in ["run read p95", "42 ×", "14 ×", "p99.9", "tarndb / cassandra", "  run, 10 min"] {
        assert!(wide.contains(figure), "no {figure:?} in\n{wide}");
    }
    assert!(!wide.contains("0.000"), "durations have digits that say something: {wide}");
    assert!(wide.lines().all(|line| line.chars().count() <= 120), "{wide}");
}

#[test]
fn findings_are_not_said_twice() {
    let mut report = made("incomplete");
    let all = warnings(&report);
    assert_eq!(all.iter().filter(|warning| warning.contains("OutOfMemoryError")).count(), 1);
    assert_eq!(all.iter().filter(|warning| warning.contains("client was the limit")).count(), 1);
    assert!(all.iter().any(|warning| warning.contains("2 of 1,000 compared reads in load were lost")), "{all:#?}");
    assert!(!all.iter().any(|warning| warning.starts_with("Incomplete")), "the run's own warning says so");
    report.warnings = all.clone();
    assert_eq!(warnings(&report), all);
    assert!(warnings(&made("aerospike-cassandra")).is_empty());
}

#[test]
fn nothing_is_claimed_of_rows_of_which_nothing_was_known() {
    let mut report = made("resilience");
    let mut said = |verified: Verified| {
        report.targets[0].phases[0].verified = verified;
        (verdict(&report), warnings(&report).join("\n"), summary(&report, 160), html(&report))
    };
    let (claim, silence) = ("was lost, stale or wrong", "nothing is said of lost or stale ones");

    let (verdict, warnings, _, _) = said(Verified { compared: 2_000, ..Verified::default() });
    assert!(verdict.ends_with("None of 2,000 compared reads was lost, stale or wrong."), "{verdict}");
    assert!(!warnings.contains(silence), "{warnings}");

    let (verdict, warnings, _, _) = said(Verified { compared: 2_000, unknown: 3_000, ..Verified::default() });
    let both = "None of 2,000 compared reads was lost, stale or wrong; 3,000 others were of rows of which nothing was known.";
    assert!(verdict.ends_with(both), "{verdict}");
    assert!(!warnings.contains(silence), "{warnings}");

    let (verdict, warnings, text, page) = said(Verified { unknown: 3_000, ..Verified::default() });
    assert!(warnings.contains("nothing was known of the rows that were read in run (3,000 reads)"), "{warnings}");
    for part in [&verdict, &warnings, &text, &page] {
        assert!(part.contains(silence) && !part.contains(claim), "{part}");
    }

    let (verdict, warnings, _, _) = said(Verified { compared: 2_000, lost: 1, unknown: 3_000, ..Verified::default() });
    assert!(!verdict.contains(claim) && warnings.contains("1 of 2,000 compared reads in run were lost"), "{verdict}\n{warnings}");
}

#[test]
fn a_verdict_is_about_what_was_measured() {
    assert!(verdict(&made("aerospike-cassandra")).starts_with("tarndb against cassandra: run throughput "));
    assert_eq!(verdict(&made("empty")), "Nothing was measured.");
    assert!(verdict(&made("griddb-scaleout")).contains("(linear: 6.67 ×)"), "{}", verdict(&made("griddb-scaleout")));
    assert!(verdict(&made("resilience")).starts_with("tarndb: "));
    assert_eq!(labels(&made("griddb-scaleout")), ["tarndb, 3 nodes", "tarndb, 5 nodes", "tarndb, 10 nodes", "tarndb, 20 nodes"]);
}

#[test]
fn a_headline_names_what_was_run_and_on_what() {
    let mut report = made("aerospike-cassandra");
    let machine = "one node, 2 CPUs (AMD EPYC 9R14), 31.0 GiB of memory";
    assert_eq!(headline(&report), format!("10 min at 1 % of the published size, {machine}"));
    report.scale = 0.012;
    report.targets[0].phases[4].seconds = 600.004;
    assert_eq!(headline(&report), format!("10 min at 1.2 % of the published size, {machine}"));
    report.scale = 1.0;
    assert!(headline(&report).contains(" at the published size, "), "{}", headline(&report));
    (report.study.paper, report.scale) = (None, 0.5);
    report.ratios.clear();
    assert!(headline(&report).contains(" at 50 % of the study's size, "), "{}", headline(&report));
    for target in &mut report.targets {
        target.phases.truncate(3);
    }
    assert!(headline(&report).starts_with("A load of 7 min at "), "{}", headline(&report));
    report.targets[0].given = "other=cql://10.0.0.1:9042?nodes=1".to_owned();
    report.targets[0].address = "10.0.0.1:9042".to_owned();
    assert!(headline(&report).ends_with("one node, load from 2 CPUs (AMD EPYC 9R14), 31.0 GiB of memory"), "{}", headline(&report));
    report.environment.clear();
    assert!(headline(&report).ends_with("size, one node"), "{}", headline(&report));
    assert!(headline(&made("griddb-scaleout")).starts_with("2 min at 1 % of the published size, 3, 5, 10 and 20 nodes, "));
    assert!(headline(&made("empty")).starts_with("Nothing was run at "), "{}", headline(&made("empty")));
    let text = summary(&made("long"), 160);
    assert!(text.starts_with("aerospike-cassandra: 12 h at 1 % of the published size, one node, "), "{text}");
    assert!(html(&made("long")).contains("\"headline\":\"12 h at 1 % of the published size, one node, "));
}

#[test]
fn several_rounds_are_shown_as_medians_with_their_extremes() {
    let report = made("repeats");
    let text = summary(&report, 160);
    let line = |start: &str, after: &str| {
        let from = text.find(after).unwrap_or_else(|| panic!("no {after:?} in\n{text}"));
        text[from..]
            .lines()
            .find(|line| line.trim_start().starts_with(start))
            .unwrap_or_else(|| panic!("no {start:?} in\n{text}"))
            .to_owned()
    };
    let throughputs: Vec<f64> =
        report.targets.iter().filter(|target| target.name == "tarndb").map(|target| target.phases[4].throughput).collect();
    let thousands = |value: f64| format!("{},{:03}", value.round() as u64 / 1000, value.round() as u64 % 1000);
    assert!(throughputs[1] < throughputs[0] && throughputs[0] < throughputs[2]);
    for (start, value) in [("run, 2 min", throughputs[0]), ("lowest", throughputs[1]), ("highest", throughputs[2])] {
        assert!(line(start, "  run, 2 min").contains(&thousands(value)), "{start} {value}:\n{text}");
    }
    assert!(text.contains("run, 2 min (2 of 3 rounds)") && text.contains("run throughput (2 of 3 rounds)"), "{text}");
    assert!(!text.contains("unfinished"), "a round that was cut short does not count where others were finished: {text}");
    assert!(headline(&report).contains(", medians of 3 rounds, one node"), "{}", headline(&report));
    assert!(verdict(&report).contains("(median of 2 of 3 rounds, 1"), "{}", verdict(&report));
    let all = warnings(&report).join("\n");
    assert!(all.contains("cassandra, round 2 was given up") && all.contains("cassandra, round 2: 2 of 1,000 compared reads"), "{all}");
    assert_eq!(labels(&report)[..2], ["tarndb, round 1", "cassandra, round 1"]);
    assert!(summary(&report, 80).lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn of_one_target_the_verdict_says_how_far_its_rounds_lie_apart() {
    let mut report = made("repeats");
    report.ratios.clear();
    report.targets.retain(|target| target.name == "tarndb");
    assert!(verdict(&report).contains("Medians of 3 rounds; in run "), "{}", verdict(&report));
    report.targets.truncate(1);
    assert!(headline(&report).contains(" size, 1 of 3 rounds, one node"), "{}", headline(&report));
    assert!(verdict(&report).contains("Figures of one round; in run "), "{}", verdict(&report));
}

#[test]
fn what_was_lost_in_a_round_that_does_not_count_is_not_forgotten() {
    let claim = "was lost, stale or wrong";
    let mut report = made("repeats");
    report.ratios.clear();
    report.targets.retain(|target| target.name == "cassandra");
    assert!(!verdict(&report).contains(claim), "{}", verdict(&report));
    report.targets[1].phases[4].verified.lost = 0;
    let compared: u64 = report.targets.iter().flat_map(|target| &target.phases).map(|phase| phase.verified.compared).sum();
    let said = verdict(&report).replace(',', "");
    assert!(said.contains(&format!("None of {compared} compared reads {claim}").replace(',', "")), "{said}");
}

#[test]
fn sizes_have_rounds_each() {
    let report = made("repeats-scaleout");
    assert!(verdict(&report).contains("20 nodes: ") && verdict(&report).contains("(linear: 6.67 ×)"), "{}", verdict(&report));
    assert_eq!(labels(&report)[4..6], ["tarndb, 3 nodes, round 2", "tarndb, 5 nodes, round 2"]);
    let text = summary(&report, 120);
    assert_eq!(text.matches("medians of 3 rounds, below them").count(), 4, "{text}");
}

#[test]
fn rounds_are_compared_by_their_medians() {
    let reports = [("one".to_owned(), made("aerospike-cassandra")), ("three".to_owned(), made("repeats"))];
    let comparison = Comparison::of(&reports);
    let [alone, repeated] = [0, 1]
        .map(|run| comparison.runs[run].figures.iter().find(|one| one.phase == "run" && one.operation == "read").expect("both have it"));
    assert_eq!(alone.spread, None);
    let spread = repeated.spread.expect("it has three rounds");
    assert_eq!((spread.rounds, repeated.target.as_str()), (3, "tarndb"));
    assert!(spread.lowest.throughput < repeated.throughput && repeated.throughput < spread.highest.throughput);
    assert!(spread.lowest.latency.p99 < repeated.latency.p99 && repeated.latency.p99 < spread.highest.latency.p99);
    let expected = Difference { what: "repeats".to_owned(), kind: Kind::Conditions, values: ["1", "3"].map(str::to_owned).to_vec() };
    assert!(comparison.differences.contains(&expected), "{:?}", comparison.differences);
    assert!(!comparison.differences.iter().any(|difference| difference.what.contains("study: repeats")));
    let text = compare_text(&reports);
    assert!(
        text.contains("medians of rounds") && text.contains("  lowest") && text.contains("three: cassandra ≠ (2 of 3 rounds)"),
        "{text}"
    );
    assert!(!text.contains("round 1"), "a target is one, however many rounds it has: {text}");
}

#[test]
fn one_round_is_shown_as_it_is() {
    let mut report = made("aerospike-cassandra");
    let (text, page) = (summary(&report, 120), html(&report));
    assert!(!text.contains("round") && !text.contains("lowest") && !page.contains("\"rounds\":"), "{text}");
    // Reports of earlier versions tell neither the number of rounds nor which one it is.
    let mut written = serde_json::to_value(&report).expect("a report is JSON");
    written.as_object_mut().expect("it is an object").remove("repeats");
    for target in written["targets"].as_array_mut().expect("it is a list") {
        target.as_object_mut().expect("it is an object").remove("round");
    }
    assert_eq!(serde_json::from_value::<Report>(written).expect("both may be missing"), report);
    report.repeats = 2;
    assert!(summary(&report, 120).contains("run, 10 min (1 of 2 rounds)"));
}

/// Two reports that differ in nothing, and then in what `change` does to the second.
fn compared(change: impl FnOnce(&mut Report)) -> [(String, Report); 2] {
    let mut other = made("aerospike-cassandra");
    change(&mut other);
    [("before".to_owned(), made("aerospike-cassandra")), ("after".to_owned(), other)]
}

#[test]
fn runs_under_the_same_conditions_are_not_marked() {
    for reports in
        [compared(|_| ()), compared(|report| drop(report.environment.insert("load of the machine before".to_owned(), "9".to_owned())))]
    {
        assert_eq!(differences(&reports), []);
        assert!(!compare_text(&reports).contains('≠') && compare_html(&reports).contains("\"differences\":[]"));
        let comparison = Comparison::of(&reports);
        assert!(comparison.alike && comparison.runs.iter().all(|run| run.like_first));
    }
    // A version of the program is what is compared.
    let reports = compared(|report| {
        report.tool = "tarndb 0.2.0".to_owned();
        report.targets[0].server = "TarnDB 0.2.0".to_owned();
    });
    let text = compare_text(&reports);
    assert!(text.contains("version of tarndb") && text.contains("version of the tool") && !text.contains('≠'), "{text}");
    assert!(Comparison::of(&reports).alike);
}

#[test]
fn whatever_runs_do_not_have_in_common_is_named_and_marked() {
    fn restudied(report: &mut Report, change: impl FnOnce(&mut bench::study::Study)) {
        let mut study = bench::study::Study::parse("aerospike-cassandra", &report.study.file).expect("a shipped study, scaled");
        change(&mut study);
        report.study.file = study.file();
    }
    type Change = fn(&mut Report);
    let cases: [(Change, &str, [&str; 2]); 10] = [
        (
            |report| {
                report.scale = 0.3;
                restudied(report, |study| study.scale(30.0).expect("it leaves rows"));
            },
            "scale",
            ["0.01", "0.3"],
        ),
        (
            |report| restudied(report, |study| study.phases.last_mut().expect("it has some").seconds = Some(150.0)),
            "duration of run",
            ["10 min", "2 min 30 s"],
        ),
        (
            |report| restudied(report, |study| study.phases.last_mut().expect("it has some").rate = Some(500.0)),
            "rate of run",
            ["none", "500/s"],
        ),
        (|report| restudied(report, |study| study.rows.field_bytes = 10), "study: rows.field_bytes", ["100", "10"]),
        (|report| report.study.file = "unknown = 1".to_owned(), "study's file", ["file 1", "file 2"]),
        (|report| drop(report.environment.insert("CPU".to_owned(), "Xeon".to_owned())), "CPU", ["AMD EPYC 9R14", "Xeon"]),
        (|report| drop(report.environment.insert("memory".to_owned(), "7.0 GiB".to_owned())), "memory", ["31.0 GiB", "7.0 GiB"]),
        (
            |report| drop(report.settings.insert("--memory".to_owned(), "the study's".to_owned())),
            "--memory",
            ["2147483648 bytes", "the study's"],
        ),
        (
            |report| drop(report.targets[1].settings.insert("memory limit".to_owned(), "1 GiB".to_owned())),
            "cassandra: memory limit",
            ["2.00 GiB", "1 GiB"],
        ),
        (|report| report.complete = false, "finished", ["yes", "no"]),
    ];
    for (change, what, values) in cases {
        let reports = compared(change);
        let expected = Difference { what: what.to_owned(), kind: Kind::Conditions, values: values.map(str::to_owned).to_vec() };
        assert_eq!(differences(&reports), [expected], "{what}");
        let text = compare_text(&reports);
        assert!(text.contains(&format!("{what} ≠")), "{text}");
        assert!(text.contains("after: tarndb ≠") && !text.contains("before: tarndb ≠"), "{text}");
        assert!(compare_html(&reports).contains(&format!("{{\"what\":\"{what}\",\"kind\":\"conditions\",\"values\":")), "{what}");
        let comparison = Comparison::of(&reports);
        assert!(!comparison.alike && comparison.runs[0].like_first && !comparison.runs[1].like_first, "{what}");
    }
}

#[test]
fn reports_that_ask_other_questions_are_of_different_studies() {
    let others = compared(|report| report.study.name = "ycsb-a".to_owned());
    let first = &differences(&others)[0];
    assert_eq!(
        (first.what.as_str(), first.kind, first.values.as_slice()),
        ("study", Kind::Study, ["aerospike-cassandra", "ycsb-a"].map(str::to_owned).as_slice())
    );
    let same_name = compared(|report| report.targets.iter_mut().for_each(|target| target.phases[4].name = "reads".to_owned()));
    assert!(differences(&same_name).iter().any(|difference| difference.what == "measured phases" && difference.kind == Kind::Study));
}

#[test]
fn a_comparison_has_every_report() {
    let reports = [("before".to_owned(), made("aerospike-cassandra")), ("after".to_owned(), made("improved"))];
    let text = compare_text(&reports);
    for part in ["before: tarndb", "after: cassandra", "(1.30 ×)", "\nrun  "] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let page = compare_html(&reports);
    assert!(page.contains("<title>before, after · tarndb bench</title>"));
    assert!(compare_html(&[]).contains("id=\"data\""));
}
