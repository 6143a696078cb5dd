//! Keys of entries.
//!
//! | bytes | clustering key of an entry |
//! |---|---|
//! | … | the value, as a component of a clustering key ([`crate::value::comparable`]); of an entry of a map the key's and the value's |
//! | 8 | the row's token, big-endian, sign bit flipped |
//! | … | its partition key, as a component of type blob |
//! | … | its clustering key |
//! | 2 | bytes of the value, big-endian |
//!
//! A value has at most [`INDEX_VALUE_BYTES_MAX`] bytes here: longer ones are cut, so that they are found among those that begin alike. Entries sort by value,
//! then as their rows do in the ring. No value starts with a byte below `20`: these are the keys of the slot's state.

use crate::value::comparable;
use base::Token;
use model::DataType;
use model::operation::INDEX_VALUE_BYTES_MAX;

/// Clustering keys have a length of 16 bits.
const KEY_BYTES_MAX: usize = u16::MAX as usize;

/// Room for a value of a usual length.
const VALUE_BYTES: usize = 64;

/// Keys of entries are above those of a slot's state.
pub(crate) const FIRST_VALUE: &[u8] = &[0x20];

/// The value that an entry's key starts with, from its parts.
pub(crate) fn value_key<'a>(parts: impl Iterator<Item = (&'a DataType, &'a [u8])>) -> Vec<u8> {
    let mut key = Vec::with_capacity(VALUE_BYTES);
    parts.for_each(|(ty, wire)| comparable::encode(ty, wire, false, &mut key));
    key.truncate(INDEX_VALUE_BYTES_MAX);
    key
}

/// What the keys of all texts that begin with `prefix` begin with, or come after.
pub(crate) fn prefix_key(ty: &DataType, prefix: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    comparable::encode(ty, prefix, false, &mut key);
    // Without the two bytes that end a text.
    key.truncate(key.len().saturating_sub(2).min(INDEX_VALUE_BYTES_MAX));
    key
}

/// The first key after all entries of values that start with `value`.
pub(crate) fn after_value(value: &[u8]) -> Option<Vec<u8>> {
    let mut end = value.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return Some(end);
        }
    }
    None
}

/// Where an entry's row is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntryKey {
    pub(crate) token: Token,
    pub(crate) partition: Vec<u8>,
    pub(crate) clustering: Vec<u8>,
}

/// The prefixes of an entry's key by which slots are found: its value.
#[must_use]
pub fn value_prefix(key: &[u8], number: usize) -> Option<&[u8]> {
    if number == 0 { EntryKey::value(key) } else { None }
}

impl EntryKey {
    /// Appends the key of an entry of `value`, which stands in `out` already; false if it would be too long.
    pub(crate) fn append(token: Token, partition: &[u8], clustering: &[u8], out: &mut Vec<u8>) -> bool {
        let value_bytes = out.len() as u16;
        Self::append_place(token, partition, clustering, out);
        out.extend_from_slice(&value_bytes.to_be_bytes());
        out.len() <= KEY_BYTES_MAX
    }

    /// Appends what sorts entries of one value.
    pub(crate) fn append_place(token: Token, partition: &[u8], clustering: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&(token.0 ^ i64::MIN).to_be_bytes());
        comparable::encode(&DataType::Blob, partition, false, out);
        out.extend_from_slice(clustering);
    }

    /// The value of an entry's key; `None` for other keys of a slot.
    pub(crate) fn value(key: &[u8]) -> Option<&[u8]> {
        let (rest, value_bytes) = key.split_last_chunk::<2>()?;
        rest.get(..usize::from(u16::from_be_bytes(*value_bytes)))
    }

    /// Reads an entry's key; `None` for bytes that are none.
    pub(crate) fn read(key: &[u8]) -> Option<Self> {
        let (key, value_bytes) = key.split_last_chunk::<2>()?;
        let rest = key.get(usize::from(u16::from_be_bytes(*value_bytes))..)?;
        let (token, mut rest) = rest.split_first_chunk::<8>()?;
        let mut partition = Vec::new();
        comparable::decode(&DataType::Blob, false, &mut rest, &mut partition).ok()?;
        Some(Self { token: Token(i64::from_be_bytes(*token) ^ i64::MIN), partition, clustering: rest.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_leads_back_to_its_row() {
        for (token, partition, clustering) in [(-5i64, &b"p\0q"[..], &b""[..]), (i64::MAX, b"", b"\x10\xFF\x00"), (0, b"long", b"\x40abc")]
        {
            let mut key = b"\x40value".to_vec();
            assert!(EntryKey::append(Token(token), partition, clustering, &mut key));
            let read = EntryKey::read(&key).expect("an entry");
            assert_eq!((read.token, read.partition.as_slice(), read.clustering.as_slice()), (Token(token), partition, clustering));
        }
        assert_eq!(EntryKey::read(b"\x40"), None);
        assert_eq!(EntryKey::read(b"\xFF\xFF\xFF"), None);
    }

    #[test]
    fn entries_of_a_value_sort_as_their_rows_in_the_ring() {
        let places = [(-9i64, &b"a"[..], &b"1"[..]), (-9, b"a", b"2"), (-9, b"ab", b"0"), (-1, b"a", b""), (0, b"a", b""), (7, b"", b"")];
        let keys = places.map(|(token, partition, clustering)| {
            let mut key = b"\x40v".to_vec();
            assert!(EntryKey::append(Token(token), partition, clustering, &mut key));
            key
        });
        assert!(keys.is_sorted(), "{keys:?}");
    }

    #[test]
    fn the_end_of_values_that_start_alike() {
        assert_eq!(after_value(b"\x40a"), Some(b"\x40b".to_vec()));
        assert_eq!(after_value(b"\x40\xFF\xFF"), Some(b"\x41".to_vec()));
        assert_eq!(after_value(b"\xFF"), None);
    }
}
