//! Transactions that their clients have left: each core looks for those whose monitors or locks it has, as the primary of their slots.

use super::Aerospike;
use super::answer::Answer;
use super::travel;
use crate::cluster::{PATIENCE_US, Route};
use crate::core::Core;
use crate::message::Message;
use crate::protocol::{AnyCoordinator, Reply};
use crate::request_id::RequestId;
use aerospike::exec::{Shape, sweep};
use base::TableId;
use cql::wire::Consistency;
use io::Reactor;
use model::record_set::MONITOR_SET;
use std::sync::Arc;

/// How often a core looks.
const SWEEP_EVERY_US: u64 = 1_000_000;

/// The tables of monitors, by namespace.
fn monitors(core: &Core) -> Vec<(String, TableId)> {
    let namespaces = core.config.aerospike.namespaces.iter();
    let monitors = namespaces.filter_map(|namespace| {
        let table = core.schema.record_set(&namespace.name, MONITOR_SET).ok().flatten()?;
        Some((namespace.name.clone(), table.id))
    });
    monitors.collect()
}

impl Aerospike {
    /// Starts sweeps when it is time. Returns the time at which to be called again.
    pub(super) fn sweep<R: Reactor<Message = Message>>(core: &mut Core, reactor: &mut R) -> Option<u64> {
        if core.protocols.aerospike.monitors.is_none() {
            core.protocols.aerospike.monitors = Some(monitors(core));
        }
        core.protocols.aerospike.monitors.as_ref()?.first()?;
        let now_us = reactor.now().monotonic_us;
        if now_us < core.protocols.aerospike.sweep_at_us {
            return Some(core.protocols.aerospike.sweep_at_us);
        }
        core.protocols.aerospike.sweep_at_us = now_us + SWEEP_EVERY_US;
        let sweeping = std::mem::take(&mut core.protocols.aerospike.sweeping);
        let mut still: Vec<RequestId> = sweeping.into_iter().filter(|id| core.requests.get_mut(*id).is_some()).collect();
        if still.is_empty() && core.shard.is_ready() && core.send_away_until_us.is_none() {
            for (namespace, table) in monitors(core) {
                still.extend(Self::start_sweep(core, reactor, &namespace, table));
            }
        }
        core.protocols.aerospike.sweeping = still;
        Some(core.protocols.aerospike.sweep_at_us)
    }

    fn start_sweep<R: Reactor<Message = Message>>(core: &mut Core, reactor: &mut R, namespace: &str, table: TableId) -> Option<RequestId> {
        let cluster = core.cluster.as_deref();
        let is_primary = |slot| cluster.is_none_or(|cluster| cluster.is_primary(table, slot));
        let slots = core.shard.engine().table_slots(table).filter(|slot| is_primary(*slot)).map(|slot| slot.0).collect();
        if core.is_full() {
            return None;
        }
        let coordinator = sweep(&Arc::clone(&core.schema), namespace, slots, &core.record_options())?;
        // Parts are batches, which say all of themselves.
        let route = core.cluster.is_some().then(|| Route {
            request: Some(travel::pack(&[]).into()),
            consistency: Consistency::One,
            reads_any: false,
            is_write: true,
            patience_us: PATIENCE_US,
        });
        let reply = Reply::Aerospike(Answer::Message(Shape::Many));
        Some(core.coordinate_for_nobody(reactor, reply, AnyCoordinator::Aerospike(coordinator), route))
    }
}
