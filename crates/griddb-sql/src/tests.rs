#![allow(clippy::unwrap_used)]

use crate::cells::{cell, put_key, put_rows};
use crate::container::read_options;
use crate::request::{Operation, SqlRequest};
use crate::result::{Column, Page};
use crate::rows::{RowFormat, Rows};
use griddb::ElementType;
use griddb::instant::Instant;
use griddb::schema::{ColumnDefinition, Kind};
use griddb::wire::{Reader, put_i32, put_i64, put_string};
use sql::time::Moment;
use sql::{Value, ValueRef};

/// What a driver sends to execute a statement with a row of parameters, each of any type: it draws them as results are drawn.
fn execution(values: &[Value]) -> Vec<u8> {
    let columns: Vec<Column> = values.iter().map(|_| Column { label: String::new(), element: None }).collect();
    let mut page = Page::new(&columns);
    page.begin_row();
    values.iter().enumerate().for_each(|(at, value)| page.put(at, value.as_ref()).unwrap());
    let mut result = Vec::new();
    page.write(false, &mut result);
    let mut out = vec![7; 16];
    out.push(1);
    put_i32(&mut out, 0);
    put_i64(&mut out, 5);
    put_i64(&mut out, 4);
    out.extend_from_slice(&[0, 0, 1]);
    put_i64(&mut out, 1);
    // After whether there are rows, whether there are more, and how many.
    out.extend_from_slice(&result[6..]);
    let mut options = Vec::new();
    options.extend_from_slice(&10_001_i16.to_le_bytes());
    put_i32(&mut options, 1_500);
    options.extend_from_slice(&10_003_i16.to_le_bytes());
    put_i64(&mut options, 100);
    put_i32(&mut out, options.len() as i32);
    out.extend_from_slice(&options);
    put_i32(&mut out, 1);
    put_string(&mut out, "SELECT ?");
    out
}

fn values() -> Vec<Value> {
    vec![
        Value::Null,
        Value::Integer(i64::MIN),
        Value::Text("größe".to_owned()),
        Value::Real(-0.5),
        Value::Blob(vec![0, 1]),
        Value::Text("x".repeat(300)),
    ]
}

#[test]
fn an_execution_is_read() {
    let bytes = execution(&values());
    let request = SqlRequest::read(Reader::new(&bytes)).unwrap();
    assert_eq!((request.operation, request.query, request.former), (Operation::Execute, 5, 4));
    assert_eq!((request.text, request.timeout_ms, request.page_rows, request.rows_max), (Some("SELECT ?"), 1_500, 100, 0));
    assert_eq!(request.parameters, Some(vec![values()]));
}

fn column(name: &str, element: ElementType) -> ColumnDefinition {
    ColumnDefinition { name: name.to_owned(), element, is_array: false, is_not_null: false }
}

#[test]
fn rows_come_back_as_they_were_written() {
    let elements = [
        ElementType::Timestamp,
        ElementType::String,
        ElementType::Bool,
        ElementType::Byte,
        ElementType::Short,
        ElementType::Integer,
        ElementType::Long,
        ElementType::Float,
        ElementType::Double,
        ElementType::Blob,
    ];
    let columns: Vec<ColumnDefinition> = elements.iter().map(|element| column(element.name(), *element)).collect();
    let text = "größe".repeat(100);
    let blob = [1, 2, 3];
    let rows = [
        [
            ValueRef::Integer(5),
            ValueRef::Text(&text),
            ValueRef::Integer(1),
            ValueRef::Integer(-128),
            ValueRef::Integer(32_767),
            ValueRef::Integer(-7),
            ValueRef::Integer(i64::MAX),
            ValueRef::Real(0.5),
            ValueRef::Real(1e300),
            ValueRef::Blob(&blob),
        ],
        [ValueRef::Null; 10],
        [
            ValueRef::Integer(-1),
            ValueRef::Text(""),
            ValueRef::Integer(0),
            ValueRef::Integer(0),
            ValueRef::Integer(0),
            ValueRef::Integer(0),
            ValueRef::Integer(0),
            ValueRef::Real(0.0),
            ValueRef::Real(-0.0),
            ValueRef::Blob(&[]),
        ],
    ];
    let cells: Vec<_> =
        rows.iter().map(|row| columns.iter().zip(row).map(|(column, value)| cell(column, *value).unwrap()).collect()).collect();
    let mut bytes = Vec::new();
    put_i64(&mut bytes, rows.len() as i64);
    put_rows(&columns, &cells, &mut bytes);
    let format = RowFormat::new(&columns, Kind::TimeSeries);
    let mut read = Rows::new(bytes, 0, &format).unwrap();
    for (row, cells) in rows.iter().zip(&cells) {
        assert!(read.advance(&format, true).unwrap());
        for (at, value) in row.iter().enumerate() {
            assert_eq!(read.value(&format, at), *value);
        }
        assert_eq!(read.cells(&format), *cells);
    }
    assert!(!read.advance(&format, true).unwrap());
    assert!(Rows::new(vec![9, 0, 0, 0, 0, 0, 0, 0, 1], 0, &format).is_err(), "more rows than there are");
}

