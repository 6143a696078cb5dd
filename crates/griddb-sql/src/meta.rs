//! Tables about tables. Drivers read `#_driver_tables` and so on for `DatabaseMetaData`, applications the [`metatables`]. Their rows are made when they are read.

use crate::client::{Client, Refusal};
use crate::container::Container;
use crate::metatables::{self, Columns, text, type_name};
use crate::views::{self, View};
use griddb::ElementType;
use griddb::client::IndexDescription;
use griddb::instant::Precision;
use griddb::schema::ColumnDefinition;
use sql::{Column, ColumnType, Scan, SourceError, Table, Value, ValueRef};
use std::sync::Arc;

use ColumnType::{Bool, Integer, Short, Text};

/// The version of GridDB whose drivers and features are served.
const VERSION: (i64, i64) = (5, 6);
/// What JDBC calls a column that may be null, or not; and an index of another kind than it knows.
const NULLABLE: i64 = 1;
const NO_NULLS: i64 = 0;
const INDEX_OTHER: i64 = 3;
/// A type that can be searched by all operators.
const SEARCHABLE: i64 = 3;

const OF_DRIVERS: [(&str, Columns); 7] = [
    (
        "#_driver_tables",
        &[
            ("TABLE_CAT", Text),
            ("TABLE_SCHEM", Text),
            ("TABLE_NAME", Text),
            ("TABLE_TYPE", Text),
            ("REMARKS", Text),
            ("TYPE_CAT", Text),
            ("TYPE_SCHEM", Text),
            ("TYPE_NAME", Text),
            ("SELF_REFERENCING_COL_NAME", Text),
            ("REF_GENERATION", Text),
        ],
    ),
    ("#_driver_table_types", &[("TABLE_TYPE", Text)]),
    (
        "#_driver_columns",
        &[
            ("TABLE_CAT", Text),
            ("TABLE_SCHEM", Text),
            ("TABLE_NAME", Text),
            ("COLUMN_NAME", Text),
            ("DATA_TYPE", Integer),
            ("TYPE_NAME", Text),
            ("COLUMN_SIZE", Integer),
            ("BUFFER_LENGTH", Integer),
            ("DECIMAL_DIGITS", Integer),
            ("NUM_PREC_RADIX", Integer),
            ("NULLABLE", Integer),
            ("REMARKS", Text),
            ("COLUMN_DEF", Text),
            ("SQL_DATA_TYPE", Integer),
            ("SQL_DATETIME_SUB", Integer),
            ("CHAR_OCTET_LENGTH", Integer),
            ("ORDINAL_POSITION", Integer),
            ("IS_NULLABLE", Text),
            ("SCOPE_CATALOG", Text),
            ("SCOPE_SCHEMA", Text),
            ("SCOPE_TABLE", Text),
            ("SOURCE_DATA_TYPE", Short),
            ("IS_AUTOINCREMENT", Text),
            ("IS_GENERATEDCOLUMN", Text),
        ],
    ),
    (
        "#_driver_primary_keys",
        &[("TABLE_CAT", Text), ("TABLE_SCHEM", Text), ("TABLE_NAME", Text), ("COLUMN_NAME", Text), ("KEY_SEQ", Short), ("PK_NAME", Text)],
    ),
    (
        "#_driver_type_info",
        &[
            ("TYPE_NAME", Text),
            ("DATA_TYPE", Integer),
            ("PRECISION", Integer),
            ("LITERAL_PREFIX", Text),
            ("LITERAL_SUFFIX", Text),
            ("CREATE_PARAMS", Text),
            ("NULLABLE", Short),
            ("CASE_SENSITIVE", Bool),
            ("SEARCHABLE", Short),
            ("UNSIGNED_ATTRIBUTE", Bool),
            ("FIXED_PREC_SCALE", Bool),
            ("AUTO_INCREMENT", Bool),
            ("LOCAL_TYPE_NAME", Text),
            ("MINIMUM_SCALE", Short),
            ("MAXIMUM_SCALE", Short),
            ("SQL_DATA_TYPE", Integer),
            ("SQL_DATETIME_SUB", Integer),
            ("NUM_PREC_RADIX", Integer),
        ],
    ),
    (
        "#_driver_index_info",
        &[
            ("TABLE_CAT", Text),
            ("TABLE_SCHEM", Text),
            ("TABLE_NAME", Text),
            ("NON_UNIQUE", Bool),
            ("INDEX_QUALIFIER", Text),
            ("INDEX_NAME", Text),
            ("TYPE", Short),
            ("ORDINAL_POSITION", Short),
            ("COLUMN_NAME", Text),
            ("ASC_OR_DESC", Text),
            ("CARDINALITY", Integer),
            ("PAGES", Integer),
            ("FILTER_CONDITION", Text),
        ],
    ),
    ("#_driver_cluster_info", &[("DATABASE_MAJOR_VERSION", Integer), ("DATABASE_MINOR_VERSION", Integer), ("EXTRA_NAME_CHARACTERS", Text)]),
];

