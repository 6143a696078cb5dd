//! Data partitions that were dropped: each core deletes the rows that it has of them, some at a time. They are looked at for ever, as rows may come late:
//! by statements that had begun before, and with slots that another member has had.

use super::GridDb;
use super::transactions::{is_ours, run_for_nobody};
use crate::core::Core;
use crate::message::Message;
use io::Reactor;
use std::sync::Arc;

/// How often a core looks for rows.
const LOOK_EVERY_US: u64 = 5_000_000;
/// How long after it has found some.
const GO_ON_AFTER_US: u64 = 10_000;
/// So many data partitions are looked at in one turn.
const AT_ONCE: usize = 64;

impl GridDb {
    /// Deletes rows of data partitions that were dropped, when it is time. Returns the time at which to be called again.
    pub(super) fn purge_dropped<R: Reactor<Message = Message>>(core: &mut Core, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        let state = &mut core.protocols.griddb;
        if !state.has_dropped {
            return None;
        }
        if now_us < state.purge_at_us {
            // What had to be read from the device first may have been found since.
            if state.purge_at_us > now_us + GO_ON_AFTER_US && state.purges.take_found() {
                (state.purge_at_us, state.purged) = (now_us + GO_ON_AFTER_US, 0);
            }
            return Some(state.purge_at_us);
        }
        state.purge_at_us = now_us + LOOK_EVERY_US;
        if !core.shard.is_ready() || core.send_away_until_us.is_some() {
            return Some(state.purge_at_us);
        }
        let (catalog, purges, first) = (Arc::clone(&state.catalog), state.purges.clone(), state.purged);
        let mut dropped: Vec<_> = catalog.dropped().filter(|container| is_ours(core, container)).collect();
        // Those that were dropped last are mostly the newest ones, and have rows.
        dropped.sort_unstable_by_key(|container| std::cmp::Reverse(container.id()));
        for container in dropped.iter().skip(first).take(AT_ONCE) {
            if core.is_full() {
                break;
            }
            run_for_nobody(core, reactor, purges.purge(container));
        }
        let state = &mut core.protocols.griddb;
        state.purged = if first + AT_ONCE < dropped.len() { first + AT_ONCE } else { 0 };
        if purges.take_found() {
            (state.purge_at_us, state.purged) = (now_us + GO_ON_AFTER_US, first);
        }
        Some(state.purge_at_us)
    }
}
