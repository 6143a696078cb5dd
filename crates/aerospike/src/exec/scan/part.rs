//! A bounded piece of a scan on one shard.
//!
//! | bytes | reply |
//! |---|---|
//! | 1 | 1 if there may be more, 2 if it failed |
//! | 20 | the last record that was given or looked at, if there may be more; in the first byte the result code, if it failed |
//! | 8 | when it ran, in microseconds of the monotonic clock |
//! | 4 | number of records |
//! | … | their messages |
//!
//! Every table is looked through for itself, up to a number of rows or bytes, or to a row that is not in memory. What lies behind the place
//! that all tables reached is dropped and found again by the next part: so records come in order.

use super::super::target::dictionary;
use super::piece::Piece;
use crate::ResultCode;
use crate::expression::{Filter, Subject};
use crate::record::{Known, Record, void_time};
use crate::wire::{MessageWriter, field};
use base::Token;
use model::Table;
use model::operation::{Context, Operation, Position, RowStore, ScannedRow, Stop, Visit, WriteSet};
use model::record_set::{DIGEST_BYTES, RecordSet};
use std::sync::Arc;

/// How much a part looks at, in all tables together.
const VISITED_ROWS_MAX: usize = 512;
const VISITED_BYTES_MAX: usize = 1 << 20;

/// How many rows of a table a part may look at in any case.
const TABLE_ROWS_MIN: usize = 8;

/// What a row costs besides its bytes, when most are not given.
const ROW_BYTES: usize = 64;

const HEADER_BYTES: usize = 1 + DIGEST_BYTES + 8 + 4;

type Digest = [u8; DIGEST_BYTES];

/// What all parts of a scan have in common.
pub(super) struct Target {
    pub(super) namespace: String,
    pub(super) tables: Vec<Set>,
    /// The bins that are wanted; empty for all.
    pub(super) bins: Vec<Vec<u8>>,
    pub(super) no_bins: bool,
    /// What records have to meet.
    pub(super) filter: Option<Box<[u8]>>,
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

pub(super) struct ScanPart {
    target: Arc<Target>,
    piece: Piece,
    records_max: u32,
}

/// How a part ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// There may be more behind this record.
    More(Digest),
    Done,
    Failed(ResultCode),
}

/// What a part found.
pub(super) struct Found<'a> {
    pub(super) end: End,
    pub(super) now_us: u64,
    pub(super) records: u32,
    pub(super) messages: &'a [u8],
}

impl<'a> Found<'a> {
    pub(super) fn read(reply: &'a [u8]) -> Option<Self> {
        let ([more], rest) = reply.split_first_chunk::<1>()?;
        let (last, rest) = rest.split_first_chunk::<DIGEST_BYTES>()?;
        let (now_us, rest) = rest.split_first_chunk::<8>()?;
        let (records, messages) = rest.split_first_chunk::<4>()?;
        let end = match more {
            0 => End::Done,
            1 => End::More(*last),
            _ => End::Failed(ResultCode(last[0])),
        };
        Some(Self { end, now_us: u64::from_be_bytes(*now_us), records: u32::from_be_bytes(*records), messages })
    }

    /// The reply of a part that has found nothing.
    pub(super) fn failed(code: ResultCode) -> Vec<u8> {
        let mut reply = vec![0; HEADER_BYTES];
        (reply[0], reply[1]) = (2, code.0);
        reply
    }
}

/// A row's place in the order of the scan.
type Place = (Token, Digest);

/// What looking through one table came to.
struct Look {
    /// The last row that was looked at, if there may be more.
    reached: Option<Place>,
}

impl ScanPart {
    pub(super) fn new(target: &Arc<Target>, piece: Piece, records_max: u32) -> Self {
        Self { target: Arc::clone(target), piece, records_max }
    }

    /// Reads what [`Operation::describe`] wrote.
    pub(super) fn of_description(target: &Arc<Target>, description: &[u8]) -> Option<Self> {
        let (from, rest) = description.split_first_chunk::<8>()?;
        let (until, rest) = rest.split_first_chunk::<8>()?;
        let (records_max, rest) = rest.split_first_chunk::<4>()?;
        let after = if rest.is_empty() { None } else { Some(rest.try_into().ok()?) };
        let token = |bytes: &[u8; 8]| Token::from_biased(u64::from_be_bytes(*bytes));
        let piece = Piece { from: token(from), after, until: token(until) };
        (piece.from <= piece.until).then(|| Self::new(target, piece, u32::from_be_bytes(*records_max)))
    }

