//! A client of the cluster: connected to any node, with one operation in flight and a timeout.

use super::history::{Invocation, RowId, Table};
use super::workload::Workload;
use crate::client::{Client, Reply};
use crate::connection::Phase;
use crate::linearizability::{Operation, Outcome, Value};
use crate::network::Network;
use crate::statement::{Bound, Statement, bigint, int};
use base::Rng;
use cql::wire::{BatchKind, Consistency, ProtocolVersion};

/// A client disconnects after this time without an answer: some soon, to ask another node, or again one that is cut off.
const TIMEOUT_US: [u64; 2] = [400_000, 6_000_000];
/// After an error a client does nothing for so long at most.
const BACKOFF_US_MAX: u64 = 100_000;

const SERVER_ERROR: i32 = 0x0000;
const PROTOCOL_ERROR: i32 = 0x000A;
const UNAVAILABLE: i32 = 0x1000;
const OVERLOADED: i32 = 0x1001;
const BOOTSTRAPPING: i32 = 0x1002;
const WRITE_TIMEOUT: i32 = 0x1100;
const READ_TIMEOUT: i32 = 0x1200;
const READ_FAILURE: i32 = 0x1300;
const WRITE_FAILURE: i32 = 0x1500;

struct Session {
    node: usize,
    boot: u64,
    client: Client,
    opened_us: u64,
}

struct InFlight {
    stream: i16,
    invocation: Invocation,
    /// Of a read of several rows: the others.
    wide: Option<Wide>,
    /// A read that any replica may answer.
    anywhere: bool,
    invoked_us: u64,
}

/// A read of several rows.
struct Wide {
    others: Vec<Invocation>,
    statement: Statement,
    page: Option<u32>,
    /// Of the pages so far.
    rows: Vec<Vec<Bound>>,
}

/// A client.
pub(super) struct Worker {
    session: Option<Session>,
    in_flight: Option<InFlight>,
    backoff_until_us: u64,
    timeout_us: u64,
}

impl Worker {
    pub(super) fn new(rng: &mut Rng) -> Self {
        Self { session: None, in_flight: None, backoff_until_us: 0, timeout_us: TIMEOUT_US[rng.below(2) as usize] }
    }

    /// Takes what has come, or asks for something.
    pub(super) fn advance(&mut self, network: &mut Network, workload: &mut Workload) {
        if !self.has_session(network) {
            self.give_up(network, workload);
            self.connect(network);
            return;
        }
        if let Some(in_flight) = self.in_flight.take() {
            self.listen(network, workload, in_flight);
        } else if network.now_us() >= self.backoff_until_us {
            self.ask(network, workload);
        }
    }

