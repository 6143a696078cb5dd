//! The result of conditional statements: `[applied]`, and after a refusal what stands in the way.

use super::super::writer::Writer;
use super::super::{Failure, Options, condition, function};
use super::{Existing, visible};
use crate::plan::{Condition, Conditions, Modify, RowTarget};
use crate::reply::{self, ResultColumn};
use model::operation::{Direction, FIRST_ROW_BYTE, PartitionKey, Visit};
use model::row::RowView;
use model::{ColumnKind, DataType, Table};

/// What became of a conditional statement, or of a batch with conditions.
pub(in crate::exec) struct Outcome<'a> {
    pub(in crate::exec) applied: bool,
    pub(in crate::exec) is_batch: bool,
    /// All statements.
    pub(in crate::exec) plans: &'a [&'a Modify],
    /// Those with conditions, and the rows that these are about.
    pub(in crate::exec) conditional: &'a [(&'a Modify, &'a Existing)],
}

/// Runs a conditional statement on its only partition and appends the reply frame.
pub(in crate::exec) fn run_single(
    writer: &mut Writer<'_>,
    plan: &Modify,
    partition: &PartitionKey<'_>,
    options: &Options,
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    let existing = condition::existing(writer, plan, partition)?;
    let applied = condition::holds(writer, plan, &existing)?;
    if applied {
        let timestamp = condition::next_timestamp(writer, std::slice::from_ref(&existing));
        writer.apply(plan, partition, timestamp)?;
    }
    let outcome = Outcome { applied, is_batch: false, plans: &[plan], conditional: &[(plan, &existing)] };
    write(writer, out, options, partition, &outcome)
}

/// Appends the result.
pub(in crate::exec) fn write(
    writer: &Writer<'_>,
    out: &mut Vec<u8>,
    options: &Options,
    partition: &PartitionKey<'_>,
    outcome: &Outcome<'_>,
) -> Result<(), Failure> {
    let Some((first, _)) = outcome.conditional.first() else { return Ok(()) };
    let table = &*first.table;
    let mut columns = vec![ResultColumn { name: "[applied]".to_owned(), data_type: DataType::Boolean }];
    let mut rows = Vec::new();
    if !outcome.applied {
        let positions = outcome.shown_columns(table);
        let mut show = |existing: &Existing| {
            let mut row = vec![Some(vec![0])];
            for position in &positions {
                row.push(shown(writer, first, *position, existing.value(first, partition.bytes, *position, writer.now_s))?);
            }
            rows.push(row);
            Ok::<(), Failure>(())
        };
        let found = outcome.rows_in_the_way(writer.now_s);
        found.iter().try_for_each(|existing| show(existing))?;
        if found.is_empty()
            && let Some(instead) = outcome.instead_of_rows(writer, table, partition)?
        {
            show(&instead)?;
        }
        if !rows.is_empty() {
            columns.extend(positions.iter().map(|position| {
                let column = &table.columns[*position];
                ResultColumn { name: column.name.clone(), data_type: column.data_type.clone() }
            }));
        }
    }
    if rows.is_empty() {
        rows.push(vec![Some(vec![u8::from(outcome.applied)])]);
    }
    reply::write_rows(out, options.version, options.stream, &table.keyspace, &table.name, &columns, &rows);
    Ok(())
}

/// A column's value, or its mask if the statement shows that.
fn shown(writer: &Writer<'_>, plan: &Modify, position: usize, value: Option<Vec<u8>>) -> Result<Option<Vec<u8>>, Failure> {
    match plan.masks.iter().find(|mask| mask.position == position) {
        Some(mask) => Ok(function::call(&mask.function, &mask.arguments_for(value.as_deref()), writer.environment, 0)?),
        None => Ok(value),
    }
}

