//! Loads against a server in memory that misbehaves at chosen requests.
#![allow(clippy::unwrap_used, missing_docs)]

mod fake;
mod plans;

use fake::{Act, Fake, Script, Shared};
use load::cql::CqlSettings;
use load::tables::Tables;
use load::target::{Target, TargetError};
use load::workload::{Clients, End, KeyChoice, Mix, OperationKind, Pace, Rows};
use load::{Control, Dataset, Ended, Histogram, Limits, LoadError, Observer, Outcome, Plan, Routing, Second, Share, Verified, run};
use plans::{ALL, mix, rows};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

fn plan(mix: Mix, operations: u64) -> Plan {
    plans::plan(Clients { threads: 1, connections: 2, in_flight: 4 }, mix, operations)
}

fn settings(address: SocketAddr) -> CqlSettings {
    CqlSettings { addresses: vec![address.to_string()], ..CqlSettings::default() }
}

fn load(fake: &Fake, dataset: &Dataset, plan: &Plan) -> Outcome {
    let target = settings(fake.address).open().unwrap();
    run(&target, dataset, plan, &Control::new(), &mut ()).unwrap()
}

fn filled(fake: &Fake, count: u64) -> Dataset {
    filled_with(fake, rows(count))
}

fn filled_with(fake: &Fake, rows: Rows) -> Dataset {
    let count = rows.count;
    let dataset = Dataset::empty(rows, Share::ALL);
    let mut fill = plan(mix(&[(OperationKind::Insert, 1.0)], false), 0);
    fill.end = End::default();
    let outcome = load(fake, &dataset, &fill);
    assert_eq!((outcome.replies(), outcome.error_count(), dataset.row_count()), (count, 0, count));
    dataset
}

fn serve() -> Script {
    Box::new(|_| Act::Serve)
}

/// Serves, but for one request.
fn once(number: u64, act: Act) -> Script {
    Box::new(move |request| if request == number { act } else { Act::Serve })
}

#[test]
fn a_load_in_batches_loses_nothing() {
    let fake = Fake::start(serve());
    let dataset = filled(&fake, 500);
    let mut plan = plan(mix(&ALL, true), 3_001);
    plan.pace = Pace::Batches;
    let outcome = load(&fake, &dataset, &plan);
    assert_eq!((outcome.replies(), outcome.error_count(), outcome.verified.wrong), (3_001, 0, 0));
}

#[test]
fn operations_that_are_fewer_than_there_is_room_for_are_all_sent() {
    let fake = Fake::start(serve());
    let dataset = filled(&fake, 20);
    for count in [1, 3, 5, 11] {
        let outcome = load(&fake, &dataset, &plan(mix(&[(OperationKind::Read, 1.0)], false), count));
        assert_eq!((outcome.replies(), outcome.error_count()), (count, 0));
    }
}

#[test]
fn connections_are_spread_over_the_cores_of_a_server_that_tells_them() {
    let fake = Fake::start_with_cores(serve(), 3);
    let mut plan = plan(mix(&[(OperationKind::Insert, 1.0)], false), 100);
    plan.clients = Clients { threads: 2, connections: 7, in_flight: 2 };
    let outcome = load(&fake, &Dataset::empty(rows(100), Share::ALL), &plan);
    assert_eq!((outcome.replies(), outcome.error_count()), (100, 0));
    let mut cores = [0; 3];
    fake.client_ports().into_iter().for_each(|port| cores[usize::from(port % 3)] += 1);
    assert_eq!(cores, [3, 2, 2]);
}

/// Members that are told of, each with the tokens that leave its number when divided by theirs.
fn share_tokens(shared: &Shared, members: &[&Fake]) {
    const TOKENS: i64 = 60;
    let token = |number: i64| i64::MIN.wrapping_add(number.wrapping_mul(i64::MAX / TOKENS * 2));
    let of = |index: usize| (0..TOKENS).filter(|number| *number as usize % members.len() == index).map(token).collect();
    *shared.members.lock().unwrap() = members.iter().enumerate().map(|(index, member)| (member.address, of(index))).collect();
}

