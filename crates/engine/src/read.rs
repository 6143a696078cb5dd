//! Point reads.
//!
//! A hit is: table, slot, cell; frame of the segment; the record. Nothing is copied, allocated or hashed.

use crate::engine::Engine;
use crate::error::{Miss, ReadError};
use crate::format::record::Record;
use crate::index::{Place, Unresolved};
use crate::key::{CachePolicy, Key, Row};
use crate::location::Location;
use crate::memory::Stored;
use base::{TableId, Token};

impl Engine {
    /// The row with this key, if there is one. It may be a tombstone.
    ///
    /// # Errors
    /// `Miss` when records have to be fetched first; `Damaged`, `UnknownTable`, `NotReady`.
    #[inline]
    pub fn get(&self, key: &Key<'_>, policy: CachePolicy) -> Result<Option<Row<'_>>, ReadError> {
        self.counters.gets.set(self.counters.gets.get() + 1);
        match self.find(key.table, key.token, key.partition, policy)? {
            Place::Absent | Place::Beside(_) => Ok(None),
            Place::Single(_, _) if !key.clustering.is_empty() => Ok(None),
            Place::Single(location, record) => {
                if policy == CachePolicy::Keep {
                    self.memory.touch(location);
                }
                Ok(Some(record.row()))
            }
            Place::Partition(number) => {
                let rows = &self.index.partitions.get(number).rows;
                match rows.get(key.clustering) {
                    None if rows.pages().is_some() => self.get_from_page(rows, key.clustering, policy),
                    None => Ok(None),
                    Some(location) => match self.record(location, policy)? {
                        Some(record) => Ok(Some(record.row())),
                        None => Err(ReadError::Miss(Miss::one(location, policy))),
                    },
                }
            }
        }
    }

    /// Has the processor load what a lookup of this token will read, without waiting for it: waits for memory are most of what a lookup costs, and
    /// those of several overlap.
    #[inline]
    pub fn warm(&self, table: TableId, token: Token) {
        if let Some((slot, position)) = self.index.home(table, token) {
            std::hint::black_box(slot.touch(position));
        }
    }

    /// Whether the partition has any row, tombstones included.
    ///
    /// # Errors
    /// As `get`.
    pub fn has_partition(&self, table: TableId, token: Token, partition: &[u8], policy: CachePolicy) -> Result<bool, ReadError> {
        Ok(!matches!(self.find(table, token, partition, policy)?, Place::Absent | Place::Beside(_)))
    }

    #[inline]
    pub(crate) fn find(&self, table: TableId, token: Token, partition: &[u8], policy: CachePolicy) -> Result<Place<'_>, ReadError> {
        if self.recovery.is_some() {
            return Err(ReadError::NotReady);
        }
        self.index.find(table, token, partition, &self.memory).map_err(|unresolved| self.unresolved(table, unresolved, policy))
    }

    #[cold]
    fn unresolved(&self, table: TableId, unresolved: Unresolved, policy: CachePolicy) -> ReadError {
        match unresolved {
            Unresolved::UnknownTable => ReadError::UnknownTable { table },
            Unresolved::Missing(location) => ReadError::Miss(Miss::one(location, policy)),
            Unresolved::Damaged(location) => match self.memory.stored(location) {
                Stored::Damaged(damage) => ReadError::Damaged { segment: location.segment(), offset: location.offset(), damage },
                _ => ReadError::Miss(Miss::one(location, policy)),
            },
        }
    }

    /// The record at a location of the index, `None` if it is on the device only.
    #[inline]
    pub(crate) fn record(&self, location: Location, policy: CachePolicy) -> Result<Option<Record<'_>>, ReadError> {
        match self.memory.stored(location) {
            Stored::Here(record) => {
                if policy == CachePolicy::Keep {
                    self.memory.touch(location);
                }
                Ok(Some(record))
            }
            Stored::Elsewhere => Ok(None),
            Stored::Damaged(damage) => Err(ReadError::Damaged { segment: location.segment(), offset: location.offset(), damage }),
        }
    }
}
