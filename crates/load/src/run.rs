//! Carries out a load: checks the plan, starts its threads together, collects what they measure, and notices when the target has died.

use crate::choice::OperationChooser;
use crate::collector::{Merger, PartObserver, Tail, Totals};
use crate::connection::Connection;
use crate::control::{Control, Observer};
use crate::dataset::Dataset;
use crate::newest_ring::NewestRing;
use crate::outcome::{Ended, Outcome};
use crate::plan::Plan;
use crate::target::{Target, TargetError, Topology};
use crate::traffic::{Common, Traffic};
use crate::values::VERSION_BYTES;
use crate::versions::Versions;
use crate::window::WINDOW;
use crate::worker::{Message, Worker};
use crate::workload::{End, OperationKind, Pace};
use mio::{Poll, Token};
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// How often the caller's thread looks whether the target is still there.
const LOOK: Duration = Duration::from_millis(100);
/// How often it is looked where partitions are.
const LOOK_WHERE: Duration = Duration::from_secs(1);
const THREADS_MAX: u32 = 256;
const CONNECTIONS_MAX: u32 = 20_000;
/// Streams of a connection, those of requests that were given up included, are signed 16-bit numbers.
const IN_FLIGHT_MAX: u32 = 16_384;
/// Rows that are inserted by a load without a number of operations and verified by it, beyond which they are not.
const VERIFIED_INSERTS_MAX: u64 = 10_000_000;

/// Why a load did not start. Once it has started, there is an [`Outcome`].
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The plan contradicts itself.
    #[error("this load cannot be run: {0}")]
    Plan(&'static str),
    /// No connection could be used.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// This machine refused something: sockets, threads.
    #[error("the load generator cannot work here: {0}")]
    Io(#[from] std::io::Error),
    /// [`Control::stop`] was called before it started.
    #[error("stopped before the load started")]
    Stopped,
}

/// Carries out `plan` against `target` and returns when it is over. `observer` hears of each second on this thread.
///
/// # Errors
/// When the load cannot start. What stops it later is in [`Outcome::ended`].
pub fn run(
    target: &dyn Target,
    dataset: &Dataset,
    plan: &Plan,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<Outcome, LoadError> {
    check(plan, dataset)?;
    let mut totals = Totals::new(OperationChooser::new(&plan.mix).kinds(), observer);
    let (ended, tail) = run_parts(target, dataset, plan, control, &mut totals)?;
    Ok(totals.finish(ended, tail))
}

/// As [`run`], for who puts the seconds together himself.
pub(crate) fn run_parts(
    target: &dyn Target,
    dataset: &Dataset,
    plan: &Plan,
    control: &Control,
    observer: &mut dyn PartObserver,
) -> Result<(Ended, Tail), LoadError> {
    check(plan, dataset)?;
    let plan = &bounded(plan, dataset, target);
    let versions = versions(plan, dataset);
    // Batches are a connection's own: what it sends follows its own replies.
    let mut topology = if plan.pace == Pace::Batches { None } else { target.topology() };
    let ring = topology.as_mut().and_then(|topology| topology.look().ok()).filter(|ring| ring.places().len() > 1);
    let routes = ring.as_ref().map_or_else(|| target.routes(), |ring| ring.places().to_vec());
    let zero = Instant::now();
    let common = Common::new(target, (dataset, plan, control), versions, ring.map(NewestRing::new));
    let threads = plan.clients.threads.max(1);
    let mut sessions = target.sessions(dataset.rows(), &plan.mix, plan.clients.connections)?.into_iter().enumerate();
    let fields = if plan.mix.verify { dataset.rows().fields as usize } else { 0 };
    let (sender, messages) = channel();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let count = plan.clients.connections / threads + u32::from(thread < plan.clients.connections % threads);
            let in_flight = in_flight(&common, count);
            let connect = |(token, (index, session)): (usize, (usize, _))| {
                Connection::new(routes[index % routes.len()], Token(token), session, in_flight, fields)
            };
            let connections = sessions.by_ref().take(count as usize).enumerate().map(connect).collect();
            let spawned = Poll::new()
                .and_then(|poll| Worker::new(&common, thread as usize, zero, connections, poll, sender.clone()))
                .and_then(|worker| std::thread::Builder::new().name(format!("load-{thread}")).spawn_scoped(scope, move || worker.run()));
            if let Err(error) = spawned {
                common.given_up.store(true, Release);
                return Err(error.into());
            }
        }
        drop(sender);
        // Dropped when all is collected, and before threads are waited for.
        let (_running, is_over) = channel::<()>();
        if let (Some(newest), Some(topology)) = (&common.newest_ring, topology) {
            scope.spawn(move || follow(newest, topology, &is_over));
        }
        let outcome = wait_until_ready(&messages, threads);
        if let Err(error) = outcome {
            common.given_up.store(true, Release);
            return Err(error);
        }
        observer.ready();
        start(&common, zero);
        Ok(collect(&common, zero, &messages, Merger::new(threads as usize), observer))
    })
}

/// How many requests each of a thread's `connections` may have in flight.
fn in_flight(common: &Common<'_>, connections: u32) -> u32 {
    let in_flight = common.plan.clients.in_flight;
    // Where keys choose, any connection may have all that the thread has in flight.
    if common.newest_ring.is_some() { connections.saturating_mul(in_flight).min(IN_FLIGHT_MAX) } else { in_flight }
}

/// Lets all threads begin, which are ready.
fn start(common: &Common<'_>, zero: Instant) {
    let start_ns = (zero.elapsed().as_nanos() as u64).max(1);
    common.last_reply_ns.store(start_ns, Release);
    common.start_ns.store(start_ns, Release);
}

