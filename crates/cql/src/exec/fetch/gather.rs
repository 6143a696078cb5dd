//! Visiting rows for a chunk: partitions are entered (their deletions and static row become known), their rows looked at, and left. [`walk`] comes to them.

mod walk;

use super::chunk::{Chunk, End, FetchPlan};
use super::nearest::Scored;
use super::{Cursor, Place};
use crate::exec::rows::{Components, Cover, Found, HIDES_NOTHING, RowValues, is_dead};
use crate::plan::Select;
use crate::wire::writer::write_short_bytes;
use base::Slot;
use model::operation::{Direction, PartitionKey, RANGE_DELETION_PREFIX, RowStore, Stop, Visit};

/// A chunk begins no partition after it has visited this many rows, and ends within one after twice as many: a partition of so many is read at one time.
const VISITED_ROWS_MAX: u32 = 512;

/// The same for bytes that it has visited or given.
const VISITED_BYTES_MAX: usize = 1 << 20;

/// What a chunk has visited in vain, when it ends before a partition that it has begun, is at most one in so many of its rows.
const IN_VAIN: u32 = 4;

/// The state of a running chunk.
pub(super) struct Gather<'a> {
    pub(super) chunk: &'a Chunk,
    pub(super) fetch: &'a FetchPlan,
    pub(super) plan: &'a Select,
    out: &'a mut Vec<u8>,
    out_start: usize,
    /// Whether the values of static columns are read.
    reads_static: bool,
    /// How many rows were given.
    pub(super) given: u32,
    visited: u32,
    visited_bytes: usize,
    /// Whether the cursor moved, so that ending here is progress.
    pub(super) advanced: bool,
    /// After the last row that was looked at.
    pub(super) cursor: Cursor,
    /// Whether the cursor's partition has been entered: its deletions and static row are known.
    entered: bool,
    /// How it was before the cursor's partition, if the chunk has begun it, and it may have more rows.
    before: Option<Before>,
    /// Whether the last row was dead: whether the chunk has done enough is asked before the next one.
    after_dead: bool,
    cover: Cover,
    static_row: Vec<u8>,
    components: Components,
    scratch: Vec<u8>,
    scored: Scored,
    /// The slots that it has looked through, if those are more than were asked for.
    pub(super) covered: Vec<Slot>,
    /// Why it stops; `None` while it goes on, and at the end of the extent.
    pub(super) end: Option<End>,
}

/// See [`Gather::before`].
struct Before {
    cursor: Cursor,
    given: u32,
    visited: u32,
    out_bytes: usize,
    /// Whether ending there is progress.
    advanced: bool,
}

impl<'a> Gather<'a> {
    pub(super) fn new(chunk: &'a Chunk, out: &'a mut Vec<u8>) -> Self {
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
            before: None,
            after_dead: false,
            cover: Cover::default(),
            static_row: Vec::new(),
            components: Components::default(),
            scratch: Vec::new(),
            scored: Scored::default(),
            covered: Vec::new(),
            end: None,
        }
    }

    /// Leaves no more than the rows that are wanted.
    pub(super) fn keep_nearest(&mut self) {
        if let Some(nearest) = &self.fetch.nearest {
            self.given = self.scored.keep_nearest(nearest.rows_max as usize, self.out) as u32;
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
    pub(super) fn enter(&mut self, store: &dyn RowStore, partition: &PartitionKey<'_>) -> Result<(), Stop> {
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

    /// Gives a row that may be one of the nearest, if it matches.
    pub(super) fn candidate(&mut self, clustering: &[u8], row: &[u8]) {
        let hidden_until = self.cover.hidden_until(clustering);
        self.give(Some((clustering, row, hidden_until)));
    }

    /// Forgets what it has given and where it was.
    pub(super) fn start_again(&mut self) {
        self.out.truncate(self.out_start);
        self.scored = Scored::default();
        self.cover.clear();
        self.static_row.clear();
        (self.given, self.visited_bytes, self.entered) = (0, 0, false);
        self.cursor = self.chunk.cursor.clone();
    }

    /// Looks at a row of the entered partition.
    pub(super) fn row(&mut self, clustering: &[u8], row: &[u8]) -> Visit {
        if std::mem::take(&mut self.after_dead) && self.stop_before_more() {
            return Visit::Stop;
        }
        let hidden_until = self.cover.hidden_until(clustering);
        match self.give(Some((clustering, row, hidden_until))) {
            Visit::Stop => return Visit::Stop,
            Visit::Continue => return self.pass(clustering, row.len()),
            Visit::Dead => {}
        }
        // The store hears that it is dead, and with the next row that the chunk ends.
        self.after_dead = true;
        self.moved(clustering, row.len());
        Visit::Dead
    }

    /// Moves the cursor behind a row and says whether to go on.
    fn pass(&mut self, clustering: &[u8], bytes: usize) -> Visit {
        self.moved(clustering, bytes);
        if self.cursor.place == Place::End || self.stop_before_more() { Visit::Stop } else { Visit::Continue }
    }

    /// Moves the cursor behind a row, or to the partition's end if it has given all it may.
    fn moved(&mut self, clustering: &[u8], bytes: usize) {
        self.visited += 1;
        self.visited_bytes += bytes;
        self.advanced = true;
        if self.cursor.given >= self.fetch.per_partition {
            self.cursor.place = Place::End;
            return;
        }
        match &mut self.cursor.place {
            Place::After(key) => {
                key.clear();
                key.extend_from_slice(clustering);
            }
            place => *place = Place::After(clustering.to_vec()),
        }
    }

    pub(super) fn is_entered(&self) -> bool {
        self.entered
    }

    /// Ends the partition: if it gave nothing, its static columns alone may be a row.
    pub(super) fn leave(&mut self) {
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
        self.before = None;
    }

    /// Rows that come next are not in memory: whether the chunk ends with what it has, or waits for them. It ends between partitions, so that batches are seen
    /// whole.
    pub(super) fn ends_early(&mut self) -> bool {
        let visited = self.visited;
        let (advanced, in_vain) = self.before.as_ref().map_or((self.advanced, 0), |before| (before.advanced, visited - before.visited));
        let ends = advanced && in_vain * IN_VAIN <= visited;
        if ends {
            self.end = Some(End::Early);
            if let Some(before) = self.before.take() {
                (self.cursor, self.given) = (before.cursor, before.given);
                self.out.truncate(before.out_bytes);
            }
        }
        ends
    }

    /// Whether the chunk has done enough before it looks at anything else.
    pub(super) fn stop_before_more(&mut self) -> bool {
        let full = self.given == self.chunk.rows_max && !self.chunk.peek;
        let bytes = self.visited_bytes + (self.out.len() - self.out_start);
        let factor = if self.before.is_some() { 2 } else { 1 };
        let long = self.visited >= factor * VISITED_ROWS_MAX || bytes >= factor as usize * VISITED_BYTES_MAX;
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
                    return if is_dead(row, hidden_until, now_s) { Visit::Dead } else { Visit::Continue };
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
        if let Some(nearest) = &self.fetch.nearest {
            let Some(score) = nearest.score(&values, scratch) else { return Visit::Continue };
            self.scored.push(score, self.out.len());
            self.out.extend_from_slice(&score.to_be_bytes());
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
