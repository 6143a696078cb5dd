//! Puts seconds together: of threads into those of a load machine, of load machines into those of the load. Nothing is lost on the way, since
//! histograms are added, not averaged.

use crate::control::Observer;
use crate::latency::{Histogram, Summary, histogram};
use crate::outcome::{Ended, Outcome, Second, ThreadUse, Verified};
use crate::recorder::{Errors, Part};
use crate::workload::OperationKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::SystemTime;

const NS_PER_S: f64 = 1e9;

/// What a source knows when it has ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tail {
    /// From the load's start to the last reply.
    pub(crate) last_reply_ns: u64,
    pub(crate) verified: Verified,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) reconnects: u64,
    pub(crate) threads: Vec<ThreadUse>,
}

/// Hears of a load's seconds, before they are summed up.
pub(crate) trait PartObserver {
    /// All connections can be used; the load starts when this returns.
    fn ready(&mut self);

    /// A second of all sources together; they come in order, none is left out.
    fn part(&mut self, part: Part);
}

/// Seconds of a fixed number of sources that become one.
#[derive(Debug)]
pub(crate) struct Merger {
    /// The first second that each source has not told yet; none when it has ended.
    sources: Vec<Option<u64>>,
    pending: BTreeMap<u64, Part>,
    tail: Tail,
}

impl Merger {
    pub(crate) fn new(sources: usize) -> Self {
        Self { sources: vec![Some(0); sources], pending: BTreeMap::new(), tail: Tail::default() }
    }

    /// A second of a source; its seconds come in order, none is left out.
    pub(crate) fn part(&mut self, source: usize, part: Part, observer: &mut dyn PartObserver) {
        self.sources[source] = Some(part.second + 1);
        match self.pending.entry(part.second) {
            Entry::Vacant(entry) => {
                entry.insert(part);
            }
            Entry::Occupied(mut entry) => add(entry.get_mut(), part),
        }
        self.tell(observer);
    }

    /// A source has ended.
    pub(crate) fn ended(&mut self, source: usize, tail: Tail, observer: &mut dyn PartObserver) {
        self.sources[source] = None;
        self.tail.last_reply_ns = self.tail.last_reply_ns.max(tail.last_reply_ns);
        self.tail.verified += tail.verified;
        self.tail.bytes_sent += tail.bytes_sent;
        self.tail.bytes_received += tail.bytes_received;
        self.tail.reconnects += tail.reconnects;
        self.tail.threads.extend(tail.threads);
        self.tell(observer);
    }

    /// Whether a source has not ended.
    pub(crate) fn waits_for(&self, source: usize) -> bool {
        self.sources[source].is_some()
    }

    /// Whether all have ended.
    pub(crate) fn is_complete(&self) -> bool {
        self.sources.iter().all(Option::is_none)
    }

    /// What all sources know together, when they have ended.
    pub(crate) fn into_tail(self) -> Tail {
        self.tail
    }

    /// Tells of the seconds that every source is past.
    fn tell(&mut self, observer: &mut dyn PartObserver) {
        let past = self.sources.iter().flatten().min().copied().unwrap_or(u64::MAX);
        while let Some(entry) = self.pending.first_entry()
            && *entry.key() < past
        {
            observer.part(entry.remove());
        }
    }
}

/// Sums up a load's seconds.
pub(crate) struct Totals<'o> {
    observer: &'o mut dyn Observer,
    started: SystemTime,
    seconds: Vec<Second>,
    latencies: BTreeMap<OperationKind, Histogram>,
    failed: BTreeMap<OperationKind, u64>,
    errors: BTreeMap<String, Errors>,
}

impl<'o> Totals<'o> {
    pub(crate) fn new(kinds: impl Iterator<Item = OperationKind>, observer: &'o mut dyn Observer) -> Self {
        let latencies = kinds.map(|kind| (kind, histogram())).collect();
        let started = SystemTime::now();
        Self { observer, started, seconds: Vec::new(), latencies, failed: BTreeMap::new(), errors: BTreeMap::new() }
    }

