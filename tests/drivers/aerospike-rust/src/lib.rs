//! The server under test, a client of it, and keys of a set for each test.
//!
//! `TARNDB_TEST_AEROSPIKE` is host:port of the server; `TARNDB_TEST_RESTART` is a command that ends it with `kill` or `term` and returns
//! once it is ready again.

use aerospike::operations::Operation;
use aerospike::{
    AdminPolicy, BatchPolicy, Bins, Client, ClientPolicy, IndexMap, Key, QueryPolicy, ReadPolicy, Result, ResultCode, Value, WritePolicy,
};
use std::fmt::Debug;
use std::process::Command;
use std::time::{Duration, Instant};

/// The namespace of all tests.
pub const NAMESPACE: &str = "test";

/// host:port of the server under test.
#[must_use]
pub fn endpoint() -> String {
    std::env::var("TARNDB_TEST_AEROSPIKE").expect("TARNDB_TEST_AEROSPIKE names the server: run scripts/drivers.sh aerospike-rust")
}

/// A client with the defaults.
pub async fn connect() -> Client {
    Client::new(&ClientPolicy::default(), &endpoint()).await.expect("the server accepts the client")
}

/// How long a request may take: busy machines let it wait for longer than the client's second.
const PATIENCE_MS: u32 = 120_000;

/// The defaults for writes, but patient.
#[must_use]
pub fn writes() -> WritePolicy {
    let mut policy = WritePolicy::default();
    (policy.base_policy.total_timeout, policy.base_policy.socket_timeout) = (PATIENCE_MS, PATIENCE_MS);
    policy
}

/// The defaults for reads, but patient.
#[must_use]
pub fn reads() -> ReadPolicy {
    let mut policy = ReadPolicy::default();
    (policy.base_policy.total_timeout, policy.base_policy.socket_timeout) = (PATIENCE_MS, PATIENCE_MS);
    policy
}

/// A policy of batches, but patient.
#[must_use]
pub fn batches(mut policy: BatchPolicy) -> BatchPolicy {
    (policy.base_policy.total_timeout, policy.base_policy.socket_timeout) = (PATIENCE_MS, PATIENCE_MS);
    policy
}

/// The defaults for queries, which have no end, but with patience for each answer.
#[must_use]
pub fn queries() -> QueryPolicy {
    let mut policy = QueryPolicy::default();
    policy.base_policy.socket_timeout = PATIENCE_MS;
    policy
}

/// The defaults for administration, but patient.
#[must_use]
pub fn administration() -> AdminPolicy {
    let mut policy = AdminPolicy::default();
    policy.timeout = PATIENCE_MS;
    policy
}

/// A key of a set; no record has it.
pub async fn fresh(client: &Client, set: &str, name: impl Into<Value>) -> Key {
    let key = Key::new(NAMESPACE, set, name.into()).expect("a key");
    client.delete(&writes(), &key).await.expect("a delete");
    key
}

/// The bins of a record.
pub async fn read(client: &Client, key: &Key) -> IndexMap<String, Value> {
    client.get(&reads(), key, Bins::All).await.expect("the record is there").bins
}

/// The answers of operations on one bin, nil where there is none.
pub async fn operate(client: &Client, key: &Key, bin: &str, operations: &[Operation]) -> Vec<Value> {
    let mut policy = writes();
    policy.respond_per_each_op = true;
    let mut record = client.operate(&policy, key, operations).await.expect("the operations are done");
    match record.bins.swap_remove(bin) {
        Some(Value::MultiResult(answers)) => answers,
        Some(answer) => vec![answer],
        None => vec![],
    }
}

/// Wants a request to fail with a result code.
pub fn refused<T: Debug>(answer: Result<T>, code: ResultCode) {
    let error = answer.expect_err("the request is refused");
    assert_eq!(error.result_code(), i32::from(u8::from(code)), "{error}");
}

/// Ends the server with `kill` or `term`; returns once it is ready again.
pub fn restart(how: &str) {
    let command = std::env::var("TARNDB_TEST_RESTART").expect("TARNDB_TEST_RESTART restarts the server");
    let status = Command::new("sh").arg("-c").arg(format!("{command} {how} > /dev/null")).status().expect("sh runs");
    assert!(status.success(), "the server did not come back");
}

/// Waits until a condition holds; panics with what was waited for after 120 s.
pub async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !condition().await {
        assert!(Instant::now() < deadline, "waited 120 s in vain: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
