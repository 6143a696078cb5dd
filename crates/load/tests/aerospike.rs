//! Loads in Aerospike's protocol against a server in memory that misbehaves at chosen requests.
#![allow(clippy::unwrap_used, missing_docs)]

mod plans;

use ::aerospike::ResultCode;
use ::aerospike::value::ParticleType;
use ::aerospike::wire::{HEADER_BYTES, Header, Kind, Message, MessageWriter, Proto, info1, info2, info3, write_result};
use load::aerospike::AerospikeSettings;
use load::tables::Tables;
use load::target::{Target, TargetError};
use load::workload::{Clients, End, Mix, OperationKind, Rows};
use load::{Control, Dataset, Ended, LoadError, Outcome, Plan, Share, TargetSettings, run};
use plans::{FIELDS, mix, rows};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// What the server does with a request about a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Serve,
    /// Together with the next request of the connection.
    Late,
    /// Refuses it as overloaded.
    Refuse,
    /// Ends the connection.
    Cut,
    /// Acknowledges a write and forgets it.
    Forget,
    /// Acknowledges a write and removes the record.
    Remove,
    /// Writes something else than it was told.
    Corrupt,
}

/// Decides by the number of the request, from 0.
type Script = Box<dyn Fn(u64) -> Act + Send + Sync>;
type Record = BTreeMap<Vec<u8>, (u8, Vec<u8>)>;

struct State {
    script: Script,
    requests: AtomicU64,
    /// By set and digest.
    records: Mutex<BTreeMap<(String, [u8; 20]), Record>>,
    /// Names of the sets that were ever written to.
    sets: Mutex<BTreeSet<String>>,
    /// How often it will still say that records are left after a truncation.
    left: AtomicU64,
}

/// A server in memory; it ends with the process.
struct Fake {
    address: SocketAddr,
    state: Arc<State>,
}

impl Fake {
    fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            script,
            requests: AtomicU64::new(0),
            records: Mutex::default(),
            sets: Mutex::default(),
            left: AtomicU64::new(0),
        });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || serve(&state, &mut socket.unwrap()));
            }
        });
        Self { address, state }
    }

    fn requests(&self) -> u64 {
        self.state.requests.load(Relaxed)
    }

    fn count(&self) -> u64 {
        self.state.records.lock().unwrap().len() as u64
    }

    fn counts(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for (set, _) in self.state.records.lock().unwrap().keys() {
            *counts.entry(set.clone()).or_default() += 1;
        }
        counts
    }

    fn settings(&self) -> AerospikeSettings {
        AerospikeSettings { addresses: vec![self.address.to_string()], ..AerospikeSettings::default() }
    }
}

fn serve(state: &State, socket: &mut TcpStream) {
    socket.set_nodelay(true).unwrap();
    let mut header = [0; HEADER_BYTES];
    let mut out = Vec::new();
    while socket.read_exact(&mut header).is_ok() {
        let header = Header::read(&header, 1 << 20).unwrap().unwrap();
        let mut body = vec![0; header.body_bytes];
        socket.read_exact(&mut body).unwrap();
        match header.kind {
            Kind::Info => info(state, std::str::from_utf8(&body).unwrap(), &mut out),
            Kind::Message => {
                let message = Message::decode(&body).unwrap();
                let act = (state.script)(state.requests.fetch_add(1, Relaxed));
                match act {
                    Act::Cut => return drop(socket.shutdown(Shutdown::Both)),
                    Act::Refuse => write_result(&mut out, ResultCode::DEVICE_OVERLOAD, 0),
                    _ => one(state, &message, act, &mut out),
                }
                if act == Act::Late {
                    continue;
                }
            }
            _ => panic!("a load sends nothing else"),
        }
        // In two pieces, neither of which need be a whole message.
        let (head, tail) = out.split_at(out.len() / 3);
        if socket.write_all(head).and_then(|()| socket.write_all(tail)).is_err() {
            return;
        }
        out.clear();
    }
}

