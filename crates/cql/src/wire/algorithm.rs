//! The algorithms of compression.

use std::fmt;

/// An algorithm that STARTUP can agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// LZ4 blocks.
    Lz4,
    /// Raw Snappy; not in v5.
    Snappy,
}

impl Compression {
    /// The algorithm of this name, in any case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Lz4, Self::Snappy].into_iter().find(|known| known.name().eq_ignore_ascii_case(name))
    }

    /// The name as SUPPORTED and STARTUP have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lz4 => "lz4",
            Self::Snappy => "snappy",
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
