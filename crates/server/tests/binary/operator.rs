//! The binary as an operator meets it: what it prints, what it refuses, how it ends.

use crate::client::Client;
use crate::harness::{BOUND, Folder, Server, end, refused, start, tarndb, wait_until};
use crate::limits::{get, get_health};
use crate::rows::{ROWS, write_rows};
use std::io::BufRead;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

#[test]
fn a_started_node_says_where_it_is_and_ends_on_sigterm() {
    let folder = Folder::new("ready");
    let mut server = Server::start(start(&folder, &["--cores", "2", "--memory-limit", "1.5GiB"]));
    assert_eq!((server.field("cores"), server.field("memory_limit")), ("2", "1.5GiB"));
    let cql = server.field("cql").to_owned();
    TcpStream::connect(&cql).unwrap();
    TcpStream::connect(server.field("shard-aware")).unwrap();
    let mut connect = String::new();
    server.lines.as_mut().unwrap().read_line(&mut connect).unwrap();
    assert_eq!(connect, format!("connect with:  cqlsh 127.0.0.1 {}\n", cql.split(':').next_back().unwrap()));
    let reply = get_health(server.field("http"));
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
    assert!(TcpStream::connect(&cql).is_err());
}

#[test]
fn metrics_tell_of_rows_tables_and_connections() {
    let folder = Folder::new("metrics");
    let server = Server::start(start(&folder, &["--cores", "1"]));
    write_rows(&server, 1);
    let mut client = Client::connect(server.field("cql"));
    client.must("SELECT v FROM k.t WHERE id IN ()");
    let deadline = Instant::now() + BOUND;
    let metrics = loop {
        let reply = get(server.field("http"), "/metrics");
        // A core writes its figures about once a second: those of a moment before do not have the read.
        let is_there = |line: &str| reply.lines().any(|found| found == line);
        if is_there(&format!(r#"tarndb_table_partitions{{keyspace="k",table="t"}} {ROWS}"#))
            && is_there(&format!(r#"tarndb_table_requests_total{{keyspace="k",table="t",kind="write"}} {ROWS}"#))
            && is_there("tarndb_connections{core=\"0\"} 1")
            && is_there(r#"tarndb_request_duration_seconds_count{protocol="cql",kind="read"} 1"#)
        {
            break reply;
        }
        assert!(Instant::now() < deadline, "{reply}");
        std::thread::sleep(Duration::from_millis(50));
    };
    let sum = |name: &str| -> u64 {
        let lines = metrics.lines().filter(|line| line.starts_with(&format!("{name}{{core=")));
        lines.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
    };
    assert!(sum("tarndb_engine_rows_written_total") >= ROWS as u64 && sum("tarndb_engine_user_bytes_total") > 350 * ROWS as u64);
    let count = |kind: &str| -> u64 {
        let name = format!(r#"tarndb_request_duration_seconds_count{{protocol="cql",kind="{kind}"}} "#);
        metrics.lines().find_map(|line| line.strip_prefix(&name)).unwrap().parse().unwrap()
    };
    assert_eq!((count("read"), count("write")), (1, ROWS as u64));
    assert!(count("other") >= 2, "CREATE KEYSPACE and CREATE TABLE");
    end(server);
}

#[test]
fn a_node_outlives_the_readers_of_its_output() {
    let folder = Folder::new("output");
    let mut server = Server::start(start(&folder, &["--log", "trace"]));
    let health = server.field("http").to_owned();
    drop(server.lines.take());
    drop(server.child.stderr.take());
    for _ in 0..10 {
        let reply = get_health(&health);
        assert!(reply.ends_with("ok\n"), "{reply}");
    }
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn a_data_directory_has_one_server_and_is_free_after_kill() {
    let folder = Folder::new("locked");
    let mut first = Server::start(start(&folder, &[]));
    let (code, message) = refused(start(&folder, &[]));
    assert_eq!(code, 3);
    assert!(message.contains(&format!("in use by process {}", first.child.id())), "{message}");
    first.child.kill().unwrap();
    first.wait();
    Server::start(start(&folder, &[]));
}

#[test]
fn a_port_in_use_ends_with_three_and_names_the_address() {
    let folder = Folder::new("port");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for flag in ["--cql-port", "--cql-shard-aware-port", "--aerospike-port", "--http-port"] {
        let mut command = tarndb(&["start"]);
        for other in ["--cql-port", "--cql-shard-aware-port", "--aerospike-port", "--http-port"] {
            command.args([other, if other == flag { &port } else { "0" }]);
        }
        command.arg("--data-dir").arg(folder.0.join("data"));
        let (code, message) = refused(command);
        assert_eq!(code, 3, "{message}");
        assert!(message.contains(&format!("127.0.0.1:{port}")), "{message}");
    }
}

#[test]
fn wrong_usage_ends_with_two_and_says_what_is_right() {
    let folder = Folder::new("usage");
    let (code, message) = refused(start(&folder, &["--core", "2"]));
    assert!(code == 2 && message.contains("--cores"), "{message}");
    let (code, message) = refused(start(&folder, &["--memory-limit", "1MiB"]));
    assert!(code == 2 && message.contains("at least 64 MiB"), "{message}");
    let (code, message) = refused(start(&folder, &["--log", "tarndb=loud"]));
    assert!(code == 2 && message.contains("not a log filter"), "{message}");
    let file = folder.0.join("tarndb.toml");
    std::fs::write(&file, "cql_prt = 1\n").unwrap();
    let (code, message) = refused(start(&folder, &["--config", file.to_str().unwrap()]));
    assert!(code == 2 && message.contains("did you mean `cql_port`?"), "{message}");
    let (code, message) = refused(start(&folder, &["--config", "/does/not/exist"]));
    assert!(code == 2 && message.contains("/does/not/exist"), "{message}");
}

#[test]
fn settings_come_from_flags_then_variables_then_the_file() {
    let folder = Folder::new("order");
    let file = folder.0.join("tarndb.toml");
    std::fs::write(&file, "cores = 3\nmemory_limit = \"100MiB\"\nconnections_per_core = 5\n").unwrap();
    let mut command = start(&folder, &["--cores", "1", "--config", file.to_str().unwrap()]);
    command.env("TARNDB_MEMORY_LIMIT", "200MiB").env("TARNDB_CORES", "2");
    let server = Server::start(command);
    assert_eq!((server.field("cores"), server.field("memory_limit")), ("1", "200MiB"));
}

#[test]
fn the_binary_prints_the_licences_of_what_others_wrote_in_it() {
    for name in ["licences", "licenses"] {
        let printed = tarndb(&[name]).output().unwrap();
        assert!(printed.status.success() && printed.stderr.is_empty());
        let text = String::from_utf8(printed.stdout).unwrap();
        for part in [
            "raft 0.7.0",
            "ring 0.17.14",
            "uPlot 1.6.32",
            "Rust's standard library",
            "jemalloc",
            "Permission is hereby granted",
            "Apache License",
        ] {
            assert!(text.contains(part), "{name} does not print {part:?}");
        }
        assert!(!text.contains("GNU GENERAL PUBLIC LICENSE"), "a licence that is not taken");
    }
}

#[test]
fn top_shows_what_a_node_does() {
    let folder = Folder::new("top");
    let server = Server::start(start(&folder, &["--cores", "1"]));
    write_rows(&server, 1);
    // A core writes its figures about once a second.
    let rows = format!(r#"tarndb_table_partitions{{keyspace="k",table="t"}} {ROWS}"#);
    wait_until("the table has figures", || get(server.field("http"), "/metrics").lines().any(|line| line == rows));
    let top = |more: &[&str]| {
        let output = tarndb(&["top", "--once", "--http", server.field("http")]).args(more).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let picture = top(&[]);
    assert!(picture.starts_with("TarnDB ") && !picture.contains('\x1b'), "{picture}");
    assert!(["cql write ", "core ", "memory ", "device ", " k.t"].iter().all(|part| picture.contains(part)), "{picture}");
    let figures: serde_json::Value = serde_json::from_str(&top(&["--json"])).unwrap();
    assert_eq!(figures["requests"].as_array().unwrap().last().unwrap()["requests"], "all");
    let (code, message) = refused(tarndb(&["top", "--interval", "0"]));
    assert!(code == 2 && message.contains("1..=3600"), "{message}");
    end(server);
}

#[test]
fn the_doctor_names_what_is_wrong_and_ends_with_one() {
    let folder = Folder::new("doctor");
    let output = tarndb(&["doctor", "--data-dir", folder.0.join("not/yet").to_str().unwrap()]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(["kernel: ", "io_uring: ", "open files: ", "clock: "].iter().all(|check| text.contains(check)), "{text}");
    assert!(!folder.0.join("not").exists(), "it changes nothing");
    let output = tarndb(&["doctor", "--json", "--data-dir", "/proc"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let place = found["findings"].as_array().unwrap().iter().find(|finding| finding["check"] == "data directory").unwrap();
    assert_eq!(place["verdict"], "bad");
    assert!(place["advice"].as_str().unwrap().contains("--data-dir"), "{place}");
}