#[test]
fn every_request_goes_to_the_member_that_has_its_token() {
    for (pace, threads) in [(Pace::Closed, 1), (Pace::Closed, 2), (Pace::Open(20_000.0), 1)] {
        let shared = Arc::new(Shared::default());
        let members: Vec<Fake> = (0..3).map(|_| Fake::start_in(&shared, serve())).collect();
        share_tokens(&shared, &members.iter().collect::<Vec<_>>());
        // Only one of them is told; the others are found. Two connections cannot lead to all three.
        let dataset = filled(&members[0], 500);
        let before = shared.misplaced.load(Relaxed);
        assert!((1..500).contains(&before), "{before}");
        let mut plan = plan(mix(&ALL, true), 3_000);
        plan.clients = Clients { threads, connections: 8, in_flight: 3 };
        plan.pace = pace;
        let outcome = load(&members[0], &dataset, &plan);
        assert_eq!((outcome.replies(), outcome.error_count(), outcome.reconnects), (3_000, 0, 0), "{:?}", outcome.errors);
        assert_eq!((outcome.verified.lost, outcome.verified.stale, outcome.verified.wrong), (0, 0, 0));
        assert_eq!(shared.misplaced.load(Relaxed), before);
        assert!(members.iter().all(|member| member.requests() > 700), "each has a third of the tokens");
        let any = CqlSettings { routing: Routing::Any, ..settings(members[0].address) }.open().unwrap();
        let outcome = run(&any, &dataset, &plan, &Control::new(), &mut ()).unwrap();
        assert_eq!((outcome.replies(), outcome.error_count()), (3_000, 0));
        assert!(shared.misplaced.load(Relaxed) > before + 1_000, "only the node that was named is asked");
    }
}

#[test]
fn each_row_lies_in_the_table_of_its_number_on_the_member_that_has_its_token() {
    let shared = Arc::new(Shared::default());
    let members: Vec<Fake> = (0..3).map(|_| Fake::start_in(&shared, serve())).collect();
    share_tokens(&shared, &members.iter().collect::<Vec<_>>());
    let names = ["usertable", "usertable_1", "usertable_2", "usertable_3"].map(str::to_owned);
    let rows = Rows { tables: Tables::try_from(4).unwrap(), ..rows(501) };
    let target = settings(members[0].address).open().unwrap();
    target.create(&rows).unwrap();
    assert_eq!(members[0].tables(), BTreeSet::from(names.clone()));
    let dataset = filled_with(&members[0], rows);
    let counts = |rows: u64| (0..4).map(|table| (rows - table).div_ceil(4)).zip(names.clone()).map(|(count, name)| (name, count)).collect();
    assert_eq!(members[0].row_counts(), counts(501));
    let before = shared.misplaced.load(Relaxed);
    let mut plan = plan(mix(&ALL, true), 3_000);
    plan.clients = Clients { threads: 2, connections: 8, in_flight: 3 };
    let outcome = load(&members[0], &dataset, &plan);
    assert_eq!((outcome.replies(), outcome.error_count()), (3_000, 0), "{:?}", outcome.errors);
    assert_eq!((outcome.verified.lost, outcome.verified.stale, outcome.verified.wrong), (0, 0, 0));
    assert_eq!(members[0].row_counts(), counts(501 + outcome.latencies[&OperationKind::Insert].len()));
    assert_eq!(shared.misplaced.load(Relaxed), before);
    // What it takes for others' stays.
    let others = BTreeSet::from(["usertable_x".to_owned()]);
    shared.tables.lock().unwrap().extend(others.clone());
    target.drop_dataset().unwrap();
    assert_eq!((members[0].tables(), members[0].row_count()), (others, 0));
    target.drop_dataset().unwrap();
}

#[test]
fn more_statements_than_a_connection_can_prepare_are_refused() {
    let fake = Fake::start(serve());
    let dataset = Dataset::filled(Rows { tables: Tables::try_from(1_024).unwrap(), fields: 33, ..rows(10) }, Share::ALL);
    let updates = plan(mix(&[(OperationKind::Update, 1.0)], false), 10);
    let refused = run(&settings(fake.address).open().unwrap(), &dataset, &updates, &Control::new(), &mut ()).unwrap_err();
    assert!(refused.to_string().contains("fewer tables"), "{refused}");
}

