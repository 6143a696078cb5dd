//! The engine's calls about damage that is found while it serves; `damage` says what becomes of it.

use crate::damage::{DamagedPlaces, is_at, is_hit};
use crate::engine::Engine;
use crate::index::DamagedRow;
use crate::location::SegmentId;
use crate::recovery::REPORTS_MAX;
use base::{Slot, TableId, Token};
use std::collections::{BTreeMap, BTreeSet};

/// Places of the index that one slice of the walk looks at.
const SLICE_PLACES: usize = 4096;

impl Engine {
    /// Bytes of a segment are damaged, as the scrub or defragmentation has found.
    pub(crate) fn damage_found(&mut self, segment: SegmentId, offset: usize, bytes: usize) {
        self.report_damage_once(segment, offset, bytes);
        // The place may be known from an earlier use of the segment.
        self.damage_walk.note(segment, offset, bytes);
    }

    /// A record at this place is damaged, and who has met it does not know of which slot it is.
    pub fn damage_met(&mut self, segment: SegmentId, offset: usize) {
        self.damage_walk.note(segment, offset, 1);
    }

    /// Reports a damaged place, unless it is known. Returns whether it was not.
    pub(crate) fn report_damage_once(&mut self, segment: SegmentId, offset: usize, bytes: usize) -> bool {
        let is_new = !self.damage_reports.iter().any(|report| (report.segment, report.offset) == (segment, offset));
        if is_new {
            self.report_damage(segment, offset, bytes);
        }
        is_new
    }

    /// A slice of the walk. True when there is more to do.
    pub(crate) fn damage_tick(&mut self) -> bool {
        if self.damage_walk.cursor.is_none() {
            if self.damage_walk.next.is_empty() {
                return false;
            }
            self.damage_walk.ranges = std::mem::take(&mut self.damage_walk.next);
            self.damage_walk.cursor = Some((TableId(0), 0));
        }
        let Self { damage_walk, index, memory, .. } = self;
        let is_it = |location| is_hit(&damage_walk.ranges, memory.device_location(location));
        let (mut seen, mut found) = (0, Vec::new());
        let mut cursor = damage_walk.cursor;
        while let Some((table, slot)) = cursor.filter(|_| seen < SLICE_PLACES) {
            let Some(id) = index.table_ids().filter(|id| *id >= table).min() else {
                cursor = None;
                break;
            };
            let from = if id == table { usize::from(slot) } else { 0 };
            let Some((number, _)) = index.table(id).and_then(|table| table.next_slot(from)) else {
                cursor = id.0.checked_add(1).map(|next| (TableId(next), 0));
                continue;
            };
            let (is_named, places) = index.names_in(id, Slot(number as u16), &is_it);
            seen += 1 + places;
            if is_named {
                found.push((id, Slot(number as u16)));
            }
            cursor = Some((id, number as u16 + 1));
        }
        damage_walk.found.extend(found);
        damage_walk.cursor = cursor;
        true
    }

    /// Whether a slot of a table names a place that is known to be damaged. Once there are more than are kept nobody knows.
    #[must_use]
    pub fn names_damage(&self, table: TableId, slot: Slot) -> bool {
        if self.damage_reports.len() >= REPORTS_MAX {
            return true;
        }
        let mut ranges: BTreeMap<SegmentId, Vec<(usize, usize)>> = BTreeMap::new();
        for report in &self.damage_reports {
            ranges.entry(report.segment).or_default().push((report.offset, report.offset + report.bytes.max(1)));
        }
        let is_it = |location| is_hit(&ranges, self.memory.device_location(location));
        self.index.names_in(table, slot, &is_it).0
    }

    /// Slots, by table, in which the scrub or defragmentation has found damaged rows since the last call.
    pub fn take_damaged_slots(&mut self) -> BTreeSet<(TableId, Slot)> {
        std::mem::take(&mut self.damage_walk.found)
    }

    /// Keys of damaged rows of wide partitions: they can be overwritten.
    pub fn damaged_rows(&self, table: TableId, slot: Slot, places: &DamagedPlaces) -> Vec<(Token, Vec<u8>, Vec<u8>)> {
        let rows = self.index.rows_at(table, slot, &|location| is_at(places, self.memory.device_location(location)));
        rows.into_iter().map(|DamagedRow { token, partition, clustering }| (token, partition, clustering)).collect()
    }

    /// Forgets damaged pages, and damaged rows that are alone in their partitions, whose keys nobody knows any more. Their space is not used again.
    pub fn forget_damaged(&mut self, table: TableId, slot: Slot, places: &DamagedPlaces) {
        let Self { index, memory, .. } = self;
        index.forget_at(table, slot, &|location| is_at(places, memory.device_location(location)));
    }
}
