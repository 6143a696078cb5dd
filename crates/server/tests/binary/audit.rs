//! The audit log: what it tells, what it keeps to itself, and that nobody waits for its disk.

use crate::client::Client;
use crate::harness::{BOUND, Folder, Server, end, kill, refused, start, tarndb, wait_until};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const KEYSPACE: &str = "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";

/// The log of a folder, and the flags that switch it on.
fn log(folder: &Folder) -> (PathBuf, [String; 2]) {
    let path = folder.0.join("audit.log");
    let flags = ["--audit-log".to_owned(), path.to_str().unwrap().to_owned()];
    (path, flags)
}

fn audited(folder: &Folder, more: &[&str]) -> Server {
    let (_, flags) = log(folder);
    Server::start(start(folder, &[&[flags[0].as_str(), &flags[1]][..], more].concat()))
}

fn lines(path: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// Category, type, role, object and result of each line.
fn told(lines: &[serde_json::Value]) -> Vec<String> {
    let field = |line: &serde_json::Value, name: &str| line[name].as_str().unwrap_or("-").to_owned();
    lines.iter().map(|line| ["category", "type", "role", "object", "result"].map(|name| field(line, name)).join(" ")).collect()
}

fn metric(server: &Server, name: &str) -> u64 {
    let text = crate::limits::get(server.field("http"), "/metrics");
    text.lines().filter(|line| line.starts_with(name)).map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

#[test]
fn it_tells_who_did_what_with_which_result_and_no_password() {
    let folder = Folder::new("audit");
    let (path, _) = log(&folder);
    let secret = folder.0.join("secret");
    std::fs::write(&secret, "b0ss").unwrap();
    let server = audited(&folder, &["--authentication", "password", "--superuser-password-file", secret.to_str().unwrap(), "--cores", "2"]);
    let mut boss = Client::connect(server.field("cql"));
    assert!(boss.log_in("cassandra", "wr0ng").is_err());
    boss.log_in("cassandra", "b0ss").unwrap();
    boss.must(KEYSPACE);
    boss.must("CREATE TABLE ks.t (a int PRIMARY KEY, b int)");
    boss.must("CREATE ROLE ann WITH PASSWORD = 's3cret' AND LOGIN = true");
    assert!(boss.query("ALTER ROLE ann WITH PASSWORT = 's3cret'").is_err());
    for key in 0..8 {
        boss.must(&format!("INSERT INTO ks.t (a, b) VALUES ({key}, 1)"));
    }
    boss.must("BEGIN BATCH UPDATE ks.t SET b = 2 WHERE a = 1 UPDATE ks.t SET b = 2 WHERE a = 2 APPLY BATCH");
    assert!(boss.query("SELECT nothing FROM ks.t").is_err());
    let mut ann = Client::connect(server.field("cql"));
    ann.log_in("ann", "s3cret").unwrap();
    assert!(ann.query("SELECT * FROM ks.t").is_err());
    end(server);
    let mut expected = vec![
        "AUTH LOGIN_ERROR cassandra - error",
        "AUTH LOGIN_SUCCESS cassandra - ok",
        "DDL CREATE_KEYSPACE cassandra - ok",
        "DDL CREATE_TABLE cassandra t ok",
        "DCL CREATE_ROLE cassandra ann ok",
        "ERROR UNKNOWN cassandra - error",
    ];
    expected.extend(["DML INSERT cassandra t ok"; 8]);
    expected.extend([
        "DML BATCH cassandra t ok",
        "ERROR SELECT cassandra t error",
        "AUTH LOGIN_SUCCESS ann - ok",
        "AUTH SELECT ann t error",
    ]);
    let lines = lines(&path);
    assert_eq!(told(&lines), expected);
    assert!(lines[0]["client"].as_str().unwrap().starts_with("127.0.0.1:") && lines[0]["time"].as_str().unwrap().ends_with('Z'));
    assert_eq!((lines[3]["keyspace"].as_str(), lines[3]["protocol"].as_str()), (Some("ks"), Some("cql")));
    assert!(lines.last().unwrap()["error"].as_str().unwrap().contains("SELECT permission"));
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(["s3cret", "b0ss", "wr0ng"].iter().all(|secret| !text.contains(secret)), "{text}");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn orders_over_http_and_refused_log_ins_there_are_in_it() {
    let folder = Folder::new("audit-http");
    let (path, _) = log(&folder);
    let [secret, right, wrong] = ["secret", "right", "wrong"].map(|name| folder.0.join(name));
    std::fs::write(&secret, "b0ss").unwrap();
    for (file, login) in [(&right, "cassandra:b0ss"), (&wrong, "cassandra:wr0ng")] {
        std::fs::write(file, login).unwrap();
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let server = audited(&folder, &["--authentication", "password", "--superuser-password-file", secret.to_str().unwrap(), "--cores", "1"]);
    let run = |arguments: &[&str], login: &Path| {
        let status = tarndb(arguments).args(["--http", server.field("http"), "--login-file"]).arg(login).output().unwrap().status;
        status.code().unwrap()
    };
    let order = ["set", "batch_size_warn_threshold", "7KiB"];
    assert_eq!(run(&order, &right), 0);
    assert_ne!(run(&order, &wrong), 0);
    assert_ne!(run(&["set", "batch_size_warn_threshold", "much"], &right), 0);
    assert_eq!(run(&["status"], &right), 0);
    assert_ne!(run(&["status"], &wrong), 0);
    end(server);
    let lines = lines(&path);
    let expected =
        ["OTHER SET cassandra - ok", "AUTH SET cassandra - error", "ERROR SET cassandra - error", "AUTH LOGIN_ERROR cassandra - error"];
    assert_eq!(told(&lines), expected);
    assert_eq!((&lines[0]["protocol"], &lines[0]["operation"]), (&"http".into(), &"POST /settings/batch_size_warn_threshold 7KiB".into()));
    assert!(!std::fs::read_to_string(&path).unwrap().contains("wr0ng"));
}

#[test]
fn filters_choose_categories_and_keyspaces() {
    let folder = Folder::new("audit-filters");
    let server = audited(&folder, &["--audit-included-categories", "ddl,dml", "--audit-excluded-keyspaces", "quiet"]);
    let mut client = Client::connect(server.field("cql"));
    client.must(KEYSPACE);
    client.must("CREATE TABLE ks.t (a int PRIMARY KEY)");
    client.must(&KEYSPACE.replace("ks", "quiet"));
    client.must("CREATE TABLE quiet.t (a int PRIMARY KEY)");
    client.must("SELECT * FROM ks.t");
    client.must("INSERT INTO quiet.t (a) VALUES (1)");
    client.must("INSERT INTO ks.t (a) VALUES (1)");
    end(server);
    let expected = ["DDL CREATE_KEYSPACE anonymous - ok", "DDL CREATE_TABLE anonymous t ok", "DML INSERT anonymous t ok"];
    assert_eq!(told(&lines(&log(&folder).0)), expected);
}

#[test]
fn files_are_replaced_as_they_fill_and_the_oldest_goes() {
    let folder = Folder::new("audit-rotation");
    let (path, _) = log(&folder);
    let server = audited(&folder, &["--audit-file-size", "64KiB", "--audit-files", "3"]);
    let mut client = with_table(&server);
    flood(&mut client, 100);
    end(server);
    let numbered = |number| folder.0.join(format!("audit.log.{number}"));
    assert!(!numbered(3).exists());
    let mut selects = 0;
    for file in [path, numbered(1), numbered(2)] {
        assert!(file.metadata().unwrap().len() <= 64 << 10, "{}", file.display());
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        selects += lines(&file).len();
    }
    assert!((20..100).contains(&selects), "{selects}");
}

/// Statements with long lines: 800 of them fill a queue and a pipe that nobody reads.
fn flood(client: &mut Client, statements: usize) {
    let padding = "x".repeat(3_900);
    for _ in 0..statements {
        client.must(&format!("SELECT a FROM ks.t WHERE a = 1 /* {padding} */"));
    }
}

fn pipe(folder: &Folder) -> PathBuf {
    let (path, _) = log(folder);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

/// The lines of a pipe up to its end, as they come.
fn read_lines(path: PathBuf) -> Receiver<String> {
    let (line, lines) = channel();
    std::thread::spawn(move || {
        for read in BufReader::new(std::fs::File::open(path).unwrap()).lines() {
            // The test may have failed.
            let _ = line.send(read.unwrap());
        }
    });
    lines
}

fn is_select(line: &str) -> bool {
    line.contains("\"SELECT\"")
}

fn with_table(server: &Server) -> Client {
    let mut client = Client::connect(server.field("cql"));
    client.must(KEYSPACE);
    client.must("CREATE TABLE ks.t (a int PRIMARY KEY)");
    client
}

#[test]
fn a_log_that_hangs_delays_nobody_and_says_what_is_missing() {
    let folder = Folder::new("audit-hangs");
    let path = pipe(&folder);
    let server = audited(&folder, &["--cores", "1"]);
    let mut client = with_table(&server);
    // Were they to wait for the log, they would wait for ever.
    flood(&mut client, 800);
    wait_until("a line was dropped", || metric(&server, "tarndb_audit_lines_dropped_total{") > 0);
    let lines = read_lines(path);
    let (mut missing, mut selects) = (0, 0);
    let mut take = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        match line["type"].as_str() {
            Some("LINES_DROPPED") => missing += line["lines"].as_u64().unwrap(),
            Some("SELECT") => selects += 1,
            _ => {}
        }
        missing + selects
    };
    // The end of the server waits for the reader some seconds only.
    while take(&lines.recv_timeout(BOUND).unwrap()) < 800 {}
    end(server);
    for line in lines {
        take(&line);
    }
    assert!(missing > 0 && selects > 100 && missing + selects == 800, "{missing} {selects}");
}

#[test]
fn with_block_requests_wait_and_no_line_is_missing() {
    let folder = Folder::new("audit-blocks");
    let path = pipe(&folder);
    let server = audited(&folder, &["--cores", "1", "--audit-when-full", "block"]);
    let mut client = with_table(&server);
    let (done, is_done) = channel();
    let flooder = std::thread::spawn(move || {
        flood(&mut client, 800);
        done.send(()).unwrap();
    });
    assert!(is_done.recv_timeout(Duration::from_secs(3)).is_err(), "nobody has waited");
    let lines = read_lines(path);
    flooder.join().unwrap();
    assert_eq!(metric(&server, "tarndb_audit_lines_dropped_total{"), 0);
    // The end of the server waits for the reader some seconds only.
    let mut selects = 0;
    while selects < 800 {
        selects += usize::from(is_select(&lines.recv_timeout(BOUND).unwrap()));
    }
    end(server);
    assert_eq!(selects + lines.iter().filter(|line| is_select(line)).count(), 800);
}

#[test]
fn kill_leaves_whole_lines_and_the_next_start_goes_on() {
    let folder = Folder::new("audit-kill");
    let (path, _) = log(&folder);
    let server = audited(&folder, &[]);
    let mut client = with_table(&server);
    // Lines are written behind the replies: wait for some, and kill it while more come.
    let until = Instant::now() + BOUND;
    while std::fs::read_to_string(&path).unwrap().lines().count() < 30 {
        assert!(Instant::now() < until, "no lines were written");
        flood(&mut client, 10);
    }
    flood(&mut client, 10);
    kill(server);
    let text = std::fs::read_to_string(&path).unwrap();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    assert!(whole.lines().count() >= 29 && whole.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    std::fs::write(&path, format!("{text}{{\"torn")).unwrap();
    let server = audited(&folder, &[]);
    Client::connect(server.field("cql")).must("SELECT a FROM ks.t");
    end(server);
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_err()).collect::<Vec<_>>(), ["{\"torn"]);
}

#[test]
fn what_cannot_be_written_is_refused_at_the_start() {
    let folder = Folder::new("audit-refused");
    let (code, message) = refused(start(&folder, &["--audit-log", "/nowhere/audit.log"]));
    assert!(code == 2 && message.contains("/nowhere/audit.log cannot be written"), "{message}");
    let (code, message) = refused(start(&folder, &["--audit-files", "3"]));
    assert!(code == 2 && message.contains("audit_files is given without audit_log"), "{message}");
}
