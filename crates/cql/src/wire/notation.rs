//! The notations of the protocol's section 3: their names for error messages, and `[value]`, which has three states.

use std::fmt;

/// The notations of the protocol, for error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in the protocol's section 3")]
pub enum Notation {
    Byte,
    Short,
    Int,
    Long,
    String,
    LongString,
    Uuid,
    Bytes,
    ShortBytes,
    Value,
    Inet,
    Opcode,
    WriteType,
    Event,
    SchemaChange,
    Cell,
}

impl fmt::Display for Notation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Byte => "[byte]",
            Self::Short => "[short]",
            Self::Int => "[int]",
            Self::Long => "[long]",
            Self::String => "[string]",
            Self::LongString => "[long string]",
            Self::Uuid => "[uuid]",
            Self::Bytes => "[bytes]",
            Self::ShortBytes => "[short bytes]",
            Self::Value => "[value]",
            Self::Inet => "[inet]",
            Self::Opcode => "opcode",
            Self::WriteType => "write type",
            Self::Event => "event",
            Self::SchemaChange => "schema change",
            Self::Cell => "cell",
        })
    }
}

/// A bound value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Null.
    Null,
    /// Not set: leaves what is there as it is (v4 and later).
    Unset,
    /// The value's bytes.
    Bytes(&'a [u8]),
}
