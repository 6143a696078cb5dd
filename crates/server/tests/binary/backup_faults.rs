//! Backups and restores that meet damage, kills, full disks, others' directories, other tools, log-ins.

use crate::backup::{is_running, must, other, run, tool};
use crate::client::Client;
use crate::harness::{Folder, Server, end, kill, signal, start, tarndb, wait_until};
use crate::rows::{check_rows, write_rows};
use crate::security::certificate;
use base::Rng;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

fn verify(directory: &Path) -> (i32, String) {
    let mut command = tarndb(&["backup", "verify"]);
    command.arg(directory);
    run(command)
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A backup that goes on until it is ended; rows have come. It is stopped by a signal, so it goes on however slow this machine is.
fn slow_backup(server: &Server, folder: &Folder) -> Child {
    let sent = || {
        let metrics = crate::limits::get(server.field("http"), "/metrics");
        metrics.lines().find_map(|line| line.strip_prefix("tarndb_backup_sent_bytes_total ")?.parse::<u64>().ok()).unwrap()
    };
    let before = sent();
    let child = tool("backup", server, folder, &["--rate-limit", "64KiB"]).spawn().unwrap();
    wait_until("rows come", || sent() >= before + 50_000);
    signal(&child, "STOP");
    child
}

#[test]
fn a_flipped_bit_is_found_and_named_and_nothing_is_restored() {
    let folder = Folder::new("backup-damage");
    let server = Server::start(start(&folder, &["--cores", "1", "--capacity", "300MiB"]));
    write_rows(&server, 1);
    must(tool("backup", &server, &folder, &[]));
    let directory = folder.0.join("backup");
    assert_eq!(names(&directory), ["000.rows", "manifest.json", "schema.json"]);
    assert_eq!(verify(&directory).0, 0);
    Client::connect(server.field("cql")).must("DROP TABLE k.t");
    for name in names(&directory) {
        let (path, length) = (directory.join(&name), directory.join(&name).metadata().unwrap().len() as usize);
        let whole = std::fs::read(&path).unwrap();
        for at in [0, 5, length / 3, length / 2, length - 1] {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            std::fs::write(&path, bytes).unwrap();
            let (code, said) = verify(&directory);
            assert!(code == 1 && said.contains(&format!("{name} of the backup is damaged")), "byte {at} of {name}: {said}");
            let (code, said) = run(tool("restore", &server, &folder, &[]));
            assert!(code == 1 && said.contains("is damaged"), "{said}");
        }
        std::fs::write(&path, &whole[..length - 1]).unwrap();
        assert_eq!(verify(&directory).0, 1, "{name} is shorter");
        std::fs::remove_file(&path).unwrap();
        let (code, said) = verify(&directory);
        assert!(code == 1 && said.contains(&name), "{said}");
        std::fs::write(&path, whole).unwrap();
    }
    assert!(Client::connect(server.field("cql")).query("SELECT v FROM k.t").is_err(), "it was not made");
    must(tool("restore", &server, &folder, &[]));
    check_rows(&server, 1);
    end(server);
}

#[test]
fn others_directories_and_full_disks_are_refused_and_left_as_they_are() {
    let folder = Folder::new("backup-target");
    let server = Server::start(start(&folder, &["--cores", "2", "--capacity", "300MiB"]));
    let (code, said) = run(tool("backup", &server, &folder, &[]));
    assert!(code == 2 && said.contains("there is no keyspace yet"), "{said}");
    write_rows(&server, 1);
    let directory = folder.0.join("backup");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("000.rows"), "mine").unwrap();
    for more in [&[][..], &["--restart"]] {
        let (code, said) = run(tool("backup", &server, &folder, more));
        assert!(code == 1 && said.contains("holds 000.rows, which is no part of a backup"), "{said}");
    }
    assert_eq!(std::fs::read(directory.join("000.rows")).unwrap(), b"mine");
    std::fs::remove_file(directory.join("000.rows")).unwrap();
    let (code, said) = run(tool("backup", &server, &folder, &["--keyspace", "none"]));
    assert!(code == 2 && said.contains("there is no keyspace none"), "{said}");
    // As with a full file system: the tool hears of it when it writes.
    let mut full = Command::new("sh");
    full.args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\""]).arg(env!("CARGO_BIN_EXE_tarndb"));
    full.args(["backup", "--http", server.field("http"), "--to"]).arg(&directory);
    let (code, said) = run(full);
    assert!(code == 1 && said.contains(".rows cannot be used"), "{said}");
    assert!(names(&directory).is_empty());
    let mut nowhere = tarndb(&["backup", "--http", server.field("http"), "--to"]);
    nowhere.arg(folder.0.join("data/layout.toml/x"));
    let (code, said) = run(nowhere);
    assert!(code == 1 && said.contains("layout.toml/x cannot be used"), "{said}");
    must(tool("backup", &server, &folder, &[]));
    for more in [&[][..], &["--restart"]] {
        let (code, said) = run(tool("backup", &server, &folder, more));
        assert!(code == 1 && said.contains("holds a backup already"), "{said}");
    }
    assert_eq!(verify(&directory).0, 0);
    end(server);
}

