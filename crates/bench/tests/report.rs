//! Reports on disk and as text and pages, without a browser: `tests/report` looks at the pages in one.

#[path = "../examples/report_fixtures/generate.rs"]
mod generate;

use bench::report::model::{SCHEMA, Verified};
use bench::report::{Report, ReportError, compare_html, compare_text, html, labels, read_json, summary, verdict, warnings, write_json};
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
    let model = include_str!("../src/report/model.rs");
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
    assert!(fields > 80, "only {fields} fields were found in model.rs: this test no longer reads it rightly");
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
