//! Data partitions of partitioned tables: those that conditions leave, and those that rows belong to. A table that is not partitioned is one place.

use crate::cells::{Cells, cell};
use crate::client::{Client, Refusal};
use crate::container::Container;
use crate::transaction::done_or_not;
use griddb::partitioning::{Division, Partitioning};
use griddb::schema::ColumnDefinition;
use griddb::wire::statement;
use griddb::{ContainerName, ErrorCode, GridError, PARTITION_COUNT};
use sql::{Condition, Operator, Order, Value, ValueRef};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Rows of each place.
type ByPlace<R> = Vec<(Container, Vec<R>)>;

/// The places where rows may be that fulfil the conditions, in the order of the rows if the table has one.
pub(crate) fn places(container: &Container, conditions: &[Condition], order: Order) -> Vec<Container> {
    let Some(partitioning) = &container.partitioning else { return vec![container.clone()] };
    let (mut from, mut to, mut hash) = (Bound::Unbounded, Bound::Unbounded, None);
    let is_named =
        |column: usize, name: Option<&String>| name.is_some_and(|name| container.columns[column].name.eq_ignore_ascii_case(name));
    for Condition { column, operator, value } in conditions {
        if is_named(*column, partitioning.hash().map(|hash| &hash.column))
            && *operator == Operator::Equal
            && let Ok(Some(bytes)) = cell(&container.columns[*column], value.as_ref())
        {
            hash = Some(partitioning.hash_of(Some(&bytes)));
        }
        if is_named(*column, partitioning.intervals().map(|intervals| &intervals.column))
            && let Some(interval) = number(value.as_ref()).map(|number| partitioning.interval_of(number))
        {
            if matches!(operator, Operator::Equal | Operator::Greater | Operator::GreaterEqual) {
                from = later(from, interval);
            }
            if matches!(operator, Operator::Equal | Operator::Less | Operator::LessEqual) {
                to = earlier(to, interval);
            }
        }
    }
    let mut places: Vec<Container> = partitioning.parts_between(from, to, hash).map(|(_, part)| container.of_part(part)).collect();
    if order == Order::KeyDescending {
        places.reverse();
    }
    places
}

/// What a value counts as among intervals; times in milliseconds.
fn number(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::Integer(value) => Some(value),
        ValueRef::Time(moment) => Some(moment.ms),
        _ => None,
    }
}

fn later(bound: Bound<i64>, interval: i64) -> Bound<i64> {
    match bound {
        Bound::Included(known) => Bound::Included(known.max(interval)),
        _ => Bound::Included(interval),
    }
}

fn earlier(bound: Bound<i64>, interval: i64) -> Bound<i64> {
    match bound {
        Bound::Included(known) => Bound::Included(known.min(interval)),
        _ => Bound::Included(interval),
    }
}

/// Rows that are to be put, by the places that they belong to: data partitions that are missing are made. Rows that have expired already belong to none.
pub(crate) fn of_rows(client: &mut Client, container: &Container, rows: Vec<Cells>) -> Result<ByPlace<Cells>, Refusal> {
    let Some(partitioning) = &container.partitioning else { return Ok(vec![(container.clone(), rows)]) };
    let mut missing = BTreeSet::new();
    let mut by_place: BTreeMap<(i64, u32), Vec<Cells>> = BTreeMap::new();
    for row in rows {
        let place = place(partitioning, &container.columns, &row);
        if !partitioning.has(place.0) {
            partitioning.check_not_dropped(place.0)?;
            missing.insert(place.0);
        }
        by_place.entry(place).or_default().push(row);
    }
    let made = if missing.is_empty() { None } else { Some(with_intervals(client, container, missing)?) };
    let container = made.as_ref().unwrap_or(container);
    let partitioning = container.partitioning.as_ref().unwrap_or(partitioning);
    let part = |place: &(i64, u32)| partitioning.part(place.0, place.1).map(|part| container.of_part(part));
    Ok(by_place.into_iter().filter_map(|(place, rows)| Some((part(&place)?, rows))).collect())
}

fn place(partitioning: &Partitioning, columns: &[ColumnDefinition], row: &Cells) -> (i64, u32) {
    partitioning.place(columns, |position| row.get(position)?.as_deref())
}

/// The table with data partitions of these intervals.
fn with_intervals(client: &mut Client, container: &Container, intervals: BTreeSet<i64>) -> Result<Container, Refusal> {
    divide(client, container, &Division::Add(intervals.into_iter().collect()))?;
    let gone = || GridError::new(ErrorCode::TXN_CONTAINER_NOT_FOUND, format!("the table {} was dropped", container.name));
    let found = Container::find(client, &container.name.to_string())?.filter(|found| found.id == container.id);
    Ok(found.ok_or_else(gone)?)
}

/// Changes the data partitions of a table.
pub(crate) fn divide(client: &mut Client, container: &Container, division: &Division) -> Result<(), Refusal> {
    let asked = client.ask(statement::PUT_CONTAINER, partition(&container.name), |out| {
        let schema = (&*container.columns, container.key_len);
        griddb::client::put_partitioned_container((&container.name, container.kind), schema, &division.to_text(), true, out);
    });
    asked.map(drop).map_err(done_or_not)
}

/// The partition that clients over NoSQL compute for a name.
pub(crate) fn partition(name: &ContainerName) -> i32 {
    griddb::client::partition_of(name, PARTITION_COUNT)
}

/// Rows that a query has seen, by the places that they are in; none if one of these is not there any more.
pub(crate) fn of_seen(container: &Container, seen: Vec<Vec<Value>>) -> Result<Option<ByPlace<Vec<Value>>>, GridError> {
    let Some(partitioning) = &container.partitioning else { return Ok(Some(vec![(container.clone(), seen)])) };
    let mut by_part: BTreeMap<u32, Vec<Vec<Value>>> = BTreeMap::new();
    for row in seen {
        let cells = container
            .columns
            .iter()
            .zip(&row)
            .map(|(column, value)| if partitioning.is_by(&column.name) { cell(column, value.as_ref()) } else { Ok(None) });
        let (interval, hash) = place(partitioning, &container.columns, &cells.collect::<Result<Cells, _>>()?);
        let Some(part) = partitioning.part(interval, hash) else { return Ok(None) };
        by_part.entry(part).or_default().push(row);
    }
    Ok(Some(by_part.into_iter().map(|(part, rows)| (container.of_part(part), rows)).collect()))
}

#[cfg(test)]
mod tests;
