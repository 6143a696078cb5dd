//! What a part of a statement says behind its reply: in which slots of tables with views it leaves entries, and under which timestamp.
//!
//! | bytes | behind the reply |
//! |---|---|
//! | 4 + 2 | for each slot: the table, the slot |
//! | 8 | the timestamp of the part's entries |
//! | 4 | how many slots |

use super::collect::Stretch;
use crate::plan::Modify;
use crate::wire::writer::{write_int, write_long, write_short};
use base::{Slot, TableId};
use model::operation::{Context, WriteSet};
use std::collections::BTreeSet;

const PLACE_BYTES: usize = 6;
const END_BYTES: usize = 12;

/// Appends where an operation with these plans leaves entries.
pub(in crate::exec) fn write_changed<'p>(context: &Context, plans: impl Iterator<Item = &'p Modify>, writes: &WriteSet, out: &mut Vec<u8>) {
    let tables: BTreeSet<TableId> = plans.filter(|plan| !plan.views.is_empty()).map(|plan| plan.table.id).collect();
    let of_row = |row: model::operation::StagedRow<'_>| (row.partition.table, row.partition.token.slot());
    let places: BTreeSet<(TableId, Slot)> = writes.rows().map(of_row).filter(|(table, _)| tables.contains(table)).collect();
    for (table, slot) in &places {
        write_int(out, table.0.cast_signed());
        write_short(out, slot.0);
    }
    write_long(out, context.timestamp_us);
    write_int(out, places.len() as i32);
}

/// Takes from a part's result what stands behind its reply.
pub(in crate::exec) fn take_changed(result: &mut Vec<u8>) -> Vec<(TableId, Stretch)> {
    let Some((rest, end)) = result.split_last_chunk::<END_BYTES>() else { return Vec::new() };
    let (timestamp, count) = end.split_at(8);
    let timestamp = timestamp.try_into().map_or(0, i64::from_be_bytes);
    let count = count.try_into().map_or(0, u32::from_be_bytes) as usize;
    let Some(start) = count.checked_mul(PLACE_BYTES).and_then(|bytes| rest.len().checked_sub(bytes)) else { return Vec::new() };
    let (places, _) = rest[start..].as_chunks::<PLACE_BYTES>();
    let place = |[a, b, c, d, high, low]: &[u8; PLACE_BYTES]| {
        let slot = Slot(u16::from_be_bytes([*high, *low]));
        (TableId(u32::from_be_bytes([*a, *b, *c, *d])), Stretch { slot, first: timestamp, last: timestamp })
    };
    let changed = places.iter().map(place).collect();
    result.truncate(start);
    changed
}
