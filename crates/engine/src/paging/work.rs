//! Pages that are being made: drafts without a place, in buffers that are used again and again, and the headers of their records.

use crate::format::page::{Made, PageBuilder};
use crate::format::record::{self, FLAG_CONTINUES, FLAG_PAGE, FLAG_PURGE, FLAG_STARTS, Fields};
use crate::index::Candidate;
use crate::key::Kind;
use base::Compression;
use std::ops::Range;

/// The purge time of a page without rows: it goes as soon as nothing older can be left.
const EMPTY_PURGE_S: i64 = i64::MIN;

/// Buffers that are used again and again.
pub(super) struct Work {
    pub(super) builder: PageBuilder,
    /// The key of the row that came last.
    pub(super) last_key: Vec<u8>,
    pub(super) payloads: Vec<u8>,
    pub(super) group: Vec<u8>,
    pub(super) drafts: Vec<Draft>,
}

/// A page without a place.
pub(super) struct Draft {
    pub(super) low: Box<[u8]>,
    pub(super) high: Box<[u8]>,
    pub(super) payload: Range<usize>,
    pub(super) made: Made,
}

impl Work {
    pub(super) fn new() -> Self {
        Self { builder: PageBuilder::new(), last_key: Vec::new(), payloads: Vec::new(), group: Vec::new(), drafts: Vec::new() }
    }

    /// Empties it for pages with this compression.
    pub(super) fn clear(&mut self, compression: Compression) {
        self.builder.clear();
        self.builder.set_compression(compression);
        self.payloads.clear();
        self.group.clear();
        self.drafts.clear();
    }

    /// Memory of buffers.
    pub(super) fn bytes(&self) -> usize {
        self.builder.heap_bytes() + self.last_key.capacity() + self.payloads.capacity() + self.group.capacity()
    }

    /// Ends the page that is being built.
    pub(super) fn end_draft(&mut self, low: Box<[u8]>, high: Box<[u8]>) {
        let start = self.payloads.len();
        let made = self.builder.finish(0, &high, &mut self.payloads);
        self.drafts.push(Draft { low, high, payload: start..self.payloads.len(), made });
    }
}

impl Draft {
    pub(super) fn purge_after_s(&self) -> Option<i64> {
        if self.made.rows == 0 { Some(EMPTY_PURGE_S) } else { self.made.purge_after_s }
    }
}

/// A page's place in its group.
#[derive(Clone, Copy)]
pub(super) struct PageFlags {
    pub(super) first: bool,
    pub(super) last: bool,
}

/// Appends the header of a page's record, its partition key and its lower bound.
pub(super) fn push_page_header(
    out: &mut Vec<u8>,
    name: &Candidate,
    place: PageFlags,
    purge_after_s: Option<i64>,
    (partition, low): (&[u8], &[u8]),
    length: usize,
) {
    let flag = |flag: u8, is_set: bool| if is_set { flag } else { 0 };
    let flags = FLAG_PAGE | flag(FLAG_STARTS, place.first) | flag(FLAG_CONTINUES, !place.last) | flag(FLAG_PURGE, purge_after_s.is_some());
    let kind = purge_after_s.map_or(Kind::Live, |purge_after_s| Kind::Expiring { purge_after_s });
    let (partition_bytes, clustering_bytes) = (partition.len() as u16, low.len() as u16);
    let fields = Fields { length, flags, token: name.token, table: name.table, partition_bytes, clustering_bytes };
    record::push_header(out, &fields, kind);
    out.extend_from_slice(partition);
    out.extend_from_slice(low);
}
