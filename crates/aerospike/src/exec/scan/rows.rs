//! The records of one table that a part gives, row by row.

use super::piece::Piece;
use super::slice;
use crate::ResultCode;
use crate::expression::{self, Subject};
use crate::index::Filter;
use crate::record::{Known, Record, void_time};
use crate::udf::StreamCall;
use crate::wire::{MessageWriter, field};
use base::{TableId, Token};
use model::Table;
use model::operation::{Context, Position, RowStore, Stop, Visit};
use model::record_set::{DIGEST_BYTES, RecordSet};
use std::sync::Arc;

/// How much a part looks at, in all tables together.
pub(super) const VISITED_ROWS_MAX: usize = 512;
pub(super) const VISITED_BYTES_MAX: usize = 1 << 20;

/// How many rows of a table a part may look at in any case.
const TABLE_ROWS_MIN: usize = 8;

/// What a row costs besides its bytes, when most are not given.
const ROW_BYTES: usize = 64;

pub(super) type Digest = [u8; DIGEST_BYTES];

/// What all parts of a scan have in common.
pub(super) struct Target {
    pub(super) namespace: String,
    pub(super) tables: Vec<Set>,
    /// The bins that are wanted; empty for all.
    pub(super) bins: Vec<Vec<u8>>,
    pub(super) no_bins: bool,
    /// What records must have, of a query.
    pub(super) filter: Option<Filter>,
    /// An expression that records have to meet.
    pub(super) condition: Option<Box<[u8]>>,
    pub(super) gives: Gives,
}

/// What parts give of the records that they find.
#[derive(Debug)]
pub(super) enum Gives {
    /// Messages for the client.
    Messages,
    /// Digests and tables, to a job that writes them.
    Places,
    /// What a stream function makes of them.
    Stream(StreamCall),
}

impl Target {
    fn has_bin(&self, name: &str) -> bool {
        self.bins.iter().any(|wanted| wanted == name.as_bytes())
    }
}

/// A table with the name that clients know it by.
pub(super) struct Set {
    pub(super) table: Arc<Table>,
    pub(super) name: String,
}

impl Set {
    pub(super) fn new(table: &Arc<Table>, name: &str) -> Self {
        Self { table: Arc::clone(table), name: name.to_owned() }
    }
}

/// A row's place in the order of the scan.
pub(super) type Place = (Token, Digest);

/// The messages of records that were found, each with its place.
pub(super) type Messages = Vec<(Place, Vec<u8>)>;

/// What looking through one table came to.
pub(super) struct Look {
    /// The last row that was looked at, if there may be more.
    pub(super) reached: Option<Place>,
    /// How many rows were looked at, and their bytes.
    pub(super) rows: usize,
    pub(super) bytes: usize,
}

/// A table that is looked through.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) target: &'a Target,
    /// How many records the part is to give.
    pub(super) records_max: usize,
    pub(super) set: &'a Set,
    pub(super) records: &'a RecordSet,
    /// The target's, read.
    pub(super) condition: Option<&'a expression::Filter<'a>>,
    pub(super) context: &'a Context,
    pub(super) store: &'a dyn RowStore,
}

