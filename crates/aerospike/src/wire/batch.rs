//! The records of a batch, in one field.
//!
//! | bytes | batch |
//! |---|---|
//! | 4 | number of records |
//! | 1 | flags: 4 answer for all records, whatever becomes of one |
//! | … | records: index (4), digest (20), flags (1), and unless it repeats the record before: |
//! | 1 | `info1`; with flag 2 (attributes) `info1`, `info2`, `info3`; with flag 16 `info4` |
//! | 2 | with flag 4: generation |
//! | 4 | with flag 8: time to live |
//! | 2 + 2 | numbers of fields and operations, then these |

use super::message::{Attributes, Operation, Operations};
use super::writer::{append_field, append_operation};
use super::{Fields, WireError};
use base::TableId;

const REPEAT: u8 = 1;
const HAS_ATTRIBUTES: u8 = 2;
const HAS_GENERATION: u8 = 4;
const HAS_TTL: u8 = 8;
const HAS_INFO4: u8 = 16;

const RESPOND_ALL: u8 = 4;

/// Stands where the number of records would.
const FILTER_FOLLOWS: [u8; 4] = u32::MAX.to_be_bytes();

/// Stands where the number of records, or the mark of a filter, would: the tables of sets are next. Only members of a cluster write it.
const SETS_FOLLOW: [u8; 4] = (u32::MAX - 1).to_be_bytes();

/// The least that a record takes.
const ENTRY_BYTES_MIN: usize = 25;

/// A record of a batch and what to do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchEntry<'a> {
    /// By which the client knows it.
    pub index: u32,
    /// Its digest.
    pub digest: &'a [u8; 20],
    /// Whether all but index and digest is that of the record before.
    pub repeats: bool,
    /// Flags, generation and time to live.
    pub attributes: Attributes,
    /// Namespace and set, at least.
    pub fields: Fields<'a>,
    /// Its operations.
    pub operations: Operations<'a>,
}

/// Reads the records of a batch one by one.
#[derive(Clone, Debug)]
pub struct BatchEntries<'a> {
    left: u32,
    rest: &'a [u8],
    /// Whether the client wants to hear of all records, even when one failed.
    pub respond_all: bool,
    last: Option<BatchEntry<'a>>,
}

/// What a record of a batch has without an error in it.
fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Result<&'a [u8; N], WireError> {
    let (taken, after) = rest.split_first_chunk::<N>().ok_or(WireError::Truncated("a record of a batch"))?;
    *rest = after;
    Ok(taken)
}

impl<'a> BatchEntries<'a> {
    /// Reads the field's beginning.
    ///
    /// # Errors
    /// More records than there are bytes for.
    pub fn read(field: &'a [u8]) -> Result<Self, WireError> {
        let mut rest = field;
        let left = u32::from_be_bytes(*take(&mut rest)?);
        let [flags] = *take(&mut rest)?;
        if left as usize > rest.len() / ENTRY_BYTES_MIN {
            return Err(WireError::Truncated("the records of a batch"));
        }
        Ok(Self { left, rest, respond_all: flags & RESPOND_ALL != 0, last: None })
    }

