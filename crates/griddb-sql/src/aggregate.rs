//! Aggregates of a container: the core that has it makes them of the rows that a part of a scan would have. Parts, and data partitions, are merged here.
//!
//! What the node is asked is the query that a scan is, with an option of this server's own that tells what is made of its rows. A member that does not know it
//! gives the rows: the statement is run as any other then. Between two parts it can be stopped.

use crate::analysis::Analysis;
use crate::client::{Client, Refusal, lock};
use crate::container::Container;
use crate::heads::{head, put_aggregates};
use crate::places::places;
use crate::query_text::{Values, query_text};
use griddb::tql::{AGGREGATED_COLUMNS_MAX, can_aggregate};
use griddb::wire::{put_i64, put_string, statement};
use griddb::{ElementType, GridError};
use model::aggregate::{self, Fold, Function, OwnedValue, Partials, Spec};
use sql::{Aggregation, Condition, GroupRows, Order, Value};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Groups of a statement, which bound their bytes themselves: more are SQLite's to sort, which can spill.
const GROUPS_MAX: usize = 65_536;
/// What the first part of a query is asked with.
const FIRST: &[u8] = &[1, 0, 0, 0, 0];

/// The groups of a container; none if the node cannot make them, or there are too many.
pub(crate) fn aggregate(
    (client, analysis): (&Mutex<Client>, Option<&Arc<Analysis>>),
    container: &Container,
    wanted: &Aggregation,
    is_over: &dyn Fn() -> bool,
) -> Result<Option<GroupRows>, Refusal> {
    let Some(spec) = spec(container, wanted) else { return Ok(None) };
    let mut encoded = Vec::new();
    spec.encode(&mut encoded);
    let told: Vec<Condition> = wanted.conditions.iter().filter(|condition| is_told(container, condition)).cloned().collect();
    let text = query_text(container, &told, Order::Key, Values::Told);
    let reading = analysis.map(|analysis| analysis.reading(container, (&told, Order::Key), true));
    let mut partials = Partials::new(&spec);
    // Nothing compares with null.
    let holds_for_none = spec.conditions.iter().any(|condition| condition.value == OwnedValue::Null);
    let places = if holds_for_none { Vec::new() } else { places(container, &told, Order::Key) };
    for place in places {
        let (mut state, mut is_first) = (Some(FIRST.to_vec()), true);
        while let Some(asked) = state {
            let began = Instant::now();
            let answer = lock(client).ask(statement::QUERY_TQL, 0, |out| {
                head(&place, out);
                put_aggregates(&encoded, reading.is_some(), out);
                put_i64(out, i64::MAX);
                put_i64(out, 0);
                out.extend_from_slice(&asked);
                put_string(out, &text);
            })?;
            let Some(part) = griddb::client::read_aggregated_part(&mut answer.reader())? else { return Ok(None) };
            partials.merge(&spec, part.rows).map_err(|_| GridError::malformed("aggregates that are none"))?;
            if let Some(reading) = &reading {
                reading.note(is_first, part.figures, groups_of(&spec, part.rows), began.elapsed());
            }
            (state, is_first) = (part.state.map(<[u8]>::to_vec), false);
            if is_over() || partials.is_lost() || partials.groups() > GROUPS_MAX {
                return Ok(None);
            }
        }
    }
    let rows = partials.finish(&spec).into_iter().map(|row| shown(container, wanted, row)).collect();
    Ok(Some(GroupRows::new(rows)))
}

/// How many groups a part has.
fn groups_of(spec: &Spec, part: &[u8]) -> u64 {
    let mut groups = Partials::new(spec);
    // It was merged with the others already.
    let _ = groups.merge(spec, part);
    groups.groups() as u64
}

/// Whether a condition is one that scans are told.
fn is_told(container: &Container, condition: &Condition) -> bool {
    let kind = container.table.columns[condition.column].kind;
    match condition.value {
        Value::Integer(_) => kind.is_integral(),
        Value::Text(_) => kind == sql::ColumnType::Text,
        _ => false,
    }
}

/// What the node is asked, by the columns of the container; none if it cannot be.
fn spec(container: &Container, wanted: &Aggregation) -> Option<Spec> {
    let known = |column: usize| {
        let is_known = container.columns.get(column).is_some_and(can_aggregate);
        u16::try_from(column).ok().filter(|_| is_known)
    };
    let fold = |(function, column): &(Function, usize)| {
        Some(Fold { function: *function, column: if *function == Function::Rows { 0 } else { known(*column)? } })
    };
    let condition = |condition: &Condition| {
        let value = match &condition.value {
            Value::Null => OwnedValue::Null,
            Value::Integer(value) => OwnedValue::Integer(*value),
            Value::Real(value) => OwnedValue::Real(*value),
            Value::Text(text) => OwnedValue::Bytes(text.clone().into_bytes()),
            Value::Blob(bytes) => OwnedValue::Bytes(bytes.clone()),
            Value::Time(_) => return None,
        };
        Some(aggregate::Condition { column: known(condition.column)?, comparison: condition.operator.into(), value })
    };
    let spec = Spec {
        groups: wanted.groups.iter().map(|group| known(*group)).collect::<Option<_>>()?,
        folds: wanted.folds.iter().map(fold).collect::<Option<_>>()?,
        conditions: wanted.conditions.iter().map(condition).collect::<Option<_>>()?,
    };
    (spec.is_bounded() && spec.columns().len() <= AGGREGATED_COLUMNS_MAX).then_some(spec)
}

/// A group as SQL has it.
fn shown(container: &Container, wanted: &Aggregation, row: Vec<OwnedValue>) -> Vec<Value> {
    let groups = wanted.groups.iter().copied();
    let columns = groups.chain(wanted.folds.iter().map(|(_, column)| *column));
    let value = |(column, value): (usize, OwnedValue)| match value {
        OwnedValue::Null => Value::Null,
        OwnedValue::Integer(value) => Value::Integer(value),
        OwnedValue::Real(value) => Value::Real(value),
        OwnedValue::Bytes(bytes) if container.columns[column].element == ElementType::String => {
            String::from_utf8(bytes).map_or(Value::Null, Value::Text)
        }
        OwnedValue::Bytes(bytes) => Value::Blob(bytes),
    };
    columns.zip(row).map(value).collect()
}
