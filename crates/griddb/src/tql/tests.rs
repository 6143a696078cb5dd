//! Small containers, and statements run over them.

#![allow(clippy::unwrap_used)]

mod bounds;
mod cuts;
mod folded;
mod precise;
mod series;
mod statements;

use super::*;
use crate::container::Container;
use crate::instant::{Instant, Precision};
use crate::row::{RowSet, StoredRow};
use crate::schema::{ElementType, Kind};
use crate::testing::{self, column};
use crate::{ErrorCode, GridError, encode_key};
use base::Rng;
use model::row::{RowView, RowWriter, Stamp};
use std::ops::Bound;
use std::sync::Arc;

const NOW_MS: i64 = 1_700_000_000_000;
const MEMORY_MAX: usize = 1 << 20;

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

fn row(container: &Container, cells: &[Option<Vec<u8>>]) -> (Vec<u8>, Vec<u8>) {
    let (mut key, mut bytes) = (Vec::new(), Vec::new());
    let mut writer = RowWriter::new(&mut bytes, Stamp::at(1), true, None);
    for (position, cell) in cells.iter().enumerate() {
        if position < container.definition.key_len {
            encode_key(container.definition.columns[position].element, cell.as_ref().unwrap(), &mut key).unwrap();
        } else if let Some(cell) = cell {
            writer.value(container.column_id(position), Stamp::at(1), cell);
        }
    }
    writer.finish();
    (key, bytes)
}

/// A collection of id, name, size, temperature, flag, numbers, select.
fn people() -> (Arc<Container>, Rows) {
    let columns = vec![
        column("Id", ElementType::Integer, false),
        column("name", ElementType::String, false),
        column("size", ElementType::Long, false),
        column("temperature", ElementType::Double, false),
        column("flag", ElementType::Bool, false),
        column("numbers", ElementType::Integer, true),
        column("select", ElementType::Short, false),
    ];
    let container = testing::container("Plant1", Kind::Collection, columns, 1);
    let people = [
        (1_i32, Some("Ada"), Some(10_i64), 1.5_f64, true),
        (2, Some("bob"), Some(-3), 2.5, false),
        (3, Some("10%"), None, -3.89, true),
        (4, None, Some(10), f64::NAN, false),
        (5, Some("größe"), Some(7), -0.23, true),
    ];
    let of = |(id, name, size, temperature, flag): (i32, Option<&str>, Option<i64>, f64, bool)| {
        let mut numbers = (id - 1).to_be_bytes().to_vec();
        for number in 1..id {
            numbers.extend_from_slice(&4_i32.to_be_bytes());
            numbers.extend_from_slice(&(number * 10).to_be_bytes());
        }
        let cells = [
            Some(id.to_be_bytes().to_vec()),
            name.map(|name| name.as_bytes().to_vec()),
            size.map(|size| size.to_be_bytes().to_vec()),
            Some(temperature.to_be_bytes().to_vec()),
            Some(vec![u8::from(flag)]),
            Some(numbers),
            Some((id as i16).to_be_bytes().to_vec()),
        ];
        row(&container, &cells)
    };
    let rows = people.into_iter().map(of).collect();
    (container, rows)
}

/// The time series of the TQL reference: times, voltage, a text, an integer that is null once.
fn plant() -> (Arc<Container>, Rows) {
    let columns = vec![
        column("at", ElementType::Timestamp, false),
        column("voltage", ElementType::Double, false),
        column("label", ElementType::String, false),
        column("level", ElementType::Integer, false),
    ];
    let container = testing::container("Plant1", Kind::TimeSeries, columns, 1);
    let of = |(second, voltage, level): (i64, f64, Option<i32>)| {
        let cells = [
            Some((second * 1_000).to_be_bytes().to_vec()),
            Some(voltage.to_be_bytes().to_vec()),
            Some(format!("at {second}").into_bytes()),
            level.map(|level| level.to_be_bytes().to_vec()),
        ];
        row(&container, &cells)
    };
    let rows = [(0, 4.0, Some(0)), (10, 3.0, Some(100)), (20, 2.0, None), (40, 1.0, Some(7))].into_iter().map(of).collect();
    (container, rows)
}

/// A value as clients get it.
fn wire(value: AggregateResult) -> Vec<u8> {
    let mut out = Vec::new();
    value.write(&mut out);
    out
}

fn is_in(range: &KeyRange, key: &[u8]) -> bool {
    let is_after = match &range.lower {
        Bound::Included(lower) => key >= &lower[..],
        Bound::Excluded(lower) => key > &lower[..],
        Bound::Unbounded => true,
    };
    is_after
        && match &range.upper {
            Bound::Included(upper) => key <= &upper[..],
            Bound::Excluded(upper) => key < &upper[..],
            Bound::Unbounded => true,
        }
}

fn run(container: &Container, rows: &Rows, mut select: Select) -> Result<Answer, GridError> {
    let range = select.key_range(container);
    select.forget_told(container);
    let mut order: Vec<_> = rows.iter().filter(|(key, _)| is_in(&range, key)).collect();
    assert!(!range.is_empty() || order.is_empty());
    if select.is_descending() {
        order.reverse();
    }
    let mut execution = Execution::new(select, container, MEMORY_MAX)?;
    for (key, bytes) in order {
        if execution.push(&StoredRow { container, clustering: key, view: RowView::new(bytes) })?.is_break() {
            break;
        }
    }
    execution.finish().map(|(answer, _)| answer)
}

/// First column, then one more column's eight bytes, of rows that are fixed enough.
fn keys(container: &Container, rows: &RowSet) -> Vec<i64> {
    let mut bytes = Vec::new();
    rows.write(&mut bytes);
    let layout = crate::row::Layout::of(&container.definition.columns);
    let number = if container.is_time_series() { 0 } else { 8 };
    let size = number + layout.fixed_bytes;
    let at = number + if layout.variable_columns > 0 { 8 } else { 0 } + layout.null_bytes;
    let key = |row: usize| {
        let bytes = &bytes[row * size + at..];
        match container.definition.columns[0].element {
            ElementType::Integer => i64::from(i32::from_le_bytes(*bytes.first_chunk().unwrap())),
            _ => i64::from_le_bytes(*bytes.first_chunk().unwrap()) / 1_000,
        }
    };
    (0..rows.rows() as usize).map(key).collect()
}

fn keys_of(container: &Container, rows: &Rows, select: Select) -> Vec<i64> {
    match run(container, rows, select).unwrap() {
        Answer::Rows(rows) => keys(container, &rows),
        Answer::Aggregate(_) | Answer::Partials(_) => panic!("rows are expected"),
    }
}
