//! How rows at rest are compressed.

/// What a table's pages of rows are compressed with, from the time on at which it was chosen: what was written before stays readable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// LZ4: little time for about half of what Zstd saves.
    #[default]
    Lz4,
    /// Zstandard.
    Zstd {
        /// From -131,072, the fastest, to 22, the smallest.
        level: i32,
    },
}

impl Compression {
    /// The levels that Zstandard has.
    pub const ZSTD_LEVELS: std::ops::RangeInclusive<i32> = -131_072..=22;
    /// The level that is meant when none is given.
    pub const ZSTD_LEVEL_DEFAULT: i32 = 3;
}
