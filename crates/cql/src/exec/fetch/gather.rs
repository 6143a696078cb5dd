//! Visiting rows for a chunk: partitions are entered (their deletions and static row become known), their rows looked at, and left.

use super::chunk::{Chunk, End, FetchPlan};
use super::nearest::Scored;
use super::{Cursor, Place};
use crate::exec::keys::KeyRange;
use crate::exec::rows::{Components, Cover, Found, HIDES_NOTHING, RowValues, is_dead};
use crate::plan::Select;
use crate::wire::writer::write_short_bytes;
use base::{Slot, Token};
use model::operation::{Direction, FIRST_ROW_BYTE, PartitionKey, Position, RANGE_DELETION_PREFIX, RowStore, ScannedRow, Stop, Visit};

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

    /// Looks through the cursor's partition.
    pub(super) fn partition(&mut self, store: &dyn RowStore) -> Result<(), Stop> {
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
        store.scan_live(partition, (from, to), direction, self.fetch.now_s, &mut |clustering, row| {
            last = self.row(clustering, row);
            last
        })?;
        Ok(last)
    }

    /// Looks through partitions up to `until`.
    pub(super) fn ring(&mut self, store: &dyn RowStore, until: Token) -> Result<(), Stop> {
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
            if last != Visit::Stop {
                // The last partition ends with the scan.
                self.leave();
                return Ok(());
            }
            if self.end.is_some() {
                return Ok(());
            }
            // The rest of this partition is of no interest.
            self.cursor.place = Place::End;
            self.before = None;
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
            let before = std::mem::replace(&mut self.cursor, Cursor::start(token, bytes.to_vec()));
            self.before = (self.plan.table.clustering_len > 0).then_some(Before {
                cursor: before,
                given: self.given,
                visited: self.visited,
                out_bytes: self.out.len(),
                advanced: self.advanced,
            });
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

    /// Goes on at `token`.
    pub(super) fn begin_at(&mut self, token: Token) {
        self.cursor = Cursor::start(token, Vec::new());
        (self.advanced, self.entered, self.before) = (true, false, None);
    }

    pub(super) fn is_entered(&self) -> bool {
        self.entered
    }

    /// Goes on with a partition of which only certain rows are looked at.
    pub(super) fn begin_partition(&mut self, store: &dyn RowStore, partition: &PartitionKey<'_>) -> Result<(), Stop> {
        if self.plan.table.clustering_len > 0 {
            self.enter(store, partition)?;
        }
        (self.entered, self.before) = (true, None);
        Ok(())
    }

    /// Looks at all rows of the entered partition that are left.
    pub(super) fn rows_of_partition(&mut self, store: &dyn RowStore, partition: &PartitionKey<'_>) -> Result<Visit, Stop> {
        let from = match &self.cursor.place {
            Place::After(clustering) => [clustering, &[0][..]].concat(),
            _ => vec![FIRST_ROW_BYTE],
        };
        let mut last = Visit::Continue;
        store.scan_live(partition, (&from, None), Direction::Forward, self.fetch.now_s, &mut |clustering, row| {
            last = self.row(clustering, row);
            last
        })?;
        Ok(last)
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
