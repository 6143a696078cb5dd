//! Encryption at rest: nothing plain in any file, the right key opens it, another one does not, and keys are replaced while the node runs.

use crate::backup::{must, run, tool};
use crate::client::Client;
use crate::harness::{Folder, Server, end, kill, refused, start, tarndb};
use crate::rows::{check_rows, write_rows};
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What is searched for: a table's name, a key and a value, none of which occurs by chance.
const WORDS: [&str; 3] = ["plain_table_name", "plain key of a row", "plain value of a row"];
const FIRST: &str = "1111111111111111111111111111111111111111111111111111111111111111";
const SECOND: &str = "ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICA=";

/// A file with master keys; those of the other tests stay as they are.
fn key_file(folder: &Folder, name: &str, keys: &[&str]) -> PathBuf {
    let path = folder.0.join(name);
    // As editors and secret stores do: another file takes the name.
    let next = folder.0.join(format!("{name}.next"));
    fs::write(&next, keys.join("\n")).unwrap();
    fs::set_permissions(&next, Permissions::from_mode(0o600)).unwrap();
    fs::rename(next, &path).unwrap();
    path
}

fn with_key(path: &Path) -> [&str; 2] {
    ["--encryption-key-file", path.to_str().unwrap()]
}

fn flags<'a>(key: &[&'a str]) -> Vec<&'a str> {
    [&["--cores", "2"], key].concat()
}

const BLOCK_BYTES: usize = 4096;
const ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];

/// Which of the words are in any file below a directory.
fn found(directory: &Path) -> Vec<(PathBuf, &'static str)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(self::found(&path));
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let mut words = BTreeSet::new();
        // Most of a device is zeros.
        for used in bytes.chunks(BLOCK_BYTES).collect::<Vec<_>>().split(|block| **block == ZEROS[..block.len()]) {
            let used = used.concat();
            // All words begin with the same letter.
            let starts = (0..used.len()).filter(|at| used[*at] == b'p');
            words.extend(starts.filter_map(|at| WORDS.into_iter().find(|word| used[at..].starts_with(word.as_bytes()))));
        }
        found.extend(words.into_iter().map(|word| (path.clone(), word)));
    }
    found
}

