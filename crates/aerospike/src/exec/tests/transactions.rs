//! Transactions over several records: what their requests are answered, and what the sweep makes of those that were left.

use super::database::{Database, NOW_S, Said};
use super::policies::{get, put};
use super::{Ask, digest_of, integer};
use crate::operate::code;
use crate::transaction::monitor_digest;
use crate::wire::{field, info1, info2, info4};
use model::record_set::MONITOR_SET;

const INTEGER: u8 = 1;
const BOOL: u8 = 17;
const BLOCKED: u8 = 120;
const MISMATCH: u8 = 121;
const EXPIRED: u8 = 122;
const COMMITTED: u8 = 124;
const ABORTED: u8 = 125;

/// Later than the last second of a transaction of ten.
const OVER_S: u32 = NOW_S + 11;

fn on_monitor(id: u64) -> Ask {
    let digest = monitor_digest(id);
    Ask::about(&[(field::NAMESPACE, b"test"), (field::SET, MONITOR_SET.as_bytes()), (field::DIGEST, &digest)]).info(0, info2::WRITE, 0)
}

/// Says that records are about to be locked; begins the transaction with the first.
fn lock(id: u64, keys: &[u8], is_first: bool) -> Ask {
    let mut list = vec![0xDC, 0, keys.len() as u8];
    for key in keys {
        list.extend([0xC4, 21, 4]);
        list.extend(digest_of(*key));
    }
    // [append items, list, ordered, unique | no failure | partial]
    let append = [&[0x94, 2][..], &list, &[1, 1 | 4 | 8]].concat();
    let ask = on_monitor(id);
    let ask = if is_first { ask.operation(code::WRITE, INTEGER, "id", &(id as i64).to_be_bytes()) } else { ask };
    ask.operation(code::CDT_MODIFY, 4, "keyds", &append)
}

fn commit(id: u64) -> Ask {
    on_monitor(id).operation(code::WRITE, BOOL, "fwd", &[1])
}

fn close(id: u64) -> Ask {
    on_monitor(id).info(0, info2::DELETE, 0)
}

fn within(ask: Ask, id: u64) -> Ask {
    ask.field(field::TRANSACTION_ID, &id.to_le_bytes())
}

/// A write of a transaction that began at the start.
fn write(id: u64, ask: Ask) -> Ask {
    let deadline = NOW_S - 1_262_304_000 + 10;
    within(ask, id).field(field::TRANSACTION_DEADLINE, &deadline.to_le_bytes())
}

fn roll(id: u64, key: u8, info4: u8) -> Ask {
    within(Ask::of(key).info(0, info2::WRITE | info2::DURABLE_DELETE, 0), id).info4(info4)
}

fn verify(key: u8, version: u64) -> Ask {
    let ask = Ask::of(key).info(info1::READ | info1::NO_BINS, 0, 1 << 6).info4(info4::VERIFY);
    ask.field(field::RECORD_VERSION, &version.to_le_bytes()[..7])
}

fn delete(key: u8) -> Ask {
    Ask::of(key).info(0, info2::WRITE | info2::DELETE, 0)
}

fn value(said: &Said) -> (u8, Option<i64>) {
    let bin = said.bins.iter().find(|(name, ..)| name == "a");
    (said.result, bin.map(|(_, _, value)| i64::from_be_bytes(value[..].try_into().unwrap())))
}

/// A transaction that has changed record 1, deleted record 2 and made record 3.
fn open(id: u64) -> Database {
    let mut database = Database::new();
    for key in [1, 2] {
        database.one(&put(key, "a", 1));
    }
    assert_eq!(database.one(&lock(id, &[1], true)).deadline_s, Some(NOW_S - 1_262_304_000 + 10));
    database.one(&lock(id, &[2, 3], false));
    for ask in [put(1, "a", 2), delete(2), put(3, "a", 2)] {
        let said = database.one(&write(id, ask));
        assert_eq!((said.result, said.version), (0, None), "what it has locked need not be verified");
    }
    database
}

fn seen(database: &mut Database) -> [(u8, Option<i64>); 3] {
    [1, 2, 3].map(|key| value(&database.one(&get(key))))
}

const BEFORE: [(u8, Option<i64>); 3] = [(0, Some(1)), (0, Some(1)), (2, None)];
const AFTER: [(u8, Option<i64>); 3] = [(0, Some(2)), (2, None), (0, Some(2))];

/// Nothing is locked, and only these monitors are left.
fn assert_clean(database: &mut Database, monitors: usize) {
    assert_eq!(database.live_rows(MONITOR_SET), monitors);
    for key in [1, 2, 3] {
        assert_eq!(database.one(&put(key, "a", 9)).result, 0, "record {key}");
    }
}

