//! The versions of the native protocol.

use std::fmt;

/// A version spoken here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ProtocolVersion {
    /// Version 3, Cassandra 2.1.
    V3 = 3,
    /// Version 4, Cassandra 2.2 and ScyllaDB.
    V4 = 4,
    /// Version 5, Cassandra 4.0: checksummed segments.
    V5 = 5,
}

impl ProtocolVersion {
    /// All of them, lowest first.
    pub const ALL: [Self; 3] = [Self::V3, Self::V4, Self::V5];
    /// The newest.
    pub const HIGHEST: Self = Self::V5;

    /// The version with this number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        match number {
            3 => Some(Self::V3),
            4 => Some(Self::V4),
            5 => Some(Self::V5),
            _ => None,
        }
    }

    /// Its number.
    #[must_use]
    pub fn number(self) -> u8 {
        self as u8
    }

    /// As `SUPPORTED` lists it under `PROTOCOL_VERSIONS`.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::V3 => "3/v3",
            Self::V4 => "4/v4",
            Self::V5 => "5/v5",
        }
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// What older versions cannot say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionedFeature {
    /// A keyspace for one request (v5).
    Keyspace,
    /// The time that a request shall take for now (v5).
    NowInSeconds,
    /// A custom payload (v4).
    CustomPayload,
    /// Values that are not set (v4).
    Unset,
    /// Snappy, which v5 no longer has.
    Snappy,
}

impl fmt::Display for VersionedFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keyspace => "a keyspace for one request",
            Self::NowInSeconds => "now_in_seconds",
            Self::CustomPayload => "a custom payload",
            Self::Unset => "an unset value",
            Self::Snappy => "snappy compression",
        })
    }
}