/// Rows enough for both shards, in the buffers and, after an orderly end, on the device.
fn write_words(server: &Server) {
    let [table, key, value] = WORDS;
    let mut client = Client::connect(server.field("cql"));
    client.must("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    client.must(&format!("CREATE TABLE k.{table} (id text PRIMARY KEY, v text)"));
    client.must("CREATE TABLE k.wide (id int, c text, v text, PRIMARY KEY (id, c)) WITH compression = {'enabled': false}");
    for row in 0..200 {
        client.must(&format!("INSERT INTO k.{table} (id, v) VALUES ('{key} {row}', '{value} {row}')"));
        client.must(&format!("INSERT INTO k.wide (id, c, v) VALUES (1, '{key} {row}', '{value} {row}')"));
        client.must(&format!(
            "BEGIN BATCH INSERT INTO k.{table} (id, v) VALUES ('{key} b{row}', '{value}') \
             INSERT INTO k.wide (id, c, v) VALUES ({row}, '{key}', '{value}') APPLY BATCH"
        ));
    }
}

fn check_words(server: &Server) {
    let [table, key, value] = WORDS;
    let mut client = Client::connect(server.field("cql"));
    for row in 0..200 {
        let cells = client.must(&format!("SELECT v FROM k.{table} WHERE id = '{key} {row}'"));
        assert_eq!(cells[0].as_deref().unwrap(), format!("{value} {row}").as_bytes());
        let cells = client.must(&format!("SELECT v FROM k.wide WHERE id = 1 AND c = '{key} {row}'"));
        assert_eq!(cells[0].as_deref().unwrap(), format!("{value} {row}").as_bytes());
    }
}

#[test]
fn no_file_has_anything_plain_after_a_kill_and_after_an_orderly_end() {
    for devices in [false, true] {
        for encrypted in [false, true] {
            let folder = Folder::new(&format!("encryption-plain-{devices}-{encrypted}"));
            // The key lies elsewhere, as it should.
            let secrets = Folder::new(&format!("encryption-plain-{devices}-{encrypted}-key"));
            let key = key_file(&secrets, "key", &[FIRST]);
            let list = format!("{}=160MiB", folder.0.join("device").display());
            let mut more = flags(&[]);
            if encrypted {
                more.extend(with_key(&key));
            }
            if devices {
                more.extend(["--devices", &list]);
            }
            let server = Server::start(start(&folder, &more));
            write_words(&server);
            kill(server);
            let after_kill = found(&folder.0);
            let server = Server::start(start(&folder, &more));
            check_words(&server);
            end(server);
            let after_end = found(&folder.0);
            let data = if devices { "device" } else { "shard-0.data" };
            for (found, places) in [(after_kill, ["schema.json", "shard-0.buffer"]), (after_end, ["schema.json", data])] {
                let words: BTreeSet<_> = found.iter().map(|(_, word)| *word).collect();
                let is_right = if encrypted { words.is_empty() } else { words == BTreeSet::from(WORDS) };
                assert!(is_right, "devices: {devices}, encrypted: {encrypted}: {found:?}");
                let is_in = |place: &&str| found.iter().any(|(path, _)| path.ends_with(place));
                assert!(encrypted || places.iter().all(is_in), "the search does not look where they are: {found:?}");
            }
            let server = Server::start(start(&folder, &more));
            check_words(&server);
        }
    }
}

#[test]
fn a_command_gives_the_key_too() {
    let folder = Folder::new("encryption-command");
    let command = format!("echo '# the only one'; echo {FIRST}");
    let more = ["--cores", "2", "--encryption-key-command", &command];
    let server = Server::start(start(&folder, &more));
    write_rows(&server, 1);
    kill(server);
    let server = Server::start(start(&folder, &more));
    check_rows(&server, 1);
    end(server);
    // It is the key that counts, not where it comes from.
    let key = key_file(&folder, "key", &[FIRST]);
    let server = Server::start(start(&folder, &flags(&with_key(&key))));
    check_rows(&server, 1);
    kill(server);
    let failing = ["--encryption-key-command", "echo no such secret >&2; exit 7"];
    let (code, message) = refused(start(&folder, &failing));
    assert!(code == 3 && message.contains("no such secret") && message.contains("ended with exit status: 7"), "{code}: {message}");
    let (code, message) = refused(start(&folder, &["--encryption-key-command", "true"]));
    assert!(code == 2 && message.contains("has no master key"), "{code}: {message}");
}

#[test]
fn a_start_without_the_right_key_says_so_and_changes_nothing() {
    let folder = Folder::new("encryption-refused");
    let data = folder.0.join("data");
    let (key, other) = (key_file(&folder, "key", &[FIRST]), key_file(&folder, "other", &[SECOND]));
    let server = Server::start(start(&folder, &flags(&with_key(&key))));
    write_rows(&server, 1);
    // Not by a kill: the kernel may still do the last writes of a process that is gone.
    end(server);
    let before = contents(&data);
    let refuses = |more: &[&str], code: i32, words: &str| {
        let (found, message) = refused(start(&folder, more));
        assert!(found == code && message.contains(words), "{more:?}: {found} {message}");
        assert!(!message.contains(FIRST) && !message.contains(SECOND), "{message}");
        assert!(contents(&data) == before, "{more:?} changed something");
    };
    refuses(&[], 2, "is encrypted: set encryption_key_file or encryption_key_command");
    refuses(&with_key(&other), 4, "without that key the data cannot be read");
    refuses(&with_key(&folder.0.join("none")), 3, "cannot be read: No such file");
    refuses(&["--accept-data-loss", "--encryption-key-file", other.to_str().unwrap()], 4, "without that key");
    let both = [&with_key(&key)[..], &["--encryption-key-command", "true"]].concat();
    refuses(&both, 2, "are both given");
    let short = key_file(&folder, "short", &["# a comment", "", &FIRST[1..]]);
    refuses(&with_key(&short), 2, "line 3 is no master key: 64 hexadecimal digits");
    refuses(&with_key(&key_file(&folder, "empty", &[])), 2, "has no master key");
    for mode in [0o604, 0o620, 0o644] {
        fs::set_permissions(&key, Permissions::from_mode(mode)).unwrap();
        refuses(&with_key(&key), 2, &format!("has mode {mode:03o}: others can read or change the master key"));
    }
    // As Kubernetes mounts it.
    fs::set_permissions(&key, Permissions::from_mode(0o440)).unwrap();
    let server = Server::start(start(&folder, &with_key(&key)));
    check_rows(&server, 1);
    end(server);
}

/// Every file of a directory but its lock.
fn contents(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(contents(&path));
        } else if !path.ends_with("LOCK") {
            let bytes = fs::read(&path).unwrap();
            files.push((path, bytes));
        }
    }
    files.sort();
    files
}

