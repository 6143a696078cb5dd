//! Bringing replicas to what their primary has.
//!
//! A learner asks the slot's primary to fill it (`WANTED`), and from then on gets its writes; beside them, on the same stream, it gets the image
//! of every row. Because both come from one core in one order, what arrives last is what the row is. When all images are acknowledged the
//! primary waits for the learner as for those in sync, and when it has what was written by then, too, proposes that it be one of them.
//!
//! A learner that was in sync before, and still has its rows, is filled with the difference alone: what was written since (`differences`).
//!
//! A replica that may have rows which the primary does not have, because a primary before this one sent them and did not live to see them
//! acknowledged, asks for the images of these keys (`KEYS`). A new primary sends such rows of its own to the others before it serves.

use super::ClusterCore;
use super::fillings::{Filling, Fillings, Job, OWN_TAIL, Sent, WIPE, owned};
use super::frames::{ALL_NEEDED, Fill, Slots, WANTED, read_key, read_wanted, split_version};
use super::operations::{CoreReport, FillReport};
use super::pacing::Slice;
use super::progress::Held;
use super::roles::{Role, Target, Waits};
use crate::core::Core;
use crate::message::Message;
use base::{CoreId, NodeId, Slot, TableId};
use cluster::wire::Kind;
use cluster::{Command, SlotEpochs};
use engine::{Sequence, WriteBatch};
use io::Reactor;
use shard::{Bite, KeyspaceNumber, RowKey, SlotScan};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Images go in groups of about this size: what is done between two looks at the clock.
pub(super) const BITE_BYTES: usize = 16 << 10;
/// No more images of single keys are made for a replica that has so much to acknowledge.
const PENDING_BYTES_MAX: usize = 1 << 20;
/// So many bites of what clients wait for are made a turn.
const URGENT_BITES_PER_TURN: usize = 16;
/// At most so many slots are proposed as in sync at once: a command is repeated to whoever leads the metadata's group until it is decided, and must not clog the way there.
const PROPOSED_SLOTS_MAX: usize = 512;

/// What a primary makes of a replica's wish to be filled with a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// It is being filled so. Who asks again may not know that it was heard.
    GoOn,
    Begin,
    /// What it has missed is not known.
    AllNeeded,
}

impl Answer {
    /// To `wish`, when `begun` is under way. One that has begun with the difference and wishes for all has forgotten its rows meanwhile; one whose difference has
    /// begun is not told that it needs all, for it would forget the rows that it is taken to have.
    fn to(wish: Fill, begun: Option<Fill>, is_known: bool) -> Self {
        match (wish, begun) {
            (_, Some(Fill::All)) | (Fill::Difference, Some(Fill::Difference)) => Self::GoOn,
            (Fill::Difference, None) if !is_known => Self::AllNeeded,
            (Fill::Difference, None) | (Fill::All, _) => Self::Begin,
        }
    }
}

fn log_damaged(core: CoreId, target: Target, damaged: u64) {
    if damaged > 0 {
        tracing::error!(
            core = core.0,
            node = target.0.0,
            damaged,
            "rows of a slot cannot be read and were not copied; the replica does not have what they say"
        );
    }
}

/// What is done in slices.
#[derive(Clone, Copy)]
enum Task {
    Wipe,
    OwnTail,
    Fill(Target),
}

