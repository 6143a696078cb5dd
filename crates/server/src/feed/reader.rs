//! Which stream is read when, and from where.
//!
//! A round goes over all streams once. It asks first which streams have anything new, 64 at a time, then reads those from where it has left them up to what it has
//! seen there. After a round the position says: all streams, up to a margin before the round began.

use super::change::{Assembly, Change};
use super::error::FeedError;
use super::log::{Log, quoted};
use super::position::{AHEAD_MAX, Mark, Position};
use super::source::{Page, Source};
use super::time_id::TimeId;
use base::{SLOT_COUNT, Slot};
use cql::cdc::log_table::{STREAM_ID, TIME};
use cql::cdc::stream;
use cql::wire::Rows;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::time::{Instant, UNIX_EPOCH};

/// By how much a position is earlier than what was read, in microseconds: more than the clocks of members differ, and than a write is under way.
const MARGIN_US: i64 = 30_000_000;
/// Of a log whose changes do not live long, this part of their life.
const MARGIN_PART: i64 = 4;
/// Who reads from the oldest row on is told if what is younger than this part of the life of changes gets lost, in tenths.
const OLDEST_TENTHS: i64 = 9;
/// Rows expire at whole seconds.
const EXPIRY_STEP_US: i64 = 1_000_000;
/// Streams that are asked for at once: a core that answers leaves other clients waiting for a fraction of a millisecond.
const PROBE_STREAMS: u16 = 64;
/// Rows of a page, for the same reason; it ends before if it gets longer than 1 MiB.
const PAGE_ROWS: u32 = 100;
const STREAMS: u16 = SLOT_COUNT as u16;

/// Where to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// With all that the log has.
    Oldest,
    /// With what is written from now on.
    Now,
    /// With what was written from this time on, in microseconds since 1970, and some of what was written shortly before.
    At(i64),
    /// After what was read before.
    Mark(Mark),
}

impl Since {
    /// Everything that was written before this time, in microseconds since 1970, is behind.
    pub(crate) fn behind_us(&self) -> i64 {
        match self {
            Self::Mark(mark) => mark.position.from_us,
            Self::At(time_us) => *time_us,
            Self::Oldest | Self::Now => 0,
        }
    }
}

impl std::str::FromStr for Since {
    type Err = FeedError;

    fn from_str(text: &str) -> Result<Self, FeedError> {
        Ok(match text {
            "oldest" => Self::Oldest,
            "now" => Self::Now,
            text => match time_us(text) {
                Some(time_us) => Self::At(time_us),
                None => Self::Mark(text.parse()?),
            },
        })
    }
}

/// A time as people and feeds write it, `2026-11-28T14:05:00Z`, in microseconds since 1970.
pub(crate) fn time_us(text: &str) -> Option<i64> {
    let since = humantime::parse_rfc3339_weak(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_micros()).ok()
}

/// What a step has found.
#[derive(Debug)]
pub(crate) enum Step {
    /// Changes of one stream, in their order.
    Changes(Vec<Change>),
    /// Nothing yet.
    Looking,
    /// All that was there when a round began has been told.
    CaughtUp,
}

/// Reads a table's log.
pub(crate) struct Reader<'c> {
    source: Source<'c>,
    log: Log,
    /// Up to where each stream is read.
    reached: Vec<TimeId>,
    position: Position,
    /// The time where the log is, and when that was.
    clock: (i64, Instant),
    /// When the round began, where the log is.
    began_us: Option<i64>,
    told_until_us: Option<i64>,
    /// For how long changes lived when it began.
    round_ttl_s: u32,
    /// Streams below it were asked for.
    probed: u16,
    /// Whether this reader asks for all streams in this round.
    is_whole: bool,
    /// Whether what is there is to be told.
    tells: bool,
    /// Streams with something new, and up to where.
    active: VecDeque<(u16, TimeId)>,
    page: PageState,
}

/// Where the reading of one stream stands.
#[derive(Default)]
struct PageState {
    assembly: Assembly,
    /// After a page that was not the last: where the first one began, and what the server wants to be told.
    next: Option<(TimeId, Vec<u8>)>,
}

