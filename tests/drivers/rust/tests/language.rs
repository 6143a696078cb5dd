//! Types, prepared statements, paging, batches, lightweight transactions and errors through the Rust driver.

use futures::TryStreamExt;
use futures::stream::{FuturesUnordered, StreamExt};
use scylla::client::session_builder::SessionBuilder;
use scylla::errors::{DbError, ExecutionError, RequestAttemptError};
use scylla::frame::Compression;
use scylla::response::{PagingState, PagingStateResponse};
use scylla::statement::Statement;
use scylla::statement::batch::{Batch, BatchType};
use scylla::value::{
    Counter, CqlDate, CqlDecimal, CqlDuration, CqlTime, CqlTimestamp, CqlTimeuuid, CqlValue, CqlVarint, MaybeUnset, Unset,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::ControlFlow;
use tarndb_driver_test_rust::{connect_to_new_keyspace, endpoint, run};
use uuid::Uuid;

#[tokio::test]
async fn every_native_type_comes_back_equal() {
    let session = connect_to_new_keyspace("rust_types").await;
    let timeuuid = Uuid::from_u128(0x4f1a6a80_2b5c_11ee_8c90_0242ac120002);
    let values: Vec<(&str, CqlValue)> = vec![
        ("ascii", CqlValue::Ascii("plain".into())),
        ("bigint", CqlValue::BigInt(i64::MIN)),
        ("blob", CqlValue::Blob(vec![0, 255, 7])),
        ("boolean", CqlValue::Boolean(true)),
        ("date", CqlValue::Date(CqlDate((1 << 31) + 19_000))),
        ("decimal", CqlValue::Decimal(CqlDecimal::from_signed_be_bytes_and_exponent(vec![0xff, 0x6a], 2))),
        ("double", CqlValue::Double(-1.5e300)),
        ("duration", CqlValue::Duration(CqlDuration { months: 14, days: 3, nanoseconds: 4_000_000_005 })),
        ("float", CqlValue::Float(0.5)),
        ("inet", CqlValue::Inet("2001:db8::1".parse::<IpAddr>().expect("an address"))),
        ("int", CqlValue::Int(i32::MAX)),
        ("smallint", CqlValue::SmallInt(i16::MIN)),
        ("text", CqlValue::Text("Bergsee äöü 湖 🏔".into())),
        ("time", CqlValue::Time(CqlTime(86_399_999_999_999))),
        ("timestamp", CqlValue::Timestamp(CqlTimestamp(-1))),
        ("timeuuid", CqlValue::Timeuuid(CqlTimeuuid::from(timeuuid))),
        ("tinyint", CqlValue::TinyInt(-128)),
        ("uuid", CqlValue::Uuid(Uuid::from_u128(7))),
        ("varint", CqlValue::Varint(CqlVarint::from_signed_bytes_be(vec![1, 0, 0, 0, 0, 0, 0, 0, 0, 0]))),
        ("list<int>", CqlValue::List(vec![CqlValue::Int(3), CqlValue::Int(1)])),
        ("set<text>", CqlValue::Set(vec![CqlValue::Text("a".into()), CqlValue::Text("b".into())])),
        ("map<text, int>", CqlValue::Map(vec![(CqlValue::Text("k".into()), CqlValue::Int(-1))])),
        (
            "frozen<map<text, frozen<list<int>>>>",
            CqlValue::Map(vec![(CqlValue::Text("k".into()), CqlValue::List(vec![CqlValue::Int(1), CqlValue::Int(2)]))]),
        ),
        ("tuple<int, text>", CqlValue::Tuple(vec![Some(CqlValue::Int(1)), None])),
    ];
    for (number, (kind, value)) in values.iter().enumerate() {
        run(&session, &format!("CREATE TABLE t{number} (k int PRIMARY KEY, v {kind})")).await;
        let insert = session.prepare(format!("INSERT INTO t{number} (k, v) VALUES (?, ?)")).await.expect("prepares");
        session.execute_unpaged(&insert, (1, value)).await.expect("inserts");
        session.execute_unpaged(&insert, (2, None::<CqlValue>)).await.expect("inserts null");
        let select = session.prepare(format!("SELECT v FROM t{number} WHERE k = ?")).await.expect("prepares");
        for (key, expected) in [(1, Some(value.clone())), (2, None)] {
            let rows = session.execute_unpaged(&select, (key,)).await.expect("selects").into_rows_result().expect("rows");
            assert_eq!(rows.single_row::<(Option<CqlValue>,)>().expect("one row").0, expected, "{kind}");
        }
    }
}

#[tokio::test]
async fn unset_leaves_the_cell_alone() {
    let session = connect_to_new_keyspace("rust_unset").await;
    run(&session, "CREATE TABLE t (k int PRIMARY KEY, v int, w int)").await;
    let insert = session.prepare("INSERT INTO t (k, v, w) VALUES (?, ?, ?)").await.expect("prepares");
    session.execute_unpaged(&insert, (1, MaybeUnset::Set(1), 1)).await.expect("inserts");
    session.execute_unpaged(&insert, (1, Unset, 2)).await.expect("inserts");
    let rows = session.query_unpaged("SELECT v, w FROM t", &[]).await.expect("selects").into_rows_result().expect("rows");
    assert_eq!(rows.single_row::<(i32, i32)>().expect("one row"), (1, 2));
}

#[tokio::test]
async fn collections_change_in_place_and_counters_count() {
    let session = connect_to_new_keyspace("rust_collections").await;
    run(&session, "CREATE TABLE t (k int PRIMARY KEY, l list<int>, s set<int>, m map<text, int>)").await;
    run(&session, "INSERT INTO t (k, l, s, m) VALUES (1, [1], {1}, {'a': 1})").await;
    run(&session, "UPDATE t SET l = l + [2], s = s + {2}, m['b'] = 2 WHERE k = 1").await;
    run(&session, "UPDATE t SET l = [0] + l, s = s - {1}, m = m - {'a'} WHERE k = 1").await;
    let rows = session.query_unpaged("SELECT l, s, m FROM t", &[]).await.expect("selects").into_rows_result().expect("rows");
    let (list, set, map) = rows.single_row::<(Vec<i32>, BTreeSet<i32>, BTreeMap<String, i32>)>().expect("one row of collections");
    assert_eq!((list, set, map), (vec![0, 1, 2], BTreeSet::from([2]), BTreeMap::from([("b".to_owned(), 2)])));

    run(&session, "CREATE TABLE c (k int PRIMARY KEY, n counter)").await;
    let add = session.prepare("UPDATE c SET n = n + ? WHERE k = ?").await.expect("prepares");
    for amount in [1, 41, -2] {
        session.execute_unpaged(&add, (Counter(amount), 1)).await.expect("counts");
    }
    let rows = session.query_unpaged("SELECT n FROM c", &[]).await.expect("selects").into_rows_result().expect("rows");
    assert_eq!(rows.single_row::<(Counter,)>().expect("one row").0, Counter(40));
}

#[tokio::test]
async fn values_pass_through_every_compression() {
    let setup = connect_to_new_keyspace("rust_compression").await;
    run(&setup, "CREATE TABLE t (k int PRIMARY KEY, v text)").await;
    let text = "a tarn is a small mountain lake ".repeat(5_000);
    for (key, compression) in [None, Some(Compression::Lz4), Some(Compression::Snappy)].into_iter().enumerate() {
        let key = i32::try_from(key).expect("a small number");
        let session = SessionBuilder::new().known_node(endpoint()).compression(compression).build().await.expect("the session opens");
        session.query_unpaged("INSERT INTO rust_compression.t (k, v) VALUES (?, ?)", (key, &text)).await.expect("inserts");
        let rows = session.query_unpaged("SELECT v FROM rust_compression.t WHERE k = ?", (key,)).await.expect("selects");
        let rows = rows.into_rows_result().expect("rows");
        assert_eq!(rows.single_row::<(String,)>().expect("one row").0, text);
    }
}

#[tokio::test]
async fn pages_give_every_row_once_and_resume_in_another_session() {
    let session = connect_to_new_keyspace("rust_paging").await;
    run(&session, "CREATE TABLE t (k int, c int, PRIMARY KEY (k, c)) WITH CLUSTERING ORDER BY (c DESC)").await;
    let insert = session.prepare("INSERT INTO t (k, c) VALUES (?, ?)").await.expect("prepares");
    let mut inserts: FuturesUnordered<_> = (0..3_000).map(|n| session.execute_unpaged(&insert, (n % 3, n))).collect();
    while let Some(result) = inserts.next().await {
        result.expect("inserts");
    }
    drop(inserts);

    let statement = Statement::new("SELECT c FROM t").with_page_size(128);
    let all = session.query_iter(statement, &[]).await.expect("queries").rows_stream::<(i32,)>().expect("a typed stream");
    let mut keys: Vec<i32> = all.map_ok(|row| row.0).try_collect().await.expect("every page arrives");
    keys.sort_unstable();
    assert_eq!(keys, (0..3_000).collect::<Vec<_>>());

    let mut state = PagingState::start();
    let mut seen = Vec::new();
    loop {
        let other = tarndb_driver_test_rust::connect().await;
        let statement = Statement::new("SELECT c FROM rust_paging.t WHERE k = 1").with_page_size(300);
        let (result, next): (_, PagingStateResponse) = other.query_single_page(statement, &[], state).await.expect("a page arrives");
        let rows = result.into_rows_result().expect("rows");
        seen.extend(rows.rows::<(i32,)>().expect("typed rows").map(|row| row.expect("a row").0));
        match next.into_paging_control_flow() {
            ControlFlow::Break(()) => break,
            ControlFlow::Continue(next) => state = next,
        }
    }
    assert_eq!(seen, (0..1_000).map(|n| n * 3 + 1).rev().collect::<Vec<_>>());
}

#[tokio::test]
async fn batches_write_all_their_statements() {
    let session = connect_to_new_keyspace("rust_batches").await;
    run(&session, "CREATE TABLE t (k int, c int, v text, PRIMARY KEY (k, c))").await;
    run(&session, "CREATE TABLE n (k int PRIMARY KEY, c counter)").await;
    let insert = session.prepare("INSERT INTO t (k, c, v) VALUES (?, ?, ?)").await.expect("prepares");
    for (key, kind) in [(1, BatchType::Logged), (2, BatchType::Unlogged)] {
        let mut batch = Batch::new(kind);
        batch.append_statement(insert.clone());
        batch.append_statement("INSERT INTO t (k, c, v) VALUES (?, 2, 'simple')");
        batch.append_statement("DELETE FROM t WHERE k = 99 AND c = 1");
        session.batch(&batch, ((key, 1, "prepared"), (key,), ())).await.expect("the batch is written");
        let rows = session.query_unpaged("SELECT c, v FROM t WHERE k = ?", (key,)).await.expect("selects");
        let rows = rows.into_rows_result().expect("rows");
        let rows: Vec<(i32, String)> = rows.rows().expect("typed rows").map(|row| row.expect("a row")).collect();
        assert_eq!(rows, [(1, "prepared".to_owned()), (2, "simple".to_owned())]);
    }
    let mut batch = Batch::new(BatchType::Counter);
    batch.append_statement("UPDATE n SET c = c + 2 WHERE k = 1");
    batch.append_statement("UPDATE n SET c = c + 3 WHERE k = 1");
    session.batch(&batch, ((), ())).await.expect("the counter batch is written");
    let rows = session.query_unpaged("SELECT c FROM n", &[]).await.expect("selects").into_rows_result().expect("rows");
    assert_eq!(rows.single_row::<(Counter,)>().expect("one row").0, Counter(5));
}

#[tokio::test]
async fn lightweight_transactions_apply_once() {
    let session = connect_to_new_keyspace("rust_lwt").await;
    run(&session, "CREATE TABLE t (k int PRIMARY KEY, v int)").await;
    let insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?) IF NOT EXISTS").await.expect("prepares");
    let first = session.execute_unpaged(&insert, (1, 1)).await.expect("inserts").into_rows_result().expect("a row");
    assert!(first.first_row::<RowOfAnyWidth>().expect("one row").applied());
    let second = session.execute_unpaged(&insert, (1, 2)).await.expect("answers").into_rows_result().expect("a row");
    let names: Vec<&str> = second.column_specs().iter().map(|column| column.name()).collect();
    assert_eq!(names, ["[applied]", "k", "v"]);
    assert_eq!(second.single_row::<(bool, i32, i32)>().expect("one row"), (false, 1, 1));
    let swap = session.prepare("UPDATE t SET v = ? WHERE k = ? IF v = ?").await.expect("prepares");
    let refused = session.execute_unpaged(&swap, (5, 1, 9)).await.expect("answers").into_rows_result().expect("a row");
    assert_eq!(refused.single_row::<(bool, i32)>().expect("one row"), (false, 1));
    let applied = session.execute_unpaged(&swap, (5, 1, 1)).await.expect("answers").into_rows_result().expect("a row");
    assert!(applied.first_row::<RowOfAnyWidth>().expect("one row").applied());
}

