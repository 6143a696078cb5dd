//! Requests that this core has routed, and where they belong.

use crate::cluster::links::remote_core::RemoteCore;
use crate::request_id::PartId;
use base::{CoreId, Slot, TableId, Token};
use cql::wire::Consistency;
use io::ConnectionId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A request that finds nobody to run it is refused after this time.
pub(crate) const PATIENCE_US: u64 = 5_000_000;

/// The connection of requests that have none here.
pub(crate) const NOBODY: ConnectionId = ConnectionId { index: u32::MAX, generation: u32::MAX };

/// A client's request, as it can be run elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    /// As `travel::pack` writes it; none where the protocol's requests do not travel.
    pub(crate) request: Option<Arc<[u8]>>,
    pub(crate) consistency: Consistency,
    /// Whether any replica in sync may answer it.
    pub(crate) reads_any: bool,
    pub(crate) is_write: bool,
    /// It is refused when it has found nobody to run it in this time.
    pub(crate) patience_us: u64,
}

/// Where a request, or a part of one, belongs, and how it is made there.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) table: TableId,
    pub(crate) token: Token,
    /// Of a part.
    pub(crate) description: Option<Vec<u8>>,
}

/// Who wants to hear what came of a forwarded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    Link {
        connection: ConnectionId,
        id: u32,
    },
    Core {
        core: CoreId,
        id: u32,
    },
    /// This core itself, for the entries that a slot's log of batches has.
    BatchLog(TableId),
    /// This core itself, for a stretch of a slot's backfill.
    Backfill,
    /// This core itself, for a stretch of a slot that the filter of an index reads.
    Cover,
    /// This core itself, for the entries that a slot of a table with views has.
    ViewEntries(TableId, Slot),
    /// This core itself, for how far a slot of a view is built.
    ViewBuild,
    /// Nobody: it is done, or another time.
    Nobody,
}

/// What became of an attempt to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// To this core itself.
    Here,
    /// To another core of this node.
    Core(CoreId),
    /// To another member.
    Member(RemoteCore),
    /// There is nobody for the moment.
    Nobody,
    /// Too few replicas have the slot's data.
    TooFew { required: u16, alive: u16 },
}

pub(crate) struct Routed {
    pub(crate) part: PartId,
    pub(crate) place: Place,
    pub(crate) route: Route,
    pub(crate) deadline_us: u64,
    /// Once it was sent: until when it has to be answered. It has not run before, so that it gets as long as one that found its primary at once.
    pub(crate) answer_by_us: Option<u64>,
}

/// All of a core.
#[derive(Default)]
pub(crate) struct RoutedRequests {
    pub(crate) next: u32,
    pub(crate) all: BTreeMap<u32, Routed>,
    pub(crate) again_at_us: u64,
    /// Requests, and parts of such, that have gone to other members since the start.
    forwarded: u64,
}

impl RoutedRequests {
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn forwarded(&self) -> u64 {
        self.forwarded
    }

    pub(crate) fn sent(&mut self, id: u32, way: Way, now_us: u64) {
        self.forwarded += u64::from(matches!(way, Way::Member(_)));
        if let Some(routed) = self.all.get_mut(&id) {
            routed.answer_by_us = Some(now_us + routed.route.patience_us);
        }
    }

    /// Here it cannot be read, though any replica would do: the primary is asked.
    pub(crate) fn leave_to_primary(&mut self, id: u32) {
        if let Some(routed) = self.all.get_mut(&id) {
            routed.route.reads_any = false;
        }
    }

    pub(crate) fn unsent(&mut self, id: u32) {
        if let Some(routed) = self.all.get_mut(&id) {
            routed.answer_by_us = None;
        }
    }
}
