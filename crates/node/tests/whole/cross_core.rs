//! Statements for partitions of other cores: every core answers for all of them.

use base::Rng;
use cql::wire::BatchKind;
use sim::{Client, Machine, Reply, Seeded, Setup, Statement, Workload, int, seeds};
use std::collections::BTreeSet;

const KEYSPACE: &str = "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
const INVALID: i32 = 0x2200;
const UNPREPARED: i32 = 0x2500;

fn setup(seed: u64, cores: u16) -> Setup {
    Setup { cores, ..Setup::small(seed) }
}

fn clients(machine: &mut Machine) -> Vec<Client> {
    (0..machine.cores()).map(|core| Client::any(machine, core)).collect()
}

#[test]
fn every_core_reads_what_every_other_has_written() {
    for seed in seeds(4) {
        let _seeded = Seeded(seed);
        let mut machine = Machine::start(&setup(seed, 3));
        let mut clients = clients(&mut machine);
        clients[0].query(&mut machine, KEYSPACE).done();
        clients[1].query(&mut machine, "CREATE TABLE ks.t (k int PRIMARY KEY, v int)").done();
        let insert = Statement::new("INSERT INTO ks.t (k, v) VALUES (?, ?)");
        for key in 0..150 {
            clients[key as usize % 3].call(&mut machine, &insert.clone().bind([int(key), int(2 * key)])).done();
        }
        let select = clients[2].prepare(&mut machine, "SELECT v FROM ks.t WHERE k = ?");
        for key in 0..150 {
            let client = &mut clients[(key as usize + 1) % 3];
            let rows = client.call(&mut machine, &Statement::prepared(&select).bind([int(key)])).rows();
            assert_eq!(rows, [[int(2 * key)]], "row {key}");
        }
        let all: BTreeSet<_> = (0..150).map(|key| vec![int(key), int(2 * key)]).collect();
        let mut order = None;
        for (client, page) in clients.iter_mut().zip([1, 7, 1_000]) {
            let rows = client.pages(&mut machine, &Statement::new("SELECT k, v FROM ks.t"), page);
            assert_eq!(rows.len(), 150);
            assert_eq!(rows.iter().cloned().collect::<BTreeSet<_>>(), all);
            assert_eq!(*order.get_or_insert_with(|| rows.clone()), rows, "the order is the ring's, whoever asks, whatever the page");
            let counted = client.query(&mut machine, "SELECT count(*) FROM ks.t").rows();
            assert_eq!(counted, [[Some(150u64.to_be_bytes().to_vec())]]);
            let keys = (0..40).map(|key| (key * 7).to_string()).collect::<Vec<_>>().join(",");
            let rows = client.pages(&mut machine, &Statement::new(format!("SELECT k FROM ks.t WHERE k IN ({keys})")), page);
            assert_eq!(rows.len(), (0..40).filter(|key| key * 7 < 150).count());
        }
    }
}

#[test]
fn a_page_continues_on_another_core() {
    for seed in seeds(4) {
        let _seeded = Seeded(seed);
        let mut machine = Machine::start(&setup(seed, 3));
        // A paging state is of one protocol version.
        let mut clients: Vec<_> = (0..3).map(|core| Client::connect(&mut machine, core, cql::wire::ProtocolVersion::V4, None)).collect();
        clients[0].query(&mut machine, KEYSPACE).done();
        clients[0].query(&mut machine, "CREATE TABLE ks.t (k int, c int, PRIMARY KEY (k, c))").done();
        for row in 0..90 {
            let insert = Statement::new("INSERT INTO ks.t (k, c) VALUES (?, ?)").bind([int(row % 9), int(row)]);
            clients[row as usize % 3].call(&mut machine, &insert).done();
        }
        let (mut seen, mut state, mut turn) = (BTreeSet::new(), None, 0);
        loop {
            let statement = Statement::new("SELECT k, c FROM ks.t").page(4, state.take());
            let Reply::Rows { rows, paging_state } = clients[turn % 3].call(&mut machine, &statement) else { panic!("no page") };
            for row in rows {
                assert!(seen.insert(row), "a row came twice");
            }
            turn += 1;
            state = paging_state;
            if state.is_none() {
                break;
            }
        }
        assert_eq!(seen.len(), 90);
    }
}

#[test]
fn batches_reach_all_their_cores() {
    for seed in seeds(4) {
        let _seeded = Seeded(seed);
        let mut machine = Machine::start(&setup(seed, 3));
        let mut clients = clients(&mut machine);
        clients[0].query(&mut machine, KEYSPACE).done();
        clients[0].query(&mut machine, "CREATE TABLE ks.t (k int PRIMARY KEY, v int)").done();
        for (round, kind) in [BatchKind::Logged, BatchKind::Unlogged].into_iter().enumerate() {
            let round = round as i32;
            let insert = |key| Statement::new("INSERT INTO ks.t (k, v) VALUES (?, ?)").bind([int(key), int(round)]);
            clients[1 + round as usize].call(&mut machine, &Statement::batch(kind, (0..100).map(insert).collect())).done();
            let rows = clients[0].pages(&mut machine, &Statement::new("SELECT v FROM ks.t"), 9);
            assert_eq!(rows, vec![vec![int(round)]; 100]);
        }
    }
}