#[test]
fn a_key_is_no_use_to_a_directory_that_was_made_without() {
    let folder = Folder::new("encryption-late");
    let key = key_file(&folder, "key", &[FIRST]);
    let server = Server::start(start(&folder, &["--cores", "2"]));
    write_rows(&server, 1);
    kill(server);
    let (code, message) = refused(start(&folder, &with_key(&key)));
    assert!(code == 2 && message.contains("was made without encryption and stays so"), "{code}: {message}");
    let server = Server::start(start(&folder, &[]));
    check_rows(&server, 1);
    end(server);
}

/// Reads what a node logs until it says something.
fn wait_for_line(lines: &mut impl BufRead, words: &str) {
    let mut line = String::new();
    while !line.contains(words) {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "it ended and never said: {words}");
    }
}

#[test]
fn the_master_key_is_replaced_while_the_node_runs() {
    let folder = Folder::new("encryption-rotation");
    let data = folder.0.join("data");
    let key = key_file(&folder, "key", &[FIRST]);
    let mut server = Server::start(start(&folder, &flags(&with_key(&key))));
    write_rows(&server, 1);
    let mut lines = BufReader::new(server.child.stderr.take().unwrap());
    let wrapped = fs::read(data.join("encryption.toml")).unwrap();
    // Nothing happens to data for a file of nonsense.
    key_file(&folder, "key", &["nonsense"]);
    wait_for_line(&mut lines, "no new master key could be taken");
    assert!(fs::read(data.join("encryption.toml")).unwrap() == wrapped);
    key_file(&folder, "key", &[SECOND, FIRST]);
    wait_for_line(&mut lines, "the master key was replaced");
    assert!(fs::read(data.join("encryption.toml")).unwrap() != wrapped);
    check_rows(&server, 1);
    write_rows(&server, 2);
    kill(server);
    let former = key_file(&folder, "former", &[FIRST]);
    let (code, message) = refused(start(&folder, &with_key(&former)));
    assert!(code == 4 && message.contains("without that key"), "{code}: {message}");
    let server = Server::start(start(&folder, &with_key(&key_file(&folder, "key", &[SECOND]))));
    check_rows(&server, 2);
    kill(server);
    // At a start it goes the same way, and one copy of the wrapped key is enough.
    fs::write(data.join("encryption.toml"), "").unwrap();
    let server = Server::start(start(&folder, &with_key(&key_file(&folder, "key", &[FIRST, SECOND]))));
    check_rows(&server, 2);
    kill(server);
    fs::remove_file(data.join("encryption-copy.toml")).unwrap();
    let server = Server::start(start(&folder, &with_key(&former)));
    check_rows(&server, 2);
    end(server);
    for name in ["encryption.toml", "encryption-copy.toml"] {
        assert_eq!(fs::metadata(data.join(name)).unwrap().permissions().mode() & 0o777, 0o600);
        fs::remove_file(data.join(name)).unwrap();
    }
    let (code, message) = refused(start(&folder, &with_key(&former)));
    assert!(code == 4 && message.contains("encryption.toml is missing, and its copy"), "{code}: {message}");
}

