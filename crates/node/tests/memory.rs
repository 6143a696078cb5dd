//! What a node takes from the allocator while many ask for much at once.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#![allow(unsafe_code, reason = "counting allocations takes an allocator")]

use sim::{Client, Machine, Setup, Statement, int};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let before = ALLOCATED.fetch_add(layout.size(), Ordering::Relaxed);
        MOST.fetch_max(before + layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `GlobalAlloc::dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const CLIENTS: usize = 40;

/// The budget of requests holds also if everything that was asked for of late was small, and then many scan what is large: what they take
/// does not grow with their number.
#[test]
fn scans_that_come_at_once_after_small_reads_stay_within_memory() {
    let setup = Setup {
        cores: 2,
        segment_bytes: 1 << 20,
        capacity_bytes: 128 << 20,
        memory_bytes: 4 << 20,
        requests_bytes_max: 1 << 20,
        ..Setup::small(1)
    };
    let mut machine = Machine::start(&setup);
    let mut clients: Vec<_> = (0..CLIENTS).map(|number| Client::any(&mut machine, number as u16 % 2)).collect();
    let first = &mut clients[0];
    first.query(&mut machine, "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}").done();
    first.query(&mut machine, "CREATE TABLE ks.t (k int PRIMARY KEY, v blob)").done();
    first.query(&mut machine, "CREATE TABLE ks.small (k int PRIMARY KEY, v blob)").done();
    let insert = Statement::new("INSERT INTO ks.t (k, v) VALUES (?, ?)");
    for key in 0..240 {
        first.call(&mut machine, &insert.clone().bind([int(key), Some(vec![7; 200 << 10])])).done();
    }
    let few = scan(&mut machine, &mut clients[..CLIENTS / 2]);
    let many = scan(&mut machine, &mut clients);
    assert!(many < few + few / 4, "{} scans took {few} bytes, {CLIENTS} took {many}", CLIENTS / 2);
}

/// Reads nothing many times, and then everything with all clients at the same time. How much more was allocated than before, at most.
fn scan(machine: &mut Machine, clients: &mut [Client]) -> usize {
    for client in &mut clients[..2] {
        for _ in 0..200 {
            assert_eq!(client.query(machine, "SELECT k FROM ks.small WHERE k IN (0, 1, 2, 3)").rows().len(), 0);
        }
    }
    let before = ALLOCATED.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let scan = Statement::new("SELECT * FROM ks.t");
    let streams: Vec<_> = clients.iter_mut().map(|client| client.send(machine, &scan)).collect();
    for (client, stream) in clients.iter_mut().zip(streams) {
        // The result would be larger than a request's share.
        assert!(client.wait(machine, stream).code().is_some());
    }
    MOST.load(Ordering::Relaxed) - before
}