impl Core {
    /// What a replica asks of this primary; `None` if it makes no sense.
    pub(super) fn request_of_replica<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        target: Target,
        kind: Kind,
        body: &[u8],
    ) -> Option<()> {
        let (_, body) = split_version(kind.0, body)?;
        if kind.0 == WANTED {
            let (fill, slots) = read_wanted(body)?;
            self.fill_wanted(reactor, target, fill, &slots);
        } else {
            self.keys_wanted(target, body);
        }
        Some(())
    }

    /// As primary: a replica asks to be filled.
    fn fill_wanted<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, target: Target, fill: Fill, slots: &Slots) {
        let now_us = reactor.now().monotonic_us;
        let Some(cluster) = &mut self.cluster else { return };
        if cluster.fillings.given_up_until(target, now_us).is_some() {
            cluster.fillings.postponed.push((target, fill, slots.clone()));
            return;
        }
        let known = cluster.differences.known_of(target.0).map(Sequence).filter(|known| !self.shard.purged_above(*known));
        let (mut changed, mut unknown) = (Vec::new(), Slots::default());
        for (name, slot, wanted) in slots.iter() {
            let Some(keyspace) = cluster.view.number_of(name) else { continue };
            let filling = cluster.view.assignment(keyspace, slot).and_then(|assignment| assignment.filling_of(target.0));
            let Some(named) = filling.filter(|filling| filling.0 == wanted) else { continue };
            let tables: Vec<_> = cluster.view.tables_of(keyspace).collect();
            let Some(local) = cluster.roles.get_mut(keyspace, slot).filter(|local| local.role == Role::Primary) else { continue };
            let begun = local.filling.iter().find(|(node, filling, _)| (*node, *filling) == (target.0, named)).map(|(.., fill)| *fill);
            match Answer::to(fill, begun, known.is_some()) {
                Answer::GoOn => continue,
                Answer::AllNeeded => {
                    unknown.push(name, slot, wanted);
                    continue;
                }
                Answer::Begin => {}
            }
            local.stop_filling(target.0);
            local.filling.push((target.0, named, fill));
            let place = (keyspace, slot);
            let filling = cluster.fillings.of(target);
            filling.sent.remove(&place);
            filling.jobs.retain_mut(|job| match job {
                Job::Slot { place: known, .. } => *known != place,
                Job::Tail { places, .. } => {
                    places.remove(&place);
                    true
                }
                Job::Keys(_) | Job::Agreement(_) => true,
            });
            if fill == Fill::All {
                filling.jobs.push_back(Job::Slot { place, scan: SlotScan::new(tables, slot) });
            }
            changed.push(place);
        }
        if let (Fill::Difference, Some(known), false) = (fill, known, changed.is_empty()) {
            let tables: BTreeSet<TableId> = changed.iter().flat_map(|place| cluster.view.tables_of(place.0)).collect();
            let walk = self.shard.tail_walk(tables, known);
            cluster.fillings.of(target).jobs.push_back(Job::Tail { places: changed.iter().copied().collect(), walk });
        }
        if !unknown.0.is_empty() {
            let version = cluster.view.version().to_le_bytes();
            cluster.send(reactor, target, ALL_NEEDED, |body| {
                body.extend_from_slice(&version);
                unknown.write(body);
            });
        }
        if changed.is_empty() {
            return;
        }
        tracing::info!(core = self.core.0, node = target.0.0, slots = changed.len(), ?fill, "fills a replica");
        self.serve_slots(&changed);
    }

    /// As primary: a replica may have other rows of these keys.
    fn keys_wanted(&mut self, target: Target, mut body: &[u8]) {
        let Some(cluster) = &mut self.cluster else { return };
        let mut keys = VecDeque::new();
        while let Some(key) = read_key(&mut body) {
            let place = cluster.view.keyspace_of(key.table).map(|keyspace| (keyspace, key.token.slot()));
            let is_mine =
                place.and_then(|(keyspace, slot)| cluster.roles.get(keyspace, slot)).is_some_and(|local| local.role == Role::Primary);
            if is_mine {
                keys.push_back(owned(&key));
            }
        }
        if !keys.is_empty() {
            cluster.fillings.of(target).jobs.push_back(Job::Keys(keys));
        }
    }

    /// Goes on with everything that is under way. Gives the time at which to be called again; 0 for at once.
    pub(super) fn fill<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        self.ask(reactor);
        let postponed_due_us = self.fill_postponed(reactor);
        let now_us = reactor.now().monotonic_us;
        let mut ready: BTreeSet<u32> = self.shard.take_scans_ready().collect();
        let cluster = self.cluster.as_mut()?;
        ready.extend(self.shard.end_scans(|number| cluster.fillings.scans(number)));
        let ClusterCore { fillings, links, budget, .. } = &mut **cluster;
        fillings.wipe_waits &= !ready.contains(&WIPE);
        fillings.own_tail_waits &= !ready.contains(&OWN_TAIL);
        for (target, filling) in &mut fillings.by_target {
            filling.waits &= !ready.contains(&filling.number);
            if let Some(link) = links.outgoing.get(target) {
                filling.window.acknowledged(link.stream.images().done, link.stream.writes_pushed(), *budget, now_us);
            }
        }
        let targets: Vec<Target> = fillings.by_target.keys().copied().collect();
        let mut goes_on = false;
        for target in &targets {
            for _ in 0..URGENT_BITES_PER_TURN {
                let is_urgent =
                    self.cluster.as_ref().and_then(|cluster| cluster.fillings.by_target.get(target)).is_some_and(Filling::is_urgent);
                if !is_urgent || self.fill_target(reactor, *target).is_none() {
                    break;
                }
                goes_on = true;
            }
        }
        let due_us = self.migrate(reactor, &targets);
        for target in targets {
            self.wait_for_filled(target);
            self.propose_filled(reactor, target);
        }
        if goes_on { Some(0) } else { [due_us, postponed_due_us].into_iter().flatten().min() }
    }

    /// Fills replicas that have waited long enough. Gives the time at which to look again.
    fn fill_postponed<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now_us = reactor.now().monotonic_us;
        let Fillings { given_up, postponed, .. } = &mut self.cluster.as_mut()?.fillings;
        let until_us = |target: &Target| given_up.get(target).map_or(0, |given_up| given_up.until_us);
        let ripe: Vec<_> = postponed.extract_if(.., |(target, ..)| now_us >= until_us(target)).collect();
        let due_us = postponed.iter().map(|(target, ..)| until_us(target)).min();
        for (target, fill, slots) in ripe {
            self.fill_wanted(reactor, target, fill, &slots);
        }
        due_us
    }

    /// A slice of what clients need not wait for. Gives the time at which to go on.
    fn migrate<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, targets: &[Target]) -> Option<u64> {
        let cluster = self.cluster.as_mut()?;
        let Fillings { by_target, wipes, own_tail, walked_next, next_task, .. } = &cluster.fillings;
        let is_idle = wipes.is_empty() && own_tail.is_none() && walked_next.is_empty();
        if is_idle && by_target.values().all(|filling| filling.jobs.is_empty()) {
            cluster.note_progress(reactor.now().monotonic_us, false);
            return None;
        }
        let mut slice = Slice::begin(cluster.budget, reactor.clock_us());
        let mut due_us = cluster.rest.due_us(reactor.slept_us(), reactor.clock_us());
        if due_us.is_none() {
            let mut tasks = VecDeque::from([Task::Wipe, Task::OwnTail]);
            tasks.extend(targets.iter().map(|target| Task::Fill(*target)));
            let first = *next_task % tasks.len();
            tasks.rotate_left(first);
            while let Some(task) = tasks.pop_front() {
                let worked = match task {
                    Task::Wipe => self.wipe(reactor),
                    Task::OwnTail => self.walk_own_tail(reactor),
                    Task::Fill(target) => self.fill_target(reactor, target),
                };
                // One that has nothing to do is out, and takes no time.
                if worked.is_none() {
                    continue;
                }
                tasks.push_back(task);
                slice.take();
                if slice.is_over(reactor.clock_us()) {
                    break;
                }
            }
            let now_us = reactor.clock_us();
            let cluster = self.cluster.as_mut()?;
            cluster.fillings.next_task = first + 1;
            if slice.has_bites() {
                cluster.rest.worked(&slice, reactor.slept_us(), now_us);
            }
            let paused_until_us = || cluster.fillings.by_target.values().filter_map(|filling| filling.paused_until_us(now_us)).min();
            due_us = if tasks.is_empty() { paused_until_us() } else { Some(0) };
        }
        let cluster = self.cluster.as_mut()?;
        cluster.note_progress(reactor.now().monotonic_us, due_us.is_some_and(|due_us| due_us > 0));
        due_us
    }

    /// A bite of the first job of a replica; `None` if there is nothing to do for now.
    fn fill_target<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, target: Target) -> Option<()> {
        let now = reactor.now();
        let cluster = self.cluster.as_mut()?;
        // Nothing is made for one that is not there: it may never come back.
        let stream = &cluster.links.outgoing.get(&target).filter(|link| link.is_open())?.stream;
        let filling = cluster.fillings.by_target.get_mut(&target)?;
        let has_room = match filling.jobs.front()? {
            Job::Slot { .. } | Job::Tail { .. } => filling.window.has_room(stream.images().under_way(), now.monotonic_us),
            Job::Keys(_) | Job::Agreement(_) => stream.pending_bytes() <= PENDING_BYTES_MAX,
        };
        if filling.waits || !has_room || filling.failed_until_us(now.monotonic_us).is_some() {
            return None;
        }
        let job = filling.jobs.front_mut()?;
        // Never 0: what was committed before the first write could not be told from what is committed with it.
        let (sequence, timestamp_us) = (self.shard.engine().last_sequence().max(Sequence(1)), self.shard.last_timestamp_us());
        let mut batch = WriteBatch::new();
        match job {
            Job::Slot { place, scan } => {
                let (place, mut is_sent) = (*place, false);
                // Before anything is asked of the shard: what is read for one scan the next must not take for its own.
                if !cluster.roles.get(place.0, place.1).is_some_and(|local| local.fills(target.0)) {
                    filling.jobs.pop_front();
                    return Some(());
                }
                match self.shard.scan_slot(now, filling.number, scan, BITE_BYTES, &mut batch) {
                    Err(error) => {
                        tracing::warn!(core = self.core.0, node = target.0.0, %error, "a slot cannot be copied for now");
                        filling.failed(now.monotonic_us);
                        return None;
                    }
                    Ok(Bite::Waits) => filling.waits = true,
                    Ok(Bite::More) => {}
                    Ok(Bite::End) => {
                        log_damaged(self.core, target, scan.damaged());
                        filling.jobs.pop_front();
                        filling.progress.slot_ended();
                        is_sent = true;
                    }
                }
                filling.progress.sent(batch.bytes().len());
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
                let bite = self.shard.tail_images(now, filling.number, walk, &wants, BITE_BYTES, &mut batch);
                let mut ended = BTreeSet::new();
                match bite {
                    Err(error) => {
                        tracing::warn!(core = self.core.0, node = target.0.0, %error, "what a replica has missed cannot be read for now");
                        filling.failed(now.monotonic_us);
                        return None;
                    }
                    Ok(Bite::Waits) => filling.waits = true,
                    Ok(Bite::More) => {}
                    Ok(Bite::End) => {
                        log_damaged(self.core, target, walk.damaged());
                        ended = std::mem::take(places);
                        filling.jobs.pop_front();
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
                    filling.jobs.pop_front();
                    return Some(());
                };
                let (Some(keyspace), slot) = first else {
                    keys.pop_front();
                    return Some(());
                };
                keys.make_contiguous();
                let of_slot = keys.iter().take_while(|key| place_of(key) == first).count();
                let (slice, _) = keys.as_slices();
                match self.shard.images(now, filling.number, slice.split_at(of_slot), BITE_BYTES, &mut batch) {
                    Err(error) => {
                        tracing::warn!(core = self.core.0, node = target.0.0, %error, "rows cannot be copied for now");
                        filling.failed(now.monotonic_us);
                        return None;
                    }
                    Ok(None) => filling.waits = true,
                    Ok(Some(count)) => {
                        keys.drain(..count);
                        if !batch.is_empty() {
                            cluster.send_image(target, keyspace, slot, sequence, timestamp_us, batch.bytes());
                        }
                    }
                }
            }
            Job::Agreement(places) => {
                let places = std::mem::take(places);
                filling.jobs.pop_front();
                filling.agreements.push((places, stream.mark()));
            }
        }
        if !batch.is_empty() {
            self.cluster.as_mut()?.image_sent(target, reactor.clock_us());
        }
        Some(())
    }

    /// As primary: in slots whose images a replica has, nothing is acknowledged from now on that it does not have. Not before: clients' writes would wait for images,
    /// and a replica that needs long for them would be dropped.
    fn wait_for_filled(&mut self, target: Target) {
        let Some(cluster) = &mut self.cluster else { return };
        let ClusterCore { fillings, links, roles, .. } = &mut **cluster;
        let Some(filling) = fillings.by_target.get_mut(&target) else { return };
        let Some(stream) = links.outgoing.get(&target).map(|link| &link.stream) else { return };
        let mut filled = Vec::new();
        for (place, sent) in filling.sent.iter_mut().filter(|(_, sent)| stream.has_passed(sent.mark)) {
            let local = roles.get_mut(place.0, place.1).filter(|local| local.fills(target.0) && !local.filled.contains(&target.0));
            if let Some(local) = local {
                local.filled.push(target.0);
                sent.mark = stream.mark();
                filled.push(*place);
            }
        }
        if !filled.is_empty() {
            self.serve_slots(&filled);
        }
    }

    /// As primary: what a replica has acknowledged makes it one in sync, or lets a new primary serve.
    fn propose_filled<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, target: Target) {
        let now_us = reactor.now().monotonic_us;
        let Some(cluster) = &mut self.cluster else { return };
        let ClusterCore { fillings, links, roles, view, .. } = &mut **cluster;
        let Some(filling) = fillings.by_target.get_mut(&target) else { return };
        let Some(stream) = links.outgoing.get(&target).map(|link| &link.stream) else { return };
        // It has all rows as they were then, and so have all others: what is not committed it would not know to have alone.
        let has_all = |place: &(KeyspaceNumber, Slot), sent: &Sent| {
            let Some(local) = roles.get(place.0, place.1).filter(|local| local.waits == Waits::default()) else { return false };
            let waits_for = local.set.map(|set| &roles.set(set).waits_for).into_iter().flatten();
            let mut others = waits_for.filter_map(|other| links.outgoing.get(other));
            stream.has_passed(sent.mark) && others.all(|link| link.stream.arrived() >= sent.sequence)
        };
        let is_filled = |place: &(KeyspaceNumber, Slot)| roles.get(place.0, place.1).filter(|local| local.filled.contains(&target.0));
        let mut waits = false;
        filling.sent.retain(|place, sent| {
            let local = roles.get(place.0, place.1).filter(|local| local.fills(target.0));
            waits |= local.is_some_and(|local| sent.is_proposed(local.epoch, now_us));
            local.is_some()
        });
        // One proposal at a time: what is sent meanwhile goes with the next.
        let mut slots: Vec<SlotEpochs> = Vec::new();
        let ready = filling.sent.iter_mut().filter(|(place, sent)| !waits && is_filled(place).is_some() && has_all(place, sent));
        for (place, sent) in ready.take(PROPOSED_SLOTS_MAX) {
            let (Some(local), Some(keyspace)) = (is_filled(place), view.keyspaces.get(usize::from(place.0.0))) else { continue };
            sent.proposed = Some((local.epoch, now_us));
            match slots.last_mut().filter(|slots| slots.keyspace == keyspace.name) {
                Some(of_keyspace) => of_keyspace.slots.push((place.1, local.epoch)),
                None => slots.push(SlotEpochs { keyspace: keyspace.name.clone(), slots: vec![(place.1, local.epoch)] }),
            }
        }
        let mut agreed = Vec::new();
        filling.agreements.retain(|(places, mark)| {
            let is_over = stream.has_passed(*mark);
            if is_over {
                agreed.extend_from_slice(places);
            }
            !is_over
        });
        if !slots.is_empty() {
            let count: usize = slots.iter().map(|of_keyspace| of_keyspace.slots.len()).sum();
            tracing::debug!(core = self.core.0, node = target.0.0, slots = count, "a replica has everything");
            reactor.send(CoreId(0), Message::Propose(Box::new(Command::InSync { node: target.0, slots })));
        }
        if !agreed.is_empty() {
            self.agreed(&agreed);
        }
    }
}

