//! Another number of cores for a data directory: every row is there afterwards, whatever kills the copy.

use crate::client::Client;
use crate::griddb;
use crate::harness::{Folder, Server, end, kill, refused, start};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;

/// What is read back after each change of the number of cores, write times and what is not there included.
const READS: [&str; 11] = [
    "SELECT id, v, writetime(v) FROM k.t",
    "SELECT p, c, s, v, writetime(v), writetime(s) FROM k.wide",
    "SELECT p, c, v FROM k.wide WHERE p = 7 AND c > 40 ORDER BY c DESC",
    "SELECT id, n FROM k.counted",
    "SELECT id, n FROM k.indexed WHERE n = 3",
    "SELECT n, id, v FROM k.viewed",
    "SELECT n, id FROM k.viewed WHERE n = 5",
    "SELECT id, v FROM k.truncated",
    "SELECT id, v, writetime(v) FROM k.expiring",
    "SELECT id, v FROM k.expiring WHERE id = 3",
    "SELECT keyspace_name, table_name FROM system_schema.tables",
];

/// All kinds of rows that CQL makes; some of them are deleted, replaced, expiring or in pages.
pub(crate) fn fill(client: &mut Client) {
    for text in [
        "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE k.t (id int PRIMARY KEY, v text, w text)",
        "CREATE TABLE k.wide (p int, c int, s int static, v text, PRIMARY KEY (p, c))",
        "CREATE TABLE k.counted (id int PRIMARY KEY, n counter)",
        "CREATE TABLE k.indexed (id int PRIMARY KEY, n int)",
        "CREATE INDEX ON k.indexed (n)",
        "CREATE TABLE k.base (id int PRIMARY KEY, n int, v text)",
        "CREATE MATERIALIZED VIEW k.viewed AS SELECT * FROM k.base WHERE n IS NOT NULL AND id IS NOT NULL PRIMARY KEY (n, id)",
        "CREATE TABLE k.truncated (id int PRIMARY KEY, v int)",
        "CREATE TABLE k.expiring (id int PRIMARY KEY, v text)",
    ] {
        client.must(text);
    }
    for id in 0..400 {
        let padding = "x".repeat(id * 7 % 500);
        client.must(&format!("INSERT INTO k.t (id, v, w) VALUES ({id}, 'value {id} {padding}', 'w')"));
        client.must(&format!("INSERT INTO k.base (id, n, v) VALUES ({id}, {}, 'v{id}')", id % 11));
        client.must(&format!("INSERT INTO k.indexed (id, n) VALUES ({id}, {})", id % 7));
        client.must(&format!("UPDATE k.counted SET n = n + {id} WHERE id = {}", id % 40));
        client.must(&format!("INSERT INTO k.truncated (id, v) VALUES ({id}, 1)"));
        client.must(&format!("INSERT INTO k.expiring (id, v) VALUES ({id}, 'e{id}') USING TTL 100000"));
    }
    for row in 0..3000 {
        client.must(&format!("INSERT INTO k.wide (p, c, v) VALUES ({}, {}, 'wide {row}')", row % 20, row / 20));
    }
    for p in 0..20 {
        client.must(&format!("UPDATE k.wide SET s = {} WHERE p = {p}", p * 3));
    }
    client.must("TRUNCATE k.truncated");
    for id in (0..400).step_by(5) {
        client.must(&format!("DELETE FROM k.t WHERE id = {id}"));
        client.must(&format!("UPDATE k.t SET v = 'updated {id}' WHERE id = {}", id + 1));
        client.must(&format!("UPDATE k.base SET n = 10 WHERE id = {id}"));
        client.must(&format!("UPDATE k.indexed SET n = 3 WHERE id = {id}"));
        client.must(&format!("INSERT INTO k.truncated (id, v) VALUES ({id}, 2)"));
    }
    client.must("DELETE FROM k.wide WHERE p = 3");
    client.must("DELETE FROM k.wide WHERE p = 7 AND c > 50 AND c < 60");
}

pub(crate) fn read(client: &mut Client) -> Vec<Vec<Option<Vec<u8>>>> {
    READS.iter().map(|text| client.must(text)).collect()
}

fn start_with(folder: &Folder, cores: Option<u16>) -> Server {
    let cores = cores.map(|cores| cores.to_string());
    let flags = cores.iter().flat_map(|cores| ["--cores", cores]);
    Server::start(start(folder, &["--griddb-port", "0", "--capacity", "1GiB"].into_iter().chain(flags).collect::<Vec<_>>()))
}

/// The files of a data directory that come and go with cores.
pub(crate) fn shard_files(folder: &Folder) -> Vec<String> {
    let names = fs::read_dir(folder.0.join("data")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("shard-") || name.starts_with("relayout-")).collect();
    names.sort();
    names
}

fn files_of(cores: u16) -> Vec<String> {
    let mut names: Vec<String> = (0..cores).flat_map(|core| [format!("shard-{core}.buffer"), format!("shard-{core}.data")]).collect();
    names.sort();
    names
}

