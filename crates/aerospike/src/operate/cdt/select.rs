//! The elements that an operation means: by index, rank, key or value, one or many.
//!
//! Elements are counted by their index: the place in a list, the place in the order of keys of a map. The rank is the place in the order
//! of values; of equal values the lower index comes first.

use std::ops::Range;

use super::call::Arguments;
use crate::ResultCode;
use crate::value::msgpack::{Head, Reader, compare};

/// What an operation selects by.
pub(super) enum Selector<'a> {
    Index(i64),
    IndexRange(i64, Option<u64>),
    Rank(i64),
    RankRange(i64, Option<u64>),
    Key(&'a [u8]),
    KeyInterval(&'a [u8], Option<&'a [u8]>),
    KeyList(Vec<&'a [u8]>),
    KeyRelative(&'a [u8], i64, Option<u64>),
    Value(&'a [u8]),
    ValueInterval(&'a [u8], Option<&'a [u8]>),
    ValueList(Vec<&'a [u8]>),
    ValueRelative(&'a [u8], i64, Option<u64>),
}

/// The kinds of [`Selector`].
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Index,
    IndexRange,
    Rank,
    RankRange,
    Key,
    KeyInterval,
    KeyList,
    KeyRelative,
    Value,
    ValueInterval,
    ValueList,
    ValueRelative,
}

impl Kind {
    /// The fewest and the most arguments; the first is the return type.
    pub(super) fn arguments(self) -> (usize, usize) {
        match self {
            Self::Index | Self::Rank | Self::Key | Self::KeyList | Self::Value | Self::ValueList => (2, 2),
            Self::IndexRange | Self::RankRange | Self::KeyInterval | Self::ValueInterval => (2, 3),
            Self::KeyRelative | Self::ValueRelative => (3, 4),
        }
    }
}

impl<'a> Selector<'a> {
    /// From the arguments behind the return type.
    pub(super) fn parse(kind: Kind, arguments: Arguments<'_, 'a>) -> Result<Self, ResultCode> {
        Ok(match kind {
            Kind::Index => Self::Index(arguments.integer(1)?),
            Kind::IndexRange => Self::IndexRange(arguments.integer(1)?, arguments.optional_count(2)?),
            Kind::Rank => Self::Rank(arguments.integer(1)?),
            Kind::RankRange => Self::RankRange(arguments.integer(1)?, arguments.optional_count(2)?),
            Kind::Key => Self::Key(arguments.value(1)?),
            Kind::KeyInterval => Self::KeyInterval(arguments.value(1)?, arguments.end(2)),
            Kind::KeyList => Self::KeyList(list(arguments.value(1)?)?),
            Kind::KeyRelative => Self::KeyRelative(arguments.value(1)?, arguments.integer(2)?, arguments.optional_count(3)?),
            Kind::Value => Self::Value(arguments.value(1)?),
            Kind::ValueInterval => Self::ValueInterval(arguments.value(1)?, arguments.end(2)),
            Kind::ValueList => Self::ValueList(list(arguments.value(1)?)?),
            Kind::ValueRelative => Self::ValueRelative(arguments.value(1)?, arguments.integer(2)?, arguments.optional_count(3)?),
        })
    }
}

fn list(bytes: &[u8]) -> Result<Vec<&[u8]>, ResultCode> {
    let mut reader = Reader::new(bytes);
    let Head::List(mut count) = reader.head()? else { return Err(ResultCode::PARAMETER) };
    reader.list_flags(&mut count)?;
    Ok((0..count).map(|_| reader.value()).collect::<Result<_, _>>()?)
}

/// The elements of a container, by index.
pub(super) struct Elements<'e> {
    /// The keys, of a map.
    pub(super) keys: Option<Vec<&'e [u8]>>,
    /// The values.
    pub(super) values: Vec<&'e [u8]>,
    /// Whether index and rank are the same.
    pub(super) ranked: bool,
}

/// Along which order the selected elements are neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    Neither,
    Index,
    Rank,
}

/// The elements that an operation means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Selected {
    /// An operation that means one element: its index, or none if there is no such key.
    One(Option<usize>),
    /// An operation that means any number: their indices in the order of the answer.
    Many(Vec<usize>, Axis),
}

impl Selected {
    /// The indices.
    pub(super) fn indices(&self) -> &[usize] {
        match self {
            Self::One(index) => index.as_slice(),
            Self::Many(indices, _) => indices,
        }
    }
}

impl Elements<'_> {
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The indices in the order of rank.
    pub(super) fn ranks(&self) -> Vec<usize> {
        let mut ranks: Vec<usize> = (0..self.len()).collect();
        if !self.ranked {
            ranks.sort_by(|left, right| compare(self.values[*left], self.values[*right]));
        }
        ranks
    }

    /// Finds what a selector means, or, `inverted`, all others.
    ///
    /// # Errors
    /// [`ResultCode::OP_NOT_APPLICABLE`] for one index or rank that is not there.
    pub(super) fn select(&self, selector: &Selector<'_>, inverted: bool) -> Result<Selected, ResultCode> {
        if inverted && matches!(selector, Selector::Index(_) | Selector::Rank(_) | Selector::Key(_)) {
            return Err(ResultCode::PARAMETER);
        }
        Ok(match selector {
            Selector::Index(index) => Selected::One(Some(self.one(*index)?)),
            Selector::Rank(rank) => Selected::One(Some(self.ranks()[self.one(*rank)?])),
            Selector::Key(key) => Selected::One(self.find_key(key)),
            Selector::IndexRange(index, count) => self.by_index(clip(wrap(*index, self.len()), *count, self.len()), inverted),
            Selector::KeyInterval(begin, end) => {
                let start = self.keys_below(begin);
                let end = end.map_or(self.len(), |end| self.keys_below(end)).max(start);
                self.by_index(start..end, inverted)
            }
            Selector::KeyRelative(key, index, count) => {
                self.by_index(clip(self.keys_below(key) as i128 + i128::from(*index), *count, self.len()), inverted)
            }
            Selector::RankRange(rank, count) => self.by_rank(clip(wrap(*rank, self.len()), *count, self.len()), inverted),
            Selector::ValueRelative(value, rank, count) => {
                let below = self.values.iter().filter(|other| compare(other, value).is_lt()).count();
                self.by_rank(clip(below as i128 + i128::from(*rank), *count, self.len()), inverted)
            }
            Selector::Value(value) => self.by_value(|other| compare(other, value).is_eq(), inverted),
            Selector::ValueInterval(begin, end) => {
                let below_end = |other: &[u8]| end.is_none_or(|end| compare(other, end).is_lt());
                self.by_value(|other| compare(other, begin).is_ge() && below_end(other), inverted)
            }
            Selector::KeyList(keys) => self.by_key_list(keys, inverted),
            Selector::ValueList(values) => self.by_value_list(values, inverted),
        })
    }

    /// A place that must be there; negative ones count from the end.
    fn one(&self, place: i64) -> Result<usize, ResultCode> {
        one(place, self.len())
    }

    fn keys_below(&self, key: &[u8]) -> usize {
        self.keys.as_ref().map_or(0, |keys| keys.partition_point(|other| compare(other, key).is_lt()))
    }

    fn find_key(&self, key: &[u8]) -> Option<usize> {
        let index = self.keys_below(key);
        let found = self.keys.as_ref()?.get(index)?;
        compare(found, key).is_eq().then_some(index)
    }

    fn by_index(&self, range: Range<usize>, inverted: bool) -> Selected {
        Selected::Many((0..self.len()).filter(|index| range.contains(index) != inverted).collect(), Axis::Index)
    }

    /// The answer of a map is in the order of rank. That of a list that has no order is in the order of rank from the end of the list
    /// which is nearer to the range; inverted, it is in the order of the list.
    fn by_rank(&self, range: Range<usize>, inverted: bool) -> Selected {
        let ranks = self.ranks();
        let mut indices: Vec<usize> = (0..self.len()).filter(|rank| range.contains(rank) != inverted).map(|rank| ranks[rank]).collect();
        if self.keys.is_none() && !self.ranked {
            if inverted {
                indices.sort_unstable();
            } else if range.start <= self.len() - range.end {
                indices.reverse();
            }
        }
        Selected::Many(indices, Axis::Rank)
    }

    /// Values that are neighbours by rank: the answer of a map is in the order of rank; that of a list, and what is inverted, in the order of
    /// the index.
    fn by_value(&self, meant: impl Fn(&[u8]) -> bool, inverted: bool) -> Selected {
        let selected = |index: &usize| meant(self.values[*index]) != inverted;
        let indices = match self.keys {
            Some(_) if !inverted => self.ranks().into_iter().filter(selected).collect(),
            _ => (0..self.len()).filter(selected).collect(),
        };
        Selected::Many(indices, Axis::Rank)
    }

    /// The answer is in the order of keys.
    fn by_key_list(&self, keys: &[&[u8]], inverted: bool) -> Selected {
        let mut named = vec![false; self.len()];
        keys.iter().filter_map(|key| self.find_key(key)).for_each(|index| named[index] = true);
        Selected::Many((0..self.len()).filter(|index| named[*index] != inverted).collect(), Axis::Index)
    }

    /// The answer of a map is in the order of rank; that of a list in the order of the values that were asked for; inverted, in the order of
    /// the index.
    fn by_value_list(&self, values: &[&[u8]], inverted: bool) -> Selected {
        let ranks = self.ranks();
        let mut found = Taken::new(self.len());
        let mut indices = Vec::new();
        for value in values {
            let start = ranks.partition_point(|index| compare(self.values[*index], value).is_lt());
            let count = ranks[start..].partition_point(|index| compare(self.values[*index], value).is_eq());
            indices.extend(found.take(start..start + count).map(|rank| ranks[rank]));
        }
        if inverted {
            let mut others: Vec<usize> = (0..self.len()).filter(|rank| !found.is_taken(*rank)).map(|rank| ranks[rank]).collect();
            others.sort_unstable();
            return Selected::Many(others, Axis::Rank);
        }
        if self.keys.is_some() {
            let found = (0..self.len()).filter(|rank| found.is_taken(*rank)).map(|rank| ranks[rank]);
            return Selected::Many(found.collect(), Axis::Rank);
        }
        Selected::Many(indices, Axis::Neither)
    }
}