    fn look(
        &self,
        set: &Set,
        records: &RecordSet,
        context: &Context,
        store: &dyn RowStore,
        found: &mut Vec<(Place, Vec<u8>)>,
    ) -> Result<Look, Stop> {
        let now_s = context.now_s();
        let filter = self.target.filter.as_deref().map(|filter| Filter::parse(filter).expect("the filter was read before"));
        let meets = |record: &Record<'_>, digest: &Digest| {
            let accepts =
                |filter: &Filter<'_>| filter.accepts(&Subject::of_record(record, &Known(record, records), &set.name, digest, context));
            filter.as_ref().is_none_or(accepts)
        };
        let tables = self.target.tables.len();
        let (rows_max, bytes_max) = ((VISITED_ROWS_MAX / tables).max(TABLE_ROWS_MIN), VISITED_BYTES_MAX / tables);
        let (mut rows, mut bytes, mut last, mut stopped) = (0, 0, None, false);
        let from = Position {
            token: self.piece.from,
            partition: self.piece.after.as_ref().map_or(&[], |digest| digest.as_slice()),
            clustering: &[],
        };
        let outcome = store.scan_table(set.table.id, from, self.piece.until, &mut |row| {
            let Ok(digest) = Digest::try_from(row.partition.bytes) else { return Visit::Continue };
            if self.piece.after == Some(digest) {
                return Visit::Continue;
            }
            if rows >= rows_max || bytes >= bytes_max {
                stopped = true;
                return Visit::Stop;
            }
            let place = (row.partition.token, digest);
            (rows, bytes, last) = (rows + 1, bytes + row.row.len() + ROW_BYTES, Some(place));
            let record = Record::of_row(row.row, now_s).filter(|record| self.wants(records, record));
            if let Some(record) = record.filter(|record| meets(record, &digest)) {
                found.push((place, self.message(set, records, &row, &record)));
            }
            Visit::Continue
        });
        match outcome {
            Ok(()) => Ok(Look { reached: if stopped { last } else { None } }),
            Err(Stop::Miss) if last.is_some() => Ok(Look { reached: last }),
            Err(stop) => Err(stop),
        }
    }

    /// Whether a record has one of the bins that are wanted.
    fn wants(&self, records: &RecordSet, record: &Record<'_>) -> bool {
        let (target, mut bins) = (&self.target, record.bins(records));
        target.no_bins || target.bins.is_empty() || bins.any(|(bin, _)| target.has_bin(&bin.name))
    }

    fn message(&self, set: &Set, records: &RecordSet, row: &ScannedRow<'_>, record: &Record<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        let mut message = MessageWriter::begin(&mut out);
        message.attributes.generation = u32::from(record.generation);
        message.attributes.ttl = void_time(record.stamp);
        write_names(&mut message, &self.target.namespace, &set.name, row.partition.bytes, &mut out);
        if let Some(key) = record.key {
            let (kind, value) = key.to_wire();
            message.field(&mut out, field::KEY, &kind, value);
        }
        if !self.target.no_bins {
            for (bin, value) in record.bins(records) {
                if self.target.bins.is_empty() || self.target.has_bin(&bin.name) {
                    message.bin(&mut out, bin.name.as_bytes(), bin.kind, value);
                }
            }
        }
        message.end(&mut out, ResultCode::OK);
        out
    }
}

impl Operation for ScanPart {
    fn run(&self, context: &Context, store: &dyn RowStore, _: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let (mut found, mut reached): (Vec<(Place, Vec<u8>)>, Option<Place>) = (Vec::new(), None);
        for set in &self.target.tables {
            let records = dictionary(store, &set.table)?;
            let look = match self.look(set, records, context, store, &mut found) {
                // A set that was dropped while it was scanned has no records.
                Err(Stop::UnknownTable) => continue,
                look => look?,
            };
            reached = match (reached, look.reached) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
        if let Some(reached) = reached {
            found.retain(|(place, _)| *place <= reached);
        }
        found.sort_unstable_by_key(|(place, _)| *place);
        if let Some((place, _)) = self.records_max.checked_sub(1).and_then(|last| found.get(last as usize)) {
            // What the limit cuts off is there still.
            if found.len() > self.records_max as usize {
                reached = Some(*place);
            }
            found.truncate(self.records_max as usize);
        }
        let start = reply.len();
        reply.extend_from_slice(&[0; HEADER_BYTES]);
        for (_, message) in &found {
            reply.extend_from_slice(message);
        }
        let header = &mut reply[start..start + HEADER_BYTES];
        if let Some((_, digest)) = reached {
            header[0] = 1;
            header[1..=DIGEST_BYTES].copy_from_slice(&digest);
        }
        let (now_us, records) = header[1 + DIGEST_BYTES..].split_at_mut(8);
        now_us.copy_from_slice(&context.now.monotonic_us.to_be_bytes());
        records.copy_from_slice(&(found.len() as u32).to_be_bytes());
        Ok(())
    }

    fn describe(&self, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(&self.piece.from.biased().to_be_bytes());
        out.extend_from_slice(&self.piece.until.biased().to_be_bytes());
        out.extend_from_slice(&self.records_max.to_be_bytes());
        out.extend_from_slice(self.piece.after.as_ref().map_or(&[], |digest| digest.as_slice()));
        true
    }
}

/// The fields by which a client knows a record.
fn write_names(message: &mut MessageWriter, namespace: &str, set: &str, digest: &[u8], out: &mut Vec<u8>) {
    message.field(out, field::NAMESPACE, namespace.as_bytes(), &[]);
    if !set.is_empty() {
        message.field(out, field::SET, set.as_bytes(), &[]);
    }
    message.field(out, field::DIGEST, digest, &[]);
}
