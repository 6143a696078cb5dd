//! `tarndb backup` and `tarndb restore`: what was there is there again, as it was at one point in time.

use crate::client::Client;
use crate::griddb;
use crate::harness::{BOUND, Folder, Server, end, signal, start, tarndb, wait_until};
use crate::rows::{ROWS, check_rows, write_rows};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A command for a node: `name`, `to` or `from` which directory, and more.
pub(crate) fn tool(name: &str, server: &Server, folder: &Folder, more: &[&str]) -> Command {
    let directory = if name == "backup" { "--to" } else { "--from" };
    let mut command = tarndb(&[name, "--http", server.field("http"), directory]);
    command.arg(folder.0.join("backup")).args(more);
    command
}

/// Runs to the end; the exit code and what was said.
pub(crate) fn run(mut command: Command) -> (i32, String) {
    let output = command.output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
}

pub(crate) fn must(command: Command) -> String {
    let (code, said) = run(command);
    assert_eq!(code, 0, "{said}");
    said
}

pub(crate) fn number(cell: &Option<Vec<u8>>) -> i64 {
    cell.as_ref().map_or(-1, |bytes| bytes.iter().fold(0, |number, byte| number << 8 | i64::from(*byte)))
}

/// Another node, for what is restored.
pub(crate) fn other(folder: &Folder, cores: &str) -> Server {
    let mut command =
        tarndb(&["start", "--cql-port", "0", "--cql-shard-aware-port", "0", "--aerospike-port", "0", "--http-port", "0", "--pin", "off"]);
    command.args(["--griddb-port", "0", "--cores", cores, "--capacity", "300MiB"]).arg("--data-dir").arg(folder.0.join("other"));
    Server::start(command)
}

/// Whether a backup runs on a node.
pub(crate) fn is_running(server: &Server) -> bool {
    crate::limits::get(server.field("http"), "/metrics").contains("\ntarndb_backup_running 1\n")
}

const WRITERS: usize = 6;

/// Ends the writers when it goes, also when the test has failed.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Makes one row follow the other: `b` is written when `a` was acknowledged, each in its own table, then a row of the journal, then one of a
/// table that is made while the backup runs.
fn write_in_order(address: &str, writer: usize, stops: &AtomicBool) -> i64 {
    let mut client = Client::connect(address);
    let mut number = 0;
    while !stops.load(Ordering::Acquire) {
        number += 1;
        client.must(&format!("INSERT INTO k.a (id, n) VALUES ({writer}, {number})"));
        client.must(&format!("UPDATE k.b SET n = {number} WHERE id = {}", writer + 1000));
        client.must(&format!("INSERT INTO k.journal (id, n) VALUES ({writer}, {number})"));
        client.must(&format!("DELETE FROM k.journal WHERE id = {writer} AND n = {}", number - 20));
        // Until it is there.
        let _ = client.query(&format!("INSERT INTO k.late (id, n) VALUES ({}, {number})", writer + 2000));
        // The backup is slow, and takes these, too.
        std::thread::sleep(Duration::from_millis(10));
    }
    number
}

/// A slow backup of `k`, stopped by a signal before its cut: what is written from now on is written while it runs.
fn stopped_backup(server: &Server, folder: &Folder) -> Child {
    /// At this rate the tool takes 1.4 s at least for the rows, and the cut comes after them.
    const RATE: &str = "400KiB";
    const BEFORE_THE_CUT: Duration = Duration::from_millis(1_200);
    let until = Instant::now() + BOUND;
    loop {
        let mut not_yet = Instant::now();
        let mut tool = tool("backup", server, folder, &["--rate-limit", RATE, "--keyspace", "k"]).spawn().unwrap();
        loop {
            if let Some(status) = tool.try_wait().unwrap() {
                assert!(status.success(), "{status}");
                break;
            }
            let asked = Instant::now();
            if is_running(server) {
                signal(&tool, "STOP");
                if not_yet.elapsed() < BEFORE_THE_CUT {
                    return tool;
                }
                break;
            }
            not_yet = asked;
        }
        // This machine stood still for so long that the cut may have been made.
        assert!(Instant::now() < until, "no backup is stopped in time");
        tool.kill().unwrap();
        tool.wait().unwrap();
        wait_until("no backup runs", || !is_running(server));
        std::fs::remove_dir_all(folder.0.join("backup")).unwrap();
    }
}