/// What rows hold, for a run that verifies what it reads.
fn versions(plan: &Plan, dataset: &Dataset) -> Option<Arc<Versions>> {
    if !plan.mix.verify {
        if Traffic::writes(&plan.mix) {
            dataset.forget_versions();
        }
        return None;
    }
    let share = OperationChooser::new(&plan.mix).share(OperationKind::Insert);
    let inserts = match plan.end.operations {
        _ if share <= 0.0 => 0,
        Some(total) => (total as f64 * share * 1.1) as u64 + 1_000,
        None => VERIFIED_INSERTS_MAX,
    };
    Some(dataset.versions(inserts))
}

/// Looks where partitions are until the load is over.
fn follow(newest: &NewestRing, mut topology: Box<dyn Topology>, is_over: &Receiver<()>) {
    while is_over.recv_timeout(LOOK_WHERE) == Err(RecvTimeoutError::Timeout) {
        // Nobody may answer while nodes die and come: what was known last stays.
        if let Ok(ring) = topology.look()
            && !ring.places().is_empty()
        {
            newest.set(ring);
        }
    }
}

/// Until every thread has said so.
fn wait_until_ready(messages: &Receiver<Message>, threads: u32) -> Result<(), LoadError> {
    let mut ready = 0;
    while ready < threads {
        match messages.recv() {
            Ok(Message::Ready) => ready += 1,
            Ok(Message::Failed(error)) => return Err(error.into()),
            Ok(_) => unreachable!("nothing is measured before the start"),
            // A thread that ends before it is ready was stopped.
            Err(_) => return Err(LoadError::Stopped),
        }
    }
    Ok(())
}

fn collect(
    common: &Common<'_>,
    zero: Instant,
    messages: &Receiver<Message>,
    mut merger: Merger,
    observer: &mut dyn PartObserver,
) -> (Ended, Tail) {
    let silence_s = match common.plan.pace {
        // A slow rate has pauses of its own.
        Pace::Open(rate) => common.plan.limits.silence_s.max(10.0 / rate),
        Pace::Closed | Pace::Batches => common.plan.limits.silence_s,
    };
    let mut died = None;
    while !merger.is_complete() {
        match messages.recv_timeout(LOOK) {
            Ok(Message::Part(thread, part)) => merger.part(thread, part, observer),
            Ok(Message::Ended(thread, tail)) => merger.ended(thread, tail, observer),
            Ok(Message::Ready | Message::Failed(_)) => unreachable!("all threads were ready"),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => unreachable!("a thread that ends says so, and one that panics takes the load with it"),
        }
        let silent_s = (zero.elapsed().as_nanos() as u64).saturating_sub(common.last_reply_ns.load(Acquire)) as f64 / 1e9;
        if died.is_none() && silent_s > silence_s && !common.control.is_stopped() {
            let fault = common.last_fault.lock().unwrap_or_else(PoisonError::into_inner);
            let after = if fault.is_empty() { String::new() } else { format!("; the last error: {fault}") };
            died = Some(format!("no reply for {silence_s} s{after}"));
            common.given_up.store(true, Release);
        }
    }
    let ended = match died {
        Some(why) => Ended::TargetDied(why),
        None if common.control.is_stopped() => Ended::Stopped,
        None => Ended::Finished,
    };
    (ended, merger.into_tail())
}

/// A load that only inserts ends when the dataset is full, unless it is told otherwise.
fn bounded(plan: &Plan, dataset: &Dataset, target: &dyn Target) -> Plan {
    let mut plan = plan.clone();
    plan.pace = target.pace(plan.pace);
    if plan.end == End::default() {
        plan.end.operations = Some(dataset.inserts_left());
    }
    plan
}

fn check(plan: &Plan, dataset: &Dataset) -> Result<(), LoadError> {
    let Plan { mix, clients, pace, end, .. } = plan;
    let only_inserts = !Traffic::needs_rows(mix);
    let rows = dataset.rows();
    let shortest = rows.field_bytes_min.unwrap_or(rows.field_bytes);
    let positive = |number: f64| number.is_finite() && number > 0.0;
    let refusals = [
        (!mix.operations.values().any(|weight| *weight > 0.0), "no operation has a weight above zero"),
        (!mix.operations.values().all(|weight| weight.is_finite() && *weight >= 0.0), "a weight is below zero or no number"),
        (!only_inserts && dataset.row_count() == 0, "the dataset is empty: only inserts are possible"),
        (!only_inserts && *end == End::default(), "it would never end: give it a number of operations or seconds"),
        (clients.connections == 0 || clients.in_flight == 0, "it needs a connection and a request in flight"),
        (clients.connections < clients.threads.max(1), "a thread has no connection"),
        (clients.threads > THREADS_MAX || clients.connections > CONNECTIONS_MAX, "at most 256 threads and 20,000 connections"),
        (clients.in_flight > IN_FLIGHT_MAX, "at most 16,384 requests in flight on a connection"),
        (u64::from(clients.connections) * u64::from(clients.in_flight) > WINDOW / 2, "at most 524,288 requests in flight"),
        (matches!(pace, Pace::Open(rate) if !positive(*rate)), "a rate is above zero"),
        (end.seconds.is_some_and(|seconds| !positive(seconds)), "a duration is above zero"),
        (mix.verify && (shortest as usize) < VERSION_BYTES, "values that are verified have 8 bytes or more"),
        (mix.scan_rows_max == 0, "a scan asks for a row or more"),
        (rows.field_bytes_min.is_some_and(|least| least > rows.field_bytes), "the shortest value is longer than the longest"),
    ];
    match refusals.into_iter().find(|(refused, _)| *refused) {
        Some((_, why)) => Err(LoadError::Plan(why)),
        None => Ok(()),
    }
}