impl<'c> Reader<'c> {
    /// Nothing is asked yet but the time.
    pub(crate) fn new(mut source: Source<'c>, log: Log, since: Since) -> Result<Self, FeedError> {
        let now_us = source.now_us()?;
        let tells = since != Since::Now;
        let mut position = Position {
            is_from_oldest: since == Since::Oldest,
            log: log.id,
            ttl_s: log.ttl_s,
            from_us: if log.ttl_s == 0 || since != Since::Oldest { 0 } else { now_us - life_us(log.ttl_s) / 10 * OLDEST_TENTHS },
            to_us: 0,
            stream: 0,
            reached: TimeId::FIRST,
        };
        let mut reached = vec![TimeId::FIRST; usize::from(STREAMS)];
        match since {
            Since::Oldest => position.to_us = position.from_us,
            Since::Now => {
                position.from_us = now_us - margin_us(log.ttl_s);
                position.to_us = position.from_us;
            }
            Since::At(time_us) => {
                position.from_us = time_us - margin_us(log.ttl_s);
                position.to_us = position.from_us;
                reached.fill(TimeId::last_of(position.from_us));
                check_age(now_us, position.from_us, log.ttl_s)?;
            }
            Since::Mark(Mark { position: former, ahead }) => {
                if former.log != log.id {
                    return Err(FeedError::Replaced);
                }
                position = former;
                let oldest = if former.is_from_oldest { TimeId::FIRST } else { TimeId::last_of(former.from_us) };
                for (slot, reached) in reached.iter_mut().enumerate() {
                    *reached = match slot.cmp(&usize::from(former.stream)) {
                        Ordering::Less => TimeId::last_of(former.to_us),
                        Ordering::Equal => former.reached.max(oldest),
                        Ordering::Greater => oldest,
                    };
                }
                for (slot, time) in ahead {
                    if let Some(reached) = reached.get_mut(usize::from(slot)) {
                        *reached = time.max(*reached);
                    }
                }
                check_age(now_us, former.from_us, shorter(former.ttl_s, log.ttl_s))?;
            }
        }
        Ok(Self {
            source,
            log,
            reached,
            probed: position.stream,
            position,
            clock: (now_us, Instant::now()),
            began_us: None,
            told_until_us: None,
            round_ttl_s: 0,
            is_whole: position.stream == 0,
            tells,
            active: VecDeque::new(),
            page: PageState::default(),
        })
    }

    /// The table and its log.
    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// What is known of the table now: it is asked for between rounds.
    pub(crate) fn set_log(&mut self, log: Log) -> Result<(), FeedError> {
        if log.id != self.log.id {
            return Err(FeedError::Replaced);
        }
        self.log = log;
        Ok(())
    }

    /// Where to go on after all that was told.
    pub(crate) fn mark(&self) -> Mark {
        let Position { is_from_oldest, from_us, to_us, stream, reached, .. } = self.position;
        let said = |slot: u16| match slot.cmp(&stream) {
            Ordering::Less => TimeId::last_of(to_us),
            Ordering::Equal => reached,
            Ordering::Greater if is_from_oldest => TimeId::FIRST,
            Ordering::Greater => TimeId::last_of(from_us),
        };
        let ahead = (0..STREAMS).zip(&self.reached).filter(|(slot, reached)| **reached > said(*slot));
        Mark { position: self.position, ahead: ahead.map(|(slot, reached)| (slot, *reached)).take(AHEAD_MAX).collect() }
    }

    /// Everything is told that was written before this time, in microseconds since 1970.
    pub(crate) fn complete_until_us(&self) -> i64 {
        self.position.from_us
    }

    /// The time where the log is, as far as it is known here.
    pub(crate) fn now_us(&self) -> i64 {
        let (at_us, at) = self.clock;
        at_us + i64::try_from(at.elapsed().as_micros()).unwrap_or(i64::MAX)
    }

    /// When the last round began at whose end all was told: what was written before then is behind.
    pub(crate) fn told_until_us(&self) -> Option<i64> {
        self.told_until_us
    }

