//! Who gets in, and what is left lying about.

use crate::client::Client;
use crate::harness::{Folder, Server, answered, end, kill, refused, start, tarndb};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const LOGIN: [&str; 2] = ["--authentication", "password"];

fn password_left(folder: &Folder) -> PathBuf {
    folder.0.join("data/superuser-password")
}

fn logs_in(server: &Server, role: &str, password: &str) -> bool {
    Client::connect(server.field("cql")).log_in(role, password).is_ok()
}

/// Everything that the node has written to its log; it has ended.
fn log_of(server: &mut Server) -> String {
    let mut log = String::new();
    server.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    log
}

fn modes(directory: &Path, found: &mut Vec<(PathBuf, u32)>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        found.push((path.clone(), path.metadata().unwrap().permissions().mode() & 0o777));
        if path.is_dir() {
            modes(&path, found);
        }
    }
}

#[test]
fn the_first_superusers_password_is_made_left_in_a_file_and_said_nowhere() {
    let folder = Folder::new("superuser");
    let mut server = Server::start(start(&folder, &LOGIN));
    let file = password_left(&folder);
    let password = std::fs::read_to_string(&file).unwrap().trim_end().to_owned();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!logs_in(&server, "cassandra", "cassandra") && logs_in(&server, "cassandra", &password));
    let arguments = std::fs::read(format!("/proc/{}/cmdline", server.child.id())).unwrap();
    let environment = std::fs::read(format!("/proc/{}/environ", server.child.id())).unwrap();
    server.child.kill().unwrap();
    server.wait();
    let log = log_of(&mut server);
    assert!(log.contains("superuser-password") && !log.contains(&password), "{log}");
    for shown in [arguments, environment] {
        assert!(!String::from_utf8_lossy(&shown).contains(&password));
    }
    // It stays as long as the role has it, whatever kills the node.
    let server = Server::start(start(&folder, &LOGIN));
    assert!(logs_in(&server, "cassandra", &password));
    let mut client = Client::connect(server.field("cql"));
    client.log_in("cassandra", &password).unwrap();
    client.must("ALTER ROLE cassandra WITH PASSWORD = 'another one'");
    end(server);
    let server = Server::start(start(&folder, &LOGIN));
    assert!(!file.exists() && logs_in(&server, "cassandra", "another one") && !logs_in(&server, "cassandra", &password));
}

#[test]
fn the_first_superusers_password_is_that_of_a_file_until_there_are_roles() {
    let folder = Folder::new("superuser-file");
    let file = folder.0.join("secret");
    let given = [LOGIN[0], LOGIN[1], "--superuser-password-file", file.to_str().unwrap()];
    let (code, message) = refused(start(&folder, &given));
    assert!(code == 2 && message.contains("secret cannot be read"), "{message}");
    std::fs::write(&file, "\n").unwrap();
    let (code, message) = refused(start(&folder, &given));
    assert!(code == 2 && message.contains("has 0 bytes: a password has 1 to 72"), "{message}");
    std::fs::write(&file, "pass word\r\n").unwrap();
    let server = Server::start(start(&folder, &given));
    assert!(logs_in(&server, "cassandra", "pass word") && !logs_in(&server, "cassandra", "cassandra"));
    kill(server);
    std::fs::remove_file(&file).unwrap();
    let server = Server::start(start(&folder, &given));
    assert!(logs_in(&server, "cassandra", "pass word") && !password_left(&folder).exists());
}

#[test]
fn files_are_their_owners_alone_also_those_of_a_program_before() {
    let folder = Folder::new("modes");
    let is_private = |when: &str| {
        let mut found = Vec::new();
        modes(&folder.0.join("data"), &mut found);
        assert!(found.len() > 4, "{found:?}");
        for (path, mode) in found {
            assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{} {when}", path.display());
        }
    };
    let server = Server::start(start(&folder, &[]));
    Client::connect(server.field("cql")).must("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    is_private("of a new directory");
    end(server);
    is_private("after the end");
    let mut found = Vec::new();
    modes(&folder.0.join("data"), &mut found);
    for (path, mode) in found {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode | 0o055)).unwrap();
    }
    let server = Server::start(start(&folder, &[]));
    for name in ["blobs", "blobs/schema.json", "shard-0.data", "shard-0.buffer", "layout.toml"] {
        let mode = folder.0.join("data").join(name).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name}");
    }
    end(server);
}

