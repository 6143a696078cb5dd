//! A shard's part in replication: which slots it serves, which writes the secondaries must get, and how far they have them.
//!
//! The node tells, for each slot of a keyspace, whether this member is its primary, and of which *replica set*: the other members that must
//! have a write before it is acknowledged. The node numbers the sets; here a set is two sequences, `written` and `committed`.
//!
//! An operation that runs
//! 1. is refused when it touches a slot that is not served here, or when the lease has ended: before anything is written;
//! 2. leaves what it wrote in the outbox, a piece a slot, for the node to send;
//! 3. waits for every set whose rows it wrote, or saw while others may not have them yet.
//!
//! Invariants: no reply shows a write that may still be lost. While all writes of a set are committed, a read in it notes nothing. Rows of tables that are
//! not replicated cost one test of an `Option`.

mod outbox;
mod place;

pub use outbox::Written;
pub use place::{KeyspaceNumber, SetId};
pub(crate) use place::{Place, Slots, Spread, Touched};

use base::{SLOT_COUNT, Slot, TableId};
use engine::{Sequence, WriteBatch};
use model::operation::{StagedRow, Stop};
use outbox::Outbox;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// What this member is to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serving {
    /// Not its primary: operations are refused.
    No,
    /// Its primary, while a primary transfer is under way: operations are refused; replies of those that have run stay held.
    Closing,
    /// Its primary, and its only replica: writes are committed at once.
    Alone,
    /// Its primary: writes go to the outbox, and are committed once the whole set has them.
    With(SetId),
}

/// Whose rows an operation may read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Rows of slots that are served here, under the lease: linearizable.
    #[default]
    Primary,
    /// Rows of any slot, as this replica has them. Writes are refused as with `Primary`.
    AnyReplica,
}

#[derive(Clone, Copy, Default)]
struct Set {
    written: Sequence,
    committed: Sequence,
}

/// One word for each slot: its set, `ALONE` or `NOT_SERVED`.
struct SlotMap(Box<[u16; SLOT_COUNT as usize]>);

const NOT_SERVED: u16 = u16::MAX;
const ALONE: u16 = SetId::COUNT_MAX;

/// The state of replication.
#[derive(Default)]
pub(crate) struct Replication {
    /// By table.
    tables: Vec<(TableId, KeyspaceNumber)>,
    keyspaces: Vec<SlotMap>,
    sets: Vec<Set>,
    /// Slots that are closing, with the word that they had before.
    closing: BTreeMap<(KeyspaceNumber, Slot), u16>,
    /// Slots that another replica can serve, too.
    elsewhere: BTreeSet<(KeyspaceNumber, Slot)>,
    /// By keyspace, a bit for each slot whose rows nobody may read here: they may be behind, or wiped.
    unreadable: Vec<[u64; SLOT_COUNT as usize / 64]>,
    /// From this time on (monotonic) operations are refused.
    lease_until_us: u64,
    /// What the operation that runs has to wait for.
    touched: RefCell<Vec<Touched>>,
    /// Where the operation that runs is; `None` where nothing is replicated, or nothing is asked.
    place: Cell<Option<Place>>,
    /// Of the operation that runs: whether it may go anywhere, and whether the lease lasts.
    access: Access,
    is_leased: bool,
    outbox: Outbox,
}

impl Replication {
    fn keyspace_of(&self, table: TableId) -> Option<KeyspaceNumber> {
        let position = self.tables.binary_search_by_key(&table, |(table, _)| *table).ok()?;
        Some(self.tables[position].1)
    }

    pub(crate) fn is_replicated(&self, table: TableId) -> bool {
        self.keyspace_of(table).is_some()
    }

    pub(crate) fn set_tables(&mut self, tables: impl Iterator<Item = (TableId, KeyspaceNumber)>) {
        self.tables.clear();
        self.tables.extend(tables);
        self.tables.sort_unstable();
    }

    pub(crate) fn serve(&mut self, keyspace: KeyspaceNumber, slot: Slot, serving: Serving) {
        let number = usize::from(keyspace.0);
        while self.keyspaces.len() <= number {
            self.keyspaces.push(SlotMap(Box::new([NOT_SERVED; SLOT_COUNT as usize])));
        }
        let word = match serving {
            Serving::No | Serving::Closing => NOT_SERVED,
            Serving::Alone => ALONE,
            Serving::With(set) => {
                assert!(set.0 < SetId::COUNT_MAX, "sets are dense numbers");
                let least = usize::from(set.0) + 1;
                self.sets.resize_with(self.sets.len().max(least), Set::default);
                set.0
            }
        };
        let before = std::mem::replace(&mut self.keyspaces[number].0[usize::from(slot.0)], word);
        let before = self.closing.remove(&(keyspace, slot)).unwrap_or(before);
        if serving == Serving::Closing {
            self.closing.insert((keyspace, slot), before);
        }
        // Uncommitted writes of the slot stay uncommitted in its new set.
        if let Some(Set { written, committed }) = self.sets.get(usize::from(before)).copied()
            && written > committed
            && let Some(set) = self.sets.get_mut(usize::from(word))
        {
            set.written = set.written.max(written);
        }
    }

