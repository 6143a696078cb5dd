//! What a core notes of its requests while they are under way, so that it can tell of those that were slow.

use crate::request_figures::{Class, RequestKind};
use base::TableId;
use cql::SlowRequest;
use cql::plan::Prepared;
use io::ConnectionId;
use shard::Outcome;
use std::sync::Arc;

/// So many are told of in one turn; more are only counted.
const PER_TURN_MAX: usize = 32;
/// A core logs so many in a second; the others are only kept.
const LINES_PER_SECOND: u32 = 5;
const SECOND_US: u64 = 1_000_000;

/// What a request is about.
#[derive(Clone, Debug, Default)]
pub(crate) enum Subject {
    #[default]
    Unknown,
    /// A prepared statement. Its id, for counting who holds it would make cores wait for each other.
    Prepared([u8; 16]),
    /// A statement that was planned for this request.
    Plan(Arc<Prepared>),
    /// The first of so many statements.
    Batch(Arc<Prepared>, usize),
    /// Rows of a table.
    Table(TableId),
}

/// What a request waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Waited {
    /// Something that no client's rows are about.
    #[default]
    Other,
    /// Its turn took that long.
    Core,
    /// It and others were answered in one turn; which of them took long is not known.
    Cores,
    /// Rows that are on the device.
    Device,
    /// The device, or other replicas, to have what was written or seen.
    Safety,
    /// The core or member that owns the partition.
    Owner,
    /// Several partitions.
    Parts,
}

impl Waited {
    /// What an operation waits for that has not been answered at once.
    pub(crate) fn of(outcome: &Outcome) -> Self {
        if matches!(outcome, Outcome::Unsynced(_)) { Self::Safety } else { Self::Device }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Core => "its own work on the core",
            Self::Cores => "work on the core, of this or another request of the same turn",
            Self::Device => "rows from the device",
            Self::Safety => "the device or other replicas",
            Self::Owner => "the owner of the partition",
            Self::Parts => "several partitions",
        }
    }
}

/// What is told of a request when it was slow.
#[derive(Clone, Debug, Default)]
pub(crate) struct About {
    pub(crate) subject: Subject,
    pub(crate) waited: Waited,
}

/// A request that has ended late.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) connection: ConnectionId,
    pub(crate) about: About,
    pub(crate) protocol: &'static str,
    pub(crate) kind: RequestKind,
    pub(crate) began_us: u64,
    pub(crate) ended_us: u64,
    pub(crate) number: u64,
}

/// Which requests of a core have taken too long.
#[derive(Debug)]
pub(crate) struct Watch {
    /// [`u64::MAX`] while nothing is.
    threshold_us: u64,
    /// What the request that is being started is about, if it should wait.
    starting: About,
    /// The prepared statement that was answered at once last, in this turn.
    at_once: Option<(ConnectionId, [u8; 16])>,
    /// The request that waited and ended last in this turn, in time.
    last: Option<Ended>,
    late: Vec<Ended>,
    numbers: u64,
    lines: u32,
    lines_from_us: u64,
    unlogged: u64,
    /// What the log of the node has yet to take.
    pub(super) told: Vec<SlowRequest>,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            threshold_us: u64::MAX,
            starting: About::default(),
            at_once: None,
            last: None,
            late: Vec::new(),
            numbers: 0,
            lines: 0,
            lines_from_us: 0,
            unlogged: 0,
            told: Vec::new(),
        }
    }
}

impl Watch {
    /// From now on requests are slow that take longer; 0 for none.
    #[inline]
    pub(crate) fn set_threshold_ms(&mut self, ms: u32) {
        self.threshold_us = if ms == 0 { u64::MAX } else { u64::from(ms) * 1_000 };
    }

    /// The request that is being started waits next: for this, and this is what it is about.
    #[inline]
    pub(crate) fn will_wait(&mut self, waited: Waited, subject: impl FnOnce() -> Subject) {
        if self.threshold_us != u64::MAX {
            self.starting = About { subject: subject(), waited };
        }
    }

    /// It waits.
    #[inline]
    pub(crate) fn waits(&mut self) -> About {
        if self.threshold_us == u64::MAX { About::default() } else { std::mem::take(&mut self.starting) }
    }

    /// A prepared statement was answered at once.
    #[inline]
    pub(crate) fn answered_at_once(&mut self, connection: ConnectionId, id: &[u8; 16]) {
        self.at_once = Some((connection, *id));
    }

    /// A request that waited has ended.
    pub(crate) fn ended(&mut self, connection: ConnectionId, about: About, (class, began_us): (Class, u64), now_us: u64) {
        if self.threshold_us == u64::MAX {
            return;
        }
        let (protocol, kind) = class.names();
        let ended = Ended { connection, about, protocol, kind, began_us, ended_us: now_us, number: 0 };
        if now_us.saturating_sub(began_us) >= self.threshold_us {
            self.tell(ended);
        } else {
            self.last = Some(ended);
        }
    }

    /// A turn that began at `began_us` has ended. `at_once`: how many requests it has answered at once, with the class of one.
    #[inline]
    pub(crate) fn turn_ended(&mut self, began_us: u64, now_us: u64, at_once: impl FnOnce() -> Option<(Class, u64)>) {
        if now_us.saturating_sub(began_us) >= self.threshold_us {
            self.slow_turn_ended(began_us, now_us, at_once());
        }
        (self.last, self.at_once) = (None, None);
    }