    /// Whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight.is_none()
    }

    /// Disconnects; the operation in flight has an unknown outcome.
    pub(super) fn give_up(&mut self, network: &mut Network, workload: &mut Workload) {
        if let Some(in_flight) = self.in_flight.take() {
            workload.lose(in_flight.invocation, network.now_us());
        }
        if let Some(session) = self.session.take()
            && network.boots(session.node) == session.boot
            && let Some(machine) = network.machine(session.node)
        {
            machine.disconnect(session.client.end);
        }
    }

    /// Whether it is connected, and has not waited for too long.
    fn has_session(&mut self, network: &mut Network) -> bool {
        let now_us = network.now_us();
        let Some(session) = &mut self.session else { return false };
        let boots = network.boots(session.node);
        let Some(machine) = network.machine(session.node) else { return false };
        if boots != session.boot || session.client.is_over(machine) {
            return false;
        }
        if !session.client.is_ready(machine) {
            return now_us - session.opened_us < self.timeout_us;
        }
        self.in_flight.as_ref().is_none_or(|in_flight| now_us - in_flight.invoked_us < self.timeout_us)
    }

    fn connect(&mut self, network: &mut Network) {
        let now_us = network.now_us();
        if now_us < self.backoff_until_us {
            return;
        }
        let count = network.len() as u64;
        let node = network.rng().below(count) as usize;
        let (boot, awake, core) = (network.boots(node), network.is_awake(node), network.rng().next_u64());
        self.backoff_until_us = now_us + network.rng().below(BACKOFF_US_MAX);
        if let Some(machine) = network.machine(node).filter(|machine| awake && machine.is_accepting()) {
            let core = (core % u64::from(machine.cores())) as u16;
            let client = Client::begin(machine, core, ProtocolVersion::V4, None);
            self.session = Some(Session { node, boot, client, opened_us: now_us });
        }
    }

    fn ask(&mut self, network: &mut Network, workload: &mut Workload) {
        let now_us = network.now_us();
        let Some(session) = &mut self.session else { return };
        let Some(machine) = network.machine(session.node) else { return };
        let open = machine.connection(session.client.end).is_some_and(|connection| connection.phase == Phase::Open);
        if !open || !session.client.is_ready(machine) {
            return;
        }
        let Some((row, operation)) = workload.choose() else { return };
        let consistency = workload.consistency(&operation);
        let wide = workload.others(row, &operation);
        let invocation = workload.history.ask(row, operation);
        let anywhere = matches!(operation, Operation::Read(_)) && consistency == Consistency::One;
        let (statement, wide) = match wide {
            None => (statement(row, &operation, consistency), None),
            Some((others, page)) => {
                let statement = selection(row, &others, page, consistency);
                let others = others.into_iter().map(|row| workload.history.ask(row, operation)).collect();
                (statement.clone(), Some(Wide { others, statement, page, rows: Vec::new() }))
            }
        };
        let stream = session.client.send(machine, &statement);
        self.in_flight = Some(InFlight { stream, invocation, wide, anywhere, invoked_us: now_us });
    }

    fn listen(&mut self, network: &mut Network, workload: &mut Workload, mut in_flight: InFlight) {
        let Some(session) = &mut self.session else { return };
        let Some(machine) = network.machine(session.node) else { return };
        let Some(reply) = session.client.poll(machine, in_flight.stream) else {
            self.in_flight = Some(in_flight);
            return;
        };
        match reply {
            Reply::Nothing => workload.lose(in_flight.invocation, network.now_us()),
            Reply::Error { code, message } => {
                workload.refused(code);
                match code {
                    // Nothing was done.
                    UNAVAILABLE | OVERLOADED | BOOTSTRAPPING => workload.ask_again(in_flight.invocation),
                    SERVER_ERROR | WRITE_TIMEOUT | WRITE_FAILURE | READ_TIMEOUT | READ_FAILURE => {
                        workload.lose(in_flight.invocation, network.now_us());
                    }
                    PROTOCOL_ERROR => panic!("{message}"),
                    _ => panic!("{:?}: error {code:#x}: {message}", in_flight.invocation),
                }
                self.backoff_until_us = network.now_us() + network.rng().below(BACKOFF_US_MAX);
                // Another node may do better.
                if network.rng().below(4) == 0 {
                    self.give_up(network, workload);
                }
            }
            Reply::Rows { rows, paging_state } if in_flight.wide.is_some() => {
                let Some(wide) = &mut in_flight.wide else { return };
                wide.rows.extend(rows);
                if let (Some(size), Some(_)) = (wide.page, &paging_state) {
                    in_flight.stream = session.client.send(machine, &wide.statement.clone().page(size, paging_state));
                    in_flight.invoked_us = network.now_us();
                    self.in_flight = Some(in_flight);
                    return;
                }
                for invocation in std::iter::once(in_flight.invocation).chain(wide.others.iter().copied()) {
                    let of_key = wide.rows.iter().filter(|row| row[0] == int(invocation.row.key)).map(|row| vec![row[1].clone()]);
                    let reply = Reply::Rows { rows: of_key.collect(), paging_state: None };
                    answer(workload, invocation, in_flight.anywhere, reply);
                }
            }
            reply => answer(workload, in_flight.invocation, in_flight.anywhere, reply),
        }
    }
}

/// A row's operation has been answered.
fn answer(workload: &mut Workload, invocation: Invocation, anywhere: bool, reply: Reply) {
    match told(&invocation.operation, invocation.row, reply) {
        Operation::Read(value) if anywhere => workload.history.seen_anywhere(invocation.row, value),
        told => workload.history.answer(invocation, told),
    }
}

/// Reads several rows: some by their keys, or a page of the whole table.
fn selection(row: RowId, others: &[RowId], page: Option<u32>, consistency: Consistency) -> Statement {
    let (table, column) = (row.table(), if row.table == Table::Counts { "n" } else { "v" });
    let statement = match page {
        Some(size) => Statement::new(format!("SELECT k, {column} FROM {table}")).page(size, None),
        None => {
            let keys: Vec<Bound> = std::iter::once(&row).chain(others).map(|row| int(row.key)).collect();
            let marks = vec!["?"; keys.len()].join(", ");
            Statement::new(format!("SELECT k, {column} FROM {table} WHERE k IN ({marks})")).bind(keys)
        }
    };
    statement.with(consistency)
}

