//! The slow requests of a node: of each core the latest, and of those before them the slowest.

use base::CoreId;
use cql::SlowRequest;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// So many of the latest a core keeps.
const LATEST_MAX: usize = 96;
/// And of those before them so many, the slowest.
const SLOWEST_MAX: usize = 32;

/// Cores write, whoever looks reads.
#[derive(Debug, Default)]
pub(crate) struct SlowLog(Mutex<BTreeMap<u16, Kept>>);

#[derive(Debug, Default)]
struct Kept {
    latest: VecDeque<SlowRequest>,
    /// The slowest first.
    slowest: Vec<SlowRequest>,
}

impl Kept {
    fn add(&mut self, slow: SlowRequest) {
        if self.latest.len() == LATEST_MAX
            && let Some(before) = self.latest.pop_front()
        {
            let place = self.slowest.partition_point(|kept| kept.duration_us >= before.duration_us);
            if place < SLOWEST_MAX {
                self.slowest.truncate(SLOWEST_MAX - 1);
                self.slowest.insert(place, before);
            }
        }
        self.latest.push_back(slow);
    }
}

impl SlowLog {
    /// For cores: takes these. Whoever reads is not waited for: gives whether they were taken; if not, a bounded number is left.
    pub(super) fn add(&self, core: CoreId, slow: &mut Vec<SlowRequest>) -> bool {
        let Ok(mut kept) = self.0.try_lock() else {
            slow.truncate(LATEST_MAX);
            return false;
        };
        let kept = kept.entry(core.0).or_default();
        slow.drain(..).for_each(|slow| kept.add(slow));
        true
    }

    /// All that are kept.
    pub(crate) fn all(&self) -> Vec<SlowRequest> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.values().flat_map(|kept| kept.slowest.iter().chain(&kept.latest)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow(number: u64, duration_us: u64) -> SlowRequest {
        SlowRequest {
            core: 1,
            number,
            started_us: 0,
            duration_us,
            protocol: "cql",
            kind: "read",
            keyspace: None,
            table: None,
            statement: None,
            client: None,
            role: None,
            waited_for: "other",
        }
    }

    #[test]
    fn the_latest_are_kept_and_the_slowest_before_them() {
        let log = SlowLog::default();
        let mut all: Vec<SlowRequest> = (0..1_000).map(|number| slow(number, (number * 37) % 500)).collect();
        let mut before: Vec<u64> = all[..1_000 - LATEST_MAX].iter().map(|slow| slow.duration_us).collect();
        before.sort_unstable_by_key(|us| std::cmp::Reverse(*us));
        assert!(log.add(CoreId(1), &mut all) && all.is_empty());
        let kept = log.all();
        let slowest: Vec<u64> = kept[..SLOWEST_MAX].iter().map(|slow| slow.duration_us).collect();
        assert_eq!(slowest, before[..SLOWEST_MAX]);
        let latest: Vec<u64> = kept[SLOWEST_MAX..].iter().map(|slow| slow.number).collect();
        assert_eq!(latest, (1_000 - LATEST_MAX as u64..1_000).collect::<Vec<_>>());
    }

    #[test]
    fn a_core_does_not_wait_for_whoever_reads() {
        let log = SlowLog::default();
        let mut told = vec![slow(1, 1)];
        let reading = log.0.lock();
        assert!(!log.add(CoreId(1), &mut told));
        drop(reading);
        assert!(log.add(CoreId(1), &mut told));
        assert_eq!(log.all().len(), 1);
    }
}
