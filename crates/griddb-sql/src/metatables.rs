//! GridDB's metatables, which applications and tools read by SQL: `SELECT * FROM "#tables"` and so on. The columns of `#tables`, `#index_info`, `#table_partitions` and
//! `#views` are those of its SQL reference, which does not tell the others.
//!
//! They tell of the database that the client is in, and of containers that it may know of.

use crate::container::Container;
use crate::views::View;
use griddb::partitioning::{HashDivision, Partitioning};
use griddb::schema::{ColumnDefinition, Kind};
use griddb::{IndexKind, PARTITION_COUNT};
use sql::ColumnType::{Bool, Integer, Short, Text};
use sql::Value;

/// Names and types of columns.
pub(crate) type Columns = &'static [(&'static str, sql::ColumnType)];

/// The tables and their columns.
pub(crate) const ALL: [(&str, Columns); 7] = [
    (
        "#tables",
        &[
            ("DATABASE_NAME", Text),
            ("TABLE_NAME", Text),
            ("TABLE_OPTIONAL_TYPE", Text),
            ("DATA_AFFINITY", Text),
            ("EXPIRATION_TIME", Integer),
            ("EXPIRATION_TIME_UNIT", Text),
            ("EXPIRATION_DIVISION_COUNT", Integer),
            ("PARTITION_TYPE", Text),
            ("PARTITION_COLUMN", Text),
            ("PARTITION_INTERVAL_VALUE", Text),
            ("PARTITION_INTERVAL_UNIT", Text),
            ("PARTITION_DIVISION_COUNT", Integer),
            ("SUBPARTITION_TYPE", Text),
            ("SUBPARTITION_COLUMN", Text),
            ("SUBPARTITION_INTERVAL_VALUE", Text),
            ("SUBPARTITION_INTERVAL_UNIT", Text),
            ("SUBPARTITION_DIVISION_COUNT", Integer),
            ("EXPIRATION_TYPE", Text),
        ],
    ),
    (
        "#columns",
        &[
            ("DATABASE_NAME", Text),
            ("TABLE_NAME", Text),
            ("ORDINAL_POSITION", Short),
            ("TYPE_NAME", Text),
            ("COLUMN_NAME", Text),
            ("NULLABLE", Bool),
        ],
    ),
    ("#primary_keys", &[("DATABASE_NAME", Text), ("TABLE_NAME", Text), ("KEY_SEQ", Short), ("COLUMN_NAME", Text)]),
    (
        "#index_info",
        &[
            ("DATABASE_NAME", Text),
            ("TABLE_NAME", Text),
            ("INDEX_NAME", Text),
            ("INDEX_TYPE", Text),
            ("ORDINAL_POSITION", Short),
            ("COLUMN_NAME", Text),
        ],
    ),
    (
        "#table_partitions",
        &[
            ("DATABASE_NAME", Text),
            ("TABLE_NAME", Text),
            ("PARTITION_BOUNDARY_VALUE", Text),
            ("CLUSTER_PARTITION_INDEX", Integer),
            ("CLUSTER_NODE_ADDRESS", Text),
            ("WORKER_INDEX", Integer),
        ],
    ),
    ("#views", &[("DATABASE_NAME", Text), ("VIEW_NAME", Text), ("VIEW_DEFINITION", Text)]),
    ("#event_triggers", &[("DATABASE_NAME", Text), ("TABLE_NAME", Text), ("TRIGGER_NAME", Text)]),
];

