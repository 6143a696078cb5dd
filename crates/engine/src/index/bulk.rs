//! Rows that are alone in their partitions, many at once: recovery fills the index without waiting for memory at every row.
//!
//! Rows of one slot come together, sorted by token, those of one token in the order of the log. If they are many beside what the slot has,
//! they and its cells are merged into a new array in one pass; a few are put in one after the other, which a slot that is in the
//! processor's cache makes cheap. What a pass cannot decide (a token that has several keys, or a partition) is done one by one, too.
//!
//! Invariant: the outcome is that of `recover_alone` for each row in the order of the log.

use super::recover::{Collision, Hashed, Recovered, find_hashed};
use super::slot::{Entry, UNKNOWN_HASH};
use super::{Before, Index, TAIL_BITS, TAIL_MASK};
use crate::key::Key;
use crate::location::{Location, Target};
use base::{Slot, TableId, Token};

/// A slot that has more than so many times the cells that come is not laid out anew for them.
const MERGE_RATIO: usize = 4;

/// A row with an empty clustering key, as the log has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alone {
    /// The token in the order of the ring: slot, then tail.
    pub(crate) biased: u64,
    /// Of the partition key.
    pub(crate) hash: u64,
    pub(crate) location: Location,
    pub(crate) table: TableId,
}
const _: () = assert!(size_of::<Alone>() == 32);

impl Alone {
    pub(crate) fn slot(&self) -> Slot {
        Slot((self.biased >> TAIL_BITS) as u16)
    }

    fn tail(&self) -> u64 {
        self.biased & TAIL_MASK
    }

    fn token(&self) -> Token {
        Token::from_biased(self.biased)
    }
}

/// Who knows the order of places and keeps account of them.
pub(crate) trait Ledger {
    /// Whether `place` comes after `than` in the log, or is the same.
    fn is_later(&self, place: Location, than: Location) -> bool;
    /// What has become of a row.
    fn recovered(&mut self, location: Location, outcome: Recovered);
    /// A token has more than one partition key.
    fn collided(&mut self, collision: Collision);
    /// The hash of a partition key.
    fn hash(&self, partition: &[u8]) -> u64;
}

/// Cells with their hashes on their way into a slot; kept from slot to slot.
#[derive(Default)]
pub(crate) struct Merged {
    cells: Vec<Entry>,
    hashes: Vec<u64>,
}

impl Merged {
    pub(crate) fn bytes(&self) -> usize {
        self.cells.capacity() * size_of::<Entry>() + self.hashes.capacity() * size_of::<u64>()
    }

    fn push(&mut self, (cell, hash): (Entry, u64)) {
        self.cells.push(cell);
        self.hashes.push(hash);
    }
}

impl Index {
    /// Puts in rows of one slot of one table, sorted by token, those of one token in the order of the log.
    pub(crate) fn recover_slot(&mut self, rows: &[Alone], merged: &mut Merged, ledger: &mut impl Ledger) {
        let Some(first) = rows.first() else { return };
        let Some(table) = self.tables.get_mut(first.table) else { return };
        let (slot, page_bytes) = table.slot_mut(first.slot());
        self.cell_bytes += page_bytes;
        if slot.count() > MERGE_RATIO * rows.len() {
            rows.iter().for_each(|row| self.recover_alone(row, ledger));
            return;
        }
        let cells_before = slot.heap_bytes();
        slot.ensure_hashes();
        merged.cells.clear();
        merged.hashes.clear();
        let mut new = 0;
        let mut undecided: Vec<&[Alone]> = Vec::new();
        let mut old = slot.hashed_cells().peekable();
        for group in rows.chunk_by(|left, right| left.biased == right.biased) {
            let last = group.last().expect("a group has a row");
            let tail = last.tail();
            while let Some(before) = old.next_if(|(cell, _)| cell.tail < tail) {
                merged.push(before);
            }
            let mut here = old.next_if(|(cell, _)| cell.tail == tail);
            let one_key = group.iter().all(|row| row.hash == last.hash);
            let one_cell = old.peek().is_none_or(|(cell, _)| cell.tail != tail);
            let row = (Entry { tail, location: last.location }, last.hash);
            match here {
                // Of several versions of a key the last one counts.
                None if one_key => {
                    merged.push(row);
                    ledger.recovered(last.location, Recovered::New);
                    new += 1;
                }
                Some((cell, hash)) if one_key && one_cell && cell.location.is_record() && (hash == last.hash || hash == UNKNOWN_HASH) => {
                    if ledger.is_later(cell.location, last.location) {
                        merged.push((cell, if cell.location == last.location { last.hash } else { hash }));
                    } else {
                        merged.push(row);
                        ledger.recovered(last.location, Recovered::Replaced(cell.location));
                    }
                }
                _ => {
                    undecided.push(group);
                    while let Some(cell) = here {
                        merged.push(cell);
                        here = old.next_if(|(cell, _)| cell.tail == tail);
                    }
                }
            }
        }
        old.for_each(|cell| merged.push(cell));
        slot.replace(&merged.cells, &merged.hashes);
        self.cell_bytes = self.cell_bytes + slot.heap_bytes() - cells_before;
        table.add_rows(new);
        self.records = self.records.saturating_add_signed(new);
        undecided.into_iter().flatten().for_each(|row| self.recover_alone(row, ledger));
    }

