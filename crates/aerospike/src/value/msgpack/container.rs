//! A list or map cut into its elements, to change it and to write it again.

use std::borrow::Cow;

use super::reader::{Head, Malformed, Reader, flags};
use super::{compare, write};

/// A list as its elements' bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List<'a> {
    /// Whether the elements are kept in the order of their values.
    pub ordered: bool,
    /// The elements.
    pub items: Vec<Cow<'a, [u8]>>,
}

impl<'a> List<'a> {
    /// Cuts a list; none if the bytes are another value.
    ///
    /// # Errors
    /// The bytes are no value.
    pub fn parse(bytes: &'a [u8]) -> Result<Option<Self>, Malformed> {
        let mut reader = Reader::new(bytes);
        let Head::List(mut count) = reader.head()? else { return Ok(None) };
        let ordered = reader.list_flags(&mut count)? & flags::ORDERED != 0;
        let items = (0..count).map(|_| reader.value().map(Cow::Borrowed)).collect::<Result<_, _>>()?;
        Ok(Some(Self { ordered, items }))
    }

    /// The list as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(9 + self.items.iter().map(|item| item.len()).sum::<usize>());
        write::list(&mut out, self.items.len(), if self.ordered { flags::ORDERED } else { 0 });
        for item in &self.items {
            out.extend_from_slice(item);
        }
        out
    }

    /// Puts the elements in order; equal ones stay in theirs.
    pub fn sort(&mut self) {
        self.items.sort_by(|left, right| compare(left, right));
    }

    /// How many elements are below a value, and how many are below or equal, of an ordered list.
    pub fn range_of(&self, value: &[u8]) -> std::ops::Range<usize> {
        let start = self.items.partition_point(|item| compare(item, value).is_lt());
        let count = self.items[start..].partition_point(|item| compare(item, value).is_eq());
        start..start + count
    }

    /// Puts an element where the order wants it, behind its equals.
    pub fn insert_ordered(&mut self, item: Cow<'a, [u8]>) {
        let at = self.items.partition_point(|other| compare(other, &item).is_le());
        self.items.insert(at, item);
    }
}

/// How the pairs of a map are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapOrder {
    /// As they came.
    #[default]
    Unordered,
    /// In the order of their keys.
    Key,
    /// In the order of their keys, and the client is told that values are in order too.
    KeyValue,
}

impl MapOrder {
    /// The order that flags mean; none if they mean none.
    pub fn from_flags(flags: u8) -> Option<Self> {
        match flags & (flags::ORDERED | flags::VALUE_ORDERED) {
            0 => Some(Self::Unordered),
            flags::ORDERED => Some(Self::Key),
            flags::VALUE_ORDERED => None,
            _ => Some(Self::KeyValue),
        }
    }

    /// The flags that mean the order.
    pub fn flags(self) -> u8 {
        match self {
            Self::Unordered => 0,
            Self::Key => flags::ORDERED,
            Self::KeyValue => flags::ORDERED | flags::VALUE_ORDERED,
        }
    }
}

/// A pair of a map, as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The key.
    pub key: Cow<'a, [u8]>,
    /// The value.
    pub value: Cow<'a, [u8]>,
}

/// A map as its pairs' bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map<'a> {
    /// How the pairs are kept.
    pub order: MapOrder,
    /// The pairs.
    pub entries: Vec<Entry<'a>>,
}

impl<'a> Map<'a> {
    /// Cuts a map; none if the bytes are another value.
    ///
    /// # Errors
    /// The bytes are no value.
    pub fn parse(bytes: &'a [u8]) -> Result<Option<Self>, Malformed> {
        let mut reader = Reader::new(bytes);
        let Head::Map(mut count) = reader.head()? else { return Ok(None) };
        let order = MapOrder::from_flags(reader.map_flags(&mut count)?).ok_or(Malformed)?;
        let mut entries = Vec::with_capacity(count);
        for _ in 0..count {
            entries.push(Entry { key: Cow::Borrowed(reader.value()?), value: Cow::Borrowed(reader.value()?) });
        }
        Ok(Some(Self { order, entries }))
    }

    /// The map as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(9 + self.entries.iter().map(|entry| entry.key.len() + entry.value.len()).sum::<usize>());
        write::map(&mut out, self.entries.len(), self.order.flags());
        for entry in &self.entries {
            out.extend_from_slice(&entry.key);
            out.extend_from_slice(&entry.value);
        }
        out
    }

    /// Puts the pairs in the order of their keys.
    pub fn sort(&mut self) {
        self.entries.sort_by(|left, right| compare(&left.key, &right.key));
    }

    /// Where a key is, or where it would be put.
    ///
    /// # Errors
    /// The place, if it is not there.
    pub fn find(&self, key: &[u8]) -> Result<usize, usize> {
        match self.order {
            MapOrder::Unordered => self.entries.iter().position(|entry| compare(&entry.key, key).is_eq()).ok_or(self.entries.len()),
            MapOrder::Key | MapOrder::KeyValue => self.entries.binary_search_by(|entry| compare(&entry.key, key)),
        }
    }
}
