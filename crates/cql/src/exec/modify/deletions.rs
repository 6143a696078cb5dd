//! The deletions of a partition: of the whole, and of ranges in it.

use crate::exec::failure::Failure;
use crate::exec::keys::KeyRange;
use crate::exec::writer::Writer;
use model::operation::{Direction, PartitionKey, RANGE_DELETION_PREFIX, Visit};
use model::row::{Deletion, RowView};

/// Deletions of a partition and of ranges in it.
#[derive(Default)]
pub(in crate::exec) struct Deletions {
    partition: Option<Deletion>,
    ranges: Vec<(Vec<u8>, Option<Vec<u8>>, Deletion)>,
}

impl Deletions {
    fn note(&mut self, clustering: &[u8], row: &[u8]) {
        let Some(deletion) = RowView::new(row).deletion() else { return };
        if clustering.is_empty() {
            self.partition = Deletion::later(self.partition, Some(deletion));
        } else if let Some((from, to)) = parse_range_key(clustering) {
            self.ranges.push((from.to_vec(), to.map(<[u8]>::to_vec), deletion));
        }
    }

    /// The latest deletion that covers `clustering`.
    pub(in crate::exec) fn covering(&self, clustering: &[u8]) -> Option<Deletion> {
        self.ranges
            .iter()
            .filter(|(from, to, _)| from.as_slice() <= clustering && to.as_ref().is_none_or(|to| clustering < to.as_slice()))
            .fold(self.partition, |latest, (_, _, deletion)| Deletion::later(latest, Some(*deletion)))
    }
}

/// The key under which the deletion of a range is stored: prefix, length of `from`, `from`, `to` (empty: to the end).
pub(super) fn range_key(range: &KeyRange) -> Vec<u8> {
    let mut key = Vec::with_capacity(3 + range.from.len() + range.to.as_ref().map_or(0, Vec::len));
    key.push(RANGE_DELETION_PREFIX);
    key.extend_from_slice(&(range.from.len() as u16).to_be_bytes());
    key.extend_from_slice(&range.from);
    key.extend_from_slice(range.to.as_deref().unwrap_or_default());
    key
}

fn parse_range_key(key: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    let (length, rest) = key.strip_prefix(&[RANGE_DELETION_PREFIX])?.split_first_chunk::<2>()?;
    let (from, to) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    Some((from, if to.is_empty() { None } else { Some(to) }))
}

impl Writer<'_> {
    /// The deletions of a partition, stored and staged.
    pub(in crate::exec) fn deletions(&self, partition: &PartitionKey<'_>) -> Result<Deletions, Failure> {
        let mut deletions = Deletions::default();
        self.store.scan(partition, &[], Some(&[RANGE_DELETION_PREFIX + 1]), Direction::Forward, &mut |clustering, row| {
            deletions.note(clustering, row);
            Visit::Continue
        })?;
        for staged in self.writes.rows().filter(|row| row.partition == *partition) {
            deletions.note(staged.clustering, staged.row);
        }
        Ok(deletions)
    }
}
