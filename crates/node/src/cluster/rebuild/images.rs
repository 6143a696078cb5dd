//! As primary: images of rows go into the stream of a replica, a chunk at a time.

use crate::cluster::core::ClusterCore;
use crate::cluster::links::remote_core::RemoteCore;
use crate::cluster::membership::roles::Place;
use crate::cluster::rebuild::queue::{Job, SentSlot};
use crate::core::Core;
use crate::message::Message;
use base::CoreId;
use engine::{Sequence, WriteBatch};
use io::{Now, Reactor};
use shard::{Chunk, RowKey, Shard, ShardError, SlotScan, TailWalk};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Images go in groups of about this size: what is done between two looks at the clock.
pub(crate) const CHUNK_BYTES: usize = 16 << 10;

/// No more images of single keys are made for a replica that has so much to acknowledge.
const PENDING_BYTES_MAX: usize = 1 << 20;

/// What the next chunk of a job has come to.
enum ChunkOutcome {
    /// There is more of it.
    More(Job),
    /// Rows have to be read first.
    Waits(Job),
    /// It cannot go on for now.
    Failed(Job, ShardError),
    /// Damaged rows were passed over that another replica has: it begins anew later, unless that one is the primary by then.
    Incomplete(Job),
    Ended,
}

/// A chunk in the making.
struct ChunkSender<'a> {
    cluster: &'a mut ClusterCore,
    shard: &'a mut Shard,
    core: CoreId,
    now: Now,
    target: RemoteCore,
    /// The shard's number for the replica's walks.
    walk_number: u32,
    /// The rows are current as of these.
    sequence: Sequence,
    timestamp_us: i64,
    rows: WriteBatch,
}

impl Core {
    /// Sends a chunk of the first job of a replica; `None` if there is nothing to do for now.
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
        let (job, walk_number) = (queue.jobs.pop_front()?, queue.number);
        // Never 0: what was committed before the first write could not be told from what is committed with it.
        let (sequence, timestamp_us) = (self.shard.engine().last_sequence().max(Sequence(1)), self.shard.last_timestamp_us());
        let mut chunk = ChunkSender {
            cluster,
            shard: &mut self.shard,
            core: self.core,
            now,
            target,
            walk_number,
            sequence,
            timestamp_us,
            rows: WriteBatch::new(),
        };
        let outcome = match job {
            Job::Slot { place, scan } => chunk.send_of_slot(place, scan),
            Job::Tail { places, walk } => chunk.send_of_tail(places, walk),
            Job::Keys(keys) => chunk.send_of_keys(keys),
            Job::Reconciliation(places) => chunk.mark_reconciliation(places),
        };
        let has_rows = !chunk.rows.is_empty();
        let queue = cluster.rebuild.queues.of(target);
        match outcome {
            ChunkOutcome::Ended => {}
            ChunkOutcome::More(job) => queue.jobs.push_front(job),
            ChunkOutcome::Waits(job) => {
                queue.jobs.push_front(job);
                queue.waits = true;
            }
            ChunkOutcome::Incomplete(job) => {
                queue.jobs.push_back(job);
                queue.failed(now.monotonic_us);
            }
            ChunkOutcome::Failed(job, error) => {
                queue.jobs.push_front(job);
                queue.failed(now.monotonic_us);
                tracing::warn!(core = self.core.0, node = target.0.0, %error, "rows for a replica cannot be read for now");
                return None;
            }
        }
        if has_rows {
            cluster.image_sent(target, reactor.clock_us());
        }
        Some(())
    }
}

