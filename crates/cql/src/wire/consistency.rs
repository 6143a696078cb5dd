//! Consistency levels as the wire has them.

use std::fmt;

use super::WireError;

/// How many replicas must answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
#[allow(missing_docs, reason = "named as in the protocol's section 3")]
pub enum Consistency {
    Any = 0x0000,
    One = 0x0001,
    Two = 0x0002,
    Three = 0x0003,
    Quorum = 0x0004,
    All = 0x0005,
    LocalQuorum = 0x0006,
    EachQuorum = 0x0007,
    Serial = 0x0008,
    LocalSerial = 0x0009,
    LocalOne = 0x000A,
}

impl Consistency {
    /// All of them, by code.
    pub const ALL: [Self; 11] = [
        Self::Any,
        Self::One,
        Self::Two,
        Self::Three,
        Self::Quorum,
        Self::All,
        Self::LocalQuorum,
        Self::EachQuorum,
        Self::Serial,
        Self::LocalSerial,
        Self::LocalOne,
    ];

    /// The code on the wire.
    #[must_use]
    pub fn code(self) -> u16 {
        self as u16
    }

    /// How many replicas of `factor` must have answered.
    #[must_use]
    pub fn required(self, factor: u16) -> u16 {
        match self {
            Self::Any | Self::One | Self::LocalOne => 1,
            Self::Two => 2,
            Self::Three => 3,
            Self::All => factor,
            Self::Quorum | Self::LocalQuorum | Self::EachQuorum | Self::Serial | Self::LocalSerial => factor / 2 + 1,
        }
    }

    /// Whether a read may be answered by any replica, and so by one that lags.
    #[must_use]
    pub fn reads_any(self) -> bool {
        matches!(self, Self::Any | Self::One | Self::LocalOne)
    }

    /// Whether it is one of the two levels of lightweight transactions.
    #[must_use]
    pub fn is_serial(self) -> bool {
        matches!(self, Self::Serial | Self::LocalSerial)
    }
}

impl TryFrom<u16> for Consistency {
    type Error = WireError;

    fn try_from(code: u16) -> Result<Self, WireError> {
        Self::ALL.get(usize::from(code)).copied().ok_or(WireError::UnknownConsistency { code })
    }
}

/// The name as CQL and error messages write it.
impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "ANY",
            Self::One => "ONE",
            Self::Two => "TWO",
            Self::Three => "THREE",
            Self::Quorum => "QUORUM",
            Self::All => "ALL",
            Self::LocalQuorum => "LOCAL_QUORUM",
            Self::EachQuorum => "EACH_QUORUM",
            Self::Serial => "SERIAL",
            Self::LocalSerial => "LOCAL_SERIAL",
            Self::LocalOne => "LOCAL_ONE",
        })
    }
}
