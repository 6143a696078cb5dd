//! `tarndb inspect`: what it shows of a store, and that it finds what is damaged.

use crate::client::Client;
use crate::harness::{Folder, Server, end, kill, start, tarndb};
use crate::rows::{ROWS, write_rows};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Runs the command; its exit code, output and errors.
fn inspect(arguments: &[&str]) -> (i32, String, String) {
    let output = tarndb(&["inspect"]).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Flips a bit.
fn damage(path: &Path, offset: u64) {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], offset).unwrap();
}

/// The number that stands before ` name` in a text.
fn figure(text: &str, name: &str) -> usize {
    let before = text.split(&format!(" {name}")).next().unwrap();
    before.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_data_directory_of_files_is_clean_and_damage_is_found_where_it_is() {
    let folder = Folder::new("inspect-files");
    let data = folder.0.join("data");
    let directory = data.to_str().unwrap();
    let server = Server::start(start(&folder, &["--cores", "1", "--capacity", "300MiB"]));
    write_rows(&server, 1);
    let (code, _, message) = inspect(&["--data-dir", directory]);
    assert!(code == 2 && message.contains("in use by process"), "{message}");
    let file = data.join("shard-0.data");
    let (code, _, message) = inspect(&[file.to_str().unwrap()]);
    assert!(code == 2 && message.contains("in use by process"), "{message}");
    end(server);
    let before = fs::read(&file).unwrap();
    let (code, text, _) = inspect(&["--data-dir", directory]);
    assert!(code == 0 && text.contains("no damage"), "{text}");
    assert_eq!(figure(&text, "records ("), ROWS, "{text}");
    for arguments in [vec![file.to_str().unwrap()], vec!["--data-dir", directory, "--segments"]] {
        let (code, text, _) = inspect(&arguments);
        assert!(code == 0 && text.contains("no damage"), "{text}");
    }
    assert!(fs::read(&file).unwrap() == before, "nothing was written");
    // The segment was open when the server ended, so what is wrong in it may be a torn write: fewer records, but no damage.
    damage(&file, 6000);
    let (code, text, _) = inspect(&["--data-dir", directory]);
    assert!(code == 0 && figure(&text, "records (") < ROWS && text.contains("1 not finished"), "{text}");
    damage(&file, 30);
    damage(&file, 2048 + 30);
    let (code, text, _) = inspect(&["--data-dir", directory]);
    assert!(code == 1 && text.contains("segment 0 offset 0, 4096 bytes: the header is damaged"), "{text}");
}

#[test]
fn every_damaged_place_of_finished_segments_is_named() {
    let folder = Folder::new("inspect-damage");
    let (one, two) = (folder.0.join("one"), folder.0.join("two"));
    let list = format!("{}=200MiB,{}=200MiB", one.display(), two.display());
    // Every start finishes the segments before it: five make the first ones old enough to have been synced for sure.
    for generation in 0..5 {
        let server = Server::start(start(&folder, &["--devices", &list, "--cores", "2"]));
        let mut client = Client::connect(server.field("cql"));
        client.must("CREATE KEYSPACE IF NOT EXISTS k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
        client.must("CREATE TABLE IF NOT EXISTS k.t (id int PRIMARY KEY, v int)");
        // Half of the keys are new, half those of the start before.
        for row in 0..200 {
            client.must(&format!("INSERT INTO k.t (id, v) VALUES ({}, {generation})", generation * 100 + row));
        }
        kill(server);
    }
    end(Server::start(start(&folder, &[])));
    let data = folder.0.join("data");
    let directory = data.to_str().unwrap();
    let both = [one.to_str().unwrap(), two.to_str().unwrap()];
    let (code, text, _) = inspect(&both);
    assert!(code == 0 && text.contains("device 1 of 2") && text.contains("shard 1"), "{text}");
    let (code, text, message) = inspect(&["--data-dir", directory, "--json"]);
    assert_eq!(code, 0, "{message}");
    assert!(text.contains("\"clean\": true") && text.contains("\"live_percent\": 100") && text.contains("\"never_used\": "), "{text}");
    let (code, text, _) = inspect(&["--data-dir", directory, "--segments"]);
    assert!(code == 0 && figure(&text, "records (") > 400, "{text}");
    let oldest = text.lines().find(|line| line.starts_with("     0        0  used ")).unwrap();
    let live: usize = oldest.split(" %").next().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    assert!((40..=60).contains(&live), "half of the oldest segment was overwritten: {oldest}");
    // The oldest record of the first shard's first segment, and the superblock of the second device.
    damage(&one, (1 << 20) + 4096 + 40);
    damage(&two, 300);
    let (code, text, _) = inspect(&both);
    let place = "shard 0 segment 0 offset 4096, ";
    assert!(code == 1 && text.contains(place) && text.contains("the copy of the superblock at 0"), "{text}");
    assert!(text.contains(&format!("({} at {})", one.display(), (1 << 20) + 4096)), "{text}");
    // A segment where another one belongs.
    let file = OpenOptions::new().read(true).write(true).open(&one).unwrap();
    let mut header = vec![0; 4096];
    file.read_exact_at(&mut header, 1 << 20).unwrap();
    file.write_all_at(&header, (1 << 20) + 3 * (8 << 20)).unwrap();
    let (code, text, _) = inspect(&["--data-dir", directory]);
    assert!(code == 1 && text.contains("a misdirected write: the header is that of segment 0"), "{text}");
    // The first write of a segment never came: later ones know of it.
    file.write_all_at(&[0; 4096], 1 << 20).unwrap();
    let (code, text, _) = inspect(&["--data-dir", directory]);
    let place = "shard 0 segment 0 offset 0";
    assert!(
        code == 1 && text.contains(place) && text.contains("other segments know of generation 1 of this one, here is nothing"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_inspected_is_said() {
    let folder = Folder::new("inspect-wrong");
    let refuses = |arguments: &[&str], words: &str| {
        let (code, _, message) = inspect(arguments);
        assert!(code == 2 && message.contains(words), "{arguments:?}: {code} {message}");
    };
    let path = folder.0.to_str().unwrap();
    refuses(&[], "nothing to inspect");
    refuses(&["/no/such/device"], "/no/such/device");
    refuses(&[path], "is a directory: write --data-dir");
    refuses(&["--data-dir", path], "cannot use");
    refuses(&["--data-dir", path, "/dev/null"], "cannot be used with");
    refuses(&["--jsno"], "--json");
    let zeros = folder.0.join("zeros");
    File::create(&zeros).unwrap().set_len(64 << 20).unwrap();
    refuses(&[zeros.to_str().unwrap()], "holds nothing of TarnDB");
    let device = folder.0.join("device");
    end(Server::start(start(&folder, &["--devices", &format!("{}=100MiB", device.display()), "--cores", "1"])));
    File::options().write(true).open(&device).unwrap().set_len(50 << 20).unwrap();
    refuses(&[device.to_str().unwrap()], "its end is missing");
}
