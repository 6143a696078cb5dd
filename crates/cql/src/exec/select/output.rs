//! The page that is being made of the chunks.

use super::evaluate::{self, Progress, Row, Surroundings};
use super::folded::Folded;
use super::groups::{Groups, Membership};
use super::paging::NO_LIMIT;
use crate::CqlError;
use crate::exec::fetch::{Cursor, End, Gathered};
use crate::plan::Select;
use crate::value;
use std::cmp::Ordering;
use std::collections::VecDeque;

/// A page ends early when it has this many bytes.
const PAGE_BYTES_MAX: usize = 1 << 20;

/// How much of a result there is room for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Rows left on the page.
    pub(super) page_left: u32,
    /// Rows left of LIMIT.
    pub(super) limit_left: u32,
    /// Whether the page may end with more to come.
    pub(super) paged: bool,
    /// Bytes that a result may have when it may not.
    pub(super) bytes_max: u32,
}

/// How a chunk was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// Its extent is at its end.
    AllOfExtent,
    /// The extent goes on where the chunk ended.
    Part,
    /// Not at all: there were more rows in it than there is room for. Ask again, for fewer.
    TooMany,
    /// Some rows of it, for a step that has taken long enough.
    Paused,
    /// As far as was needed.
    PageComplete,
}

/// Rows as the client gets them.
pub(super) struct Output {
    room: Room,
    body: Vec<u8>,
    row_count: u32,
    /// Where the next page starts.
    next: Option<Cursor>,
    /// Behind the last row of a full page by an index. It says that there is more, as Cassandra's do, whether there is or not: clients count on it that go on
    /// until a page is not full.
    after_last: Option<Cursor>,
    /// How far the chunk has been taken that was taken last, if a step ended in it.
    progress: Option<Progress>,
    /// Groups that are to be sorted, and how many bytes they have.
    groups: Vec<SortedRow>,
    groups_bytes: usize,
    mode: Mode,
}

/// What happens to rows.
enum Mode {
    /// They are encoded already.
    Plain,
    /// Each is computed from its sources.
    Computed,
    /// They are collected, with what they are sorted by.
    Sorted(Vec<SortedRow>, usize),
    /// The nearest are collected, each with how near it is.
    Nearest(Vec<(f32, Vec<u8>)>),
    /// All are there, in their order, and computed from now on.
    Final(VecDeque<Vec<u8>>),
    /// They are grouped.
    Grouped(Box<Groups>),
    /// They are aggregated as SQL does it.
    Folded(Box<Folded>),
}

struct SortedRow {
    keys: Vec<Option<Vec<u8>>>,
    bytes: Vec<u8>,
}

/// A page that is complete.
pub(super) struct Page {
    /// Its rows.
    pub(super) body: Vec<u8>,
    /// How many.
    pub(super) row_count: u32,
    /// Where the next one starts, if there is one.
    pub(super) next: Option<Cursor>,
    /// Rows left of LIMIT then.
    pub(super) limit_left: u32,
    /// Whether its row is what rows were aggregated into.
    pub(super) is_folded: bool,
}

/// The error for a result without pages that is larger than the node gives.
pub(super) fn too_large(bytes_max: u32) -> CqlError {
    CqlError::Invalid(format!("The result is larger than {} MiB: ask for it in pages or with a LIMIT", bytes_max >> 20))
}

impl Room {
    fn take(&mut self, rows: u32) {
        for left in [&mut self.page_left, &mut self.limit_left] {
            if *left != NO_LIMIT {
                *left = left.saturating_sub(rows);
            }
        }
    }

    /// Refuses a result of more bytes than a node gives at once.
    fn check(&self, bytes: usize) -> Result<(), CqlError> {
        if bytes > self.bytes_max as usize { Err(too_large(self.bytes_max)) } else { Ok(()) }
    }

    fn left(&self) -> u32 {
        self.page_left.min(self.limit_left)
    }
}

