//! When so much of a load failed that its figures say nothing of the target: replies a second of a server that refuses are not its speed.

use load::Outcome;

/// Share of a fill's inserts, or of the reads that look at every row, that may fail: a dataset with larger holes is not the study's, and
/// rows that could not be read were not found to be right.
pub(super) const FILL_FAILED_MAX: f64 = 0.01;
/// Share of a measured run's operations that may fail, over the whole phase: where nodes are killed operations fail until others take over,
/// which is what such a study measures (`resilience`: a node of three is away for 60 of 160 seconds).
pub(super) const RUN_FAILED_MAX: f64 = 0.5;

/// Too many operations failed.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error(
    "{failed} of {sent} operations of {phase} failed ({share:.1} %, at most {max} % may), most often `{kind}`: {count} times",
    share = *failed as f64 / *sent as f64 * 100.0,
    max = failed_max * 100.0
)]
pub(super) struct Failing {
    phase: String,
    failed: u64,
    sent: u64,
    failed_max: f64,
    /// The most frequent error.
    kind: String,
    count: u64,
}

/// Whether more than a share of a load failed.
pub(super) fn check(phase: &str, outcome: &Outcome, failed_max: f64) -> Result<(), Failing> {
    let by_operation: u64 = outcome.failed.values().sum();
    // An open loop also counts requests that were due and could not be sent.
    let failed = by_operation.max(outcome.error_count());
    let sent = failed + outcome.replies();
    if failed as f64 <= sent as f64 * failed_max {
        return Ok(());
    }
    let most_frequent = outcome.errors.iter().max_by_key(|(_, count)| **count);
    let (kind, count) = most_frequent.map_or_else(|| ("unknown".to_owned(), failed), |(kind, count)| (kind.clone(), *count));
    Err(Failing { phase: phase.to_owned(), failed, sent, failed_max, kind, count })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use load::workload::OperationKind;
    use load::{Ended, Histogram};
    use std::collections::BTreeMap;
    use std::time::SystemTime;

    fn outcome(replies: u64, errors: &[(&str, u64)]) -> Outcome {
        let mut histogram = Histogram::new(3).unwrap();
        histogram.record_n(1_000, replies).unwrap();
        let failed = errors.iter().map(|(_, count)| count).sum();
        Outcome {
            started: SystemTime::UNIX_EPOCH,
            elapsed_s: 1.0,
            ended: Ended::Finished,
            seconds: Vec::new(),
            latencies: BTreeMap::from([(OperationKind::Insert, histogram)]),
            failed: BTreeMap::from([(OperationKind::Insert, failed)]),
            errors: errors.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect(),
            error_examples: BTreeMap::new(),
            verified: load::Verified::default(),
            bytes_sent: 0,
            bytes_received: 0,
            reconnects: 0,
            threads: Vec::new(),
        }
    }

    #[test]
    fn a_fill_may_lack_a_row_in_a_hundred() {
        assert!(check("load", &outcome(990, &[("timeout", 10)]), FILL_FAILED_MAX).is_ok());
        let failing = check("load", &outcome(989, &[("overloaded", 8), ("timeout", 3)]), FILL_FAILED_MAX).unwrap_err();
        let says = "11 of 1000 operations of load failed (1.1 %, at most 1 % may), most often `overloaded`: 8 times";
        assert_eq!(failing.to_string(), says);
    }

    #[test]
    fn half_of_a_run_may_fail_and_nothing_sent_is_nothing_failed() {
        assert!(check("run", &outcome(500, &[("unavailable", 500)]), RUN_FAILED_MAX).is_ok());
        assert!(check("run", &outcome(500, &[("unavailable", 501)]), RUN_FAILED_MAX).is_err());
        assert!(check("run", &outcome(0, &[("unavailable", 1)]), RUN_FAILED_MAX).is_err());
        assert!(check("run", &outcome(0, &[]), RUN_FAILED_MAX).is_ok());
    }
}
