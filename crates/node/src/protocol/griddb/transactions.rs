//! Transactions that their clients do not end: of connections that are lost, and those that are over time.

use super::GridDb;
use super::statements::Statements;
use super::travel::Travelled;
use crate::cluster::{Asker, NOBODY};
use crate::core::Core;
use crate::message::{Message, PartId};
use crate::protocol::Reply;
use crate::requests::{REQUEST_BYTES, Request};
use griddb::exec::{end_overdue, may_have_transactions};
use griddb::wire::{ReplyHeader, Statement, statement};
use griddb::{Container, OpenTransaction};
use io::Reactor;
use model::operation::Operation;
use shard::Access;
use std::sync::Arc;

/// How often a core looks for overdue transactions. Who needs one of their rows does not wait for it.
const OVERDUE_EVERY_US: u64 = 5_000_000;
/// In so many containers at once; then other requests of the core have their turn.
const AT_ONCE: usize = 128;
const GO_ON_AFTER_US: u64 = 10_000;

impl GridDb {
    /// Aborts what a connection has begun that is lost.
    pub(super) fn abort<R: Reactor<Message = Message>>(core: &mut Core, reactor: &mut R, open: &OpenTransaction) {
        let body = open.abort_body();
        let Ok(statement) = Statement::read(&body, false) else { return };
        let travelled = Travelled { is_ipv6: false, transaction_timeout_s: 0, database: &open.database, body: &body };
        let mut statements = Statements { core, reactor, connection: NOBODY, asker: None, client: None };
        // Nobody reads the reply. A transaction that cannot be reached now is ended when its time is over.
        let _ = statements.start(&statement, travelled, true, &mut Vec::new());
    }

    /// Ends overdue transactions of the containers that this core serves, when it is time. Returns the time at which to be called again.
    pub(super) fn end_overdue<R: Reactor<Message = Message>>(core: &mut Core, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        let state = &mut core.protocols.griddb;
        if state.catalog.is_empty() {
            return None;
        }
        if now_us < state.overdue_at_us {
            return Some(state.overdue_at_us);
        }
        state.overdue_at_us = now_us + OVERDUE_EVERY_US;
        if !core.shard.is_ready() || core.send_away_until_us.is_some() {
            return None;
        }
        let catalog = Arc::clone(&core.protocols.griddb.catalog);
        let engine = core.shard.engine();
        let mut containers: Vec<_> = catalog
            .places()
            .filter(|container| engine.table_rows(may_have_transactions(container)) > 0 && is_ours(core, container))
            .collect();
        containers.sort_unstable_by_key(|container| container.id());
        let first = std::mem::take(&mut core.protocols.griddb.overdue_seen);
        for container in containers.iter().skip(first).take(AT_ONCE) {
            if core.is_full() {
                break;
            }
            run_for_nobody(core, reactor, end_overdue(container));
        }
        if first + AT_ONCE < containers.len() {
            let state = &mut core.protocols.griddb;
            (state.overdue_seen, state.overdue_at_us) = (first + AT_ONCE, now_us + GO_ON_AFTER_US);
        }
        Some(core.protocols.griddb.overdue_at_us)
    }
}

/// Whether this core serves a container.
pub(super) fn is_ours(core: &Core, container: &Container) -> bool {
    let slot = container.partition().token.slot();
    let is_primary = || core.cluster.as_ref().is_none_or(|cluster| cluster.is_primary(container.table.id, slot));
    slot.core(core.cores) == core.core && is_primary()
}

/// Runs what nobody has asked for.
pub(super) fn run_for_nobody<R: Reactor<Message = Message>>(core: &mut Core, reactor: &mut R, operation: Box<dyn Operation>) {
    let reply = ReplyHeader { statement: statement::ABORT_TRANSACTION, id: 0, is_ipv6: false, is_repeatable: true };
    let request = Request { asker: Some(Asker::Nobody), ..Request::single(NOBODY, Reply::GridDb(reply), REQUEST_BYTES) };
    let part = PartId { request: core.requests.insert(request), part: PartId::WHOLE };
    core.run_part(reactor, core.core, part, Access::Primary, operation);
}