#[test]
fn what_a_transaction_writes_is_its_own_until_it_is_rolled() {
    for (info4, expected) in [(info4::ROLL_FORWARD, AFTER), (info4::ROLL_BACK, BEFORE)] {
        let mut database = open(5);
        assert_eq!(seen(&mut database), BEFORE);
        assert_eq!([1, 2, 3].map(|key| value(&database.one(&within(get(key), 5)))), AFTER);
        for key in [1, 2, 3] {
            assert_eq!(database.one(&put(key, "a", 3)).result, BLOCKED);
            assert_eq!(database.one(&write(6, put(key, "a", 3))).result, BLOCKED);
            assert_eq!(database.one(&within(get(key), 6)).result, BLOCKED);
            assert_eq!(database.one(&verify(key, 0)).result, BLOCKED);
            assert_eq!(database.one(&roll(6, key, info4)).result, 0, "another's is not rolled");
        }
        assert_eq!(database.live_rows(MONITOR_SET), 1 + 3);
        for key in [1, 2, 3, 1] {
            assert_eq!(database.one(&roll(5, key, info4)).result, 0);
        }
        assert_eq!(seen(&mut database), expected);
        assert_eq!([database.one(&close(5)).result, database.one(&close(5)).result], [0, 2]);
        assert_clean(&mut database, 0);
    }
}

#[test]
fn versions_are_those_of_what_others_see() {
    let mut database = open(5);
    database.one(&put(4, "a", 1));
    let read = database.one(&within(get(4), 6)).version.unwrap();
    assert_eq!(database.one(&verify(4, read)).result, 0);
    database.one(&lock(6, &[4], true));
    database.one(&write(6, put(4, "a", 2)));
    assert_eq!(database.one(&verify(4, read)).result, BLOCKED);
    database.one(&roll(6, 4, info4::ROLL_BACK));
    assert_eq!(database.one(&verify(4, read)).result, 0, "what is dropped never was");
    database.one(&write(6, put(4, "a", 2)));
    database.one(&roll(6, 4, info4::ROLL_FORWARD));
    assert_eq!(database.one(&verify(4, read)).result, MISMATCH);
    let stale = write(7, put(4, "a", 3)).field(field::RECORD_VERSION, &read.to_le_bytes()[..7]);
    assert_eq!((database.one(&stale).result, database.one(&put(4, "a", 4)).result), (MISMATCH, 0));
    // One that is missing, comes and goes.
    let missing = database.one(&within(get(8), 6));
    assert_eq!((missing.result, missing.version), (2, Some(0)));
    database.one(&put(8, "a", 1));
    assert_eq!(database.one(&verify(8, 0)).result, MISMATCH);
    database.one(&delete(8));
    assert_eq!(database.one(&verify(8, 0)).result, MISMATCH);
    let gone = database.one(&within(delete(8), 6).field(field::TRANSACTION_DEADLINE, &(NOW_S - 1_262_304_000).to_le_bytes()));
    assert_eq!((gone.result, database.one(&verify(8, gone.version.unwrap())).result), (2, 0), "a write that changes nothing is a read");
}

#[test]
fn a_monitor_decides_once() {
    let mut database = open(5);
    assert_eq!(database.one(&lock(5, &[4], true)).result, 127);
    assert_eq!([database.one(&commit(6)).result, database.one(&lock(6, &[4], false)).result], [EXPIRED; 2], "it has not begun");
    assert_eq!([database.one(&commit(5)).result, database.one(&commit(5)).result], [0, COMMITTED]);
    assert_eq!(database.one(&lock(5, &[4], false)).result, COMMITTED);
    database.now_s = OVER_S;
    database.sweep();
    assert_eq!(seen(&mut database), AFTER);
    assert_eq!(database.one(&commit(5)).result, COMMITTED, "who asks again is told");
    assert_clean(&mut database, 1);
    let odd = on_monitor(9).operation(code::WRITE, INTEGER, "id", &integer(9)).operation(code::ADD, INTEGER, "id", &integer(1));
    assert_eq!(database.one(&odd).result, 4);
    assert_eq!(database.one(&lock(9, &[1], true).ttl(121)).result, 4);
}

#[test]
fn a_transaction_that_was_left_is_dropped_when_its_time_is_over() {
    for cores in [super::database::CORES, 4_096] {
        let mut database = open(5);
        database.cores = cores;
        database.cool_down();
        database.now_s = OVER_S - 1;
        database.sweep();
        assert_eq!(database.one(&put(1, "a", 3)).result, BLOCKED, "it has all of its last second");
        database.now_s = OVER_S;
        assert_eq!(database.one(&commit(5)).result, EXPIRED);
        assert_eq!(database.one(&write(5, put(4, "a", 2))).result, EXPIRED);
        database.sweep();
        assert_eq!(seen(&mut database), BEFORE);
        assert_eq!(database.one(&commit(5)).result, ABORTED);
        assert_clean(&mut database, 1);
        database.now_s = OVER_S + 120;
        database.sweep();
        assert_eq!(database.live_rows(MONITOR_SET), 0);
    }
}