/// A place among `count` that must be there; negative ones count from the end.
///
/// # Errors
/// [`ResultCode::OP_NOT_APPLICABLE`] for one that is not there.
pub(super) fn one(place: i64, count: usize) -> Result<usize, ResultCode> {
    let place = usize::try_from(wrap(place, count)).map_err(|_| ResultCode::OP_NOT_APPLICABLE)?;
    if place < count { Ok(place) } else { Err(ResultCode::OP_NOT_APPLICABLE) }
}

/// A place that counts from the end if it is negative.
pub(super) fn wrap(place: i64, count: usize) -> i128 {
    i128::from(place) + if place < 0 { count as i128 } else { 0 }
}

/// The part of a range that is there.
pub(super) fn clip(start: i128, count: Option<u64>, all: usize) -> Range<usize> {
    let end = count.map_or(all as i128, |count| start + i128::from(count));
    let clamped = |place: i128| place.clamp(0, all as i128) as usize;
    clamped(start)..clamped(end).max(clamped(start))
}

/// Places that are taken once each, in any order; skipping those that are taken costs next to nothing.
struct Taken {
    /// For a place that is taken, one behind it that may be free.
    next: Vec<usize>,
}

impl Taken {
    fn new(count: usize) -> Self {
        Self { next: (0..=count).collect() }
    }

    /// The first free place from one on.
    fn free_from(&mut self, mut place: usize) -> usize {
        while self.next[place] != place {
            self.next[place] = self.next[self.next[place]];
            place = self.next[place];
        }
        place
    }

    /// Takes the places of a range that are free.
    fn take(&mut self, range: Range<usize>) -> impl Iterator<Item = usize> {
        let mut at = range.start;
        std::iter::from_fn(move || {
            let place = self.free_from(at);
            if place >= range.end {
                return None;
            }
            self.next[place] = place + 1;
            at = place + 1;
            Some(place)
        })
    }

    fn is_taken(&self, place: usize) -> bool {
        self.next[place] != place
    }
}