#[test]
fn values_fit_their_columns_or_are_refused() {
    use ElementType::{Bool, Byte, Double, Integer, Long, String, Timestamp};
    let fits = [
        (Byte, ValueRef::Integer(127), vec![127]),
        (Integer, ValueRef::Real(-2.0), vec![0xFE, 0xFF, 0xFF, 0xFF]),
        (Integer, ValueRef::Text(" 7 "), vec![7, 0, 0, 0]),
        (Bool, ValueRef::Text("True"), vec![1]),
        (Bool, ValueRef::Integer(5), vec![1]),
        (Double, ValueRef::Integer(1), 1.0_f64.to_le_bytes().to_vec()),
        (String, ValueRef::Integer(12), b"12".to_vec()),
        (Timestamp, ValueRef::Text("1970-01-01T00:00:00.005Z"), 5_i64.to_le_bytes().to_vec()),
    ];
    for (element, value, bytes) in fits {
        assert_eq!(cell(&column("c", element), value).unwrap(), Some(bytes), "{element:?} {value:?}");
    }
    let wrong = [
        (Byte, ValueRef::Integer(128)),
        (Integer, ValueRef::Real(0.5)),
        (Long, ValueRef::Real(1e19)),
        (Long, ValueRef::Text("9223372036854775808")),
        (Bool, ValueRef::Text("perhaps")),
        (Double, ValueRef::Blob(&[])),
        (String, ValueRef::Real(0.5)),
        (Timestamp, ValueRef::Text("yesterday")),
        (ElementType::Blob, ValueRef::Text("x")),
    ];
    for (element, value) in wrong {
        assert!(cell(&column("c", element), value).is_err(), "{element:?} {value:?}");
    }
    let required = ColumnDefinition { is_not_null: true, ..column("c", Long) };
    assert!(cell(&required, ValueRef::Null).is_err());
    let array = ColumnDefinition { is_array: true, ..column("c", Long) };
    assert!(cell(&array, ValueRef::Integer(1)).is_err());
    assert_eq!(cell(&array, ValueRef::Null).unwrap(), None);
}

#[test]
fn a_key_of_one_column_is_its_value() {
    let mut out = Vec::new();
    put_key(&[column("a", ElementType::String)], &[Some(b"xy".to_vec())], &mut out);
    assert_eq!(out, [2 << 1 | 1, b'x', b'y']);
    out.clear();
    put_key(&[column("a", ElementType::Integer)], &[Some(vec![1, 0, 0, 0])], &mut out);
    assert_eq!(out, [1, 0, 0, 0]);
}

/// A statement with one parameter of nanoseconds.
fn of_nanoseconds(time: [u8; 9]) -> Vec<u8> {
    let (mut schema, mut table) = (Vec::new(), Vec::new());
    put_i32(&mut schema, 1);
    put_string(&mut schema, "");
    schema.extend_from_slice(&[ElementType::NanoTimestamp as u8, 0]);
    put_i64(&mut table, 0);
    table.push(0);
    table.extend_from_slice(&time);
    let mut out = vec![7; 16];
    out.push(1);
    put_i32(&mut out, 0);
    put_i64(&mut out, 5);
    put_i64(&mut out, 4);
    out.extend_from_slice(&[0, 0, 1]);
    put_i64(&mut out, 1);
    for part in [&schema, &table] {
        put_i32(&mut out, part.len() as i32);
        out.extend_from_slice(part);
    }
    put_i32(&mut out, 0);
    put_i32(&mut out, 1);
    put_string(&mut out, "SELECT ?");
    out
}

#[test]
fn a_parameter_may_be_of_any_year_and_a_column_of_precise_times_not() {
    let before = Instant { us: -1, ns: 999 };
    let request = of_nanoseconds(before.nano_wire());
    let moment = Moment { ms: -1, ns: 999_999 };
    assert_eq!(SqlRequest::read(Reader::new(&request)).unwrap().parameters, Some(vec![vec![Value::Time(moment)]]));
    let mut wrong = before.nano_wire();
    wrong[8] = 250;
    assert!(SqlRequest::read(Reader::new(&of_nanoseconds(wrong))).is_err());
    for element in [ElementType::MicroTimestamp, ElementType::NanoTimestamp] {
        let column = column("at", element);
        // The first has wrapped to a time of 1970.
        for value in [4_611_686_018_427_388, i64::MAX, i64::MIN, -1, 253_402_300_800_000] {
            let said = cell(&column, ValueRef::Integer(value)).unwrap_err().to_string();
            assert!(said.contains("at") && said.contains("1970 and 9999"), "{said}");
        }
        assert!(cell(&column, ValueRef::Time(moment)).is_err());
        assert!(cell(&column, ValueRef::Integer(253_402_300_799_999)).is_ok());
        let columns = [Column { label: "at".to_owned(), element: Some(element) }];
        let mut page = Page::new(&columns);
        page.begin_row();
        assert!(page.put(0, ValueRef::Integer(4_611_686_018_427_388)).unwrap_err().to_string().contains("no room"));
        assert!(page.put(0, ValueRef::Text("0001-01-01T00:00:00.000000001Z")).is_ok());
    }
}

#[test]
fn figures_are_asked_for_after_what_every_member_knows() {
    use crate::heads::{put_aggregates, put_columns};
    for asks in [false, true] {
        let (mut columns, mut aggregates) = (Vec::new(), Vec::new());
        put_columns(5, asks, &mut columns);
        put_aggregates(b"spec", asks, &mut aggregates);
        let (columns, aggregates) =
            (read_options(&mut Reader::new(&columns)).unwrap(), read_options(&mut Reader::new(&aggregates)).unwrap());
        assert_eq!((columns.columns, columns.figures), (Some(5), asks));
        assert_eq!((aggregates.aggregates, aggregates.figures), (Some(&b"spec"[..]), asks));
    }
}