    /// Points the key of a row that is alone in its partition to its place in the log, unless the index has a later one; later ones come in
    /// the order of the log.
    pub(crate) fn recover_alone(&mut self, row: &Alone, ledger: &mut impl Ledger) {
        let Some(table) = self.tables.get_mut(row.table) else { return };
        let (slot, page_bytes) = table.slot_mut(row.slot());
        let cells_before = slot.heap_bytes();
        self.cell_bytes += page_bytes;
        slot.ensure_hashes();
        let same_key = |partition: &[u8]| ledger.hash(partition) == row.hash;
        let Hashed { position, found, others } = find_hashed(&self.partitions, slot, row.tail(), row.hash, same_key, |_| true);
        let outcome = match found.map(|location| (location, location.target())) {
            Some((_, Target::Partition(number))) => {
                self.cell_bytes = self.cell_bytes + slot.heap_bytes() - cells_before;
                return self.recover_into_partition(row, number, others, ledger);
            }
            Some((old, _)) if ledger.is_later(old, row.location) => {
                if old == row.location {
                    slot.set_hash(position, row.hash);
                }
                Recovered::Known
            }
            Some((old, _)) => {
                slot.set_location(position, row.location);
                slot.set_hash(position, row.hash);
                Recovered::Replaced(old)
            }
            None => {
                slot.insert_hashed(row.tail(), others, row.location, Some(row.hash));
                Recovered::New
            }
        };
        self.cell_bytes = self.cell_bytes + slot.heap_bytes() - cells_before;
        self.note_alone(row, outcome, others, ledger);
    }

    fn recover_into_partition(&mut self, row: &Alone, number: u32, others: usize, ledger: &mut impl Ledger) {
        let known = self.partitions.get(number).rows.get(&[]).is_some_and(|old| ledger.is_later(old, row.location));
        if known {
            return;
        }
        // Its key is known to be the partition's.
        let key = Key { table: row.table, token: row.token(), partition: &[], clustering: &[] };
        let outcome = match self.insert_row(&key, number, row.location).0 {
            Before::Nothing => Recovered::New,
            Before::Row(old) => Recovered::Replaced(old),
        };
        self.note_alone(row, outcome, others, ledger);
    }

