//! What a read sees of a stored row: the cells that live and that no deletion hides, as the values of a plan's sources.
//!
//! A row is read where it lies. [`Found`] takes the cells that a plan wants in one pass; [`RowValues`] then gives or writes the value of any
//! [`Source`].

mod cover;

pub(crate) use cover::Cover;
pub(crate) use cover::parse as range_of_deletion;

use crate::plan::{SLOT_FIRST, SLOT_GONE, Select, Source};
use crate::value::{self, build, comparable};
use crate::wire::writer::write_bytes;
use model::row::{Cell, Complex, Content, ElementContent, RowView, Stamp};
use model::{DataType, Order, Table};
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// Nothing is older than this, so nothing is hidden by it.
pub(super) const HIDES_NOTHING: i64 = i64::MIN;

/// The cells of one row (and its partition's static row) that a plan reads, by their index in `Select::cells`.
pub(super) struct Found<'a> {
    cells: SmallVec<[Option<Cell<'a>>; 12]>,
}

/// The values of a clustering key, decoded into one buffer that is used again for the next row.
#[derive(Default)]
pub(super) struct Components {
    bytes: Vec<u8>,
    ranges: SmallVec<[Range<usize>; 8]>,
}

/// A row as a plan sees it.
pub(super) struct RowValues<'a> {
    pub(super) plan: &'a Select,
    pub(super) partition: &'a [u8],
    /// Without any for the row that stands for a partition's static columns alone.
    pub(super) components: &'a Components,
    pub(super) cells: &'a [Option<Cell<'a>>],
    /// What the latest deletion hides of the row's regular cells.
    pub(super) hidden_until: i64,
    pub(super) now_s: u32,
}

impl<'a> Found<'a> {
    /// No cell yet.
    #[inline]
    pub(super) fn new(plan: &Select) -> Self {
        Self { cells: smallvec![None; plan.cells.len()] }
    }

    /// The cells, by their index in `Select::cells`.
    #[inline]
    pub(super) fn cells(&self) -> &[Option<Cell<'a>>] {
        &self.cells
    }

    /// Takes the cells of `row` that were written after `hidden_until` and says whether the row lives.
    #[inline]
    pub(super) fn take(&mut self, plan: &Select, row: &'a [u8], hidden_until: i64, now_s: u32) -> bool {
        let row = RowView::new(row);
        let mut live = row.liveness().is_some_and(|stamp| stamp.timestamp > hidden_until && stamp.is_live(now_s));
        for cell in row.cells() {
            let slot = plan.slots.get(usize::from(cell.column.0)).copied().unwrap_or(SLOT_GONE);
            if slot == SLOT_GONE || !is_visible(&cell, hidden_until, now_s) {
                continue;
            }
            live = true;
            if let Some(found) = self.cells.get_mut(usize::from(slot.wrapping_sub(SLOT_FIRST))) {
                *found = Some(cell);
            }
        }
        live
    }
}

/// Whether nobody sees anything in a row, whatever columns the table has or gets.
pub(super) fn is_dead(row: &[u8], hidden_until: i64, now_s: u32) -> bool {
    let row = RowView::new(row);
    let is_inserted = row.liveness().is_some_and(|stamp| stamp.timestamp > hidden_until && stamp.is_live(now_s));
    !is_inserted && !row.cells().any(|cell| is_visible(&cell, hidden_until, now_s))
}

/// Whether a read sees anything in a cell.
#[inline]
fn is_visible(cell: &Cell<'_>, hidden_until: i64, now_s: u32) -> bool {
    match cell.content {
        Content::Value(_) => cell.stamp.timestamp > hidden_until && cell.stamp.is_live(now_s),
        Content::Tombstone(_) => false,
        Content::Complex(complex) => visible_elements(&complex, hidden_until, now_s).next().is_some(),
    }
}

fn visible_elements<'a>(
    complex: &Complex<'a>,
    hidden_until: i64,
    now_s: u32,
) -> impl Iterator<Item = (&'a [u8], &'a [u8], Stamp)> + use<'a> {
    complex.elements().filter_map(move |element| match element.content {
        ElementContent::Value(value) if element.stamp.timestamp > hidden_until && element.stamp.is_live(now_s) => {
            Some((element.path, value, element.stamp))
        }
        _ => None,
    })
}

