//! A bounded piece of a select on one shard: visits rows from a cursor on and gives the values of those that match.
//!
//! | bytes | reply |
//! |---|---|
//! | 4 | number of rows |
//! | 1 | how it ended: [`End`] |
//! | 4 | length of the rows |
//! | … | rows: with `keyed` the partition and clustering key (2 + n each), then for each source a `[bytes]` |
//! | … | where it ended: a [`Cursor`] |
//!
//! A chunk ends after [`VISITED_ROWS_MAX`] rows or [`VISITED_BYTES_MAX`] bytes whether it gave any or not, so that other requests on the
//! shard do not wait for it; and where a row is not in memory, if it got anywhere.
//!
//! Invariant: the cursor lies after the last row that was given and before the next one there is, so a chunk from there on neither loses nor
//! repeats a row.

use super::super::keys::KeyRange;
use super::super::rows::{Components, Cover, Found, HIDES_NOTHING, RowValues};
use super::filter::BoundFilter;
use super::{Cursor, Place};
use crate::plan::Select;
use crate::wire::writer::{write_byte, write_int, write_short_bytes};
use crate::wire::{Reader, WireError};
use base::Token;
use model::operation::{
    Context, Direction, FIRST_ROW_BYTE, Operation, PartitionKey, Position, RANGE_DELETION_PREFIX, RowStore, ScannedRow, Stop, Visit,
    WriteSet,
};
use std::sync::Arc;

/// A chunk visits about this many rows at most.
const VISITED_ROWS_MAX: u32 = 512;

/// A chunk visits, and gives, about this many bytes at most.
const VISITED_BYTES_MAX: usize = 1 << 20;

const HEADER_BYTES: usize = 9;

/// What all chunks of a select have in common.
pub(in crate::exec) struct FetchPlan {
    /// The statement.
    pub(in crate::exec) plan: Arc<Select>,
    /// The clustering keys asked for, ascending, when partitions are read; a scan of the table filters instead.
    pub(in crate::exec) ranges: Vec<KeyRange>,
    /// What rows must match.
    pub(in crate::exec) filters: Vec<BoundFilter>,
    /// Rows a partition gives at most.
    pub(in crate::exec) per_partition: u32,
    /// The time that expiry goes by.
    pub(in crate::exec) now_s: u32,
    /// Whether rows come with their keys.
    pub(in crate::exec) keyed: bool,
}

/// What a chunk looks through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) enum Extent {
    /// The partition that the cursor names.
    Partition,
    /// All partitions from the cursor to this token, which one shard owns.
    Ring {
        /// The last token.
        until: Token,
    },
}

/// A chunk to run.
pub(in crate::exec) struct Chunk {
    /// What is common.
    pub(in crate::exec) fetch: Arc<FetchPlan>,
    /// What it looks through.
    pub(in crate::exec) extent: Extent,
    /// Where it starts.
    pub(in crate::exec) cursor: Cursor,
    /// How many rows it gives at most.
    pub(in crate::exec) rows_max: u32,
    /// Whether, having given them, it looks for one more.
    pub(in crate::exec) peek: bool,
}

/// How a chunk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) enum End {
    /// There is nothing more in the extent.
    Finished,
    /// There is one more row at least.
    More,
    /// It stopped early; there may be more.
    Early,
}

/// What a chunk gave.
#[derive(Debug)]
pub(in crate::exec) struct Gathered<'a> {
    /// How many rows.
    pub(in crate::exec) row_count: u32,
    /// How it ended.
    pub(in crate::exec) end: End,
    /// The rows.
    pub(in crate::exec) rows: &'a [u8],
    /// Where it ended.
    pub(in crate::exec) cursor: Cursor,
}

impl<'a> Gathered<'a> {
    /// Reads a chunk's reply.
    ///
    /// # Errors
    /// Only for bytes that are not one.
    pub(in crate::exec) fn read(reply: &'a [u8]) -> Result<Option<Self>, WireError> {
        let mut reader = Reader::new(reply);
        let row_count = reader.int()?.cast_unsigned();
        let end = match reader.byte()? {
            0 => End::Finished,
            1 => End::More,
            _ => End::Early,
        };
        let rows = reader.bytes()?.unwrap_or_default();
        Ok(Cursor::read(&mut reader)?.map(|cursor| Self { row_count, end, rows, cursor }))
    }
}

