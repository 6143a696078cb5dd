//! The latencies of each second as an HdrHistogram interval log, version 1.3 with histograms of the second format, that its other tools open.
//!
//! ```text
//! #[Histogram log format version 1.3]
//! #[StartTime: 1763668800.000 (seconds since epoch)]
//! #[BaseTime: 1763668800.000 (seconds since epoch)]
//! "StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
//! Tag=read,0.000,1.000,1.234,HISTFAAA…
//! ```
//! A line for each operation in each second; times in seconds since the start. Values are nanoseconds, the largest of each line is told in
//! milliseconds, as HdrHistogram's own writer does.

use crate::latency::{Histogram, encoded};
use crate::outcome::Second;
use crate::workload::OperationKind;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

const NS_PER_MS: f64 = 1e6;

/// A log that is being written.
#[derive(Debug)]
pub struct HistogramLog<W> {
    out: W,
}

impl<W: Write> HistogramLog<W> {
    /// Begins a log of a load that started at `started`; `what` says in one line what it is of.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(mut out: W, what: &str, started: SystemTime) -> io::Result<Self> {
        let start_s = started.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        writeln!(out, "#[{}]", what.replace(['\n', '\r'], " "))?;
        writeln!(out, "#[Histogram log format version 1.3]")?;
        writeln!(out, "#[StartTime: {start_s:.3} (seconds since epoch)]")?;
        writeln!(out, "#[BaseTime: {start_s:.3} (seconds since epoch)]")?;
        writeln!(out, "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"")?;
        Ok(Self { out })
    }

    /// Adds a second.
    ///
    /// # Errors
    /// Those of the writer: a full disk.
    pub fn second(&mut self, second: &Second, latencies: &BTreeMap<OperationKind, Histogram>) -> io::Result<()> {
        for (kind, histogram) in latencies.iter().filter(|(_, histogram)| !histogram.is_empty()) {
            let max_ms = histogram.max() as f64 / NS_PER_MS;
            let (start_s, length_s) = (second.start_s, second.length_s);
            writeln!(self.out, "Tag={},{start_s:.3},{length_s:.3},{max_ms:.3},{}", kind.name(), encoded(histogram))?;
        }
        Ok(())
    }

    /// Ends the log.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::latency::histogram;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    /// `tests/ycsb-generators` has Java's own reader open one.
    #[test]
    fn another_reader_finds_what_was_written() {
        let mut latencies = histogram();
        (1..=100).for_each(|millisecond| latencies.saturating_record(millisecond * 1_000_000));
        let by_kind = [(OperationKind::Read, latencies.clone()), (OperationKind::Update, histogram())].into();
        let second = Second { start_s: 3.0, length_s: 1.0, operations: BTreeMap::new(), errors: 0 };
        let mut log = HistogramLog::new(Vec::new(), "a study", UNIX_EPOCH).unwrap();
        log.second(&second, &by_kind).unwrap();
        let bytes = log.finish().unwrap();
        let entries: Vec<_> = IntervalLogIterator::new(&bytes).map(Result::unwrap).collect();
        let intervals: Vec<_> =
            entries.iter().filter_map(|entry| if let LogEntry::Interval(interval) = entry { Some(interval) } else { None }).collect();
        assert_eq!(intervals.len(), 1, "an operation without replies has no line");
        assert_eq!(intervals[0].tag().unwrap().as_str(), "read");
        assert_eq!((intervals[0].start_timestamp().as_secs(), intervals[0].duration().as_secs()), (3, 1));
        let serialized = base64::Engine::decode(&base64::prelude::BASE64_STANDARD, intervals[0].encoded_histogram()).unwrap();
        let read: Histogram = Deserializer::new().deserialize(&mut serialized.as_slice()).unwrap();
        assert_eq!(read, latencies);
    }
}
