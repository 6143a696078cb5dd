//! What the machine allows, what the environment says, and how a node ends: each as an operator meets it.

use crate::client::Client;
use crate::harness::{BOUND, Folder, Server, answered, refused, start, tarndb};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The same command below a limit of descriptors.
fn with_descriptors(count: u32, command: &Command) -> Command {
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("ulimit -n {count}; exec \"$0\" \"$@\"")]).arg(command.get_program()).args(command.get_args());
    limited.stdout(Stdio::piped()).stderr(Stdio::piped());
    limited
}

/// Reads the log up to a line with `text`; that line.
fn wait_for_log(server: &mut Server, text: &str) -> String {
    wait_for_line(&mut BufReader::new(server.child.stderr.as_mut().unwrap()), text)
}

fn wait_for_line(log: &mut impl BufRead, text: &str) -> String {
    loop {
        let mut line = String::new();
        assert!(log.read_line(&mut line).unwrap() > 0, "the log ended before `{text}`");
        if line.contains(text) {
            return line;
        }
    }
}

pub(crate) fn get_health(address: &str) -> String {
    get(address, "/health")
}

pub(crate) fn get(address: &str, path: &str) -> String {
    answered(|| match try_get(address, path) {
        Ok(reply) if !reply.is_empty() => Ok(reply),
        other => Err(format!("{path}: {other:?}")),
    })
}

fn try_get(address: &str, path: &str) -> std::io::Result<String> {
    let mut http = TcpStream::connect(address)?;
    http.set_read_timeout(Some(BOUND))?;
    http.write_all(format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes())?;
    let mut reply = String::new();
    http.read_to_string(&mut reply)?;
    Ok(reply)
}

#[test]
fn at_64_descriptors_each_client_is_served_or_refused_at_once() {
    let folder = Folder::new("descriptors");
    let mut server = Server::start(with_descriptors(64, &start(&folder, &["--cores", "2"])));
    let warning = wait_for_log(&mut server, "`ulimit -n` allows fewer connections");
    assert!(warning.contains("descriptors_max=64") && warning.contains("asked=10000"), "{warning}");
    let address = server.field("cql").to_owned();
    let streams: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let options = [4, 0, 0, 0, 5, 0, 0, 0, 0];
    let is_served = |mut stream: &TcpStream| {
        stream.set_read_timeout(Some(BOUND)).unwrap();
        let _ = stream.write_all(&options);
        match stream.read(&mut [0; 9]) {
            Ok(count) => count > 0,
            Err(error) => {
                assert_ne!(error.kind(), ErrorKind::WouldBlock, "neither served nor refused");
                false
            }
        }
    };
    let served = streams.iter().filter(|stream| is_served(stream)).count();
    assert!((4..64).contains(&served), "{served} of 100 are served");
    assert!(get_health(server.field("http")).starts_with("HTTP/1.1 200 OK"), "the HTTP port has descriptors of its own");
}

#[test]
fn health_is_answered_beside_100_connections_that_say_nothing() {
    let folder = Folder::new("half-open");
    let server = Server::start(start(&folder, &[]));
    let address = server.field("http");
    let silent: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"GET /hea").unwrap();
            stream
        })
        .collect();
    assert!(get_health(address).starts_with("HTTP/1.1 200 OK"));
    drop(silent);
}

#[test]
fn more_memory_than_there_is_is_refused_with_the_numbers() {
    let folder = Folder::new("memory");
    let (code, message) = refused(start(&folder, &["--memory-limit", "900TiB"]));
    assert!(code == 2 && message.contains("memory_limit is 900 TiB, but "), "{message}");
}

#[test]
fn unknown_and_bad_variables_are_called_variables() {
    let folder = Folder::new("variables");
    let refused_with = |name: &str, value: &str| {
        let mut command = start(&folder, &[]);
        command.env(name, value);
        let (code, message) = refused(command);
        assert_eq!(code, 2, "{message}");
        message
    };
    let message = refused_with("TARNDB_MEMORY_LIMT", "1GiB");
    assert!(message.contains("unknown environment variable `TARNDB_MEMORY_LIMT`; did you mean `TARNDB_MEMORY_LIMIT`?"), "{message}");
    let message = refused_with("TARNDB_CORES", "many");
    assert!(message.contains("environment variable TARNDB_CORES") && !message.contains("--cores"), "{message}");
    let message = refused_with("TARNDB_CORES", "0");
    assert!(message.contains("cores is 0") && message.contains("(from the environment variable TARNDB_CORES)"), "{message}");
    let mut given = start(&folder, &["--cores", "many"]);
    given.env("TARNDB_CORES", "1");
    let (_, message) = refused(given);
    assert!(message.contains("'--cores <N>'"), "{message}");
    let mut allowed = start(&folder, &[]);
    allowed.env("TARNDB_TEST_BINARY", "x").env("TARNDB_SERVICE_HOST", "10.0.0.1");
    Server::start(allowed);
}