#[test]
fn rows_of_all_kinds_are_the_same_with_more_cores_and_with_fewer() {
    let folder = Folder::new("relayout");
    let server = start_with(&folder, Some(3));
    let mut client = Client::connect(server.field("cql"));
    fill(&mut client);
    let mut rows = griddb::Client::connect(&server);
    let container = rows.put_container();
    for id in 0..60 {
        rows.ask(124, &[griddb::head(container), griddb::row(id, "one")].concat()).unwrap();
    }
    let (before, rows_before) = (read(&mut client), (0..60).map(|id| rows.get(container, id)).collect::<Vec<_>>());
    assert!(before.iter().filter(|cells| cells.is_empty()).count() == 0, "each read finds something");
    // The first change follows an end in order, the second a kill.
    end(server);
    for cores in [5, 2] {
        let server = start_with(&folder, Some(cores));
        assert_eq!(server.field("cores"), cores.to_string());
        assert_eq!(shard_files(&folder), files_of(cores));
        let mut client = Client::connect(server.field("cql"));
        assert!(read(&mut client) == before, "rows differ with {cores} cores");
        let mut rows = griddb::Client::connect(&server);
        assert_eq!(rows.put_container(), container);
        assert!((0..60).map(|id| rows.get(container, id)).eq(rows_before.iter().cloned()));
        // A deletion is still newer than what was written before it.
        client.must("INSERT INTO k.t (id, v) VALUES (5, 'old') USING TIMESTAMP 1");
        client.must("INSERT INTO k.wide (p, c, v) VALUES (3, 1, 'old') USING TIMESTAMP 1");
        assert!(read(&mut client) == before, "a deletion was forgotten with {cores} cores");
        kill(server);
    }
    let server = start_with(&folder, None);
    assert_eq!(server.field("cores"), "2", "without --cores the data's number stays");
    assert!(read(&mut Client::connect(server.field("cql"))) == before);
    end(server);
}

/// Points of a copy that can be seen from outside, in order: a file that is there, or a line of the log.
pub(crate) enum Seen {
    File(&'static str),
    Line(&'static str),
    /// The layout names files that have to be moved.
    Mark,
}

/// Points to kill a node at: every third, or all in `make test-long`.
pub(crate) fn chosen(points: &[Seen]) -> Vec<&Seen> {
    let is_long = std::env::var("TARNDB_TEST_LONG").is_ok_and(|is_long| is_long == "1");
    points.iter().step_by(if is_long { 1 } else { 3 }).collect()
}

/// Starts a node with another number of cores and kills it as soon as this is seen; whether it was.
pub(crate) fn kill_when(folder: &Folder, flags: &[&str], cores: &str, seen: &Seen) -> bool {
    let mut child = start(folder, &[flags, &["--cores", cores]].concat()).stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let data = folder.0.join("data");
    let is_seen = match seen {
        Seen::Line(part) => {
            let mut line = String::new();
            loop {
                line.clear();
                let is_over = lines.read_line(&mut line).unwrap() == 0;
                if is_over || line.contains(part) {
                    break !is_over;
                }
            }
        }
        Seen::File(_) | Seen::Mark => {
            let is_there = |path: &Path| fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0);
            let has_mark = || fs::read_to_string(data.join("layout-copy.toml")).is_ok_and(|text| text.contains("[relaid]"));
            let is_seen = || if let Seen::File(name) = seen { is_there(&data.join(name)) } else { has_mark() };
            loop {
                if is_seen() {
                    break true;
                }
                // It has come further than what is looked for.
                let layout = fs::read_to_string(data.join("layout.toml")).unwrap_or_default();
                let has_finished = layout.contains(&format!("cores = {cores}\n")) && !layout.contains("[relaid]");
                if has_finished || child.try_wait().unwrap().is_some() {
                    break false;
                }
                std::thread::yield_now();
            }
        }
    };
    child.kill().unwrap();
    child.wait().unwrap();
    let mut rest = Vec::new();
    let _ = lines.read_to_end(&mut rest);
    is_seen
}

#[test]
fn a_copy_that_is_killed_anywhere_leaves_all_rows() {
    let folder = Folder::new("relayout-kill");
    let server = start_with(&folder, Some(3));
    let mut client = Client::connect(server.field("cql"));
    fill(&mut client);
    let before = read(&mut client);
    kill(server);
    let points = chosen(&[
        Seen::Line("is copied before the node serves clients"),
        Seen::Line("copying the data"),
        Seen::File("relayout-0.buffer"),
        Seen::File("relayout-0.data"),
        Seen::File("relayout-4.data"),
        Seen::Line("percent=100"),
        Seen::Mark,
        Seen::File("shard-4.data"),
        Seen::Line("is laid out for the new number"),
    ]);
    let mut was_seen = 0;
    for seen in &points {
        was_seen += usize::from(kill_when(&folder, &["--griddb-port", "0", "--capacity", "1GiB"], "5", seen));
        // Whatever it was cut off in, a node starts, with one number of cores or the other.
        let server = start_with(&folder, None);
        let cores: u16 = server.field("cores").parse().unwrap();
        assert!(cores == 3 || cores == 5, "{cores}");
        assert_eq!(shard_files(&folder), files_of(cores));
        assert!(read(&mut Client::connect(server.field("cql"))) == before, "rows differ");
        end(server);
        if cores == 5 {
            end(start_with(&folder, Some(3)));
        }
    }
    assert!(was_seen >= points.len() / 2, "only {was_seen} kills came in time");
}

#[test]
fn what_has_no_room_is_refused_and_nothing_changes() {
    let folder = Folder::new("relayout-room");
    let server = start_with(&folder, Some(1));
    Client::connect(server.field("cql")).must("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    end(server);
    let (code, error) = refused(start(&folder, &["--capacity", "256MiB", "--cores", "5"]));
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("with 5 cores each has 51.2 MiB of the capacity") && error.contains("--capacity 360MiB at least"), "{error}");
    let (code, error) = refused(start(&folder, &["--capacity", "1GiB", "--cores", "5", "--memory-limit", "256MiB"]));
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("a memory limit of 256 MiB is too little for 5 cores"), "{error}");
    assert_eq!(shard_files(&folder), files_of(1));
    let server = start_with(&folder, None);
    assert_eq!(server.field("cores"), "1");
    end(server);
}
