//! Coordinators without a client: entries whose coordinator has died, and the build of a view.

use super::build::{Advance, Build, Built};
use super::collect::Stretch;
use super::delivery::{Delivery, Progress, apply};
use super::shape::Shapes;
use crate::CqlError;
use crate::plan::ViewPlan;
use base::{Slot, TableId};
use model::Table;
use model::operation::{Coordinator, Part, Standing, Step};
use std::sync::Arc;

/// Delivers entries, or builds a slot of a view.
pub struct ViewCoordinator {
    work: Work,
}

enum Work {
    Deliver { delivery: Delivery, has_begun: bool },
    Build(Builder),
}

/// Builds one slot's part of a view, stretch by stretch.
struct Builder {
    shapes: Arc<Shapes>,
    view: TableId,
    slot: Slot,
    pieces: u16,
    stage: Stage,
}

enum Stage {
    Start,
    Build,
    Apply(Advance),
    Advance { is_last: bool },
}

impl ViewCoordinator {
    /// Delivers the entries of a slot that were written up to a time.
    #[must_use]
    pub fn deliver(base: &Arc<Table>, views: &[ViewPlan], slot: Slot, last: i64, pieces: u16) -> Self {
        let mut delivery = Delivery::new(pieces);
        delivery.add(&Arc::new(Shapes::new(base, views)), Stretch { slot, first: i64::MIN, last });
        Self { work: Work::Deliver { delivery, has_begun: false } }
    }

    /// Builds what a view has of a slot of its base table.
    #[must_use]
    pub fn build(base: &Arc<Table>, views: &[ViewPlan], view: TableId, slot: Slot, pieces: u16) -> Self {
        let shapes = Arc::new(Shapes::new(base, views));
        Self { work: Work::Build(Builder { shapes, view, slot, pieces, stage: Stage::Start }) }
    }
}

impl Builder {
    fn part(&self, operation: impl model::operation::Operation + 'static) -> Step {
        Step::Run(vec![Part { table: self.shapes.base.id, token: self.slot.first_token(), operation: Box::new(operation) }])
    }

    fn build(&mut self) -> Step {
        self.stage = Stage::Build;
        self.part(Build { shapes: Arc::clone(&self.shapes), view: self.view, slot: self.slot })
    }

    fn step(&mut self, results: &[Vec<u8>]) -> Result<Step, CqlError> {
        let damaged = |_| CqlError::Server("a stretch of a view cannot be read".to_owned());
        match std::mem::replace(&mut self.stage, Stage::Start) {
            Stage::Start => Ok(self.build()),
            Stage::Build => {
                let reply = results.first().map(Vec::as_slice).unwrap_or_default();
                let Built { collected, next, was_complete } = Built::read(reply).map_err(damaged)?;
                if was_complete {
                    return Ok(Step::Done);
                }
                let advance = Advance { view: self.view, slot: self.slot, next };
                let parts = apply(collected.updates.into_iter(), self.pieces);
                if parts.is_empty() {
                    return Ok(self.advance(advance));
                }
                self.stage = Stage::Apply(advance);
                Ok(Step::Run(parts))
            }
            // Rows of the view that are newer have what was written since.
            Stage::Apply(advance) => Ok(self.advance(advance)),
            Stage::Advance { is_last: true } => Ok(Step::Done),
            Stage::Advance { is_last: false } => Ok(self.build()),
        }
    }

    fn advance(&mut self, advance: Advance) -> Step {
        self.stage = Stage::Advance { is_last: advance.next.is_none() };
        self.part(advance)
    }
}

impl Coordinator for ViewCoordinator {
    type Error = CqlError;

    fn step(&mut self, results: Vec<Vec<u8>>, _: &mut Vec<u8>) -> Result<Step, CqlError> {
        let (delivery, has_begun) = match &mut self.work {
            Work::Build(builder) => return builder.step(&results),
            Work::Deliver { delivery, has_begun } => (delivery, has_begun),
        };
        if delivery.is_empty() {
            return Ok(Step::Done);
        }
        if !std::mem::replace(has_begun, true) {
            return Ok(Step::Run(delivery.begin()));
        }
        Ok(match delivery.step(&results) {
            Progress::Run(parts) => Step::Run(parts),
            Progress::Delivered(parts) if parts.is_empty() => Step::Done,
            Progress::Delivered(parts) => Step::Run(parts),
        })
    }

    fn standing(&self) -> Standing {
        Standing::Open
    }
}