/// Changes the members while a load runs, each time that all requests of a second came to the right ones; stops it in the end.
struct Change<'a> {
    control: &'a Control,
    shared: &'a Shared,
    to: Vec<Vec<&'a Fake>>,
    misplaced: u64,
    /// Whether requests have come to wrong members since the last change: clients could not know.
    has_erred: bool,
    /// Seconds since then, all of whose requests came to the right ones: a slow machine's clients may hear of a change before they ask.
    seconds_right: u32,
}

impl Observer for Change<'_> {
    fn second(&mut self, _: &Second, _: &BTreeMap<OperationKind, Histogram>) {
        let misplaced = self.shared.misplaced.load(Relaxed);
        let is_right = misplaced == std::mem::replace(&mut self.misplaced, misplaced);
        self.has_erred |= !is_right;
        self.seconds_right = if is_right { self.seconds_right + 1 } else { 0 };
        if is_right && (self.has_erred || self.seconds_right > 5) {
            (self.has_erred, self.seconds_right) = (false, 0);
            match self.to.pop() {
                Some(members) => share_tokens(self.shared, &members),
                None => self.control.stop(),
            }
        }
    }
}

#[test]
fn clients_follow_members_that_come_and_go_without_an_error() {
    let shared = Arc::new(Shared::default());
    let members: Vec<Fake> = (0..3).map(|_| Fake::start_in(&shared, serve())).collect();
    let [one, two, three] = &members[..] else { unreachable!() };
    share_tokens(&shared, &[one, two]);
    let dataset = filled(one, 500);
    let target = settings(two.address).open().unwrap();
    let mut plan = plan(mix(&ALL, true), 0);
    plan.clients = Clients { threads: 1, connections: 7, in_flight: 2 };
    plan.pace = Pace::Open(1_000.0);
    plan.end = End { operations: None, seconds: Some(600.0) };
    // One comes; then it stays alone, though the others would still answer; then it goes.
    let control = Control::new();
    let to = vec![vec![one, two], vec![three], vec![one, two, three]];
    let mut change = Change { control: &control, shared: &shared, to, misplaced: 0, has_erred: true, seconds_right: 0 };
    let outcome = run(&target, &dataset, &plan, &control, &mut change).unwrap();
    assert_eq!((&outcome.ended, outcome.error_count(), outcome.reconnects), (&Ended::Stopped, 0, 0), "{:?}", outcome.errors);
    assert_eq!((outcome.verified.lost, outcome.verified.stale, outcome.verified.wrong), (0, 0, 0));
}

#[test]
fn a_member_that_dies_is_stood_in_for() {
    let shared = Arc::new(Shared::default());
    let dies: Script = Box::new(|request| if request >= 400 { Act::Die } else { Act::Serve });
    let members = [Fake::start_in(&shared, serve()), Fake::start_in(&shared, dies)];
    share_tokens(&shared, &[&members[0], &members[1]]);
    let dataset = filled(&members[0], 500);
    let mut plan = plan(mix(&[(OperationKind::Read, 1.0)], true), 3_000);
    plan.clients = Clients { threads: 1, connections: 4, in_flight: 2 };
    // Nobody says that it is no member any more.
    let outcome = load(&members[0], &dataset, &plan);
    assert_eq!((&outcome.ended, outcome.replies() + outcome.error_count()), (&Ended::Finished, 3_000));
    // Its two connections break one after the other, and each may have had all eight of the thread's requests in flight.
    assert!((1..=16).contains(&outcome.error_count()), "at most what was in flight: {:?}", outcome.errors);
    assert!(shared.misplaced.load(Relaxed) > 1_000, "the other serves what it should have served");
}