impl ClusterCore {
    /// As primary: all rows of these slots are in a replica's stream.
    fn all_sent(&mut self, target: Target, places: &[(KeyspaceNumber, Slot)], sequence: Sequence) {
        let mark = self.links.outgoing(target).stream.mark();
        self.fillings.of(target).sent.extend(places.iter().map(|place| (*place, Sent::up_to(mark, sequence))));
    }

    /// An image is in a replica's stream.
    fn image_sent(&mut self, target: Target, now_us: u64) {
        let Some(link) = self.links.outgoing.get(&target) else { return };
        if let Some(filling) = self.fillings.by_target.get_mut(&target) {
            filling.window.sent(link.stream.images().pushed, link.stream.writes_pushed(), now_us);
        }
    }

    /// Looks at how fills get on, for operators.
    pub(super) fn sample_fills(&mut self, now_us: u64) {
        for (target, filling) in &mut self.fillings.by_target {
            let done = self.links.outgoing.get(target).map_or(0, |link| link.stream.images().done);
            filling.progress.sample(done, now_us);
        }
    }

    /// How fills get on. `report` knows already what slots there are.
    pub(super) fn report_fills(&self, report: &mut CoreReport) {
        let mut fills: BTreeMap<NodeId, FillReport> = BTreeMap::new();
        // Only slots that the member has asked all of are counted in bytes.
        let bytes_a_slot = report.live_bytes / u64::from(report.primaries + report.secondaries).max(1);
        for (keyspace, slot, local) in self.roles.iter().filter(|(_, _, local)| local.role == Role::Primary) {
            for node in self.view.assignment(keyspace, slot).iter().flat_map(|assignment| assignment.learners.iter()) {
                let fill = fills.entry(node).or_insert_with(|| FillReport { node: node.0, held: Held::Unasked, ..FillReport::default() });
                fill.slots += 1;
                if local.fills(node) {
                    fill.held = Held::No;
                }
            }
        }
        for (target, given_up) in &self.fillings.given_up {
            // What is being filled has been taken up again.
            if let Some(fill) = fills.get_mut(&target.0).filter(|fill| fill.held != Held::No) {
                fill.held = given_up.why;
            }
        }
        for (target, filling) in &self.fillings.by_target {
            let Some(link) = self.links.outgoing.get(target) else { continue };
            let images = link.stream.images();
            let fill = fills.entry(target.0).or_insert_with(|| FillReport { node: target.0.0, ..FillReport::default() });
            let slots = filling.jobs.iter().filter(|job| matches!(job, Job::Slot { .. })).count() as u64;
            fill.left_bytes += slots * filling.progress.bytes_a_slot().unwrap_or(bytes_a_slot) + images.under_way();
            filling.progress.add_to(images.done, fill);
        }
        report.fills = fills.into_values().collect();
        report.to_wipe = self.fillings.wipes.len() as u32;
    }

