//! As replica: items of primaries' streams are judged, applied and acknowledged.

use crate::cluster::config::Planted;
use crate::cluster::core::ClusterCore;
use crate::cluster::links::frames::{ACKNOWLEDGED, FULL, REFUSED};
use crate::cluster::links::remote_core::RemoteCore;
use crate::cluster::membership::roles::Role;
use crate::cluster::replication::pacing::Slice;
use crate::core::Core;
use crate::message::Message;
use base::{CoreId, Slot};
use engine::{Sequence, WriteBatch};
use io::{ConnectionId, Now, Reactor};
use replica::{Item, Offered, Purpose};
use shard::{KeyspaceNumber, Receipt, Shard, ShardError};

/// A primary is told this often that there is no room here for what it sends.
const TELL_FULL_US: u64 = 1_000_000;

/// What a received item comes to.
enum Verdict {
    Apply,
    /// This member does not have the slot, or not yet: it is of no consequence here.
    Ignore,
    /// The metadata here is older than the sender's.
    Wait,
    /// The sender is not the slot's primary, or not any more.
    Refuse,
}

/// Why a stream has come to a halt, besides for rows to be read or for metadata.
enum Halt {
    /// There is no room. Who sends it can go on without this replica; the link is needed for other things.
    Full,
    /// The sender must not, or cannot, go on.
    Refused(&'static str),
}

/// A slice of what primaries have sent.
struct Applier<'a, R> {
    reactor: &'a mut R,
    cluster: &'a mut ClusterCore,
    shard: &'a mut Shard,
    core: CoreId,
    now: Now,
    batch: WriteBatch,
    slice: Slice,
    /// Whether images are left for the next slice.
    has_more: bool,
}

impl Core {
    /// Applies what primaries have sent, as far as it can be, and acknowledges it. Of images only a slice: writes wait for clients, images only for what
    /// comes behind them. Returns the time at which to be called again.
    pub(crate) fn apply_streams<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now = reactor.now();
        let cluster = self.cluster.as_mut()?;
        let mut connections: Vec<ConnectionId> = cluster.links.incoming.keys().copied().collect();
        let first = cluster.replication.first_stream % connections.len().max(1);
        connections.rotate_left(first);
        let slice = Slice::begin(cluster.replication.budget, reactor.clock_us());
        for receiver in self.shard.take_received_ready() {
            cluster.replication.receivers_waiting.remove(&receiver);
        }
        let batch = std::mem::take(&mut cluster.replication.batch);
        let mut applier = Applier { reactor, cluster, shard: &mut self.shard, core: self.core, now, batch, slice, has_more: false };
        for connection in connections {
            applier.apply_stream(connection);
        }
        let Applier { cluster, batch, has_more, .. } = applier;
        cluster.replication.batch = batch;
        cluster.replication.first_stream = if has_more { first + 1 } else { 0 };
        has_more.then_some(0)
    }
}

impl<R: Reactor<Message = Message>> Applier<'_, R> {
    /// Applies what one link has brought, and answers on it.
    fn apply_stream(&mut self, connection: ConnectionId) -> Option<()> {
        let incoming = self.cluster.links.incoming.get_mut(&connection)?;
        let hello = incoming.hello.as_ref()?;
        let (from, receiver) = ((hello.node?, CoreId(hello.core)), incoming.receiver);
        let mut stream = std::mem::take(&mut incoming.stream);
        let mut halt = None;
        if stream.has_waiting() && !self.cluster.replication.receivers_waiting.contains(&receiver) {
            let version = stream.version();
            stream.apply(|item| self.offer(from, version, receiver, item, &mut halt));
        }
        // By newer metadata, what is committed may be that because this or another member need not have it any more.
        if stream.version() <= self.cluster.view.version() {
            self.cluster.replication.divergence.committed(from, stream.committed());
        }
        let (written, safe) = (self.shard.engine().last_sequence(), self.shard.safe_sequence());
        if let Some(position) = stream.take_acknowledgement(written.0, safe.0) {
            self.cluster.answer(self.reactor, connection, ACKNOWLEDGED, |body| body.extend_from_slice(&position.to_le_bytes()));
        }
        self.cluster.links.incoming.get_mut(&connection)?.stream = stream;
        match halt? {
            Halt::Full => {
                if self.cluster.links.is_news("there is no room", self.now.monotonic_us) {
                    tracing::error!(
                        core = self.core.0,
                        "writes of primaries find no room here, on the device or in the index; this node takes no part in their slots until there is some"
                    );
                }
                self.cluster.answer_full(self.reactor, connection);
            }
            Halt::Refused(why) => {
                let version = self.cluster.view.version();
                self.cluster.links.log_closing(self.core, Some(from.0), None, why, self.now.monotonic_us);
                self.cluster.answer(self.reactor, connection, REFUSED, |body| body.extend_from_slice(&version.to_le_bytes()));
                self.reactor.close(connection);
            }
        }
        Some(())
    }

    /// Applies an item, unless it has to wait.
    fn offer(&mut self, from: RemoteCore, version: u64, receiver: u32, item: &Item<'_>, halt: &mut Option<Halt>) -> Offered {
        let keyspace = self.cluster.view.keyspace_of(item.table);
        match self.cluster.judge(from.0, version, keyspace, item) {
            Verdict::Wait => return Offered::Later,
            Verdict::Ignore => return Offered::Taken,
            Verdict::Refuse => {
                *halt = Some(Halt::Refused("it writes as a primary, which it is not, or not any more"));
                return Offered::Later;
            }
            Verdict::Apply => {}
        }
        self.shard.raise_timestamp(item.timestamp_us);
        if item.rows.is_empty() {
            return Offered::Taken;
        }
        if item.purpose == Purpose::Image && self.slice.is_over(self.reactor.clock_us()) {
            self.has_more = true;
            return Offered::Later;
        }
        self.batch.clear();
        let is_read = self.batch.append_received(item.rows).is_ok();
        if is_read && version > self.cluster.view.version() && !is_of(&self.batch, self.cluster, item) {
            // Rows of a table that is not known here yet: an index's.
            return Offered::Later;
        }
        if !is_read || !is_of(&self.batch, self.cluster, item) {
            *halt = Some(Halt::Refused("it has written rows that make no sense"));
            return Offered::Later;
        }
        match self.shard.apply_received(self.now, receiver, &self.batch) {
            Ok(Receipt::Applied(sequence)) => {
                match item.purpose {
                    Purpose::Image => self.slice.take(),
                    Purpose::Write => self.cluster.replication.client_came(),
                }
                if let Some(keyspace) = keyspace {
                    self.cluster.received(from, (item.sequence, sequence), (keyspace, item.slot), item);
                }
                return Offered::Taken;
            }
            Ok(Receipt::Waits) => {
                self.cluster.replication.receivers_waiting.insert(receiver);
            }
            Err(ShardError::Full { .. } | ShardError::IndexFull { .. }) => *halt = Some(Halt::Full),
            Err(error) => {
                if self.cluster.links.is_news("a write of the primary", self.now.monotonic_us) {
                    tracing::error!(core = self.core.0, %error, "a write of the primary cannot be applied here; the replica stops taking part");
                }
                *halt = Some(Halt::Refused("what it has written cannot be applied here"));
            }
        }
        Offered::Later
    }
}