/// The types of columns with what JDBC calls them.
const TYPES: [(ElementType, i64); 12] = [
    (ElementType::Byte, -6),
    (ElementType::Bool, -7),
    (ElementType::Long, -5),
    (ElementType::Integer, 4),
    (ElementType::Short, 5),
    (ElementType::Float, 6),
    (ElementType::Double, 8),
    (ElementType::String, 12),
    (ElementType::Timestamp, TYPE_TIMESTAMP),
    (ElementType::MicroTimestamp, TYPE_TIMESTAMP),
    (ElementType::NanoTimestamp, TYPE_TIMESTAMP),
    (ElementType::Blob, 2_004),
];
/// What JDBC calls times.
const TYPE_TIMESTAMP: i64 = 93;
/// The digits of a second that the most precise times have.
const DIGITS_MAX: i64 = 9;
/// Characters of a time's text besides the digits of a second.
const TIME_CHARACTERS: i64 = 27;
/// What JDBC calls a type that it does not know: arrays.
const TYPE_OTHER: i64 = 1_111;

/// The table of a name.
pub(crate) fn find(name: &str) -> Option<Arc<Table>> {
    let (name, columns) = OF_DRIVERS.iter().chain(&metatables::ALL).find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    let column = |(name, kind): &(&str, ColumnType)| Column { name: (*name).to_owned(), kind: *kind, is_not_null: false };
    let columns = columns.iter().map(column).collect();
    Some(Arc::new(Table { name: (*name).to_owned(), schema: None, columns, key_len: 0, indexed: Vec::new(), lookup: None }))
}

/// The rows of a table that [`find`] gave.
///
/// # Errors
/// What the node says.
pub(crate) fn scan(client: &mut Client, table: &Table, views: &[View]) -> Result<Box<dyn Scan>, SourceError> {
    let mut rows = rows(client, &table.name)?;
    views.iter().for_each(|view| view_rows(&table.name, client.database(), view, &mut rows));
    Ok(Box::new(MadeRows { rows: rows.into_iter(), current: Vec::new() }))
}

/// Whether a table tells of views, and if so whether of their columns, too.
pub(crate) fn tells_views(table: &str) -> Option<bool> {
    match table {
        "#_driver_tables" | "#views" => Some(false),
        "#_driver_columns" | "#columns" => Some(true),
        _ => None,
    }
}

fn view_rows(table: &str, database: &str, view: &View, rows: &mut Vec<Vec<Value>>) {
    match table {
        "#_driver_tables" => rows.push(table_row(&view.name, "VIEW")),
        "#_driver_columns" => rows.extend(view.columns.iter().enumerate().map(|(at, column)| column_row(&view.name, at, column))),
        _ => metatables::rows_of_view(table, database, view, rows),
    }
}

fn table_row(name: &str, kind: &str) -> Vec<Value> {
    let mut row = vec![Value::Null; 10];
    row[2] = text(name);
    row[3] = text(kind);
    row
}

fn rows(client: &mut Client, table: &str) -> Result<Vec<Vec<Value>>, Refusal> {
    let of_each = |client: &mut Client, make: fn(&Container, &mut Vec<Vec<Value>>)| {
        let mut rows = Vec::new();
        shown(client)?.iter().for_each(|container| make(container, &mut rows));
        Ok(rows)
    };
    match table {
        "#_driver_tables" => of_each(client, |container, rows| rows.push(table_row(&container.table.name, "TABLE"))),
        "#_driver_table_types" => Ok(vec![vec![text("TABLE")], vec![text("VIEW")]]),
        "#_driver_columns" => of_each(client, |container, rows| {
            rows.extend(container.columns.iter().enumerate().map(|(at, column)| column_row(&container.table.name, at, column)));
        }),
        "#_driver_primary_keys" => of_each(client, |container, rows| {
            for (at, column) in container.columns.iter().take(container.key_len).enumerate() {
                let name = text(&container.table.name);
                rows.push(vec![Value::Null, Value::Null, name, text(&column.name), Value::Integer(at as i64 + 1), Value::Null]);
            }
        }),
        "#_driver_type_info" => Ok(TYPES.iter().filter(|(element, _)| !element.is_precise_time()).map(type_row).collect()),
        "#_driver_index_info" => of_each(client, |container, rows| {
            container.indexes.iter().for_each(|index| index_rows(container, index, rows));
        }),
        "#_driver_cluster_info" => Ok(vec![vec![Value::Integer(VERSION.0), Value::Integer(VERSION.1), text("")]]),
        metatable => {
            let mut rows = Vec::new();
            let containers = shown(client)?;
            containers.iter().for_each(|container| metatables::rows_of(metatable, client.database(), container, &mut rows));
            Ok(rows)
        }
    }
}

