//! `durability = "device"`: what was acknowledged is on the device, without any help of the stable memory.
//!
//! Writers on several connections write until the server is killed. Then the device is copied as the device has it (direct reads, so that no
//! cache of the kernel helps), and a second server opens the copy with nothing else of the first one but its identity and schema. The
//! loss of what a disk keeps in a cache of its own cannot be shown this way; that every acknowledgement waits for a sync is shown with
//! the simulated disk.

use crate::client::Client;
use crate::harness::{Folder, Server, kill, start};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const WRITERS: usize = 8;
const ROWS_LEAST: u64 = 400;

/// Writes from several connections, kills the server in the middle; gives how many rows each writer had acknowledged.
fn write_until_killed(server: Server) -> Vec<u64> {
    let address = server.field("cql").to_owned();
    let mut client = Client::connect(&address);
    client.must("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    client.must("CREATE TABLE k.t (id text PRIMARY KEY, v int)");
    let (total, done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (address, total, done) = (&address, &total, &done);
                scope.spawn(move || {
                    let mut client = Client::connect(address);
                    let mut acknowledged = 0;
                    while !done.load(Ordering::Relaxed)
                        && client.query(&format!("INSERT INTO k.t (id, v) VALUES ('{writer}-{acknowledged}', {acknowledged})")).is_ok()
                    {
                        acknowledged += 1;
                        total.fetch_add(1, Ordering::Relaxed);
                    }
                    acknowledged
                })
            })
            .collect();
        while total.load(Ordering::Relaxed) < ROWS_LEAST {
            std::thread::yield_now();
        }
        kill(server);
        done.store(true, Ordering::Relaxed);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    })
}

/// Copies a device past the kernel's cache.
fn copy_direct(from: &Path, to: &Path) {
    const BLOCK: usize = 4096;
    let mut source = match File::options().read(true).custom_flags(libc::O_DIRECT).open(from) {
        Ok(file) => file,
        // This filesystem has no direct I/O, and the server has used its cache, too.
        Err(_) => File::open(from).unwrap(),
    };
    let mut target = File::create_new(to).unwrap();
    let mut memory = vec![0; (1 << 20) + BLOCK];
    let aligned = memory.as_ptr().align_offset(BLOCK);
    let buffer = &mut memory[aligned..aligned + (1 << 20)];
    loop {
        let count = source.read(buffer).unwrap();
        if count == 0 {
            return;
        }
        target.write_all(&buffer[..count]).unwrap();
    }
}

/// Rows that a second server finds on a copy of the device, of those that were acknowledged; and how many those are.
fn found_after_power_loss(name: &str, flags: &[&str]) -> (u64, u64) {
    let (first, second) = (Folder::new(name), Folder::new(&format!("{name}-after")));
    let device = first.0.join("device");
    let list = format!("{}=160MiB", device.display());
    let acknowledged = write_until_killed(Server::start(start(&first, &[&["--devices", &list, "--cores", "2"], flags].concat())));
    let copy = second.0.join("device");
    copy_direct(&device, &copy);
    fs::create_dir_all(second.0.join("data/blobs")).unwrap();
    for name in ["layout.toml", "blobs/identity", "blobs/schema.json", "blobs/manifest"] {
        fs::copy(first.0.join("data").join(name), second.0.join("data").join(name)).unwrap();
    }
    // The stable memory is gone with the power, which is a loss of stored data unless it is accepted.
    let server = Server::start(start(&second, &["--devices", copy.to_str().unwrap(), "--accept-data-loss"]));
    let mut client = Client::connect(server.field("cql"));
    let mut found = 0;
    for (writer, count) in acknowledged.iter().enumerate() {
        for row in 0..*count {
            let cells = client.must(&format!("SELECT v FROM k.t WHERE id = '{writer}-{row}'"));
            found += u64::from(!cells.is_empty());
        }
    }
    (found, acknowledged.iter().sum())
}

#[test]
fn what_was_acknowledged_is_on_the_device() {
    let (found, acknowledged) = found_after_power_loss("power", &["--durability", "device"]);
    assert!(acknowledged >= ROWS_LEAST);
    assert_eq!(found, acknowledged);
}

#[test]
fn without_it_rows_that_were_not_flushed_yet_are_lost_with_the_power() {
    let (found, acknowledged) = found_after_power_loss("no-power", &["--durability", "memory", "--flush-interval-ms", "10000"]);
    assert!(found < acknowledged, "all of {acknowledged} rows are there: the test above could not fail");
}