impl Operation for Chunk {
    fn run(&self, _: &Context, store: &dyn RowStore, _: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let start = reply.len();
        reply.extend_from_slice(&[0; HEADER_BYTES]);
        let mut gather = Gather::new(self, reply);
        let outcome = match self.extent {
            Extent::Partition => gather.partition(store),
            Extent::Ring { until } => gather.ring(store, until),
        };
        match outcome {
            Err(Stop::Miss) if gather.advanced => gather.end = Some(End::Early),
            Err(stop) => return Err(stop),
            Ok(()) => {}
        }
        let (end, row_count, cursor) = (gather.end.unwrap_or(End::Finished), gather.given, gather.cursor);
        let mut header = Vec::with_capacity(HEADER_BYTES);
        write_int(&mut header, row_count.cast_signed());
        write_byte(&mut header, end as u8);
        write_int(&mut header, (reply.len() - start - HEADER_BYTES) as i32);
        reply[start..start + HEADER_BYTES].copy_from_slice(&header);
        cursor.write(reply);
        Ok(())
    }
}

/// The state of a running chunk.
struct Gather<'a> {
    chunk: &'a Chunk,
    fetch: &'a FetchPlan,
    plan: &'a Select,
    out: &'a mut Vec<u8>,
    out_start: usize,
    /// Whether the values of static columns are read.
    reads_static: bool,
    /// How many rows were given.
    given: u32,
    visited: u32,
    visited_bytes: usize,
    /// Whether the cursor moved, so that ending here is progress.
    advanced: bool,
    /// After the last row that was looked at.
    cursor: Cursor,
    /// Whether the cursor's partition has been entered: its deletions and static row are known.
    entered: bool,
    cover: Cover,
    static_row: Vec<u8>,
    components: Components,
    scratch: Vec<u8>,
    /// Why it stops; `None` while it goes on, and at the end of the extent.
    end: Option<End>,
}

impl<'a> Gather<'a> {
    fn new(chunk: &'a Chunk, out: &'a mut Vec<u8>) -> Self {
        Self {
            chunk,
            fetch: &chunk.fetch,
            plan: &chunk.fetch.plan,
            out_start: out.len(),
            out,
            reads_static: chunk.fetch.plan.cells.iter().any(|cell| cell.is_static),
            given: 0,
            visited: 0,
            visited_bytes: 0,
            advanced: false,
            cursor: chunk.cursor.clone(),
            entered: false,
            cover: Cover::default(),
            static_row: Vec::new(),
            components: Components::default(),
            scratch: Vec::new(),
            end: None,
        }
    }

    /// Looks through the cursor's partition.
    fn partition(&mut self, store: &dyn RowStore) -> Result<(), Stop> {
        let after_only_row = self.plan.table.clustering_len == 0 && self.cursor.place != Place::Start;
        if self.cursor.place == Place::End || after_only_row || self.stop_before_more() {
            return Ok(());
        }
        let (key, token) = (self.cursor.partition.clone(), self.cursor.token);
        let partition = PartitionKey { table: self.plan.table.id, token, bytes: &key };
        if self.plan.table.clustering_len == 0 {
            self.entered = true;
            if let Some(row) = store.get(&partition, &[])?
                && self.row(&[], row) == Visit::Stop
            {
                return Ok(());
            }
            self.leave();
            return Ok(());
        }
        self.enter(store, &partition)?;
        if self.gives_one_static_row() {
            return Ok(());
        }
        let resume = match &self.cursor.place {
            Place::After(clustering) => Some(clustering.clone()),
            _ => None,
        };
        let fetch = self.fetch;
        let count = fetch.ranges.len();
        for index in 0..count {
            let range = &fetch.ranges[if self.plan.reversed { count - 1 - index } else { index }];
            if self.range(store, &partition, range, resume.as_deref())? == Visit::Stop {
                return Ok(());
            }
        }
        self.leave();
        Ok(())
    }

