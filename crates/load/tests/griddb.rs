//! Loads in GridDB's protocol against a server in memory that misbehaves at chosen requests.
#![allow(clippy::unwrap_used, missing_docs)]

mod fake_griddb;
mod plans;

use fake_griddb::{Act, Fake, Script};
use griddb::wire::statement;
use load::griddb::GridDbSettings;
use load::tables::Tables;
use load::target::Target;
use load::workload::{Clients, End, Keys, Mix, OperationKind, Pace, Rows, Values};
use load::{Control, Dataset, Ended, Outcome, Plan, Share, TargetSettings, run};
use plans::{ALL, mix, rows};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

const SINGLE: u32 = 1;
const BATCH: u32 = 50;

fn plan(mix: Mix, operations: u64) -> Plan {
    plans::plan(Clients { threads: 2, connections: 8, in_flight: 1 }, mix, operations)
}

fn inserts() -> Plan {
    Plan { end: End::default(), ..plan(mix(&[(OperationKind::Insert, 1.0)], false), 0) }
}

fn load(fake: &Fake, batch: u32, dataset: &Dataset, plan: &Plan) -> Outcome {
    let target = TargetSettings::GridDb(GridDbSettings { batch, ..fake.settings() }).open().unwrap();
    run(&*target, dataset, &Plan { clients: target.clients(plan.clients), ..plan.clone() }, &Control::new(), &mut ()).unwrap()
}

fn filled(fake: &Fake, batch: u32, rows: Rows) -> Dataset {
    fake.settings().open().unwrap().create(&rows).unwrap();
    let count = rows.count;
    let dataset = Dataset::empty(rows, Share::ALL);
    let outcome = load(fake, batch, &dataset, &inserts());
    assert_eq!((outcome.replies(), outcome.error_count(), fake.count()), (count, 0, count), "{:?}", outcome.errors);
    dataset
}

fn serves() -> Script {
    Box::new(|_| Act::Serve)
}

fn once(number: u64, act: Act) -> Script {
    Box::new(move |request| if request == number { act } else { Act::Serve })
}

#[test]
fn every_operation_is_done_once_and_what_is_read_is_what_was_written() {
    for (batch, update_all_fields, keys) in [
        (SINGLE, false, Keys::YcsbHashed),
        (SINGLE, true, Keys::Stress),
        (BATCH, false, Keys::YcsbOrdered),
        (BATCH, true, Keys::YcsbHashed),
    ] {
        let fake = Fake::start(serves());
        let dataset = filled(&fake, batch, Rows { keys, ..rows(500) });
        let outcome = load(&fake, batch, &dataset, &plan(Mix { update_all_fields, ..mix(&ALL, true) }, 5_000));
        assert_eq!((&outcome.ended, outcome.replies(), outcome.error_count()), (&Ended::Finished, 5_000, 0), "{:?}", outcome.errors);
        let of = |kind| outcome.latencies[&kind].len();
        let modified = of(OperationKind::ReadModifyWrite);
        assert_eq!(fake.count(), 500 + of(OperationKind::Insert));
        assert!(outcome.verified.compared >= of(OperationKind::Read) + modified, "{:?}", outcome.verified);
        assert_eq!((outcome.verified.lost, outcome.verified.stale, outcome.verified.wrong), (0, 0, 0));
    }
}

#[test]
fn a_number_is_a_key_and_texts_are_values() {
    for batch in [SINGLE, BATCH] {
        let fake = Fake::start(serves());
        let dataset = filled(&fake, batch, Rows { keys: Keys::Number, values: Values::Text, ..rows(300) });
        let single = GridDbSettings { batch: SINGLE, ..fake.settings() }.open().unwrap();
        let reads = plan(mix(&[(OperationKind::Read, 1.0), (OperationKind::Update, 1.0)], true), 600);
        let outcome = run(&single, &dataset, &reads, &Control::new(), &mut ()).unwrap();
        assert_eq!((outcome.replies(), outcome.error_count()), (600, 0), "{:?}", outcome.errors);
        assert_eq!((outcome.verified.lost, outcome.verified.stale, outcome.verified.wrong), (0, 0, 0));
    }
}

#[test]
fn a_request_has_one_row_or_all_that_a_connection_has_in_flight() {
    let fake = Fake::start(serves());
    let dataset = filled(&fake, SINGLE, rows(400));
    assert_eq!((fake.seen(statement::PUT_ROW)[&1], fake.seen(statement::PUT_MULTIPLE_ROWS).len()), (400, 0));
    let mut reads = plan(mix(&[(OperationKind::Read, 1.0)], false), 400);
    load(&fake, SINGLE, &dataset, &reads);
    assert_eq!((fake.seen(statement::GET_ROW)[&1], fake.seen(statement::GET_MULTIPLE_CONTAINER_ROWS).len()), (400, 0));

    let fake = Fake::start(serves());
    reads.clients = Clients { threads: 1, connections: 2, in_flight: 1 };
    fake.settings().open().unwrap().create(&rows(400)).unwrap();
    let dataset = Dataset::empty(rows(400), Share::ALL);
    load(&fake, BATCH, &dataset, &Plan { clients: reads.clients, ..inserts() });
    assert_eq!(fake.seen(statement::PUT_MULTIPLE_ROWS), [(50, 8)].into());
    // A row that is asked for twice in a batch is asked for once.
    let outcome = load(&fake, BATCH, &dataset, &reads);
    let seen = fake.seen(statement::GET_MULTIPLE_CONTAINER_ROWS);
    assert_eq!((outcome.replies(), outcome.error_count(), seen.values().sum::<u64>()), (400, 0, 8), "{seen:?}");
    assert!(seen.keys().all(|rows| (30..=50).contains(rows)), "{seen:?}");
    assert_eq!(fake.seen(statement::GET_ROW).len(), 0);
}

