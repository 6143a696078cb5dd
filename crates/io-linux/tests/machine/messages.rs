//! Messages between cores: nothing lost, order kept per pair, nobody left asleep.

use crate::scripted::{Event, Node};
use base::CoreId;
use io::{Reactor, Turn};
use io_linux::Options;
use std::sync::{Arc, mpsc};

#[test]
fn messages_between_all_pairs_arrive_in_order_under_load() {
    const CORES: u16 = 4;
    const COUNT: u32 = 50_000;
    let (report, reports) = mpsc::channel();
    let node = Node::start::<u32>(CORES, Options::default(), move |_| {
        let report = report.clone();
        let mut expected = vec![0u32; usize::from(CORES)];
        let mut sent = 0;
        Box::new(move |reactor, event| match event {
            Event::Message(from, number) => {
                let next = &mut expected[usize::from(from.0)];
                assert_eq!(number, *next, "from {from:?} to {:?}", reactor.core());
                *next += 1;
                if expected.iter().all(|count| *count == COUNT) {
                    report.send(reactor.core()).unwrap();
                }
                Turn::Idle
            }
            // Bursts larger than a ring, so that messages have to wait for space.
            Event::Turn if sent < COUNT => {
                for _ in 0..2500 {
                    (0..CORES).for_each(|to| reactor.send(CoreId(to), sent));
                    sent += 1;
                }
                Turn::Again
            }
            _ => Turn::Idle,
        })
    });
    let mut done: Vec<_> = (0..CORES).map(|_| reports.recv().unwrap()).collect();
    done.sort();
    assert_eq!(done, (0..CORES).map(CoreId).collect::<Vec<_>>());
    drop(node);
}

/// Every hop finds its receiver asleep or about to sleep: a lost wake-up would hang the test.
#[test]
fn no_wake_up_is_lost_between_cores_that_fall_asleep() {
    const HOPS: u32 = 200_000;
    let (report, reports) = mpsc::channel();
    let report = Arc::new(report);
    let node = Node::start::<u32>(2, Options::default(), move |core| {
        let report = Arc::clone(&report);
        let mut started = false;
        Box::new(move |reactor, event| {
            match event {
                Event::Turn if !started && core == CoreId(0) => {
                    started = true;
                    reactor.send(CoreId(1), 0);
                }
                Event::Message(from, HOPS) => report.send(from).unwrap(),
                Event::Message(from, hop) => reactor.send(from, hop + 1),
                _ => {}
            }
            Turn::Idle
        })
    });
    reports.recv().unwrap();
    drop(node);
}

#[test]
fn a_deadline_wakes_an_idle_core_in_time_and_not_before() {
    const WAITS: u64 = 50;
    let (report, reports) = mpsc::channel();
    let node = Node::start::<()>(1, Options::default(), move |_| {
        let report = report.clone();
        let (mut deadline, mut count) = (0, 0);
        Box::new(move |reactor, event| {
            if !matches!(event, Event::Turn) {
                return Turn::Idle;
            }
            let now = reactor.now().monotonic_us;
            if now >= deadline {
                count += 1;
                // Growing and shrinking distances: the timer is armed anew, and left alone when it fires earlier.
                deadline = now + [2_000, 500, 3_000, 1][(count % 4) as usize];
                if count == WAITS {
                    report.send(now).unwrap();
                    return Turn::Idle;
                }
            }
            if count > WAITS { Turn::Idle } else { Turn::At(deadline) }
        })
    });
    reports.recv().unwrap();
    drop(node);
}