#[test]
fn a_name_is_listened_on_and_an_address_of_another_machine_is_named() {
    let folder = Folder::new("listen");
    let server = Server::start(start(&folder, &["--listen", "localhost"]));
    assert!(server.field("cql").starts_with("127.0.0.1:"));
    drop(server);
    let (code, message) = refused(start(&folder, &["--listen", "192.0.2.1", "--insecure"]));
    assert!(code == 3 && message.contains("address 192.0.2.1 is not an address of this machine"), "{message}");
    assert!(!message.contains("-port"), "{message}");
}

#[test]
fn who_listens_to_all_without_a_login_has_to_say_so_and_is_warned() {
    let folder = Folder::new("exposed");
    let (code, message) = refused(start(&folder, &["--listen", "0.0.0.0"]));
    assert!(code == 2 && message.contains("set authentication = password, or insecure = true"), "{message}");
    let mut by_variable = start(&folder, &["--listen", "0.0.0.0"]);
    let (code, message) = refused({
        by_variable.env("TARNDB_INSECURE", "false");
        by_variable
    });
    assert!(code == 2 && message.contains("TARNDB_INSECURE"), "{message}");
    assert!(!folder.0.join("data").exists(), "nothing is made before");
    let mut server = Server::start(start(&folder, &["--listen", "0.0.0.0", "--insecure"]));
    wait_for_log(&mut server, "NOBODY HAS TO LOG IN");
    drop(server);
    let mut by_variable = start(&folder, &["--listen", "0.0.0.0"]);
    by_variable.env("TARNDB_INSECURE", "true");
    let mut server = Server::start(by_variable);
    wait_for_log(&mut server, "NOBODY HAS TO LOG IN");
}

#[test]
fn a_terminal_that_goes_away_drains_unless_nohup_asks_for_more() {
    let folder = Folder::new("hangup");
    let plain = start(&folder, &[]);
    // These tests may have been started with `nohup` themselves.
    let mut hearing = Command::new("env");
    hearing.arg("--default-signal=HUP").arg(plain.get_program()).args(plain.get_args());
    hearing.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = Server::start(hearing);
    server.signal("HUP");
    assert_eq!(server.wait().code(), Some(0));
    let mut nohup = Command::new("sh");
    nohup.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(plain.get_program()).args(plain.get_args());
    nohup.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = Server::start(nohup);
    server.signal("HUP");
    server.signal("TERM");
    assert!(wait_for_log(&mut server, "draining").contains("signal=15"), "the first signal is not the one that is ignored");
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn two_quick_signals_drain_as_one() {
    let folder = Folder::new("twice");
    for _ in 0..20 {
        let mut server = Server::start(start(&folder, &[]));
        let began = Instant::now();
        let status = Command::new("sh").args(["-c", "kill -TERM $0; kill -TERM $0", &server.child.id().to_string()]).status().unwrap();
        // The second one may find that it has ended already.
        let _ = status;
        let code = server.wait().code();
        if code == Some(0) {
            return;
        }
        // What comes a second later, as on a slow machine it may, is another order.
        assert!(began.elapsed() >= Duration::from_secs(1), "{code:?}");
    }
    panic!("no two signals are one");
}

#[test]
fn each_try_to_join_says_why_it_failed_and_the_last_line_what_to_do() {
    let folder = Folder::new("join");
    let mut child = start(&folder, &["--node-port", "0", "--join", "127.0.0.1:1"]).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    for tries in 1..=3 {
        let line = wait_for_line(&mut log, "no member of the cluster to join is reached yet");
        let expected = ["address=127.0.0.1:1", "Connection refused", &format!("tries={tries}")];
        assert!(expected.iter().all(|text| line.contains(text)), "{line}");
    }
    Command::new("sh").args(["-c", &format!("kill -TERM {}", child.id())]).status().unwrap();
    wait_for_line(&mut log, "this node ends without having joined a cluster");
    let started = Instant::now();
    child.wait().unwrap();
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_full_capacity_is_told_to_the_client_and_in_the_log() {
    let folder = Folder::new("full");
    let mut server = Server::start(start(&folder, &["--cores", "1", "--capacity", "256MiB"]));
    let mut client = Client::connect(server.field("cql"));
    client.must("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    client.must("CREATE TABLE k.t (k int PRIMARY KEY, v text)");
    let value = "x".repeat(1 << 20);
    let refusal = (0..1_000).find_map(|key| client.query(&format!("INSERT INTO k.t (k, v) VALUES ({key}, '{value}')")).err()).unwrap();
    assert!(refusal.contains("device full: the capacity of this core, 256 MiB, is in use"), "{refusal}");
    assert!(refusal.contains("delete rows or raise the capacity"), "{refusal}");
    // Its log line comes with the next look, which an idle node does not take.
    let keep_asking = std::thread::spawn(move || while client.query("SELECT k FROM k.t WHERE k = 1").is_ok() {});
    wait_for_log(&mut server, "device full: writes that need room are refused");
    drop(server);
    keep_asking.join().unwrap();
}

#[test]
fn help_begins_with_what_the_program_is() {
    let output = tarndb(&["--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(help.starts_with("TarnDB is a NoSQL database in one binary"), "{help}");
}