    pub(crate) fn set_elsewhere(&mut self, keyspace: KeyspaceNumber, slot: Slot, is_elsewhere: bool) {
        if is_elsewhere {
            self.elsewhere.insert((keyspace, slot));
        } else {
            self.elsewhere.remove(&(keyspace, slot));
        }
    }

    pub(crate) fn set_readable(&mut self, keyspace: KeyspaceNumber, slot: Slot, is_readable: bool) {
        let (number, word, bit) = (usize::from(keyspace.0), usize::from(slot.0) / 64, 1 << (slot.0 % 64));
        self.unreadable.resize(self.unreadable.len().max(number + 1), [0; SLOT_COUNT as usize / 64]);
        if is_readable {
            self.unreadable[number][word] &= !bit;
        } else {
            self.unreadable[number][word] |= bit;
        }
    }

    /// Whether any replica's rows may be read here, which an operation that has waited for the device has to ask once more.
    fn is_readable(&self, table: TableId, slot: Slot) -> bool {
        let bits = self.keyspace_of(table).and_then(|keyspace| self.unreadable.get(usize::from(keyspace.0)));
        bits.is_none_or(|bits| bits[usize::from(slot.0) / 64] & 1 << (slot.0 % 64) == 0)
    }

    /// Whether another replica can serve a slot of a table.
    pub(crate) fn is_elsewhere(&self, table: TableId, slot: Slot) -> bool {
        self.keyspace_of(table).is_some_and(|keyspace| self.elsewhere.contains(&(keyspace, slot)))
    }

    pub(crate) fn is_leased_at(&self, now_us: u64) -> bool {
        now_us < self.lease_until_us
    }

    pub(crate) fn set_lease(&mut self, until_us: u64) {
        self.lease_until_us = until_us;
    }

    fn word(&self, keyspace: KeyspaceNumber, slot: Slot) -> u16 {
        self.keyspaces.get(usize::from(keyspace.0)).map_or(NOT_SERVED, |map| map.0[usize::from(slot.0)])
    }

    /// Whether this member may still answer operations that have run in these slots, whatever the lease.
    pub(crate) fn serves_all(&self, slots: &Slots) -> bool {
        let keyspace = slots.keyspace;
        let is_closing = |slot| !self.closing.is_empty() && self.closing.contains_key(&(keyspace, Slot(slot)));
        (slots.first.0..=slots.last.0).all(|slot| self.word(keyspace, Slot(slot)) != NOT_SERVED || is_closing(slot))
    }

    /// An operation begins.
    pub(crate) fn begin(&mut self, now_us: u64, access: Access) {
        self.touched.get_mut().clear();
        self.place.set(None);
        self.access = access;
        self.is_leased = now_us < self.lease_until_us;
    }

    /// Checks that the operation may run in a slot of a table.
    pub(crate) fn enter(&self, table: TableId, slot: Slot) -> Result<(), Stop> {
        self.place.set(None);
        if self.access == Access::AnyReplica {
            return if self.is_readable(table, slot) { Ok(()) } else { Err(Stop::NotPrimary) };
        }
        self.place.set(self.locate(table, slot)?);
        Ok(())
    }

    fn locate(&self, table: TableId, slot: Slot) -> Result<Option<Place>, Stop> {
        // The node has not told yet whose table it is.
        let Some(keyspace) = self.keyspace_of(table) else { return Err(Stop::NotPrimary) };
        match self.word(keyspace, slot) {
            NOT_SERVED => Err(Stop::NotPrimary),
            _ if !self.is_leased => Err(Stop::NotPrimary),
            ALONE => Ok(None),
            set => Ok(Some(Place { keyspace, slot, set: SetId(set) })),
        }
    }

    /// All slots that an operation on a table may enter as their primary's; none for one that reads any replica's rows.
    pub(crate) fn served(&self, table: TableId) -> Vec<Slot> {
        let Some(keyspace) = self.keyspace_of(table).filter(|_| self.is_leased && self.access != Access::AnyReplica) else {
            return Vec::new();
        };
        (0..SLOT_COUNT as u16).map(Slot).filter(|slot| self.word(keyspace, *slot) != NOT_SERVED).collect()
    }

    /// A scan of a table passes these slots.
    pub(crate) fn enter_all(&self, table: TableId, first: Slot, last: Slot) -> Result<(), Stop> {
        (first.0..=last.0).try_for_each(|slot| self.enter(table, Slot(slot)))
    }

