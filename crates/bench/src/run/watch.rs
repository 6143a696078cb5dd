//! Where the figures of a target come from while a phase runs.

use crate::target::{MetricsError, MetricsUrl, System, metrics_sample, sum_of_processes};
use io_linux::ProcessFigures;

/// Processes, metrics, or nothing.
#[derive(Debug)]
pub(super) enum Source {
    /// Processes of this machine.
    Processes(Vec<u32>),
    /// Metrics.
    Metrics(Metrics),
    /// Nowhere.
    None,
}

impl Source {
    /// The one of a system.
    pub(super) fn of(system: &dyn System) -> Self {
        match (system.metrics(), system.pids()) {
            ([], pids) if pids.is_empty() => Self::None,
            ([], pids) => Self::Processes(pids),
            (urls, _) => Self::Metrics(Metrics::of(urls)),
        }
    }

    /// After a restart its processes are others; where its metrics are stays.
    pub(super) fn follow(&mut self, system: &dyn System) {
        if !matches!(self, Self::Metrics(_)) {
            *self = Self::of(system);
        }
    }

    /// A reading; what cannot be read is absent.
    pub(super) fn sample(&mut self) -> ProcessFigures {
        match self {
            Self::Processes(pids) => sum_of_processes(pids),
            Self::Metrics(metrics) => metrics.sample(),
            Self::None => ProcessFigures::default(),
        }
    }

    /// The first reading that failed, if one did.
    pub(super) fn failure(self) -> Option<MetricsError> {
        match self {
            Self::Metrics(metrics) => metrics.failure,
            Self::Processes(_) | Self::None => None,
        }
    }
}

/// The metrics of all nodes. Counters are summed as they rise from the first reading on: a node that does not answer stands still until it
/// does again, so that the sum neither falls nor leaps.
#[derive(Debug)]
pub(super) struct Metrics {
    nodes: Vec<Node>,
    failure: Option<MetricsError>,
}

#[derive(Debug)]
struct Node {
    url: MetricsUrl,
    last: ProcessFigures,
    risen: ProcessFigures,
}

impl Metrics {
    fn of(urls: &[MetricsUrl]) -> Self {
        let node = |url: &MetricsUrl| Node { url: url.clone(), last: ProcessFigures::default(), risen: ProcessFigures::default() };
        Self { nodes: urls.iter().map(node).collect(), failure: None }
    }

    /// Asks all nodes at once: one that does not answer must not hold up the others' readings. Absent if none answers.
    fn sample(&mut self) -> ProcessFigures {
        let answers: Vec<_> = std::thread::scope(|scope| {
            let asked: Vec<_> = self.nodes.iter().map(|node| scope.spawn(|| metrics_sample(&node.url))).collect();
            asked.into_iter().map(|answer| answer.join().expect("it has no reason to panic")).collect()
        });
        let (mut sum, mut answered) = (ProcessFigures::default(), false);
        for (node, answer) in self.nodes.iter_mut().zip(answers) {
            let memory = match answer {
                Ok(now) => {
                    answered = true;
                    node.see(now);
                    now.memory
                }
                Err(error) => {
                    self.failure.get_or_insert(error);
                    None
                }
            };
            sum = sum.plus(ProcessFigures { memory, ..node.risen });
        }
        if answered { sum } else { ProcessFigures::default() }
    }
}

impl Node {
    fn see(&mut self, now: ProcessFigures) {
        /// A counter that falls, or comes into being, starts again: from there on it may rise.
        fn add<T: Copy + PartialOrd + Default + std::ops::Add<Output = T> + std::ops::Sub<Output = T>>(
            risen: &mut Option<T>,
            last: &mut Option<T>,
            now: Option<T>,
        ) {
            let Some(now) = now else { return };
            let rise = last.filter(|last| *last <= now).map_or_else(T::default, |last| now - last);
            *risen = Some(risen.unwrap_or_default() + rise);
            *last = Some(now);
        }
        let (risen, last) = (&mut self.risen, &mut self.last);
        add(&mut risen.cpu_s, &mut last.cpu_s, now.cpu_s);
        add(&mut risen.device_read, &mut last.device_read, now.device_read);
        add(&mut risen.device_written, &mut last.device_written, now.device_written);
        add(&mut risen.network_received, &mut last.network_received, now.network_received);
        add(&mut risen.network_sent, &mut last.network_sent, now.network_sent);
    }
}

/// A reading and when it was made, seconds after the start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) second: f64,
    pub(super) sample: ProcessFigures,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::target::serve_metrics;

    const FIRST: &str = "HTTP/1.0 200 OK\r\n\r\nprocess_cpu_seconds_total 100\nprocess_resident_memory_bytes 7\n";
    const LATER: &str = "HTTP/1.0 200 OK\r\n\r\nprocess_cpu_seconds_total 103\nprocess_resident_memory_bytes 8\n";
    const RESTARTED: &str = "HTTP/1.0 200 OK\r\n\r\nprocess_cpu_seconds_total 1\nprocess_resident_memory_bytes 2\n";
    const BUSY: &str = "HTTP/1.0 503 Busy\r\n\r\n";

    #[test]
    fn a_node_that_does_not_answer_stands_still() {
        let (one, first) = serve_metrics(vec![FIRST, LATER, LATER, LATER, BUSY]);
        let (other, second) = serve_metrics(vec![FIRST, BUSY, LATER, RESTARTED, BUSY]);
        let mut metrics = Metrics::of(&[one.clone(), other.clone()]);
        let mut read = || {
            let sample = metrics.sample();
            (sample.cpu_s, sample.memory)
        };
        assert_eq!(read(), (Some(0.0), Some(14)));
        assert_eq!(read(), (Some(3.0), Some(8)));
        assert_eq!(read(), (Some(6.0), Some(16)));
        assert_eq!(read(), (Some(6.0), Some(10)));
        assert_eq!(read(), (None, None));
        first.join().unwrap();
        second.join().unwrap();
        let failure = Source::Metrics(metrics).failure().unwrap().to_string();
        assert!(failure.contains(&other.to_string()) && failure.contains("503"), "{failure}");
    }
}
