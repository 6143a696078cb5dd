//! Two load machines on one: agents on loopback against a server in memory.
#![allow(clippy::unwrap_used, missing_docs)]

#[allow(dead_code, reason = "other tests use the rest of it")]
mod fake;

use fake::{Act, Fake};
use load::cql::CqlSettings;
use load::tables::Tables;
use load::workload::{Clients, End, KeyChoice, Keys, Mix, OperationKind, Pace, Rows, Values};
use load::{Agent, Agents, AgentsError, Control, Ended, Histogram, Limits, Observer, Plan, Second, TargetSettings};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

const SECRET: &str = "open sesame";

fn agent() -> String {
    let agent = Arc::new(Agent::bind("127.0.0.1:0", SECRET).unwrap());
    let address = agent.address().unwrap().to_string();
    std::thread::spawn(move || agent.serve(|_| {}));
    address
}

fn rows() -> Rows {
    Rows {
        count: 301,
        fields: 2,
        field_bytes: 30,
        field_bytes_min: None,
        values: Values::Text,
        keys: Keys::YcsbHashed,
        tables: Tables::try_from(3).unwrap(),
    }
}

fn plan(operations: &[(OperationKind, f64)], end: End) -> Plan {
    let operations = operations.iter().copied().collect();
    Plan {
        mix: Mix { operations, keys: KeyChoice::Uniform, scan_rows_max: 5, update_all_fields: false, verify: true },
        clients: Clients { threads: 2, connections: 4, in_flight: 2 },
        pace: Pace::Closed,
        end,
        seed: 3,
        limits: Limits::default(),
    }
}

fn target(fake: &Fake) -> TargetSettings {
    TargetSettings::Cql(CqlSettings { addresses: vec![fake.address.to_string()], ..CqlSettings::default() })
}

#[derive(Default)]
struct Sum(BTreeMap<OperationKind, Histogram>);

impl Observer for Sum {
    fn second(&mut self, _: &Second, latencies: &BTreeMap<OperationKind, Histogram>) {
        for (kind, histogram) in latencies {
            match self.0.get_mut(kind) {
                Some(sum) => sum.add(histogram).unwrap(),
                None => {
                    self.0.insert(*kind, histogram.clone());
                }
            }
        }
    }
}

#[test]
fn two_agents_are_one_load_and_nothing_is_lost_in_between() {
    let fake = Fake::start(Box::new(|_| Act::Serve));
    let mut agents = Agents::connect(&[agent(), agent()], SECRET, 0).unwrap();
    let fill = plan(&[(OperationKind::Insert, 1.0)], End::default());
    let outcome = agents.run(&target(&fake), &rows(), &fill, &Control::new(), &mut ()).unwrap();
    assert_eq!((&outcome.ended, outcome.replies(), outcome.error_count()), (&Ended::Finished, 301, 0));
    assert_eq!(fake.row_count(), 301);
    assert_eq!(fake.row_counts().into_values().collect::<Vec<_>>(), [101, 100, 100]);

    let kinds =
        [(OperationKind::Read, 2.0), (OperationKind::Update, 1.0), (OperationKind::ReadModifyWrite, 1.0), (OperationKind::Insert, 0.2)];
    let run = plan(&kinds, End { operations: Some(4_000), seconds: None });
    let (mut sum, control) = (Sum::default(), Control::new());
    let before = fake.requests();
    let outcome = agents.run(&target(&fake), &rows(), &run, &control, &mut sum).unwrap();
    assert_eq!((outcome.replies(), outcome.error_count()), (4_000, 0), "{:?}", outcome.errors);
    assert_eq!(sum.0, outcome.latencies, "seconds add up to the whole, bucket by bucket");
    let modified = outcome.latencies[&OperationKind::ReadModifyWrite].len();
    assert_eq!(fake.requests() - before, 4_000 + modified);
    assert_eq!(control.progress().replies, 4_000);
    assert_eq!(outcome.threads.len(), 2);
    assert_eq!(outcome.verified.compared, outcome.latencies[&OperationKind::Read].len() + modified);
    assert_eq!((outcome.verified.lost, outcome.verified.stale, outcome.verified.wrong), (0, 0, 0));
}

#[test]
fn unauthenticated_peers_are_refused() {
    let address = agent();
    assert!(matches!(Agents::connect(std::slice::from_ref(&address), "guess", 0), Err(AgentsError::Refused { .. })));
    // Garbage: a length beyond all bounds, a text that is none, nothing at all.
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\0\0\0\x02{]", b""] {
        let mut socket = TcpStream::connect(&address).unwrap();
        let mut answer = Vec::new();
        // The connection may be closed or reset at any of these, since not all that came is read.
        let _ = socket.write_all(garbage).and_then(|()| socket.shutdown(std::net::Shutdown::Write));
        let _ = socket.read_to_end(&mut answer);
        assert!(answer.is_empty());
    }
    Agents::connect(std::slice::from_ref(&address), SECRET, 0).unwrap();
}

#[test]
fn an_agent_serves_one_controller_at_a_time() {
    let address = agent();
    let first = Agents::connect(std::slice::from_ref(&address), SECRET, 0).unwrap();
    assert!(
        matches!(Agents::connect(std::slice::from_ref(&address), SECRET, 0), Err(AgentsError::Refused { why, .. }) if why.contains("another"))
    );
    drop(first);
}

#[test]
fn what_an_agent_cannot_do_is_told() {
    let fake = Fake::start(Box::new(|_| Act::Serve));
    let mut agents = Agents::connect(&[agent(), agent()], SECRET, 0).unwrap();
    let reads = plan(&[(OperationKind::Read, 1.0)], End { operations: Some(10), seconds: None });
    let refused = agents.run(&target(&fake), &rows(), &reads, &Control::new(), &mut ());
    assert!(matches!(refused, Err(AgentsError::Refused { why, .. }) if why.contains("empty")));
}

#[test]
fn a_load_on_agents_can_be_stopped() {
    struct Stop<'a>(&'a Control);
    impl Observer for Stop<'_> {
        fn second(&mut self, _: &Second, _: &BTreeMap<OperationKind, Histogram>) {
            self.0.stop();
        }
    }
    let fake = Fake::start(Box::new(|_| Act::Serve));
    let mut agents = Agents::connect(&[agent(), agent()], SECRET, 0).unwrap();
    agents.run(&target(&fake), &rows(), &plan(&[(OperationKind::Insert, 1.0)], End::default()), &Control::new(), &mut ()).unwrap();
    let reads = plan(&[(OperationKind::Read, 1.0)], End { operations: None, seconds: Some(3_600.0) });
    let control = Control::new();
    let outcome = agents.run(&target(&fake), &rows(), &reads, &control, &mut Stop(&control)).unwrap();
    assert_eq!(outcome.ended, Ended::Stopped);
}
