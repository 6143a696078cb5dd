//! What transactions over several records keep in rows: locks, entries and monitors.
//!
//! A record that a transaction has written is locked: its row is what everybody else sees, and keeps a [`Lock`] with the row that it will be. Beside it, under the record's digest in the table of
//! monitors, lies an [`Entry`] by which the lock is found when its time is over. A monitor is the record by which the client says that its transaction begins and is committed; its
//! row keeps a [`Monitor`].
//!
//! | | bytes |
//! |---|---|
//! | lock | transaction (8), deadline (4), a row |
//! | entry | transaction (8), deadline (4), the name of the record's table: its number is another one where a backup is restored |
//! | monitor | deadline (4), state (1) |

use crate::digest::digest;
use crate::record::EPOCH_S;
use model::record_set::{DIGEST_BYTES, MONITOR_SET};

/// How long a transaction may last, unless its client says otherwise, and at most.
const SECONDS_DEFAULT: u32 = 10;
const SECONDS_MAX: u32 = 120;
/// A deadline that is further away was given by nobody whose clock is right.
const DEADLINE_AHEAD_S_MAX: u32 = SECONDS_MAX + 30;
/// So long after its deadline a monitor is kept, for clients that ask again what became of it.
const KEPT_S: u32 = 120;
/// How many records a transaction may write.
pub(crate) const RECORDS_MAX: usize = 4_096;

/// The first byte of an integer key.
const INTEGER_KEY: u8 = 1;

/// A record's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lock<'a> {
    /// The transaction.
    pub(crate) id: u64,
    pub(crate) deadline: Deadline,
    /// The row that it has written.
    pub(crate) image: &'a [u8],
}

/// Where a lock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub(crate) id: u64,
    pub(crate) deadline: Deadline,
    /// The name of the record's table.
    pub(crate) table: &'a str,
}

/// What is known of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Monitor {
    pub(crate) deadline: Deadline,
    pub(crate) state: State,
}

/// How far a transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    Committed,
    Aborted,
    /// The same, and none of its records is locked any more.
    CommittedDone,
    AbortedDone,
}

/// The last second of a transaction, since the protocol's clock started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deadline(pub(crate) u32);

fn u32_at(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*number), rest))
}

fn id_at(bytes: &[u8]) -> Option<(u64, Deadline, &[u8])> {
    let (id, rest) = bytes.split_first_chunk::<8>()?;
    let (deadline, rest) = u32_at(rest)?;
    Some((u64::from_be_bytes(*id), Deadline(deadline), rest))
}

impl Deadline {
    /// That of a transaction that begins now and lasts so many seconds; 0 if its client leaves that to the server.
    pub(crate) fn of_begin(now_s: u32, seconds: u32) -> Option<Self> {
        let seconds = if seconds == 0 { SECONDS_DEFAULT } else { seconds };
        (seconds <= SECONDS_MAX).then(|| Self(now_s.saturating_sub(EPOCH_S) + seconds))
    }

    /// Clocks tell whole seconds: a transaction has all of the last one.
    pub(crate) fn is_over(self, now_s: u32) -> bool {
        now_s.saturating_sub(EPOCH_S) > self.0
    }

    pub(crate) fn is_possible(self, now_s: u32) -> bool {
        self.0 <= now_s.saturating_sub(EPOCH_S).saturating_add(DEADLINE_AHEAD_S_MAX)
    }
}

impl<'a> Lock<'a> {
    pub(crate) fn read(kept: &'a [u8]) -> Option<Self> {
        let (id, deadline, image) = id_at(kept)?;
        Some(Self { id, deadline, image })
    }

    pub(crate) fn to_bytes(self) -> Vec<u8> {
        [&self.id.to_be_bytes()[..], &self.deadline.0.to_be_bytes(), self.image].concat()
    }
}

impl<'a> Entry<'a> {
    pub(crate) fn read(kept: &'a [u8]) -> Option<Self> {
        let (id, deadline, table) = id_at(kept)?;
        Some(Self { id, deadline, table: std::str::from_utf8(table).ok()? })
    }