#[test]
fn inspect_reads_an_encrypted_directory_with_its_key() {
    let folder = Folder::new("encryption-inspect");
    let key = key_file(&folder, "key", &[FIRST]);
    let server = Server::start(start(&folder, &["--cores", "1", "--encryption-key-file", key.to_str().unwrap()]));
    write_rows(&server, 1);
    end(server);
    let data = folder.0.join("data");
    let inspect = |arguments: &[&str]| {
        let output = tarndb(&["inspect"]).args(arguments).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let of_directory = ["--data-dir", data.to_str().unwrap()];
    let (code, text) = inspect(&[&of_directory[..], &with_key(&key)].concat());
    assert!(code == 0 && text.contains("no damage") && text.contains("2000 records ("), "{code}: {text}");
    let command = ["--encryption-key-command", &format!("echo {SECOND}")];
    let (code, text) = inspect(&[&of_directory[..], &command].concat());
    assert!(code == 2 && text.contains("without that key"), "{code}: {text}");
    let (code, text) = inspect(&of_directory);
    assert!(code == 2 && text.contains("is encrypted: set encryption_key_file"), "{code}: {text}");
    let (code, text) = inspect(&[data.join("shard-0.data").to_str().unwrap()]);
    assert!(code == 2 && text.contains("is encrypted: its key is in the data directory"), "{code}: {text}");
}

#[test]
fn an_encrypted_backup_has_nothing_plain_and_opens_with_its_key_only() {
    let folder = Folder::new("encrypted-backup");
    let server = Server::start(start(&folder, &["--cores", "2", "--capacity", "300MiB"]));
    write_words(&server);
    let [first, second] = [("first", FIRST), ("second", SECOND)].map(|(name, key)| key_file(&folder, name, &[key]));
    let said = must(tool("backup", &server, &folder, &with_key(&first)));
    assert!(said.contains("bytes, encrypted\n"), "{said}");
    let directory = folder.0.join("backup");
    assert_eq!(found(&directory), []);
    let verify = |key: &[&str]| {
        let mut command = tarndb(&["backup", "verify"]);
        command.args(key).arg(&directory);
        run(command)
    };
    let (code, said) = verify(&[]);
    assert!(code == 2 && said.contains("is encrypted under master key") && said.contains("--encryption-key-file"), "{said}");
    let (code, said) = verify(&with_key(&second));
    assert!(code == 2 && said.contains("without that key it cannot be read"), "{said}");
    assert_eq!(verify(&with_key(&first)).0, 0);
    // Both keys, while one is replaced.
    let both = key_file(&folder, "both", &[SECOND, FIRST]);
    assert_eq!(verify(&with_key(&both)).0, 0);
    Client::connect(server.field("cql")).must("DROP KEYSPACE k");
    let (code, said) = run(tool("restore", &server, &folder, &with_key(&second)));
    assert!(code == 2 && said.contains("without that key"), "{said}");
    must(tool("restore", &server, &folder, &["--encryption-key-command", &format!("cat {}", first.display())]));
    check_words(&server);
    // One that is plain is not what somebody with a key expects.
    fs::remove_dir_all(&directory).unwrap();
    must(tool("backup", &server, &folder, &[]));
    let (code, said) = verify(&with_key(&first));
    assert!(code == 2 && said.contains("is not encrypted"), "{said}");
    end(server);
}

#[test]
fn a_new_node_without_its_key_makes_nothing() {
    let folder = Folder::new("encryption-none");
    let (data, missing) = (folder.0.join("data"), folder.0.join("none"));
    let short = key_file(&folder, "short", &[&FIRST[1..]]);
    for (key, code) in [(&missing, 3), (&short, 2)] {
        let (found, message) = refused(start(&folder, &with_key(key)));
        assert!(found == code && message.contains("Nothing was changed"), "{found} {message}");
        assert!(!data.exists(), "{message}");
    }
}
