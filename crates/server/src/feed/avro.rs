//! Changes as an object container file of Avro, which a client reads as it comes: `docs/reference/changes.md` describes it.
//!
//! - [`schema`]: from a table's columns to the schema of its changes.
//! - [`value`]: values in Avro's binary encoding.
//!
//! A file has one schema: a table whose columns change is told of in another file.

mod schema;
mod value;

use super::change::{Change, Kind, LogRow};
use super::error::FeedError;
use super::log::Log;
use super::position::Mark;
use cql::cdc::log_of;
use cql::cdc::log_table::deleted_elements_name;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use model::{DataType, Schema};
use schema::Operation;
use std::collections::HashMap;
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};
use value::{put_bytes, put_long, put_text};

const MAGIC: &[u8] = b"Obj\x01";
const SYNC_BYTES: usize = 16;
/// A block goes out once it has so many bytes, or there is nothing more to tell for now.
const BLOCK_BYTES: usize = 16 << 10;

/// How blocks are compressed: what all readers of Avro know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Codec {
    #[default]
    Null,
    Deflate,
}

impl Codec {
    /// As Avro and clients name it.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Null, Self::Deflate].into_iter().find(|codec| codec.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Deflate => "deflate",
        }
    }

    fn encode(self, records: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Null => records,
            Self::Deflate => {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
                let encoded = encoder.write_all(&records).and_then(|()| encoder.finish());
                encoded.expect("memory takes what is written")
            }
        }
    }
}

/// What is told beside a change, each if it is there.
#[derive(Default)]
struct Told<'a> {
    ttl_s: Option<i64>,
    preimage: Option<&'a LogRow>,
    postimage: Option<&'a LogRow>,
    time_us: Option<i64>,
    id: Option<String>,
    position: Option<String>,
    complete_until_us: Option<i64>,
    is_logged: Option<bool>,
    error: Option<(&'a str, Option<u16>)>,
}

/// A file in the making.
pub(crate) struct File {
    log: Log,
    /// The types of the log's columns.
    types: HashMap<String, DataType>,
    schema: String,
    codec: Codec,
    sync: [u8; SYNC_BYTES],
    has_begun: bool,
    /// Records of the next block, and how many.
    records: Vec<u8>,
    count: i64,
}

impl File {
    /// A file of a table's changes, as the table is in this schema.
    pub(crate) fn new(schema: &Schema, log: &Log, codec: Codec) -> Result<Self, FeedError> {
        let types = types_of(schema, log)?;
        let said = schema::of(log, &types).to_string();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let sync = (now ^ u128::from(log.id) << 64).to_le_bytes();
        Ok(Self { log: log.clone(), types, schema: said, codec, sync, has_begun: false, records: Vec::new(), count: 0 })
    }

    /// Whether it can tell changes of the table as it is in this schema.
    pub(crate) fn fits(&self, schema: &Schema, log: &Log) -> Result<bool, FeedError> {
        let names = |log: &Log| (log.partition.clone(), log.clustering.clone(), log.values.clone());
        Ok(names(log) == names(&self.log) && types_of(schema, log)? == self.types)
    }

    /// Adds a change, and appends a block if it is full.
    pub(crate) fn change(&mut self, change: &Change, out: &mut Vec<u8>) -> Result<(), FeedError> {
        let operation = match change.kind {
            Kind::Insert => Operation::Insert,
            Kind::Update => Operation::Update,
            Kind::DeleteRow => Operation::DeleteRow,
            Kind::DeletePartition => Operation::DeletePartition,
            Kind::DeleteRange { .. } => Operation::DeleteRange,
        };
        let told = Told {
            ttl_s: change.row.ttl_s(),
            preimage: change.preimage.as_ref(),
            postimage: change.postimage.as_ref(),
            time_us: Some(change.time.time_us()),
            id: Some(change.id()),
            position: Some(Mark::from(change.position).to_string()),
            ..Told::default()
        };
        self.record(operation, Some(change), &told)?;
        if self.records.len() >= BLOCK_BYTES {
            self.block(out);
        }
        Ok(())
    }

    /// Appends how far the feed has come, after all changes before.
    pub(crate) fn mark(&mut self, mark: &Mark, complete_until_us: i64, is_logged: bool, out: &mut Vec<u8>) -> Result<(), FeedError> {
        let told = Told {
            position: Some(mark.to_string()),
            complete_until_us: Some(complete_until_us),
            is_logged: Some(is_logged),
            ..Told::default()
        };
        self.record(Operation::Mark, None, &told)?;
        self.block(out);
        Ok(())
    }

    /// Appends why the feed has failed.
    pub(crate) fn failure(&mut self, text: &str, code: Option<u16>, out: &mut Vec<u8>) {
        // Nothing of the table is in it.
        let _ = self.record(Operation::Failure, None, &Told { error: Some((text, code)), ..Told::default() });
        self.block(out);
    }

    /// Appends what was added since the last block.
    pub(crate) fn block(&mut self, out: &mut Vec<u8>) {
        if !self.has_begun {
            self.has_begun = true;
            self.head(out);
        }
        if self.count > 0 {
            put_long(self.count, out);
            put_bytes(&self.codec.encode(std::mem::take(&mut self.records)), out);
            out.extend_from_slice(&self.sync);
            self.count = 0;
        }
    }

