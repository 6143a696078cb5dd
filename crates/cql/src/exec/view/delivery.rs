//! What a coordinator does so that views get what entries say: collect, apply, end, until nothing is left.
//!
//! ```text
//! Collect (base slots) ─► Apply (view slots) ─► answer ─► End (base slots) ─► Collect again, if there was more
//!                             └─ a row is newer than its update: Collect again, above its version
//! ```

use super::collect::{Collect, Collected, End, EntryEnd, Stretch};
use super::shape::Shapes;
use super::update::{Apply, ViewUpdate};
use base::TableId;
use model::operation::{Operation, Part};
use std::collections::BTreeMap;
use std::sync::Arc;

/// So often rows that are newer than their updates are read again; what is left then is delivered later.
const AGAIN_MAX: u32 = 8;

/// The way of a statement's entries to the views.
pub(in crate::exec) struct Delivery {
    left: Vec<Pending>,
    /// Of these the ends are known, in the order of `left`.
    ends: Vec<Vec<EntryEnd>>,
    has_more: Vec<bool>,
    /// Pieces of the ring: updates in one piece are applied together.
    pieces: u16,
    above: i64,
    again: u32,
    phase: Phase,
}

/// Entries of one table in one slot.
struct Pending {
    shapes: Arc<Shapes>,
    stretch: Stretch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Collect,
    Apply,
    End,
}

/// What comes next.
pub(in crate::exec) enum Progress {
    /// These run, and their results are the next step's.
    Run(Vec<Part>),
    /// The views have all of it; these end the last entries.
    Delivered(Vec<Part>),
}

impl Delivery {
    pub(in crate::exec) fn new(pieces: u16) -> Self {
        Self { left: Vec::new(), ends: Vec::new(), has_more: Vec::new(), pieces, above: i64::MIN, again: 0, phase: Phase::Collect }
    }

    /// Adds a table's entries of a slot.
    pub(in crate::exec) fn add(&mut self, shapes: &Arc<Shapes>, stretch: Stretch) {
        let is_there = |pending: &Pending| pending.shapes.base.id == shapes.base.id && pending.stretch == stretch;
        if !self.left.iter().any(is_there) {
            self.left.push(Pending { shapes: Arc::clone(shapes), stretch });
        }
    }

    pub(in crate::exec) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// The first parts.
    pub(in crate::exec) fn begin(&mut self) -> Vec<Part> {
        self.phase = Phase::Collect;
        let collect = |pending: &Pending| {
            let Pending { shapes, stretch } = pending;
            let operation = Collect { shapes: Arc::clone(shapes), stretch: *stretch, above: self.above };
            Part { table: shapes.base.id, token: stretch.slot.first_token(), operation: Box::new(operation) }
        };
        self.left.iter().map(collect).collect()
    }

    /// What comes after the parts whose results these are.
    pub(in crate::exec) fn step(&mut self, results: &[Vec<u8>]) -> Progress {
        match self.phase {
            Phase::Collect => {
                let collected: Vec<Collected> = results.iter().map(|result| Collected::read(result).unwrap_or_default()).collect();
                self.has_more = collected.iter().map(|collected| collected.has_more).collect();
                self.ends = collected.iter().map(|collected| collected.ends.clone()).collect();
                self.phase = Phase::Apply;
                let parts = apply(collected.into_iter().flat_map(|collected| collected.updates), self.pieces);
                if parts.is_empty() { self.applied() } else { Progress::Run(parts) }
            }
            Phase::Apply => match newest(results) {
                Some(version) if self.again < AGAIN_MAX => {
                    (self.above, self.again) = (version, self.again + 1);
                    Progress::Run(self.begin())
                }
                // Its entries stay, for whoever looks for unfinished ones.
                Some(_) => Progress::Delivered(Vec::new()),
                None => self.applied(),
            },
            Phase::End => Progress::Run(self.begin()),
        }
    }

    fn applied(&mut self) -> Progress {
        self.phase = Phase::End;
        let mut parts: Vec<Part> = Vec::new();
        for (pending, ends) in self.left.iter().zip(std::mem::take(&mut self.ends)).filter(|(_, ends)| !ends.is_empty()) {
            let (base, slot) = (pending.shapes.base.id, pending.stretch.slot);
            parts.push(Part { table: base, token: slot.first_token(), operation: Box::new(End { base, slot, ends }) });
        }
        let has_more = std::mem::take(&mut self.has_more);
        let mut index = 0;
        self.left.retain(|_| {
            index += 1;
            has_more.get(index - 1).copied().unwrap_or(false)
        });
        if self.left.is_empty() { Progress::Delivered(parts) } else { Progress::Run(parts) }
    }
}

/// The parts that apply updates: one for what one core, or one slot's primary, has of a view.
pub(super) fn apply(updates: impl Iterator<Item = ViewUpdate>, pieces: u16) -> Vec<Part> {
    let mut by_place: BTreeMap<(TableId, u16), Vec<ViewUpdate>> = BTreeMap::new();
    for update in updates {
        by_place.entry((update.key.view, update.key.token().slot().core(pieces).0)).or_default().push(update);
    }
    let part = |updates| {
        let operation = Apply { updates };
        let (table, token) = operation.place();
        Part { table, token, operation: Box::new(operation) as Box<dyn Operation> }
    };
    by_place.into_values().map(part).collect()
}

/// The largest version of rows that were newer than their updates.
pub(super) fn newest(results: &[Vec<u8>]) -> Option<i64> {
    results.iter().filter_map(|result| result.as_slice().try_into().ok().map(i64::from_be_bytes)).max()
}