#[test]
fn every_operation_is_done_once_and_what_is_read_is_what_was_written() {
    for protocol_version in [4, 5] {
        let fake = Fake::start(serve());
        let target = CqlSettings { protocol_version, ..settings(fake.address) }.open().unwrap();
        let dataset = filled(&fake, 500);
        let mut plan = plan(mix(&ALL, true), 5_000);
        plan.clients = Clients { threads: 2, connections: 5, in_flight: 3 };
        let before = fake.requests();
        let outcome = run(&target, &dataset, &plan, &Control::new(), &mut ()).unwrap();
        assert_eq!((&outcome.ended, outcome.replies(), outcome.error_count()), (&Ended::Finished, 5_000, 0), "{:?}", outcome.errors);
        let modified = outcome.latencies[&OperationKind::ReadModifyWrite].len();
        assert_eq!(fake.requests() - before, 5_000 + modified, "a read-modify-write is two requests");
        assert_eq!(fake.row_count() as u64, 500 + outcome.latencies[&OperationKind::Insert].len());
        assert_eq!(dataset.row_count(), fake.row_count() as u64);
        assert_eq!(outcome.verified.compared, outcome.latencies[&OperationKind::Read].len() + modified);
        assert_eq!((outcome.verified.lost, outcome.verified.stale, outcome.verified.wrong), (0, 0, 0));
        assert_eq!(outcome.threads.len(), 2);
        assert!(outcome.bytes_sent > 0 && outcome.bytes_received > 0);
    }
}

#[test]
fn the_seconds_add_up_to_the_whole() {
    #[derive(Default)]
    struct Sum(u64, u64);
    impl Observer for Sum {
        fn second(&mut self, second: &Second, latencies: &BTreeMap<OperationKind, Histogram>) {
            self.0 += latencies.values().map(Histogram::len).sum::<u64>();
            self.1 += second.operations.values().map(|operation| operation.replies).sum::<u64>();
        }
    }
    let fake = Fake::start(serve());
    let dataset = filled(&fake, 100);
    let target = settings(fake.address).open().unwrap();
    // A machine that stands still for half a second may have no reply in the second one.
    for (seconds, is_last) in [(1.5, false), (15.0, false), (60.0, true)] {
        let control = Control::new();
        let mut sum = Sum::default();
        let mut plan = plan(mix(&[(OperationKind::Read, 1.0)], false), 0);
        plan.end = End { operations: None, seconds: Some(seconds) };
        plan.clients.threads = 2;
        let outcome = run(&target, &dataset, &plan, &control, &mut sum).unwrap();
        assert_eq!((sum.0, sum.1, control.progress().replies), (outcome.replies(), outcome.replies(), outcome.replies()));
        assert!(outcome.seconds.iter().enumerate().all(|(index, second)| second.start_s == index as f64));
        if outcome.seconds.len() >= 2 {
            return;
        }
        assert!(!is_last, "all are in one second");
    }
}

#[test]
fn lost_stale_and_wrong_are_told_apart() {
    let count = 4;
    for (act, expected) in [(Act::Remove, "lost"), (Act::Forget, "stale"), (Act::Corrupt, "wrong")] {
        let fake = Fake::start(once(count + 40, act));
        let dataset = filled(&fake, count);
        // Writes first, so that the request that goes wrong is one.
        let mut writes = plan(mix(&[(OperationKind::Update, 1.0)], true), 41);
        writes.mix.update_all_fields = true;
        writes.clients = Clients { threads: 1, connections: 1, in_flight: 1 };
        assert_eq!(load(&fake, &dataset, &writes).error_count(), 0);
        let mut reads = plan(mix(&[(OperationKind::Read, 1.0)], true), 200);
        reads.seed = 9;
        let verified = load(&fake, &dataset, &reads).verified;
        assert_eq!(verified.compared, 200);
        let found = [("lost", verified.lost), ("stale", verified.stale), ("wrong", verified.wrong)];
        for (kind, number) in found {
            assert_eq!(number > 0, kind == expected, "{act:?}: {found:?}");
        }
    }
}

/// Reads every row once, in order, and compares it with what is known of it.
fn read_all(fake: &Fake, dataset: &Dataset) -> Outcome {
    let count = dataset.rows().count;
    load(fake, dataset, &plan(Mix { keys: KeyChoice::Sequential, ..mix(&[(OperationKind::Read, 1.0)], true) }, count))
}

