//! The end at any moment: what was acknowledged is there afterwards, and nothing that nobody asked for.

use crate::support::{Client, Loss, Machine, Reply, Seeded, Setup, Statement, first_seed, int, iterations};
use crate::workload::{Device, Promise, Workload};
use base::Rng;
use shard::Durability;

/// Twice the flush interval and what the device takes: then all that was acknowledged is durable, whatever the durability.
const SETTLED_US: u64 = 400_000;

#[test]
fn acknowledged_writes_survive_the_death_of_the_process() {
    for seed in first_seed()..first_seed() + iterations(12) {
        let _seeded = Seeded(seed);
        let setup = Setup::small(seed);
        let mut dice = Rng::new(seed);
        let mut workload = Workload::new(seed);
        let mut machine = Machine::start(&setup);
        workload.create(&mut machine);
        for _ in 0..4 {
            if dice.below(2) == 0 {
                // Within a write to the stable memory, rather than between two events.
                let core = dice.below(u64::from(machine.cores())) as u16;
                machine.light_fuse(core, 1 + dice.below(60_000) as usize);
            }
            workload.run(&mut machine, 5, dice.below(4_000));
            let mut remains = machine.end(Loss::Process);
            if dice.below(3) == 0 {
                remains.shift_clock(dice.below(10_000_000) as i64);
            }
            machine = Machine::restart(&setup, remains);
            workload.check(&mut machine);
        }
    }
}

#[test]
fn a_process_that_dies_while_it_recovers_recovers_later() {
    for seed in first_seed()..first_seed() + iterations(6) {
        let _seeded = Seeded(seed);
        let setup = Setup::small(seed);
        let mut dice = Rng::new(seed);
        let mut workload = Workload::new(seed);
        let mut machine = Machine::start(&setup);
        workload.create(&mut machine);
        workload.run(&mut machine, 5, 4_000);
        let mut remains = machine.end(Loss::Process);
        for _ in 0..5 {
            let mut machine = Machine::boot(&setup, remains);
            for _ in 0..dice.below(60) {
                machine.step();
            }
            remains = machine.end(Loss::Process);
        }
        workload.check(&mut Machine::restart(&setup, remains));
    }
}

#[test]
fn what_the_device_has_acknowledged_survives_the_loss_of_power() {
    for seed in first_seed()..first_seed() + iterations(8) {
        let _seeded = Seeded(seed);
        let setup = Setup { durability: Durability::Device, ..Setup::small(seed) };
        let mut dice = Rng::new(seed);
        let mut workload = Workload::new(seed);
        let mut machine = Machine::start(&setup);
        workload.create(&mut machine);
        for _ in 0..4 {
            workload.run(&mut machine, 5, dice.below(4_000));
            machine = Machine::restart(&setup, machine.end(if dice.below(4) == 0 { Loss::Process } else { Loss::Power }));
            workload.check(&mut machine);
        }
    }
}

#[test]
fn what_is_older_than_the_flush_interval_survives_the_loss_of_power() {
    for seed in first_seed()..first_seed() + iterations(8) {
        let _seeded = Seeded(seed);
        let setup = Setup { durability: Durability::Memory, ..Setup::small(seed) };
        let mut dice = Rng::new(seed);
        let mut workload = Workload::new(seed);
        let mut machine = Machine::start(&setup);
        workload.create(&mut machine);
        for _ in 0..3 {
            workload.promise(Promise::Kept);
            workload.run_to_the_end(&mut machine, 5, dice.below(3_000));
            machine.sleep(SETTLED_US);
            workload.promise(Promise::Open);
            workload.run(&mut machine, 5, dice.below(300));
            machine = Machine::restart(&setup, machine.end(Loss::Power));
            workload.check(&mut machine);
        }
    }
}

#[test]
fn a_node_that_ended_in_order_needs_no_stable_memory() {
    for seed in first_seed()..first_seed() + iterations(6) {
        let _seeded = Seeded(seed);
        let setup = Setup { durability: Durability::Memory, ..Setup::small(seed) };
        let mut workload = Workload::new(seed);
        let mut machine = Machine::start(&setup);
        workload.create(&mut machine);
        for _ in 0..2 {
            workload.run_to_the_end(&mut machine, 5, 2_000);
            machine.drain();
            machine = Machine::restart(&setup, machine.end(Loss::Power));
            workload.check(&mut machine);
        }
    }
}

/// Writes that were acknowledged before, and whatever else is acknowledged until the end, are there on the next device.
#[test]
fn a_device_that_fails_takes_nothing_that_was_acknowledged() {
    for seed in first_seed()..first_seed() + iterations(8) {
        let _seeded = Seeded(seed);
        let setup = Setup::small(seed);
        let mut dice = Rng::new(seed);
        let mut workload = Workload::new(seed);
        let mut machine = Machine::start(&setup);
        workload.create(&mut machine);
        workload.run_to_the_end(&mut machine, 5, dice.below(3_000));
        let core = dice.below(u64::from(machine.cores())) as u16;
        machine.fail_device(core);
        workload.device = Device::Failing;
        // What waits for a device that has gone may wait for ever.
        workload.run(&mut machine, 5, 6_000);
        workload.device = Device::Working;
        let mut remains = machine.end(Loss::Process);
        remains.repair();
        machine = Machine::restart(&setup, remains);
        workload.check(&mut machine);
        workload.run_to_the_end(&mut machine, 5, 1_000);
        workload.check(&mut machine);
    }
}