fn info(state: &State, names: &str, out: &mut Vec<u8>) {
    let proto = Proto::begin(out, Kind::Info);
    for name in names.lines() {
        let value = match name {
            "namespaces" => "bar;test".to_owned(),
            "build" => "7.2.0.1".to_owned(),
            "edition" => "Enterprise".to_owned(),
            "statistics" => "uptime=1;cluster_size=3".to_owned(),
            "sets/test" => state.sets.lock().unwrap().iter().map(|set| format!("ns=test:set={set}:objects=1:truncating=false;")).collect(),
            name => match (name.strip_prefix("truncate:namespace=test;set="), name.strip_prefix("sets/test/")) {
                (Some(set), _) => {
                    state.records.lock().unwrap().retain(|(other, _), _| other != set);
                    state.left.store(2, Relaxed);
                    "ok".to_owned()
                }
                (_, Some(_)) => {
                    let left = state.left.load(Relaxed);
                    state.left.store(left.saturating_sub(1), Relaxed);
                    format!("objects={left}:tombstones=0:truncating=false;")
                }
                _ => String::new(),
            },
        };
        writeln!(out, "{name}\t{value}").unwrap();
    }
    proto.end(out);
}

fn one(state: &State, message: &Message<'_>, act: Act, out: &mut Vec<u8>) {
    assert_eq!(message.fields.namespace, Some(&b"test"[..]));
    assert!(message.fields.key.is_none(), "keys are not sent");
    let mut records = state.records.lock().unwrap();
    let set = std::str::from_utf8(message.fields.set.unwrap()).unwrap();
    let at = (set.to_owned(), *message.fields.digest.unwrap());
    let there = records.contains_key(&at);
    let attributes = message.attributes;
    if attributes.info1 & info1::READ != 0 {
        assert_eq!(attributes.info1, info1::READ | info1::GET_ALL);
        let Some(record) = records.get(&at) else { return write_result(out, ResultCode::NOT_FOUND, 0) };
        let proto = Proto::begin(out, Kind::Message);
        let mut reply = MessageWriter::begin(out);
        // Not in the order in which they were written.
        for (name, (kind, value)) in record.iter().rev() {
            reply.bin(out, name, *kind, value);
        }
        reply.end(out, ResultCode::OK);
        return proto.end(out);
    }
    let bins = message.operations.len();
    let code = match (attributes.info2, attributes.info3) {
        (removes, 0) if removes == info2::WRITE | info2::DELETE => {
            let code = if records.remove(&at).is_some() { ResultCode::OK } else { ResultCode::NOT_FOUND };
            return write_result(out, code, 0);
        }
        (creates, 0) if creates == info2::WRITE | info2::CREATE_ONLY => {
            assert_eq!(bins, FIELDS as usize);
            if there { ResultCode::KEY_EXISTS } else { ResultCode::OK }
        }
        (info2::WRITE, info3::UPDATE_ONLY) if there && bins == 1 => ResultCode::OK,
        (info2::WRITE, info3::REPLACE_ONLY) if there && bins == FIELDS as usize => ResultCode::OK,
        (info2::WRITE, info3::UPDATE_ONLY | info3::REPLACE_ONLY) if !there => ResultCode::NOT_FOUND,
        other => panic!("a load does not ask for {other:?} of {bins} bins"),
    };
    if code == ResultCode::OK {
        match act {
            Act::Forget => {}
            Act::Remove => drop(records.remove(&at)),
            _ => {
                state.sets.lock().unwrap().insert(at.0.clone());
                let record = records.entry(at).or_default();
                for operation in message.operations.iter() {
                    assert_eq!(operation.particle, ParticleType::Blob as u8);
                    let mut value = operation.value.to_vec();
                    if act == Act::Corrupt {
                        value.reverse();
                    }
                    record.insert(operation.name.to_vec(), (operation.particle, value));
                }
            }
        }
    }
    write_result(out, code, 0);
}

fn plan(mix: Mix, operations: u64) -> Plan {
    plans::plan(Clients { threads: 2, connections: 8, in_flight: 1 }, mix, operations)
}

fn inserts() -> Plan {
    Plan { end: End::default(), ..plan(mix(&[(OperationKind::Insert, 1.0)], false), 0) }
}

fn load(fake: &Fake, dataset: &Dataset, plan: &Plan) -> Outcome {
    let target = TargetSettings::Aerospike(fake.settings()).open().unwrap();
    run(&*target, dataset, plan, &Control::new(), &mut ()).unwrap()
}

fn filled(fake: &Fake, count: u64) -> Dataset {
    filled_with(fake, rows(count))
}

fn filled_with(fake: &Fake, rows: Rows) -> Dataset {
    let count = rows.count;
    let dataset = Dataset::empty(rows, Share::ALL);
    let outcome = load(fake, &dataset, &inserts());
    assert_eq!((outcome.replies(), outcome.error_count(), fake.count()), (count, 0, count), "{:?}", outcome.errors);
    dataset
}

fn serves() -> Script {
    Box::new(|_| Act::Serve)
}

