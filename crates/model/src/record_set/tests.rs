#![allow(clippy::unwrap_used)]

use super::*;
use base::{Slot, TableId};

fn bin(name: &str, kind: u8, kind_name: &'static str, data_type: DataType) -> NewBin {
    NewBin { name: name.to_owned(), kind, kind_name, data_type }
}

fn integer(name: &str) -> NewBin {
    bin(name, 1, "integer", DataType::BigInt)
}

fn string(name: &str) -> NewBin {
    bin(name, 3, "string", DataType::Text)
}

fn declared(schema: &Schema, set: &str, bins: &[NewBin]) -> Schema {
    schema.declare_bins("test", set, bins, 7).unwrap().unwrap().schema
}

#[test]
fn the_slot_of_a_record_is_the_partition_that_clients_compute() {
    let mut digest = [0; DIGEST_BYTES];
    assert_eq!(token(&digest).slot(), Slot(0));
    assert!(token(&digest).0 > i64::MIN, "the smallest token is nobody's");
    digest[0] = 0x34;
    digest[1] = 0xF2;
    assert_eq!(token(&digest).slot(), Slot(0x234));
    digest[2..4].fill(0xFF);
    assert_eq!(token(&digest).slot(), Slot(0x234), "only the first twelve bits choose");
    let before = token(&digest);
    digest[4] = 1;
    assert!(token(&digest) > before, "the rest spreads within the slot");
    assert_eq!(token(&digest[..3]).slot(), Slot(0x234), "what is no digest has a token, too");
    assert_eq!(token(&[0xFF; DIGEST_BYTES]).0, i64::MAX);
}

#[test]
fn a_set_and_its_bins_appear_when_they_are_first_needed() {
    let first = Schema::empty().declare_bins("test", "users", &[integer("age")], 7).unwrap().unwrap();
    assert!(first.keyspace_is_new && first.table_is_new);
    let schema = first.schema;
    assert_eq!(schema.next_table, TableId(2));
    assert_eq!(schema.declare_bins("test", "users", &[integer("age")], 8), Ok(None), "nothing is left to do");
    let second = schema.declare_bins("test", "users", &[integer("age"), string("age"), string("name")], 8).unwrap().unwrap();
    assert!(!second.keyspace_is_new && !second.table_is_new);
    let table = second.schema.record_set("test", "users").unwrap().unwrap();
    let columns: Vec<(&str, u16)> = table.columns.iter().map(|column| (column.name.as_str(), column.id.0)).collect();
    let expected = [
        ("digest", 0),
        ("age", 5),
        ("age:string", 6),
        ("generation", 1),
        ("key_blob", 4),
        ("key_integer", 2),
        ("key_string", 3),
        ("name", 7),
    ];
    assert_eq!(columns, expected);
    assert_eq!((table.uuid, table.next_column), (7, ColumnId(8)));
    let records = table.records.as_ref().unwrap();
    assert_eq!(records.column(b"age", 1), Some(ColumnId(5)));
    assert_eq!(records.column(b"age", 3), Some(ColumnId(6)));
    assert_eq!(records.column(b"age", 4), None);
    for last in [None, Some(ColumnId(5)), Some(ColumnId(6)), Some(ColumnId(7))] {
        assert_eq!(records.column_after(last, b"age", 3), Some(ColumnId(6)), "{last:?}");
        assert_eq!(records.column_after(last, b"age", 4), None, "{last:?}");
    }
    assert_eq!(records.columns(b"age").collect::<Vec<_>>(), [(1, ColumnId(5)), (3, ColumnId(6))]);
    assert_eq!(records.columns(b"ag").count(), 0);
    assert_eq!(records.bin(ColumnId(7)), Some(&Bin { name: "name".to_owned(), kind: 3, is_text: true }));
    assert_eq!((records.bin(GENERATION), records.bin(ColumnId(8))), (None, None));
}

#[test]
fn a_bin_may_have_any_name_that_a_column_has() {
    let schema = declared(&Schema::empty(), "", &[string("digest"), integer("age"), string("age"), integer("age:string")]);
    let schema = declared(&schema, "", &[bin("age", 4, "string", DataType::Blob)]);
    let table = schema.record_set("test", "").unwrap().unwrap();
    assert_eq!(table.name, NO_SET);
    let records = table.records.as_ref().unwrap();
    let name_of = |id: ColumnId| table.columns.iter().find(|column| column.id == id).unwrap().name.clone();
    let names: Vec<String> = (0..5).map(|position| name_of(ColumnId(BINS_FROM + position))).collect();
    assert_eq!(names, ["digest:string", "age", "age:string", "age:string:integer", "age:string:2"]);
    assert_eq!(records.bins().len(), 5);
    assert_eq!(records.column(b"age:string", 1), Some(ColumnId(8)));
}

#[test]
fn names_and_numbers_have_bounds() {
    let empty = Schema::empty();
    let refused = |set: &str, bins: &[NewBin]| empty.declare_bins("test", set, bins, 0).unwrap_err();
    assert_eq!(refused(NO_SET, &[]), RecordSetError::SetName(NO_SET.to_owned()));
    assert!(matches!(refused(&"s".repeat(SET_NAME_BYTES_MAX + 1), &[]), RecordSetError::SetName(_)));
    assert!(matches!(refused("a:b", &[]), RecordSetError::SetName(_)));
    assert!(matches!(refused("s", &[integer("")]), RecordSetError::BinName(_)));
    assert!(matches!(refused("s", &[integer(&"b".repeat(BIN_NAME_BYTES_MAX + 1))]), RecordSetError::BinName(_)));

    let many: Vec<NewBin> = (0..BINS_MAX).map(|number| integer(&number.to_string())).collect();
    let schema = declared(&empty, "s", &many);
    assert_eq!(schema.declare_bins("test", "s", &[integer("x")], 0), Err(RecordSetError::TooManyBins));
    assert_eq!(schema.declare_bins("test", "t", &[integer("x")], 0), Err(RecordSetError::TooManyBins));
    schema.declare_bins("other", "t", &[integer("x")], 0).unwrap().unwrap();

    let mut plain = new_table(TableId(1), 0, "test", "s");
    plain.records = None;
    let mut keyspace = Keyspace::of_one_replica("test");
    keyspace.tables.insert("s".to_owned(), Arc::new(plain));
    let schema = Schema { keyspaces: BTreeMap::from([("test".to_owned(), Arc::new(keyspace))]), ..Schema::empty() };
    assert!(matches!(schema.declare_bins("test", "s", &[], 0), Err(RecordSetError::NotARecordSet { .. })));
}
