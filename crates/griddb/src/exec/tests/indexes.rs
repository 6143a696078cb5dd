//! Indexes as clients declare them. What queries find by them is tried where entries are written: in the node.

use super::*;
use crate::container::ContainerIndex;

/// The arguments of CREATE_INDEX, or of DROP_INDEX with whether any name and any type is meant.
pub(super) fn request(container: i64, version: i32, name: &str, columns: &[i32], kind: u8, any: Option<[u8; 2]>) -> Vec<u8> {
    let mut out = Vec::new();
    put_i64(&mut out, container);
    put_i32(&mut out, version);
    put_i32(&mut out, 0);
    let mut body = Vec::new();
    put_string(&mut body, name);
    put_i32(&mut body, columns.len() as i32);
    columns.iter().for_each(|column| put_i32(&mut body, *column));
    body.push(kind);
    put_i32(&mut out, body.len() as i32);
    out.extend_from_slice(&body);
    out.extend(any.into_iter().flatten());
    out
}

impl Node {
    fn create(&mut self, container: i64, name: &str, columns: &[i32], kind: u8) -> Result<Vec<u8>, i32> {
        self.serve(statement::CREATE_INDEX, &request(container, 0, name, columns, kind, None))
    }

    fn indexes(&self, container: i64) -> Vec<(String, Vec<usize>)> {
        let of = |index: &ContainerIndex| (index.name.clone(), index.columns.clone());
        self.catalog.by_id(container).unwrap().indexes().map(of).collect()
    }
}

const TREE: u8 = 0;
const HASH: u8 = 1;

#[test]
fn an_index_is_there_until_it_or_its_column_goes() {
    let mut node = Node::new();
    let columns = [COLUMNS[0], COLUMNS[1], ("number", ElementType::Double)];
    let id = node.put_container("Things", 0, &columns, 1, false).unwrap();
    let entry = |name: &str, columns: &[usize]| (name.to_owned(), columns.to_vec());
    for (name, columns) in [("", &[1][..]), ("", &[1]), ("Both", &[2, 1]), ("both", &[2, 1])] {
        assert_eq!(node.create(id, name, columns, 0xFF), Ok(Vec::new()));
    }
    assert_eq!(node.indexes(id), [entry("", &[0]), entry("", &[1]), entry("Both", &[2, 1])]);
    for (name, columns, kind, error) in [
        ("", &[][..], TREE, 60_102),
        ("", &[3], TREE, 60_102),
        ("", &[-1], TREE, 60_102),
        ("", &[2], HASH, 1_007),
        ("", &[2, 2], TREE, 1_007),
        ("other", &[1], TREE, 1_007),
        ("BOTH", &[2], TREE, 1_007),
    ] {
        assert_eq!(node.create(id, name, columns, kind), Err(error), "{name} {columns:?} {kind}");
    }
    let reply = node.serve(statement::CREATE_INDEX, &request(id, 7, "", &[2], TREE, None));
    assert_eq!(reply, Err(10_017), "its client knows another schema");
    assert_eq!(node.put_container("Things", 0, &columns[..2], 1, true), Ok(id));
    assert_eq!(node.indexes(id), [entry("", &[0]), entry("", &[1])], "an index goes with one of its columns");
    for (columns, left) in [(&[0][..], 2), (&[], 1), (&[], 1)] {
        assert_eq!(node.serve(statement::DROP_INDEX, &request(id, 1, "", columns, 0xFF, Some([1, 1]))), Ok(Vec::new()));
        assert_eq!(node.indexes(id).len(), left);
    }
}

#[test]
fn a_row_without_the_value_of_a_later_column_is_found() {
    let mut node = Node::new();
    let id = node.put_container("Things", 0, &COLUMNS[..1], 1, false).unwrap();
    let wider = [COLUMNS[0], ("must_have", ElementType::Integer)];
    assert_eq!(node.put_container("Things", 0, &wider, 1, true), Ok(id));
    node.serve(statement::CREATE_INDEX, &request(id, 1, "", &[1], TREE, None)).unwrap();
    let container = Arc::clone(node.catalog.by_id(id).unwrap());
    for (text, ranges) in
        [("select * where must_have = 0", 0), ("select * where must_have >= -1", 0), ("select * where must_have > 0", 1), ("select *", 0)]
    {
        assert_eq!(crate::tql::parse(text, &container, 0).unwrap().index_ranges(&container).len(), ranges, "{text}");
    }
}
