//! The server under test, a session on it, and a keyspace for each test.
//!
//! `TARNDB_TEST_CQL` is host:port of the server; `TARNDB_TEST_RESTART` is a command that ends it with `kill` or `term` and
//! returns once it is ready again.

use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use std::process::Command;
use std::time::{Duration, Instant};

/// host:port of the server under test.
pub fn endpoint() -> String {
    std::env::var("TARNDB_TEST_CQL").expect("TARNDB_TEST_CQL names the server: run scripts/drivers.sh rust")
}

/// How long a slow machine may take to connect, and to do what is waited for.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A session with the driver's defaults.
pub async fn connect() -> Session {
    SessionBuilder::new()
        .known_node(endpoint())
        .connection_timeout(PATIENCE)
        .schema_agreement_interval(Duration::from_millis(5))
        .build()
        .await
        .expect("the server accepts the session")
}

/// A session that uses a keyspace of this name, which is empty.
pub async fn connect_to_new_keyspace(name: &str) -> Session {
    let session = connect().await;
    run(&session, &format!("DROP KEYSPACE IF EXISTS {name}")).await;
    run(&session, &format!("CREATE KEYSPACE {name} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}")).await;
    session.use_keyspace(name, false).await.expect("USE succeeds");
    session
}

/// Executes a statement of which only the success counts.
pub async fn run(session: &Session, statement: &str) {
    if let Err(error) = session.query_unpaged(statement, &[]).await {
        panic!("{statement}: {error}");
    }
}

/// Ends the server with `kill` or `term`; returns once it is ready again.
pub fn restart(how: &str) {
    let command = std::env::var("TARNDB_TEST_RESTART").expect("TARNDB_TEST_RESTART restarts the server");
    let status = Command::new("sh").arg("-c").arg(format!("{command} {how} > /dev/null")).status().expect("sh runs");
    assert!(status.success(), "the server did not come back");
}

/// Waits until a condition holds; panics with what was waited for after two minutes.
pub async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition().await {
        assert!(Instant::now() < deadline, "waited {PATIENCE:?} in vain: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