fn once(number: u64, act: Act) -> Script {
    Box::new(move |request| if request == number { act } else { Act::Serve })
}

const ALL: [(OperationKind, f64); 4] =
    [(OperationKind::Read, 4.0), (OperationKind::Update, 4.0), (OperationKind::Insert, 1.0), (OperationKind::ReadModifyWrite, 2.0)];

#[test]
fn every_operation_is_done_once_and_what_is_read_is_what_was_written() {
    for update_all_fields in [false, true] {
        let fake = Fake::start(serves());
        let dataset = filled(&fake, 500);
        let before = fake.requests();
        let outcome = load(&fake, &dataset, &plan(Mix { update_all_fields, ..mix(&ALL, true) }, 5_000));
        assert_eq!((&outcome.ended, outcome.replies(), outcome.error_count()), (&Ended::Finished, 5_000, 0), "{:?}", outcome.errors);
        let modified = outcome.latencies[&OperationKind::ReadModifyWrite].len();
        assert_eq!(fake.requests() - before, 5_000 + modified, "a read-modify-write is two requests");
        assert_eq!(fake.count(), 500 + outcome.latencies[&OperationKind::Insert].len());
        assert_eq!(outcome.verified.compared, outcome.latencies[&OperationKind::Read].len() + modified);
        assert_eq!((outcome.verified.lost, outcome.verified.stale, outcome.verified.wrong), (0, 0, 0));
    }
}

#[test]
fn each_row_lies_in_the_set_of_its_number() {
    let fake = Fake::start(serves());
    let names = ["usertable", "usertable_1", "usertable_2"].map(str::to_owned);
    let counts = |rows: u64| (0..3).map(|set| (rows - set).div_ceil(3)).zip(names.clone()).map(|(count, name)| (name, count)).collect();
    let (target, rows) = (fake.settings().open().unwrap(), Rows { tables: Tables::try_from(3).unwrap(), ..rows(500) });
    target.create(&rows).unwrap();
    assert_eq!((&*fake.state.sets.lock().unwrap(), fake.count()), (&BTreeSet::from(names.clone()), 0));
    let dataset = filled_with(&fake, rows);
    assert_eq!(fake.counts(), counts(500));
    let outcome = load(&fake, &dataset, &plan(mix(&ALL, true), 2_000));
    assert_eq!((outcome.replies(), outcome.error_count()), (2_000, 0), "{:?}", outcome.errors);
    assert_eq!((outcome.verified.lost, outcome.verified.stale, outcome.verified.wrong), (0, 0, 0));
    assert_eq!(fake.counts(), counts(500 + outcome.latencies[&OperationKind::Insert].len()));
    target.drop_dataset().unwrap();
    assert_eq!(fake.count(), 0);
}

#[test]
fn lost_stale_and_wrong_are_told_apart() {
    let count = 4;
    for (act, expected) in [(Act::Remove, "lost"), (Act::Forget, "stale"), (Act::Corrupt, "wrong")] {
        let fake = Fake::start(once(count + 40, act));
        let dataset = filled(&fake, count);
        let mut writes = plan(Mix { update_all_fields: true, ..mix(&[(OperationKind::Update, 1.0)], true) }, 41);
        writes.clients = Clients { threads: 1, connections: 1, in_flight: 1 };
        assert_eq!(load(&fake, &dataset, &writes).error_count(), 0);
        let verified = load(&fake, &dataset, &plan(mix(&[(OperationKind::Read, 1.0)], true), 200)).verified;
        for (kind, number) in [("lost", verified.lost), ("stale", verified.stale), ("wrong", verified.wrong)] {
            assert_eq!(number > 0, kind == expected, "{act:?}: {verified:?}");
        }
    }
}

#[test]
fn a_late_reply_is_not_taken_for_that_of_a_later_request() {
    let fake = Fake::start(once(100 + 50, Act::Late));
    let dataset = filled(&fake, 100);
    let mut plan = plan(mix(&[(OperationKind::Read, 1.0)], true), 500);
    plan.clients = Clients { threads: 1, connections: 1, in_flight: 1 };
    plan.limits.request_s = 0.3;
    let outcome = load(&fake, &dataset, &plan);
    let given_up = outcome.errors["timeout"];
    assert_eq!((outcome.replies() + given_up, outcome.reconnects, outcome.errors.len()), (500, 0, 1), "{:?}", outcome.errors);
    assert_eq!((outcome.verified.lost, outcome.verified.stale, outcome.verified.wrong), (0, 0, 0));
}

