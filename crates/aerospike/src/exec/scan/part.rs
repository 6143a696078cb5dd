//! A bounded piece of a scan on one shard.
//!
//! | bytes | reply |
//! |---|---|
//! | 1 | 1 if there may be more, 2 if it failed |
//! | 20 | the last record that was given or looked at, if there may be more; in the first byte the result code, if it failed |
//! | 8 | when it ran, in microseconds of the monotonic clock |
//! | 4 | number of records |
//! | … | their messages, or what `rows::Gives` says |
//!
//! Every table is looked through for itself, up to a number of rows or bytes, or to a row that is not in memory. What lies behind the place
//! that all tables reached is dropped and found again by the next part: so records come in order.

use super::super::batch::OF_SEARCH;
use super::by_index::ByIndex;
use super::piece::Piece;
use super::rows::{Digest, Gives, Messages, Place, Rows, Target};
use super::slice;
use crate::ResultCode;
use crate::expression;
use base::Token;
use model::operation::{Context, Operation, RowStore, Stop, WriteSet};
use model::record_set::DIGEST_BYTES;
use std::sync::Arc;

const HEADER_BYTES: usize = 1 + DIGEST_BYTES + 8 + 4;

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
}

impl Operation for ScanPart {
    fn run(&self, context: &Context, store: &dyn RowStore, _: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let (mut found, mut reached): (Messages, Option<Place>) = (Vec::new(), None);
        let condition = self.target.condition.as_deref();
        let condition = condition.map(|condition| expression::Filter::parse(condition).expect("the condition was read before"));
        for set in &self.target.tables {
            // Others may have declared and written bins since the part was made.
            let table = store.record_set(set.table.id).unwrap_or(&set.table);
            let records = table.records.as_ref().ok_or(Stop::UnknownTable)?;
            let (target, records_max, condition) = (&*self.target, self.records_max as usize, condition.as_ref());
            let rows = Rows { target, records_max, set, records, condition, context, store };
            let look = match &target.filter {
                Some(filter) => ByIndex { rows, table, filter }.look(&self.piece, &mut found),
                None => rows.look(&self.piece, &mut found),
            };
            let look = match look {
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
        match &self.target.gives {
            Gives::Stream(call) => slice::run(call, found.iter().map(|(_, found)| found.as_slice()), context.timestamp_us / 1_000, reply),
            _ => found.iter().for_each(|(_, message)| reply.extend_from_slice(message)),
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
        if matches!(self.target.gives, Gives::Places) {
            out.push(OF_SEARCH);
        }
        out.extend_from_slice(&self.piece.from.biased().to_be_bytes());
        out.extend_from_slice(&self.piece.until.biased().to_be_bytes());
        out.extend_from_slice(&self.records_max.to_be_bytes());
        out.extend_from_slice(self.piece.after.as_ref().map_or(&[], |digest| digest.as_slice()));
        true
    }
}
