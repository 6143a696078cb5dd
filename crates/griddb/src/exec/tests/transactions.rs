//! Transactions of two clients that come between each other.

use super::super::end_overdue;
use super::{COLUMNS, ElementType, Node, WAITS, query, row, rows};
use crate::wire::{put_i32, put_i64, statement};
use model::operation::batch_log;

const AUTO: u8 = 0;
const BEGIN: u8 = 1;
const CONTINUE: u8 = 2;

const GONE: Result<Vec<u8>, i32> = Err(110_005);

/// A session of a container.
#[derive(Clone, Copy)]
struct Session {
    container: i64,
    session: i64,
}

impl Session {
    fn head(self, mode: u8, for_update: bool) -> Vec<u8> {
        let mut out = Vec::new();
        put_i64(&mut out, self.container);
        put_i64(&mut out, self.session);
        out.extend_from_slice(&[7; 16]);
        put_i32(&mut out, 0);
        out.extend_from_slice(&[1, mode]);
        let options: &[u8] = if for_update { &[2, 0, 1] } else { &[] };
        put_i32(&mut out, options.len() as i32);
        out.extend_from_slice(options);
        out
    }

    fn put(self, node: &mut Node, mode: u8, id: i64, text: &str) -> Result<Vec<u8>, i32> {
        node.serve(statement::PUT_ROW, &[self.head(mode, false), row(id, text)].concat())
    }

    fn remove(self, node: &mut Node, mode: u8, id: i64) -> Result<Vec<u8>, i32> {
        node.serve(statement::DELETE_ROW, &[self.head(mode, false), id.to_le_bytes().to_vec()].concat())
    }

    fn get_with(self, node: &mut Node, mode: u8, for_update: bool, id: i64) -> Result<Option<String>, i32> {
        let found = node.serve(statement::GET_ROW, &[self.head(mode, for_update), id.to_le_bytes().to_vec()].concat())?;
        // Found, number, offset, nulls, key, variable columns, size.
        Ok((found[0] == 1).then(|| String::from_utf8(found[28..].to_vec()).unwrap()))
    }

    fn get(self, node: &mut Node, mode: u8, id: i64) -> Option<String> {
        self.get_with(node, mode, false, id).unwrap()
    }

    fn lock(self, node: &mut Node, mode: u8, id: i64) -> Result<Option<String>, i32> {
        self.get_with(node, mode, true, id)
    }

    /// The numbers and keys of rows.
    fn select(self, node: &mut Node, mode: u8, for_update: bool, text: &str) -> Result<Vec<(i64, i64)>, i32> {
        let reply = node.serve(statement::QUERY_TQL, &[self.head(mode, for_update), query(text)].concat())?;
        let count = i64::from_le_bytes(reply[9..17].try_into().unwrap());
        let word = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().unwrap());
        Ok(reply[17..].chunks(25).take(count as usize).map(|fixed| (word(&fixed[..8]), word(&fixed[17..]))).collect())
    }

    fn end_with(self, node: &mut Node, number: i32, rest: &[u8]) -> Result<Vec<u8>, i32> {
        node.serve(number, &self.end_arguments(rest))
    }

    fn end_arguments(self, rest: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put_i64(&mut out, self.container);
        put_i64(&mut out, self.session);
        out.extend_from_slice(&[7; 16]);
        put_i32(&mut out, 0);
        out.extend_from_slice(rest);
        out
    }

    fn commit(self, node: &mut Node) -> Result<Vec<u8>, i32> {
        self.end_with(node, statement::COMMIT_TRANSACTION, &[])
    }

    fn abort(self, node: &mut Node) -> Result<Vec<u8>, i32> {
        self.end_with(node, statement::ABORT_TRANSACTION, &[])
    }
}

/// A container with the rows 1 and 2, and two sessions of it.
fn two() -> (Node, Session, Session) {
    let mut node = Node::new();
    let container = node.put_container("Things", 0, &COLUMNS, 1, false).unwrap();
    let (one, other) = (Session { container, session: 1 }, Session { container, session: 2 });
    for id in [1, 2] {
        one.put(&mut node, AUTO, id, "old").unwrap();
    }
    (node, one, other)
}