#[test]
fn rows_are_spread_over_containers_and_a_batch_is_of_one() {
    let names = ["usertable", "usertable_1", "usertable_2"].map(str::to_owned);
    for (batch, counts) in [(SINGLE, [201, 200, 200]), (BATCH, [201, 200, 200])] {
        let fake = Fake::start(serves());
        let rows = Rows { tables: Tables::try_from(3).unwrap(), ..rows(601) };
        fake.settings().open().unwrap().create(&rows).unwrap();
        let dataset = Dataset::empty(rows, Share::ALL);
        let clients = Clients { threads: 1, connections: 3, in_flight: 1 };
        let outcome = load(&fake, batch, &dataset, &Plan { clients, ..inserts() });
        assert_eq!((outcome.replies(), outcome.error_count()), (601, 0), "{:?}", outcome.errors);
        assert_eq!(fake.counts(), names.clone().into_iter().zip(counts).collect());
        let mut reads = plan(mix(&[(OperationKind::Read, 3.0), (OperationKind::Update, 1.0)], true), 3_000);
        (reads.clients, reads.mix.update_all_fields) = (clients, true);
        let outcome = load(&fake, batch, &dataset, &reads);
        assert_eq!((outcome.replies(), outcome.error_count()), (3_000, 0), "{:?}", outcome.errors);
        assert_eq!((outcome.verified.lost, outcome.verified.stale, outcome.verified.wrong), (0, 0, 0));
        if batch == BATCH {
            // A request for the reads of a batch and one for its writes, of one container.
            let requests: u64 = fake.seen(statement::GET_MULTIPLE_CONTAINER_ROWS).values().sum();
            assert!((60..=70).contains(&requests), "{requests}");
        }
        let target = fake.settings().open().unwrap();
        target.drop_dataset().unwrap();
        assert_eq!(fake.counts().len(), 0, "whatever partition it is in");
        target.drop_dataset().unwrap();
    }
}

#[test]
fn lost_stale_and_wrong_are_told_apart() {
    let count = 4;
    for (batch, act, expected) in [
        (SINGLE, Act::Remove, "lost"),
        (SINGLE, Act::Forget, "stale"),
        (SINGLE, Act::Corrupt, "wrong"),
        (2, Act::Remove, "lost"),
        (2, Act::Forget, "stale"),
        (2, Act::Corrupt, "wrong"),
    ] {
        // Requests of the fill, then those of 40 updates, then the one that goes wrong.
        let fake = Fake::start(once((count + 40) / u64::from(batch), act));
        fake.settings().open().unwrap().create(&rows(count)).unwrap();
        let dataset = Dataset::empty(rows(count), Share::ALL);
        let clients = Clients { threads: 1, connections: 1, in_flight: 1 };
        assert_eq!(load(&fake, batch, &dataset, &Plan { clients, ..inserts() }).error_count(), 0);
        let mut writes = plan(Mix { update_all_fields: true, ..mix(&[(OperationKind::Update, 1.0)], true) }, 40 + u64::from(batch));
        writes.clients = clients;
        assert_eq!(load(&fake, batch, &dataset, &writes).error_count(), 0);
        let verified = load(&fake, batch, &dataset, &plan(mix(&[(OperationKind::Read, 1.0)], true), 200)).verified;
        for (kind, number) in [("lost", verified.lost), ("stale", verified.stale), ("wrong", verified.wrong)] {
            assert_eq!(number > 0, kind == expected, "{act:?}: {verified:?}");
        }
    }
}

#[test]
fn a_late_reply_is_not_taken_for_that_of_a_later_request() {
    let fake = Fake::start(once(100 + 50, Act::Pause(Duration::from_millis(900))));
    let dataset = filled(&fake, SINGLE, rows(100));
    let mut plan = plan(mix(&[(OperationKind::Read, 1.0)], true), 500);
    plan.clients = Clients { threads: 1, connections: 1, in_flight: 1 };
    plan.limits.request_s = 0.3;
    let outcome = load(&fake, SINGLE, &dataset, &plan);
    let given_up = outcome.errors["timeout"];
    assert_eq!((outcome.replies() + given_up, outcome.reconnects, outcome.errors.len()), (500, 0, 1), "{:?}", outcome.errors);
    assert_eq!((outcome.verified.lost, outcome.verified.stale, outcome.verified.wrong), (0, 0, 0));
}

