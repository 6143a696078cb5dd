//! The deletions that hide rows of one partition: of the whole, and of ranges of clustering keys.
//!
//! The deletion of a range is stored under the key `01`, length of `from` (two bytes, big-endian), `from`, `to`: it hides what was written
//! at or before its timestamp in rows with `from <= clustering key < to`, an empty `to` being the partition's end.

use super::HIDES_NOTHING;
use model::operation::RANGE_DELETION_PREFIX;
use model::row::RowView;

/// Up to this many ranges are looked through one by one; more are cut into pieces that do not overlap.
const LINEAR_RANGES_MAX: usize = 8;

/// The deletions of a partition.
pub(crate) struct Cover {
    /// The timestamp of the partition's deletion.
    partition: i64,
    ranges: Vec<Range>,
    /// Where the deletion changes, and to which timestamp, by ascending key; built when there are many ranges.
    steps: Vec<(Vec<u8>, i64)>,
}

struct Range {
    from: Vec<u8>,
    to: Option<Vec<u8>>,
    timestamp: i64,
}

impl Default for Cover {
    fn default() -> Self {
        Self { partition: HIDES_NOTHING, ranges: Vec::new(), steps: Vec::new() }
    }
}

impl Cover {
    /// Forgets all.
    pub(in crate::exec) fn clear(&mut self) {
        self.partition = HIDES_NOTHING;
        self.ranges.clear();
        self.steps.clear();
    }

    /// Notes the deletion in a partition's own row.
    pub(crate) fn note_partition(&mut self, row: &[u8]) {
        self.partition = RowView::new(row).deletion().map_or(HIDES_NOTHING, |deletion| deletion.timestamp);
    }

    /// Notes the deletion of a range: a row whose key starts with [`RANGE_DELETION_PREFIX`].
    pub(crate) fn note_range(&mut self, key: &[u8], row: &[u8]) {
        let Some(deletion) = RowView::new(row).deletion() else { return };
        let Some((from, to)) = parse(key) else { return };
        let covers_something = to.is_empty() || from < to;
        if covers_something && deletion.timestamp > self.partition {
            let to = if to.is_empty() { None } else { Some(to.to_vec()) };
            self.ranges.push(Range { from: from.to_vec(), to, timestamp: deletion.timestamp });
            self.steps.clear();
        }
    }

    /// What was written at or before this timestamp in the row at `clustering` is deleted.
    #[inline]
    pub(crate) fn hidden_until(&mut self, clustering: &[u8]) -> i64 {
        if self.ranges.is_empty() { self.partition } else { self.hidden_by_range(clustering) }
    }

    fn hidden_by_range(&mut self, clustering: &[u8]) -> i64 {
        if self.ranges.len() <= LINEAR_RANGES_MAX {
            return self
                .ranges
                .iter()
                .filter(|range| range.from.as_slice() <= clustering && range.to.as_ref().is_none_or(|to| clustering < to.as_slice()))
                .fold(self.partition, |latest, range| latest.max(range.timestamp));
        }
        if self.steps.is_empty() {
            self.build_steps();
        }
        let after = self.steps.partition_point(|(key, _)| key.as_slice() <= clustering);
        let step = after.checked_sub(1).and_then(|index| self.steps.get(index));
        step.map_or(self.partition, |(_, timestamp)| self.partition.max(*timestamp))
    }

    /// Walks over all ends of ranges in key order with the timestamps that are open there.
    fn build_steps(&mut self) {
        let mut ends: Vec<(&[u8], bool, i64)> = Vec::with_capacity(2 * self.ranges.len());
        for range in &self.ranges {
            ends.push((&range.from, true, range.timestamp));
            if let Some(to) = &range.to {
                ends.push((to, false, range.timestamp));
            }
        }
        ends.sort_unstable();
        let mut open: std::collections::BTreeMap<i64, usize> = std::collections::BTreeMap::new();
        let mut steps: Vec<(Vec<u8>, i64)> = Vec::with_capacity(ends.len());
        for (key, opens, timestamp) in ends {
            if opens {
                *open.entry(timestamp).or_insert(0) += 1;
            } else if let Some(count) = open.get_mut(&timestamp) {
                *count -= 1;
                if *count == 0 {
                    open.remove(&timestamp);
                }
            }
            let latest = open.keys().next_back().copied().unwrap_or(HIDES_NOTHING);
            match steps.last_mut() {
                Some((last, step)) if last.as_slice() == key => *step = latest,
                _ => steps.push((key.to_vec(), latest)),
            }
        }
        self.steps = steps;
    }
}

/// The ends of the range whose deletion is stored under `key`.
pub(crate) fn parse(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = key.strip_prefix(&[RANGE_DELETION_PREFIX])?.split_first_chunk::<2>()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Rng;
    use model::row::{Deletion, RowWriter, Stamp};

    fn deletion(timestamp: i64) -> Vec<u8> {
        let mut row = Vec::new();
        RowWriter::new(&mut row, Stamp::at(timestamp), false, Some(Deletion { timestamp, deleted_at_s: 1 })).finish();
        row
    }

    fn key(from: &[u8], to: &[u8]) -> Vec<u8> {
        [&[RANGE_DELETION_PREFIX], &(from.len() as u16).to_be_bytes()[..], from, to].concat()
    }

    #[test]
    fn many_ranges_hide_what_a_walk_over_all_of_them_says() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let mut cover = Cover::default();
            if rng.below(2) == 0 {
                cover.note_partition(&deletion(rng.below(20) as i64));
            }
            let mut ranges = Vec::new();
            for _ in 0..rng.below(30) {
                let from = rng.below(200) as u8;
                let to = if rng.below(5) == 0 { None } else { Some(from.saturating_add(1 + rng.below(60) as u8)) };
                let timestamp = rng.below(40) as i64;
                cover.note_range(&key(&[from], to.as_slice()), &deletion(timestamp));
                ranges.push((from, to, timestamp));
            }
            for clustering in 0..=255u8 {
                let expected = ranges
                    .iter()
                    .filter(|(from, to, _)| *from <= clustering && to.is_none_or(|to| clustering < to))
                    .fold(cover.partition, |latest, (_, _, timestamp)| latest.max(*timestamp));
                assert_eq!(cover.hidden_until(&[clustering]), expected, "seed {seed}, key {clustering}");
            }
        }
    }
}