/// Checks what was restored; the numbers that writers had come to.
fn check_order(server: &Server) -> Vec<i64> {
    let mut client = Client::connect(server.field("cql"));
    let mut one = |text: String| number(client.must(&text).first().unwrap_or(&None));
    let mut numbers = Vec::new();
    for writer in 0..WRITERS {
        let a = one(format!("SELECT n FROM k.a WHERE id = {writer}"));
        let b = one(format!("SELECT n FROM k.b WHERE id = {}", writer + 1000));
        let last = one(format!("SELECT max(n) FROM k.journal WHERE id = {writer}"));
        let first = one(format!("SELECT min(n) FROM k.journal WHERE id = {writer}"));
        let count = one(format!("SELECT count(*) FROM k.journal WHERE id = {writer}"));
        let late = one(format!("SELECT n FROM k.late WHERE id = {}", writer + 2000));
        let said = format!("writer {writer}: a {a}, b {b}, journal {first} to {last}, {count} rows, late {late}");
        assert!(a - 1 <= b && b <= a && b - 1 <= last && last <= b && late <= last && last - 1 <= late, "{said}");
        assert!(count == last - first + 1 && (20..=21).contains(&count), "{said}");
        numbers.push(a);
    }
    numbers
}

#[test]
fn a_backup_under_load_is_one_point_in_time_for_any_number_of_cores() {
    let folder = Folder::new("backup-load");
    let server = Server::start(start(&folder, &["--cores", "2", "--capacity", "300MiB"]));
    write_rows(&server, 1);
    let mut client = Client::connect(server.field("cql"));
    for table in ["a (id int PRIMARY KEY, n bigint)", "b (id int PRIMARY KEY, n bigint)", "journal (id int, n bigint, PRIMARY KEY (id, n))"]
    {
        client.must(&format!("CREATE TABLE k.{table}"));
    }
    let (address, stops) = (server.field("cql").to_owned(), AtomicBool::new(false));
    let written: Vec<i64> = std::thread::scope(|scope| {
        let writing = Stops(&stops);
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn({
                    let (address, stops) = (&address, &stops);
                    move || write_in_order(address, writer, stops)
                })
            })
            .collect();
        let journal =
            |client: &mut Client, writer: usize| number(&client.must(&format!("SELECT max(n) FROM k.journal WHERE id = {writer}"))[0]);
        for writer in 0..WRITERS {
            wait_until("the journal is long", || journal(&mut client, writer) >= 25);
        }
        let tool = stopped_backup(&server, &folder);
        let from = journal(&mut client, 0);
        wait_until("the journal goes on", || journal(&mut client, 0) >= from + 20);
        client.must("CREATE TABLE k.late (id int PRIMARY KEY, n bigint)");
        // The cut comes after the first row of each writer there.
        let ids: Vec<String> = (0..WRITERS).map(|writer| (writer + 2000).to_string()).collect();
        let late = format!("SELECT id FROM k.late WHERE id IN ({})", ids.join(", "));
        wait_until("all writers write the late table", || client.must(&late).len() == WRITERS);
        signal(&tool, "CONT");
        let output = tool.wait_with_output().unwrap();
        drop(writing);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    end(server);
    let said = must({
        let mut verify = tarndb(&["backup", "verify"]);
        verify.arg(folder.0.join("backup"));
        verify
    });
    assert!(said.contains("is whole: keyspaces k, 2 files"), "{said}");
    for cores in ["1", "3"] {
        let target = Folder::new(&format!("backup-load-{cores}"));
        let server = other(&target, cores);
        must(tool("restore", &server, &folder, &[]));
        check_rows(&server, 1);
        let numbers = check_order(&server);
        assert!(numbers.iter().zip(&written).all(|(at_cut, written)| at_cut <= written), "{numbers:?} of {written:?}");
        assert!(numbers.iter().sum::<i64>() > 45 * WRITERS as i64 / 2, "writers went on while the backup ran: {numbers:?}");
    }
}

const SCHEMA: [&str; 10] = [
    "CREATE KEYSPACE \"Kinds_1\" WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TYPE \"Kinds_1\".pair (x int, y text)",
    "CREATE TABLE \"Kinds_1\".t (id int, c int, s text static, v text, w frozen<pair>, m map<text, int>, PRIMARY KEY (id, c))",
    "CREATE INDEX t_v ON \"Kinds_1\".t (v)",
    "CREATE TABLE \"Kinds_1\".counts (id int PRIMARY KEY, n counter)",
    "CREATE TABLE \"Kinds_1\".users (id int PRIMARY KEY, name text, town text)",
    "CREATE MATERIALIZED VIEW \"Kinds_1\".by_town AS SELECT * FROM \"Kinds_1\".users WHERE town IS NOT NULL AND id IS NOT NULL PRIMARY KEY (town, id)",
    "CREATE FUNCTION \"Kinds_1\".twice (n int) CALLED ON NULL INPUT RETURNS int LANGUAGE lua AS 'return n * 2'",
    "CREATE FUNCTION \"Kinds_1\".thrice (n int) RETURNS NULL ON NULL INPUT RETURNS int LANGUAGE wasm AS '(module (memory (export \"memory\") 1) \
     (global (export \"_scylla_abi\") i32 (i32.const 0)) (data (i32.const 0) \"\\01\") \
     (func (export \"thrice\") (param i32) (result i32) (i32.mul (local.get 0) (i32.const 3))))'",
    "CREATE TABLE \"Kinds_1\".empty (id int PRIMARY KEY)",
];