impl ClusterCore {
    /// An item of a primary has been applied here. What others may lack is remembered until it is committed: writes, and what a new primary brings to those in
    /// sync. Other images show what was committed before this replica is in sync.
    fn received(&mut self, from: RemoteCore, sequences: (u64, Sequence), place: (KeyspaceNumber, Slot), item: &Item<'_>) {
        let is_secondary = || self.roles.standing(place.0, place.1).is_some_and(|local| local.role == Role::Secondary);
        if item.purpose == Purpose::Write || is_secondary() {
            self.replication.divergence.applied(from, sequences, place, item.rows);
        }
        if item.purpose == Purpose::Image {
            self.replication.divergence.answered(place, item.rows);
        }
    }

    /// Tells a primary that there is no room here for what it sends, or would send.
    pub(crate) fn answer_full<R: Reactor>(&mut self, reactor: &mut R, connection: ConnectionId) {
        let now_us = reactor.now().monotonic_us;
        let Some(incoming) = self.links.incoming.get_mut(&connection).filter(|incoming| now_us >= incoming.tell_full_us) else { return };
        incoming.tell_full_us = now_us + TELL_FULL_US;
        self.answer(reactor, connection, FULL, |_| {});
    }

    fn judge(&self, sender: base::NodeId, version: u64, keyspace: Option<KeyspaceNumber>, item: &Item<'_>) -> Verdict {
        // While this node takes no part its version is 0, and everything waits.
        let is_behind = version > self.view.version();
        let Some(local) = keyspace.and_then(|keyspace| self.roles.standing(keyspace, item.slot)) else {
            return if is_behind { Verdict::Wait } else { Verdict::Ignore };
        };
        if item.term > local.term {
            // By what both know there is no such term.
            return if is_behind { Verdict::Wait } else { Verdict::Refuse };
        }
        let is_old = local.primary != sender || item.term < local.term;
        if is_old && item.purpose == Purpose::Image && local.role == Role::Learner && !local.has_restarted {
            // A former primary rebuilt this learner: what comes of that the metadata refuses. One that is in sync and has restarted acknowledges nothing.
            return Verdict::Ignore;
        }
        if is_old {
            return if self.config.planted == Some(Planted::NoFencing) { Verdict::Apply } else { Verdict::Refuse };
        }
        match local.role {
            Role::Secondary => Verdict::Apply,
            Role::Learner if local.is_asked => Verdict::Apply,
            // Taken, it would count as had by one that is in sync.
            _ if local.has_restarted => Verdict::Wait,
            _ if is_behind => Verdict::Wait,
            _ => Verdict::Ignore,
        }
    }
}

/// Whether all rows are of the item's slot and of the keyspace of its table.
fn is_of(batch: &WriteBatch, cluster: &ClusterCore, item: &Item<'_>) -> bool {
    let is_known = |table| table == item.table || cluster.view.keyspace_of(table) == cluster.view.keyspace_of(item.table);
    batch.rows().all(|row| row.key.token.slot() == item.slot && is_known(row.key.table))
}
