//! Operations on a map.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::answer::{Return, answer};
use super::call::{Arguments, Call, code};
use super::list::{ByValue, Sign, sum};
use super::outcome::{Outcome, number, particle};
use super::select::{Elements, Kind, Selected, Selector};
use super::stored::{stored, stored_key};
use crate::ResultCode;
use crate::value::Particle;
use crate::value::msgpack::{Entry, Map, MapOrder, compare};

/// Bits of the flags of a write.
mod write_flags {
    /// A key must not be there yet.
    pub(super) const CREATE_ONLY: u64 = 1;
    /// A key must be there.
    pub(super) const UPDATE_ONLY: u64 = 2;
    /// What is not allowed is left out, and is no error.
    pub(super) const NO_FAIL: u64 = 4;
    /// With [`NO_FAIL`]: of several pairs, those that are allowed are written.
    pub(super) const PARTIAL: u64 = 8;
}

/// A key and a value, as they are stored.
type Pair = (Vec<u8>, Vec<u8>);

/// So many pairs are put one by one; more of them through an index.
const ONE_BY_ONE_MAX: usize = 8;

/// Reads a map.
pub(super) fn read(call: &Call<'_>, bytes: &[u8]) -> Result<Option<Particle<'static>>, ResultCode> {
    let map = Map::parse(bytes)?.ok_or(ResultCode::BIN_TYPE)?;
    if call.code == code::MAP_SIZE {
        call.arguments(0, 0)?;
        return Ok(number(map.entries.len()));
    }
    let positions = by_key(&map);
    let (wanted, elements, selected) = select(call, &map, &positions)?;
    answer(wanted, &elements, &selected)
}

/// Changes a map, or makes it if there is none.
pub(super) fn modify(call: &Call<'_>, bytes: Option<&[u8]>) -> Result<Outcome, ResultCode> {
    let mut map = match bytes {
        Some(bytes) => Map::parse(bytes)?.ok_or(ResultCode::BIN_TYPE)?,
        None => Map { order: created_order(call)?, entries: Vec::new() },
    };
    let depth = call.path.len() + 1;
    let result = match call.code {
        code::MAP_SET_TYPE => {
            map.order = order(call.arguments(1, 2)?, 0)?;
            if map.order != MapOrder::Unordered {
                map.sort();
            }
            None
        }
        code::MAP_ADD | code::MAP_PUT | code::MAP_REPLACE => {
            let arguments = call.arguments(2, 4)?;
            let pair = (stored_key(arguments.value(0)?, depth)?, stored(arguments.value(1)?, depth)?);
            put(&mut map, vec![pair], write_flags(call, arguments, 3)?)?;
            number(map.entries.len())
        }
        code::MAP_ADD_ITEMS | code::MAP_PUT_ITEMS | code::MAP_REPLACE_ITEMS => {
            let arguments = call.arguments(1, 3)?;
            let pairs = stored_pairs(arguments.value(0)?, depth)?;
            put(&mut map, pairs, write_flags(call, arguments, 2)?)?;
            number(map.entries.len())
        }
        code::MAP_INCREMENT | code::MAP_DECREMENT => {
            let arguments = call.arguments(1, 4)?;
            let key = stored_key(arguments.value(0)?, depth)?;
            let sign = if call.code == code::MAP_INCREMENT { Sign::Plus } else { Sign::Minus };
            let at = map.find(&key);
            let old = at.ok().map(|position| &*map.entries[position].value);
            let new = sum(old, arguments.optional_value(1), sign)?;
            let result = Some(particle(&new)?);
            put(&mut map, vec![(key, new)], write_flags(call, arguments, 3)?)?;
            result
        }
        code::MAP_CLEAR => {
            call.arguments(0, 0)?;
            map.entries.clear();
            None
        }
        _ => return remove(call, map),
    };
    Ok(Outcome::changed(map.to_bytes(), result))
}

/// The order of a map that an operation makes.
fn created_order(call: &Call<'_>) -> Result<MapOrder, ResultCode> {
    match call.code {
        code::MAP_ADD | code::MAP_PUT | code::MAP_INCREMENT | code::MAP_DECREMENT => order(call.arguments(1, 4)?, 2),
        code::MAP_ADD_ITEMS | code::MAP_PUT_ITEMS => order(call.arguments(1, 3)?, 1),
        _ => Ok(MapOrder::Unordered),
    }
}

fn order(arguments: Arguments<'_, '_>, at: usize) -> Result<MapOrder, ResultCode> {
    MapOrder::from_flags(arguments.flags(at)? as u8).ok_or(ResultCode::PARAMETER)
}

/// The flags of a write, be they in the operation or in an argument.
fn write_flags(call: &Call<'_>, arguments: Arguments<'_, '_>, at: usize) -> Result<u64, ResultCode> {
    let flags = match call.code {
        code::MAP_ADD | code::MAP_ADD_ITEMS => write_flags::CREATE_ONLY,
        code::MAP_REPLACE | code::MAP_REPLACE_ITEMS => write_flags::UPDATE_ONLY,
        _ => arguments.flags(at)?,
    };
    let both = write_flags::CREATE_ONLY | write_flags::UPDATE_ONLY;
    if flags & both == both { Err(ResultCode::PARAMETER) } else { Ok(flags) }
}

fn stored_pairs(bytes: &[u8], depth: usize) -> Result<Vec<Pair>, ResultCode> {
    let entries = Map::parse(bytes)?.ok_or(ResultCode::PARAMETER)?.entries;
    entries.iter().map(|entry| Ok((stored_key(&entry.key, depth)?, stored(&entry.value, depth)?))).collect()
}

/// Writes pairs, in their order; all of them, or, if the flags say so, those that are allowed.
fn put(map: &mut Map<'_>, pairs: Vec<Pair>, flags: u64) -> Result<(), ResultCode> {
    let partial = flags & (write_flags::NO_FAIL | write_flags::PARTIAL) == write_flags::NO_FAIL | write_flags::PARTIAL;
    let before = if pairs.len() > 1 && flags & write_flags::NO_FAIL != 0 && !partial { Some(map.clone()) } else { None };
    let written =
        if pairs.len() <= ONE_BY_ONE_MAX { put_one_by_one(map, pairs, flags, partial) } else { put_with_index(map, pairs, flags, partial) };
    match written {
        Err(_) if flags & write_flags::NO_FAIL != 0 => {
            if let Some(before) = before {
                *map = before;
            }
            Ok(())
        }
        written => written,
    }
}

/// Whether a pair may be written.
fn check(exists: bool, flags: u64) -> Result<(), ResultCode> {
    match exists {
        true if flags & write_flags::CREATE_ONLY != 0 => Err(ResultCode::ELEMENT_EXISTS),
        false if flags & write_flags::UPDATE_ONLY != 0 => Err(ResultCode::ELEMENT_NOT_FOUND),
        _ => Ok(()),
    }
}

fn put_one_by_one(map: &mut Map<'_>, pairs: Vec<Pair>, flags: u64, partial: bool) -> Result<(), ResultCode> {
    for (key, value) in pairs {
        let place = map.find(&key);
        match check(place.is_ok(), flags) {
            Ok(()) => {}
            Err(_) if partial => continue,
            Err(code) => return Err(code),
        }
        match place {
            Ok(position) => map.entries[position].value = Cow::Owned(value),
            Err(position) => map.entries.insert(position, Entry { key: Cow::Owned(key), value: Cow::Owned(value) }),
        }
    }
    Ok(())
}

fn put_with_index(map: &mut Map<'_>, pairs: Vec<Pair>, flags: u64, partial: bool) -> Result<(), ResultCode> {
    let keys: Vec<Cow<'_, [u8]>> = map.entries.iter().map(|entry| entry.key.clone()).collect();
    let mut positions: BTreeMap<ByValue<'_>, usize> = keys.iter().enumerate().map(|(position, key)| (ByValue(key), position)).collect();
    for (key, value) in &pairs {
        let position = positions.get(&ByValue(key)).copied();
        match check(position.is_some(), flags) {
            Ok(()) => {}
            Err(_) if partial => continue,
            Err(code) => return Err(code),
        }
        let value = Cow::Owned(value.clone());
        match position {
            Some(position) => map.entries[position].value = value,
            None => {
                positions.insert(ByValue(key), map.entries.len());
                map.entries.push(Entry { key: Cow::Owned(key.clone()), value });
            }
        }
    }
    if map.order != MapOrder::Unordered {
        map.sort();
    }
    Ok(())
}

/// The positions of the pairs in the order of their keys.
fn by_key(map: &Map<'_>) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..map.entries.len()).collect();
    if map.order == MapOrder::Unordered {
        positions.sort_by(|left, right| compare(&map.entries[*left].key, &map.entries[*right].key));
    }
    positions
}

/// Finds what an operation selects by, what it wants to know, and the elements it means.
fn select<'m>(call: &Call<'_>, map: &'m Map<'_>, positions: &[usize]) -> Result<(Return, Elements<'m>, Selected), ResultCode> {
    // By the codes of a removal and of the read that means the same elements.
    let kind = match call.code {
        76 | 97 => Kind::Key,
        77 | 98 => Kind::Index,
        79 | 100 => Kind::Rank,
        81 | 107 => Kind::KeyList,
        82 | 102 => Kind::Value,
        83 | 108 => Kind::ValueList,
        84 | 103 => Kind::KeyInterval,
        85 | 104 => Kind::IndexRange,
        86 | 105 => Kind::ValueInterval,
        87 | 106 => Kind::RankRange,
        88 | 109 => Kind::KeyRelative,
        89 | 110 => Kind::ValueRelative,
        _ => return Err(ResultCode::PARAMETER),
    };
    let (least, most) = kind.arguments();
    let arguments = call.arguments(least, most)?;
    let (wanted, inverted) = Return::parse(arguments.count(0)?, true)?;
    let selector = Selector::parse(kind, arguments)?;
    let keys = positions.iter().map(|position| &*map.entries[*position].key).collect();
    let values = positions.iter().map(|position| &*map.entries[*position].value).collect();
    let elements = Elements { keys: Some(keys), values, ranked: false };
    let selected = elements.select(&selector, inverted)?;
    Ok((wanted, elements, selected))
}

fn remove(call: &Call<'_>, mut map: Map<'_>) -> Result<Outcome, ResultCode> {
    let positions = by_key(&map);
    let (wanted, elements, selected) = select(call, &map, &positions)?;
    let result = answer(wanted, &elements, &selected)?;
    let mut gone = vec![false; map.entries.len()];
    selected.indices().iter().for_each(|index| gone[positions[*index]] = true);
    let mut gone = gone.into_iter();
    map.entries.retain(|_| gone.next() == Some(false));
    Ok(Outcome::changed(map.to_bytes(), result))
}
