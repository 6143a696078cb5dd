//! The values bound to a statement: the part of a request that is read most often.
//!
//! [`Values`] is checked once while the request is decoded; its iterators then cannot fail and allocate nothing. A client builds one in a
//! [`ValuesBuffer`] that it keeps.

use super::writer::{write_short, write_string, write_value};
use super::{ProtocolVersion, Reader, Value, WireError};

/// Whether values come with the names of their markers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ValueNames {
    /// By position.
    #[default]
    Absent,
    /// Each value follows its name.
    Present,
}

/// The values of a statement, borrowed and checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Values<'a> {
    version: ProtocolVersion,
    names: ValueNames,
    count: u16,
    bytes: &'a [u8],
}

impl<'a> Values<'a> {
    /// No value.
    #[must_use]
    pub fn none(version: ProtocolVersion) -> Self {
        Self { version, names: ValueNames::Absent, count: 0, bytes: &[] }
    }

    /// Reads a `[short]` count and as many values, and checks every length.
    ///
    /// # Errors
    /// [`WireError::Truncated`], [`WireError::InvalidLength`], [`WireError::InvalidUtf8`].
    #[inline]
    pub fn read(reader: &mut Reader<'a>, version: ProtocolVersion, names: ValueNames) -> Result<Self, WireError> {
        let count = reader.short()?;
        let start = *reader;
        for _ in 0..count {
            if names == ValueNames::Present {
                reader.string()?;
            }
            reader.value(version)?;
        }
        // No values have no names: one way to say it.
        let names = if count == 0 { ValueNames::Absent } else { names };
        Ok(Self { version, names, count, bytes: reader.since(&start) })
    }

    /// Appends them as they were read.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_short(out, self.count);
        out.extend_from_slice(self.bytes);
    }

    /// Number of values.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Whether there is none.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes that they take on the wire.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Whether they carry names.
    #[must_use]
    pub fn names(&self) -> ValueNames {
        self.names
    }

    /// The values in order, without their names.
    #[must_use]
    #[inline]
    pub fn iter(&self) -> ValuesIter<'a> {
        ValuesIter { reader: Reader::new(self.bytes), version: self.version, names: self.names, left: self.count }
    }

    /// The values in order with their names, if they carry names.
    pub fn iter_named(&self) -> impl Iterator<Item = (Option<&'a str>, Value<'a>)> + use<'a> {
        let mut iter = self.iter();
        std::iter::from_fn(move || iter.next_entry())
    }
}

impl<'a> IntoIterator for &Values<'a> {
    type Item = Value<'a>;
    type IntoIter = ValuesIter<'a>;

    fn into_iter(self) -> ValuesIter<'a> {
        self.iter()
    }
}

/// Iterates over [`Values`].
#[derive(Clone, Debug)]
pub struct ValuesIter<'a> {
    reader: Reader<'a>,
    version: ProtocolVersion,
    names: ValueNames,
    left: u16,
}

impl<'a> ValuesIter<'a> {
    #[inline]
    fn next_entry(&mut self) -> Option<(Option<&'a str>, Value<'a>)> {
        self.left = self.left.checked_sub(1)?;
        let name = match self.names {
            ValueNames::Absent => None,
            ValueNames::Present => Some(self.reader.string().ok()?),
        };
        Some((name, self.reader.value(self.version).ok()?))
    }
}

impl<'a> Iterator for ValuesIter<'a> {
    type Item = Value<'a>;

    #[inline]
    fn next(&mut self) -> Option<Value<'a>> {
        self.next_entry().map(|(_, value)| value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::from(self.left), Some(usize::from(self.left)))
    }
}

impl ExactSizeIterator for ValuesIter<'_> {}

/// Values that a client collects for a request; kept and cleared, it allocates only once.
#[derive(Clone, Debug, Default)]
pub struct ValuesBuffer {
    names: ValueNames,
    count: u16,
    bytes: Vec<u8>,
}

impl ValuesBuffer {
    /// An empty buffer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets all values and keeps the memory.
    pub fn clear(&mut self) {
        self.names = ValueNames::Absent;
        self.count = 0;
        self.bytes.clear();
    }

    /// Adds a value by position.
    ///
    /// # Panics
    /// Beyond 65,535 values, or after a named value.
    pub fn push(&mut self, value: Value<'_>) {
        assert!(self.names == ValueNames::Absent, "named and positional values do not mix");
        self.count = self.count.checked_add(1).expect("a statement has at most 65,535 values");
        write_value(&mut self.bytes, value);
    }

    /// Adds a value by name.
    ///
    /// # Panics
    /// Beyond 65,535 values, or after a value without a name.
    pub fn push_named(&mut self, name: &str, value: Value<'_>) {
        assert!(self.names == ValueNames::Present || self.count == 0, "named and positional values do not mix");
        self.names = ValueNames::Present;
        self.count = self.count.checked_add(1).expect("a statement has at most 65,535 values");
        write_string(&mut self.bytes, name);
        write_value(&mut self.bytes, value);
    }

    /// The values, to put into a request.
    #[must_use]
    pub fn as_values(&self, version: ProtocolVersion) -> Values<'_> {
        Values { version, names: self.names, count: self.count, bytes: &self.bytes }
    }
}
