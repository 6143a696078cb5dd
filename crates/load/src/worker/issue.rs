//! What a thread sends, and on which connection: as there is room in a closed loop, as requests are due in an open one.

use super::{Issue, LOOK_NS, Worker, ns};
use crate::pacer::Schedule;
use crate::target::TargetError;
use crate::traffic::Pending;
use crate::workload::Pace;

impl Worker<'_> {
    /// Sends what is to be sent now, on connections that have room without a reply having come.
    pub(super) fn issue(&mut self, now_ns: u64) -> Issue {
        let drained = Issue::Closed { until_ns: now_ns + ns(self.common.plan.limits.request_s) + 2 * LOOK_NS };
        let any_left = match self.schedule {
            Some(schedule) => self.issue_due(schedule, now_ns),
            None => self.issue_free(now_ns),
        };
        if any_left { Issue::Open } else { drained }
    }

    /// Of a closed loop: fills connections that have room; `false` when nothing is left to be sent.
    fn issue_free(&mut self, now_ns: u64) -> bool {
        if now_ns >= self.end_ns || self.is_out_of_tickets {
            return false;
        }
        if self.router.is_some() {
            let any_left = self.fill_by_key(now_ns);
            self.flush_or_lose();
            return any_left;
        }
        for index in 0..self.connections.len() {
            if self.connections[index].has_room() {
                let any_left = self.fill(index, now_ns);
                // Also the last ones, of which there may be fewer than there is room for.
                if let Err(error) = self.connections[index].send_all() {
                    self.lose(index, &error);
                }
                if !any_left {
                    return false;
                }
            }
        }
        true
    }

    /// Of an open loop: sends what is due, as far as connections have room; `false` when nothing is left to be sent.
    fn issue_due(&mut self, mut schedule: Schedule, now_ns: u64) -> bool {
        // What is due before the end is sent after it too, as long as a request may take.
        if schedule.due_ns() >= self.end_ns || now_ns >= self.end_ns.saturating_add(ns(self.common.plan.limits.request_s)) {
            return false;
        }
        while schedule.due_ns() <= now_ns && schedule.due_ns() < self.end_ns {
            let Some(index) = self.with_room() else { break };
            if !self.traffic.take_ticket() {
                self.flush_or_lose();
                return false;
            }
            let pending = self.traffic.next(schedule.due_ns(), now_ns);
            schedule.advance();
            if self.router.is_some() {
                self.append_by_key(pending, index);
                continue;
            }
            self.connections[index].send(pending, &mut self.traffic);
            if let Err(error) = self.connections[index].send_all() {
                self.lose(index, &error);
            }
        }
        self.flush_or_lose();
        self.schedule = Some(schedule);
        self.wake_at(schedule.due_ns(), now_ns);
        true
    }

    /// Has the timer wake the loop then, if that is to come.
    fn wake_at(&mut self, due_ns: u64, now_ns: u64) {
        if due_ns > now_ns
            && due_ns != self.timer_ns
            && let Some(timer) = &self.timer
        {
            self.timer_ns = due_ns;
            // Without it the poll's own timeout wakes the loop, late by a millisecond.
            let _ = timer.set(due_ns - now_ns);
        }
    }

    /// A connection with room, each in its turn.
    fn with_room(&mut self) -> Option<usize> {
        if self.router.is_some() && self.room == 0 {
            return None;
        }
        let count = self.connections.len();
        let found = (0..count).map(|step| (self.turn + step) % count).find(|index| self.connections[*index].has_room())?;
        self.turn = (found + 1) % count;
        Some(found)
    }

    /// Fills a connection with requests if it is time to; `false` when none is left.
    pub(super) fn fill(&mut self, index: usize, now_ns: u64) -> bool {
        let connection = &mut self.connections[index];
        if self.common.plan.pace == Pace::Batches {
            if connection.in_flight() > 0 {
                return true;
            }
            self.traffic.begin_batch();
        }
        while connection.has_room() {
            if !self.traffic.take_ticket() {
                self.is_out_of_tickets = true;
                return false;
            }
            let pending = self.traffic.next(now_ns, now_ns);
            connection.send(pending, &mut self.traffic);
        }
        true
    }

    /// As [`Worker::fill`], of the whole thread where keys choose the connection.
    pub(super) fn fill_by_key(&mut self, now_ns: u64) -> bool {
        while let Some(index) = self.with_room() {
            if !self.traffic.take_ticket() {
                self.is_out_of_tickets = true;
                return false;
            }
            let pending = self.traffic.next(now_ns, now_ns);
            self.append_by_key(pending, index);
        }
        true
    }

    /// Appends a request to a connection that leads to its key, or to `other`, which has room, if all of these are down.
    #[inline]
    fn append_by_key(&mut self, pending: Pending, other: usize) {
        let key = self.traffic.key(&pending);
        let chosen = self.router.as_ref().and_then(|router| router.choose(key.as_slice(), &self.connections));
        let index = chosen.unwrap_or(other);
        self.connections[index].send(pending, &mut self.traffic);
        self.room -= 1;
        self.has_appended = true;
        self.mark_unflushed(index);
    }

    #[inline]
    pub(super) fn mark_unflushed(&mut self, index: usize) {
        if self.connections[index].mark_unflushed() {
            self.unflushed.push(index);
        }
    }

    /// Sends what was appended to connections; adds those that broke.
    pub(super) fn flush_appended(&mut self, broken: &mut Vec<(usize, TargetError)>) {
        let Some(router) = &mut self.router else { return };
        if std::mem::take(&mut self.has_appended) {
            router.next_turn();
        }
        for index in self.unflushed.drain(..) {
            if let Err(error) = self.connections[index].send_all()
                && broken.iter().all(|(known, _)| *known != index)
            {
                broken.push((index, error));
            }
        }
    }

    /// The same, where nothing else can have broken.
    fn flush_or_lose(&mut self) {
        let mut broken = Vec::new();
        self.flush_appended(&mut broken);
        broken.into_iter().for_each(|(index, error)| self.lose(index, &error));
    }
}