    /// Starts a field of `count` records, which are to be appended.
    pub(crate) fn write_head(count: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&count.to_be_bytes());
        out.push(RESPOND_ALL);
    }

    /// Puts a batch's filter in front of its field: that many records there never are, then the filter with its length.
    pub(crate) fn write_filter(filter: Option<&[u8]>, out: &mut Vec<u8>) {
        if let Some(filter) = filter {
            out.extend_from_slice(&FILTER_FOLLOWS);
            out.extend_from_slice(&(filter.len() as u32).to_be_bytes());
            out.extend_from_slice(filter);
        }
    }

    /// Writes the only sets in which records are looked for that are named by their digests alone.
    pub(crate) fn write_sets(sets: Option<&[TableId]>, out: &mut Vec<u8>) {
        if let Some(sets) = sets {
            out.extend_from_slice(&SETS_FOLLOW);
            out.extend_from_slice(&(sets.len() as u32).to_be_bytes());
            sets.iter().for_each(|table| out.extend_from_slice(&table.0.to_be_bytes()));
        }
    }

    /// The sets in front of a field, sorted, if they are there, and the field.
    pub(crate) fn split_sets(field: &'a [u8]) -> Result<(Option<Vec<TableId>>, &'a [u8]), WireError> {
        const TRUNCATED: WireError = WireError::Truncated("the sets of a batch");
        let Some(rest) = field.strip_prefix(&SETS_FOLLOW) else { return Ok((None, field)) };
        let (count, rest) = rest.split_first_chunk::<4>().ok_or(TRUNCATED)?;
        let bytes = (u32::from_be_bytes(*count) as usize).checked_mul(size_of::<u32>()).ok_or(TRUNCATED)?;
        let (sets, field) = rest.split_at_checked(bytes).ok_or(TRUNCATED)?;
        let (sets, _) = sets.as_chunks();
        let mut sets: Vec<TableId> = sets.iter().map(|table| TableId(u32::from_be_bytes(*table))).collect();
        sets.sort_unstable();
        Ok((Some(sets), field))
    }

    /// The filter in front of a field, if there is one, and the field.
    pub(crate) fn split_filter(field: &'a [u8]) -> Result<(Option<&'a [u8]>, &'a [u8]), WireError> {
        const TRUNCATED: WireError = WireError::Truncated("the filter of a batch");
        let Some(rest) = field.strip_prefix(&FILTER_FOLLOWS) else { return Ok((None, field)) };
        let (length, rest) = rest.split_first_chunk::<4>().ok_or(TRUNCATED)?;
        let (filter, field) = rest.split_at_checked(u32::from_be_bytes(*length) as usize).ok_or(TRUNCATED)?;
        Ok((Some(filter), field))
    }

    /// The bytes of the records that are left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// How many records are left.
    #[must_use]
    pub fn len(&self) -> usize {
        self.left as usize
    }

    /// Whether none is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }

    fn read_next(&mut self) -> Result<BatchEntry<'a>, WireError> {
        let index = u32::from_be_bytes(*take(&mut self.rest)?);
        let digest = take::<20>(&mut self.rest)?;
        let [flags] = *take(&mut self.rest)?;
        if flags & REPEAT != 0 {
            let last = self.last.ok_or(WireError::Repetition)?;
            return Ok(BatchEntry { index, digest, repeats: true, ..last });
        }
        let mut attributes = Attributes::default();
        [attributes.info1] = *take(&mut self.rest)?;
        if flags & HAS_ATTRIBUTES != 0 {
            [attributes.info2, attributes.info3] = *take(&mut self.rest)?;
        }
        if flags & HAS_INFO4 != 0 {
            [attributes.info4] = *take(&mut self.rest)?;
        }
        if flags & HAS_GENERATION != 0 {
            attributes.generation = u32::from(u16::from_be_bytes(*take(&mut self.rest)?));
        }
        if flags & HAS_TTL != 0 {
            attributes.ttl = u32::from_be_bytes(*take(&mut self.rest)?);
        }
        let field_count = u16::from_be_bytes(*take(&mut self.rest)?);
        let operation_count = u16::from_be_bytes(*take(&mut self.rest)?);
        let (fields, rest) = Fields::read(self.rest, field_count)?;
        let (operations, rest) = Operations::read(rest, operation_count)?;
        self.rest = rest;
        Ok(BatchEntry { index, digest, repeats: false, attributes, fields, operations })
    }
}

impl<'a> Iterator for BatchEntries<'a> {
    type Item = Result<BatchEntry<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let entry = self.read_next();
        match &entry {
            Ok(entry) => self.last = Some(*entry),
            Err(_) => self.left = 0,
        }
        Some(entry)
    }
}

