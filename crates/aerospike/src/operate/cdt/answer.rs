//! What is said about the elements that an operation selected.

use super::outcome::{number, particle};
use super::select::{Axis, Elements, Selected};
use crate::ResultCode;
use crate::value::msgpack::{compare, flags, write};
use crate::value::{Particle, ParticleType};

/// All but the selected elements.
const INVERTED: u64 = 0x1_0000;

/// What a client wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Return {
    Nothing,
    Index,
    ReverseIndex,
    Rank,
    ReverseRank,
    Count,
    Key,
    Value,
    KeyValue,
    Exists,
    UnorderedMap,
    OrderedMap,
}

impl Return {
    /// From the number that clients send; and whether all other elements are meant.
    ///
    /// # Errors
    /// [`ResultCode::OP_NOT_APPLICABLE`] for a number that means nothing, or nothing about a list.
    pub(super) fn parse(wire: u64, of_map: bool) -> Result<(Self, bool), ResultCode> {
        let wanted = match wire & !INVERTED {
            0 => Self::Nothing,
            1 => Self::Index,
            2 => Self::ReverseIndex,
            3 => Self::Rank,
            4 => Self::ReverseRank,
            5 => Self::Count,
            6 if of_map => Self::Key,
            7 => Self::Value,
            8 if of_map => Self::KeyValue,
            13 => Self::Exists,
            16 if of_map => Self::UnorderedMap,
            17 if of_map => Self::OrderedMap,
            _ => return Err(ResultCode::OP_NOT_APPLICABLE),
        };
        Ok((wanted, wire & INVERTED != 0))
    }
}

/// The answer about the selected elements.
pub(super) fn answer(wanted: Return, elements: &Elements<'_>, selected: &Selected) -> Result<Option<Particle<'static>>, ResultCode> {
    match selected {
        Selected::One(None) => Ok(answer_missing(wanted)),
        Selected::One(Some(index)) => answer_one(wanted, elements, *index),
        Selected::Many(indices, axis) => Ok(answer_many(wanted, elements, indices, *axis)),
    }
}

fn answer_missing(wanted: Return) -> Option<Particle<'static>> {
    match wanted {
        Return::Nothing | Return::Key | Return::Value => None,
        Return::Index | Return::ReverseIndex | Return::Rank | Return::ReverseRank => {
            Some(Particle::owned(ParticleType::Integer, (-1i64).to_be_bytes().to_vec()))
        }
        Return::Count => number(0),
        Return::Exists => exists(false),
        Return::KeyValue => Some(pairs(flags::PRESERVE_ORDER, std::iter::empty())),
        Return::UnorderedMap => Some(pairs(0, std::iter::empty())),
        Return::OrderedMap => Some(pairs(flags::ORDERED, std::iter::empty())),
    }
}

fn answer_one(wanted: Return, elements: &Elements<'_>, index: usize) -> Result<Option<Particle<'static>>, ResultCode> {
    let last = elements.len() - 1;
    Ok(match wanted {
        Return::Nothing => None,
        Return::Index => number(index),
        Return::ReverseIndex => number(last - index),
        Return::Rank => number(rank(elements, index)),
        Return::ReverseRank => number(last - rank(elements, index)),
        Return::Count => number(1),
        Return::Exists => exists(true),
        Return::Value => Some(particle(elements.values[index])?),
        Return::Key => elements.keys.as_ref().map(|keys| particle(keys[index])).transpose()?,
        Return::KeyValue => map(elements, &[index], flags::PRESERVE_ORDER),
        Return::UnorderedMap => map(elements, &[index], 0),
        Return::OrderedMap => map(elements, &[index], flags::ORDERED),
    })
}

fn answer_many(wanted: Return, elements: &Elements<'_>, indices: &[usize], axis: Axis) -> Option<Particle<'static>> {
    let count = elements.len();
    match wanted {
        Return::Nothing => None,
        Return::Count => number(indices.len()),
        Return::Exists => exists(!indices.is_empty()),
        Return::Index => Some(numbers(indices.iter().copied(), axis == Axis::Index)),
        Return::ReverseIndex => Some(numbers(indices.iter().map(|index| count - 1 - index), axis == Axis::Index)),
        Return::Rank => {
            let ranks = ranks_of(elements);
            Some(numbers(indices.iter().map(|index| ranks[*index]), axis == Axis::Rank))
        }
        Return::ReverseRank => {
            let ranks = ranks_of(elements);
            Some(numbers(indices.iter().map(|index| count - 1 - ranks[*index]), axis == Axis::Rank))
        }
        Return::Value => Some(values(indices.iter().map(|index| elements.values[*index]))),
        Return::Key => elements.keys.as_ref().map(|keys| values(indices.iter().map(|index| keys[*index]))),
        Return::KeyValue => map(elements, indices, flags::PRESERVE_ORDER),
        Return::UnorderedMap => map(elements, indices, 0),
        Return::OrderedMap => {
            let mut indices = indices.to_vec();
            indices.sort_unstable();
            map(elements, &indices, flags::ORDERED)
        }
    }
}

/// How many elements are of lower rank.
fn rank(elements: &Elements<'_>, index: usize) -> usize {
    if elements.ranked {
        return index;
    }
    let value = elements.values[index];
    let below = |(other, bytes): &(usize, &&[u8])| compare(bytes, value).then(other.cmp(&index)).is_lt();
    elements.values.iter().enumerate().filter(below).count()
}

/// The rank of every element.
fn ranks_of(elements: &Elements<'_>) -> Vec<usize> {
    let mut ranks = vec![0; elements.len()];
    for (rank, index) in elements.ranks().into_iter().enumerate() {
        ranks[index] = rank;
    }
    ranks
}

fn exists(value: bool) -> Option<Particle<'static>> {
    Some(Particle::owned(ParticleType::Bool, vec![value.into()]))
}

/// A list of numbers; those of neighbours go upwards.
fn numbers(numbers: impl Iterator<Item = usize>, sorted: bool) -> Particle<'static> {
    let mut numbers: Vec<usize> = numbers.collect();
    if sorted {
        numbers.sort_unstable();
    }
    let mut out = Vec::new();
    write::list(&mut out, numbers.len(), 0);
    for number in numbers {
        write::integer(&mut out, number as i64);
    }
    Particle::owned(ParticleType::List, out)
}

/// A list of values.
pub(super) fn values<'v>(values: impl ExactSizeIterator<Item = &'v [u8]>) -> Particle<'static> {
    let mut out = Vec::new();
    write::list(&mut out, values.len(), 0);
    for value in values {
        out.extend_from_slice(value);
    }
    Particle::owned(ParticleType::List, out)
}

fn map(elements: &Elements<'_>, indices: &[usize], flags: u8) -> Option<Particle<'static>> {
    let keys = elements.keys.as_ref()?;
    Some(pairs(flags, indices.iter().map(|index| (keys[*index], elements.values[*index]))))
}

fn pairs<'v>(flags: u8, pairs: impl ExactSizeIterator<Item = (&'v [u8], &'v [u8])>) -> Particle<'static> {
    let mut out = Vec::new();
    write::map(&mut out, pairs.len(), flags);
    for (key, value) in pairs {
        out.extend_from_slice(key);
        out.extend_from_slice(value);
    }
    Particle::owned(ParticleType::Map, out)
}
