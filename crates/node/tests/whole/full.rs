//! A device that is full: everybody gets an answer.

use cql::wire::BatchKind;
use sim::{Client, Machine, Reply, Seeded, Setup, Statement, int, seeds};

const OVERLOADED: i32 = 0x1001;
const WRITE_TIMEOUT: i32 = 0x1100;

/// Writes that were waiting for the device to catch up when it got full, and those of several cores, are answered, not forgotten.
#[test]
fn writes_that_wait_when_the_device_gets_full_are_answered() {
    for seed in seeds(6) {
        let _seeded = Seeded(seed);
        let mut machine = Machine::start(&Setup { capacity_bytes: 1 << 20, ..Setup::small(seed) });
        let mut clients: Vec<Client> = (0..machine.cores()).map(|core| Client::any(&mut machine, core)).collect();
        clients[0].query(&mut machine, "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}").done();
        clients[0].query(&mut machine, "CREATE TABLE ks.t (k int PRIMARY KEY, v blob)").done();
        let insert = |key: i32| Statement::new("INSERT INTO ks.t (k, v) VALUES (?, ?)").bind([int(key), Some(vec![key as u8; 9_000])]);
        let (mut done, mut refused, mut in_flight) = (0, 0, Vec::new());
        for key in 0..600 {
            let number = key as usize % clients.len();
            let is_batch = key % 5 == 0;
            let statement = if is_batch {
                Statement::batch(BatchKind::Logged, (0..3).map(|more| insert(1_000 + 3 * key + more)).collect())
            } else {
                insert(key)
            };
            in_flight.push((number, is_batch, clients[number].send(&mut machine, &statement)));
        }
        for (number, is_batch, stream) in in_flight {
            match clients[number].wait(&mut machine, stream) {
                Reply::Done => done += 1,
                Reply::Error { code: OVERLOADED, .. } => refused += 1,
                // It has begun, and the rest of it is done once there is room.
                Reply::Error { code: WRITE_TIMEOUT, .. } if is_batch => refused += 1,
                other => panic!("{other:?}"),
            }
        }
        assert!(done > 0 && refused > 0, "{done} done, {refused} refused");
    }
}