    /// Notes what fills wait for from now on.
    fn note_progress(&mut self, now_us: u64, rests: bool) {
        for (target, filling) in &mut self.fillings.by_target {
            let under_way = self.links.outgoing.get(target).map_or(u64::MAX, |link| link.stream.images().under_way());
            let held = match filling.jobs.front() {
                None => Held::No,
                Some(_) if filling.waits => Held::Device,
                Some(_) if filling.window.is_full(under_way) || filling.paused_until_us(now_us).is_some() => Held::Replica,
                Some(_) if rests => Held::Clients,
                Some(_) => Held::No,
            };
            filling.progress.is_held(held, now_us);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_that_is_repeated_changes_nothing_and_one_for_all_begins_anew() {
        for is_known in [false, true] {
            assert_eq!(Answer::to(Fill::Difference, Some(Fill::Difference), is_known), Answer::GoOn, "it was accepted");
            assert_eq!(Answer::to(Fill::All, Some(Fill::Difference), is_known), Answer::Begin, "it has forgotten what it had");
            assert_eq!(Answer::to(Fill::All, Some(Fill::All), is_known), Answer::GoOn);
            assert_eq!(Answer::to(Fill::All, None, is_known), Answer::Begin);
        }
        assert_eq!(Answer::to(Fill::Difference, None, true), Answer::Begin);
        assert_eq!(Answer::to(Fill::Difference, None, false), Answer::AllNeeded);
    }
}