impl ChunkSender<'_> {
    fn send_of_slot(&mut self, place: Place, mut scan: SlotScan) -> ChunkOutcome {
        // Before anything is asked of the shard: what is read for one scan the next must not take for its own.
        if !self.cluster.roles.get(place.0, place.1).is_some_and(|local| local.rebuilds(self.target.0)) {
            return ChunkOutcome::Ended;
        }
        let outcome = self.shard.scan_slot(self.now, self.walk_number, &mut scan, CHUNK_BYTES, &mut self.rows);
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => return ChunkOutcome::Failed(Job::Slot { place, scan }, error),
        };
        let progress = &mut self.cluster.rebuild.queues.of(self.target).progress;
        progress.sent(self.rows.bytes().len());
        if matches!(outcome, Chunk::End) {
            progress.slot_ended();
        }
        self.send_rows(place);
        match outcome {
            Chunk::Waits => ChunkOutcome::Waits(Job::Slot { place, scan }),
            Chunk::More => ChunkOutcome::More(Job::Slot { place, scan }),
            Chunk::End if scan.damaged() > 0 && self.cluster.is_elsewhere(place) => {
                // Another replica, which has these rows, is to be the primary.
                self.cluster.damage_found([place]);
                let scan = SlotScan::new(self.cluster.view.tables_of(place.0), place.1);
                ChunkOutcome::Incomplete(Job::Slot { place, scan })
            }
            Chunk::End => {
                if scan.damaged() == 0 {
                    self.cluster.rebuild.repairs.copied_whole(place, self.target.0);
                }
                self.all_sent(&[place], scan.damaged());
                ChunkOutcome::Ended
            }
        }
    }

    fn send_of_tail(&mut self, places: BTreeSet<Place>, mut walk: TailWalk) -> ChunkOutcome {
        let view = &self.cluster.view;
        let wants = |table, slot| view.keyspace_of(table).is_some_and(|keyspace| places.contains(&(keyspace, slot)));
        let outcome = match self.shard.tail_images(self.now, self.walk_number, &mut walk, &wants, CHUNK_BYTES, &mut self.rows) {
            Ok(outcome) => outcome,
            Err(error) => return ChunkOutcome::Failed(Job::Tail { places, walk }, error),
        };
        let place = self.rows.rows().next().and_then(|row| Some((view.keyspace_of(row.key.table)?, row.key.token.slot())));
        if let Some(place) = place {
            self.send_rows(place);
        }
        match outcome {
            Chunk::Waits => ChunkOutcome::Waits(Job::Tail { places, walk }),
            Chunk::More => ChunkOutcome::More(Job::Tail { places, walk }),
            Chunk::End => self.end_of_tail(places, walk),
        }
    }

    /// All of a tail that can be read is sent. Slots with damaged rows that another replica has are walked over once more, unless that one is the primary by then.
    fn end_of_tail(&mut self, places: BTreeSet<Place>, mut walk: TailWalk) -> ChunkOutcome {
        let mut damaged: BTreeMap<Place, u64> = BTreeMap::new();
        for ((table, slot), rows) in walk.damaged() {
            let Some(keyspace) = self.cluster.view.keyspace_of(*table) else { continue };
            *damaged.entry((keyspace, *slot)).or_default() += rows;
        }
        let is_rebuilt = |place: &Place| self.cluster.roles.get(place.0, place.1).is_some_and(|local| local.rebuilds(self.target.0));
        let is_again = |place: &Place| damaged.contains_key(place) && self.cluster.is_elsewhere(*place);
        let (again, done): (BTreeSet<Place>, BTreeSet<Place>) = places.into_iter().filter(is_rebuilt).partition(is_again);
        let (in_part, whole): (Vec<Place>, Vec<Place>) = done.into_iter().partition(|place| damaged.contains_key(place));
        self.all_sent(&whole, 0);
        for place in in_part {
            self.all_sent(&[place], damaged[&place]);
        }
        if again.is_empty() {
            return ChunkOutcome::Ended;
        }
        self.cluster.damage_found(again.iter().copied());
        let tables: BTreeSet<_> = again.iter().flat_map(|place| self.cluster.view.tables_of(place.0)).collect();
        walk.restart(tables);
        ChunkOutcome::Incomplete(Job::Tail { places: again, walk })
    }

    /// The first of the keys, as far as they are of one slot.
    fn send_of_keys(&mut self, mut keys: VecDeque<RowKey>) -> ChunkOutcome {
        let place_of = |key: &RowKey| (self.cluster.view.keyspace_of(key.table), key.token.slot());
        let Some(first) = keys.front().map(place_of) else { return ChunkOutcome::Ended };
        let (Some(keyspace), slot) = first else {
            keys.pop_front();
            return ChunkOutcome::More(Job::Keys(keys));
        };
        let of_slot = keys.iter().take_while(|key| place_of(key) == first).count();
        let slice = &*keys.make_contiguous();
        match self.shard.images(self.now, self.walk_number, slice.split_at(of_slot), CHUNK_BYTES, &mut self.rows) {
            Err(error) => ChunkOutcome::Failed(Job::Keys(keys), error),
            Ok(None) => ChunkOutcome::Waits(Job::Keys(keys)),
            Ok(Some(count)) => {
                keys.drain(..count);
                self.send_rows((keyspace, slot));
                ChunkOutcome::More(Job::Keys(keys))
            }
        }
    }

    /// What is sent by now has to be acknowledged before these slots are served.
    fn mark_reconciliation(&mut self, places: Vec<Place>) -> ChunkOutcome {
        let mark = self.cluster.links.outgoing(self.target).stream.mark();
        self.cluster.rebuild.queues.of(self.target).reconciliations.push((places, mark));
        ChunkOutcome::Ended
    }

    fn send_rows(&mut self, (keyspace, slot): Place) {
        if !self.rows.is_empty() {
            self.cluster.send_image(self.target, keyspace, slot, self.sequence, self.timestamp_us, self.rows.bytes());
        }
    }

    /// All rows of these slots are in the replica's stream.
    fn all_sent(&mut self, places: &[Place], damaged: u64) {
        if damaged > 0 {
            log_damaged(self.core, self.target, damaged);
            places.iter().for_each(|place| self.cluster.rebuild.repairs.copied_in_part(*place, self.target.0));
        }
        for place in places {
            self.cluster.send_time(self.target, *place, self.sequence, self.timestamp_us);
        }
        self.cluster.all_sent(self.target, places, self.sequence);
    }
}

impl ClusterCore {
    /// As primary: all rows of these slots are in a replica's stream.
    fn all_sent(&mut self, target: RemoteCore, places: &[Place], sequence: Sequence) {
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
    tracing::error!(
        core = core.0,
        node = target.0.0,
        damaged,
        "rows of a slot cannot be read and were not copied, and no other replica that is up has them; the replica does not have what they say"
    );
}
