//! Rows in memory that no shard owns: the virtual tables of `system.*`, read with the same plans as any other table.

use super::execution::Execution;
use super::keys;
use super::start::{Work, start};
use crate::CqlError;
use crate::value::{self, comparable};
use base::{TableId, Token};
use model::operation::{Context, Direction, Operation, PartitionKey, Position, RowStore, ScannedRow, Step, Stop, Visit, WriteSet};
use model::row::{RowWriter, Stamp};
use model::{Order, Table};
use std::collections::BTreeMap;
use std::ops::Bound;

type Key = (Token, Vec<u8>, Vec<u8>);

/// The rows of one or more tables, sorted. Nothing in it is deleted or expires.
#[derive(Debug, Default)]
pub struct MemoryStore {
    tables: BTreeMap<TableId, BTreeMap<Key, Vec<u8>>>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a row of `table`: a wire value for each of its columns, in their order. A row with the same key is replaced; static columns
    /// are not possible here.
    ///
    /// # Errors
    /// A key column that is null, or a key that is too long.
    pub fn insert(&mut self, table: &Table, values: &[Option<Vec<u8>>]) -> Result<(), CqlError> {
        let mut key = Vec::with_capacity(table.partition_key_len + table.clustering_len);
        for (column, value) in table.columns.iter().zip(values).take(table.partition_key_len + table.clustering_len) {
            let value = value.as_deref().ok_or_else(|| CqlError::Server(format!("the key column {} is null", column.name)))?;
            key.push((column, value));
        }
        if values.len() != table.columns.len() {
            return Err(CqlError::Server(format!("{} values for {} columns of {}", values.len(), table.columns.len(), table.name)));
        }
        let (partition_key, clustering_key) = key.split_at(table.partition_key_len);
        let (mut partition, mut clustering) = (Vec::new(), Vec::new());
        value::partition_key(partition_key.iter().map(|(_, value)| *value), &mut partition)
            .map_err(|error| CqlError::Server(error.to_string()))?;
        for (column, value) in clustering_key {
            comparable::encode(&column.data_type, value, column.order == Order::Descending, &mut clustering);
        }
        let mut cells: Vec<_> = table.value_columns().iter().zip(&values[key.len()..]).collect();
        cells.sort_by_key(|(column, _)| column.id);
        let mut row = Vec::new();
        let mut writer = RowWriter::new(&mut row, Stamp::at(0), true, None);
        for (column, value) in cells {
            if let Some(value) = value {
                writer.value(column.id, Stamp::at(0), value);
            }
        }
        writer.finish();
        self.tables.entry(table.id).or_default().insert((keys::token(table, &partition), partition, clustering), row);
        Ok(())
    }

    /// Runs a SELECT to its end over these rows and appends the reply frame.
    ///
    /// # Errors
    /// What the client gets instead.
    pub fn run(&self, execution: &Execution<'_>, context: &Context, reply: &mut Vec<u8>) -> Result<(), CqlError> {
        let run = |operation: &dyn Operation, reply: &mut Vec<u8>| {
            operation.run(context, self, &mut WriteSet::default(), reply).map_err(|stop| CqlError::Server(stop.to_string()))
        };
        match start(execution, context)? {
            Work::Partition(_) => run(execution, reply),
            Work::Coordinate(mut coordinator) => {
                let mut results = Vec::new();
                loop {
                    let parts = match coordinator.step(std::mem::take(&mut results), reply)? {
                        Step::Run(parts) => parts,
                        Step::Wait { .. } => continue,
                        Step::Done => return Ok(()),
                    };
                    for part in parts {
                        let mut result = Vec::new();
                        run(&*part.operation, &mut result)?;
                        results.push(result);
                    }
                }
            }
            Work::Batch(_) | Work::Other => Err(CqlError::Server("only a SELECT can run over rows in memory".to_owned())),
        }
    }

    fn rows(&self, table: TableId) -> Option<&BTreeMap<Key, Vec<u8>>> {
        self.tables.get(&table)
    }
}

impl RowStore for MemoryStore {
    fn get(&self, partition: &PartitionKey<'_>, clustering: &[u8]) -> Result<Option<&[u8]>, Stop> {
        let key = (partition.token, partition.bytes.to_vec(), clustering.to_vec());
        Ok(self.rows(partition.table).and_then(|rows| rows.get(&key)).map(Vec::as_slice))
    }

    fn scan(
        &self,
        partition: &PartitionKey<'_>,
        from: &[u8],
        to: Option<&[u8]>,
        direction: Direction,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Visit,
    ) -> Result<(), Stop> {
        let Some(rows) = self.rows(partition.table) else { return Ok(()) };
        let key = |clustering: &[u8]| (partition.token, partition.bytes.to_vec(), clustering.to_vec());
        let end = match to {
            Some(to) if to <= from => return Ok(()),
            Some(to) => Bound::Excluded(key(to)),
            // The next partition key there can be.
            None => Bound::Excluded((partition.token, [partition.bytes, &[0]].concat(), Vec::new())),
        };
        let range = rows.range((Bound::Included(key(from)), end));
        let mut give = |((_, _, clustering), row): (&Key, &Vec<u8>)| visit(clustering, row) != Visit::Stop;
        match direction {
            Direction::Forward => range.into_iter().all(&mut give),
            Direction::Reverse => range.rev().all(&mut give),
        };
        Ok(())
    }

    fn scan_table(
        &self,
        table: TableId,
        from: Position<'_>,
        until: Token,
        visit: &mut dyn FnMut(ScannedRow<'_>) -> Visit,
    ) -> Result<(), Stop> {
        let Some(rows) = self.rows(table) else { return Ok(()) };
        let start = (from.token, from.partition.to_vec(), from.clustering.to_vec());
        for ((token, partition, clustering), row) in rows.range(start..).take_while(|((token, _, _), _)| *token <= until) {
            let partition = PartitionKey { table, token: *token, bytes: partition };
            if visit(ScannedRow { partition, clustering, row }) == Visit::Stop {
                break;
            }
        }
        Ok(())
    }
}
