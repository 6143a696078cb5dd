//! A node whose rows are in a map. What its clients change is forgotten once it has been told to: then every statement meets the same rows.

use base::{BufferPool, Now, TableId, Token};
use griddb::exec::{Request, Work, start};
use griddb::session::{Client, Login, Progress, Server, Transports};
use griddb::users::UserStatement;
use griddb::wire::{Statement, Status, statement};
use griddb::{Catalog, GridError, PUBLIC_DATABASE};
use model::Schema;
use model::operation::{Context, Direction, Operation, PartitionKey, Position, RowStore, ScannedRow, Stop, Visit, WriteSet};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// Rows by their table, partition and clustering key.
#[derive(Default)]
struct Rows(BTreeMap<(TableId, Vec<u8>, Vec<u8>), Vec<u8>>);

impl RowStore for Rows {
    fn get(&self, partition: &PartitionKey<'_>, clustering: &[u8]) -> Result<Option<&[u8]>, Stop> {
        let key = (partition.table, partition.bytes.to_vec(), clustering.to_vec());
        Ok(self.0.get(&key).map(Vec::as_slice))
    }

    fn has_rows(&self, table: TableId) -> bool {
        self.0.keys().any(|(other, ..)| *other == table)
    }

    fn scan(
        &self,
        partition: &PartitionKey<'_>,
        from: &[u8],
        to: Option<&[u8]>,
        direction: Direction,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Visit,
    ) -> Result<(), Stop> {
        let is_of = |table: TableId, bytes: &[u8]| table == partition.table && bytes == partition.bytes;
        let is_between = |key: &[u8]| from <= key && to.is_none_or(|to| key < to);
        let found = self.0.iter().filter(|((table, bytes, key), _)| is_of(*table, bytes) && is_between(key));
        let mut found: Vec<_> = found.collect();
        if direction == Direction::Reverse {
            found.reverse();
        }
        found.into_iter().take_while(|((.., key), row)| visit(key, row) == Visit::Continue).for_each(drop);
        Ok(())
    }

    fn scan_table(&self, _: TableId, _: Position<'_>, _: Token, _: &mut dyn FnMut(ScannedRow<'_>) -> Visit) -> Result<(), Stop> {
        unreachable!("statements are about one partition")
    }
}

pub(crate) struct Node {
    schema: Arc<Schema>,
    catalog: Arc<Catalog>,
    rows: Rows,
    now_us: i64,
    buffers: BufferPool,
    /// Whether it forgets what is changed.
    pub(crate) forgets: bool,
    /// How many statements were done.
    pub(crate) done: u32,
}

impl Node {
    pub(crate) fn new() -> Self {
        let (schema, now_us) = (Arc::new(Schema::empty()), 1_000_000_000);
        Self { schema, catalog: Arc::default(), rows: Rows::default(), now_us, buffers: BufferPool::default(), forgets: false, done: 0 }
    }

    /// Appends the whole reply to a statement.
    pub(crate) fn serve(&mut self, statement: &Statement<'_>, body: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        if let Err(error) = self.try_serve(statement, body, out) {
            out.truncate(start);
            statement.reply.write_error(Status::StatementError, &error, out);
        } else {
            self.done += 1;
        }
    }

    fn try_serve(&mut self, statement: &Statement<'_>, body: &[u8], out: &mut Vec<u8>) -> Result<(), GridError> {
        if (statement::GET_USERS..=statement::DROP_PRIVILEGE).contains(&statement.number()) {
            return UserStatement::read(statement).map(|_| statement.reply.write_done(out));
        }
        let (mut catalog, mut schema) = (Arc::clone(&self.catalog), Arc::clone(&self.schema));
        for is_changed in [false, true] {
            let request = Request {
                catalog: &catalog,
                schema: &schema,
                database: PUBLIC_DATABASE,
                body,
                transaction_timeout_s: 300,
                received_us: 0,
                received_s: (self.now_us / 1_000_000) as u32,
                is_ipv6: statement.reply.is_ipv6,
                access: None,
            };
            let before = out.len();
            match start(request, statement, is_changed, out)? {
                Work::Answered => break,
                Work::Run(execution) => {
                    // Decoded once more, as on another core. Who waits for a lock has no reply.
                    let _ = self.run(execution.to_operation().as_ref(), out);
                    break;
                }
                Work::Change { change, starts_again } => {
                    out.truncate(before);
                    let changed = change.apply(&schema, PUBLIC_DATABASE, 9, self.now_us)?;
                    if let Some(changed) = changed {
                        Arc::make_mut(&mut catalog).follow(&changed.schema);
                        schema = Arc::new(changed.schema);
                    }
                    if !starts_again {
                        statement.reply.write_done(out);
                        break;
                    }
                }
            }
        }
        if !self.forgets {
            (self.catalog, self.schema, self.now_us) = (catalog, schema, self.now_us + 1);
        }
        Ok(())
    }

    fn run(&mut self, operation: &dyn Operation, out: &mut Vec<u8>) -> Result<(), Stop> {
        let context = Context { now: Now { monotonic_us: 0, wall_us: self.now_us }, timestamp_us: self.now_us, nonce: 0 };
        let mut writes = WriteSet::default();
        operation.run(&context, &self.rows, &mut writes, out)?;
        if !self.forgets {
            self.now_us += 1_000;
            for row in writes.rows() {
                let key = (row.partition.table, row.partition.bytes.to_vec(), row.clustering.to_vec());
                self.rows.0.insert(key, row.row.to_vec());
            }
        }
        Ok(())
    }
}

impl Server for Node {
    fn cluster_name(&self) -> &str {
        "TarnDB"
    }

    fn transports(&self) -> Transports {
        Transports { plain: true, tls: false }
    }

    fn log_in(&mut self, _: Login<'_>) -> Result<Progress, GridError> {
        Ok(Progress::Replied)
    }

    fn log_out(&mut self) {}

    fn database(&self, name: &str) -> Option<i64> {
        (name == PUBLIC_DATABASE).then_some(0)
    }

    fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], 10_001).into()
    }

    fn owner(&self, _: &str, _: u32) -> SocketAddr {
        self.address()
    }

    fn buffers(&mut self) -> &mut BufferPool {
        &mut self.buffers
    }

    fn statement(&mut self, statement: &Statement<'_>, body: &[u8], _: &Client, out: &mut Vec<u8>) -> Progress {
        self.serve(statement, body, out);
        Progress::Replied
    }
}