const QUERIES: [&str; 10] = [
    "SELECT c, v, s, writetime(v), m['a'] FROM \"Kinds_1\".t WHERE id = 1",
    "SELECT w.y FROM \"Kinds_1\".t WHERE id = 2 AND c = 1",
    "SELECT id, c FROM \"Kinds_1\".t WHERE v = 'green'",
    "SELECT v FROM \"Kinds_1\".t WHERE id = 3",
    "SELECT n FROM \"Kinds_1\".counts WHERE id = 1",
    "SELECT \"Kinds_1\".twice(c) FROM \"Kinds_1\".t WHERE id = 1 AND c = 3",
    "SELECT id, name FROM \"Kinds_1\".by_town WHERE town = 'Oslo'",
    "SELECT id FROM \"Kinds_1\".users WHERE id = 5",
    "SELECT v FROM k.t WHERE id = '77'",
    "SELECT \"Kinds_1\".thrice(c) FROM \"Kinds_1\".t WHERE id = 1 AND c = 3",
];

fn write_kinds(client: &mut Client) {
    SCHEMA.iter().for_each(|text| drop(client.must(text)));
    for c in 1..6 {
        client.must(&format!(
            "INSERT INTO \"Kinds_1\".t (id, c, s, v, m) VALUES (1, {c}, 'static', 'red', {{'a': {c}}}) USING TIMESTAMP {}",
            1000 + c
        ));
    }
    client.must("UPDATE \"Kinds_1\".t SET v = 'green' WHERE id = 1 AND c = 2");
    client.must("DELETE FROM \"Kinds_1\".t WHERE id = 1 AND c = 4");
    client.must("INSERT INTO \"Kinds_1\".t (id, c, v, w) VALUES (2, 1, 'green', {x: 1, y: 'two'})");
    client.must("INSERT INTO \"Kinds_1\".t (id, c, v) VALUES (3, 1, 'gone') USING TTL 1");
    client.must("INSERT INTO \"Kinds_1\".t (id, c, v) VALUES (4, 1, 'stays') USING TTL 5000");
    (0..7).for_each(|_| drop(client.must("UPDATE \"Kinds_1\".counts SET n = n + 3 WHERE id = 1")));
    for id in 0..40 {
        client.must(&format!("INSERT INTO \"Kinds_1\".users (id, name, town) VALUES ({id}, 'name {id}', '{}')", ["Oslo", "Rome"][id % 2]));
    }
    client.must("DELETE FROM \"Kinds_1\".users WHERE id = 5");
    client.must("UPDATE \"Kinds_1\".users SET town = 'Rome' WHERE id = 6");
    client.must("BEGIN BATCH INSERT INTO \"Kinds_1\".users (id, town) VALUES (50, 'Oslo'); INSERT INTO \"Kinds_1\".users (id, town) VALUES (51, 'Oslo'); APPLY BATCH");
}

