//! A row of a log: the bytes of its columns, gathered in any order and staged in the order of their ids.

use crate::value::{build, comparable, order};
use model::operation::{PartitionKey, WriteSet, purge_after_s};
use model::row::{RowWriter, Stamp};
use model::{ColumnId, DataType};
use std::borrow::Cow;

/// The values of `cdc$operation`, each by itself.
const OPERATIONS: [u8; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

/// What a row of a log is about: the value of `cdc$operation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // named as ScyllaDB names them
pub enum Operation {
    Preimage = 0,
    Update = 1,
    Insert = 2,
    RowDelete = 3,
    PartitionDelete = 4,
    RangeDeleteStartInclusive = 5,
    RangeDeleteStartExclusive = 6,
    RangeDeleteEndInclusive = 7,
    RangeDeleteEndExclusive = 8,
    Postimage = 9,
}

impl Operation {
    /// The value of the column.
    pub(super) fn value(self) -> Cow<'static, [u8]> {
        Cow::Borrowed(&OPERATIONS[self as usize..=self as usize])
    }
}

/// True, as a value of a column.
pub(super) const TRUE: Cow<'static, [u8]> = Cow::Borrowed(&[1]);

/// A row to be staged. Values that are in the changed row as the log has them are not copied.
#[derive(Debug)]
pub(super) struct LogRow<'a> {
    /// Each of another column.
    pub(super) cells: Vec<(ColumnId, Cow<'a, [u8]>)>,
}

impl LogRow<'_> {
    /// Changes what the row is about: the value of `column`, which is there.
    pub(super) fn set_operation(&mut self, column: ColumnId, operation: Operation) {
        self.cells.iter_mut().filter(|(other, _)| *other == column).for_each(|(_, value)| *value = operation.value());
    }
}

/// Between 1582-10-15, from which UUIDs count, and 1970-01-01: in steps of 100 ns.
const GREGORIAN_TICKS: i64 = 122_192_928_000_000_000;
const TICKS_A_US: i64 = 10;

/// The timeuuid of a time in microseconds since the epoch. Of those of one time, later numbers come later.
pub(super) fn timeuuid(time_us: i64, number: u64) -> [u8; 16] {
    let ticks = time_us.wrapping_mul(TICKS_A_US).wrapping_add(GREGORIAN_TICKS).cast_unsigned() & ((1 << 60) - 1);
    order::timeuuid_from_rank(u128::from(1 << 60 | ticks) << 64 | u128::from(number))
}

/// Numbers of a list's elements begin at 2^63, from which those that were prepended go down. From here on they are in the part of a UUID that says its
/// variant, whichever way they go.
const LIST_NUMBERS_FROM: u64 = 1 << 40;

/// Where a list keeps an element, as a timeuuid in the same order: time from 2^63 on, then a number.
pub(super) fn list_position(path: &[u8]) -> [u8; 16] {
    let Ok(path) = <[u8; 16]>::try_from(path) else { return timeuuid(0, 0) };
    let path = u128::from_be_bytes(path);
    let time_us = ((path >> 64) as u64).wrapping_sub(1 << 63).cast_signed();
    timeuuid(time_us, (path as u64).wrapping_sub(1 << 63).wrapping_add(LIST_NUMBERS_FROM))
}

/// The value of a column with a cell for each element, as the log has it. Elements are in the order of the column.
pub(super) fn frozen_value(data_type: &DataType, elements: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut value = Vec::new();
    match data_type {
        DataType::Set(..) => build::list(elements.iter().map(|(path, _)| *path), &mut value),
        DataType::List(..) => {
            let positions: Vec<[u8; 16]> = elements.iter().map(|(path, _)| list_position(path)).collect();
            build::sorted_map(positions.iter().zip(elements).map(|(position, (_, value))| (&position[..], *value)), &mut value);
        }
        DataType::Udt(user, _) => {
            let field = |number: usize| {
                let is_this = |(path, _): &&(&[u8], &[u8])| {
                    <[u8; 2]>::try_from(*path).is_ok_and(|path| usize::from(u16::from_be_bytes(path)) == number)
                };
                elements.iter().find(is_this).map(|(_, value)| *value)
            };
            build::tuple((0..user.fields.len()).map(field), &mut value);
        }
        _ => build::sorted_map(elements.iter().copied(), &mut value),
    }
    value
}

