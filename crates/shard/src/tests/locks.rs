//! Operations that wait for locks.

use super::*;

const LOCK: Place = (5, WIDE_FROM);
const OTHER_SLOT: Place = (6, WIDE_FROM);

fn waiting(writes: &[(Place, u64)]) -> Work {
    Work { waits_for: Some(LOCK), ..write(writes) }
}

#[test]
fn an_operation_runs_again_as_soon_as_its_partition_is_written() {
    let mut member = Member::new(1 << 20, Durability::Memory);
    member.start(write(&[(LOCK, 1)]));
    let waiters: Vec<u64> = (2..6).map(|value| member.start(waiting(&[(LOCK, value)]))).collect();
    member.start(write(&[(OTHER_SLOT, 1)]));
    member.turn();
    assert!(waiters.iter().all(|number| !member.heard.contains_key(number)), "the lock is held");
    member.start(write(&[(LOCK, 0)]));
    member.turn();
    assert_eq!(waiters.iter().filter(|number| member.heard.contains_key(number)).count(), 1, "one gets it");
    assert!(member.heard.contains_key(&waiters[0]), "the first one that came");
    assert_eq!(member.ask(read(&[LOCK])), Some(Ok(vec![2])));
    for _ in 0..3 {
        member.start(write(&[(LOCK, 0)]));
        member.turn();
    }
    assert!(waiters.iter().all(|number| member.heard.contains_key(number)), "each has its turn");
}

#[test]
fn an_operation_runs_again_from_time_to_time() {
    let mut member = Member::new(1 << 20, Durability::Memory);
    member.start(write(&[(LOCK, 1)]));
    let waiter = member.start(waiting(&[(OTHER_SLOT, 7)]));
    let due_us = member.shard.turn(member.now).expect("it waits for a time");
    assert!(due_us <= member.now.monotonic_us + 50_000);
    // What is written last is of another partition.
    member.start(write(&[(LOCK, 0), (OTHER_SLOT, 1)]));
    assert!(!member.heard.contains_key(&waiter));
    member.now.monotonic_us += 50_000;
    member.turn();
    assert_eq!(member.ask(read(&[OTHER_SLOT])), Some(Ok(vec![7])));
    assert!(member.heard.contains_key(&waiter));
}

#[test]
fn an_operation_that_waits_is_refused_where_its_slot_is_not_served_any_more() {
    let slots = [(LOCK.0, Serving::Alone)];
    let mut member = Member::primary(1 << 20, &slots);
    member.start(write(&[(LOCK, 1)]));
    let waiter = member.start(waiting(&[(LOCK, 2)]));
    member.shard.serve(KEYSPACE, Slot(LOCK.0), Serving::No);
    member.now.monotonic_us += 50_000;
    member.turn();
    assert_eq!(member.heard.remove(&waiter), Some(Err(ShardError::NotPrimary)), "another member may run it");
}
