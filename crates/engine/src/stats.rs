//! Figures of one shard's engine: plain counters and gauges, read whenever somebody asks.

use crate::engine::Engine;
use crate::segments::Usage;
use std::cell::Cell;

/// A snapshot. Counters count from start-up; nothing here has a cost on the request path beyond an addition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Rows that the index knows, tombstones included. A row that was written again lies over the page it is in and is counted twice
    /// until the page is made anew.
    pub rows: u64,
    /// Partitions with an ordered map of rows.
    pub wide_partitions: u64,
    /// Pages of rows of such partitions.
    pub pages: u64,
    /// Rows in these pages, those that newer ones lie over included.
    pub rows_in_pages: u64,
    /// Bytes of index, partitions included.
    pub index_bytes: u64,
    /// Bytes of segment and cache frames in memory.
    pub frame_bytes: u64,
    /// Bytes of records pinned for waiting operations.
    pub pin_bytes: u64,
    /// Bytes of index, frames, pins and buffers together: what `memory_limit_bytes` bounds.
    pub memory_bytes: u64,
    /// Bytes of a segment.
    pub segment_bytes: u64,
    /// Segments of the file.
    pub segments: u64,
    /// Segments that may be written.
    pub segments_free: u64,
    /// Segments that hold damaged live records and are kept as they are.
    pub segments_quarantined: u64,
    /// Segments that hold checkpoints of the index.
    pub segments_checkpoint: u64,
    /// Segments that the file may have.
    pub segments_capacity: u64,
    /// Bytes of records that the index points to.
    pub live_bytes: u64,
    /// Rows written.
    pub rows_written: u64,
    /// Bytes that callers appended to the log.
    pub user_bytes: u64,
    /// Bytes that defragmentation appended to the log.
    pub defrag_bytes: u64,
    /// Bytes of pages appended to the log. Write amplification is `(user_bytes + defrag_bytes + page_bytes) / user_bytes`.
    pub page_bytes: u64,
    /// Bytes written to the device, headers and padding included.
    pub device_bytes_written: u64,
    /// Syncs asked for.
    pub syncs: u64,
    /// Point reads, repeated ones after a miss included.
    pub gets: u64,
    /// Reads of the device for operations; one brings several records if they lie together.
    pub device_reads: u64,
    /// Records that these reads were for.
    pub device_records: u64,
    /// Waiting operations that found the same record already on its way.
    pub device_reads_shared: u64,
    /// Records copied into the cache.
    pub cache_inserts: u64,
    /// Frames evicted.
    pub frames_evicted: u64,
    /// Records found damaged: on reads, by defragmentation, by the scrub, or in recovery.
    pub damaged_records: u64,
    /// Segments that the scrub has verified.
    pub scrub_segments: u64,
    /// Bytes that the scrub has read.
    pub scrub_bytes: u64,
    /// Places that the scrub was the first to find damaged.
    pub scrub_damaged: u64,
    /// Tombstones and expired rows dropped.
    pub rows_purged: u64,
    /// Segments reclaimed.
    pub segments_reclaimed: u64,
    /// Segments that were filled with moved records alone.
    pub segments_cold: u64,
    /// Segments reclaimed in which everything had expired, so that they were not read.
    pub segments_expired: u64,
    /// Device writes and syncs that failed (the first one poisons the shard) and reads that failed.
    pub device_failures: u64,
    /// How often the file system refused a longer file.
    pub growth_refused: u64,
    /// Checkpoints completed.
    pub checkpoints: u64,
}

/// The counters among them.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) rows_written: u64,
    pub(crate) user_bytes: u64,
    pub(crate) defrag_bytes: u64,
    pub(crate) page_bytes: u64,
    pub(crate) gets: Cell<u64>,
    pub(crate) device_reads: u64,
    pub(crate) device_records: u64,
    pub(crate) device_reads_shared: u64,
    pub(crate) cache_inserts: u64,
    pub(crate) frames_evicted: u64,
    pub(crate) damaged_records: u64,
    pub(crate) scrub_segments: u64,
    pub(crate) scrub_bytes: u64,
    pub(crate) scrub_damaged: u64,
    pub(crate) rows_purged: u64,
    pub(crate) segments_reclaimed: u64,
    pub(crate) segments_expired: u64,
    pub(crate) segments_cold: u64,
    pub(crate) device_failures: u64,
    pub(crate) growth_refused: u64,
}

impl Engine {
    /// The figures of this moment.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let frame_bytes = self.frames_held() * self.config.segment_bytes as usize;
        let quarantined = self.segments.iter().filter(|(_, segment)| segment.usage == Usage::Quarantined).count();
        Stats {
            rows: self.index.rows(),
            wide_partitions: self.index.partitions.len() as u64,
            pages: self.index.partitions.paged().0 as u64,
            rows_in_pages: self.index.partitions.paged().1 as u64,
            index_bytes: self.index.bytes() as u64,
            frame_bytes: frame_bytes as u64,
            pin_bytes: self.memory.pin_bytes() as u64,
            memory_bytes: (self.fixed_bytes() + frame_bytes) as u64,
            segment_bytes: u64::from(self.config.segment_bytes),
            segments: self.segments.len() as u64,
            segments_free: self.segments.free_count() as u64,
            segments_quarantined: quarantined as u64,
            segments_checkpoint: self.checkpoints.segments_held() as u64,
            segments_capacity: self.growth.capacity() as u64,
            live_bytes: self.segments.live_bytes(),
            rows_written: self.counters.rows_written,
            user_bytes: self.counters.user_bytes,
            defrag_bytes: self.counters.defrag_bytes,
            page_bytes: self.counters.page_bytes,
            device_bytes_written: self.flush.bytes_written,
            syncs: self.flush.syncs,
            gets: self.counters.gets.get(),
            device_reads: self.counters.device_reads,
            device_records: self.counters.device_records,
            device_reads_shared: self.counters.device_reads_shared,
            cache_inserts: self.counters.cache_inserts,
            frames_evicted: self.counters.frames_evicted,
            damaged_records: self.counters.damaged_records,
            scrub_segments: self.counters.scrub_segments,
            scrub_bytes: self.counters.scrub_bytes,
            scrub_damaged: self.counters.scrub_damaged,
            rows_purged: self.counters.rows_purged,
            segments_reclaimed: self.counters.segments_reclaimed,
            segments_expired: self.counters.segments_expired,
            segments_cold: self.counters.segments_cold,
            device_failures: self.counters.device_failures,
            growth_refused: self.counters.growth_refused,
            checkpoints: self.checkpoints.written,
        }
    }
}
