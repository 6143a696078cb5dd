//! Logged batches over several cores: whole or not at all, whenever the process dies or the client goes, and done once.

use base::Rng;
use cql::wire::BatchKind;
use sim::{Client, Loss, Machine, Seeded, Setup, Statement, int, seeds};
use std::collections::BTreeMap;

const KEYS: i32 = 8;
/// Longer than an entry stays before its batch is run again, and twice as long as it takes to look.
const ABANDONED_US: u64 = 16_000_000;
/// What is left of a process that died is done sooner.
const RESTARTED_US: u64 = 500_000;

fn batch(round: i32) -> Statement {
    let write = |key| {
        let text = format!("UPDATE ks.t SET v = {round}, l = l + [{round}], at = now() WHERE k = {key}");
        Statement::new(if key % 2 == 0 { text } else { text.replace("ks.t", "ks.u") })
    };
    Statement::batch(BatchKind::Logged, (0..KEYS).map(write).collect())
}

/// Of each key its value, and how often the round is in its list.
fn rows(machine: &mut Machine, client: &mut Client, round: i32) -> BTreeMap<i32, (i32, usize)> {
    let mut rows = BTreeMap::new();
    for table in ["t", "u"] {
        for row in client.query(machine, &format!("SELECT k, v, l FROM ks.{table}")).rows() {
            let number = |bytes: &[u8]| i32::from_be_bytes(bytes.try_into().unwrap());
            let list = row[2].as_deref().unwrap_or_default();
            let times = list.get(4..).unwrap_or_default().chunks(8).filter(|element| number(&element[4..]) == round).count();
            rows.insert(number(row[0].as_deref().unwrap()), (row[1].as_deref().map_or(-1, number), times));
        }
    }
    rows
}

#[test]
fn a_batch_is_done_whole_or_not_at_all() {
    let (mut cut, mut in_part) = (0, 0);
    for seed in seeds(12) {
        let _seeded = Seeded(seed);
        let setup = Setup { cores: 3, ..Setup::small(seed) };
        let mut dice = Rng::new(seed);
        let mut machine = Machine::start(&setup);
        let mut client = Client::any(&mut machine, 0);
        client.query(&mut machine, "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}").done();
        for table in ["t", "u"] {
            let create = format!("CREATE TABLE ks.{table} (k int PRIMARY KEY, v int, l list<int>, at timeuuid)");
            client.query(&mut machine, &create).done();
        }
        for round in 1..6 {
            let stream = client.send(&mut machine, &batch(round));
            let steps = dice.below(40);
            let mut reply = None;
            for _ in 0..steps {
                machine.step();
                reply = reply.or_else(|| client.poll(&mut machine, stream));
            }
            cut += u64::from(reply.is_none());
            let dies = dice.below(2) == 0;
            if dies {
                machine = Machine::restart(&setup, machine.end(Loss::Process));
            } else {
                machine.disconnect(client.end);
            }
            let core = dice.below(u64::from(machine.cores())) as u16;
            client = Client::any(&mut machine, core);
            let before = rows(&mut machine, &mut client, round);
            let done = before.values().filter(|(value, _)| *value == round).count();
            in_part += u64::from(done > 0 && done < KEYS as usize);
            // What is written now is newer than the batch, whatever is left of that.
            let newer = dice.below(KEYS as u64) as i32;
            let table = if newer % 2 == 0 { "t" } else { "u" };
            client.query(&mut machine, &format!("UPDATE ks.{table} SET v = {} WHERE k = {newer}", 1_000 + round)).done();
            machine.sleep(if dies { RESTARTED_US } else { ABANDONED_US });
            let after = rows(&mut machine, &mut client, round);
            let whole = if reply.is_some() || after.iter().any(|(key, (value, _))| *key != newer && *value == round) { 1 } else { 0 };
            for key in 0..KEYS {
                let (value, times) = after.get(&key).copied().unwrap_or((-1, 0));
                assert_eq!(times, whole, "round {round}: key {key} of {after:?}, before {before:?}, {reply:?}");
                if key == newer {
                    assert_eq!(value, 1_000 + round, "round {round}: a newer write was written over");
                } else {
                    assert_eq!(value == round, whole == 1, "round {round}: key {key} of {after:?}, before {before:?}, {reply:?}");
                }
            }
        }
    }
    assert!(cut > 10 && in_part > 3, "{cut} batches were cut off, {in_part} of them in part: the test has tried nothing");
}

/// What is wrong with one statement keeps all of them from being done.
#[test]
fn a_batch_with_a_mistake_does_nothing() {
    for seed in seeds(3) {
        let _seeded = Seeded(seed);
        let mut machine = Machine::start(&Setup { cores: 3, ..Setup::small(seed) });
        let mut client = Client::any(&mut machine, 0);
        client.query(&mut machine, "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}").done();
        client.query(&mut machine, "CREATE TABLE ks.t (k int PRIMARY KEY, v int, l list<int>)").done();
        let insert = |key| Statement::new("INSERT INTO ks.t (k, v) VALUES (?, 1)").bind([int(key)]);
        for wrong in 0..KEYS {
            // There is no such element.
            let set = Statement::new("UPDATE ks.t SET l[5] = 1 WHERE k = ?").bind([int(wrong)]);
            let statements = (0..KEYS).map(|key| if key == wrong { set.clone() } else { insert(key) }).collect();
            let reply = client.call(&mut machine, &Statement::batch(BatchKind::Logged, statements));
            assert_eq!(reply.code(), Some(0x2200), "{reply:?}");
            machine.sleep(ABANDONED_US / KEYS as u64);
            assert_eq!(client.query(&mut machine, "SELECT k FROM ks.t").rows().len(), 0);
        }
    }
}
