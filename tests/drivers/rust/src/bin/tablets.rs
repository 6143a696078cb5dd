//! Writes the same keys over and over: for `tests/cluster`, which looks at where the requests come.
//!
//! `tablets ADDRESS PORT KEYS` says "warm" once it has written every key some times. For each line that it reads it writes every key once more, and
//! says how many of these writes failed.

use futures::stream::{StreamExt, iter};
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::statement::Consistency;
use scylla::statement::prepared::PreparedStatement;
use std::time::Duration;

/// A driver that has come to a primary by luck does not know it yet.
const ROUNDS: i32 = 8;
const IN_FLIGHT: usize = 50;
/// What a round has taught the driver is known to all its tasks a moment later.
const PAUSE: Duration = Duration::from_millis(300);

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, address, port, keys] = &arguments[..] else { panic!("usage: tablets ADDRESS PORT KEYS") };
    let keys: i32 = keys.parse().expect("a number of keys");
    let builder = SessionBuilder::new().known_node(format!("{address}:{port}")).connection_timeout(Duration::from_secs(60));
    let session = builder.build().await.expect("the cluster accepts the session");
    let mut insert = session.prepare("INSERT INTO k.t (a, b) VALUES (?, ?)").await.expect("prepares");
    insert.set_consistency(Consistency::One);
    for round in 0..ROUNDS {
        assert_eq!(failures(&session, &insert, keys, round).await, 0);
        tokio::time::sleep(PAUSE).await;
    }
    println!("warm");
    for (round, _) in (ROUNDS..).zip(std::io::stdin().lines()) {
        println!("{}", failures(&session, &insert, keys, round).await);
        tokio::time::sleep(PAUSE).await;
    }
}

/// Writes every key, and tells how many of these writes failed.
async fn failures(session: &Session, insert: &PreparedStatement, keys: i32, round: i32) -> usize {
    let writes = iter(0..keys).map(|key| session.execute_unpaged(insert, (key, round)));
    writes.buffer_unordered(IN_FLIGHT).filter(|outcome| std::future::ready(outcome.is_err())).count().await
}
