//! A core's part of the audit log.

use super::queue::Account;
use super::{AuditConfig, AuditMessage, Category, Event, Failure, Lines, Operation, Source, WhenFull, line};
use io::ConnectionId;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How soon a core whose connections wait for the writer looks again.
const LOOK_EVERY_US: u64 = 2_000;

/// A protocol's number of a request on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestTag(pub(crate) u64);

/// What a core keeps for its audit log.
pub(crate) struct CoreAudit {
    config: AuditConfig,
    account: Arc<Account>,
    /// Lines of this turn.
    text: String,
    /// Requests whose reply is still to come.
    waiting: HashMap<ConnectionId, Vec<Waiting>>,
}

struct Waiting {
    tag: RequestTag,
    source: Source,
    events: Vec<Event>,
}

impl CoreAudit {
    pub(crate) fn new(config: AuditConfig) -> Self {
        Self { config, account: Arc::default(), text: String::new(), waiting: HashMap::new() }
    }

    /// See [`super::AuditFilter::may_want`].
    pub(crate) fn may_want(&self, category: Category) -> bool {
        self.config.filter.may_want(category)
    }

    /// What these tell has ended so.
    pub(crate) fn ended(&mut self, source: &Source, events: &[Event], failure: Option<&Failure>) {
        // Why a batch failed may quote any of its statements.
        let quotes = !events.iter().any(|event| matches!(event.operation, Operation::Masked(_)));
        for event in events {
            let category = failure.map_or(event.category, Failure::category);
            if !self.config.filter.wants(category, source.role(), event.keyspace.as_deref()) {
                continue;
            }
            if self.config.when_full == WhenFull::Drop && self.is_full() {
                self.config.untold.fetch_add(1, Ordering::Relaxed);
                self.account.dropped.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            line::append(&mut self.text, source, event, failure.map(|failure| (failure, quotes)));
        }
    }

    /// A request's reply comes later.
    pub(crate) fn waits(&mut self, connection: ConnectionId, tag: RequestTag, source: Source, events: Vec<Event>) {
        self.waiting.entry(connection).or_default().push(Waiting { tag, source, events });
    }

    /// A request has its reply.
    pub(crate) fn replied(&mut self, connection: ConnectionId, tag: RequestTag, failure: Option<&Failure>) {
        let Some(waiting) = self.waiting.get_mut(&connection) else { return };
        let Some(at) = waiting.iter().position(|waiting| waiting.tag == tag) else { return };
        let Waiting { source, events, .. } = waiting.swap_remove(at);
        self.ended(&source, &events, failure);
    }

    /// A connection has ended: nobody hears what comes of its requests.
    pub(crate) fn closed(&mut self, connection: ConnectionId) {
        for Waiting { source, events, .. } in self.waiting.remove(&connection).into_iter().flatten() {
            self.ended(&source, &events, Some(&Failure::Unknown));
        }
    }

    fn is_full(&self) -> bool {
        self.account.queued_bytes.load(Ordering::Acquire) + self.text.len() > self.config.queue_bytes_max
    }

    /// Whether no request may be served until the writer has caught up.
    pub(crate) fn blocks(&self) -> bool {
        self.config.when_full == WhenFull::Block && self.is_full()
    }

    /// How many lines were dropped since the start.
    pub(crate) fn dropped(&self) -> u64 {
        self.account.dropped.load(Ordering::Relaxed)
    }

    /// Gives the writer the lines of this turn. Returns in how many microseconds to be called again.
    pub(crate) fn turn(&mut self) -> Option<u64> {
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            self.account.queued_bytes.fetch_add(text.len(), Ordering::Relaxed);
            let lines = Lines { text, account: Arc::clone(&self.account) };
            // A writer that has ended takes no more: the process is about to end, too.
            let _ = self.config.writer.send(AuditMessage::Lines(lines));
        }
        self.blocks().then_some(LOOK_EVERY_US)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{AuditFilter, Categories, Names};
    use std::sync::mpsc::{Receiver, channel};

    const CONNECTION: ConnectionId = ConnectionId { index: 0, generation: 1 };

    fn audit(when_full: WhenFull) -> (CoreAudit, Receiver<AuditMessage>) {
        let (writer, lines) = channel();
        let filter = AuditFilter { categories: Categories::new(&[], &[]), roles: Names::default(), keyspaces: Names::default() };
        (CoreAudit::new(AuditConfig { filter, when_full, queue_bytes_max: 600, untold: Arc::default(), writer }), lines)
    }

    fn source() -> Source {
        Source { protocol: "cql", address: ([127, 0, 0, 1], 1).into(), role: None, wall_us: 0 }
    }

    fn event() -> Event {
        Event { category: Category::Query, kind: "SELECT", keyspace: None, object: None, operation: Operation::None }
    }

    fn count(lines: &Lines) -> u64 {
        lines.text().lines().count() as u64
    }

    fn next(lines: &Receiver<AuditMessage>) -> Lines {
        let Ok(AuditMessage::Lines(lines)) = lines.try_recv() else { panic!("there are lines") };
        lines
    }

    #[test]
    fn a_full_queue_drops_and_counts() {
        let (mut audit, lines) = audit(WhenFull::Drop);
        for _ in 0..20 {
            audit.ended(&source(), &[event()], None);
        }
        assert!(audit.turn().is_none() && !audit.blocks());
        let first = next(&lines);
        let queued = count(&first);
        assert!(queued > 0 && audit.dropped() == 20 - queued && first.text().len() < 1_000);
        audit.ended(&source(), &[event()], None);
        assert_eq!(audit.dropped(), 21 - queued, "what the writer has not written counts");
        drop(first);
        audit.ended(&source(), &[event()], None);
        audit.turn();
        assert_eq!((count(&next(&lines)), audit.config.untold.load(Ordering::Relaxed)), (1, 21 - queued));
    }

    #[test]
    fn a_full_queue_blocks_until_its_lines_are_written() {
        let (mut audit, lines) = audit(WhenFull::Block);
        for _ in 0..20 {
            audit.ended(&source(), &[event()], None);
        }
        assert!(audit.turn().is_some() && audit.blocks());
        let all = next(&lines);
        assert_eq!((count(&all), audit.dropped()), (20, 0));
        drop(all);
        assert!(audit.turn().is_none() && !audit.blocks());
    }

    #[test]
    fn a_request_that_waits_has_its_line_with_its_reply_or_the_end_of_its_connection() {
        let (mut audit, lines) = audit(WhenFull::Block);
        audit.waits(CONNECTION, RequestTag(1), source(), vec![event()]);
        audit.waits(CONNECTION, RequestTag(2), source(), vec![event()]);
        audit.replied(CONNECTION, RequestTag(2), Some(&Failure::Other("full".to_owned())));
        audit.replied(CONNECTION, RequestTag(3), None);
        audit.turn();
        let failed = next(&lines);
        assert!(count(&failed) == 1 && failed.text().contains("\"error\":\"full\""), "{}", failed.text());
        audit.closed(CONNECTION);
        audit.turn();
        assert!(next(&lines).text().contains("\"result\":\"unknown\""));
    }
}
