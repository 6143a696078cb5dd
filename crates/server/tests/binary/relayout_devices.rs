//! Another number of cores for data on devices: every row is there afterwards, whatever kills the copy, and whatever kills the writing to devices.

use crate::client::Client;
use crate::harness::{Folder, Server, end, kill, refused, start};
use crate::relayout::{Seen, chosen, fill, kill_when, read, shard_files};
use std::fs;

/// Flags for a node on two devices that are not equally large.
fn flags(folder: &Folder, more: &[&str]) -> Vec<String> {
    let device = |name: &str, size| format!("{}={size}", folder.0.join(name).display());
    let list = [device("one", "400MiB"), device("two", "280MiB")].join(",");
    ["--devices", &list].iter().chain(more).map(|flag| (*flag).to_owned()).collect()
}

fn start_with(folder: &Folder, more: &[&str]) -> Server {
    let flags = flags(folder, more);
    Server::start(start(folder, &flags.iter().map(String::as_str).collect::<Vec<_>>()))
}

fn buffers_of(cores: u16) -> Vec<String> {
    let mut names: Vec<String> = (0..cores).map(|core| format!("shard-{core}.buffer")).collect();
    names.sort();
    names
}

/// A directory beyond the data directory, for a copy.
fn beyond(folder: &Folder) -> String {
    let path = folder.0.join("beyond");
    fs::create_dir_all(&path).unwrap();
    path.to_str().unwrap().to_owned()
}

fn is_empty(directory: &str) -> bool {
    fs::read_dir(directory).unwrap().next().is_none()
}

#[test]
fn rows_on_devices_are_the_same_with_more_cores_and_with_fewer() {
    let folder = Folder::new("relayout-devices");
    let server = start_with(&folder, &["--cores", "3"]);
    let mut client = Client::connect(server.field("cql"));
    fill(&mut client);
    let before = read(&mut client);
    end(server);
    let beyond = beyond(&folder);
    // The first change follows an end in order, the second a kill; its copy is made in the data directory.
    for more in [&["--cores", "5", "--relayout-dir", &beyond][..], &["--cores", "2"]] {
        let server = start_with(&folder, more);
        assert_eq!(server.field("cores"), more[1]);
        assert_eq!(shard_files(&folder), buffers_of(more[1].parse().unwrap()));
        assert!(is_empty(&beyond));
        let mut client = Client::connect(server.field("cql"));
        assert!(read(&mut client) == before, "rows differ with {} cores", more[1]);
        // A deletion is still newer than what was written before it.
        client.must("INSERT INTO k.t (id, v) VALUES (5, 'old') USING TIMESTAMP 1");
        assert!(read(&mut client) == before, "a deletion was forgotten with {} cores", more[1]);
        kill(server);
    }
    // The list is remembered, and the number is the data's.
    let server = Server::start(start(&folder, &[]));
    assert_eq!(server.field("cores"), "2");
    assert!(read(&mut Client::connect(server.field("cql"))) == before);
    end(server);
}

#[test]
fn what_is_killed_anywhere_leaves_all_rows_on_devices() {
    let folder = Folder::new("relayout-devices-kill");
    let server = start_with(&folder, &["--cores", "3"]);
    let mut client = Client::connect(server.field("cql"));
    fill(&mut client);
    let before = read(&mut client);
    kill(server);
    let beyond = beyond(&folder);
    let flags = flags(&folder, &["--relayout-dir", &beyond]);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let points = chosen(&[
        Seen::Line("is copied before the node serves clients"),
        Seen::Line("copying the data"),
        Seen::File("relayout-0.buffer"),
        Seen::File("relayout-4.buffer"),
        Seen::Line("percent=100"),
        Seen::Mark,
        Seen::Line("the copy is written to the devices"),
        Seen::Line("writing the copy to the devices cores=5 percent=0"),
        Seen::Line("writing the copy to the devices cores=5 percent=100"),
        Seen::Line("the device is cut"),
        Seen::Line("/two number=1"),
        Seen::File("shard-4.buffer"),
        Seen::Line("is laid out for the new number"),
    ]);
    let mut was_seen = 0;
    for seen in &points {
        was_seen += usize::from(kill_when(&folder, &flags, "5", seen));
        // Whatever it was cut off in, a node starts, with one number of cores or the other.
        let server = Server::start(start(&folder, &flags));
        let cores: u16 = server.field("cores").parse().unwrap();
        assert!(cores == 3 || cores == 5, "{cores}");
        assert_eq!(shard_files(&folder), buffers_of(cores));
        assert!(is_empty(&beyond));
        assert!(read(&mut Client::connect(server.field("cql"))) == before, "rows differ");
        end(server);
        if cores == 5 {
            end(Server::start(start(&folder, &[&flags[..], &["--cores", "3"]].concat())));
        }
    }
    assert!(was_seen >= points.len() / 2, "only {was_seen} kills came in time");
}

#[test]
fn what_has_no_room_on_devices_is_refused_and_nothing_changes() {
    let folder = Folder::new("relayout-devices-room");
    end(start_with(&folder, &["--cores", "1"]));
    let refuses = |more: &[&str], code: i32, words: &str| {
        let flags = flags(&folder, more);
        let (found, message) = refused(start(&folder, &flags.iter().map(String::as_str).collect::<Vec<_>>()));
        assert!(found == code && message.contains(words), "{more:?}: {found} {message}");
    };
    refuses(&["--cores", "20"], 2, "the devices give each of 20 cores 24 MiB, and it needs 64 MiB");
    refuses(&["--cores", "9"], 2, "the devices cut for 9 cores give each 64 MiB, and it needs");
    refuses(&["--cores", "60"], 2, "each of 60 cores needs a segment of it");
    let missing = folder.0.join("missing");
    refuses(&["--cores", "2", "--relayout-dir", missing.to_str().unwrap()], 3, "name a directory that is there");
    let server = start_with(&folder, &[]);
    assert_eq!(server.field("cores"), "1");
    assert_eq!(shard_files(&folder), buffers_of(1));
    end(server);
}