#[test]
fn who_guesses_is_slowed_and_named_and_others_are_served() {
    let folder = Folder::new("guesses");
    let file = folder.0.join("secret");
    std::fs::write(&file, "right").unwrap();
    let mut server =
        Server::start(start(&folder, &[LOGIN[0], LOGIN[1], "--superuser-password-file", file.to_str().unwrap(), "--cores", "1"]));
    let mut boss = Client::connect(server.field("cql"));
    boss.log_in("cassandra", "right").unwrap();
    let mut guesser = Client::connect(server.field("cql"));
    let began = Instant::now();
    for number in 0..9 {
        let refusal = guesser.log_in("cassandra", &format!("gu3ss{number}")).unwrap_err();
        assert!(refusal.contains("incorrect"), "{refusal}");
    }
    // The last four have waited for 100, 200, 400 and 800 ms after the failure before them, whenever the client has sent them.
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(1_400), "{took:?}");
    // Side by side it goes no faster: most are not even heard.
    let mut waiting: Vec<Client> = (0..20).map(|_| Client::connect(server.field("cql"))).collect();
    let threads: Vec<_> = waiting
        .drain(..)
        .enumerate()
        .map(|(number, mut client)| std::thread::spawn(move || client.log_in("cassandra", &format!("gu3ss{}", 100 + number)).unwrap_err()))
        .collect();
    boss.must("SELECT release_version FROM system.local");
    assert!(logs_in(&server, "cassandra", "right"), "whose password is known passes");
    let refusals: Vec<String> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert!(refusals.iter().filter(|refusal| refusal.contains("too many log-ins")).count() > 10, "{refusals:?}");
    server.child.kill().unwrap();
    server.wait();
    let log = log_of(&mut server);
    assert!(log.contains("refused to log in") && log.contains("127.0.0.1") && !log.contains("gu3ss"), "{log}");
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn operators_log_in_as_clients_do() {
    let folder = Folder::new("operators");
    let (file, login) = (folder.0.join("secret"), folder.0.join("login"));
    std::fs::write(&file, "right").unwrap();
    let server = Server::start(start(&folder, &[LOGIN[0], LOGIN[1], "--superuser-password-file", file.to_str().unwrap()]));
    let http = server.field("http").to_owned();
    let run = |command: &str, with: &[&str]| {
        let output = tarndb(&[&[command][..], with, &["--http", &http]].concat()).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = run("status", &[]);
    assert!(code == 2 && said.contains("asks for a login") && said.contains("--login-file"), "{said}");
    let with = ["--login-file", login.to_str().unwrap()];
    std::fs::write(&login, "cassandra:cassandra\n").unwrap();
    set_mode(&login, 0o644);
    let (code, said) = run("status", &with);
    assert!(code == 2 && said.contains("mode 644") && said.contains("chmod 600"), "{said}");
    set_mode(&login, 0o600);
    let (code, said) = run("status", &with);
    assert!(code == 2 && said.contains("wrong role or password"), "{said}");
    std::fs::write(&login, "no login").unwrap();
    let (code, said) = run("status", &with);
    assert!(code == 2 && said.contains("ROLE:PASSWORD"), "{said}");
    std::fs::write(&login, "cassandra:right\n").unwrap();
    assert_eq!(run("status", &with).0, 0);
    let (code, said) = run("drain", &["1", with[0], with[1]]);
    assert!(code == 1 && said.contains("this node is by itself"), "{said}");
    let mut boss = Client::connect(server.field("cql"));
    boss.log_in("cassandra", "right").unwrap();
    boss.must("CREATE ROLE reader WITH PASSWORD = 'eyes' AND LOGIN = true");
    std::fs::write(&login, "reader:eyes").unwrap();
    assert_eq!(run("status", &with).0, 0);
    let (code, said) = run("drain", &["1", with[0], with[1]]);
    assert!(code == 1 && said.contains("orders are for superusers"), "{said}");
    boss.must("ALTER ROLE reader WITH ACCESS FROM CIDRS {'10.1.2.3/8'}");
    let restricted = boss.must("SELECT role FROM system_auth.cidr_permissions");
    assert_eq!(restricted, [Some(b"reader".to_vec())]);
    assert_eq!(boss.must("SELECT cidr_group FROM system_auth.cidr_groups"), [Some(b"10.0.0.0/8".to_vec())]);
    assert!(boss.must("SELECT role FROM system_auth.network_permissions").is_empty());
    assert_eq!(run("status", &with).0, 2, "it is from elsewhere, whether or not its password is known");
    boss.must("ALTER ROLE reader WITH ACCESS FROM ALL CIDRS");
    assert_eq!(run("status", &with).0, 0);
    boss.must("DROP ROLE reader");
    assert_eq!(run("status", &with).0, 2, "whoever is dropped is out at once");
}

/// A certificate for this machine and its key, signed by themselves.
pub(crate) fn certificate(folder: &Folder) -> Option<[String; 2]> {
    let [certificate, key] = ["server.pem", "server.key"].map(|name| folder.0.join(name).to_str().unwrap().to_owned());
    let mut command = Command::new("openssl");
    command.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-subj", "/CN=server"]);
    command.args([
        "-addext",
        "subjectAltName=IP:127.0.0.1,DNS:localhost",
        "-addext",
        "basicConstraints=critical,CA:FALSE",
        "-keyout",
        &key,
        "-out",
        &certificate,
    ]);
    let Ok(output) = command.output() else {
        eprintln!("skipped: openssl is missing");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some([certificate, key])
}

#[test]
fn operators_speak_tls_where_clients_have_to() {
    let folder = Folder::new("operators-tls");
    let Some([certificate, key]) = certificate(&folder) else { return };
    let server = Server::start(start(&folder, &["--tls-certificate", &certificate, "--tls-key", &key]));
    let http = server.field("http").to_owned();
    let status = |http: &str, with: &[&str]| {
        let output = tarndb(&[&["status", "--http", http][..], with].concat()).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
    };
    let trusted = ["--http-ca", certificate.as_str()];
    let by_name = format!("https://localhost:{}", http.rsplit_once(':').unwrap().1);
    for address in [format!("https://{http}"), format!("https://{http}/"), by_name] {
        let (code, said) = status(&address, &trusted);
        assert_eq!(code, 0, "{address}: {said}");
    }
    let (code, said) = status(&http, &[]);
    assert!(code == 2 && said.contains("https://"), "{said}");
    let (code, said) = status(&format!("https://{http}"), &[]);
    assert!(code == 2 && said.contains("--http-ca"), "{said}");
    let others = Folder::new("operators-tls-others");
    let Some([other, _]) = self::certificate(&others) else { return };
    let (code, said) = status(&format!("https://{http}"), &["--http-ca", &other]);
    assert!(code == 2 && said.contains("certificate is refused"), "{said}");
    let statement = r#"{"query": "SELECT cluster_name FROM system.local"}"#;
    let request = format!("POST /api/v1/query HTTP/1.1\r\nContent-Length: {}\r\n\r\n{statement}", statement.len());
    let input = folder.0.join("request");
    std::fs::write(&input, request).unwrap();
    let answer = answered(|| {
        let mut asked = Command::new("openssl");
        asked.args(["s_client", "-quiet", "-connect", &http]).stdin(std::fs::File::open(&input).unwrap());
        let output = asked.output().unwrap();
        if output.stdout.is_empty() { Err(format!("{output:?}")) } else { Ok(String::from_utf8(output.stdout).unwrap()) }
    });
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains(r#""rows":[["TarnDB"]]"#), "{answer}");
    // Probes know nothing of certificates, and a handshake that stops keeps nobody waiting.
    let _half: Vec<_> = (0..40)
        .map(|_| {
            let mut stream = std::net::TcpStream::connect(&http).unwrap();
            stream.write_all(&[0x16, 3, 1]).unwrap();
            stream
        })
        .collect();
    assert!(crate::limits::get_health(&http).starts_with("HTTP/1.1 200 OK"));
}