    pub(crate) fn to_bytes(self) -> Vec<u8> {
        [&self.id.to_be_bytes()[..], &self.deadline.0.to_be_bytes(), self.table.as_bytes()].concat()
    }
}

impl Monitor {
    pub(crate) fn read(kept: &[u8]) -> Option<Self> {
        let (deadline, rest) = u32_at(kept)?;
        let state = match rest {
            [0] => State::Open,
            [1] => State::Committed,
            [2] => State::Aborted,
            [3] => State::CommittedDone,
            [4] => State::AbortedDone,
            _ => return None,
        };
        Some(Self { deadline: Deadline(deadline), state })
    }

    pub(crate) fn to_bytes(self) -> Vec<u8> {
        [&self.deadline.0.to_be_bytes()[..], &[self.state as u8]].concat()
    }

    pub(crate) fn is_done(self) -> bool {
        matches!(self.state, State::CommittedDone | State::AbortedDone)
    }

    /// Whether nobody asks after it any more.
    pub(crate) fn is_forgotten(self, now_s: u32) -> bool {
        self.is_done() && self.deadline.is_over(now_s.saturating_sub(KEPT_S))
    }
}

/// The digest of a transaction's monitor.
pub(crate) fn monitor_digest(id: u64) -> [u8; DIGEST_BYTES] {
    let [a, b, c, d, e, f, g, h] = id.to_be_bytes();
    digest(MONITOR_SET.as_bytes(), &[INTEGER_KEY, a, b, c, d, e, f, g, h])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let deadline = Deadline(7);
        let lock = Lock { id: u64::MAX - 1, deadline, image: b"row" };
        assert_eq!(Lock::read(&lock.to_bytes()), Some(lock));
        let entry = Entry { id: 1, deadline, table: "s" };
        assert_eq!(Entry::read(&entry.to_bytes()), Some(entry));
        for end in 0..entry.to_bytes().len() - 1 {
            assert_eq!(Entry::read(&entry.to_bytes()[..end]).filter(|_| end < 12), None, "{end}");
        }
        for state in [State::Open, State::Committed, State::Aborted, State::CommittedDone, State::AbortedDone] {
            let monitor = Monitor { deadline, state };
            assert_eq!(Monitor::read(&monitor.to_bytes()), Some(monitor));
            assert_eq!((Entry::read(&monitor.to_bytes()), Lock::read(&monitor.to_bytes())), (None, None));
        }
        assert_eq!(Monitor::read(&[0, 0, 0, 7, 5]), None);
        assert_eq!(Monitor::read(&entry.to_bytes()), None);
    }

    #[test]
    fn a_transaction_has_all_of_its_seconds_and_no_more_than_120() {
        let now_s = EPOCH_S + 1_000;
        let over = |seconds| Deadline::of_begin(now_s, seconds).map(|deadline| (0..200).find(|later| deadline.is_over(now_s + later)));
        assert_eq!([over(0), over(1), over(120)], [Some(Some(11)), Some(Some(2)), Some(Some(121))]);
        assert_eq!([over(121), over(u32::MAX), over(u32::MAX - 1)], [None; 3]);
        assert!(Deadline::of_begin(now_s, 120).is_some_and(|deadline| deadline.is_possible(now_s)));
        assert!(!Deadline(u32::MAX).is_possible(now_s));
    }

    #[test]
    fn a_monitor_is_kept_for_who_asks_again() {
        let now_s = EPOCH_S + 1_000;
        let monitor = Monitor { deadline: Deadline(1_000), state: State::CommittedDone };
        assert!(!monitor.is_forgotten(now_s + KEPT_S));
        assert!(monitor.is_forgotten(now_s + KEPT_S + 1));
        assert!(!Monitor { state: State::Committed, ..monitor }.is_forgotten(now_s + 10 * KEPT_S));
    }
}
