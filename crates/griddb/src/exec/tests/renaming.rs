//! Columns that get other names, as SQL asks for it.

use super::*;
use crate::client::{put_partitioned_container, rename_column};
use crate::exec::tests::indexes::request;
use crate::id_of_part;
use crate::partitioning::{HashDivision, Partitioning};
use crate::schema::{ColumnDefinition, Kind};
use crate::testing::column;

const INVALID_COLUMN: i32 = 280_016;
const SCHEMA_UNMATCH: i32 = 10_017;
const BEGIN: u8 = 1;

impl Node {
    /// What SQL sends; the version of the schema.
    fn rename(&mut self, name: &str, from: &str, to: &str) -> Result<i32, i32> {
        let (name, mut arguments) = (ContainerName::parse(name), Vec::new());
        let known = self.catalog.by_name(&self.schema, PUBLIC_DATABASE, &name);
        let known = known.map_or((Vec::new(), 0), |container| (container.definition.columns.clone(), container.definition.key_len));
        let columns = if known.0.is_empty() { (vec![column("id", ElementType::Long, false)], 0) } else { known };
        rename_column((&name, Kind::Collection), (&columns.0, columns.1), (from, to), &mut arguments);
        let reply = self.serve(statement::PUT_CONTAINER, &arguments)?;
        Ok(i32::from_le_bytes(reply[..4].try_into().unwrap()))
    }

    fn names(&self, id: i64) -> (Vec<String>, Vec<String>) {
        let container = self.catalog.by_id(id).unwrap();
        let own = container.definition.columns.iter().map(|column| column.name.clone()).collect();
        (own, container.table.columns.iter().map(|column| column.name.clone()).collect())
    }

    fn found(&mut self, id: i64, version: i32, text: &str) -> Result<i64, i32> {
        let reply = self.serve(statement::QUERY_TQL, &[head(id, version, 0), query(text)].concat())?;
        Ok(i64::from_le_bytes(reply[9..17].try_into().unwrap()))
    }
}

fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn a_renamed_column_keeps_values_and_indexes() {
    let mut node = Node::new();
    let columns = [COLUMNS[0], COLUMNS[1], ("b", ElementType::Double)];
    let id = node.put_container("Things", 0, &columns[..2], 1, false).unwrap();
    node.serve(statement::PUT_ROW, &[head(id, 0, 0), row(7, "one")].concat()).unwrap();
    node.put_container("Things", 0, &columns, 1, true).unwrap();
    node.serve(statement::CREATE_INDEX, &request(id, 1, "by_text", &[1], 0, None)).unwrap();
    let before = node.catalog.by_id(id).unwrap().indexes().cloned().collect::<Vec<_>>();
    assert_eq!(node.rename("THINGS", "TEXT", "Note"), Ok(2));
    assert_eq!(node.rename("things", "id", "key"), Ok(3), "the row key, too");
    assert_eq!(node.rename("things", "Note", "A"), Ok(4));
    assert_eq!(node.names(id), (texts(&["key", "A", "b"]), texts(&["partition", "key", "a", "b"])));
    assert_eq!(node.catalog.by_id(id).unwrap().indexes().cloned().collect::<Vec<_>>(), before);
    assert_eq!(node.found(id, 3, "select *"), Err(SCHEMA_UNMATCH), "its client knows another schema");
    assert_eq!(node.found(id, 4, "select * where text = 'one'"), Err(150_012));
    assert_eq!(node.found(id, 4, "select * where a = 'one' and key = 7"), Ok(1));
    let again = [("key", ElementType::Long), ("A", ElementType::String), ("b", ElementType::Double), ("text", ElementType::String)];
    node.put_container("Things", 0, &again, 1, true).unwrap();
    assert_eq!(node.found(id, 5, "select * where text = 'one'"), Ok(0), "a new column has the former name, and no values");
    assert_eq!(node.found(id, 5, "select * where a = 'one'"), Ok(1));
}