impl Output {
    /// An empty page. `cursor` is where it starts, if it is not the first; with `folded` rows are aggregated.
    pub(super) fn new(plan: &Select, room: Room, groups_per_partition: u32, (cursor, folded): (Option<Cursor>, Option<Folded>)) -> Self {
        let mode = if let Some(folded) = folded {
            Mode::Folded(Box::new(folded))
        } else if plan.group_by.is_some() || !plan.aggregates.is_empty() {
            Mode::Grouped(Box::new(Groups::new(plan, groups_per_partition, cursor)))
        } else if plan.nearest.is_some() {
            Mode::Nearest(Vec::new())
        } else if !plan.sort.is_empty() {
            Mode::Sorted(Vec::new(), 0)
        } else if plan.plain {
            Mode::Plain
        } else {
            Mode::Computed
        };
        let (body, groups, groups_bytes) = (Vec::new(), Vec::new(), 0);
        Self { room, body, row_count: 0, next: None, after_last: None, progress: None, groups, groups_bytes, mode }
    }

    /// Whether nothing more is wanted before anything was read.
    pub(super) fn room_is_used_up(&self) -> bool {
        self.room.limit_left == 0
    }

    /// How many rows a chunk may give, and whether it shall look for one more.
    pub(super) fn rows_wanted(&self) -> (u32, bool) {
        match self.mode {
            Mode::Plain | Mode::Computed => (self.room.left(), self.room.page_left < self.room.limit_left),
            Mode::Sorted(..) | Mode::Nearest(_) | Mode::Final(_) | Mode::Grouped(_) | Mode::Folded(_) => (NO_LIMIT, false),
        }
    }

    /// Takes a chunk that started at `start`.
    pub(super) fn take(
        &mut self,
        plan: &Select,
        chunk: &Gathered<'_>,
        start: &Cursor,
        surroundings: Surroundings<'_>,
    ) -> Result<Taken, CqlError> {
        match &mut self.mode {
            Mode::Plain | Mode::Computed => self.take_rows(plan, chunk, start, surroundings),
            Mode::Sorted(rows, bytes) => {
                let mut reader = evaluate::Rows::new(plan, chunk);
                while let Some(row) = reader.next_row()? {
                    let keys = plan.sort.iter().map(|key| row.values.get(key.source).copied().flatten().map(<[u8]>::to_vec)).collect();
                    *bytes += row.bytes.len();
                    rows.push(SortedRow { keys, bytes: row.bytes.to_vec() });
                }
                self.room.check(*bytes)?;
                Ok(if chunk.end == End::Finished { Taken::AllOfExtent } else { Taken::Part })
            }
            Mode::Nearest(rows) => {
                let mut reader = evaluate::Rows::new(plan, chunk);
                while let Some(row) = reader.next_row()? {
                    rows.push((row.score, row.bytes.to_vec()));
                }
                rows.sort_by(|(one, _), (other, _)| other.total_cmp(one));
                rows.truncate(self.room.limit_left as usize);
                self.room.check(rows.iter().map(|(_, row)| row.len()).sum())?;
                Ok(if chunk.end == End::Finished { Taken::AllOfExtent } else { Taken::Part })
            }
            Mode::Final(_) => Ok(Taken::PageComplete),
            Mode::Grouped(_) => self.take_groups(plan, chunk, surroundings),
            Mode::Folded(folded) => {
                // Only after an extent's end: it may have been the last one.
                if folded.is_full() {
                    self.next = Some(start.clone());
                    return Ok(Taken::PageComplete);
                }
                folded.take(chunk)?;
                let is_full = folded.is_full();
                Ok(match chunk.end {
                    End::Finished => Taken::AllOfExtent,
                    _ if is_full => self.complete(chunk),
                    _ => Taken::Part,
                })
            }
        }
    }

