//! The share of rebuilds in a turn: what clients wait for first, then a slice of the rest.

use crate::cluster::core::ClusterCore;
use crate::cluster::links::remote_core::RemoteCore;
use crate::cluster::rebuild::learner_state::Learner;
use crate::cluster::rebuild::queue::{OWN_TAIL, Queues, ReplicaQueue, VERIFY, WIPE};
use crate::cluster::rebuild::state::Rebuild;
use crate::cluster::replication::pacing::Slice;
use crate::core::Core;
use crate::message::Message;
use io::Reactor;
use shard::{BACKUP_SCAN, VECTORS_SCAN};
use std::collections::{BTreeSet, VecDeque};

/// So many chunks of what clients wait for are made a turn.
const URGENT_CHUNKS_PER_TURN: usize = 16;

/// What is done in slices.
#[derive(Clone, Copy)]
enum Task {
    Wipe,
    OwnTail,
    Verify,
    Rebuild(RemoteCore),
}

impl Core {
    /// Goes on with everything that is under way. Returns the time at which to be called again; 0 for at once.
    pub(crate) fn rebuild_turn<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        self.ask(reactor);
        let postponed_due_us = self.rebuild_postponed(reactor);
        let now_us = reactor.now().monotonic_us;
        let mut ready: BTreeSet<u32> = self.shard.take_scans_ready().collect();
        let cluster = self.cluster.as_mut()?;
        ready.extend(self.shard.end_scans(|number| number == BACKUP_SCAN || number == VECTORS_SCAN || cluster.rebuild.scans(number)));
        let ClusterCore { rebuild: Rebuild { queues, learner, verification, .. }, links, replication, .. } = &mut **cluster;
        learner.wipe_waits &= !ready.contains(&WIPE);
        learner.own_tail.waits &= !ready.contains(&OWN_TAIL);
        verification.waits &= !ready.contains(&VERIFY);
        for (target, queue) in &mut queues.by_target {
            queue.waits &= !ready.contains(&queue.number);
            if let Some(link) = links.outgoing.get(target) {
                queue.window.acknowledged(link.stream.images().done, link.stream.writes_pushed(), replication.budget, now_us);
            }
        }
        let targets: Vec<RemoteCore> = queues.by_target.keys().copied().collect();
        let mut goes_on = false;
        for target in &targets {
            for _ in 0..URGENT_CHUNKS_PER_TURN {
                let is_urgent = self
                    .cluster
                    .as_ref()
                    .and_then(|cluster| cluster.rebuild.queues.by_target.get(target))
                    .is_some_and(ReplicaQueue::is_urgent);
                if !is_urgent || self.send_images(reactor, *target).is_none() {
                    break;
                }
                goes_on = true;
            }
        }
        let due_us = self.migrate(reactor, &targets);
        for target in targets {
            self.wait_for_rebuilt(target);
            self.propose_in_sync(reactor, target);
        }
        if goes_on { Some(0) } else { [due_us, postponed_due_us].into_iter().flatten().min() }
    }

    /// A slice of what clients need not wait for. Returns the time at which to go on.
    fn migrate<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, targets: &[RemoteCore]) -> Option<u64> {
        let cluster = self.cluster.as_mut()?;
        let Rebuild { queues: Queues { by_target, next_task, .. }, learner: Learner { wipes, own_tail, .. }, verification, .. } =
            &cluster.rebuild;
        let is_idle = wipes.is_empty() && own_tail.walk.is_none() && own_tail.next_slots.is_empty() && verification.is_idle();
        if is_idle && by_target.values().all(|queue| queue.jobs.is_empty()) {
            cluster.note_progress(reactor.now().monotonic_us, false);
            return None;
        }
        let mut slice = Slice::begin(cluster.replication.budget, reactor.clock_us());
        let mut due_us = cluster.replication.rest.due_us(reactor.slept_us(), reactor.clock_us());
        if due_us.is_none() {
            let mut tasks = VecDeque::from([Task::Wipe, Task::OwnTail, Task::Verify]);
            tasks.extend(targets.iter().map(|target| Task::Rebuild(*target)));
            let first = *next_task % tasks.len();
            tasks.rotate_left(first);
            while let Some(task) = tasks.pop_front() {
                let worked = match task {
                    Task::Wipe => self.wipe(reactor),
                    Task::OwnTail => self.walk_own_tail(reactor),
                    Task::Verify => self.verify(reactor),
                    Task::Rebuild(target) => self.send_images(reactor, target),
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
            cluster.rebuild.queues.next_task = first + 1;
            if slice.has_chunks() {
                cluster.replication.rest.worked(&slice, reactor.slept_us(), now_us);
            }
            let paused_until_us = || cluster.rebuild.queues.by_target.values().filter_map(|queue| queue.paused_until_us(now_us)).min();
            due_us = if tasks.is_empty() { paused_until_us() } else { Some(0) };
        }
        let cluster = self.cluster.as_mut()?;
        cluster.note_progress(reactor.now().monotonic_us, due_us.is_some_and(|due_us| due_us > 0));
        due_us
    }
}