#[test]
fn errors_are_counted_by_kind_and_broken_connections_are_made_again() {
    for batch in [SINGLE, 5] {
        let fake = Fake::start(Box::new(|request| match request {
            0..100 => Act::Serve,
            300 => Act::Cut,
            request if request % 10 == 0 => Act::Refuse,
            _ => Act::Serve,
        }));
        let dataset = filled(&fake, batch, rows(100));
        let outcome = load(&fake, batch, &dataset, &plan(mix(&ALL, true), 4_000));
        assert_eq!(outcome.replies() + outcome.error_count(), 4_000);
        let lost = outcome.errors["connection lost"];
        assert!(outcome.errors["CM_NO_MEMORY"] > 100 && (1..=u64::from(batch)).contains(&lost), "{:?}", outcome.errors);
        assert_eq!((outcome.reconnects, outcome.verified.lost, outcome.verified.stale, outcome.verified.wrong), (1, 0, 0, 0));
        assert!(outcome.error_examples["CM_NO_MEMORY"].contains("1001: memory limit exceeded"), "{:?}", outcome.error_examples);
    }
}

#[test]
fn rows_that_are_not_there_are_not_found() {
    for batch in [SINGLE, BATCH] {
        let fake = Fake::start(serves());
        fake.settings().open().unwrap().create(&rows(100)).unwrap();
        let both = [(OperationKind::Read, 1.0), (OperationKind::Update, 1.0)];
        let outcome = load(&fake, batch, &Dataset::filled(rows(100), Share::ALL), &plan(mix(&both, false), 50));
        assert_eq!(outcome.errors, [("not found".to_owned(), 50)].into());
    }
}

#[test]
fn a_server_says_what_it_is_and_clients_are_as_many_as_requests() {
    let fake = Fake::start(serves());
    let target = fake.settings().open().unwrap();
    let told = target.check().unwrap();
    assert_eq!((told.product.as_str(), told.details["partitions"].as_str(), told.nodes), ("GridDB", "64", 1));
    let wanted = Clients { threads: 2, connections: 50, in_flight: 16 };
    assert_eq!(target.clients(wanted), Clients { threads: 2, connections: 800, in_flight: 1 });
    let batches = GridDbSettings { batch: BATCH, ..fake.settings() }.open().unwrap();
    assert_eq!(batches.clients(wanted), Clients { threads: 2, connections: 50, in_flight: 50 });
    assert_eq!(
        (target.pace(Pace::Closed), batches.pace(Pace::Closed), batches.pace(Pace::Open(5.0))),
        (Pace::Closed, Pace::Batches, Pace::Open(5.0))
    );
}

#[test]
fn what_cannot_be_is_told_in_a_line() {
    let fails = |settings: &GridDbSettings, wanted: &str| {
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
        let is_about_rows = wanted.contains("does not answer") || wanted.contains("no such container");
        let checked = (!is_about_rows).then(|| target.check().unwrap_err().to_string());
        for error in [Some(started), checked].into_iter().flatten() {
            assert!(error.contains(wanted) && !error.contains('\n') && !error.contains("secret"), "{error}");
        }
    };
    let at = |address: SocketAddr| GridDbSettings { addresses: vec![address.to_string()], ..GridDbSettings::default() };
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
    fails(&at(address), "does not speak griddb");
    let fake = Fake::start(serves());
    let wrong = GridDbSettings { password: "secret".to_owned(), ..fake.settings() };
    fails(&wrong, "the server does not let the client in: 10005: invalid user or password");
    let wrong = GridDbSettings { cluster: "yourCluster".to_owned(), ..fake.settings() };
    fails(&wrong, "TXN_CLUSTER_NAME_INVALID: 10053: cluster name invalid");
    fails(&Fake::start_with(serves(), 1).settings(), "authentication mode 1, a challenge");
    fails(&fake.settings(), "container usertable: no such container");
}

#[test]
fn a_batch_that_no_request_can_have_is_refused() {
    let fake = Fake::start(serves());
    let refused = |settings: GridDbSettings, rows: Rows| {
        let dataset = Dataset::empty(rows, Share::ALL);
        settings.open().and_then(|target| target.sessions(dataset.rows(), &inserts().mix, 1).map(drop)).unwrap_err().to_string()
    };
    for batch in [0, 20_000] {
        assert!(refused(GridDbSettings { batch, ..fake.settings() }, rows(1)).contains("1 to 16,384 rows"));
    }
    let large = Rows { field_bytes: 1 << 20, ..rows(1) };
    assert!(refused(GridDbSettings { batch: 1_000, ..fake.settings() }, large).contains("32 MiB"));
    let mixed = GridDbSettings { addresses: vec!["127.0.0.1:1".to_owned(), "[::1]:1".to_owned()], ..fake.settings() };
    assert!(refused(mixed, rows(1)).contains("IPv4 or all of IPv6"));
}
