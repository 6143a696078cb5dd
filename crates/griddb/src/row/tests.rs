#![allow(clippy::unwrap_used)]

use super::*;
use crate::Container;
use crate::schema::{ElementType, Kind};
use crate::testing::{self, column};
use crate::wire::{Reader, put_var_bytes, put_var_size};
use base::Rng;
use model::row::{RowView, RowWriter, Stamp};
use std::sync::Arc;

fn container() -> Arc<Container> {
    let columns = vec![
        column("Id", ElementType::Long, false),
        column("flag", ElementType::Bool, false),
        column("small", ElementType::Short, false),
        column("text", ElementType::String, false),
        column("real", ElementType::Double, false),
        column("bytes", ElementType::Blob, false),
        column("numbers", ElementType::Integer, true),
        column("texts", ElementType::String, true),
        column("at", ElementType::Timestamp, false),
    ];
    testing::container("T", Kind::Collection, columns, 1)
}

/// A row as a client sends it: fixed parts, variable parts.
fn sent(id: i64, nulls: u16) -> Vec<u8> {
    let (mut fixed, mut variable) = (0_i64.to_le_bytes().to_vec(), Vec::new());
    fixed.extend_from_slice(&nulls.to_le_bytes());
    fixed.extend_from_slice(&id.to_le_bytes());
    fixed.push(1);
    fixed.extend_from_slice(&(-7_i16).to_le_bytes());
    fixed.extend_from_slice(&1.5_f64.to_le_bytes());
    fixed.extend_from_slice(&1_000_i64.to_le_bytes());
    put_var_size(&mut variable, 4);
    put_var_bytes(&mut variable, "größe".as_bytes());
    put_var_bytes(&mut variable, &[0, 1, 2]);
    let mut array = Vec::new();
    put_var_size(&mut array, 2);
    array.extend_from_slice(&1_i32.to_le_bytes());
    array.extend_from_slice(&(-1_i32).to_le_bytes());
    put_var_bytes(&mut variable, &array);
    let mut array = Vec::new();
    put_var_size(&mut array, 2);
    put_var_bytes(&mut array, b"a");
    put_var_bytes(&mut array, b"");
    put_var_bytes(&mut variable, &array);
    fixed.extend_from_slice(&variable);
    fixed
}

#[test]
fn a_row_comes_back_as_it_was_sent() {
    let container = container();
    for nulls in [0, 2] {
        let bytes = sent(42, nulls);
        let columns = &container.definition.columns;
        let row = RowReader::new(columns, 1, &mut Reader::new(&bytes)).unwrap().next_row().unwrap().unwrap();
        let (mut key, mut stored, mut cell) = (Vec::new(), Vec::new(), Vec::new());
        let mut writer = RowWriter::new(&mut stored, Stamp::at(1), true, None);
        for (position, column) in columns.iter().enumerate() {
            cell.clear();
            let has_value = row.cell(column, position, &mut cell).unwrap();
            if position == 0 {
                crate::encode_key(column.element, &cell, &mut key).unwrap();
            } else if has_value {
                writer.value(container.column_id(position), Stamp::at(1), &cell);
            }
        }
        writer.finish();
        let mut rows = RowSet::new(&container, false, 1 << 20);
        rows.push(&StoredRow { container: &container, clustering: &key, view: RowView::new(&stored) }).unwrap();
        let mut back = Vec::new();
        rows.write(&mut back);
        let mut expected = bytes;
        if nulls == 2 {
            expected[18] = 0;
        }
        assert_eq!(back, expected);
    }
}

#[test]
fn arbitrary_bytes_are_refused_or_read() {
    let container = container();
    let mut random = Rng::new(7);
    for _ in 0..20_000 {
        let mut bytes = sent(1, 0);
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.next_u64() as u8;
        }
        bytes.truncate(random.below(bytes.len() as u64 + 1) as usize);
        let columns = &container.definition.columns;
        let count = random.below(3) as i64 - 1;
        let Ok(mut rows) = RowReader::new(columns, count, &mut Reader::new(&bytes)) else { continue };
        while let Ok(Some(row)) = rows.next_row() {
            for (position, column) in columns.iter().enumerate() {
                let _ = row.cell(column, position, &mut Vec::new());
            }
        }
    }
}

#[test]
fn columns_that_are_not_looked_at_read_as_null() {
    let container = container();
    let columns = &container.definition.columns;
    let bytes = sent(42, 0);
    let row = RowReader::new(columns, 1, &mut Reader::new(&bytes)).unwrap().next_row().unwrap().unwrap();
    let (mut key, mut stored, mut cell) = (Vec::new(), Vec::new(), Vec::new());
    let mut writer = RowWriter::new(&mut stored, Stamp::at(1), true, None);
    for (position, column) in columns.iter().enumerate() {
        cell.clear();
        row.cell(column, position, &mut cell).unwrap();
        if position == 0 {
            crate::encode_key(column.element, &cell, &mut key).unwrap();
        } else {
            writer.value(container.column_id(position), Stamp::at(1), &cell);
        }
    }
    writer.finish();
    // The small one, the blob and the time.
    let looked_at = [2, 5, 8];
    let mut rows = RowSet::new(&container, false, 1 << 20).looking_at(looked_at.iter().map(|position| 1 << position).sum());
    rows.push(&StoredRow { container: &container, clustering: &key, view: RowView::new(&stored) }).unwrap();
    let mut back = Vec::new();
    rows.write(&mut back);
    let read = RowReader::new(columns, 1, &mut Reader::new(&back)).unwrap().next_row().unwrap().unwrap();
    for (position, column) in columns.iter().enumerate() {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        row.cell(column, position, &mut before).unwrap();
        let is_there = read.cell(column, position, &mut after).unwrap();
        assert_eq!(is_there, position == 0 || looked_at.contains(&position), "{}", column.name);
        assert!(!is_there || before == after, "{}", column.name);
    }
}