/// How many rows there are of transactions, besides what is known of ended ones.
fn kept(node: &Node, session: Session) -> usize {
    let table = batch_log(base::TableId(session.container as u32));
    node.rows.0.iter().filter(|((of, key), row)| *of == table && key[0] > 0x10 && crate::row::live(row).is_some()).count()
}

#[test]
fn a_transaction_sees_its_changes_and_others_see_them_after_the_commit() {
    let (mut node, one, other) = two();
    assert_eq!(one.put(&mut node, BEGIN, 1, "new"), Ok(vec![1]), "there was one");
    assert_eq!(one.put(&mut node, CONTINUE, 3, "third"), Ok(vec![0]), "there was none");
    assert_eq!(one.remove(&mut node, CONTINUE, 2), Ok(vec![1]));
    assert_eq!(one.remove(&mut node, CONTINUE, 2), Ok(vec![0]), "it is gone for this transaction");
    assert_eq!(one.put(&mut node, CONTINUE, 3, "again"), Ok(vec![1]));
    let texts = |node: &mut Node, of: Session, mode| [1, 2, 3].map(|id| of.get(node, mode, id));
    let after = [Some("new".to_owned()), None, Some("again".to_owned())];
    let before = [Some("old".to_owned()), Some("old".to_owned()), None];
    assert_eq!(texts(&mut node, one, CONTINUE), after);
    assert_eq!(texts(&mut node, other, AUTO), before);
    let keys = |found: Vec<(i64, i64)>| found.into_iter().map(|(_, key)| key).collect::<Vec<_>>();
    let all = "select *";
    assert_eq!(keys(one.select(&mut node, CONTINUE, false, all).unwrap()), [1, 3]);
    assert_eq!(keys(one.select(&mut node, CONTINUE, false, "select * where id >= 1 order by id desc").unwrap()), [3, 1]);
    assert_eq!(keys(one.select(&mut node, CONTINUE, false, "select * where id < 3").unwrap()), [1]);
    assert_eq!(keys(one.select(&mut node, CONTINUE, false, "select * limit 1").unwrap()), [1]);
    assert_eq!(keys(other.select(&mut node, AUTO, false, all).unwrap()), [1, 2]);
    assert_eq!(one.commit(&mut node), Ok(Vec::new()));
    assert_eq!(texts(&mut node, other, AUTO), after);
    assert_eq!(keys(other.select(&mut node, AUTO, false, all).unwrap()), [1, 3]);
    assert_eq!(kept(&node, one), 0, "nothing is held");
    assert_eq!(one.get_with(&mut node, CONTINUE, false, 1), Err(110_005), "it is over");
}

#[test]
fn an_aborted_transaction_leaves_nothing() {
    let (mut node, one, other) = two();
    one.put(&mut node, BEGIN, 1, "new").unwrap();
    one.remove(&mut node, CONTINUE, 2).unwrap();
    one.put(&mut node, CONTINUE, 3, "third").unwrap();
    assert_eq!(one.abort(&mut node), Ok(Vec::new()));
    assert_eq!([1, 2, 3].map(|id| other.get(&mut node, AUTO, id)), [Some("old".to_owned()), Some("old".to_owned()), None]);
    assert_eq!(kept(&node, one), 0);
    assert_eq!(one.commit(&mut node), GONE);
    assert_eq!(one.abort(&mut node), Ok(Vec::new()), "there is nothing to abort");
    assert_eq!(other.put(&mut node, AUTO, 1, "free"), Ok(vec![1]), "its locks are released");
}

#[test]
fn rows_locked_for_update_are_not_lost_to_another_update() {
    let (mut node, one, other) = two();
    assert_eq!(one.lock(&mut node, BEGIN, 1), Ok(Some("old".to_owned())));
    assert_eq!(other.lock(&mut node, BEGIN, 1), Err(WAITS));
    assert_eq!(other.put(&mut node, AUTO, 1, "lost"), Err(WAITS), "a statement of its own waits, too");
    assert_eq!(other.remove(&mut node, AUTO, 1), Err(WAITS));
    assert_eq!(other.get(&mut node, AUTO, 1), Some("old".to_owned()), "who only reads does not wait");
    assert_eq!(other.put(&mut node, AUTO, 2, "other"), Ok(vec![1]), "other rows are free");
    one.put(&mut node, CONTINUE, 1, "older").unwrap();
    one.commit(&mut node).unwrap();
    assert_eq!(other.lock(&mut node, BEGIN, 1), Ok(Some("older".to_owned())), "it reads what it will change");
    assert_eq!(one.lock(&mut node, BEGIN, 1), Err(WAITS));
    other.abort(&mut node).unwrap();
    assert_eq!(one.lock(&mut node, BEGIN, 9), Ok(None), "what is not there cannot be locked");
}