/// Overwrites the first `count` rows.
fn update_first(fake: &Fake, dataset: &Dataset, count: u64) {
    let updates = Mix { keys: KeyChoice::Sequential, update_all_fields: true, ..mix(&[(OperationKind::Update, 1.0)], true) };
    let outcome = load(fake, dataset, &plan(updates, count));
    assert_eq!((outcome.replies(), &outcome.errors), (count, &BTreeMap::new()), "{:?}", outcome.error_examples);
}

#[test]
fn a_failed_insert_does_not_hide_the_loss_of_other_rows() {
    let fake = Fake::start(Box::new(|request| match request {
        30 => Act::Refuse,
        200 => Act::Remove,
        _ => Act::Serve,
    }));
    let dataset = Dataset::empty(rows(100), Share::ALL);
    // One after the other, so that the request that is refused is not one of the first rows.
    let clients = Clients { threads: 1, connections: 1, in_flight: 1 };
    let fill = Plan { end: End::default(), clients, ..plan(mix(&[(OperationKind::Insert, 1.0)], false), 0) };
    assert_eq!(load(&fake, &dataset, &fill).error_count(), 1);
    let outcome = read_all(&fake, &dataset);
    assert_eq!(outcome.errors, [("not found".to_owned(), 1)].into());
    assert_eq!(outcome.verified, Verified { compared: 99, unknown: 1, ..Verified::default() });
    // The server acknowledges the first of them and takes its row away.
    update_first(&fake, &dataset, 8);
    assert_eq!(read_all(&fake, &dataset).verified, Verified { compared: 99, lost: 1, unknown: 1, ..Verified::default() });
}

#[test]
fn reads_of_which_nothing_is_known_are_not_compared() {
    let fake = Fake::start(once(70, Act::Corrupt));
    filled(&fake, 100);
    // Another process filled it.
    let dataset = Dataset::filled(rows(100), Share::ALL);
    let found = read_all(&fake, &dataset).verified;
    assert_eq!(found, Verified { compared: 1, wrong: 1, unknown: 99, ..Verified::default() }, "no write of the row made that value");
    update_first(&fake, &dataset, 40);
    let found = read_all(&fake, &dataset).verified;
    assert_eq!(found, Verified { compared: 41, wrong: 1, unknown: 59, ..Verified::default() });
}

#[test]
fn what_is_known_outlasts_loads_that_only_read() {
    for (kind, known) in [(OperationKind::Read, 100), (OperationKind::Scan, 100), (OperationKind::Insert, 0), (OperationKind::Update, 0)] {
        let fake = Fake::start(serve());
        let dataset = filled(&fake, 100);
        update_first(&fake, &dataset, 50);
        load(&fake, &dataset, &plan(mix(&[(kind, 1.0)], false), 20));
        assert_eq!(
            read_all(&fake, &dataset).verified,
            Verified { compared: known, unknown: 100 - known, ..Verified::default() },
            "{kind:?}"
        );
    }
}

#[test]
fn an_open_loop_does_not_omit_what_waits_while_the_server_pauses() {
    const PAUSE_MS: u64 = 400;
    let fake = Fake::start(once(100 + 200, Act::Pause(Duration::from_millis(PAUSE_MS))));
    let dataset = filled(&fake, 100);
    let mut plan = plan(mix(&[(OperationKind::Read, 1.0)], false), 1_000);
    // One request in flight: while the server pauses, a closed loop would see one slow request.
    plan.clients = Clients { threads: 1, connections: 1, in_flight: 1 };
    plan.pace = Pace::Open(1_000.0);
    let outcome = load(&fake, &dataset, &plan);
    assert_eq!((outcome.replies(), outcome.error_count()), (1_000, 0));
    let reads = &outcome.latencies[&OperationKind::Read];
    // A request was due each millisecond of the pause; those of its first 300 have waited for 100 or more. A slow machine adds to that.
    let waited = reads.len() - reads.count_between(0, 100_000_000 - 1_000_000);
    assert!(waited >= 295, "{waited} requests have waited");
    assert!(outcome.elapsed_s >= 0.999);
}