    pub(crate) fn finish(self, ended: Ended, tail: Tail) -> Outcome {
        Outcome {
            started: self.started,
            elapsed_s: tail.last_reply_ns as f64 / NS_PER_S,
            ended,
            seconds: self.seconds,
            latencies: self.latencies,
            failed: self.failed,
            error_examples: self.errors.iter().map(|(kind, errors)| (kind.clone(), errors.example.clone())).collect(),
            errors: self.errors.into_iter().map(|(kind, errors)| (kind, errors.count)).collect(),
            verified: tail.verified,
            bytes_sent: tail.bytes_sent,
            bytes_received: tail.bytes_received,
            reconnects: tail.reconnects,
            threads: tail.threads,
        }
    }
}

impl PartObserver for Totals<'_> {
    fn ready(&mut self) {
        self.observer.ready();
        self.started = SystemTime::now();
    }

    fn part(&mut self, mut part: Part) {
        for kind in self.latencies.keys() {
            part.latencies.entry(*kind).or_insert_with(histogram);
        }
        let second = Second {
            start_s: part.second as f64,
            length_s: part.length_s,
            operations: part.latencies.iter().map(|(kind, latencies)| (*kind, Summary::of(latencies))).collect(),
            errors: part.errors.values().map(|errors| errors.count).sum(),
        };
        self.observer.second(&second, &part.latencies);
        self.seconds.push(second);
        add_latencies(&mut self.latencies, &part.latencies);
        add_counts(&mut self.failed, &part.failed);
        add_errors(&mut self.errors, part.errors);
    }
}

fn add(sum: &mut Part, part: Part) {
    sum.length_s = sum.length_s.max(part.length_s);
    add_latencies(&mut sum.latencies, &part.latencies);
    add_counts(&mut sum.failed, &part.failed);
    add_errors(&mut sum.errors, part.errors);
}

fn add_latencies(sum: &mut BTreeMap<OperationKind, Histogram>, more: &BTreeMap<OperationKind, Histogram>) {
    for (kind, latencies) in more {
        sum.entry(*kind).or_insert_with(histogram).add(latencies).expect("all histograms here have one shape");
    }
}

fn add_counts(sum: &mut BTreeMap<OperationKind, u64>, more: &BTreeMap<OperationKind, u64>) {
    for (kind, count) in more {
        *sum.entry(*kind).or_default() += count;
    }
}

fn add_errors(sum: &mut BTreeMap<String, Errors>, more: BTreeMap<String, Errors>) {
    for (kind, errors) in more {
        let of_kind = sum.entry(kind).or_insert_with(|| Errors { count: 0, example: errors.example });
        of_kind.count += errors.count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Seen(Vec<(f64, f64, u64)>);

    impl Observer for Seen {
        fn second(&mut self, second: &Second, latencies: &BTreeMap<OperationKind, Histogram>) {
            self.0.push((second.start_s, second.length_s, latencies[&OperationKind::Read].len()));
        }
    }

    fn part(second: u64, length_s: f64, latencies: &[u64]) -> Part {
        let mut of_reads = histogram();
        latencies.iter().for_each(|latency| of_reads.saturating_record(*latency));
        Part { second, length_s, latencies: [(OperationKind::Read, of_reads)].into(), failed: BTreeMap::new(), errors: BTreeMap::new() }
    }

    #[test]
    fn a_second_is_told_when_every_source_is_past_it() {
        let mut seen = Seen::default();
        let mut totals = Totals::new([OperationKind::Read].into_iter(), &mut seen);
        let mut merger = Merger::new(2);
        merger.part(0, part(0, 1.0, &[1_000]), &mut totals);
        merger.part(0, part(1, 1.0, &[2_000]), &mut totals);
        assert!(totals.seconds.is_empty());
        merger.part(1, part(0, 0.9, &[3_000, 4_000]), &mut totals);
        assert_eq!(totals.seconds.len(), 1);
        merger.ended(1, Tail { last_reply_ns: 900_000_000, ..Tail::default() }, &mut totals);
        merger.part(0, part(2, 0.25, &[5_000]), &mut totals);
        merger.ended(0, Tail { last_reply_ns: 2_250_000_000, ..Tail::default() }, &mut totals);
        assert!(merger.is_complete());
        let outcome = totals.finish(Ended::Finished, merger.into_tail());
        assert_eq!((outcome.replies(), outcome.elapsed_s), (5, 2.25));
        assert_eq!(seen.0, [(0.0, 1.0, 3), (1.0, 1.0, 1), (2.0, 0.25, 1)]);
    }
}