#[test]
fn a_second_backup_is_refused_and_a_killed_one_is_taken_anew() {
    let folder = Folder::new("backup-second");
    let server = Server::start(start(&folder, &["--cores", "2", "--capacity", "300MiB"]));
    write_rows(&server, 1);
    let mut first = slow_backup(&server, &folder);
    let elsewhere = Folder::new("backup-second-other");
    let (code, said) = run(tool("backup", &server, &elsewhere, &[]));
    assert!(code == 1 && said.contains("another backup runs on this node: of k, since ") && said.contains("from 127.0.0.1"), "{said}");
    assert!(names(&elsewhere.0.join("backup")).is_empty());
    assert!(first.try_wait().unwrap().is_none(), "the first one goes on");
    let (code, said) = run(tool("backup", &server, &folder, &["--restart"]));
    assert!(code == 1 && said.contains("another `tarndb backup` is writing to "), "{said}");
    first.kill().unwrap();
    first.wait().unwrap();
    let killed = Instant::now();
    let directory = folder.0.join("backup");
    let (code, said) = verify(&directory);
    assert!(code == 1 && said.contains("is no whole backup"), "{said}");
    let (code, said) = run(tool("backup", &server, &folder, &[]));
    assert!(code == 1 && said.contains("interrupted after ") && said.contains("--restart"), "{said}");
    let (code, said) = run(tool("restore", &server, &folder, &[]));
    assert!(code == 1 && said.contains("is no whole backup"), "{said}");
    let (code, said) = run(tool("backup", &server, &folder, &["--restart"]));
    if code != 0 {
        // A slow node may hear of the end later than the tool waits for that.
        assert!(killed.elapsed() >= Duration::from_secs(3), "{said}");
        wait_until("the killed one has ended", || !is_running(&server));
        must(tool("backup", &server, &folder, &["--restart"]));
    }
    assert_eq!((verify(&directory).0, names(&directory).len()), (0, 4));
    // An operator ends one.
    let third = slow_backup(&server, &elsewhere);
    must(tarndb(&["backup", "end", "--http", server.field("http")]));
    signal(&third, "CONT");
    let output = third.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // The other one if a stream was not there yet.
    assert!(output.status.code() == Some(1) && (said.contains("the backup has ended early") || said.contains("no such stream")), "{said}");
    assert!(names(&elsewhere.0.join("backup")).is_empty());
    must(tool("backup", &server, &elsewhere, &[]));
    end(server);
}

#[test]
fn a_backup_waits_for_one_whose_tool_was_killed_before_it_read_anything() {
    let folder = Folder::new("backup-unread");
    let server = Server::start(start(&folder, &["--cores", "2", "--capacity", "300MiB"]));
    write_rows(&server, 1);
    let mut stream = TcpStream::connect(server.field("http")).unwrap();
    stream.write_all(b"POST /backup/start?session=1 HTTP/1.0\r\nContent-Length: 5\r\n\r\n[\"k\"]").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK") && is_running(&server), "{answer}");
    must(tool("backup", &server, &folder, &[]));
    assert_eq!(verify(&folder.0.join("backup")).0, 0);
    end(server);
}

#[test]
fn a_killed_node_ends_its_backup_and_keeps_its_rows() {
    let folder = Folder::new("backup-kill");
    let command = || start(&folder, &["--cores", "2", "--capacity", "300MiB"]);
    let server = Server::start(command());
    write_rows(&server, 1);
    let child = slow_backup(&server, &folder);
    kill(server);
    signal(&child, "CONT");
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // The other one if a stream was not there yet.
    assert!(!output.status.success() && (said.contains("has ended") || said.contains("no answer from")), "{said}");
    assert!(names(&folder.0.join("backup")).is_empty());
    let server = Server::start(command());
    check_rows(&server, 1);
    must(tool("backup", &server, &folder, &[]));
    end(server);
}