#[test]
fn errors_are_counted_by_kind_and_broken_connections_are_made_again() {
    let fake = Fake::start(Box::new(|request| match request {
        0..100 => Act::Serve,
        500 => Act::Cut,
        request if request % 10 == 0 => Act::Refuse,
        _ => Act::Serve,
    }));
    let dataset = filled(&fake, 100);
    let outcome = load(&fake, &dataset, &plan(mix(&ALL, true), 2_000));
    assert_eq!(outcome.replies() + outcome.error_count(), 2_000);
    assert!(outcome.errors["DEVICE_OVERLOAD"] > 100 && outcome.errors["connection lost"] == 1 && outcome.reconnects == 1);
    assert_eq!((outcome.verified.lost, outcome.verified.stale, outcome.verified.wrong), (0, 0, 0));
}

#[test]
fn records_that_are_not_there_are_not_found() {
    let fake = Fake::start(serves());
    let dataset = Dataset::filled(rows(100), Share::ALL);
    let both = [(OperationKind::Read, 1.0), (OperationKind::Update, 1.0)];
    let outcome = load(&fake, &dataset, &plan(mix(&both, false), 50));
    assert_eq!(outcome.errors["not found"] + outcome.errors["NOT_FOUND"], 50);
}

#[test]
fn a_server_says_what_it_is_and_a_dataset_is_gone_when_it_was_dropped() {
    let fake = Fake::start(serves());
    let target = fake.settings().open().unwrap();
    let told = target.check().unwrap();
    assert_eq!((told.product.as_str(), told.version.as_str(), told.nodes), ("Aerospike", "7.2.0.1", 3));
    assert_eq!(told.details["edition"], "Enterprise");
    filled(&fake, 10);
    target.drop_dataset().unwrap();
    assert_eq!((fake.count(), fake.state.left.load(Relaxed)), (0, 0), "it waits until nothing is left");
    target.create(&rows(10)).unwrap();
    let wanted = Clients { threads: 2, connections: 50, in_flight: 16 };
    assert_eq!(target.clients(wanted), Clients { threads: 2, connections: 800, in_flight: 1 });
}

#[test]
fn what_cannot_be_is_told_in_a_line() {
    let fails = |settings: &AerospikeSettings, wanted: &str| {
        let target = settings.open().unwrap();
        let start = |connect_s: f64| {
            let mut fill = inserts();
            fill.limits.connect_s = connect_s;
            run(&target, &Dataset::empty(rows(10), Share::ALL), &fill, &Control::new(), &mut ()).unwrap_err().to_string()
        };
        let mut started = start(0.4);
        // A server that answers does so later on a slow machine.
        if !wanted.contains("does not answer") && started.contains("does not answer") {
            started = start(60.0);
        }
        let checked = (!wanted.contains("does not answer")).then(|| target.check().unwrap_err().to_string());
        for error in [Some(started), checked].into_iter().flatten() {
            assert!(error.contains(wanted) && !error.contains('\n'), "{error}");
        }
    };
    let at = |address: SocketAddr| AerospikeSettings { addresses: vec![address.to_string()], ..AerospikeSettings::default() };
    fails(&at("127.0.0.1:1".parse().unwrap()), "cannot connect");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    fails(&at(silent.local_addr().unwrap()), "does not answer within 0.4 s");
    let other_server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other_server.local_addr().unwrap();
    std::thread::spawn(move || {
        for socket in other_server.incoming() {
            let mut socket = socket.unwrap();
            let _ = socket.read(&mut [0; 1_024]);
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    fails(&at(address), "does not speak aerospike");
    let fake = Fake::start(serves());
    fails(
        &AerospikeSettings { namespace: "absent".to_owned(), ..fake.settings() },
        "namespace absent: no such namespace: it has: bar;test",
    );

    let dataset = filled(&fake, 10);
    let scans = plan(mix(&[(OperationKind::Scan, 1.0)], false), 10);
    let refused = run(&fake.settings().open().unwrap(), &dataset, &scans, &Control::new(), &mut ()).unwrap_err();
    assert!(matches!(&refused, LoadError::Target(TargetError::Unsupported { why, .. }) if why.contains("scans")), "{refused}");
    let large = Dataset::empty(Rows { field_bytes: 3 << 20, ..rows(1) }, Share::ALL);
    let refused = run(&fake.settings().open().unwrap(), &large, &inserts(), &Control::new(), &mut ()).unwrap_err();
    assert!(refused.to_string().contains("8 MiB"), "{refused}");
}