/// A batch of writes in the making: the data of its field.
#[derive(Debug)]
pub struct BatchWriter {
    data: Vec<u8>,
    count: u32,
}

impl Default for BatchWriter {
    fn default() -> Self {
        let mut data = Vec::new();
        BatchEntries::write_head(0, &mut data);
        Self { data, count: 0 }
    }
}

impl BatchWriter {
    /// Adds a record: its digest, flags and time to live, fields, and operations. Its index is how many were there before it.
    pub fn push<'o>(
        &mut self,
        digest: &[u8; 20],
        attributes: Attributes,
        fields: &[(u8, &[u8])],
        operations: impl Iterator<Item = Operation<'o>>,
    ) {
        let data = &mut self.data;
        data.extend_from_slice(&self.count.to_be_bytes());
        data.extend_from_slice(digest);
        let Attributes { info1, info2, info3, info4, ttl, .. } = attributes;
        let has_info4 = if info4 == 0 { 0 } else { HAS_INFO4 };
        data.extend_from_slice(&[HAS_ATTRIBUTES | HAS_TTL | has_info4, info1, info2, info3]);
        data.extend(Some(info4).filter(|info4| *info4 != 0));
        data.extend_from_slice(&ttl.to_be_bytes());
        let counts = data.len();
        data.extend_from_slice(&[0; 4]);
        fields.iter().for_each(|(kind, field)| append_field(data, *kind, field, &[]));
        let mut count = 0_u16;
        operations.for_each(|operation| {
            append_operation(data, &operation);
            count += 1;
        });
        data[counts..counts + 2].copy_from_slice(&(fields.len() as u16).to_be_bytes());
        data[counts + 2..counts + 4].copy_from_slice(&count.to_be_bytes());
        self.count += 1;
        data[..4].copy_from_slice(&self.count.to_be_bytes());
    }

    /// How many records are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The field's data.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Drops all records.
    pub fn clear(&mut self) {
        self.count = 0;
        self.data.clear();
        BatchEntries::write_head(0, &mut self.data);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::{field, info2};
    use super::*;

    #[test]
    fn sets_are_in_front_of_a_field_or_not() {
        for sets in [None, Some(&[][..]), Some(&[TableId(7), TableId(1 << 31)][..])] {
            let mut field = Vec::new();
            BatchEntries::write_sets(sets, &mut field);
            let length = field.len();
            field.extend_from_slice(b"rest");
            assert_eq!(BatchEntries::split_sets(&field).unwrap(), (sets.map(<[_]>::to_vec), &b"rest"[..]));
            (4..length).for_each(|end| assert!(BatchEntries::split_sets(&field[..end]).is_err(), "{end}"));
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut batch = BatchWriter::default();
        for _ in 0..2 {
            batch.clear();
            for digest in [[1; 20], [2; 20]] {
                let attributes = Attributes { info2: info2::WRITE, ttl: 77, ..Attributes::default() };
                let operation = Operation { code: 2, particle: 3, name: b"b", value: b"value" };
                batch.push(&digest, attributes, &[(field::NAMESPACE, b"n"), (field::SET, b"s")], [operation; 2].into_iter());
            }
        }
        assert_eq!((batch.len(), batch.is_empty()), (2, false));
        let entries: Vec<_> = BatchEntries::read(batch.data()).unwrap().map(Result::unwrap).collect();
        assert_eq!(entries.iter().map(|entry| (entry.index, entry.digest)).collect::<Vec<_>>(), [(0, &[1; 20]), (1, &[2; 20])]);
        let BatchEntry { attributes, fields, operations, .. } = entries[1];
        assert_eq!((attributes.info2, attributes.ttl, operations.len()), (info2::WRITE, 77, 2));
        assert_eq!((fields.namespace, fields.set), (Some(&b"n"[..]), Some(&b"s"[..])));
        assert_eq!(operations.iter().last().unwrap().value, b"value");
    }
}