impl Rows<'_> {
    /// Looks through a piece of one table, row by row.
    pub(super) fn look(&self, piece: &Piece, found: &mut Messages) -> Result<Look, Stop> {
        let tables = self.target.tables.len();
        let (rows_max, bytes_max) = ((VISITED_ROWS_MAX / tables).max(TABLE_ROWS_MIN), VISITED_BYTES_MAX / tables);
        let (mut rows, mut bytes, mut last, mut stopped) = (0, 0, None, false);
        let from = Position { token: piece.from, partition: piece.after.as_ref().map_or(&[], |digest| digest.as_slice()), clustering: &[] };
        let outcome = self.store.scan_table(self.set.table.id, from, piece.until, &mut |row| {
            let Ok(digest) = Digest::try_from(row.partition.bytes) else { return Visit::Continue };
            if piece.after == Some(digest) {
                return Visit::Continue;
            }
            if rows >= rows_max || bytes >= bytes_max {
                stopped = true;
                return Visit::Stop;
            }
            let place = (row.partition.token, digest);
            (rows, bytes, last) = (rows + 1, bytes + row.row.len() + ROW_BYTES, Some(place));
            let record = Record::of_row(row.row, self.context.now_s());
            if let Some(record) = record.filter(|record| self.wants(record, &digest, &mut bytes)) {
                found.push((place, self.message(row.partition.bytes, &record)));
            }
            Visit::Continue
        });
        match outcome {
            Ok(()) => Ok(Look { reached: if stopped { last } else { None }, rows, bytes }),
            Err(Stop::Miss) if last.is_some() => Ok(Look { reached: last, rows, bytes }),
            Err(stop) => Err(stop),
        }
    }

    /// Whether more was found than is to be given.
    pub(super) fn has_enough(&self, found: &Messages) -> bool {
        found.len() > self.records_max
    }

    /// Whether a record has what the query asks for, and one of the bins that are wanted. To `asked_bytes` it adds as many bytes of rows as take as long to
    /// look at.
    pub(super) fn wants(&self, record: &Record<'_>, digest: &Digest, asked_bytes: &mut usize) -> bool {
        let (target, mut bins) = (self.target, record.bins(self.records));
        let has_bin = target.no_bins || target.bins.is_empty() || bins.any(|(bin, _)| target.has_bin(&bin.name));
        if !has_bin || !target.filter.as_ref().is_none_or(|filter| filter.is_met(record, self.records, asked_bytes)) {
            return false;
        }
        let Some(condition) = self.condition else { return true };
        let bins = Known(record, self.records);
        let accepts = condition.accepts(&Subject::of_record(record, &bins, &self.set.name, digest, self.context));
        *asked_bytes += condition.take_spent();
        accepts
    }

    /// What is given of a record.
    pub(super) fn message(&self, digest: &[u8], record: &Record<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        match &self.target.gives {
            Gives::Messages => {}
            Gives::Places => {
                out.extend_from_slice(&self.set.table.id.0.to_be_bytes());
                out.extend_from_slice(digest);
                return out;
            }
            Gives::Stream(_) => {
                let left_s = record.ttl_left_s(self.context.now_s());
                out.extend_from_slice(&slice::head(left_s, record.updated_ms(), record.row_bytes));
            }
        }
        let mut message = MessageWriter::begin(&mut out);
        message.attributes.generation = u32::from(record.generation);
        message.attributes.ttl = void_time(record.stamp);
        write_names(&mut message, &self.target.namespace, &self.set.name, digest, &mut out);
        if let Some(key) = record.key {
            let (kind, value) = key.to_wire();
            message.field(&mut out, field::KEY, &kind, value);
        }
        if !self.target.no_bins {
            for (bin, value) in record.bins(self.records) {
                if self.target.bins.is_empty() || self.target.has_bin(&bin.name) {
                    message.bin(&mut out, bin.name.as_bytes(), bin.kind, value);
                }
            }
        }
        message.end(&mut out, ResultCode::OK);
        out
    }
}

/// The bytes of a place that is given.
const PLACE_BYTES: usize = 4 + DIGEST_BYTES;

/// The places that parts of jobs give.
pub(super) fn read_places(given: &[u8]) -> impl Iterator<Item = (TableId, Digest)> + '_ {
    given.chunks_exact(PLACE_BYTES).filter_map(|place| {
        let (table, digest) = place.split_first_chunk::<4>()?;
        Some((TableId(u32::from_be_bytes(*table)), digest.try_into().ok()?))
    })
}

/// The fields by which a client knows a record.
fn write_names(message: &mut MessageWriter, namespace: &str, set: &str, digest: &[u8], out: &mut Vec<u8>) {
    message.field(out, field::NAMESPACE, namespace.as_bytes(), &[]);
    if !set.is_empty() {
        message.field(out, field::SET, set.as_bytes(), &[]);
    }
    message.field(out, field::DIGEST, digest, &[]);
}