    #[cold]
    fn slow_turn_ended(&mut self, began_us: u64, now_us: u64, at_once: Option<(Class, u64)>) {
        let (last, prepared) = (self.last.take(), self.at_once.take());
        if let Some((class, requests)) = at_once {
            let prepared = prepared.filter(|_| requests == 1 && class.is_about_rows_of_cql());
            let subject = prepared.map_or(Subject::Unknown, |(_, id)| Subject::Prepared(id));
            let connection = prepared.map_or(crate::cluster::NOBODY, |(connection, _)| connection);
            let about = About { subject, waited: if requests == 1 { Waited::Core } else { Waited::Cores } };
            let (protocol, kind) = class.names();
            self.tell(Ended { connection, about, protocol, kind, began_us, ended_us: now_us, number: 0 });
        }
        if let Some(mut last) = last {
            // Its work was in this turn, or it was answered after somebody else's.
            last.ended_us = now_us;
            last.about.waited = if at_once.is_none() { Waited::Core } else { Waited::Cores };
            self.tell(last);
        }
    }

    #[cold]
    fn tell(&mut self, ended: Ended) {
        self.numbers += 1;
        if self.late.len() < PER_TURN_MAX {
            self.late.push(Ended { number: self.numbers, ..ended });
        }
    }

    /// How many requests were slow since the start.
    pub(crate) fn count(&self) -> u64 {
        self.numbers
    }

    /// Whether there is nothing to tell.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.late.is_empty() && self.told.is_empty()
    }

    /// Those of this turn.
    pub(super) fn take(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.late)
    }

    /// Whether something has ended that counts as slow if its turn is.
    #[inline]
    pub(crate) fn minds_turn(&self) -> bool {
        self.last.is_some()
    }

    /// Whether another one may be logged; if not, it counts as not logged.
    pub(super) fn may_log(&mut self, now_us: u64) -> bool {
        if now_us >= self.lines_from_us + SECOND_US {
            (self.lines_from_us, self.lines) = (now_us, 0);
        }
        let may = self.lines < LINES_PER_SECOND;
        self.lines += 1;
        self.unlogged += u64::from(!may);
        may
    }

    /// How many were not logged since one was.
    pub(super) fn take_unlogged(&mut self) -> u64 {
        std::mem::take(&mut self.unlogged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONNECTION: ConnectionId = ConnectionId { index: 3, generation: 1 };

    fn watch() -> Watch {
        let mut watch = Watch::default();
        watch.set_threshold_ms(5);
        watch
    }

    fn ended(watch: &mut Watch, began_us: u64, now_us: u64) {
        watch.will_wait(Waited::Device, || Subject::Table(TableId(9)));
        let about = watch.waits();
        watch.ended(CONNECTION, about, (Class::AEROSPIKE, began_us), now_us);
    }

    #[test]
    fn those_that_wait_too_long_are_told_of() {
        let mut watch = watch();
        ended(&mut watch, 0, 4_999);
        watch.turn_ended(4_999, 5_100, || None);
        assert!(watch.is_quiet());
        ended(&mut watch, 0, 5_000);
        let late = watch.take();
        let [ended] = &late[..] else { panic!("{late:?}") };
        assert_eq!((ended.protocol, ended.ended_us, ended.about.waited), ("aerospike", 5_000, Waited::Device));
        assert!(matches!(ended.about.subject, Subject::Table(TableId(9))));
    }

    #[test]
    fn what_a_turn_answers_has_taken_as_long_as_the_turn() {
        let mut watch = watch();
        let class = Class::CQL.with(RequestKind::Read);
        watch.answered_at_once(CONNECTION, &[7; 16]);
        watch.turn_ended(100, 5_099, || Some((class, 1)));
        assert!(watch.is_quiet());
        watch.turn_ended(100, 5_100, || Some((class, 1)));
        assert!(matches!(watch.take()[0].about, About { subject: Subject::Unknown, waited: Waited::Core }), "that was another turn's");
        watch.answered_at_once(CONNECTION, &[7; 16]);
        watch.turn_ended(100, 5_100, || Some((class, 1)));
        let late = watch.take();
        assert!(matches!(late[0].about.subject, Subject::Prepared(id) if id == [7; 16]));
        watch.answered_at_once(CONNECTION, &[7; 16]);
        watch.turn_ended(100, 5_100, || Some((class, 2)));
        assert!(matches!(watch.take()[0].about, About { subject: Subject::Unknown, waited: Waited::Cores }), "nobody knows which");
        ended(&mut watch, 90, 100);
        watch.turn_ended(100, 9_000, || None);
        let late = watch.take();
        assert_eq!((late[0].began_us, late[0].ended_us, late[0].about.waited), (90, 9_000, Waited::Core));
    }

    #[test]
    fn nothing_is_slow_without_a_threshold_and_much_is_bounded() {
        let mut watch = Watch::default();
        watch.set_threshold_ms(0);
        ended(&mut watch, 0, u64::MAX - 1);
        watch.turn_ended(0, u64::MAX - 1, || Some((Class::CQL, 1)));
        assert!(watch.is_quiet());
        watch.set_threshold_ms(1);
        (0..100).for_each(|_| ended(&mut watch, 0, 1_000));
        assert_eq!((watch.take().len(), watch.count()), (PER_TURN_MAX, 100));
        let logged = (0..100).filter(|_| watch.may_log(5 * SECOND_US)).count();
        assert_eq!((logged, watch.take_unlogged()), (LINES_PER_SECOND as usize, 95));
        assert!(watch.may_log(6 * SECOND_US));
    }
}