#[test]
fn a_statement_waits_for_a_lock_and_then_fails() {
    let (mut node, one, other) = two();
    one.put(&mut node, BEGIN, 1, "new").unwrap();
    node.waited_us = 9_999_999;
    assert_eq!(other.put(&mut node, AUTO, 1, "x"), Err(WAITS));
    node.waited_us = 10_000_000;
    assert_eq!(other.put(&mut node, AUTO, 1, "x"), Err(60_166));
    assert_eq!(other.put(&mut node, BEGIN, 1, "x"), Err(60_166));
    node.transaction_timeout_s = 2;
    node.waited_us = 2_000_000;
    assert_eq!(other.put(&mut node, BEGIN, 1, "x"), Err(60_166), "no longer than its transaction may last");
    assert_eq!(other.put(&mut node, CONTINUE, 2, "x"), GONE, "a statement that fails begins nothing");
}

#[test]
fn a_transaction_that_is_over_time_cannot_commit() {
    for who in ["the next one that needs the row", "who looks for such", "nobody"] {
        let (mut node, one, other) = two();
        node.transaction_timeout_s = 5;
        one.put(&mut node, BEGIN, 1, "new").unwrap();
        one.remove(&mut node, CONTINUE, 2).unwrap();
        node.now_us += 4_900_000;
        assert_eq!(other.put(&mut node, AUTO, 1, "x"), Err(WAITS), "it has some time left");
        node.now_us += 200_000;
        match who {
            "nobody" => {}
            "who looks for such" => {
                let container = std::sync::Arc::clone(node.catalog.by_id(one.container).unwrap());
                node.run(&*end_overdue(&container), &mut Vec::new()).unwrap();
                assert_eq!(kept(&node, one), 0);
            }
            _ => {
                assert_eq!(other.put(&mut node, AUTO, 1, "theirs"), Ok(vec![1]));
                assert_eq!(kept(&node, one), 0, "all its locks are gone, and its changes");
            }
        }
        // The clock of another member may be behind.
        if who != "nobody" {
            node.now_us -= 4_000_000;
        }
        assert_eq!(one.put(&mut node, CONTINUE, 2, "y"), GONE, "{who}");
        assert_eq!(one.commit(&mut node), GONE, "{who}");
        assert_eq!(one.get(&mut node, AUTO, 2), Some("old".to_owned()));
        assert_eq!(one.put(&mut node, BEGIN, 2, "z"), Ok(vec![1]), "the session begins another one");
        assert_eq!(one.commit(&mut node), Ok(Vec::new()));
        assert_eq!(kept(&node, one), 0);
    }
}

