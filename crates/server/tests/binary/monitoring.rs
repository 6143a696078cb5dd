//! What `packaging/` has for Prometheus and Grafana, against the metrics of a node that runs.

use crate::harness::{BOUND, Folder, Server, end, start};
use crate::limits::get;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn rules() -> String {
    read("packaging/prometheus/tarndb-alerts.yml")
}

/// The names of the alerts.
fn alerts() -> Vec<String> {
    rules().lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).map(str::to_owned).collect()
}

/// The expressions of the dashboard's panels.
fn dashboard() -> Vec<String> {
    let dashboard: serde_json::Value = serde_json::from_str(&read("packaging/grafana/tarndb.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.filter_map(|panel| panel["targets"].as_array()).flatten();
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

/// Names of this program's metrics, and those of its process, in an expression.
fn metrics_in(expression: &str) -> BTreeSet<String> {
    let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("tarndb_") || word.starts_with("process_")).map(str::to_owned).collect()
}

/// The families that a node of a cluster has, as the scraped series are called.
fn served() -> BTreeSet<String> {
    let folder = Folder::new("monitoring");
    let server = Server::start(start(&folder, &["--cores", "1", "--node-port", "0"]));
    let deadline = Instant::now() + BOUND;
    let reply = loop {
        let reply = get(server.field("http"), "/metrics");
        // A core writes what it knows of the cluster about once a second.
        if reply.contains("# TYPE tarndb_cluster_has_leader ") {
            break reply;
        }
        assert!(Instant::now() < deadline, "{reply}");
        std::thread::sleep(Duration::from_millis(50));
    };
    end(server);
    let families = reply.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let ends = |kind: &str| if kind == "histogram" { &["_bucket", "_sum", "_count"][..] } else { &[""] };
    families.flat_map(|(name, kind)| ends(kind).iter().map(move |end| format!("{name}{end}"))).collect()
}

#[test]
fn alerts_and_dashboard_ask_for_metrics_that_a_node_has() {
    let served = served();
    let expressions: Vec<String> = rules().lines().filter_map(|line| line.trim().strip_prefix("expr: ")).map(str::to_owned).collect();
    assert_eq!(expressions.len(), alerts().len());
    let asked = expressions.iter().chain(&dashboard()).flat_map(|expression| metrics_in(expression)).collect::<BTreeSet<_>>();
    assert!(asked.len() > 40, "{asked:?}");
    let missing: Vec<_> = asked.difference(&served).collect();
    assert!(missing.is_empty(), "{missing:?} are not among {served:?}");
}

#[test]
fn each_alert_has_a_page_that_says_what_to_do() {
    let (rules, alerts, index) = (rules(), alerts(), read("docs/runbooks/README.md"));
    for alert in &alerts {
        let page = read(&format!("docs/runbooks/{alert}.md"));
        let section = rules.split("- alert: ").find(|section| section.starts_with(&format!("{alert}\n"))).unwrap();
        let expression = section.lines().find_map(|line| line.trim().strip_prefix("expr: '")).unwrap().trim_end_matches('\'');
        assert!(page.contains(expression), "{alert}: the page has another expression than the rule");
        assert!(page.contains("\n## Look at\n") && page.contains("\n## Do\n"), "{alert}");
        assert!(
            section.contains(&format!("runbook: docs/runbooks/{alert}.md")) && index.contains(&format!("[{alert}]({alert}.md)")),
            "{alert}"
        );
        for link in page.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            assert!(root().join("docs/runbooks").join(link).exists(), "{alert}: there is no {link}");
        }
    }
    let pages = std::fs::read_dir(root().join("docs/runbooks")).unwrap().count();
    assert_eq!(pages, alerts.len() + 1, "a page has no alert");
}
