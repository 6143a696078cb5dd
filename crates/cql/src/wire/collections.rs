//! Lists and maps of strings and bytes, borrowed from a body.
//!
//! Each is checked once, when it is read; iterating then cannot fail and allocates nothing.

use super::{Reader, WireError};

/// A `[string list]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StringList<'a> {
    count: u16,
    bytes: &'a [u8],
}

/// A `[string map]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StringMap<'a> {
    count: u16,
    bytes: &'a [u8],
}

/// A `[string multimap]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StringMultimap<'a> {
    count: u16,
    bytes: &'a [u8],
}

/// A `[bytes map]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BytesMap<'a> {
    count: u16,
    bytes: &'a [u8],
}

/// Gives a collection its reading, writing and iteration, from what reads one entry.
macro_rules! collection {
    ($name:ident, $entry:ty, $read_entry:expr) => {
        impl<'a> $name<'a> {
            /// Reads and checks all entries.
            ///
            /// # Errors
            /// [`WireError::Truncated`], [`WireError::InvalidUtf8`].
            pub fn read(reader: &mut Reader<'a>) -> Result<Self, WireError> {
                let count = reader.short()?;
                let start = *reader;
                for _ in 0..count {
                    $read_entry(reader)?;
                }
                Ok(Self { count, bytes: reader.since(&start) })
            }

            /// Appends it as it was read.
            pub fn write(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.count.to_be_bytes());
                out.extend_from_slice(self.bytes);
            }

            /// Number of entries.
            #[must_use]
            pub fn len(&self) -> usize {
                usize::from(self.count)
            }

            /// Whether there is none.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.count == 0
            }

            /// The entries in order.
            pub fn iter(&self) -> impl Iterator<Item = $entry> + use<'a> {
                let mut reader = Reader::new(self.bytes);
                (0..self.count).map_while(move |_| $read_entry(&mut reader).ok())
            }
        }
    };
}

collection!(StringList, &'a str, |reader: &mut Reader<'a>| reader.string());
collection!(StringMap, (&'a str, &'a str), |reader: &mut Reader<'a>| Ok::<_, WireError>((reader.string()?, reader.string()?)));
collection!(StringMultimap, (&'a str, StringList<'a>), |reader: &mut Reader<'a>| {
    Ok::<_, WireError>((reader.string()?, StringList::read(reader)?))
});
collection!(BytesMap, (&'a str, Option<&'a [u8]>), |reader: &mut Reader<'a>| Ok::<_, WireError>((reader.string()?, reader.bytes()?)));

impl<'a> StringMap<'a> {
    /// The value of `key`, the last one if it occurs more than once.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.iter().filter(|(name, _)| *name == key).last().map(|(_, value)| value)
    }
}

impl<'a> StringMultimap<'a> {
    /// The values of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<StringList<'a>> {
        self.iter().find(|(name, _)| *name == key).map(|(_, values)| values)
    }
}

impl<'a> BytesMap<'a> {
    /// The value of `key`: `Some(None)` if it is there and null.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Option<&'a [u8]>> {
        self.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }
}

impl<'a> Reader<'a> {
    /// A `[string list]`, every string checked.
    ///
    /// # Errors
    /// [`WireError::Truncated`], [`WireError::InvalidUtf8`].
    pub fn string_list(&mut self) -> Result<StringList<'a>, WireError> {
        StringList::read(self)
    }

    /// A `[string map]`, every string checked.
    ///
    /// # Errors
    /// [`WireError::Truncated`], [`WireError::InvalidUtf8`].
    pub fn string_map(&mut self) -> Result<StringMap<'a>, WireError> {
        StringMap::read(self)
    }

    /// A `[string multimap]`, every string checked.
    ///
    /// # Errors
    /// [`WireError::Truncated`], [`WireError::InvalidUtf8`].
    pub fn string_multimap(&mut self) -> Result<StringMultimap<'a>, WireError> {
        StringMultimap::read(self)
    }

    /// A `[bytes map]`, every key and length checked.
    ///
    /// # Errors
    /// [`WireError::Truncated`], [`WireError::InvalidUtf8`].
    pub fn bytes_map(&mut self) -> Result<BytesMap<'a>, WireError> {
        BytesMap::read(self)
    }
}