/// Appends the rows that a container has in a metatable.
pub(crate) fn rows_of(table: &str, database: &str, container: &Container, rows: &mut Vec<Vec<Value>>) {
    let own = || vec![text(database), text(&container.table.name)];
    match table {
        "#tables" => {
            let kind = if container.kind == Kind::TimeSeries { "TIMESERIES" } else { "COLLECTION" };
            let mut row = [own(), vec![text(kind)]].concat();
            row.resize(ALL[0].1.len(), Value::Null);
            if let Some(partitioning) = &container.partitioning {
                put_division(partitioning, &mut row);
            }
            rows.push(row);
        }
        "#columns" => rows.extend(container.columns.iter().zip(1..).map(|(column, position)| {
            let nullable = Value::Integer(i64::from(!column.is_not_null));
            [own(), vec![Value::Integer(position), type_name(column), text(&column.name), nullable]].concat()
        })),
        "#primary_keys" => {
            let keys = container.columns.iter().take(container.key_len).zip(1..);
            rows.extend(keys.map(|(column, position)| [own(), vec![Value::Integer(position), text(&column.name)]].concat()));
        }
        "#index_info" => rows.extend(container.indexes.iter().flat_map(|index| {
            let name = if index.name.is_empty() { Value::Null } else { text(&index.name) };
            let columns = index.columns.iter().filter_map(|column| container.columns.get(*column)).zip(1..);
            columns.map(move |(column, position)| {
                [
                    own(),
                    vec![name.clone(), text(index.kind.map_or("UNKNOWN", IndexKind::name)), Value::Integer(position), text(&column.name)],
                ]
                .concat()
            })
        })),
        "#table_partitions" => rows.extend(container.partitioning.iter().flat_map(|partitioning| {
            partitioning.parts().map(|(interval, part)| {
                let boundary = boundary(container, partitioning, interval).map_or(Value::Null, Value::Text);
                [own(), vec![boundary, Value::Integer(cluster_partition(container, part)), Value::Null, Value::Null]].concat()
            })
        })),
        // There are no triggers. Views are told of by `rows_of_view`.
        _ => {}
    }
}

/// Appends the rows that a view has in a metatable.
pub(crate) fn rows_of_view(table: &str, database: &str, view: &View, rows: &mut Vec<Vec<Value>>) {
    let own = || vec![text(database), text(&view.name)];
    match table {
        "#views" => rows.push([own(), vec![text(&view.definition)]].concat()),
        "#columns" => rows.extend(view.columns.iter().zip(1..).map(|(column, position)| {
            [own(), vec![Value::Integer(position), type_name(column), text(&column.name), Value::Integer(1)]].concat()
        })),
        _ => {}
    }
}

/// What `#tables` tells of how a table is partitioned.
fn put_division(partitioning: &Partitioning, row: &mut [Value]) {
    let hash = |row: &mut [Value], hash: &HashDivision| {
        (row[0], row[1], row[4]) = (text("HASH"), text(&hash.column), Value::Integer(i64::from(hash.count)));
    };
    match (partitioning.intervals(), partitioning.hash()) {
        (Some(intervals), division) => {
            let unit = intervals.unit.map_or(Value::Null, |unit| text(unit.name()));
            (row[7], row[8], row[9], row[10]) = (text("INTERVAL"), text(&intervals.column), text(&intervals.every.to_string()), unit);
            division.into_iter().for_each(|division| hash(&mut row[12..17], division));
        }
        (None, division) => division.into_iter().for_each(|division| hash(&mut row[7..12], division)),
    }
    if let Some(expiration) = partitioning.expiration() {
        (row[4], row[5], row[17]) = (Value::Integer(i64::from(expiration.time)), text(expiration.unit()), text("PARTITION"));
    }
}

/// The least value of a data partition; none of one of a hash alone.
fn boundary(container: &Container, partitioning: &Partitioning, interval: i64) -> Option<String> {
    let (from, _) = partitioning.bounds(interval)?;
    let name = &partitioning.intervals()?.column;
    let is_time = container.columns.iter().any(|column| column.name.eq_ignore_ascii_case(name) && column.element.is_time());
    Some(if is_time { sql::time::format(from) } else { from.to_string() })
}

/// Among GridDB's partitions, as many slots each, the one of a data partition.
fn cluster_partition(container: &Container, part: u32) -> i64 {
    i64::from(griddb::slot_of_part(part, griddb::client::partition_of(&container.name, PARTITION_COUNT) as u32).0)
        * i64::from(PARTITION_COUNT)
        / 4_096
}

/// A column's type, as GridDB calls it.
pub(crate) fn type_name(column: &ColumnDefinition) -> Value {
    let name = column.element.name();
    if column.is_array { Value::Text(format!("{name}_ARRAY")) } else { text(name) }
}

pub(crate) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}
