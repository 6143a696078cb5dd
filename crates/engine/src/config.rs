//! What a shard's engine is opened with.

use crate::encryption::LogKey;
use crate::error::OpenError;
use crate::location::SegmentId;
use base::{BLOCK_BYTES, SECTOR_BYTES, TableId};
use io::FileId;

/// Segments are never larger: a location has 19 bits of 16 bytes for an offset.
const SEGMENT_BYTES_MAX: u32 = 8 << 20;
const SEGMENT_BYTES_MIN: u32 = 4 * BLOCK_BYTES as u32;
/// Frames that must fit besides the index: one a mirror slot, one for the cache, one to read a victim of defragmentation.
pub(crate) const FRAMES_EXTRA: usize = 2;

/// Sizes, limits and identity of one shard.
#[derive(Clone, Debug)]
pub struct Config {
    /// A random number that the store drew when it was created: segments of another store are refused, and nobody outside can
    /// foresee checksums.
    pub store: u64,
    /// Which shard of the node.
    pub shard: u32,
    /// The file with the segments.
    pub file: FileId,
    /// The file's length now.
    pub file_bytes: u64,
    /// How many bytes of the stable memory were there before this start; what comes after them is zero. `usize::MAX`: all.
    pub stable_bytes_found: usize,
    /// A number of this start of the machine; 0 if unknown. While it is the same no power can have been lost, so the stable memory must have all
    /// that the last run has put there. Otherwise it may be of any age.
    pub boot: u64,
    /// The shard has run before, so its file had segments: an empty one is a loss, even if nothing else is left that says so.
    pub has_run: bool,
    /// Recovery goes on when the file or the stable memory have lost something. `Engine::accepted_losses` says what.
    pub accepts_loss: bool,
    /// How long the file may become.
    pub capacity_bytes: u64,
    /// Records are read by offsets and lengths that are multiples of this: a power of two from [`SECTOR_BYTES`] to [`BLOCK_BYTES`].
    pub read_unit: usize,
    /// The first table id that was not given out yet. Records of lower ids that are no table's are those of dropped tables, and dead;
    /// records of this one and higher ids are of tables that whoever opens the shard does not know, and it is not opened.
    pub next_table: TableId,
    /// Bytes in a segment: a power of two from 16 KiB to 8 MiB. Fixed when the store is created.
    pub segment_bytes: u32,
    /// The budget of everything the engine keeps in memory: index, segment frames, cache, buffers. The stable memory is not counted.
    pub memory_limit_bytes: usize,
    /// A write is on its way to the device after at most this many microseconds.
    pub flush_interval_us: u64,
    /// A checkpoint of the index is written when the log has grown by this many bytes, or by four times what one takes if that is more; at shutdown when it has grown by a 64th of this. `u64::MAX`: never.
    pub checkpoint_bytes_min: u64,
    /// Every stored segment is read and verified once in so many microseconds, if the device has idle moments; 0 for never.
    pub scrub_interval_us: u64,
    /// Rows of a wide partition that the index knows one by one lie in leaves of at most this many.
    pub leaf_rows_max: usize,
    /// A page has at most this many rows; 0 for no new pages.
    pub page_rows_max: usize,
    /// Rows of a page take at most this many bytes before compression, unless it is a single row.
    pub page_bytes_max: usize,
    /// Rows that are larger on average stay out of pages.
    pub page_row_bytes_max: usize,
    /// The device and the stable memory have ciphertext only. Fixed when the store is created.
    pub log_key: Option<LogKey>,
}

/// The bits of a table id that say which of a table's companions it is.
const COMPANION_BITS: u32 = 3 << 30;

/// Seven days.
const SCRUB_INTERVAL_US: u64 = 7 * 24 * 3600 * 1_000_000;

impl Config {
    /// The usual sizes: segments of 8 MiB, a flush interval of 100 ms, a checkpoint every 256 MiB, a scrub in seven days.
    #[must_use]
    pub fn new(store: u64, shard: u32, file_bytes: u64, capacity_bytes: u64, memory_limit_bytes: usize) -> Self {
        Self {
            store,
            shard,
            file: FileId(0),
            file_bytes,
            stable_bytes_found: usize::MAX,
            boot: 0,
            has_run: false,
            accepts_loss: false,
            capacity_bytes,
            read_unit: BLOCK_BYTES,
            next_table: TableId(u32::MAX),
            segment_bytes: SEGMENT_BYTES_MAX,
            memory_limit_bytes,
            flush_interval_us: 100_000,
            checkpoint_bytes_min: 256 << 20,
            scrub_interval_us: SCRUB_INTERVAL_US,
            leaf_rows_max: 128,
            page_rows_max: 128,
            page_bytes_max: 16 << 10,
            page_row_bytes_max: 512,
            log_key: None,
        }
    }

    /// Whether a record of a table that was not given to `open` belongs to one that was dropped.
    pub(crate) fn was_dropped(&self, table: TableId) -> bool {
        table.0 & !COMPANION_BITS < self.next_table.0
    }

    /// Stable memory that gives `mirrors` open or not yet durable segments a place. Three is the least that keeps writers going.
    #[must_use]
    pub fn stable_bytes(&self, mirrors: usize) -> usize {
        self.segment_bytes as usize * mirrors
    }

    /// Segments that the file has. One that it has lost the end of is read if losses are accepted.
    pub(crate) fn file_segments(&self) -> usize {
        let segment = u64::from(self.segment_bytes);
        let segments = if self.accepts_loss { self.file_bytes.div_ceil(segment) } else { self.file_bytes / segment };
        segments as usize
    }

    /// So many rows over a page make it worth making it anew.
    pub(crate) fn overlay_rows_max(&self) -> u32 {
        (self.page_rows_max as u32 / 2).max(1)
    }

    pub(crate) fn check(&self, stable_bytes: usize) -> Result<(), OpenError> {
        let segment = u64::from(self.segment_bytes);
        let error = |field, value, requirement| Err(OpenError::Config { field, value, requirement });
        if !self.segment_bytes.is_power_of_two() || !(SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX).contains(&self.segment_bytes) {
            return error("segment_bytes", segment, "a power of two from 16 KiB to 8 MiB");
        }
        if !self.read_unit.is_power_of_two() || !(SECTOR_BYTES..=BLOCK_BYTES).contains(&self.read_unit) {
            return error("read_unit", self.read_unit as u64, "a power of two from 512 to 4096");
        }
        if self.capacity_bytes < 8 * segment {
            return error("capacity_bytes", self.capacity_bytes, "at least eight segments");
        }
        if self.capacity_bytes / segment > u64::from(SegmentId::COUNT_MAX) {
            return error("capacity_bytes", self.capacity_bytes, "at most 2^23 segments");
        }
        if self.leaf_rows_max < 2 {
            return error("leaf_rows_max", self.leaf_rows_max as u64, "at least two");
        }
        if stable_bytes < self.stable_bytes(2) {
            return error("stable memory", stable_bytes as u64, "at least two segments");
        }
        Ok(())
    }
}