#[test]
fn rows_are_updated_and_removed_by_the_numbers_that_a_query_has_given() {
    let (mut node, one, other) = two();
    for id in 3..=5 {
        one.put(&mut node, AUTO, id, "old").unwrap();
    }
    assert_eq!(one.select(&mut node, AUTO, true, "select *"), Err(150_002), "without a transaction");
    assert_eq!(one.lock(&mut node, BEGIN, 4), Ok(Some("old".to_owned())));
    let found = one.select(&mut node, CONTINUE, true, "select * where id >= 2 and id < 5 order by id desc").unwrap();
    assert_eq!(found.iter().map(|(_, key)| *key).collect::<Vec<_>>(), [4, 3, 2]);
    assert_eq!(one.select(&mut node, CONTINUE, true, "select count(*)"), Err(150_002), "an aggregation has no rows");
    let number_of = |key: i64| found.iter().find(|(_, other)| *other == key).unwrap().0.to_le_bytes().to_vec();
    let by_number = |node: &mut Node, statement, key, rest: &[u8]| {
        node.serve(statement, &[&one.head(CONTINUE, false)[..], &number_of(key), rest].concat())
    };
    assert_eq!(by_number(&mut node, statement::UPDATE_ROW_BY_ID, 3, &row(3, "updated")), Ok(vec![1]));
    assert_eq!(by_number(&mut node, statement::DELETE_ROW_BY_ID, 4, &[]), Ok(vec![1]));
    assert_eq!(by_number(&mut node, statement::DELETE_ROW_BY_ID, 4, &[]), Ok(vec![0]), "it is gone");
    assert_eq!(by_number(&mut node, statement::UPDATE_ROW_BY_ID, 2, &row(9, "moved")), Err(60_049), "a key stays");
    let unknown = [&one.head(CONTINUE, false)[..], &77_i64.to_le_bytes()].concat();
    assert_eq!(node.serve(statement::DELETE_ROW_BY_ID, &unknown), Err(60_001));
    let alone = [&one.head(AUTO, false)[..], &1_i64.to_le_bytes()].concat();
    assert_eq!(node.serve(statement::DELETE_ROW_BY_ID, &alone), Err(60_001));
    assert_eq!(other.put(&mut node, AUTO, 2, "x"), Err(WAITS), "it is locked, though not changed");
    assert_eq!(other.put(&mut node, AUTO, 5, "free"), Ok(vec![1]));
    one.commit(&mut node).unwrap();
    let texts = [2, 3, 4, 5].map(|id| other.get(&mut node, AUTO, id));
    assert_eq!(texts.map(|text| text.unwrap_or_default()), ["old", "updated", "", "free"]);
}

#[test]
fn a_statement_that_is_sent_again_does_no_more_than_once() {
    let (mut node, one, other) = two();
    let put = [one.head(BEGIN, false), row(1, "new")].concat();
    assert_eq!(node.serve(statement::PUT_ROW, &put), Ok(vec![1]));
    assert_eq!(node.serve_again(statement::PUT_ROW, &put), Ok(vec![1]), "it has begun the same transaction");
    assert_eq!(one.commit(&mut node), Ok(Vec::new()));
    assert_eq!(node.serve_again(statement::COMMIT_TRANSACTION, &one.end_arguments(&[])), Ok(Vec::new()), "the answer was lost");
    assert_eq!(one.commit(&mut node), GONE, "this is another commit");
    one.put(&mut node, BEGIN, 2, "first").unwrap();
    one.put(&mut node, BEGIN, 1, "second").unwrap();
    assert_eq!(other.put(&mut node, AUTO, 2, "free"), Ok(vec![1]), "a client that begins has done with the one before");
    one.commit(&mut node).unwrap();
    assert_eq!(other.get(&mut node, AUTO, 2), Some("free".to_owned()));
}

#[test]
fn a_lost_connection_aborts_what_it_has_begun_and_nothing_else() {
    let (mut node, one, other) = two();
    one.put(&mut node, BEGIN, 1, "new").unwrap();
    let begun_by = node.statement.to_le_bytes();
    let before = (node.statement - 1).to_le_bytes();
    one.end_with(&mut node, statement::ABORT_TRANSACTION, &before).unwrap();
    assert_eq!(one.get(&mut node, CONTINUE, 1), Some("new".to_owned()), "that one was over");
    one.end_with(&mut node, statement::ABORT_TRANSACTION, &begun_by).unwrap();
    assert_eq!(one.commit(&mut node), GONE);
    assert_eq!(other.put(&mut node, AUTO, 1, "free"), Ok(vec![1]));
    // The statement that begins it is still waiting for a lock when its connection is lost.
    other.lock(&mut node, BEGIN, 2).unwrap();
    let put = [one.head(BEGIN, false), row(2, "late")].concat();
    assert_eq!(node.serve(statement::PUT_ROW, &put), Err(WAITS));
    let waiting = node.statement;
    one.end_with(&mut node, statement::ABORT_TRANSACTION, &waiting.to_le_bytes()).unwrap();
    other.commit(&mut node).unwrap();
    node.statement = waiting;
    assert_eq!(node.serve_again(statement::PUT_ROW, &put), GONE, "nobody would end it");
    assert_eq!(kept(&node, one), 0);
}

