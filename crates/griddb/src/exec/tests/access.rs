//! What each statement needs of its client: it is refused without, and served with no more than that.

use super::*;
use crate::exec::tests::indexes::request as index_request;
use model::Permission;

const NOT_ALLOWED: Result<Vec<u8>, i32> = Err(10_079);

const NONE: Permissions = Permissions::of(&[]);
const READ: Permissions = Permissions::of(&[Permission::Select]);
const WRITE: Permissions = Permissions::of(&[Permission::Modify]);
const BOTH: Permissions = Permissions::of(&[Permission::Select, Permission::Modify]);
/// Neither to read nor to write.
const OTHER: Permissions = Permissions::of(&[Permission::Alter]);

fn named(name: &str, rest: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 4];
    ContainerName::parse(name).write(&mut out);
    out.extend_from_slice(rest);
    out
}

/// The head of a statement in a transaction that it begins, with its rows locked or not.
fn locking(container: i64, is_locked: bool) -> Vec<u8> {
    let mut out = head(container, 0, 1);
    if is_locked {
        let at = out.len() - 4;
        out[at..].copy_from_slice(&3_i32.to_le_bytes());
        out.extend_from_slice(&[2, 0, 1]);
    }
    out
}

/// The UUID and the options that statements about several containers begin with.
fn several() -> Vec<u8> {
    vec![0; 20]
}

fn put_several(container: i64) -> Vec<u8> {
    let mut out = several();
    put_i32(&mut out, 1);
    out.push(0);
    put_columns(&COLUMNS, 1, &mut out);
    put_i32(&mut out, 1);
    [0, container, 0].into_iter().for_each(|number| put_i64(&mut out, number));
    out.extend_from_slice(&[0; 2 + 4 + 4]);
    let sent = row(7, "one");
    put_i32(&mut out, sent.len() as i32 + 8);
    put_i64(&mut out, 1);
    [out, sent].concat()
}

fn get_several(name: &str) -> Vec<u8> {
    let mut out = several();
    // A range of LONG without ends.
    put_i32(&mut out, 1);
    out.extend_from_slice(&[ElementType::Long as u8, 0, 0, 0]);
    put_i32(&mut out, 1);
    out.extend_from_slice(&named(name, &0_i32.to_le_bytes()));
    out
}

fn query_several(container: i64) -> Vec<u8> {
    let mut out = several();
    put_i32(&mut out, 1);
    put_i32(&mut out, statement::QUERY_TQL);
    put_i64(&mut out, 0);
    put_i64(&mut out, container);
    // Without the UUID.
    out.extend_from_slice(&[0; 8 + 4 + 2 + 4]);
    [out, query("select *")].concat()
}

#[test]
fn a_statement_is_refused_without_what_it_needs_and_served_with_that() {
    let mut node = Node::new();
    let id = node.put_container("things", 0, &COLUMNS, 1, false).unwrap();
    let key = 7_i64.to_le_bytes().to_vec();
    let plain = |rest: &[u8]| [head(id, 0, 0), rest.to_vec()].concat();
    let rows_of_one = [&1_i64.to_le_bytes()[..], &row(7, "one")].concat();
    let cases = [
        (statement::GET_ROW, plain(&key), READ),
        (statement::QUERY_TQL, plain(&query("select *")), READ),
        (statement::QUERY_TQL, [locking(id, false), query("select *")].concat(), READ),
        (statement::QUERY_TQL, [locking(id, true), query("select *")].concat(), BOTH),
        (statement::GET_ROW, [locking(id, true), key.clone()].concat(), BOTH),
        (statement::EXECUTE_MULTIPLE_QUERIES, query_several(id), READ),
        (statement::GET_MULTIPLE_CONTAINER_ROWS, get_several("things"), READ),
        (statement::PUT_ROW, plain(&row(7, "one")), WRITE),
        (statement::PUT_MULTIPLE_ROWS, plain(&rows_of_one), WRITE),
        (statement::DELETE_ROW, plain(&key), WRITE),
        (statement::APPEND_TIME_SERIES_ROW, plain(&row(7, "one")), WRITE),
        (statement::PUT_MULTIPLE_CONTAINER_ROWS, put_several(id), WRITE),
        (statement::UPDATE_ROW_BY_ID, [head(id, 0, 1), key.clone(), row(7, "one")].concat(), WRITE),
        (statement::DELETE_ROW_BY_ID, [head(id, 0, 1), key.clone()].concat(), WRITE),
    ];
    for (number, arguments, needed) in cases {
        for permissions in [NONE, OTHER, READ, WRITE, BOTH] {
            // What the transaction of one case locks is no case of the next.
            let mut node = Node { permissions: Some(permissions), ..node_with_rows() };
            let is_allowed = needed.without(permissions).is_empty();
            let outcome = node.serve(number, &arguments);
            assert_eq!(outcome != NOT_ALLOWED, is_allowed, "statement {number} needs {needed:?}, has {permissions:?}: {outcome:?}");
        }
    }
}

fn node_with_rows() -> Node {
    let mut node = Node::new();
    let id = node.put_container("things", 0, &COLUMNS, 1, false).unwrap();
    node.serve(statement::PUT_ROW, &[head(id, 0, 0), row(7, "one")].concat()).unwrap();
    node
}

#[test]
fn a_container_is_hidden_from_who_has_no_permission_on_it() {
    let session = |id: i64| [&id.to_le_bytes()[..], &[0; 8 + 16 + 4]].concat();
    for permissions in [NONE, OTHER] {
        let mut node = node_with_rows();
        let id = node.put_container("things", 0, &COLUMNS, 1, false).unwrap();
        node.permissions = Some(permissions);
        let is_hidden = permissions == NONE;
        let put = node.put_container("things", 0, &COLUMNS, 1, false);
        assert_eq!(put, if is_hidden { Err(10_079) } else { Ok(id) });
        for (number, arguments) in [
            (statement::GET_CONTAINER, named("things", &[0])),
            (statement::GET_CONTAINER_PROPERTIES, named("things", &[1, 0, 0, 0, 0])),
            (statement::CREATE_SESSION, id.to_le_bytes().to_vec()),
            (statement::CREATE_INDEX, index_request(id, 0, "", &[1], 0, None)),
            (statement::COMMIT_TRANSACTION, session(id)),
        ] {
            assert_eq!(node.serve(number, &arguments) == NOT_ALLOWED, is_hidden, "{number}");
        }
        let names = node.serve(statement::GET_PARTITION_CONTAINER_NAMES, &[&[0; 12][..], &9_i64.to_le_bytes()].concat()).unwrap();
        assert_eq!(names[..8], i64::from(!is_hidden).to_le_bytes());
        // What is not there is not hidden, and what one has begun can be ended.
        assert_eq!(node.serve(statement::GET_CONTAINER, &named("other", &[0])), Ok(vec![0]));
        assert_eq!(node.serve(statement::ABORT_TRANSACTION, &session(id)), Ok(Vec::new()));
    }
}