#[test]
fn names_that_cannot_be_are_refused() {
    let mut node = Node::new();
    let id = node.put_container("Things", 0, &COLUMNS, 1, false).unwrap();
    let long = "x".repeat(257);
    for (from, to) in
        [("none", "other"), ("none", "text"), ("id", "TEXT"), ("text", "text"), ("text", ""), ("text", "a b"), ("text", &long)]
    {
        assert_eq!(node.rename("things", from, to), Err(INVALID_COLUMN), "{from} {to}");
    }
    assert_eq!(node.rename("nothing", "id", "x"), Err(10_016));
    assert_eq!(node.rename("things", "text", "TEXT"), Ok(1), "it is written in another way");
    assert_eq!(node.names(id).0, ["id", "TEXT"]);
}

#[test]
fn a_change_that_is_decided_twice_is_made_once() {
    let mut node = Node::new();
    node.put_container("Things", 0, &COLUMNS, 1, false).unwrap();
    node.rename("things", "text", "note").unwrap();
    let renaming = |from: &str, to: &str| {
        let renaming = crate::container::Renaming { from: from.to_owned(), to: to.to_owned() };
        crate::ContainerChange::Rename(ContainerName::parse("things"), renaming)
    };
    let again = |change: crate::ContainerChange| change.apply(&node.schema, PUBLIC_DATABASE, 9, 9).map(|changed| changed.is_some());
    assert_eq!(again(renaming("text", "note")), Ok(false));
    assert_eq!(again(renaming("text", "other")).map_err(|error| error.code.0), Err(INVALID_COLUMN));
}

#[test]
fn columns_of_the_table_give_way_to_those_of_the_container() {
    let mut node = Node::new();
    let id = node.put_container("Things", 0, &COLUMNS, 0, false).unwrap();
    node.rename("things", "text", "Row_Id").unwrap();
    let wider = [COLUMNS[0], ("Row_Id", ElementType::String), ("PARTITION", ElementType::Integer)];
    node.put_container("Things", 0, &wider, 0, true).unwrap();
    assert_eq!(node.names(id).1, ["partition_", "row_id_", "id", "partition", "row_id"]);
}

#[test]
fn a_transaction_goes_on_with_the_new_name() {
    let mut node = Node::new();
    let id = node.put_container("Things", 0, &COLUMNS, 1, false).unwrap();
    let in_session = |version: i32, mode: u8| {
        let mut head = head(id, version, mode);
        head[8..16].copy_from_slice(&5_i64.to_le_bytes());
        head
    };
    node.serve(statement::PUT_ROW, &[in_session(0, BEGIN), row(7, "one")].concat()).unwrap();
    node.rename("things", "text", "note").unwrap();
    let commit = [&in_session(1, 0)[..32], &[0; 4]].concat();
    assert_eq!(node.serve(statement::COMMIT_TRANSACTION, &commit), Ok(Vec::new()));
    assert_eq!(node.found(id, 1, "select * where note = 'one'"), Ok(1));
}

#[test]
fn a_table_stays_partitioned_by_a_renamed_column() {
    let mut node = Node::new();
    let table = Partitioning::new(None, Some(HashDivision { column: "ID".to_owned(), count: 3 }), None);
    let columns =
        [ColumnDefinition { is_not_null: true, ..column("id", ElementType::Long, false) }, column("text", ElementType::String, false)];
    let mut arguments = Vec::new();
    put_partitioned_container((&ContainerName::parse("Parts"), Kind::Collection), (&columns, 1), &table.to_text(), false, &mut arguments);
    let reply = node.serve(statement::PUT_CONTAINER, &arguments).unwrap();
    let id = i64::from_le_bytes(reply[4..12].try_into().unwrap());
    let part = id_of_part(id, table.part(0, table.hash_of(Some(&7_i64.to_le_bytes()))));
    node.serve(statement::PUT_ROW, &[head(part, 0, 0), row(7, "one")].concat()).unwrap();
    assert_eq!(node.rename("parts", "id", "Device"), Ok(1));
    let partitioning = node.catalog.by_id(id).unwrap().definition.partitioning.clone().unwrap();
    assert_eq!(partitioning.hash().map(|hash| &*hash.column), Some("Device"));
    assert_eq!(node.found(part, 0, "select *"), Err(SCHEMA_UNMATCH));
    assert_eq!(node.found(part, 1, "select * where device = 7"), Ok(1));
    assert_eq!(node.serve(statement::PUT_ROW, &[head(part, 1, 0), row(7, "two")].concat()), Ok(vec![1]), "there was one");
}