    fn take_rows(
        &mut self,
        plan: &Select,
        chunk: &Gathered<'_>,
        start: &Cursor,
        surroundings: Surroundings<'_>,
    ) -> Result<Taken, CqlError> {
        let progress = self.progress.take();
        if progress.is_none() && self.room.page_left == 0 && chunk.row_count > 0 {
            // The page is full, and here is a row for the next one.
            self.next = Some(start.clone());
            return Ok(Taken::PageComplete);
        }
        if progress.is_none() && chunk.row_count > self.room.left() {
            return Ok(Taken::TooMany);
        }
        if matches!(self.mode, Mode::Plain) {
            self.body.extend_from_slice(chunk.rows);
        } else {
            let mut rows = evaluate::Rows::go_on(plan, chunk, progress);
            while let Some(row) = rows.next_row()? {
                surroundings.meter().begin_row();
                evaluate::write_row(plan, Some(&row), &[], surroundings, &mut self.body)?;
                if surroundings.is_over() {
                    self.progress = rows.progress(chunk);
                    self.room.check(self.body.len())?;
                }
                if self.progress.is_some() {
                    return Ok(Taken::Paused);
                }
            }
        }
        self.row_count += chunk.row_count;
        self.room.take(chunk.row_count);
        if self.room.limit_left == 0 {
            return Ok(Taken::PageComplete);
        }
        if self.body.len() > PAGE_BYTES_MAX && self.room.paged {
            self.room.page_left = 0;
        }
        self.room.check(self.body.len())?;
        let page_is_full = self.room.page_left == 0;
        if page_is_full && self.room.paged && plan.index.is_some() {
            self.after_last = Some(chunk.cursor.clone());
        }
        // To find out whether there is one more matching row may take long.
        let more_is_likely_enough = !plan.filters.is_empty();
        Ok(match chunk.end {
            End::Finished => Taken::AllOfExtent,
            End::More if page_is_full => self.complete(chunk),
            End::Early if page_is_full && more_is_likely_enough => self.complete(chunk),
            End::More | End::Early => Taken::Part,
        })
    }

    fn complete(&mut self, chunk: &Gathered<'_>) -> Taken {
        self.next = Some(chunk.cursor.clone());
        Taken::PageComplete
    }

    fn take_groups(&mut self, plan: &Select, chunk: &Gathered<'_>, surroundings: Surroundings<'_>) -> Result<Taken, CqlError> {
        let Mode::Grouped(groups) = &mut self.mode else { return Ok(Taken::AllOfExtent) };
        if groups.count_only(chunk.row_count) {
            return Ok(if chunk.end == End::Finished { Taken::AllOfExtent } else { Taken::Part });
        }
        let mut rows = evaluate::Rows::go_on(plan, chunk, self.progress.take());
        while let Some(row) = rows.next_row()? {
            surroundings.meter().begin_row();
            let membership = groups.membership(plan, &row, surroundings)?;
            if matches!(membership, Membership::Another) {
                if groups.is_open() {
                    groups.write(plan, surroundings, &mut self.body)?;
                    if plan.sort.is_empty() {
                        self.row_count += 1;
                        self.room.take(1);
                        self.room.check(self.body.len())?;
                    } else {
                        self.groups_bytes += self.body.len();
                        self.groups.push(SortedRow { keys: groups.sort_keys(plan)?, bytes: std::mem::take(&mut self.body) });
                        self.room.check(self.groups_bytes)?;
                    }
                    if self.room.limit_left == 0 {
                        groups.close();
                        return Ok(Taken::PageComplete);
                    }
                    if self.room.page_left == 0 || (self.room.paged && self.body.len() > PAGE_BYTES_MAX) {
                        self.next = Some(groups.cursor(plan));
                        groups.close();
                        return Ok(Taken::PageComplete);
                    }
                }
                groups.open(plan, &row);
            }
            if !matches!(membership, Membership::BeyondLimit) {
                groups.add(plan, &row, surroundings)?;
            }
            if surroundings.is_over() {
                self.progress = rows.progress(chunk);
            }
            if self.progress.is_some() {
                return Ok(Taken::Paused);
            }
        }
        Ok(if chunk.end == End::Finished { Taken::AllOfExtent } else { Taken::Part })
    }

