//! A statement about one row: one pass over the row's cells straight into the reply frame.

use super::super::bindings::Environment;
use super::super::execution::Execution;
use super::super::failure::Failure;
use super::super::rows::{Components, Cover, Found, HIDES_NOTHING, RowValues};
use super::super::{keys, select};
use crate::plan::{SLOT_FIRST, SLOT_GONE, Select, Source};
use crate::value;
use crate::wire::writer::write_bytes;
use crate::wire::{
    Direction as FrameDirection, FrameFlags, Opcode, ResultColumns, RowsDescription, begin_frame, begin_rows, end_frame, end_rows,
};
use crate::{CqlError, reply};
use model::operation::{Context, Direction, PartitionKey, RANGE_DELETION_PREFIX, RowStore, Visit};
use model::row::{Content, RowView};
use smallvec::SmallVec;

/// Runs a statement about one row (see [`select::is_single`]) and appends the reply frame.
#[inline]
pub(in crate::exec) fn run(
    execution: &Execution<'_>,
    plan: &Select,
    context: &Context,
    store: &dyn RowStore,
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    let environment = Environment { bindings: &execution.bindings, context };
    let options = &execution.options;
    let mut scratch = Vec::new();
    let key = keys::single_partition_key(&plan.table, &plan.partition, &environment, &mut scratch)?;
    let partition = PartitionKey { table: plan.table.id, token: execution.token_of(&plan.table, key), bytes: key };
    if plan.limit.is_some() || plan.per_partition_limit.is_some() {
        select::check_limits(plan, &environment)?;
    }
    if let Some(state) = execution.paging_state {
        // Such statements have one page.
        select::check_paging_state(plan, state)?;
    }

    let mark = begin_frame(out, options.version, FrameDirection::Response, FrameFlags::NONE, options.stream, Opcode::Result);
    let columns = if options.skip_metadata { ResultColumns::Skipped } else { ResultColumns::Described };
    let rows = begin_rows(out, plan.metadata(options.version), RowsDescription::Columns(columns), None);
    let now_s = options.now_s(context);
    let given = if execution.paging_state.is_some() {
        0
    } else if plan.table.clustering_len == 0 {
        match store.get(&partition, &[])? {
            Some(row) => give_only_row(plan, &partition, row, now_s, out),
            None => 0,
        }
    } else {
        give_row(plan, &partition, &environment, store, now_s, out)?
    };
    end_rows(out, rows, given);
    if end_frame(out, mark).is_err() {
        let error = CqlError::invalid("The result is larger than a frame may be");
        reply::write_error(out, options.version, options.stream, &error);
    }
    Ok(())
}

/// Gives the row of a partition in a table without clustering columns; what it says is how many rows.
#[inline]
fn give_only_row(plan: &Select, partition: &PartitionKey<'_>, row: &[u8], now_s: u32, out: &mut Vec<u8>) -> u32 {
    // Nothing but a row's own deletion can hide its cells, and the merge has seen to that.
    if plan.reads_stamps {
        return give_found(plan, partition, &[], row, HIDES_NOTHING, &[], now_s, out);
    }
    let row_view = RowView::new(row);
    let mut live = row_view.liveness().is_some_and(|stamp| stamp.is_live(now_s));
    let mut found = SmallVec::<[Option<&[u8]>; 16]>::new();
    found.resize(plan.cells.len(), None);
    for cell in row_view.cells() {
        let slot = plan.slots.get(usize::from(cell.column.0)).copied().unwrap_or(SLOT_GONE);
        match cell.content {
            Content::Value(value) if slot != SLOT_GONE && cell.stamp.is_live(now_s) => {
                live = true;
                if let Some(found) = found.get_mut(usize::from(slot.wrapping_sub(SLOT_FIRST))) {
                    *found = Some(value);
                }
            }
            Content::Complex(_) => return give_found(plan, partition, &[], row, HIDES_NOTHING, &[], now_s, out),
            _ => {}
        }
    }
    if !live {
        return 0;
    }
    for source in &plan.sources {
        match *source {
            Source::Cell(index) => write_bytes(out, found.get(index).copied().flatten()),
            Source::Partition(0) if plan.table.partition_key_len == 1 => write_bytes(out, Some(partition.bytes)),
            Source::Partition(index) => {
                write_bytes(out, value::PartitionKey::new(partition.bytes, plan.table.partition_key_len).nth(index));
            }
            // There is no clustering key, and what tells about cells is not answered here.
            Source::Clustering(_) | Source::WriteTime(_) | Source::TimeToLive(_) | Source::WriteTimes(_) | Source::TimesToLive(_) => {
                write_bytes(out, None)
            }
        }
    }
    1
}

/// Gives the row with a whole clustering key.
fn give_row(
    plan: &Select,
    partition: &PartitionKey<'_>,
    environment: &Environment<'_>,
    store: &dyn RowStore,
    now_s: u32,
    out: &mut Vec<u8>,
) -> Result<u32, Failure> {
    let mut clustering = Vec::new();
    keys::clustering_key(&plan.table, &plan.clustering.keys, environment, &mut clustering)?;
    if !keys::may_be_stored(&clustering) {
        return Ok(0);
    }
    let Some(row) = store.get(partition, &clustering)? else { return Ok(0) };
    let reads_static = plan.cells.iter().any(|cell| cell.is_static);
    let (mut cover, mut static_row) = (Cover::default(), Vec::new());
    store.scan(partition, &[], Some(&[RANGE_DELETION_PREFIX + 1]), Direction::Forward, &mut |key, row| {
        if key.is_empty() {
            cover.note_partition(row);
            if reads_static {
                static_row.extend_from_slice(row);
            }
        } else {
            cover.note_range(key, row);
        }
        Visit::Continue
    })?;
    let hidden_until = cover.hidden_until(&clustering);
    Ok(give_found(plan, partition, &clustering, row, hidden_until, &static_row, now_s, out))
}

/// Gives a row with any kind of cells.
#[allow(clippy::too_many_arguments, reason = "a row and what is known about it")]
fn give_found(
    plan: &Select,
    partition: &PartitionKey<'_>,
    clustering: &[u8],
    row: &[u8],
    hidden_until: i64,
    static_row: &[u8],
    now_s: u32,
    out: &mut Vec<u8>,
) -> u32 {
    let mut found = Found::new(plan);
    if !static_row.is_empty() {
        found.take(plan, static_row, HIDES_NOTHING, now_s);
    }
    if !found.take(plan, row, hidden_until, now_s) {
        return 0;
    }
    let mut components = Components::default();
    components.decode(&plan.table, clustering, plan.clustering_read);
    let values = RowValues { plan, partition: partition.bytes, components: &components, cells: found.cells(), hidden_until, now_s };
    for source in &plan.sources {
        values.write(*source, out);
    }
    1
}