impl Components {
    /// Forgets the row before.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ranges.clear();
    }

    /// Decodes the first `count` values of a stored clustering key, or those that it has.
    ///
    /// # Panics
    /// When `key` is not one of `table`'s: it comes from this node's own writes.
    pub(super) fn decode(&mut self, table: &Table, mut key: &[u8], count: usize) {
        self.clear();
        for column in &table.clustering()[..count] {
            let start = self.bytes.len();
            let decoded = comparable::decode(&column.data_type, column.order == Order::Descending, &mut key, &mut self.bytes);
            match decoded {
                // Rows of compact tables may lack their last values.
                Err(_) if table.compact && key.is_empty() => return,
                decoded => decoded.expect("a stored key was encoded with its table's types"),
            }
            self.ranges.push(start..self.bytes.len());
        }
    }

    #[inline]
    fn get(&self, index: usize) -> Option<&[u8]> {
        self.ranges.get(index).map(|range| &self.bytes[range.clone()])
    }
}

impl RowValues<'_> {
    /// Appends the value of `source` as `[bytes]`.
    pub(super) fn write(&self, source: Source, out: &mut Vec<u8>) {
        match source {
            Source::Partition(index) => write_bytes(out, self.partition_value(index)),
            Source::Clustering(index) => write_bytes(out, self.components.get(index)),
            Source::Cell(index) => match self.cell(index).map(|cell| cell.content) {
                Some(Content::Value(value)) => write_bytes(out, Some(value)),
                Some(Content::Complex(complex)) => {
                    let start = out.len();
                    out.extend_from_slice(&[0; 4]);
                    self.assemble(index, &complex, out);
                    let length = (out.len() - start - 4) as u32;
                    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
                }
                Some(Content::Tombstone(_)) | None => write_bytes(out, None),
            },
            Source::WriteTime(index) => match self.newest(index) {
                Some(stamp) => write_bytes(out, Some(&stamp.timestamp.to_be_bytes())),
                None => write_bytes(out, None),
            },
            Source::TimeToLive(index) => match self.newest(index).filter(|stamp| stamp.ttl_s != 0) {
                Some(stamp) => write_bytes(out, Some(&stamp.expires_at_s.saturating_sub(self.now_s).to_be_bytes())),
                None => write_bytes(out, None),
            },
            Source::WriteTimes(index) => self.write_stamps(index, |stamp| Some(stamp.timestamp.to_be_bytes()), out),
            Source::TimesToLive(index) => {
                let left = |stamp: Stamp| (stamp.ttl_s != 0).then(|| stamp.expires_at_s.saturating_sub(self.now_s).to_be_bytes());
                self.write_stamps(index, left, out);
            }
        }
    }

    /// Appends what is told of each visible part of a column as `[bytes]`: of a list a list, of a set or map a map, of a user type a tuple.
    fn write_stamps<const N: usize>(&self, index: usize, told: impl Fn(Stamp) -> Option<[u8; N]>, out: &mut Vec<u8>) {
        let Some(Content::Complex(complex)) = self.cell(index).map(|cell| cell.content) else { return write_bytes(out, None) };
        let elements = visible_elements(&complex, self.hidden_until(index), self.now_s);
        let (mut bytes, mut count) = (Vec::new(), 0u32);
        match self.plan.cell_type(index) {
            DataType::Udt(user, _) => {
                let mut fields: SmallVec<[Option<[u8; N]>; 16]> = smallvec![None; user.fields.len()];
                for (path, _, stamp) in elements {
                    let number = <[u8; 2]>::try_from(path).map_or(u16::MAX, u16::from_be_bytes);
                    if let Some(field) = fields.get_mut(usize::from(number)) {
                        (*field, count) = (told(stamp), count + 1);
                    }
                }
                build::tuple(fields.iter().map(|field| field.as_ref().map(<[u8; N]>::as_slice)), &mut bytes);
            }
            data_type => {
                bytes.extend_from_slice(&[0; 4]);
                for (path, _, stamp) in elements {
                    if !matches!(data_type, DataType::List(..)) {
                        write_bytes(&mut bytes, Some(path));
                    }
                    write_bytes(&mut bytes, Some(told(stamp).as_ref().map_or(&[], <[u8; N]>::as_slice)));
                    count += 1;
                }
                bytes[..4].copy_from_slice(&count.to_be_bytes());
            }
        }
        write_bytes(out, Some(bytes.as_slice()).filter(|_| count > 0));
    }

    /// The value of `source`, in place or built in `scratch`.
    pub(super) fn value<'s>(&'s self, source: Source, scratch: &'s mut Vec<u8>) -> Option<&'s [u8]> {
        match source {
            Source::Partition(index) => self.partition_value(index),
            Source::Clustering(index) => self.components.get(index),
            Source::Cell(index) => match self.cell(index)?.content {
                Content::Value(value) => Some(value),
                Content::Tombstone(_) => None,
                Content::Complex(complex) => {
                    scratch.clear();
                    self.assemble(index, &complex, scratch);
                    Some(scratch)
                }
            },
            Source::WriteTime(_) | Source::TimeToLive(_) | Source::WriteTimes(_) | Source::TimesToLive(_) => {
                scratch.clear();
                self.write(source, scratch);
                // A null is a negative length and nothing else.
                scratch.get(4..).filter(|bytes| !bytes.is_empty())
            }
        }
    }

    /// The clustering columns in `range` as a tuple.
    pub(super) fn clustering_tuple(&self, range: &Range<usize>, out: &mut Vec<u8>) {
        build::tuple(range.clone().map(|index| self.components.get(index)), out);
    }

    #[inline]
    fn partition_value(&self, index: usize) -> Option<&[u8]> {
        value::PartitionKey::new(self.partition, self.plan.table.partition_key_len).nth(index)
    }

    #[inline]
    fn cell(&self, index: usize) -> Option<&Cell<'_>> {
        self.cells.get(index)?.as_ref()
    }

    /// The deletion that counts for a cell: those of rows do not reach static columns.
    fn hidden_until(&self, index: usize) -> i64 {
        if self.plan.cells[index].is_static { HIDES_NOTHING } else { self.hidden_until }
    }

    /// The stamp of a cell, of a collection that of its latest element.
    fn newest(&self, index: usize) -> Option<Stamp> {
        let cell = self.cell(index)?;
        match cell.content {
            Content::Value(_) => Some(cell.stamp),
            Content::Tombstone(_) => None,
            Content::Complex(complex) => visible_elements(&complex, self.hidden_until(index), self.now_s)
                .map(|(_, _, stamp)| stamp)
                .max_by_key(|stamp| stamp.timestamp),
        }
    }

    /// Appends the value of a collection or user type that has a cell for each element, at least one of them visible.
    fn assemble(&self, index: usize, complex: &Complex<'_>, out: &mut Vec<u8>) {
        let data_type = self.plan.cell_type(index);
        let elements = visible_elements(complex, self.hidden_until(index), self.now_s);
        if let DataType::Udt(user, _) = data_type {
            let mut fields: SmallVec<[Option<&[u8]>; 16]> = smallvec![None; user.fields.len()];
            for (path, value, _) in elements {
                let number = <[u8; 2]>::try_from(path).map_or(u16::MAX, u16::from_be_bytes);
                if let Some(field) = fields.get_mut(usize::from(number)) {
                    *field = Some(value);
                }
            }
            build::tuple(fields.into_iter(), out);
            return;
        }
        let (with_path, with_value) = (!matches!(data_type, DataType::List(..)), !matches!(data_type, DataType::Set(..)));
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        let mut count = 0u32;
        for (path, value, _) in elements {
            if with_path {
                write_bytes(out, Some(path));
            }
            if with_value {
                write_bytes(out, Some(value));
            }
            count += 1;
        }
        out[start..start + 4].copy_from_slice(&count.to_be_bytes());
    }
}
