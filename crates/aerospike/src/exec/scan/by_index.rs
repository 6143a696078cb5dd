//! A query with a filter: the records of a slot by the entries of an index, in the order of a scan.
//!
//! An entry proves nothing: the record is read and asked. A slot whose index is not complete yet, or in which too many entries are in the range, is
//! scanned: so the answer does not depend on how far an index is.

use super::piece::Piece;
use super::rows::{Digest, Look, Messages, Place, Rows, VISITED_BYTES_MAX, VISITED_ROWS_MAX};
use crate::index::{EntryRanges, FIRST_VALUE, Filter, place_of_entry};
use crate::record::Record;
use base::{Slot, TableId, Token};
use model::Table;
use model::operation::{
    Direction, EntryStretch, INDEX_OVERSIZE_KEY, INDEX_STATE_KEY, PartitionKey, Stop, Visit, index_slot_key, index_slot_token,
    is_index_complete,
};
use model::row::RowView;
use std::collections::BTreeSet;

/// A part looks at so many slots.
const SLOTS_MAX: u32 = 1_024;
/// A part reads so many stretches of entries into the filter that knows which slots have a value.
const COVERED_MAX: u32 = 8;
/// And so many of each.
const COVERED_ROWS_MAX: usize = 1024;
/// So many places are picked out of a slot's entries at a time.
const PICKED_MAX: usize = 256;
/// A slot with more entries in the range is scanned: those of a range are not in the order of the records.
const ENTRIES_MAX: usize = 8_192;
/// So many entries between two ranges are passed over before the start of the next range is looked for.
const PASSED_MAX: usize = 16;
/// A part looks at so many entries, and then only ends the slot that it is in.
const VISITED_ENTRIES_MAX: usize = 32_768;
/// While a part waits for the device, so many slots are read ahead.
const SLOTS_AHEAD: u32 = 128;
/// So many records are read from the device at a time.
const RECORDS_AT_ONCE: usize = 64;

/// What a part has looked at, in all its slots together.
#[derive(Default)]
struct Visited {
    entries: usize,
    /// Records, and places that turned out to have none.
    rows: usize,
    bytes: usize,
}

impl Visited {
    fn is_much(&self) -> bool {
        self.entries >= VISITED_ENTRIES_MAX || self.rows >= VISITED_ROWS_MAX || self.bytes >= VISITED_BYTES_MAX
    }

    fn ended(&self, reached: Option<Place>) -> Look {
        Look { reached, rows: self.rows, bytes: self.bytes }
    }
}

/// What is looked through.
pub(super) struct ByIndex<'a> {
    pub(super) rows: Rows<'a>,
    /// The set's table as it is now.
    pub(super) table: &'a Table,
    pub(super) filter: &'a Filter,
}

/// The last place there can be in a slot.
fn end_of_slot(slot: Slot) -> Place {
    let mut digest: Digest = [0xFF; 20];
    digest[..2].copy_from_slice(&(slot.0 | 0xF000).to_le_bytes());
    (slot.last_token(), digest)
}