    fn head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(MAGIC);
        let table = format!("{}.{}", self.log.keyspace, self.log.table);
        let entries = [("avro.schema", &*self.schema), ("avro.codec", self.codec.name()), ("tarndb.table", &table)];
        put_long(entries.len() as i64, out);
        for (name, text) in entries {
            put_text(name, out);
            put_text(text, out);
        }
        put_long(0, out);
        out.extend_from_slice(&self.sync);
    }

    /// A record: the fields of [`schema::of`], in their order.
    fn record(&mut self, operation: Operation, change: Option<&Change>, told: &Told<'_>) -> Result<(), FeedError> {
        let mut records = std::mem::take(&mut self.records);
        let out = &mut records;
        let before = out.len();
        put_long(operation as i64, out);
        let written = self.change_fields(change, out).and_then(|()| {
            option(told.ttl_s, out, put_long);
            self.image(told.preimage, out)?;
            self.image(told.postimage, out)
        });
        option(told.time_us, out, put_long);
        option(told.id.as_deref(), out, put_text);
        option(told.position.as_deref(), out, put_text);
        option(told.complete_until_us, out, put_long);
        option(told.is_logged, out, |is_logged, out| out.push(u8::from(is_logged)));
        option(told.error.map(|(text, _)| text), out, put_text);
        option(told.error.and_then(|(_, code)| code), out, |code, out| put_long(i64::from(code), out));
        if written.is_err() {
            records.truncate(before);
        } else {
            self.count += 1;
        }
        self.records = records;
        written
    }

    /// `key`, `from`, `to`, `columns`, `deleted` and `removed`.
    fn change_fields(&self, change: Option<&Change>, out: &mut Vec<u8>) -> Result<(), FeedError> {
        let Log { partition, clustering, values, .. } = &self.log;
        let Some(Change { kind, row, .. }) = change else {
            // Nulls, and a list without elements.
            out.extend_from_slice(&[0; 6]);
            return Ok(());
        };
        put_long(1, out);
        self.columns(row, partition, out)?;
        match kind {
            Kind::DeleteRange { with_first, to, with_last } => {
                clustering.iter().for_each(|_| put_long(0, out));
                for (row, inclusive) in [(row, *with_first), (&**to, *with_last)] {
                    put_long(1, out);
                    self.columns(row, clustering, out)?;
                    out.push(u8::from(inclusive));
                }
            }
            _ => {
                self.columns(row, clustering, out)?;
                out.extend_from_slice(&[0; 2]);
            }
        }
        if !matches!(kind, Kind::Insert | Kind::Update) {
            out.extend_from_slice(&[0; 3]);
            return Ok(());
        }
        self.image(Some(row), out)?;
        for name in values.iter().filter(|name| row.deletes(name)) {
            put_long(1, out);
            put_text(name, out);
        }
        put_long(0, out);
        put_long(1, out);
        for name in values {
            let deleted = deleted_elements_name(name);
            if self.types.contains_key(&deleted) {
                self.value(&deleted, row.deleted_elements(name), out)?;
            }
        }
        Ok(())
    }

    /// A row of all columns but those of the key, if there is one.
    fn image(&self, row: Option<&LogRow>, out: &mut Vec<u8>) -> Result<(), FeedError> {
        let Some(row) = row else {
            put_long(0, out);
            return Ok(());
        };
        put_long(1, out);
        self.columns(row, &self.log.values, out)
    }

    fn columns(&self, row: &LogRow, names: &[String], out: &mut Vec<u8>) -> Result<(), FeedError> {
        names.iter().try_for_each(|name| self.value(name, row.value(name), out))
    }

    fn value(&self, name: &str, value: Option<(&DataType, &[u8])>, out: &mut Vec<u8>) -> Result<(), FeedError> {
        match value {
            None => put_long(0, out),
            Some((data_type, wire)) if self.types.get(name).is_some_and(|known| is_same(known, data_type)) => {
                value::put(data_type, Some(wire), out)
            }
            Some(_) => return Err(FeedError::Strange("a column has another type than it had when this answer began: ask again")),
        }
        Ok(())
    }
}

fn types_of(schema: &Schema, log: &Log) -> Result<HashMap<String, DataType>, FeedError> {
    let Log { keyspace, table, .. } = log;
    let names = || (keyspace.clone(), table.clone());
    let found = schema.keyspaces.get(keyspace).and_then(|keyspace| log_of(keyspace, keyspace.tables.get(table)?));
    let found = found.ok_or_else(|| {
        let (keyspace, table) = names();
        FeedError::NoLog { keyspace, table }
    })?;
    Ok(found.columns.iter().map(|column| (column.name.clone(), column.data_type.clone())).collect())
}

/// Whether two types are the same but for what is frozen, which results do not say.
fn is_same(one: &DataType, other: &DataType) -> bool {
    match (one, other) {
        (DataType::List(one, _), DataType::List(other, _)) | (DataType::Set(one, _), DataType::Set(other, _)) => is_same(one, other),
        (DataType::Map(key, value, _), DataType::Map(other_key, other_value, _)) => is_same(key, other_key) && is_same(value, other_value),
        (DataType::Vector(one, dimension), DataType::Vector(other, other_dimension)) => dimension == other_dimension && is_same(one, other),
        (DataType::Tuple(one), DataType::Tuple(other)) => {
            one.len() == other.len() && one.iter().zip(&**other).all(|(one, other)| is_same(one, other))
        }
        (DataType::Udt(one, _), DataType::Udt(other, _)) => {
            let mut pairs = one.fields.iter().zip(&other.fields);
            one.fields.len() == other.fields.len()
                && pairs.all(|((name, one), (other_name, other))| name == other_name && is_same(one, other))
        }
        _ => one == other,
    }
}

/// A value of a union of null and something.
fn option<T>(value: Option<T>, out: &mut Vec<u8>, put: impl FnOnce(T, &mut Vec<u8>)) {
    put_long(i64::from(value.is_some()), out);
    if let Some(value) = value {
        put(value, out);
    }
}