    /// Asks for the next, for so many changes at most. After an error that may pass, the same again.
    pub(crate) fn step(&mut self, changes_max: u64) -> Result<Step, FeedError> {
        if self.began_us.is_none() {
            self.begin_round()?;
        }
        check_age(self.now_us(), self.position.from_us, self.position.ttl_s)?;
        if let Some((slot, until)) = self.active.front().copied() {
            let rows = u32::try_from(changes_max).map_or(PAGE_ROWS, |most| most.clamp(1, PAGE_ROWS));
            return self.read(slot, until, rows).map(Step::Changes);
        }
        if self.probed < STREAMS {
            self.probe()?;
            return Ok(Step::Looking);
        }
        let is_whole = std::mem::replace(&mut self.is_whole, true);
        let Position { to_us, .. } = self.position;
        let ttl_s = self.round_ttl_s;
        self.position = Position { is_from_oldest: false, ttl_s, from_us: to_us, stream: 0, reached: TimeId::FIRST, ..self.position };
        let began_us = self.began_us.take();
        (self.probed, self.tells) = (0, true);
        if !is_whole {
            return Ok(Step::Looking);
        }
        self.told_until_us = began_us;
        Ok(Step::CaughtUp)
    }

    fn begin_round(&mut self) -> Result<(), FeedError> {
        self.clock = (self.source.now_us()?, Instant::now());
        let (began_us, _) = self.clock;
        self.began_us = Some(began_us);
        // What was written while changes lived shorter is gone earlier.
        self.position.ttl_s = shorter(self.position.ttl_s, self.log.ttl_s);
        self.round_ttl_s = self.log.ttl_s;
        // What is left of a round that another reader has begun is as far as that one was.
        if self.is_whole {
            self.position.to_us = self.position.from_us.max(began_us - margin_us(self.log.ttl_s));
        }
        Ok(())
    }

    /// Asks which of the next streams have anything new.
    fn probe(&mut self) -> Result<(), FeedError> {
        let (from, to) = (self.probed, (self.probed + PROBE_STREAMS).min(STREAMS));
        let (id, time) = (quoted(STREAM_ID), quoted(TIME));
        let markers = vec!["?"; usize::from(to - from)].join(", ");
        let text = format!(
            "SELECT {id}, {time} FROM {} WHERE {id} IN ({markers}) AND {time} > ? ORDER BY {time} DESC PER PARTITION LIMIT 1",
            self.log.quoted()
        );
        let lowest = self.reached.get(usize::from(from)..usize::from(to)).and_then(|reached| reached.iter().min().copied());
        let lowest = lowest.unwrap_or(TimeId::FIRST).bytes();
        let mut values: Vec<&[u8]> = (from..to).map(|slot| &stream::of_slot(Slot(slot)).id[..]).collect();
        values.push(&lowest);
        let newest = self.source.rows(&text, &values, Page::default(), newest_times)?;
        let mut newest: Vec<(u16, TimeId)> = newest.into_iter().filter(|(slot, time)| self.reached_in(*slot) < *time).collect();
        newest.sort_unstable();
        if self.tells {
            self.active.extend(newest);
        } else {
            newest.into_iter().for_each(|(slot, time)| self.note(slot, time));
        }
        self.probed = to;
        if self.active.is_empty() {
            self.position.stream = to.min(STREAMS - 1);
            self.position.reached = TimeId::FIRST;
        }
        Ok(())
    }

    fn reached_in(&self, slot: u16) -> TimeId {
        self.reached.get(usize::from(slot)).copied().unwrap_or(TimeId::FIRST)
    }

    fn note(&mut self, slot: u16, time: TimeId) {
        if let Some(reached) = self.reached.get_mut(usize::from(slot)) {
            *reached = time;
        }
    }