    /// Appends rows that were collected. False if the step has taken long enough before their end.
    fn write_all(&mut self, plan: &Select, mut rows: VecDeque<Vec<u8>>, surroundings: Surroundings<'_>) -> Result<bool, CqlError> {
        while let Some(row) = rows.pop_front() {
            self.row_count += 1;
            if plan.plain {
                self.body.extend_from_slice(&row);
                continue;
            }
            let row = Row::parse(plan, &row)?;
            surroundings.meter().begin_row();
            evaluate::write_row(plan, Some(&row), &[], surroundings, &mut self.body)?;
            if surroundings.is_over() && !rows.is_empty() {
                self.mode = Mode::Final(rows);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Appends the groups of a result that is sorted.
    fn write_sorted_groups(&mut self, plan: &Select) {
        if plan.sort.is_empty() {
            return;
        }
        self.groups.sort_by(|one, other| compare(plan, one, other));
        self.groups.truncate(self.room.limit_left as usize);
        self.row_count = self.groups.len() as u32;
        self.groups.drain(..).for_each(|group| self.body.extend_from_slice(&group.bytes));
    }

    /// Ends the page; none if there is more to compute than a step may.
    pub(super) fn finish(&mut self, plan: &Select, surroundings: Surroundings<'_>) -> Result<Option<Page>, CqlError> {
        let is_folded = matches!(self.mode, Mode::Folded(_));
        let collected = match std::mem::replace(&mut self.mode, Mode::Plain) {
            Mode::Plain | Mode::Computed => VecDeque::new(),
            Mode::Sorted(mut rows, _) => {
                rows.sort_by(|one, other| compare(plan, one, other));
                rows.truncate(self.room.limit_left as usize);
                rows.into_iter().map(|row| row.bytes).collect()
            }
            Mode::Nearest(rows) => rows.into_iter().map(|(_, row)| row).collect(),
            Mode::Final(rows) => rows,
            Mode::Grouped(mut groups) => {
                if self.next.is_none() && self.room.limit_left > 0 && (groups.is_open() || plan.group_by.is_none()) {
                    surroundings.meter().begin_row();
                    groups.write(plan, surroundings, &mut self.body)?;
                    self.row_count += 1;
                    let fills_page = self.room.paged && self.room.page_left == 1 && self.room.limit_left > 1;
                    if fills_page && plan.index.is_some() && plan.group_by.is_some() && plan.sort.is_empty() {
                        self.after_last = Some(groups.cursor(plan));
                    }
                    if !plan.sort.is_empty() {
                        self.groups.push(SortedRow { keys: groups.sort_keys(plan)?, bytes: std::mem::take(&mut self.body) });
                    }
                }
                self.write_sorted_groups(plan);
                VecDeque::new()
            }
            Mode::Folded(folded) => {
                folded.write(&mut self.body);
                self.row_count = 1;
                VecDeque::new()
            }
        };
        if !self.write_all(plan, collected, surroundings)? {
            return Ok(None);
        }
        Ok(Some(Page {
            body: std::mem::take(&mut self.body),
            row_count: self.row_count,
            next: self.next.take().or(self.after_last.take()),
            limit_left: self.room.limit_left,
            is_folded,
        }))
    }
}

fn compare(plan: &Select, one: &SortedRow, other: &SortedRow) -> Ordering {
    for (index, key) in plan.sort.iter().enumerate() {
        let (ordering, turned) = match (&one.keys[index], &other.keys[index]) {
            (Some(one), Some(other)) => (value::compare(&key.data_type, one, other), key.descending),
            // Static columns alone come before rows in the table's order, whatever that is of each column.
            (one, other) => (one.is_some().cmp(&other.is_some()), plan.reversed),
        };
        let ordering = if turned { ordering.reverse() } else { ordering };
        if ordering.is_ne() {
            return ordering;
        }
    }
    Ordering::Equal
}