/// Also when the part that is refused is the asking core's own.
#[test]
fn batches_that_are_refused_are_answered() {
    for seed in seeds(6) {
        let _seeded = Seeded(seed);
        let mut machine = Machine::start(&setup(seed, 1 + (seed % 3) as u16));
        let mut clients = clients(&mut machine);
        clients[0].query(&mut machine, KEYSPACE).done();
        clients[0].query(&mut machine, "CREATE TABLE ks.t (k int, c int, v blob, PRIMARY KEY (k, c))").done();
        for client in &mut clients {
            for key in 0..6 {
                // Together more than a segment, which is the most that one group may have.
                let value = Some(vec![7; 20_000]);
                let insert = |c| Statement::new("INSERT INTO ks.t (k, c, v) VALUES (?, ?, ?)").bind([int(key), int(c), value.clone()]);
                let reply = client.call(&mut machine, &Statement::batch(BatchKind::Unlogged, (0..5).map(insert).collect()));
                assert_eq!(reply.code(), Some(INVALID), "{reply:?}");
            }
            assert_eq!(client.query(&mut machine, "SELECT k FROM ks.t").rows().len(), 0);
        }
    }
}

/// Also a check that no client sees anything that the models do not allow, without any crash.
#[test]
fn many_writers_on_many_cores_agree_with_the_model() {
    for seed in seeds(6) {
        let _seeded = Seeded(seed);
        let mut machine = Machine::start(&setup(seed, 3));
        let mut workload = Workload::new(seed);
        workload.create(&mut machine);
        for _ in 0..3 {
            workload.run_to_the_end(&mut machine, 6, 4_000);
            workload.check(&mut machine);
        }
        assert!(workload.acknowledged > 300, "only {} statements were done", workload.acknowledged);
    }
}

/// Tables are made, altered, truncated and dropped under readers and writers.
#[test]
fn schema_changes_while_requests_run_end_in_exact_errors() {
    for seed in seeds(6) {
        let _seeded = Seeded(seed);
        let mut machine = Machine::start(&setup(seed, 3));
        let mut dice = Rng::new(seed);
        let mut clients = clients(&mut machine);
        let mut changer = Client::any(&mut machine, 2);
        changer.register(&mut machine);
        changer.query(&mut machine, KEYSPACE).done();
        let changes = [
            "CREATE TABLE ks.t (k int PRIMARY KEY, v int)",
            "ALTER TABLE ks.t ADD w text",
            "TRUNCATE ks.t",
            "ALTER TABLE ks.t DROP w",
            "DROP TABLE ks.t",
        ];
        let mut prepared: Option<Vec<u8>> = None;
        let mut counts = [0u32; 3];
        for round in 0..4 {
            for change in changes {
                let changing = changer.send(&mut machine, &Statement::new(change));
                let mut in_flight: Vec<(usize, i16)> = Vec::new();
                let mut changed = None;
                while changed.is_none() || !in_flight.is_empty() {
                    if changed.is_none() && dice.below(2) == 0 {
                        let number = dice.below(clients.len() as u64) as usize;
                        let statement = match dice.below(4) {
                            0 => Statement::new("INSERT INTO ks.t (k, v) VALUES (?, 1)").bind([int(dice.below(50) as i32)]),
                            1 => Statement::new("SELECT * FROM ks.t"),
                            2 => Statement::new("SELECT v FROM ks.t WHERE k = ?").bind([int(dice.below(50) as i32)]),
                            _ => match &prepared {
                                Some(id) => Statement::prepared(id).bind([int(dice.below(50) as i32)]),
                                None => Statement::new("SELECT count(*) FROM ks.t"),
                            },
                        };
                        in_flight.push((number, clients[number].send(&mut machine, &statement)));
                    }
                    machine.step();
                    changed = changed.or(changer.poll(&mut machine, changing));
                    in_flight.retain(|(number, stream)| {
                        let Some(reply) = clients[*number].poll(&mut machine, *stream) else { return true };
                        match reply {
                            Reply::Done | Reply::Rows { .. } => counts[0] += 1,
                            Reply::Error { code: INVALID, .. } => counts[1] += 1,
                            Reply::Error { code: UNPREPARED, .. } => counts[2] += 1,
                            other => panic!("{change}: {other:?}"),
                        }
                        false
                    });
                }
                changed.unwrap_or(Reply::Nothing).done();
                if change.starts_with("CREATE") {
                    let rows = clients[0].query(&mut machine, "SELECT * FROM ks.t").rows();
                    assert!(round == 0 || rows.len() <= 50, "rows of a table that was dropped are back");
                    prepared = Some(clients[0].prepare(&mut machine, "SELECT v FROM ks.t WHERE k = ?"));
                }
            }
        }
        assert!(changer.events >= 16, "{} events", changer.events);
        assert!(counts.iter().all(|count| *count > 0), "done, invalid, unprepared: {counts:?}");
    }
}