/// The statement that does an operation.
pub(super) fn statement(row: RowId, operation: &Operation, consistency: Consistency) -> Statement {
    let (table, key) = (row.table(), int(row.key));
    let new = |text: String| Statement::new(text).with(consistency);
    let value = |value: i64| bigint(value);
    match (row.table, *operation) {
        (Table::Counts, Operation::Read(_)) => new(format!("SELECT n FROM {table} WHERE k = ?")).bind([key]),
        (Table::Counts, Operation::Add(by)) => new(format!("UPDATE {table} SET n = n + ? WHERE k = ?")).bind([value(by), key]),
        (Table::Pairs, Operation::Read(_)) => new(format!("SELECT v FROM {table} WHERE k = ?")).bind([key]),
        (Table::Pairs, Operation::Write(Some(new_value))) => {
            let insert =
                |c| Statement::new(format!("INSERT INTO {table} (k, c, v) VALUES (?, ?, ?)")).bind([key.clone(), int(c), value(new_value)]);
            Statement::batch(BatchKind::Unlogged, vec![insert(0), insert(1)]).with(consistency)
        }
        (Table::Twins, Operation::Read(_)) => new(format!("SELECT v FROM {table} WHERE k = ?")).bind([int(row.twins().0)]),
        (Table::Twins, Operation::Write(new_value)) => {
            let write = |key| match new_value {
                Some(to) => Statement::new(format!("INSERT INTO {table} (k, v) VALUES (?, ?)")).bind([int(key), value(to)]),
                None => Statement::new(format!("DELETE FROM {table} WHERE k = ?")).bind([int(key)]),
            };
            Statement::batch(BatchKind::Logged, vec![write(row.twins().0), write(row.twins().1)]).with(consistency)
        }
        (_, Operation::Read(_)) => new(format!("SELECT v FROM {table} WHERE k = ?")).bind([key]),
        (_, Operation::Write(None)) => new(format!("DELETE FROM {table} WHERE k = ?")).bind([key]),
        (_, Operation::Write(Some(to))) => new(format!("INSERT INTO {table} (k, v) VALUES (?, ?)")).bind([key, value(to)]),
        (_, Operation::CompareAndSet { expected: None, new: to, .. }) => {
            new(format!("INSERT INTO {table} (k, v) VALUES (?, ?) IF NOT EXISTS")).bind([key, value(to.unwrap_or(0))])
        }
        (_, Operation::CompareAndSet { expected: Some(expected), new: Some(to), .. }) => {
            new(format!("UPDATE {table} SET v = ? WHERE k = ? IF v = ?")).bind([value(to), key, value(expected)])
        }
        (_, Operation::CompareAndSet { expected: Some(expected), new: None, .. }) => {
            new(format!("DELETE FROM {table} WHERE k = ? IF v = ?")).bind([key, value(expected)])
        }
        (_, Operation::Add(_)) => unreachable!("only counters are added to"),
    }
}

/// Reads the one of two twins that is never read but in the end.
pub(super) fn other_twin(row: RowId) -> Statement {
    Statement::new(format!("SELECT v FROM {} WHERE k = ?", row.table())).bind([int(row.twins().1)]).with(Consistency::One)
}

/// An operation with what its reply says.
pub(super) fn told(operation: &Operation, row: RowId, reply: Reply) -> Operation {
    match (*operation, reply) {
        (Operation::Read(_), Reply::Rows { rows, .. }) => {
            let value = rows.first().and_then(|row| number(&row[0]));
            if row.table == Table::Pairs {
                assert!(rows.is_empty() || rows.len() == 2, "{row:?}: a batch was done in part: {rows:?}");
                assert!(rows.iter().all(|row| number(&row[0]) == value), "{row:?}: a batch was done in part: {rows:?}");
            }
            Operation::Read(value)
        }
        (Operation::CompareAndSet { expected, new, .. }, Reply::Rows { rows, .. }) => {
            let applied = rows[0][0].as_deref() == Some(&[1]);
            let seen = || if rows[0].len() > 1 { rows[0].last().and_then(number) } else { None };
            let outcome = if applied { Outcome::Applied } else { Outcome::Refused(seen()) };
            Operation::CompareAndSet { expected, new, outcome }
        }
        (operation, Reply::Done) => operation,
        (operation, reply) => panic!("{row:?}: {operation:?} was answered with {reply:?}"),
    }
}

fn number(cell: &Bound) -> Value {
    cell.as_deref().map(|bytes| i64::from_be_bytes(bytes.try_into().unwrap()))
}
