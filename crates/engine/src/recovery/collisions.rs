//! Tokens with more than one partition key: the keys of their records are read, and their cells become partitions in key order.

use super::{Engine, Phase};
use crate::error::Miss;
use crate::fetch::RECOVERY_WAITER;
use crate::key::CachePolicy;
use crate::location::Location;
use crate::memory::Stored;

/// Tokens settled at the same time.
const BATCH: usize = 64;

impl Engine {
    pub(super) fn recover_collisions(&mut self) -> Option<Phase> {
        loop {
            let recovery = self.recovery.as_mut()?;
            if recovery.settling.is_empty() {
                while recovery.settling.len() < BATCH
                    && let Some(collision) = recovery.collisions.pop_first()
                {
                    recovery.settling.push(collision);
                }
                if recovery.settling.is_empty() {
                    return Some(Phase::Space);
                }
                let records = recovery.settling.iter().flat_map(|collision| self.index.collision_records(*collision));
                let elsewhere = |location: &Location| matches!(self.memory.stored(*location), Stored::Elsewhere);
                let missing: Vec<Location> = records.filter(elsewhere).collect();
                self.fetch(&Miss::many(missing, CachePolicy::Bypass), RECOVERY_WAITER);
            }
            let mut ready = Vec::new();
            self.take_ready(&mut ready);
            if !ready.contains(&RECOVERY_WAITER) {
                return None;
            }
            for collision in std::mem::take(&mut self.recovery.as_mut()?.settling) {
                let memory = &self.memory;
                let lost = self.index.settle(collision, |location| match memory.stored(location) {
                    Stored::Here(record) => Some(record.partition().into()),
                    Stored::Elsewhere | Stored::Damaged(_) => None,
                });
                for (location, damaged) in lost {
                    if damaged {
                        self.report_damage(location.segment(), location.offset(), location.padded());
                    }
                    self.segments.release(location);
                }
            }
            self.finish(RECOVERY_WAITER);
        }
    }
}
