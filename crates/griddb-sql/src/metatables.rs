//! GridDB's metatables, which applications and tools read by SQL: `SELECT * FROM "#tables"` and so on. The columns of `#tables`, `#index_info`, `#table_partitions` and
//! `#views` are those of its SQL reference, which does not tell the others.
//!
//! They tell of the database that the client is in, and of containers that it may know of. Nothing is partitioned here, so columns about that are null.

use crate::container::Container;
use griddb::IndexKind;
use griddb::schema::{ColumnDefinition, Kind};
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
        // There are no partitioned tables, views or triggers.
        _ => {}
    }
}

/// A column's type, as GridDB calls it.
pub(crate) fn type_name(column: &ColumnDefinition) -> Value {
    let name = column.element.name();
    if column.is_array { Value::Text(format!("{name}_ARRAY")) } else { text(name) }
}

pub(crate) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}