    /// Looks through one range of clustering keys, as far as it lies after `resume`.
    fn range(
        &mut self,
        store: &dyn RowStore,
        partition: &PartitionKey<'_>,
        range: &KeyRange,
        resume: Option<&[u8]>,
    ) -> Result<Visit, Stop> {
        let reversed = self.plan.reversed;
        let (mut from, mut to) = (range.from.as_slice(), range.to.as_deref());
        let after;
        match resume {
            Some(resume) if reversed => to = Some(to.map_or(resume, |to| to.min(resume))),
            Some(resume) => {
                after = [resume, &[0]].concat();
                from = from.max(&after);
            }
            None => {}
        }
        if to.is_some_and(|to| to <= from) {
            return Ok(Visit::Continue);
        }
        if range.single {
            let row = store.get(partition, from)?;
            return Ok(match row {
                Some(row) => self.row(from, row),
                None => self.pass(from, 0),
            });
        }
        let direction = if reversed { Direction::Reverse } else { Direction::Forward };
        let mut last = Visit::Continue;
        store.scan(partition, from, to, direction, &mut |clustering, row| {
            last = self.row(clustering, row);
            last
        })?;
        Ok(last)
    }

    /// Looks through partitions up to `until`.
    fn ring(&mut self, store: &dyn RowStore, until: Token) -> Result<(), Stop> {
        let table = self.plan.table.id;
        if let Place::After(_) = self.cursor.place
            && self.plan.table.clustering_len > 0
        {
            let key = self.cursor.partition.clone();
            self.enter(store, &PartitionKey { table, token: self.cursor.token, bytes: &key })?;
        }
        loop {
            if self.stop_before_more() {
                return Ok(());
            }
            let mut partition = self.cursor.partition.clone();
            let mut clustering = Vec::new();
            match &self.cursor.place {
                Place::Start => {}
                Place::After(key) => {
                    clustering.extend_from_slice(key);
                    clustering.push(0);
                }
                // The next key there can be.
                Place::End => partition.push(0),
            }
            let from = Position { token: self.cursor.token, partition: &partition, clustering: &clustering };
            let mut last = Visit::Continue;
            store.scan_table(table, from, until, &mut |scanned| {
                last = self.scanned(&scanned);
                last
            })?;
            if last == Visit::Continue {
                // The last partition ends with the scan.
                self.leave();
                return Ok(());
            }
            if self.end.is_some() {
                return Ok(());
            }
            // The rest of this partition is of no interest.
            self.cursor.place = Place::End;
        }
    }

    fn scanned(&mut self, scanned: &ScannedRow<'_>) -> Visit {
        let PartitionKey { token, bytes, .. } = scanned.partition;
        let same = self.entered && self.cursor.token == token && self.cursor.partition == bytes;
        if !same {
            self.leave();
            if self.end.is_some() || self.stop_before_more() {
                return Visit::Stop;
            }
            self.cursor = Cursor::start(token, bytes.to_vec());
            self.entered = true;
            self.cover.clear();
            self.static_row.clear();
        }
        if self.plan.table.clustering_len == 0 {
            return self.row(&[], scanned.row);
        }
        match scanned.clustering.first() {
            Some(first) if *first >= FIRST_ROW_BYTE => self.row(scanned.clustering, scanned.row),
            _ => {
                self.note(scanned.clustering, scanned.row);
                // The deletions of ranges that follow do not matter to static columns.
                if self.gives_one_static_row() { Visit::Stop } else { Visit::Continue }
            }
        }
    }

    /// Whether this is a DISTINCT and the partition's static columns are enough of a row.
    fn gives_one_static_row(&mut self) -> bool {
        if !self.plan.distinct || self.static_row.is_empty() || self.cursor.given > 0 {
            return false;
        }
        let live = Found::new(self.plan).take(self.plan, &self.static_row, HIDES_NOTHING, self.fetch.now_s);
        if live {
            self.leave();
        }
        live
    }

    /// Reads what is about the whole partition.
    fn enter(&mut self, store: &dyn RowStore, partition: &PartitionKey<'_>) -> Result<(), Stop> {
        self.cover.clear();
        self.static_row.clear();
        store.scan(partition, &[], Some(&[RANGE_DELETION_PREFIX + 1]), Direction::Forward, &mut |clustering, row| {
            self.note(clustering, row);
            Visit::Continue
        })?;
        self.entered = true;
        Ok(())
    }