impl ByIndex<'_> {
    /// Looks through the part's piece.
    pub(super) fn look(&self, piece: &Piece, found: &mut Messages) -> Result<Look, Stop> {
        let Some(index) = self.filter.index_of(self.table) else {
            return self.rows.look(piece, found);
        };
        let (mut at, mut last) = (piece.clone(), None);
        if at.after.map(|digest| (at.from, digest)) == Some(end_of_slot(at.from.slot())) {
            // A part before has looked through this slot: to do so again would pass for getting on.
            if at.from >= piece.until {
                return Ok(Visited::default().ended(None));
            }
            (at.from, at.after) = (Token(at.from.0 + 1), None);
        }
        let (mut slots, mut covered, mut visited) = (0, 0, Visited::default());
        loop {
            let here = at.from.slot();
            let next = match self.next_slot(index, here, piece.until.slot()) {
                Err(Stop::Miss) if last.is_some() => return Ok(visited.ended(last)),
                next => next?,
            };
            let Some((slot, is_covered)) = next else { return Ok(visited.ended(None)) };
            if slot != here {
                (at.from, at.after) = (slot.first_token(), None);
            }
            at.until = slot.last_token().min(piece.until);
            let reached = match self.slot(index, &at, is_covered, &mut covered, &mut visited, found) {
                Err(Stop::Miss) => {
                    self.read_ahead(index, &at, piece.until);
                    return if last.is_some() { Ok(visited.ended(last)) } else { Err(Stop::Miss) };
                }
                reached => reached?,
            };
            if reached.is_some() || at.until >= piece.until {
                return Ok(visited.ended(reached));
            }
            (last, slots) = (Some(end_of_slot(slot)), slots + 1);
            if slots == SLOTS_MAX || visited.is_much() || self.rows.has_enough(found) {
                return Ok(visited.ended(last));
            }
            (at.from, at.after) = (Token(at.until.0 + 1), None);
        }
    }

    /// The first slot from one on that may have entries in the range, and whether all of its entries are known to be there.
    fn next_slot(&self, index: TableId, from: Slot, last: Slot) -> Result<Option<(Slot, bool)>, Stop> {
        let prefixes = &self.filter.entries.prefixes;
        if prefixes.is_empty() {
            return Ok(Some((from, false)));
        }
        let mut first = None;
        for prefix in prefixes {
            let next = self.rows.store.next_slot((index, self.table.id), prefix, from, last)?;
            first = [first, next].into_iter().flatten().min_by_key(|(slot, _)| *slot);
            if first.is_some_and(|(slot, _)| slot == from) {
                break;
            }
        }
        Ok(first)
    }

    /// Looks through what is left of a slot; gives the last place that it has looked at, if there may be more.
    fn slot(
        &self,
        index: TableId,
        at: &Piece,
        is_covered: bool,
        covered: &mut u32,
        visited: &mut Visited,
        found: &mut Messages,
    ) -> Result<Option<Place>, Stop> {
        let slot = at.from.slot();
        let bytes = index_slot_key(slot);
        let partition = PartitionKey { table: index, token: index_slot_token(slot), bytes: &bytes };
        if !is_covered {
            let is_complete = is_index_complete(self.rows.store.get(&partition, INDEX_STATE_KEY)?);
            if !is_complete || self.rows.store.get(&partition, INDEX_OVERSIZE_KEY)?.is_some() {
                return self.scan(at, visited, found);
            }
            if !self.filter.entries.prefixes.is_empty() && *covered < COVERED_MAX {
                *covered += 1;
                let (prefix_of, rows_max) = (self.filter.entries.prefix_of(), COVERED_ROWS_MAX);
                self.rows.store.cover_slot(&EntryStretch { partition, first: FIRST_VALUE, prefix_of, rows_max, fetches: false })?;
            }
        }
        let (mut at, mut reached) = (at.clone(), None);
        loop {
            let Some((places, are_all)) = self.pick(&partition, &at, visited)? else { return self.scan(&at, visited, found) };
            for places in places.chunks(RECORDS_AT_ONCE) {
                let last = match self.read(places, &mut visited.bytes, found) {
                    Err(Stop::Miss) if reached.is_some() => return Ok(reached),
                    last => last?,
                };
                visited.rows += places.len();
                (at.from, at.after, reached) = (last.0, Some(last.1), Some(last));
                if visited.bytes >= VISITED_BYTES_MAX || self.rows.has_enough(found) {
                    return Ok(reached);
                }
            }
            if are_all {
                return Ok(None);
            }
            if visited.is_much() {
                return Ok(reached);
            }
        }
    }

    /// Looks through what is left of a slot row by row.
    fn scan(&self, at: &Piece, visited: &mut Visited, found: &mut Messages) -> Result<Option<Place>, Stop> {
        let look = self.rows.look(at, found)?;
        visited.rows += look.rows;
        visited.bytes += look.bytes;
        Ok(look.reached)
    }

    /// Asks for what the slots after this one need, so that it is read from the device together with what is missing here: their entries, and the records
    /// of those that are in memory already.
    fn read_ahead(&self, index: TableId, at: &Piece, until: Token) {
        let (mut at, mut records) = (at.clone(), 0);
        for _ in 0..SLOTS_AHEAD {
            if at.until >= until || records >= RECORDS_AT_ONCE {
                return;
            }
            let Ok(Some((slot, _))) = self.next_slot(index, Slot(at.until.slot().0 + 1), until.slot()) else { return };
            at = Piece { from: slot.first_token(), after: None, until: slot.last_token().min(until) };
            let bytes = index_slot_key(slot);
            let partition = PartitionKey { table: index, token: index_slot_token(slot), bytes: &bytes };
            let Ok(state) = self.rows.store.get(&partition, INDEX_STATE_KEY) else { continue };
            let Ok(Some((places, _))) =
                (if is_index_complete(state) { self.pick(&partition, &at, &mut Visited::default()) } else { Ok(None) })
            else {
                continue;
            };
            for (token, digest) in places.iter().take(RECORDS_AT_ONCE) {
                records += 1;
                // What comes of it shows when it is this slot's turn.
                let _ = self.rows.store.get(&PartitionKey { table: self.table.id, token: *token, bytes: digest }, &[]);
            }
        }
    }

    /// The first places of a piece that have entries, and whether those are all; `None` if there are too many entries to look at.
    fn pick(&self, partition: &PartitionKey<'_>, at: &Piece, all: &mut Visited) -> Result<Option<(Vec<Place>, bool)>, Stop> {
        let EntryRanges { ranges, value, .. } = &self.filter.entries;
        let (mut picked, mut are_all, mut visited) = (BTreeSet::new(), true, 0);
        let start = (at.from, at.after);
        let mut visit = |key: &[u8], row: &[u8]| {
            visited += 1;
            if visited > ENTRIES_MAX {
                // Those of one value come in order: what follows is there still.
                are_all = false;
                return Visit::Stop;
            }
            let Some(place) = place_of_entry(key).filter(|_| RowView::new(row).liveness().is_some()) else { return Visit::Continue };
            if (place.0, Some(place.1)) <= start || place.0 > at.until {
                return Visit::Continue;
            }
            picked.insert(place);
            if picked.len() > PICKED_MAX {
                picked.pop_last();
                are_all = false;
                // Those of one value only grow.
                return if value.is_some() { Visit::Stop } else { Visit::Continue };
            }
            Visit::Continue
        };
        match value {
            Some(value) => {
                let from = EntryRanges::from_place(value, at.from, at.after.as_ref());
                self.rows.store.scan(partition, &from, ranges[0].to.as_deref(), Direction::Forward, &mut visit)?;
            }
            None => self.scan_ranges(partition, &mut visit)?,
        }
        all.entries += visited;
        let are_too_many = visited > ENTRIES_MAX && (value.is_none() || picked.is_empty());
        Ok((!are_too_many).then(|| (picked.into_iter().collect(), are_all)))
    }

    /// Visits the entries of all ranges, and some between them: to pass over a few is quicker than to look for the start of each range.
    fn scan_ranges(&self, partition: &PartitionKey<'_>, visit: &mut dyn FnMut(&[u8], &[u8]) -> Visit) -> Result<(), Stop> {
        let ranges = &self.filter.entries.ranges;
        let end = ranges.last().and_then(|range| range.to.as_deref());
        let mut next = Some(0);
        while let Some(first) = next.take() {
            let (mut at, mut passed) = (first, 0);
            self.rows.store.scan(partition, &ranges[first].from, end, Direction::Forward, &mut |key, row| {
                at += ranges[at..].iter().take_while(|range| range.to.as_deref().is_some_and(|to| to <= key)).count();
                let Some(range) = ranges.get(at) else { return Visit::Stop };
                if key >= &range.from[..] {
                    passed = 0;
                    return visit(key, row);
                }
                passed += 1;
                if passed < PASSED_MAX {
                    return Visit::Continue;
                }
                next = Some(at);
                Visit::Stop
            })?;
        }
        Ok(())
    }

    /// Reads the records at some places, until they are too many bytes; gives the last place that it has looked at.
    fn read(&self, places: &[Place], bytes: &mut usize, found: &mut Messages) -> Result<Place, Stop> {
        let (mut is_missing, former, mut reached) = (false, found.len(), places[0]);
        for (token, digest) in places {
            let partition = PartitionKey { table: self.table.id, token: *token, bytes: digest };
            match self.rows.store.get(&partition, &[]) {
                // What else is on the device is read together with it.
                Err(Stop::Miss) => is_missing = true,
                Err(stop) => return Err(stop),
                Ok(_) if is_missing => {}
                Ok(row) => {
                    reached = (*token, *digest);
                    *bytes += row.map_or(0, <[u8]>::len);
                    let record = row.and_then(|row| Record::of_row(row, self.rows.context.now_s()));
                    if let Some(record) = record.filter(|record| self.rows.wants(record, digest, bytes)) {
                        let message = self.rows.message(digest, &record);
                        *bytes += message.len();
                        found.push((reached, message));
                    }
                    if *bytes >= VISITED_BYTES_MAX {
                        return Ok(reached);
                    }
                }
            }
        }
        if is_missing {
            found.truncate(former);
            return Err(Stop::Miss);
        }
        Ok(reached)
    }
}
