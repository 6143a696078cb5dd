//! Scans that pass over rows of which an earlier one has found that they show nothing.
//!
//! A scan notes the longest run of such rows that it comes through, and that one becomes known to the engine, joined with what was known
//! before. So readers look at each deleted row once.

use crate::store::EngineStore;
use engine::{DeadRun, Sequence};
use model::operation::{Direction, PartitionKey, RowStore, Stop, Visit};

/// The part of a partition that a scan is about.
type Bounds<'a> = (&'a [u8], Option<&'a [u8]>);

/// The runs of a scan.
struct Runs<'a> {
    direction: Direction,
    bounds: Bounds<'a>,
    /// Whether a row that is not dead has been met.
    was_ended: bool,
    rows: u32,
    /// The bound that the current run was entered by, if it is not the scan's: the lower one, or the upper one of a scan that goes down.
    begin: Option<Box<[u8]>>,
    /// The first row in the current run.
    first: Box<[u8]>,
    longest: Option<DeadRun>,
}

impl<'a> Runs<'a> {
    fn new(bounds: Bounds<'a>, direction: Direction) -> Self {
        Self { direction, bounds, was_ended: false, rows: 0, begin: None, first: Box::default(), longest: None }
    }

    #[inline]
    fn visited(&mut self, key: &[u8], verdict: Visit) {
        if verdict == Visit::Dead {
            if self.rows == 0 {
                let is_forward = self.direction == Direction::Forward;
                self.begin = self.was_ended.then(|| if is_forward { key.into() } else { next_key(key) });
                self.first = key.into();
            }
            self.rows = self.rows.saturating_add(1);
        } else {
            if self.rows > 0 {
                self.end(Some(key));
            }
            self.was_ended = true;
        }
    }

    /// The scan passes over the rows of a known run.
    fn passed(&mut self, run: &DeadRun) {
        if self.rows == 0 {
            let begin = if self.direction == Direction::Forward { Some(&run.from) } else { run.to.as_ref() };
            self.begin = begin.filter(|_| self.was_ended).cloned();
            self.first = run.first.as_ref().max(self.bounds.0).into();
        }
        self.rows = self.rows.saturating_add(run.rows);
    }

    /// Ends the current run at this row, or where the scan ends.
    fn end(&mut self, end: Option<&[u8]>) {
        let rows = std::mem::take(&mut self.rows);
        if rows == 0 || self.longest.as_ref().is_some_and(|longest| longest.rows > rows) {
            return;
        }
        let (from, to) = self.bounds;
        let (from, first, to) = match self.direction {
            Direction::Forward => {
                (self.begin.take().unwrap_or_else(|| from.into()), std::mem::take(&mut self.first), end.or(to).map(Box::from))
            }
            Direction::Reverse => {
                let from: Box<[u8]> = end.map_or_else(|| from.into(), next_key);
                (from.clone(), from, self.begin.take().or_else(|| to.map(Box::from)))
            }
        };
        self.longest = Some(DeadRun { from, first, to, rows, newest: Sequence(0), since_s: 0 });
    }
}

/// The next key there can be.
fn next_key(key: &[u8]) -> Box<[u8]> {
    [key, &[0]].concat().into()
}

/// What of a scan lies below a run, and above it.
fn around<'a>((from, to): Bounds<'a>, run: &'a DeadRun) -> [Option<Bounds<'a>>; 2] {
    let low = to.map_or(&*run.from, |to| to.min(&run.from));
    let high = run.to.as_deref().map(|high| high.max(from));
    [(from < low).then_some((from, Some(low))), high.filter(|high| to.is_none_or(|to| *high < to)).map(|high| (high, to))]
}

impl EngineStore<'_> {
    /// [`RowStore::scan_live`]
    pub(crate) fn scan_without_dead(
        &self,
        partition: &PartitionKey<'_>,
        bounds: Bounds<'_>,
        direction: Direction,
        now_s: u32,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Visit,
    ) -> Result<(), Stop> {
        if bounds.1.is_some_and(|to| to <= bounds.0) {
            return Ok(());
        }
        let known = self.engine.dead_run(partition.table, partition.token, partition.bytes);
        let known = known.filter(|run| run.since_s <= now_s && run.overlaps(bounds.0, bounds.1));
        let mut runs = Runs::new(bounds, direction);
        let mut stopped = false;
        let mut scan = |(from, to): Bounds<'_>, runs: &mut Runs<'_>| {
            self.scan(partition, from, to, direction, &mut |key, row| {
                let verdict = visit(key, row);
                runs.visited(key, verdict);
                stopped = verdict == Visit::Stop;
                verdict
            })?;
            Ok(stopped)
        };
        let stopped = match &known {
            None => scan(bounds, &mut runs)?,
            Some(run) => {
                let mut parts = around(bounds, run);
                if direction == Direction::Reverse {
                    parts.reverse();
                }
                let stopped = parts[0].map_or(Ok(false), |part| scan(part, &mut runs))?;
                if !stopped {
                    self.saw_sequence(run.newest);
                    runs.passed(run);
                }
                stopped || parts[1].map_or(Ok(false), |part| scan(part, &mut runs))?
            }
        };
        if !stopped {
            runs.end(None);
        }
        if let Some(run) = runs.longest.filter(|run| known.as_ref().is_none_or(|known| run.rows > known.rows)) {
            let run = DeadRun { newest: self.newest.get(), since_s: now_s, ..run };
            self.engine.keep_dead_run(partition.table, partition.token, partition.bytes, run);
        }
        Ok(())
    }
}
