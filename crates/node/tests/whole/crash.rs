//! Ends and restarts that the simulator's workload does not reach: clocks that are set back, and every kind of change of the schema.
//!
//! What the end of process or power does to rows is tried by the simulator itself: `cargo test -p tarndb-sim`.

use base::Rng;
use sim::{Client, Loss, Machine, Reply, Seeded, Setup, Statement, int, seeds};

/// A conditional write is linearizable: the clock of the process before must not win over it.
#[test]
fn conditional_writes_and_counters_survive_clocks_that_are_set_back() {
    for seed in seeds(3) {
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
    for seed in seeds(8) {
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

/// Whoever is told that a table is empty must find it empty after a restart; a change of the schema that cannot be stored is none.
#[test]
fn changes_that_cannot_be_stored_are_refused() {
    for seed in seeds(6) {
        let _seeded = Seeded(seed);
        let setup = Setup::small(seed);
        let mut machine = Machine::start(&setup);
        let mut client = Client::any(&mut machine, 0);
        client.query(&mut machine, "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}").done();
        client.query(&mut machine, "CREATE TABLE ks.t (k int PRIMARY KEY)").done();
        for key in 0..20 {
            client.call(&mut machine, &Statement::new("INSERT INTO ks.t (k) VALUES (?)").bind([int(key)])).done();
        }
        machine.fail_blobs(100);
        for statement in ["TRUNCATE ks.t", "DROP TABLE ks.t", "CREATE TABLE ks.u (k int PRIMARY KEY)"] {
            let reply = client.query(&mut machine, statement);
            assert!(matches!(&reply, Reply::Error { code: 0, message } if message.contains("no space left")), "{statement}: {reply:?}");
        }
        machine = Machine::restart(&setup, machine.end(Loss::Process));
        client = Client::any(&mut machine, 0);
        assert_eq!(client.query(&mut machine, "SELECT k FROM ks.t").rows().len(), 20);
        // What could not be stored is tried again.
        machine.fail_blobs(100);
        assert_eq!(client.query(&mut machine, "TRUNCATE ks.t").code(), Some(0));
        machine.fail_blobs(0);
        machine.sleep(2_000_000);
        machine = Machine::restart(&setup, machine.end(Loss::Process));
        client = Client::any(&mut machine, 0);
        assert_eq!(client.query(&mut machine, "SELECT k FROM ks.t").rows().len(), 0);
    }
}
