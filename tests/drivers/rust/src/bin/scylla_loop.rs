//! The least that a load generator on ScyllaDB's Rust driver can do, for `scripts/bench-clients.sh`: so many tasks on one thread, each with one request
//! in flight, no measuring of latencies, values cut from one string. Half reads of whole rows, half updates of one field, uniform keys, on YCSB's
//! table of ten fields of 100 bytes. Says `operations N` each second.
//!
//! `scylla_loop ADDRESS:PORT ROWS IN_FLIGHT SECONDS CONNECTIONS`; 0 connections are as many as the driver makes by itself.

use futures::future::join_all;
use scylla::client::PoolSize;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::statement::prepared::PreparedStatement;
use scylla::value::CqlValue;
use std::cell::Cell;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

const FIELDS: usize = 10;
const FIELD_BYTES: usize = 100;

struct Loop {
    session: Session,
    insert: PreparedStatement,
    read: PreparedStatement,
    updates: Vec<PreparedStatement>,
    values: String,
    random: Cell<u64>,
    done: Cell<u64>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, rows, in_flight, seconds, connections] = &arguments[..] else {
        panic!("usage: scylla_loop ADDRESS:PORT ROWS IN_FLIGHT SECONDS CONNECTIONS")
    };
    let number = |text: &String| text.parse::<u64>().expect("all but the address are numbers");
    let (rows, in_flight) = (number(rows), number(in_flight));
    let this = Loop::prepare(address, number(connections) as usize).await;
    let next = Cell::new(0);
    join_all((0..in_flight).map(|_| this.load(&next, rows))).await;
    let until = Instant::now() + Duration::from_secs(number(seconds));
    this.done.set(0);
    tokio::join!(join_all((0..in_flight).map(|_| this.run(rows, until))), this.tell(until));
    println!("operations {}", this.done.get());
}

impl Loop {
    async fn prepare(address: &str, connections: usize) -> Self {
        let builder = SessionBuilder::new().known_node(address);
        let builder = match NonZeroUsize::new(connections) {
            Some(connections) => builder.pool_size(PoolSize::PerHost(connections)),
            None => builder,
        };
        let session = builder.build().await.expect("the server accepts the session");
        let columns: String = (0..FIELDS).map(|field| format!(", field{field} varchar")).collect();
        let names = columns.replace(" varchar", "");
        for statement in [
            "CREATE KEYSPACE IF NOT EXISTS scyllaloop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}".to_owned(),
            format!("CREATE TABLE IF NOT EXISTS scyllaloop.usertable (y_id varchar PRIMARY KEY{columns})"),
        ] {
            session.query_unpaged(statement, &[]).await.expect("the table is made");
        }
        let prepare = async |statement: String| session.prepare(statement).await.expect("the server prepares");
        let insert = prepare(format!("INSERT INTO scyllaloop.usertable (y_id{names}) VALUES (?{})", ", ?".repeat(FIELDS))).await;
        let read = prepare("SELECT * FROM scyllaloop.usertable WHERE y_id = ?".to_owned()).await;
        let mut updates = Vec::new();
        for field in 0..FIELDS {
            updates.push(prepare(format!("UPDATE scyllaloop.usertable SET field{field} = ? WHERE y_id = ?")).await);
        }
        let values = "abcdefghijklmnopqrstuvwxyz0123456789".repeat(10);
        Self { session, insert, read, updates, values, random: Cell::new(0x9E37_79B9_7F4A_7C15), done: Cell::new(0) }
    }

    /// One of so many, by xorshift.
    fn below(&self, bound: u64) -> u64 {
        let mut word = self.random.get();
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        self.random.set(word);
        word % bound
    }

    fn value(&self) -> &str {
        let from = self.below((self.values.len() - FIELD_BYTES) as u64) as usize;
        &self.values[from..from + FIELD_BYTES]
    }

    async fn load(&self, next: &Cell<u64>, rows: u64) {
        while next.get() < rows {
            let mut row = vec![CqlValue::Text(format!("user{}", next.replace(next.get() + 1)))];
            row.extend((0..FIELDS).map(|_| CqlValue::Text(self.value().to_owned())));
            self.session.execute_unpaged(&self.insert, row).await.expect("a row is inserted");
        }
    }

    async fn run(&self, rows: u64, until: Instant) {
        while Instant::now() < until {
            let key = format!("user{}", self.below(rows));
            if self.below(2) == 0 {
                let found = self.session.execute_unpaged(&self.read, (&key,)).await.expect("a row is read");
                assert_eq!(found.into_rows_result().expect("it is rows").rows_num(), 1, "a row is missing");
            } else {
                let update = &self.updates[self.below(FIELDS as u64) as usize];
                self.session.execute_unpaged(update, (self.value(), &key)).await.expect("a row is updated");
            }
            self.done.set(self.done.get() + 1);
        }
    }

    async fn tell(&self, until: Instant) {
        while Instant::now() < until {
            tokio::time::sleep(Duration::from_secs(1)).await;
            println!("operations {}", self.done.get());
        }
    }
}
