//! Partitioned tables: statements about data partitions, and about tables whose rows are in them.

use super::*;
use crate::client::{get_properties, get_properties_and_partitioning, put_partitioned_container, read_properties};
use crate::exec::{Purges, end_overdue};
use crate::id_of_part;
use crate::partitioning::{Division, Expiration, HashDivision, IntervalUnit, Intervals, Partitioning};
use crate::schema::{ColumnDefinition, Kind};
use crate::testing::column;
use crate::wire::Reader;

const HOUR_MS: i64 = 3_600_000;
const UNSUPPORTED: i32 = 10_055;
const REMOVED: i32 = 280_025;

fn columns(first: ElementType) -> [ColumnDefinition; 2] {
    [ColumnDefinition { is_not_null: true, ..column("id", first, false) }, column("text", ElementType::String, false)]
}

fn divide(node: &mut Node, first: ElementType, key_len: usize, partitioning: &str) -> Result<i64, i32> {
    let mut arguments = Vec::new();
    let name = ContainerName::parse("Parts");
    put_partitioned_container((&name, Kind::Collection), (&columns(first), key_len), partitioning, false, &mut arguments);
    let reply = node.serve(statement::PUT_CONTAINER, &arguments)?;
    Ok(i64::from_le_bytes(reply[4..12].try_into().unwrap()))
}

fn hashed(count: u32) -> Partitioning {
    Partitioning::new(None, Some(HashDivision { column: "ID".to_owned(), count }), None)
}

fn rows_of(reply: &[u8]) -> i64 {
    // How many results, the kind of the first one, its size.
    i64::from_le_bytes(reply[9..17].try_into().unwrap())
}

#[test]
fn rows_are_put_into_their_data_partition_alone() {
    let mut node = Node::new();
    let table = hashed(3);
    let id = divide(&mut node, ElementType::Long, 1, &table.to_text()).unwrap();
    assert_eq!(divide(&mut node, ElementType::Long, 1, &table.to_text()), Ok(id), "it is there");
    for value in 0..30_i64 {
        let part = table.hash_of(Some(&value.to_le_bytes()));
        for other in 0..3 {
            let put = [head(id_of_part(id, Some(other)), 0, 0), row(value, "x")].concat();
            let expected = if other == part { Ok(vec![0]) } else { Err(60_046) };
            assert_eq!(node.serve(statement::PUT_ROW, &put), expected, "{value} {other}");
        }
    }
    let found = |node: &mut Node, part: u32| {
        rows_of(&node.serve(statement::QUERY_TQL, &[head(id_of_part(id, Some(part)), 0, 0), query("select *")].concat()).unwrap())
    };
    assert_eq!((0..3).map(|part| found(&mut node, part)).sum::<i64>(), 30);
    assert_eq!(node.rows.0.len(), 30);
    assert_eq!(
        node.serve(statement::QUERY_TQL, &[head(id, 0, 0), query("select *")].concat()),
        Err(UNSUPPORTED),
        "it has no rows of its own"
    );
    assert_eq!(node.put_container("parts", 0, &COLUMNS, 1, true), Err(UNSUPPORTED), "others than SQL do not change it");
    let mut name = vec![0; 4];
    ContainerName::parse("parts").write(&mut name);
    name.push(0xFF);
    assert_eq!(node.serve(statement::GET_CONTAINER, &name), Err(UNSUPPORTED));
    for wrong in [id_of_part(id, Some(3)), id_of_part(id + 1, Some(0)), -id, i64::MIN, i64::MAX] {
        assert!(node.serve(statement::PUT_ROW, &[head(wrong, 0, 0), row(1, "x")].concat()).is_err());
    }
}

#[test]
fn properties_tell_how_it_is_divided() {
    let mut node = Node::new();
    let table = hashed(2);
    divide(&mut node, ElementType::Long, 1, &table.to_text()).unwrap();
    node.put_container("plain", 0, &COLUMNS, 1, false).unwrap();
    for (name, expected) in [("parts", Some(&table)), ("plain", None)] {
        let (mut known, mut others) = (Vec::new(), Vec::new());
        get_properties_and_partitioning(&ContainerName::parse(name), &[], &mut known);
        get_properties(&ContainerName::parse(name), &[], &mut others);
        let mut told = |arguments: &[u8]| {
            let reply = node.serve(statement::GET_CONTAINER_PROPERTIES, arguments).unwrap();
            read_properties(&mut Reader::new(&reply)).unwrap().unwrap()
        };
        assert_eq!(told(&known).partitioning.as_ref(), expected);
        assert_eq!(told(&others).partitioning, None);
    }
}