    fn note_alone(&mut self, row: &Alone, outcome: Recovered, others: usize, ledger: &mut impl Ledger) {
        ledger.recovered(row.location, outcome);
        if outcome == Recovered::New {
            self.add_rows(row.table, 1);
            if others > 0 {
                ledger.collided(Collision { table: row.table, token: row.token() });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::index::{Limits, Partition};
    use crate::location::SegmentId;
    use base::Rng;

    const TABLE: TableId = TableId(1);

    /// Remembers everything; places are in the order of their words.
    #[derive(Default)]
    struct Notes {
        live: std::collections::BTreeSet<u64>,
        collisions: std::collections::BTreeSet<Collision>,
    }

    impl Ledger for Notes {
        fn is_later(&self, place: Location, than: Location) -> bool {
            place >= than
        }

        fn recovered(&mut self, location: Location, outcome: Recovered) {
            if let Recovered::Replaced(old) = outcome {
                assert!(self.live.remove(&old.word()), "what is replaced was live");
            }
            assert!(outcome == Recovered::Known || self.live.insert(location.word()), "a place is counted once");
        }

        fn collided(&mut self, collision: Collision) {
            self.collisions.insert(collision);
        }

        fn hash(&self, partition: &[u8]) -> u64 {
            u64::from(partition[0])
        }
    }

    fn place(number: u64) -> Location {
        Location::record(SegmentId((number >> 10) as u32), 4096 + (number as usize & 1023) * 16, 16)
    }

    /// An index with cells of a checkpoint, of which some are of unknown keys, and some partitions.
    fn index(rng: &mut Rng, notes: &mut Notes, later: u64) -> Index {
        let mut index = Index::new(Limits { leaf_rows: 8, overlay_rows: 4 });
        index.create_table(TABLE);
        for tail in 0..40 {
            let location = place(if rng.below(2) == 0 { tail } else { later + tail });
            match rng.below(4) {
                0 => {
                    let number = {
                        let mut partition = Partition::new(&[1]);
                        partition.rows.insert(&[], location, &index.limits);
                        index.partitions.insert(partition)
                    };
                    let (slot, bytes) = index.tables.get_mut(TABLE).unwrap().slot_mut(Slot(7));
                    slot.insert_hashed(tail, 0, Location::partition(number), Some(0));
                    index.cell_bytes += bytes;
                }
                1 => {
                    let (slot, bytes) = index.tables.get_mut(TABLE).unwrap().slot_mut(Slot(7));
                    slot.insert_hashed(tail, 0, location, Some(UNKNOWN_HASH));
                    index.cell_bytes += bytes;
                }
                _ => continue,
            }
            notes.live.insert(location.word());
            index.add_rows(TABLE, 1);
        }
        let heap_bytes = index.tables.get(TABLE).unwrap().slot(Slot(7)).map_or(0, super::super::slot::SlotIndex::heap_bytes);
        index.cell_bytes += heap_bytes;
        index
    }

    fn contents(index: &Index) -> Vec<(u64, u64, Vec<u64>, Option<u64>)> {
        let slot = index.table(TABLE).unwrap().slot(Slot(7)).unwrap();
        let rows = |location: Location| match location.target() {
            Target::Partition(number) => index.partitions.get(number).rows.get(&[]).iter().map(|location| location.word()).collect(),
            _ => vec![location.word()],
        };
        let mut position = 0;
        let mut all = Vec::new();
        while let Some((at, cell)) = slot.next_from(position) {
            all.push((cell.tail, cell.location.word() >> 62, rows(cell.location), slot.hash(at)));
            position = at + 1;
        }
        all
    }

    #[test]
    fn many_at_once_are_as_one_after_the_other() {
        for seed in 0..300 {
            let later = 100_000;
            let mut worlds = [(); 2].map(|()| {
                let mut notes = Notes::default();
                (index(&mut Rng::new(seed), &mut notes, later), notes)
            });
            let mut rng = Rng::new(seed ^ 0xABCD);
            let (spread, keys) = (1 + rng.below(300), 1 + rng.below(3));
            let mut next = 1000;
            for _ in 0..4 {
                let count = rng.below(200);
                let mut rows: Vec<Alone> = (0..count)
                    .map(|_| {
                        next += 1;
                        let biased = 7 << TAIL_BITS | rng.below(spread);
                        Alone { biased, hash: 1 + rng.below(keys), location: place(next), table: TABLE }
                    })
                    .collect();
                // A row that the checkpoint has comes by in the log, too.
                if rng.below(2) == 0 {
                    let biased = 7 << TAIL_BITS | rng.below(40);
                    rows.push(Alone { biased, hash: 1, location: place(later + (biased & TAIL_MASK)), table: TABLE });
                }
                let (index, notes) = &mut worlds[0];
                rows.iter().for_each(|row| index.recover_alone(row, notes));
                rows.sort_by_key(|row| row.biased);
                let (index, notes) = &mut worlds[1];
                index.recover_slot(&rows, &mut Merged::default(), notes);
                let [(one, one_notes), (many, many_notes)] = &worlds;
                if rows.is_empty() {
                    continue;
                }
                assert_eq!(contents(one), contents(many), "seed {seed}");
                assert_eq!(one_notes.live, many_notes.live, "seed {seed}");
                assert_eq!(one_notes.collisions, many_notes.collisions, "seed {seed}");
                assert_eq!(one.rows(), many.rows(), "seed {seed}");
                let heap_bytes = many.table(TABLE).unwrap().slot(Slot(7)).unwrap().heap_bytes();
                assert_eq!(many.cell_bytes, many.table(TABLE).unwrap().bytes() + heap_bytes, "seed {seed}");
            }
        }
    }
}