impl Outcome<'_> {
    /// The rows that conditions are about and that are there, each once, in their order.
    fn rows_in_the_way(&self, now_s: u32) -> Vec<&Existing> {
        let is_there = |existing: &Existing| existing.row.as_ref().is_some_and(|row| RowView::new(row).is_live(now_s));
        let about_rows = self.conditional.iter().filter(|(plan, _)| is_about_row(plan));
        let mut found: Vec<&Existing> = about_rows.map(|(_, existing)| *existing).filter(|existing| is_there(existing)).collect();
        found.sort_by(|one, other| one.clustering.cmp(&other.clustering));
        found.dedup_by(|one, other| one.clustering == other.clustering);
        found
    }

    /// What Cassandra shows where no row that conditions are about is there: static columns that the statements or their conditions are
    /// about. If all conditions are about static columns it looks at the partition's first row, too.
    fn instead_of_rows(&self, writer: &Writer<'_>, table: &Table, partition: &PartitionKey<'_>) -> Result<Option<Existing>, Failure> {
        let Some(static_row) = self.conditional.iter().find_map(|(_, existing)| existing.static_row.clone()) else {
            return self.first_row(writer, table, partition, None);
        };
        if !self.conditional.iter().any(|(plan, _)| is_about_row(plan)) {
            let first = self.first_row(writer, table, partition, Some(&static_row))?;
            if first.is_some() {
                return Ok(first);
            }
        }
        let all_statics = self.plans.iter().any(|plan| !plan.static_assignments.is_empty());
        let is_read = |column| all_statics || self.conditions().any(|condition| condition.column.id == column);
        let is_there = RowView::new(&static_row).cells().any(|cell| cell.is_live(writer.now_s) && is_read(cell.column));
        Ok(is_there.then_some(Existing { clustering: Vec::new(), static_row: Some(static_row), row: None, hidden_by: None }))
    }

    /// The first row of the partition, if all conditions are about static columns. One without its own stamp is seen only by statements that
    /// write to rows: others do not read its columns.
    fn first_row(
        &self,
        writer: &Writer<'_>,
        table: &Table,
        partition: &PartitionKey<'_>,
        static_row: Option<&[u8]>,
    ) -> Result<Option<Existing>, Failure> {
        if self.conditional.iter().any(|(plan, _)| is_about_row(plan)) {
            return Ok(None);
        }
        let reads_rows = self.plans.iter().any(|plan| plan.target != RowTarget::Static);
        let deletions = writer.deletions(partition)?;
        let mut found = None;
        writer.store.scan(partition, &[FIRST_ROW_BYTE], None, Direction::Forward, &mut |clustering, row| {
            let hidden_by = deletions.covering(clustering);
            let row = visible(writer, table, row, hidden_by);
            let view = RowView::new(&row);
            let is_seen =
                if reads_rows { view.is_live(writer.now_s) } else { view.liveness().is_some_and(|stamp| stamp.is_live(writer.now_s)) };
            if !is_seen {
                return Visit::Continue;
            }
            let static_row = static_row.map(<[u8]>::to_vec);
            found = Some(Existing { clustering: clustering.to_vec(), static_row, row: Some(row), hidden_by });
            Visit::Stop
        })?;
        Ok(found)
    }

    fn conditions(&self) -> impl Iterator<Item = &Condition> {
        self.conditional
            .iter()
            .filter_map(|(plan, _)| match &plan.conditions {
                Conditions::Columns(conditions) => Some(conditions),
                _ => None,
            })
            .flatten()
    }

    /// The columns that a refusal shows: those that conditions are about, of a batch after the primary key; all if a condition is about
    /// existence.
    fn shown_columns(&self, table: &Table) -> Vec<usize> {
        let is_about_existence = |(plan, _): &(&Modify, &Existing)| matches!(plan.conditions, Conditions::Exists | Conditions::NotExists);
        if self.conditional.iter().any(is_about_existence) {
            return (0..table.columns.len()).collect();
        }
        let keys = table.partition_key_len + table.clustering_len;
        let mut positions: Vec<usize> = if self.is_batch { (0..keys).collect() } else { Vec::new() };
        for (plan, _) in self.conditional {
            let Conditions::Columns(conditions) = &plan.conditions else { continue };
            // As in Cassandra, static columns come last in each statement.
            for last in [false, true] {
                for condition in conditions.iter().filter(|condition| is_static(table, condition) == last) {
                    if !positions.contains(&condition.column.position) {
                        positions.push(condition.column.position);
                    }
                }
            }
        }
        positions
    }
}

fn is_static(table: &Table, condition: &Condition) -> bool {
    table.columns[condition.column.position].kind == ColumnKind::Static
}

/// Whether a statement's conditions are about a row, and not about static columns alone.
fn is_about_row(plan: &Modify) -> bool {
    match &plan.conditions {
        Conditions::Columns(conditions) => !conditions.iter().all(|condition| is_static(&plan.table, condition)),
        Conditions::Exists | Conditions::NotExists => plan.target != RowTarget::Static,
        Conditions::None => false,
    }
}