    /// The operation has seen a row of this sequence where it is.
    #[inline]
    pub(crate) fn saw(&self, sequence: Sequence) {
        let Some(place) = self.place.get() else { return };
        let Set { written, committed } = self.sets[usize::from(place.set.0)];
        if written > committed && sequence > committed {
            // A row that is newer than all writes of the set was committed before the slot joined it.
            self.touch(place, sequence.min(written), false);
        }
    }

    fn touch(&self, place: Place, sequence: Sequence, wrote: bool) {
        let Place { keyspace, slot, set } = place;
        let mut touched = self.touched.borrow_mut();
        // Scans stay in a slot for a while.
        if let Some(known) = touched.iter_mut().rev().find(|known| known.set == set && known.slots.keyspace == keyspace) {
            known.sequence = known.sequence.max(sequence);
            known.slots.first = known.slots.first.min(slot);
            known.slots.last = known.slots.last.max(slot);
            known.wrote |= wrote;
        } else {
            touched.push(Touched { set, sequence, slots: Slots { keyspace, first: slot, last: slot }, wrote });
        }
    }

    /// Where these rows go.
    ///
    /// # Errors
    /// `NotPrimary` when one of them may not be written here.
    pub(crate) fn spread<'a>(&self, mut rows: impl Iterator<Item = StagedRow<'a>>) -> Result<Spread, Stop> {
        let Some(first) = rows.next() else { return Ok(Spread::Several) };
        let place = self.place_of(&first)?;
        let mut spread = Spread::One(place, first.partition.table);
        for row in rows {
            if self.place_of(&row)? != place {
                spread = Spread::Several;
            }
        }
        Ok(spread)
    }

    /// Where a row goes.
    pub(crate) fn place_of(&self, row: &StagedRow<'_>) -> Result<Option<Place>, Stop> {
        self.locate(row.partition.table, row.partition.token.slot())
    }

    /// A batch was written, its last row with this sequence; rows of one place lie together in it.
    pub(crate) fn wrote(&mut self, spread: Spread, batch: &WriteBatch, last: Sequence, timestamp_us: i64) {
        match spread {
            Spread::One(None, _) => {}
            Spread::One(Some(place), table) => {
                self.outbox.append(batch.bytes());
                self.end_piece((place, table), last, timestamp_us);
            }
            Spread::Several => {
                let mut current: Option<(Place, TableId)> = None;
                // Of each row the sequence before its own.
                for (before_row, row) in (last.0 - batch.len() as u64..).zip(batch.rows()) {
                    let place = self.locate(row.key.table, row.key.token.slot()).ok().flatten();
                    if current.map(|(place, _)| place) != place {
                        if let Some(before) = current {
                            self.end_piece(before, Sequence(before_row), timestamp_us);
                        }
                        current = place.map(|place| (place, row.key.table));
                    }
                    if place.is_some() {
                        self.outbox.append(row.encoded);
                    }
                }
                if let Some(before) = current {
                    self.end_piece(before, last, timestamp_us);
                }
            }
        }
    }

    fn end_piece(&mut self, (place, table): (Place, TableId), sequence: Sequence, timestamp_us: i64) {
        self.outbox.end_piece(place, table, sequence, timestamp_us);
        let set = &mut self.sets[usize::from(place.set.0)];
        set.written = sequence;
        if sequence > set.committed {
            self.touch(place, sequence, true);
        }
    }

    /// The writes in the outbox.
    pub(crate) fn written(&self) -> impl Iterator<Item = Written<'_>> {
        self.outbox.written()
    }

    pub(crate) fn clear_written(&mut self) {
        self.outbox.clear();
    }

    /// Whether other members have yet to get what the operation that ran wrote or saw.
    #[inline]
    pub(crate) fn is_uncommitted(&self) -> bool {
        !self.touched.borrow().is_empty()
    }

    /// What the reply of the operation that ran has to wait for.
    pub(crate) fn take_touched(&mut self) -> impl Iterator<Item = Touched> + '_ {
        self.touched.get_mut().drain(..)
    }

    pub(crate) fn set_committed(&mut self, set: SetId, sequence: Sequence) {
        if let Some(set) = self.sets.get_mut(usize::from(set.0)) {
            set.committed = sequence;
        }
    }

    pub(crate) fn committed(&self, set: SetId) -> Sequence {
        self.sets.get(usize::from(set.0)).map_or(Sequence(0), |set| set.committed)
    }

    /// Up to here all writes are committed; `None` if no set has uncommitted writes.
    pub(crate) fn committed_in_all(&self) -> Option<Sequence> {
        self.sets.iter().filter(|set| set.written > set.committed).map(|set| set.committed).min()
    }

    pub(crate) fn last_written(&self, set: SetId) -> Sequence {
        self.sets.get(usize::from(set.0)).map_or(Sequence(0), |set| set.written)
    }
}