#[test]
fn errors_are_counted_by_kind_and_the_load_goes_on() {
    let fake = Fake::start(Box::new(|request| if request >= 100 && request % 10 == 0 { Act::Refuse } else { Act::Serve }));
    let dataset = filled(&fake, 100);
    let outcome = load(&fake, &dataset, &plan(mix(&[(OperationKind::Read, 1.0)], false), 1_000));
    assert_eq!(outcome.errors, [("overloaded".to_owned(), 100)].into());
    assert_eq!(outcome.error_examples["overloaded"], "as the test wants it");
    assert_eq!((outcome.replies(), outcome.failed[&OperationKind::Read]), (900, 100));
    assert_eq!(outcome.seconds.iter().map(|second| second.errors).sum::<u64>(), 100);
}

#[test]
fn a_load_goes_on_when_its_connections_break() {
    let fake = Fake::start(once(100 + 500, Act::Cut));
    let dataset = filled(&fake, 100);
    let outcome = load(&fake, &dataset, &plan(mix(&ALL, true), 2_000));
    assert_eq!(outcome.ended, Ended::Finished);
    let lost = outcome.errors["connection lost"];
    assert!((1..=8).contains(&lost), "at most what was in flight: {lost}");
    assert_eq!(outcome.replies() + outcome.error_count(), 2_000);
    assert!(outcome.reconnects >= 1);
    assert_eq!((outcome.verified.lost, outcome.verified.stale, outcome.verified.wrong), (0, 0, 0));
}

#[test]
fn a_request_without_reply_is_given_up_and_another_takes_its_place() {
    for (request_s, is_last) in [(0.3, false), (3.0, false), (30.0, true)] {
        let fake = Fake::start(once(100 + 50, Act::Ignore));
        let dataset = filled(&fake, 100);
        let mut plan = plan(mix(&[(OperationKind::Read, 1.0)], false), 500);
        plan.clients = Clients { threads: 1, connections: 1, in_flight: 1 };
        plan.limits.request_s = request_s;
        let began = Instant::now();
        let outcome = load(&fake, &dataset, &plan);
        // On so slow a machine another reply may have come too late.
        if began.elapsed().as_secs_f64() >= 2.0 * request_s && !is_last {
            continue;
        }
        assert_eq!(outcome.errors, [("timeout".to_owned(), 1)].into());
        assert_eq!((outcome.replies(), outcome.reconnects), (499, 0));
        return;
    }
}

#[test]
fn a_target_that_dies_ends_the_load_and_what_was_measured_stays() {
    for (silence_s, is_last) in [(0.5, false), (5.0, false), (60.0, true)] {
        let fake = Fake::start(Box::new(|request| if request >= 100 + 300 { Act::Ignore } else { Act::Serve }));
        let dataset = filled(&fake, 100);
        let mut plan = plan(mix(&[(OperationKind::Read, 1.0)], false), 10_000);
        plan.limits = Limits { silence_s, ..Limits::default() };
        let outcome = load(&fake, &dataset, &plan);
        assert!(matches!(&outcome.ended, Ended::TargetDied(why) if why.contains("no reply")), "{:?}", outcome.ended);
        // A slow machine is silent for so long, too.
        if outcome.replies() < 290 && !is_last {
            continue;
        }
        assert!(outcome.replies() >= 290 && outcome.replies() <= 300, "{}", outcome.replies());
        return;
    }
}

#[test]
fn a_load_that_is_stopped_ends() {
    struct Stop<'a>(&'a Control);
    impl Observer for Stop<'_> {
        fn second(&mut self, _: &Second, _: &BTreeMap<OperationKind, Histogram>) {
            self.0.stop();
        }
    }
    let fake = Fake::start(serve());
    let dataset = filled(&fake, 100);
    let target = settings(fake.address).open().unwrap();
    let mut plan = plan(mix(&[(OperationKind::Read, 1.0)], false), 0);
    plan.end = End { operations: None, seconds: Some(3_600.0) };
    let control = Control::new();
    let outcome = run(&target, &dataset, &plan, &control, &mut Stop(&control)).unwrap();
    assert_eq!((&outcome.ended, outcome.error_count()), (&Ended::Stopped, 0));
}

#[test]
fn rows_that_are_not_there_are_errors() {
    let fake = Fake::start(serve());
    let dataset = Dataset::filled(rows(100), Share::ALL);
    let outcome = load(&fake, &dataset, &plan(mix(&[(OperationKind::Read, 1.0)], false), 50));
    assert_eq!(outcome.errors, [("not found".to_owned(), 50)].into());
}