#[test]
fn what_sql_asks_for_is_checked() {
    let mut node = Node::new();
    for wrong in ["x", "hash", "hash 0 id\nnext 0", "hash 2 id\nnext 9999999999", "interval -1 - id\nnext 0", "add", "add x", "drop 1 2"] {
        assert!(divide(&mut node, ElementType::Long, 1, wrong).is_err(), "{wrong:?}");
    }
    assert_eq!(divide(&mut node, ElementType::Long, 1, "add 1"), Err(10_016), "there is no such table");
    assert_eq!(divide(&mut node, ElementType::Long, 1, &hashed(2).to_text().replace("ID", "other")), Err(280_013));
    node.put_container("parts", 0, &COLUMNS, 1, false).unwrap();
    assert_eq!(divide(&mut node, ElementType::Long, 1, "drop 1"), Err(280_024), "it is not partitioned");
}

#[test]
fn data_partitions_are_dropped_and_their_rows_deleted() {
    let mut node = Node::new();
    let table = Partitioning::new(Some(Intervals { column: "id".to_owned(), every: 1_000, unit: None }), None, None);
    let id = divide(&mut node, ElementType::Long, 1, &table.to_text()).unwrap();
    divide(&mut node, ElementType::Long, 1, &Division::Add(vec![0, 1]).to_text()).unwrap();
    let parts = [0, 1].map(|part| id_of_part(id, Some(part)));
    for value in 0..1_500_i64 {
        let put = [head(parts[usize::from(value >= 1_000)], 0, 0), row(value, "x")].concat();
        assert_eq!(node.serve(statement::PUT_ROW, &put), Ok(vec![0]));
    }
    divide(&mut node, ElementType::Long, 1, &Division::Drop(0).to_text()).unwrap();
    assert_eq!(node.serve(statement::PUT_ROW, &[head(parts[0], 0, 0), row(5, "x")].concat()), Err(REMOVED));
    assert_eq!(divide(&mut node, ElementType::Long, 1, "add 0"), Err(REMOVED));
    assert!(node.serve(statement::PUT_ROW, &[head(id_of_part(id, Some(9)), 0, 0), row(5, "x")].concat()).is_err(), "nobody knows it yet");
    let dropped: Vec<_> = node.catalog.dropped().cloned().collect();
    assert_eq!((dropped.len(), dropped[0].id()), (1, parts[0]));
    assert_eq!(node.catalog.places().count(), 2);
    let (purges, mut turns) = (Purges::default(), 0);
    loop {
        node.run(purges.purge(&dropped[0]).as_ref(), &mut Vec::new()).unwrap();
        node.run(end_overdue(&dropped[0]).as_ref(), &mut Vec::new()).unwrap();
        if !purges.take_found() {
            break;
        }
        turns += 1;
    }
    assert_eq!(turns, 1, "a thousand at a time");
    let live = node.rows.0.values().filter(|row| crate::row::live(row).is_some()).count();
    assert_eq!(live, 500, "those of the other data partition");
}

#[test]
fn rows_expire_together() {
    let mut node = Node::new();
    node.now_us = 10 * HOUR_MS * 1_000;
    let intervals = Intervals { column: "id".to_owned(), every: 1, unit: Some(IntervalUnit::Hour) };
    let table = Partitioning::new(Some(intervals), None, Expiration::new(30, "minute"));
    let id = divide(&mut node, ElementType::Timestamp, 1, &table.to_text()).unwrap();
    divide(&mut node, ElementType::Timestamp, 1, &Division::Add(vec![8, 9, 10]).to_text()).unwrap();
    let place = |part: u32| id_of_part(id, Some(part));
    assert_eq!(
        node.catalog.by_id(place(2)).map(|_| ()).map_err(|error| error.code.0),
        Err(10_016),
        "the first one had expired: it was not made"
    );
    let put = |node: &mut Node, part: u32, at: i64| node.serve(statement::PUT_ROW, &[head(place(part), 0, 0), row(at, "x")].concat());
    let found = |node: &mut Node, part: u32| {
        rows_of(&node.serve(statement::QUERY_TQL, &[head(place(part), 0, 0), query("select *")].concat()).unwrap())
    };
    assert_eq!(put(&mut node, 0, 9 * HOUR_MS), Ok(vec![0]));
    assert_eq!(put(&mut node, 1, 10 * HOUR_MS), Ok(vec![0]));
    assert_eq!((found(&mut node, 0), found(&mut node, 1)), (1, 1));
    let stored = node.rows.0.values().map(|row| model::row::RowView::new(row).liveness().unwrap()).map(|stamp| stamp.expires_at_s);
    assert_eq!(stored.collect::<Vec<_>>(), [37_800, 41_400], "as all protocols see it");
    node.now_us = (37_800 - 1) * 1_000_000;
    assert_eq!(found(&mut node, 0), 1);
    node.now_us = 37_800 * 1_000_000;
    assert_eq!((found(&mut node, 0), found(&mut node, 1)), (0, 1));
    let key = [head(place(0), 0, 0), (9 * HOUR_MS).to_le_bytes().to_vec()].concat();
    assert_eq!(node.serve(statement::GET_ROW, &key), Ok(vec![0]));
    assert_eq!(node.serve(statement::DELETE_ROW, &key), Ok(vec![0]));
    assert_eq!(put(&mut node, 0, 9 * HOUR_MS + 1), Ok(vec![0]), "it is put nowhere");
    assert_eq!((found(&mut node, 0), node.rows.0.len()), (0, 2));
    // A transaction that is open goes on, and what it puts is put nowhere.
    let begin = [head(place(0), 0, 1), row(9 * HOUR_MS + 2, "x")].concat();
    assert_eq!(node.serve(statement::PUT_ROW, &begin), Ok(vec![0]));
    divide(&mut node, ElementType::Timestamp, 1, "add 11").unwrap();
    assert_eq!(found(&mut node, 1), 1);
    assert_eq!(node.serve(statement::GET_ROW, &key), Err(REMOVED), "the table has forgotten it");
}

