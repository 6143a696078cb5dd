//! At the end of a turn: what is told of the requests that have ended late.

use super::watch::{About, Ended, Subject};
use crate::core::Core;
use crate::message::Message;
use base::TableId;
use cql::SlowRequest;
use cql::language::without_values;
use cql::plan::{self, Prepared};
use io::Reactor;

/// So much of a statement is kept.
const STATEMENT_BYTES_MAX: usize = 1_000;
/// When to try again what somebody who reads was in the way of.
const AGAIN_US: u64 = 10_000;

impl Core {
    /// Tells of the requests that have ended late in this turn. Gives the time at which to be called again.
    #[inline]
    pub(crate) fn slow_turn<R: Reactor<Message = Message>>(&mut self, reactor: &R) -> Option<u64> {
        if self.requests.watch.is_quiet() { None } else { self.tell_of_slow(reactor) }
    }

    #[cold]
    fn tell_of_slow<R: Reactor<Message = Message>>(&mut self, reactor: &R) -> Option<u64> {
        let late = self.requests.watch.take();
        let board = self.config.board.clone();
        let now_us = reactor.clock_us();
        let wall_us = reactor.now().wall_us;
        for ended in late {
            let slow = self.slow_request(ended, now_us, wall_us);
            if self.requests.watch.may_log(now_us) {
                log_line(&slow, self.requests.watch.take_unlogged());
            }
            self.requests.watch.told.push(slow);
        }
        let is_written = board.is_none_or(|board| board.slow().add(self.core, &mut self.requests.watch.told));
        (!is_written).then_some(now_us + AGAIN_US)
    }

    fn slow_request(&mut self, ended: Ended, now_us: u64, wall_us: i64) -> SlowRequest {
        let Ended { connection, about: About { subject, waited }, protocol, kind, began_us, ended_us, number } = ended;
        let (keyspace, table, statement) = self.told_of(subject);
        let session = self.connections.get_mut(connection).map(|connection| &connection.session);
        SlowRequest {
            core: self.core.0,
            number,
            started_us: wall_us.saturating_sub_unsigned(now_us.saturating_sub(began_us)),
            duration_us: ended_us.saturating_sub(began_us),
            protocol,
            kind: kind.name(),
            keyspace,
            table,
            statement,
            client: session.and_then(|session| session.audited_client()).map(|(address, _)| address),
            role: session.and_then(|session| session.role()).map(str::to_owned),
            waited_for: waited.name(),
        }
    }

    fn told_of(&mut self, subject: Subject) -> (Option<String>, Option<String>, Option<String>) {
        let of_plan = |prepared: &Prepared, before: &str| {
            let (keyspace, table) = names(prepared);
            (keyspace, table, Some(format!("{before}{}", shown(&prepared.text))))
        };
        match subject {
            Subject::Unknown => (None, None, None),
            Subject::Prepared(id) => match self.protocols.cql.prepared(&id, &self.schema) {
                Some(prepared) => of_plan(prepared, ""),
                None => (None, None, None),
            },
            Subject::Plan(prepared) => of_plan(&prepared, ""),
            Subject::Batch(first, statements) => of_plan(&first, &format!("BATCH of {statements}, the first: ")),
            Subject::Table(table) => self.names_of(table),
        }
    }

    fn names_of(&self, id: TableId) -> (Option<String>, Option<String>, Option<String>) {
        let table = self.schema.tables().find(|table| table.id == id);
        (table.map(|table| table.keyspace.clone()), table.map(|table| table.name.clone()), None)
    }
}

/// The names of the table that a statement is about.
fn names(prepared: &Prepared) -> (Option<String>, Option<String>) {
    let table = match &prepared.statement {
        plan::Statement::Select(plan) => &plan.table,
        plan::Statement::Modify(plan) => &plan.table,
        plan::Statement::Truncate(table) => table,
        _ => return (prepared.keyspace.clone(), None),
    };
    (Some(table.keyspace.clone()), Some(table.name.clone()))
}

/// A statement as everybody may see it who sees others' requests.
fn shown(text: &str) -> String {
    let mut shown = without_values(&crate::protocol::cql::without_passwords(text));
    if shown.len() > STATEMENT_BYTES_MAX {
        let end = (0..=STATEMENT_BYTES_MAX).rev().find(|end| shown.is_char_boundary(*end)).unwrap_or(0);
        shown.truncate(end);
        shown.push('…');
    }
    shown
}

fn log_line(slow: &SlowRequest, unlogged: u64) {
    let SlowRequest { core, duration_us, protocol, kind, keyspace, table, statement, client, role, waited_for, .. } = slow;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    tracing::warn!(
        core,
        duration_ms = duration_us / 1_000,
        protocol,
        kind,
        keyspace = text(keyspace),
        table = text(table),
        statement = text(statement),
        client = client.map(|client| client.to_string()).unwrap_or_default(),
        role = text(role),
        waited_for,
        unlogged_before = unlogged,
        "a slow request"
    );
}