#[test]
fn sessions_that_close_abort() {
    let (mut node, one, other) = two();
    one.put(&mut node, BEGIN, 1, "new").unwrap();
    other.put(&mut node, BEGIN, 2, "new").unwrap();
    assert_eq!(one.end_with(&mut node, statement::CLOSE_SESSION, &[]), Ok(Vec::new()));
    assert_eq!(one.commit(&mut node), GONE);
    let mut many = vec![7; 16];
    put_i32(&mut many, 0);
    put_i32(&mut many, 2);
    for session in [one, other] {
        put_i64(&mut many, 5);
        put_i64(&mut many, session.container);
        put_i64(&mut many, session.session);
    }
    assert_eq!(node.serve(statement::CLOSE_MULTIPLE_SESSIONS, &many), Ok(Vec::new()));
    assert_eq!(other.commit(&mut node), GONE);
    assert_eq!(kept(&node, one), 0);
    let missing = Session { container: one.container + 1, session: 1 };
    assert_eq!(missing.end_with(&mut node, statement::CLOSE_SESSION, &[]), Ok(Vec::new()), "it went with its container");
    assert_eq!(missing.commit(&mut node), Err(10_016));
}

#[test]
fn a_transaction_has_a_bound() {
    let (mut node, one, other) = two();
    let many: Vec<(i64, &str)> = (0..20_000).map(|id| (id, "x")).collect();
    let put = |node: &mut Node, mode, many: &[(i64, &str)]| {
        let count = (many.len() as i64).to_le_bytes();
        node.serve(statement::PUT_MULTIPLE_ROWS, &[&one.head(mode, false)[..], &count, &rows(many)].concat())
    };
    assert_eq!(put(&mut node, BEGIN, &many), Err(1_008), "too many rows");
    assert_eq!(put(&mut node, BEGIN, &many[..16_384]), Ok(vec![0]));
    assert_eq!(one.put(&mut node, CONTINUE, 20_000, "x"), Err(1_008));
    assert_eq!(one.put(&mut node, CONTINUE, 5, "y"), Ok(vec![1]), "it has this lock");
    assert_eq!(one.commit(&mut node), Ok(Vec::new()));
    assert_eq!(one.select(&mut node, AUTO, false, "select *").unwrap().len(), 16_384);
    let large = "x".repeat(3 << 20);
    assert_eq!(other.put(&mut node, BEGIN, 1, &large), Ok(vec![1]));
    assert_eq!(other.put(&mut node, CONTINUE, 1, &large), Ok(vec![1]), "what it replaces does not count");
    assert_eq!(other.put(&mut node, CONTINUE, 2, &large), Err(1_008), "too many bytes");
}

#[test]
fn rows_without_a_key_and_of_time_series_are_put_by_several_at_once() {
    let mut node = Node::new();
    let container = node.put_container("log", 0, &COLUMNS, 0, false).unwrap();
    let (one, other) = (Session { container, session: 1 }, Session { container, session: 2 });
    one.put(&mut node, BEGIN, 0, "a").unwrap();
    one.put(&mut node, CONTINUE, 0, "b").unwrap();
    assert_eq!(other.put(&mut node, AUTO, 0, "c"), Ok(vec![0]), "it waits for nobody");
    other.put(&mut node, BEGIN, 0, "d").unwrap();
    other.abort(&mut node).unwrap();
    one.commit(&mut node).unwrap();
    assert_eq!(one.select(&mut node, AUTO, false, "select *").unwrap().len(), 3);
    let columns = [("at", ElementType::Timestamp), ("text", ElementType::String)];
    let container = node.put_container("series", 1, &columns, 1, false).unwrap();
    let series = Session { container, session: 1 };
    let append = |node: &mut Node, mode| node.serve(statement::APPEND_TIME_SERIES_ROW, &[series.head(mode, false), row(0, "now")].concat());
    assert_eq!(append(&mut node, BEGIN), Ok(vec![0]));
    assert_eq!(append(&mut node, CONTINUE), Ok(vec![0]));
    series.commit(&mut node).unwrap();
    let reply = node.serve(statement::QUERY_TQL, &[series.head(AUTO, false), query("select *")].concat()).unwrap();
    assert_eq!(reply[9..17], 2_i64.to_le_bytes());
}
