//! As primary: images of rows go into the stream of a replica, a chunk at a time.

use crate::cluster::core::ClusterCore;
use crate::cluster::links::remote_core::RemoteCore;
use crate::cluster::rebuild::queue::{Job, SentSlot};
use crate::core::Core;
use crate::message::Message;
use base::{CoreId, Slot};
use engine::{Sequence, WriteBatch};
use io::Reactor;
use shard::{Chunk, KeyspaceNumber, RowKey};
use std::collections::BTreeSet;

/// Images go in groups of about this size: what is done between two looks at the clock.
pub(crate) const CHUNK_BYTES: usize = 16 << 10;

/// No more images of single keys are made for a replica that has so much to acknowledge.
const PENDING_BYTES_MAX: usize = 1 << 20;

impl Core {
    /// A chunk of the first job of a replica; `None` if there is nothing to do for now.
    pub(crate) fn send_images<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, target: RemoteCore) -> Option<()> {
        let now = reactor.now();
        let cluster = self.cluster.as_mut()?;
        // Nothing is made for one that is not there: it may never come back.
        let stream = &cluster.links.outgoing.get(&target).filter(|link| link.is_open())?.stream;
        let queue = cluster.rebuild.queues.by_target.get_mut(&target)?;
        let has_room = match queue.jobs.front()? {
            Job::Slot { .. } | Job::Tail { .. } => queue.window.has_room(stream.images().under_way(), now.monotonic_us),
            Job::Keys(_) | Job::Reconciliation(_) => stream.pending_bytes() <= PENDING_BYTES_MAX,
        };
        if queue.waits || !has_room || queue.failed_until_us(now.monotonic_us).is_some() {
            return None;
        }
        let job = queue.jobs.front_mut()?;
        // Never 0: what was committed before the first write could not be told from what is committed with it.
        let (sequence, timestamp_us) = (self.shard.engine().last_sequence().max(Sequence(1)), self.shard.last_timestamp_us());
        let mut batch = WriteBatch::new();
        match job {
            Job::Slot { place, scan } => {
                let (place, mut is_sent) = (*place, false);
                // Before anything is asked of the shard: what is read for one scan the next must not take for its own.
                if !cluster.roles.get(place.0, place.1).is_some_and(|local| local.rebuilds(target.0)) {
                    queue.jobs.pop_front();
                    return Some(());
                }
                match self.shard.scan_slot(now, queue.number, scan, CHUNK_BYTES, &mut batch) {
                    Err(error) => {
                        tracing::warn!(core = self.core.0, node = target.0.0, %error, "a slot cannot be copied for now");
                        queue.failed(now.monotonic_us);
                        return None;
                    }
                    Ok(Chunk::Waits) => queue.waits = true,
                    Ok(Chunk::More) => {}
                    Ok(Chunk::End) => {
                        log_damaged(self.core, target, scan.damaged());
                        queue.jobs.pop_front();
                        queue.progress.slot_ended();
                        is_sent = true;
                    }
                }
                queue.progress.sent(batch.bytes().len());
                if !batch.is_empty() {
                    cluster.send_image(target, place.0, place.1, sequence, timestamp_us, batch.bytes());
                }
                if is_sent {
                    cluster.send_time(target, place, sequence, timestamp_us);
                    cluster.all_sent(target, &[place], sequence);
                }
            }
            Job::Tail { places, walk } => {
                let wants = |table, slot| cluster.view.keyspace_of(table).is_some_and(|keyspace| places.contains(&(keyspace, slot)));
                let chunk = self.shard.tail_images(now, queue.number, walk, &wants, CHUNK_BYTES, &mut batch);
                let mut ended = BTreeSet::new();
                match chunk {
                    Err(error) => {
                        tracing::warn!(core = self.core.0, node = target.0.0, %error, "rows for a catch-up cannot be read for now");
                        queue.failed(now.monotonic_us);
                        return None;
                    }
                    Ok(Chunk::Waits) => queue.waits = true,
                    Ok(Chunk::More) => {}
                    Ok(Chunk::End) => {
                        log_damaged(self.core, target, walk.damaged());
                        ended = std::mem::take(places);
                        queue.jobs.pop_front();
                    }
                }
                let place = batch.rows().next().and_then(|row| Some((cluster.view.keyspace_of(row.key.table)?, row.key.token.slot())));
                if let Some((keyspace, slot)) = place {
                    cluster.send_image(target, keyspace, slot, sequence, timestamp_us, batch.bytes());
                }
                let ended: Vec<_> = ended.into_iter().collect();
                for place in &ended {
                    cluster.send_time(target, *place, sequence, timestamp_us);
                }
                cluster.all_sent(target, &ended, sequence);
            }
            Job::Keys(keys) => {
                let place_of = |key: &RowKey| (cluster.view.keyspace_of(key.table), key.token.slot());
                let Some(first) = keys.front().map(place_of) else {
                    queue.jobs.pop_front();
                    return Some(());
                };
                let (Some(keyspace), slot) = first else {
                    keys.pop_front();
                    return Some(());
                };
                keys.make_contiguous();
                let of_slot = keys.iter().take_while(|key| place_of(key) == first).count();
                let (slice, _) = keys.as_slices();
                match self.shard.images(now, queue.number, slice.split_at(of_slot), CHUNK_BYTES, &mut batch) {
                    Err(error) => {
                        tracing::warn!(core = self.core.0, node = target.0.0, %error, "rows cannot be copied for now");
                        queue.failed(now.monotonic_us);
                        return None;
                    }
                    Ok(None) => queue.waits = true,
                    Ok(Some(count)) => {
                        keys.drain(..count);
                        if !batch.is_empty() {
                            cluster.send_image(target, keyspace, slot, sequence, timestamp_us, batch.bytes());
                        }
                    }
                }
            }
            Job::Reconciliation(places) => {
                let places = std::mem::take(places);
                queue.jobs.pop_front();
                queue.reconciliations.push((places, stream.mark()));
            }
        }
        if !batch.is_empty() {
            self.cluster.as_mut()?.image_sent(target, reactor.clock_us());
        }
        Some(())
    }
}

impl ClusterCore {
    /// As primary: all rows of these slots are in a replica's stream.
    fn all_sent(&mut self, target: RemoteCore, places: &[(KeyspaceNumber, Slot)], sequence: Sequence) {
        let mark = self.links.outgoing(target).stream.mark();
        self.rebuild.queues.of(target).sent.extend(places.iter().map(|place| (*place, SentSlot::up_to(mark, sequence))));
    }

    /// An image is in a replica's stream.
    fn image_sent(&mut self, target: RemoteCore, now_us: u64) {
        let Some(link) = self.links.outgoing.get(&target) else { return };
        if let Some(queue) = self.rebuild.queues.by_target.get_mut(&target) {
            queue.window.sent(link.stream.images().pushed, link.stream.writes_pushed(), now_us);
        }
    }
}

fn log_damaged(core: CoreId, target: RemoteCore, damaged: u64) {
    if damaged > 0 {
        tracing::error!(
            core = core.0,
            node = target.0.0,
            damaged,
            "rows of a slot cannot be read and were not copied; the replica does not have what they say"
        );
    }
}