/// Rows of another table, among those of `k.t`, that a slow restore takes more than a minute for.
fn write_ballast(server: &Server) {
    let mut bytes = vec![0; 32 << 10];
    Rng::new(1).fill(&mut bytes);
    // Not to be compressed.
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut client = Client::connect(server.field("cql"));
    client.must("CREATE TABLE k.ballast (id int PRIMARY KEY, v text)");
    for id in 0..100 {
        client.must(&format!("INSERT INTO k.ballast (id, v) VALUES ({id}, '{text}')"));
    }
}

#[test]
fn a_killed_restore_goes_on_where_it_was() {
    let folder = Folder::new("restore-kill");
    let server = Server::start(start(&folder, &["--cores", "2", "--capacity", "300MiB"]));
    write_rows(&server, 1);
    write_ballast(&server);
    must(tool("backup", &server, &folder, &[]));
    end(server);
    let target = Folder::new("restore-kill-other");
    let server = other(&target, "1");
    let progress = folder.0.join("progress");
    let more = ["--progress", progress.to_str().unwrap()];
    let mut client = Client::connect(server.field("cql"));
    let mut slow = tool("restore", &server, &folder, &[&more[..], &["--rate-limit", "64KiB"]].concat()).spawn().unwrap();
    while !client.query("SELECT v FROM k.t LIMIT 1").is_ok_and(|rows| !rows.is_empty()) {
        assert!(slow.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
    slow.kill().unwrap();
    slow.wait().unwrap();
    assert!(progress.exists());
    assert_eq!(std::fs::metadata(&progress).unwrap().permissions().mode() & 0o777, 0o600, "it is nobody else's");
    let third = Folder::new("restore-kill-third");
    let empty = other(&third, "1");
    let (code, said) = run(tool("restore", &empty, &folder, &more));
    end(empty);
    assert!(code == 2 && said.contains("the database that it began in"), "{said}");
    assert!(progress.exists());
    let said = must(tool("restore", &server, &folder, &more));
    assert!(said.contains("going on with the restore"), "{said}");
    check_rows(&server, 1);
    assert!(!progress.exists());
    end(server);
}

#[test]
fn backups_take_a_superuser_and_go_over_tls() {
    let folder = Folder::new("backup-tls");
    let Some([certificate, key]) = certificate(&folder) else { return };
    let secret = folder.0.join("secret");
    std::fs::write(&secret, "right").unwrap();
    let secure = ["--tls-certificate", &certificate, "--tls-key", &key, "--tls", "optional", "--authentication", "password"];
    let settings = ["--superuser-password-file", secret.to_str().unwrap(), "--cores", "2", "--capacity", "300MiB"];
    let server = Server::start(start(&folder, &[&secure[..], &settings].concat()));
    let mut client = Client::connect(server.field("cql"));
    client.log_in("cassandra", "right").unwrap();
    client.must("CREATE ROLE reader WITH PASSWORD = 'eyes' AND LOGIN = true");
    client.must("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    client.must("CREATE TABLE k.t (id int PRIMARY KEY, v text)");
    for id in 0..500 {
        client.must(&format!("INSERT INTO k.t (id, v) VALUES ({id}, '{}')", "x".repeat(2000)));
    }
    let https = format!("https://{}", server.field("http"));
    let login = folder.0.join("login");
    let secured = |name: &str, more: &[&str]| {
        let directory: PathBuf = folder.0.join("backup");
        let mut command = tarndb(&[name, "--http", &https, "--http-ca", &certificate]);
        command.arg(if name == "backup" { "--to" } else { "--from" }).arg(directory).args(more);
        run(command)
    };
    let (code, said) = secured("backup", &[]);
    assert!(code == 2 && said.contains("asks for a login"), "{said}");
    std::fs::write(&login, "reader:eyes").unwrap();
    std::fs::set_permissions(&login, std::fs::Permissions::from_mode(0o600)).unwrap();
    let logged_in = ["--login-file", login.to_str().unwrap()];
    let (code, said) = secured("backup", &logged_in);
    assert!(code == 2 && said.contains("orders are for superusers"), "{said}");
    assert!(!folder.0.join("backup").exists());
    std::fs::write(&login, "cassandra:right").unwrap();
    let (code, said) = secured("backup", &logged_in);
    assert_eq!(code, 0, "{said}");
    client.must("DROP TABLE k.t");
    let (code, said) = secured("restore", &logged_in);
    assert_eq!(code, 0, "{said}");
    assert_eq!(client.must("SELECT id FROM k.t").len(), 500);
    end(server);
}