#[test]
fn rows_are_reached_by_their_key_through_the_table() {
    let mut node = Node::new();
    let table = Partitioning::new(
        Some(Intervals { column: "id".to_owned(), every: 2_000, unit: None }),
        Some(HashDivision { column: "id".to_owned(), count: 2 }),
        None,
    );
    let id = divide(&mut node, ElementType::Long, 1, &table.to_text()).unwrap();
    let put = |node: &mut Node, value: i64| node.serve(statement::PUT_ROW, &[head(id, 0, 0), row(value, "x")].concat());
    let key = |value: i64| [head(id, 0, 0), value.to_le_bytes().to_vec()].concat();
    assert_eq!(node.serve(statement::GET_ROW, &key(5)), Ok(vec![0]), "there is no data partition");
    for value in [-1_i64, 0, 1_999, 2_000, i64::MIN, i64::MAX] {
        assert_eq!((put(&mut node, value), put(&mut node, value)), (Ok(vec![0]), Ok(vec![1])), "{value}");
        assert_eq!(node.serve(statement::GET_ROW, &key(value)).map(|row| row[0]), Ok(1));
    }
    assert_eq!(node.catalog.places().count(), 10, "of five intervals");
    assert_eq!(node.serve(statement::DELETE_ROW, &key(0)), Ok(vec![1]));
    assert_eq!(node.serve(statement::DELETE_ROW, &key(0)), Ok(vec![0]));
    let several = |of: &[(i64, &str)]| {
        let mut arguments = head(id, 0, 0);
        put_i64(&mut arguments, of.len() as i64);
        [arguments, rows(of)].concat()
    };
    assert_eq!(node.serve(statement::PUT_MULTIPLE_ROWS, &several(&[(9_000, "x"), (9_000, "y")])), Ok(vec![0]), "a new interval");
    assert_eq!(node.serve(statement::PUT_MULTIPLE_ROWS, &several(&[(9_000, "x"), (20, "y")])), Err(UNSUPPORTED));
    assert!(node.serve(statement::PUT_MULTIPLE_ROWS, &several(&[])).is_err());
    assert_eq!(node.serve(statement::PUT_ROW, &[head(id, 0, 1), row(1, "x")].concat()), Err(UNSUPPORTED), "no transaction");
    divide(&mut node, ElementType::Long, 1, "drop 0").unwrap();
    assert_eq!((put(&mut node, 5), node.serve(statement::GET_ROW, &key(1_999))), (Err(REMOVED), Ok(vec![0])));
}

#[test]
fn arbitrary_statements_about_partitioned_tables_are_refused_or_done() {
    let mut node = Node::new();
    let table = Partitioning::new(Some(Intervals { column: "id".to_owned(), every: 1_000, unit: None }), None, None);
    let id = divide(&mut node, ElementType::Long, 1, &table.to_text()).unwrap();
    divide(&mut node, ElementType::Long, 1, "add 0 1").unwrap();
    let statements = [
        (statement::PUT_ROW, [head(id, 0, 0), row(1, "x")].concat()),
        (statement::GET_ROW, [head(id, 0, 0), 5_i64.to_le_bytes().to_vec()].concat()),
        (statement::PUT_ROW, [head(id_of_part(id, Some(1)), 0, 0), row(1_001, "x")].concat()),
        (statement::QUERY_TQL, [head(id_of_part(id, Some(0)), 0, 0), query("select * where id > 3")].concat()),
    ];
    let mut rng = Rng::new(9);
    for _ in 0..20_000 {
        let (number, mut bytes) = statements[rng.below(4) as usize].clone();
        for _ in 0..=rng.below(3) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.below(256) as u8;
        }
        bytes.truncate(rng.below(bytes.len() as u64 + 1) as usize);
        let _ = node.serve(number, &bytes);
    }
}