    /// A page of a stream: no change has less than one row.
    fn read(&mut self, slot: u16, until: TimeId, rows: u32) -> Result<Vec<Change>, FeedError> {
        let (id, time) = (quoted(STREAM_ID), quoted(TIME));
        let text = format!("SELECT * FROM {} WHERE {id} = ? AND {time} > ? AND {time} <= ?", self.log.quoted());
        if self.position.stream != slot {
            self.position.reached = TimeId::FIRST;
            self.position.stream = slot;
        }
        let mut page = std::mem::take(&mut self.page);
        // A page that did not come is asked for again from the last whole change on.
        let reached = self.reached_in(slot);
        let (from, state) = page.next.take().map_or((reached, None), |(from, state)| (from, Some(state)));
        let mut before = Position { reached, ..self.position };
        let mut changes = Vec::new();
        let wanted = Page { rows: Some(rows), state: state.as_deref() };
        let values = [&stream::of_slot(Slot(slot)).id[..], &from.bytes(), &until.bytes()];
        let next = self.source.rows(&text, &values, wanted, |rows| {
            let next = rows.metadata.paging_state.map(<[u8]>::to_vec);
            page.assembly.take(rows, &mut before, &mut changes).map(|()| next)
        })??;
        self.position = before;
        self.note(slot, before.reached);
        match next {
            Some(state) => self.page = PageState { next: Some((from, state)), ..page },
            None => {
                // Up to there nothing comes any more, whether rows have expired meanwhile or not.
                self.note(slot, until);
                self.active.pop_front();
            }
        }
        Ok(changes)
    }
}

/// The streams of a result and the times of their newest rows.
fn newest_times(rows: &Rows<'_>) -> Vec<(u16, TimeId)> {
    let newest = rows.iter().filter_map(|mut row| {
        let (id, time) = (row.next()??, row.next()??);
        Some((cql::value::token(id).slot().0, TimeId::from_bytes(time.try_into().ok()?)))
    });
    newest.collect()
}

/// For how long changes are surely there.
fn life_us(ttl_s: u32) -> i64 {
    let life_us = i64::from(ttl_s) * 1_000_000;
    life_us - EXPIRY_STEP_US.min(life_us / 2)
}

fn margin_us(ttl_s: u32) -> i64 {
    if ttl_s == 0 { MARGIN_US } else { MARGIN_US.min(i64::from(ttl_s) * 1_000_000 / MARGIN_PART) }
}

/// The shorter of two lives; 0 is for ever.
fn shorter(one_s: u32, other_s: u32) -> u32 {
    if one_s == 0 || other_s == 0 { one_s.max(other_s) } else { one_s.min(other_s) }
}

/// Whether anything that was written after `from_us` may have expired.
fn check_age(now_us: i64, from_us: i64, ttl_s: u32) -> Result<(), FeedError> {
    let age_us = now_us - from_us;
    if ttl_s > 0 && age_us > life_us(ttl_s) {
        return Err(FeedError::Expired { ttl_s, age_s: age_us / 1_000_000 });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_to_begin_is_a_word_a_time_or_a_position() {
        let since = |text: &str| text.parse::<Since>().ok();
        assert_eq!((since("oldest"), since("now")), (Some(Since::Oldest), Some(Since::Now)));
        assert_eq!(since("1970-01-01T00:00:01.5Z"), Some(Since::At(1_500_000)));
        assert_eq!(since("2026-11-28 14:05:00"), since("2026-11-28T14:05:00Z"));
        for wrong in ["", "yesterday", "2026-11-28", "2026-13-28T14:05:00Z", "1969-12-31T23:59:59Z", "AQH0"] {
            assert_eq!(since(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_may_have_expired_is_told_in_time() {
        for ttl_s in [1, 2, 10, 3_600, u32::MAX] {
            let life_us = life_us(ttl_s);
            assert!(margin_us(ttl_s) < life_us && life_us < i64::from(ttl_s) * 1_000_000, "{ttl_s}");
            assert!(check_age(life_us, 0, ttl_s).is_ok() && check_age(life_us + 1, 0, ttl_s).is_err());
        }
        assert!(check_age(i64::MAX, 0, 0).is_ok(), "these live for ever");
        assert_eq!([(0, 0), (0, 5), (5, 0), (7, 5)].map(|(one, other)| shorter(one, other)), [0, 5, 5, 5]);
    }
}