#[test]
fn one_that_was_committed_is_rolled_forward_wherever_its_records_are() {
    let mut database = open(5);
    database.cores = 4_096;
    assert_eq!(database.one(&commit(5)).result, 0);
    database.one(&roll(5, 2, info4::ROLL_FORWARD));
    // Record 1 is another member's, record 3 nobody's for a while.
    database.others.insert(16);
    database.unserved.insert(48, crate::ResultCode::PARTITION_UNAVAILABLE);
    database.now_s = OVER_S;
    database.sweep();
    assert_eq!(seen(&mut database)[..2], AFTER[..2]);
    assert_eq!(database.live_rows(MONITOR_SET), 1 + 1);
    database.now_s = OVER_S + 1_000;
    database.sweep();
    assert_eq!(database.live_rows(MONITOR_SET), 1 + 1, "what it is to be is not forgotten before all is done");
    database.unserved.clear();
    database.sweep();
    assert_eq!(seen(&mut database), AFTER);
    database.sweep();
    assert_clean(&mut database, 0);
}

#[test]
fn what_is_locked_after_its_client_has_ended_all_is_dropped() {
    let mut database = open(5);
    for key in [1, 2, 3] {
        database.one(&roll(5, key, info4::ROLL_FORWARD));
    }
    database.one(&close(5));
    // A request that was on its way for long.
    assert_eq!(database.one(&write(5, put(1, "a", 7))).result, 0);
    database.now_s = OVER_S;
    database.sweep();
    assert_eq!(seen(&mut database), AFTER);
    assert_clean(&mut database, 0);
}

#[test]
fn a_record_that_expires_while_it_is_locked_is_gone() {
    let mut database = Database::new();
    database.one(&put(1, "a", 1).ttl(5));
    database.one(&lock(5, &[1], true));
    database.one(&write(5, put(1, "a", 2).ttl(100)));
    database.now_s = NOW_S + 10;
    assert_eq!(value(&database.one(&get(1))), (2, None));
    assert_eq!(database.one(&put(1, "a", 3)).result, BLOCKED);
    assert_eq!(value(&database.one(&within(get(1), 5))), (0, Some(2)));
    database.one(&roll(5, 1, info4::ROLL_BACK));
    assert_eq!(value(&database.one(&get(1))), (2, None));
    assert_eq!((database.one(&put(1, "a", 3)).result, value(&database.one(&get(1)))), (0, (0, Some(3))));
}

#[test]
fn monitors_and_locks_are_no_records_of_scans() {
    let mut database = open(5);
    let scan = |fields: &[(u8, &[u8])]| Ask::about(fields).info(info1::READ | info1::GET_ALL, 0, 0);
    for fields in [&[(field::NAMESPACE, &b"test"[..])][..], &[(field::NAMESPACE, b"test"), (field::SET, b"s")]] {
        let said = database.ask(&scan(fields));
        let digests: Vec<_> = said.iter().filter_map(|said| said.digest).collect();
        assert_eq!(digests, [digest_of(1), digest_of(2)]);
    }
    assert_eq!(database.one(&within(scan(&[(field::NAMESPACE, b"test")]), 5)).result, 4);
}

#[test]
fn a_lock_that_was_restored_without_monitors_is_none_once_it_is_over() {
    let mut database = open(5);
    database.empty(MONITOR_SET);
    assert_eq!(database.one(&put(1, "a", 3)).result, BLOCKED);
    database.now_s = OVER_S;
    database.sweep();
    assert_eq!(seen(&mut database), BEFORE);
    let read = database.one(&within(get(1), 6));
    assert_eq!(database.one(&verify(1, read.version.unwrap())).result, 0);
    assert_clean(&mut database, 0);
}

#[test]
fn many_transactions_that_were_left_are_all_ended() {
    for cores in [super::database::CORES, 4_096] {
        let mut database = Database::new();
        database.cores = cores;
        for id in 0..40 {
            let keys: Vec<u8> = (0..6).map(|n| id * 6 + n).collect();
            for key in &keys[..3] {
                database.one(&put(*key, "a", 1));
            }
            database.one(&lock(id.into(), &keys, true));
            for key in &keys[1..] {
                assert_eq!(database.one(&write(id.into(), put(*key, "a", 2))).result, 0);
            }
            assert_eq!(database.one(&write(id.into(), delete(keys[0]))).result, 0);
            if id % 2 == 1 {
                database.one(&commit(id.into()));
            }
        }
        database.now_s = OVER_S;
        database.sweep();
        for id in 0..40 {
            let found: Vec<_> = (0..6).map(|n| value(&database.one(&get(id * 6 + n))).1).collect();
            let [one, two] = [Some(1), Some(2)];
            assert_eq!(found, if id % 2 == 1 { [None, two, two, two, two, two] } else { [one, one, one, None, None, None] }, "{id}");
        }
        assert_eq!(database.live_rows(MONITOR_SET), 40);
    }
}
