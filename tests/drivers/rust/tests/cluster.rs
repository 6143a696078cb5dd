//! What the driver learns of the server: schema events, shards, and that it is back after a restart.

use scylla::client::session_builder::SessionBuilder;
use std::time::Duration;
use tarndb_driver_test_rust::{PATIENCE, connect_to_new_keyspace, endpoint, restart, run, until};

#[tokio::test]
async fn schema_changes_reach_a_session_that_did_not_make_them() {
    // The driver re-reads the keyspaces that events have named, and only those, once in each interval.
    let watcher = SessionBuilder::new()
        .known_node(endpoint())
        .connection_timeout(PATIENCE)
        .cluster_metadata_refresh_interval(Duration::from_millis(100))
        .fetch_full_schema_metadata(true)
        .build()
        .await
        .expect("connects");
    let session = connect_to_new_keyspace("rust_events").await;
    // None while there is no such table. The driver asks for tables and for columns at once, and may have one without the other until it asks again.
    let keys = || {
        let state = watcher.get_cluster_state();
        let table = state.get_keyspace("rust_events")?.tables.get("seen")?;
        Some((table.partition_key.clone(), table.clustering_key.clone()))
    };
    run(&session, "CREATE TABLE seen (a int, b text, c int, PRIMARY KEY ((a, b), c))").await;
    let expected = || Some((vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned()]));
    until("the new table is in the other session's metadata", async || keys() == expected()).await;
    run(&session, "DROP TABLE seen").await;
    until("the dropped table leaves the other session's metadata", async || keys().is_none()).await;
}

#[tokio::test]
async fn shard_count_is_known_and_every_shard_serves() {
    let session = connect_to_new_keyspace("rust_shards").await;
    let cores: u16 = std::env::var("TARNDB_TEST_CORES").ok().and_then(|text| text.parse().ok()).expect("TARNDB_TEST_CORES");
    let state = session.get_cluster_state();
    let sharder = state.get_nodes_info()[0].sharder().expect("the server is shard-aware");
    assert_eq!(sharder.nr_shards.get(), cores);
    run(&session, "CREATE TABLE t (k int PRIMARY KEY, v int)").await;
    let insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)").await.expect("prepares");
    let select = session.prepare("SELECT v FROM t WHERE k = ?").await.expect("prepares");
    let mut shards = std::collections::BTreeSet::new();
    for key in 0..500 {
        let token = insert.calculate_token(&(key, key)).expect("the values fit").expect("the key is bound");
        shards.insert(sharder.shard_of(token));
        session.execute_unpaged(&insert, (key, key)).await.expect("inserts");
        let rows = session.execute_unpaged(&select, (key,)).await.expect("selects").into_rows_result().expect("rows");
        assert_eq!(rows.single_row::<(i32,)>().expect("one row").0, key);
    }
    assert_eq!(shards.len(), usize::from(cores));
}

#[tokio::test]
async fn session_without_the_shard_aware_port_works_too() {
    let builder = SessionBuilder::new().known_node(endpoint()).connection_timeout(PATIENCE);
    let session = builder.disallow_shard_aware_port(true).build().await.expect("connects");
    run(&session, "SELECT key FROM system.local").await;
}

#[tokio::test]
async fn restart_by_kill_loses_nothing() {
    survive("kill", "rust_kill").await;
}

#[tokio::test]
async fn restart_by_term_loses_nothing() {
    survive("term", "rust_term").await;
}

async fn survive(how: &str, keyspace: &str) {
    let session = connect_to_new_keyspace(keyspace).await;
    run(&session, "CREATE TABLE t (k int PRIMARY KEY, v text)").await;
    let insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)").await.expect("prepares");
    for key in 0..1_000 {
        session.execute_unpaged(&insert, (key, format!("value {key}"))).await.expect("inserts");
    }
    restart(how);
    // The prepared statement is unknown to the new process: the driver prepares it again.
    until("the session is connected again", async || session.execute_unpaged(&insert, (1_000, "after")).await.is_ok()).await;
    let rows = session.query_unpaged("SELECT k, v FROM t", &[]).await.expect("selects").into_rows_result().expect("rows");
    let mut rows: Vec<(i32, String)> = rows.rows().expect("typed rows").map(|row| row.expect("a row")).collect();
    rows.sort_unstable();
    let mut expected: Vec<(i32, String)> = (0..1_000).map(|key| (key, format!("value {key}"))).collect();
    expected.push((1_000, "after".to_owned()));
    assert_eq!(rows, expected);
}