/// All containers but the one where views are kept.
fn shown(client: &mut Client) -> Result<Vec<Container>, Refusal> {
    let mut containers = Container::all(client)?;
    containers.retain(|container| !views::is_container(&container.table.name));
    Ok(containers)
}

fn column_row(table: &str, at: usize, column: &ColumnDefinition) -> Vec<Value> {
    let kind = TYPES.iter().find(|(element, _)| *element == column.element && !column.is_array).map_or(TYPE_OTHER, |(_, kind)| *kind);
    let mut row = vec![Value::Null; 24];
    row[2] = text(table);
    row[3] = text(&column.name);
    row[4] = Value::Integer(kind);
    row[5] = type_name(column);
    row[6] = Value::Integer(131_072);
    row[7] = Value::Integer(2_000_000_000);
    let digits = column.element.precision().filter(|_| !column.is_array).map(digits);
    row[8] = digits.map_or(Value::Null, Value::Integer);
    row[9] = Value::Integer(10);
    row[10] = Value::Integer(if column.is_not_null { NO_NULLS } else { NULLABLE });
    row[15] = Value::Integer(digits.map_or(2_000_000_000, |digits| TIME_CHARACTERS + digits));
    row[16] = Value::Integer(at as i64 + 1);
    row[17] = text(if column.is_not_null { "NO" } else { "YES" });
    row[22] = text("NO");
    row[23] = text("NO");
    row
}

/// How many digits of a second a time has.
fn digits(precision: Precision) -> i64 {
    match precision {
        Precision::Milli => 3,
        Precision::Micro => 6,
        Precision::Nano => DIGITS_MAX,
    }
}

fn type_row((element, kind): &(ElementType, i64)) -> Vec<Value> {
    let quote = if *element == ElementType::String { text("'") } else { Value::Null };
    vec![
        text(element.name()),
        Value::Integer(*kind),
        Value::Integer(if *kind == TYPE_TIMESTAMP { DIGITS_MAX } else { 0 }),
        quote.clone(),
        quote,
        Value::Null,
        Value::Integer(NULLABLE),
        Value::Integer(1),
        Value::Integer(SEARCHABLE),
        Value::Integer(0),
        Value::Integer(0),
        Value::Integer(0),
        Value::Null,
        Value::Integer(0),
        Value::Integer(0),
        Value::Null,
        Value::Null,
        Value::Integer(10),
    ]
}

fn index_rows(container: &Container, index: &IndexDescription, rows: &mut Vec<Vec<Value>>) {
    let is_key = index.columns.len() == container.key_len && index.columns.iter().enumerate().all(|(at, column)| at == *column);
    for (at, column) in index.columns.iter().enumerate() {
        let Some(column) = container.columns.get(*column) else { continue };
        let mut row = vec![Value::Null; 13];
        row[2] = text(&container.table.name);
        row[3] = Value::Integer(i64::from(!is_key));
        row[5] = if index.name.is_empty() { Value::Null } else { text(&index.name) };
        row[6] = Value::Integer(INDEX_OTHER);
        row[7] = Value::Integer(at as i64 + 1);
        row[8] = text(&column.name);
        rows.push(row);
    }
}

/// Rows that were made.
struct MadeRows {
    rows: std::vec::IntoIter<Vec<Value>>,
    current: Vec<Value>,
}

impl Scan for MadeRows {
    fn advance(&mut self) -> Result<bool, SourceError> {
        let next = self.rows.next();
        let is_there = next.is_some();
        self.current = next.unwrap_or_default();
        Ok(is_there)
    }

    fn value(&self, column: usize) -> ValueRef<'_> {
        self.current.get(column).map_or(ValueRef::Null, Value::as_ref)
    }
}
