//! The value of one bin: a type and its bytes.

use std::borrow::Cow;

/// What a bin's bytes are; the numbers are the wire's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ParticleType {
    /// No value: written to a bin, it removes the bin.
    Null = 0,
    /// Eight bytes, big-endian, two's complement.
    Integer = 1,
    /// Eight bytes, big-endian, IEEE 754.
    Double = 2,
    /// UTF-8 as far as clients keep their word.
    String = 3,
    /// Bytes.
    Blob = 4,
    /// An object serialized by the Java client.
    JavaBlob = 7,
    /// An object serialized by the C# client.
    CSharpBlob = 8,
    /// An object serialized by the Python client.
    PythonBlob = 9,
    /// An object serialized by the Ruby client.
    RubyBlob = 10,
    /// An object serialized by the PHP client.
    PhpBlob = 11,
    /// A term serialized by the Erlang client.
    ErlangBlob = 12,
    /// One byte, 0 or 1.
    Bool = 17,
    /// A HyperLogLog sketch.
    HyperLogLog = 18,
    /// A map in msgpack.
    Map = 19,
    /// A list in msgpack.
    List = 20,
    /// A text. On the wire, and in columns of former versions, flags and cells are in front of it: `crate::geo`.
    GeoJson = 23,
}

impl ParticleType {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 16] = [
        Self::Null,
        Self::Integer,
        Self::Double,
        Self::String,
        Self::Blob,
        Self::JavaBlob,
        Self::CSharpBlob,
        Self::PythonBlob,
        Self::RubyBlob,
        Self::PhpBlob,
        Self::ErlangBlob,
        Self::Bool,
        Self::HyperLogLog,
        Self::Map,
        Self::List,
        Self::GeoJson,
    ];

    /// The type with the wire's number, if there is one.
    #[inline]
    pub fn from_wire(number: u8) -> Option<Self> {
        BY_NUMBER.get(usize::from(number)).copied().flatten()
    }
}

const BY_NUMBER: [Option<ParticleType>; 24] = {
    let mut by_number = [None; 24];
    let mut place = 0;
    while place < ParticleType::ALL.len() {
        by_number[ParticleType::ALL[place] as usize] = Some(ParticleType::ALL[place]);
        place += 1;
    }
    by_number
};

/// A value with its type: what is read from a bin or written to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Particle<'a> {
    /// What the bytes are.
    pub kind: ParticleType,
    /// The value as the wire has it.
    pub bytes: Cow<'a, [u8]>,
}

impl<'a> Particle<'a> {
    /// A value that borrows its bytes.
    pub fn new(kind: ParticleType, bytes: &'a [u8]) -> Self {
        Self { kind, bytes: Cow::Borrowed(bytes) }
    }

    /// A value that owns its bytes.
    pub fn owned(kind: ParticleType, bytes: Vec<u8>) -> Particle<'static> {
        Particle { kind, bytes: Cow::Owned(bytes) }
    }

    /// The same value, owned.
    pub fn into_owned(self) -> Particle<'static> {
        Particle { kind: self.kind, bytes: Cow::Owned(self.bytes.into_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_found_by_its_number_and_no_other() {
        let known: Vec<u8> = (0..=u8::MAX).filter(|number| ParticleType::from_wire(*number).is_some()).collect();
        assert_eq!(known, [0, 1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 17, 18, 19, 20, 23]);
    }
}