    /// Notes the partition's own row or the deletion of a range.
    fn note(&mut self, clustering: &[u8], row: &[u8]) {
        self.visited_bytes += row.len();
        if clustering.is_empty() {
            self.cover.note_partition(row);
            self.static_row.extend_from_slice(row);
        } else {
            self.cover.note_range(clustering, row);
        }
    }

    /// Looks at a row of the entered partition.
    fn row(&mut self, clustering: &[u8], row: &[u8]) -> Visit {
        let hidden_until = self.cover.hidden_until(clustering);
        if self.give(Some((clustering, row, hidden_until))) == Visit::Stop {
            return Visit::Stop;
        }
        self.pass(clustering, row.len())
    }

    /// Moves the cursor behind a row and says whether to go on.
    fn pass(&mut self, clustering: &[u8], bytes: usize) -> Visit {
        self.visited += 1;
        self.visited_bytes += bytes;
        self.advanced = true;
        if self.cursor.given >= self.fetch.per_partition {
            self.cursor.place = Place::End;
            return Visit::Stop;
        }
        match &mut self.cursor.place {
            Place::After(key) => {
                key.clear();
                key.extend_from_slice(clustering);
            }
            place => *place = Place::After(clustering.to_vec()),
        }
        if self.stop_before_more() { Visit::Stop } else { Visit::Continue }
    }

    /// Ends the partition: if it gave nothing, its static columns alone may be a row.
    fn leave(&mut self) {
        if !self.entered {
            return;
        }
        let gave_none = self.cursor.place != Place::End && self.cursor.given == 0;
        if gave_none && self.plan.static_only_rows && !self.static_row.is_empty() && self.give(None) == Visit::Stop {
            return;
        }
        self.visited += 1;
        self.advanced = true;
        self.cursor.place = Place::End;
        self.entered = false;
    }

    /// Whether the chunk has done enough before it looks at anything else.
    fn stop_before_more(&mut self) -> bool {
        let full = self.given == self.chunk.rows_max && !self.chunk.peek;
        let bytes = self.visited_bytes + (self.out.len() - self.out_start);
        let long = self.visited >= VISITED_ROWS_MAX || bytes >= VISITED_BYTES_MAX;
        if full || (long && self.advanced) {
            self.end = Some(End::Early);
        }
        self.end.is_some()
    }

    /// Gives a row (as clustering key, bytes and what a deletion hides of it), or the partition's static columns alone, if it lives and
    /// matches. Stops, with nothing changed, if there is a row to give and no room.
    fn give(&mut self, row: Option<(&[u8], &[u8], i64)>) -> Visit {
        let (plan, now_s) = (self.plan, self.fetch.now_s);
        let mut found = Found::new(plan);
        let wants_static = (self.reads_static || row.is_none()) && !self.static_row.is_empty();
        let static_live = wants_static && found.take(plan, &self.static_row, HIDES_NOTHING, now_s);
        let (clustering, hidden_until) = match row {
            Some((clustering, row, hidden_until)) => {
                if !found.take(plan, row, hidden_until, now_s) {
                    return Visit::Continue;
                }
                self.components.decode(&plan.table, clustering, plan.clustering_read);
                (Some(clustering), hidden_until)
            }
            None if !static_live => return Visit::Continue,
            None => {
                self.components.clear();
                (None, HIDES_NOTHING)
            }
        };
        let values =
            RowValues { plan, partition: &self.cursor.partition, components: &self.components, cells: found.cells(), hidden_until, now_s };
        let scratch = &mut self.scratch;
        if !self.fetch.filters.iter().all(|filter| filter.matches(&values, scratch)) {
            return Visit::Continue;
        }
        if self.given == self.chunk.rows_max {
            self.end = Some(End::More);
            return Visit::Stop;
        }
        if self.fetch.keyed {
            write_short_bytes(self.out, &self.cursor.partition);
            write_short_bytes(self.out, clustering.unwrap_or_default());
        }
        for source in &plan.sources {
            values.write(*source, self.out);
        }
        self.given += 1;
        self.cursor.given += 1;
        Visit::Continue
    }
}