type RowOfAnyWidth = scylla::value::Row;

trait Applied {
    fn applied(&self) -> bool;
}

impl Applied for RowOfAnyWidth {
    /// The first column of a conditional statement's answer; how many follow is the server's choice.
    fn applied(&self) -> bool {
        matches!(self.columns.first(), Some(Some(CqlValue::Boolean(true))))
    }
}

#[tokio::test]
async fn errors_have_their_codes() {
    let session = connect_to_new_keyspace("rust_errors").await;
    run(&session, "CREATE TABLE t (k int PRIMARY KEY)").await;
    for (statement, is_expected) in [
        ("SELECT * FROM no_such_table", (|error| matches!(error, DbError::Invalid)) as fn(&DbError) -> bool),
        ("SELEC", |error| matches!(error, DbError::SyntaxError)),
        (
            "CREATE TABLE t (k int PRIMARY KEY)",
            |error| matches!(error, DbError::AlreadyExists { keyspace, table } if keyspace == "rust_errors" && table == "t"),
        ),
        ("INSERT INTO t (k) VALUES ('x')", |error| matches!(error, DbError::Invalid)),
    ] {
        match session.query_unpaged(statement, &[]).await {
            Err(ExecutionError::LastAttemptError(RequestAttemptError::DbError(error, _))) => {
                assert!(is_expected(&error), "{statement}: {error:?}");
            }
            other => panic!("{statement}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn thousands_of_requests_in_flight_are_answered_to_their_askers() {
    let session = connect_to_new_keyspace("rust_concurrent").await;
    run(&session, "CREATE TABLE t (k int PRIMARY KEY, v bigint)").await;
    let insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)").await.expect("prepares");
    let select = session.prepare("SELECT v FROM t WHERE k = ?").await.expect("prepares");
    let written = futures::stream::iter(0..5_000).map(|key| session.execute_unpaged(&insert, (key, i64::from(key) * 3)));
    written.buffer_unordered(1_000).map_ok(|_| ()).try_collect::<()>().await.expect("every insert succeeds");
    let read = futures::stream::iter(0..5_000).map(|key: i32| {
        let (session, select) = (&session, &select);
        async move { (key, session.execute_unpaged(select, (key,)).await) }
    });
    let answers: Vec<_> = read.buffer_unordered(1_000).collect().await;
    for (key, answer) in answers {
        let rows = answer.expect("every select succeeds").into_rows_result().expect("rows");
        assert_eq!(rows.single_row::<(i64,)>().expect("one row").0, i64::from(key) * 3);
    }
}