#[test]
fn rows_of_every_kind_come_back_as_they_were() {
    let folder = Folder::new("backup-kinds");
    let command = || start(&folder, &["--griddb-port", "0", "--cores", "2", "--capacity", "300MiB"]);
    let server = Server::start(command());
    write_rows(&server, 3);
    write_kinds(&mut Client::connect(server.field("cql")));
    let mut grid = griddb::Client::connect(&server);
    let container = grid.put_container();
    for id in 0..30 {
        grid.ask(124, &[griddb::head(container), griddb::row(id, "old")].concat()).unwrap();
    }
    // In a transaction that nobody has committed.
    grid.ask(124, &[griddb::head_in(container, 1), griddb::row(3, "new")].concat()).unwrap();
    // From here on rows are on the device alone.
    end(server);
    let server = Server::start(command());
    let mut client = Client::connect(server.field("cql"));
    wait_until("the row of a second has expired", || client.must(QUERIES[3]).is_empty());
    wait_until("the view is there", || client.must(QUERIES[6]).len() == 2 * 21);
    let answers: Vec<_> = QUERIES.iter().map(|text| client.must(text)).collect();
    assert_eq!(answers[2].len(), 4, "two rows are green");
    must(tool("backup", &server, &folder, &[]));
    let ttl = number(&client.must("SELECT ttl(v) FROM \"Kinds_1\".t WHERE id = 4")[0]);
    end(server);

    let target = Folder::new("backup-kinds-other");
    let server = other(&target, "1");
    let mut listener = Client::connect(server.field("cql"));
    listener.hear_of_schema();
    must(tool("restore", &server, &folder, &[]));
    let mut expected: Vec<String> =
        ["KEYSPACE Kinds_1", "TYPE Kinds_1 pair", "TABLE Kinds_1 t", "TABLE Kinds_1 by_town", "TABLE k t"].map(str::to_owned).into();
    while !expected.is_empty() {
        let event = listener.event();
        assert_eq!(event[0], "SCHEMA_CHANGE");
        expected.retain(|name| *name != event[2..].join(" ") || event[1] != "CREATED");
    }
    let mut client = Client::connect(server.field("cql"));
    wait_until("the view is built", || client.must(QUERIES[6]).len() == answers[6].len());
    for (text, answer) in QUERIES.iter().zip(&answers) {
        assert_eq!(client.must(text), *answer, "{text}");
    }
    let left = number(&client.must("SELECT ttl(v) FROM \"Kinds_1\".t WHERE id = 4")[0]);
    assert!(left <= ttl && left > 4000, "{left} of {ttl}");
    check_rows(&server, 3);
    // What is written from now on counts.
    client.must("UPDATE \"Kinds_1\".users SET town = 'Oslo' WHERE id = 7");
    assert_eq!(client.must(QUERIES[6]).len(), answers[6].len() + 2);
    client.must("UPDATE \"Kinds_1\".t SET v = 'blue' WHERE id = 2 AND c = 1");
    assert_eq!(client.must(QUERIES[2]).len(), 2);
    let mut grid = griddb::Client::connect(&server);
    let container = grid.put_container();
    for id in 0..30 {
        let found = grid.get(container, id);
        assert_eq!((found[0], &found[9..]), (1, &griddb::row(id, "old")[..]), "row {id}");
    }
    // The lock of the transaction has not come with it.
    assert_eq!(grid.ask(124, &[griddb::head(container), griddb::row(3, "end")].concat()), Ok(vec![1]));
    end(server);
}

#[test]
fn tables_are_restored_by_name_beside_others_and_never_over_one() {
    let folder = Folder::new("backup-tables");
    let server = Server::start(start(&folder, &["--cores", "2", "--capacity", "300MiB"]));
    write_rows(&server, 1);
    write_kinds(&mut Client::connect(server.field("cql")));
    must(tool("backup", &server, &folder, &[]));
    let mut client = Client::connect(server.field("cql"));
    let (code, said) = run(tool("restore", &server, &folder, &["--table", "k.t"]));
    assert!(code == 1 && said.contains("the table k.t exists"), "{said}");
    assert!(!folder.0.join("backup/restore.progress").exists(), "nothing was made, and there is nothing to go on with");
    let (code, said) = run(tool("restore", &server, &folder, &["--table", "k.u"]));
    assert!(code == 2 && said.contains("no table k.u in the backup") && said.contains("k.t"), "{said}");
    client.must("DROP TABLE k.t");
    client.must("DROP MATERIALIZED VIEW \"Kinds_1\".by_town");
    client.must("DROP TABLE \"Kinds_1\".users");
    client.must("INSERT INTO \"Kinds_1\".t (id, c, v) VALUES (9, 9, 'since')");
    must(tool("restore", &server, &folder, &["--table", "k.t", "--table", "Kinds_1.users"]));
    check_rows(&server, 1);
    assert_eq!(client.must("SELECT v FROM \"Kinds_1\".t WHERE id = 9").len(), 1, "other tables are as they were");
    wait_until("the view has come with its table", || client.query(QUERIES[6]).is_ok_and(|cells| cells.len() == 2 * 21));
    assert!(!folder.0.join("backup/restore.progress").exists());
    let metrics = crate::limits::get(server.field("http"), "/metrics");
    for line in ["tarndb_backup_running 0", "tarndb_restore_written_bytes_total "] {
        assert!(metrics.contains(line), "{metrics}");
    }
    let value = |name: &str| metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok()).unwrap();
    assert!(value("tarndb_backup_sent_bytes_total ") > 300 * ROWS as u64);
    assert!(value("tarndb_backup_last_success_timestamp_seconds ") > 1_600_000_000);
    end(server);
}
