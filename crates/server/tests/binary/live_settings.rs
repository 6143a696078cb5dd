//! Settings that change while a node runs, and log lines as JSON.

use crate::client::Client;
use crate::harness::{Folder, Server, answered, start, tarndb};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

fn set(server: &Server, name: &str, value: &str) -> (i32, String) {
    let output = tarndb(&["set", name, value, "--http", server.field("http")]).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_setting_changes_at_once_and_until_the_node_restarts() {
    let folder = Folder::new("live-settings");
    let server = Server::start(start(&folder, &["--cores", "2"]));
    let mut client = Client::connect(server.field("cql"));
    client.must("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    client.must("CREATE TABLE k.t (id int PRIMARY KEY, v text)");
    let inserts: String = (0..20).map(|id| format!("INSERT INTO k.t (id, v) VALUES ({id}, '{}');", "x".repeat(4096))).collect();
    let batch = format!("BEGIN BATCH {inserts} APPLY BATCH");
    assert!(client.query(&batch).unwrap_err().contains("Batch too large"));
    let shown = |client: &mut Client| client.must("SELECT value FROM system_views.settings WHERE name = 'batch_size_fail_threshold'");
    assert_eq!(shown(&mut client), [Some(b"50 KiB".to_vec())]);

    let (code, said) = set(&server, "batch_size_fail_threshold", "1MiB");
    assert!(code == 0 && said.contains("batch_size_fail_threshold is 1 MiB on this node until it restarts"), "{said}");
    client.must(&batch);
    assert_eq!(shown(&mut client), [Some(b"1 MiB".to_vec())]);

    for (name, value, why) in [
        ("batch_size_fail_threshold", "much", "batch_size_fail_threshold cannot be \"much\""),
        ("cql_port", "1", "cql_port is read when the node starts"),
        ("batch_size_fail_treshold", "1MiB", "did you mean batch_size_fail_threshold?"),
        ("log", "info,tarndb=loud", "log cannot be \"info,tarndb=loud\""),
    ] {
        let (code, said) = set(&server, name, value);
        assert!(code == 1 && said.contains(why), "{said}");
    }
    drop((client, server));
    let server = Server::start(start(&folder, &[]));
    assert_eq!(shown(&mut Client::connect(server.field("cql"))), [Some(b"50 KiB".to_vec())]);
}

#[test]
fn a_log_line_is_a_json_object_and_its_level_changes() {
    let folder = Folder::new("json-log");
    let mut server = Server::start(start(&folder, &["--cores", "1", "--log", "warn", "--log-format", "json"]));
    assert_eq!(set(&server, "log", "info").0, 0);
    assert_eq!(set(&server, "batch_size_warn_threshold", "8KiB").0, 0);
    let lines = BufReader::new(server.child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let line = lines.map(|line| serde_json::from_str::<serde_json::Value>(&line).unwrap()).find(|line| line["value"] == "8 KiB").unwrap();
    assert_eq!((&line["level"], &line["setting"]), (&"INFO".into(), &"batch_size_warn_threshold".into()), "{line}");
    assert!(line["timestamp"].is_string() && line["message"] == "an operator has changed a setting", "{line}");
}

#[test]
fn a_web_page_changes_no_setting() {
    let folder = Folder::new("settings-origin");
    let server = Server::start(start(&folder, &["--cores", "1"]));
    let ask = || -> std::io::Result<String> {
        let mut http = TcpStream::connect(server.field("http"))?;
        http.write_all(b"POST /settings/log HTTP/1.1\r\nOrigin: http://elsewhere\r\nContent-Length: 4\r\n\r\nwarn")?;
        let mut line = String::new();
        BufReader::new(http).read_line(&mut line)?;
        Ok(line)
    };
    let line = answered(|| match ask() {
        Ok(line) if !line.is_empty() => Ok(line),
        other => Err(format!("{other:?}")),
    });
    assert!(line.starts_with("HTTP/1.1 403 "), "{line}");
}