#[test]
fn a_damaged_device_is_never_read_as_something_else() {
    let (mut right, mut failed) = (0, 0);
    for seed in first_seed()..first_seed() + iterations(12) {
        let _seeded = Seeded(seed);
        let setup = Setup::small(seed);
        let mut dice = Rng::new(seed);
        let mut workload = Workload::new(seed);
        let mut machine = Machine::start(&setup);
        workload.create(&mut machine);
        workload.run_to_the_end(&mut machine, 5, 5_000);
        let mut remains = machine.end(Loss::Process);
        remains.damage(&mut dice);
        machine = Machine::restart(&setup, remains);
        let reads = workload.check_damaged(&mut machine);
        right += reads.right;
        failed += reads.failed + reads.older;
    }
    assert!(right > 0 && failed > 0, "{right} rows were read, {failed} were damaged: nothing was tested");
}

/// A conditional write is linearizable: the clock of the process before must not win over it.
#[test]
fn conditional_writes_and_counters_survive_clocks_that_are_set_back() {
    for seed in first_seed()..first_seed() + iterations(3) {
        let _seeded = Seeded(seed);
        let setup = Setup::small(seed);
        let mut machine = Machine::start(&setup);
        let mut client = Client::any(&mut machine, 0);
        client.query(&mut machine, "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}").done();
        client.query(&mut machine, "CREATE TABLE ks.t (k int, c int, v int, PRIMARY KEY (k, c))").done();
        client.query(&mut machine, "CREATE TABLE ks.n (k int PRIMARY KEY, n counter)").done();
        for round in 0..3 {
            // Each start is an hour before the one before.
            let mut remains = machine.end(Loss::Process);
            remains.shift_clock(-3_600_000_000);
            machine = Machine::restart(&setup, remains);
            client = Client::any(&mut machine, 0);
            let update = Statement::new("UPDATE ks.t SET v = ? WHERE k = 1 AND c = 1 IF v = ?");
            let old = if round == 0 { None } else { int(round - 1) };
            let rows = client.call(&mut machine, &update.bind([int(round), old])).rows();
            assert_eq!(rows[0][0].as_deref(), Some(&[1][..]), "round {round} was not applied");
            assert_eq!(client.query(&mut machine, "SELECT v FROM ks.t").rows(), [[int(round)]]);
            client.query(&mut machine, "UPDATE ks.n SET n = n + 1 WHERE k = 1").done();
            let count = client.query(&mut machine, "SELECT n FROM ks.n").rows();
            assert_eq!(count, [[Some(i64::from(round + 1).to_be_bytes().to_vec())]]);
        }
        // A deletion from a clock that is ahead hides what comes after it, but not what was answered as applied.
        for (row, delete) in [(2, "DELETE FROM ks.t WHERE k = ?"), (3, "DELETE FROM ks.t WHERE k = ? AND c > 0")] {
            let ahead = 1_900_000_000_000_000;
            client.call(&mut machine, &Statement::new(delete).bind([int(row)]).at(ahead)).done();
            let insert = Statement::new("INSERT INTO ks.t (k, c, v) VALUES (?, 1, 7) IF NOT EXISTS").bind([int(row)]);
            assert_eq!(client.call(&mut machine, &insert).rows()[0][0].as_deref(), Some(&[1][..]));
            let rows = client.call(&mut machine, &Statement::new("SELECT v FROM ks.t WHERE k = ?").bind([int(row)])).rows();
            assert_eq!(rows, [[int(7)]], "{delete} hides a row that was applied after it");
        }
    }
}

#[test]
fn schema_changes_that_were_acknowledged_survive() {
    for seed in first_seed()..first_seed() + iterations(8) {
        let _seeded = Seeded(seed);
        let setup = Setup::small(seed);
        let mut dice = Rng::new(seed);
        let mut machine = Machine::start(&setup);
        let mut client = Client::any(&mut machine, 0);
        client.query(&mut machine, "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}").done();
        // Whether the table is there, and how many rows it has; then what an unknown outcome would make of it.
        let mut state: Option<usize> = None;
        for _ in 0..6 {
            let mut other = state;
            for _ in 0..dice.below(12) {
                let (statement, after) = match state {
                    None => ("CREATE TABLE ks.t (k int PRIMARY KEY)".to_owned(), Some(0)),
                    Some(rows) => match dice.below(4) {
                        0 => ("TRUNCATE ks.t".to_owned(), Some(0)),
                        1 => ("DROP TABLE ks.t".to_owned(), None),
                        _ => (format!("INSERT INTO ks.t (k) VALUES ({rows})"), Some(rows + 1)),
                    },
                };
                let stream = client.send(&mut machine, &Statement::new(statement));
                let give_up = dice.below(20) == 0;
                let steps = dice.below(40);
                let mut reply = None;
                while reply.is_none() && !(give_up && dice.below(steps + 1) == 0) {
                    machine.step();
                    reply = client.poll(&mut machine, stream);
                }
                other = after;
                match reply {
                    Some(Reply::Done) => state = after,
                    None => break,
                    Some(wrong) => panic!("{wrong:?}"),
                }
            }
            machine = Machine::restart(&setup, machine.end(Loss::Process));
            let core = dice.below(u64::from(machine.cores())) as u16;
            client = Client::any(&mut machine, core);
            let seen = match client.query(&mut machine, "SELECT k FROM ks.t") {
                Reply::Rows { rows, .. } => Some(rows.len()),
                reply => {
                    assert_eq!(reply.code(), Some(0x2200), "{reply:?}");
                    None
                }
            };
            assert!(seen == state || seen == other, "the table has {seen:?} rows rather than {state:?} or {other:?}");
            state = seen;
        }
    }
}