/// The set of the paths of elements, as the log has them.
pub(super) fn path_set(data_type: &DataType, paths: &[&[u8]]) -> Vec<u8> {
    let mut value = Vec::new();
    if matches!(data_type, DataType::List(..)) {
        let positions: Vec<[u8; 16]> = paths.iter().map(|path| list_position(path)).collect();
        build::list(positions.iter().map(|position| &position[..]), &mut value);
    } else {
        build::list(paths.iter().copied(), &mut value);
    }
    value
}

/// Stages rows about one change, in their order. `time` is theirs alone.
pub(super) fn stage(
    partition: &PartitionKey<'_>,
    time: [u8; 16],
    (stamp, gc_grace_s): (Stamp, u32),
    rows: Vec<LogRow<'_>>,
    derived: &mut WriteSet,
) {
    let mut clustering = Vec::with_capacity(24);
    for (number, LogRow { mut cells }) in rows.into_iter().enumerate() {
        clustering.clear();
        comparable::encode(&DataType::TimeUuid, &time, false, &mut clustering);
        comparable::encode(&DataType::Int, &(number as i32).to_be_bytes(), false, &mut clustering);
        cells.sort_unstable_by_key(|(column, _)| *column);
        let mut row = RowWriter::new(derived.begin(partition, &clustering), stamp, true, None);
        cells.iter().for_each(|(column, value)| row.value(*column, stamp, value));
        let kind = row.finish();
        derived.end(purge_after_s(kind, gc_grace_s));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;

    fn compare(one: [u8; 16], other: [u8; 16]) -> Ordering {
        order::compare(&DataType::TimeUuid, &one, &other)
    }

    #[test]
    fn timeuuids_say_their_time_and_sort_by_it() {
        let id = timeuuid(1_700_000_000_000_000, 3);
        let parts = (
            u32::from_be_bytes(id[..4].try_into().expect("four bytes")),
            u16::from_be_bytes([id[4], id[5]]),
            u16::from_be_bytes([id[6], id[7]]),
        );
        let ticks = u64::from(parts.2 & 0xFFF) << 48 | u64::from(parts.1) << 32 | u64::from(parts.0);
        assert_eq!((ticks.cast_signed() - GREGORIAN_TICKS, parts.2 >> 12), (17_000_000_000_000_000, 1));
        assert_eq!(id[8] >> 6, 2, "a variant that drivers take");
        let sorted =
            [timeuuid(5, 7), timeuuid(6, 0), timeuuid(6, 1), timeuuid(6, 127), timeuuid(6, 128), timeuuid(6, 1 << 31), timeuuid(7, 0)];
        assert!(sorted.windows(2).all(|pair| compare(pair[0], pair[1]).is_lt()));
    }

    #[test]
    fn positions_of_a_list_keep_their_order() {
        let path = |time: i64, number: u64| [((1u64 << 63).wrapping_add_signed(time)).to_be_bytes(), number.to_be_bytes()].concat();
        let now = 1_700_000_000_000_000;
        let (middle, before) = (1 << 63, (1 << 63) - 1);
        let paths = [
            path(-now, before - 9),
            path(-now, before),
            path(-now + 1, before),
            path(now, middle),
            path(now, middle + 1),
            path(now + 1, middle),
        ];
        assert!(paths.iter().all(|path| list_position(path)[8] >> 6 == 2), "a variant that drivers take");
        assert!(paths.windows(2).all(|pair| compare(list_position(&pair[0]), list_position(&pair[1])).is_lt()));
    }
}