#[test]
fn load_machines_fill_a_dataset_together() {
    let fake = Fake::start(serve());
    for index in 0..3 {
        let dataset = Dataset::empty(rows(100), Share { index, of: 3 });
        let mut fill = plan(mix(&[(OperationKind::Insert, 1.0)], false), 0);
        fill.end = End::default();
        load(&fake, &dataset, &fill);
    }
    assert_eq!((fake.row_count(), fake.requests()), (100, 100));
}

#[test]
fn users_log_in_and_others_are_told_why_not() {
    let fake = Fake::start_with(serve(), Some(("ann", "secret")));
    let outcome = |user: Option<&str>, password: &str| {
        let settings = CqlSettings { user: user.map(str::to_owned), password: Some(password.to_owned()), ..settings(fake.address) };
        let fill = Plan { end: End::default(), ..plan(mix(&[(OperationKind::Insert, 1.0)], false), 0) };
        run(&settings.open().unwrap(), &Dataset::empty(rows(10), Share::ALL), &fill, &Control::new(), &mut ())
    };
    assert_eq!(outcome(Some("ann"), "secret").unwrap().replies(), 10);
    for refused in [outcome(Some("ann"), "guess"), outcome(None, "")] {
        assert!(matches!(refused, Err(LoadError::Target(TargetError::Credentials { .. }))), "{refused:?}");
    }
}

#[test]
fn targets_that_are_none_are_told_in_a_line() {
    let check = |address: SocketAddr| settings(address).open().unwrap().check().unwrap_err();
    let start = |address: SocketAddr, connect_s: f64| {
        let mut fill = Plan { end: End::default(), ..plan(mix(&[(OperationKind::Insert, 1.0)], false), 0) };
        fill.limits.connect_s = connect_s;
        run(&settings(address).open().unwrap(), &Dataset::empty(rows(10), Share::ALL), &fill, &Control::new(), &mut ()).unwrap_err()
    };
    let nobody = "127.0.0.1:1".parse().unwrap();
    assert!(matches!(check(nobody), TargetError::Connect { .. }));
    assert!(matches!(start(nobody, 0.4), LoadError::Target(TargetError::Connect { .. })));

    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let error = start(silent.local_addr().unwrap(), 0.4);
    assert!(matches!(error, LoadError::Target(TargetError::Silent { .. })), "{error:?}");
    assert!(!error.to_string().contains('\n'));

    let other_server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other_server.local_addr().unwrap();
    std::thread::spawn(move || {
        for socket in other_server.incoming() {
            let mut socket = socket.unwrap();
            let _ = socket.read(&mut [0; 1_024]);
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    assert!(matches!(check(address), TargetError::Protocol { .. }));
    assert!(matches!(start(address, 60.0), LoadError::Target(TargetError::Protocol { .. })));
}

#[test]
fn plans_that_make_no_sense_are_refused() {
    let nowhere = "127.0.0.1:1".parse().unwrap();
    let refused = |change: fn(&mut Plan), dataset: &Dataset| {
        let mut plan = plan(mix(&[(OperationKind::Read, 1.0)], false), 10);
        change(&mut plan);
        matches!(run(&settings(nowhere).open().unwrap(), dataset, &plan, &Control::new(), &mut ()), Err(LoadError::Plan(_)))
    };
    let there = Dataset::filled(rows(10), Share::ALL);
    assert!(refused(|_| {}, &Dataset::empty(rows(10), Share::ALL)), "reads of an empty dataset");
    assert!(refused(|plan| plan.end = End::default(), &there), "no end");
    assert!(refused(|plan| plan.clients.threads = 3, &there), "a thread without a connection");
    assert!(refused(|plan| plan.pace = Pace::Open(0.0), &there), "no rate");
    assert!(refused(|plan| plan.mix.operations.clear(), &there), "no operation");
    let short = Dataset::filled(Rows { field_bytes: 7, ..rows(10) }, Share::ALL);
    assert!(refused(|plan| plan.mix.verify = true, &short), "values that have no version");
}
