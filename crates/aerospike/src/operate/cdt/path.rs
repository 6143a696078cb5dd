//! Walks to the container that an operation is about, and puts a changed one back.

use std::borrow::Cow;

use super::call::{Call, Container, Create, Place, Step, code};
use super::outcome::Outcome;
use super::select::{one, wrap};
use super::stored::{pad, stored_key};
use super::{list, map};
use crate::ResultCode;
use crate::value::msgpack::{Entry, List, Map, MapOrder, compare};

/// The container at the end of a path; none if a step that may make its place leads nowhere.
///
/// # Errors
/// [`ResultCode::OP_NOT_APPLICABLE`] if the path leads nowhere.
pub(super) fn resolve<'a>(bytes: &'a [u8], path: &[Step<'a>]) -> Result<Option<&'a [u8]>, ResultCode> {
    let mut at = Cow::Borrowed(bytes);
    for step in path {
        let Cow::Borrowed(bytes) = at else { return Err(ResultCode::SERVER_ERROR) };
        let next = match step.container {
            Container::List => {
                let mut list = List::parse(bytes)?.ok_or(ResultCode::OP_NOT_APPLICABLE)?;
                find_in_list(&list, step.place)?.map(|index| list.items.swap_remove(index))
            }
            Container::Map => {
                let mut map = Map::parse(bytes)?.ok_or(ResultCode::OP_NOT_APPLICABLE)?;
                find_in_map(&map, step.place).map(|position| map.entries.swap_remove(position).value)
            }
        };
        match next {
            Some(next) => at = next,
            None if step.create == Create::No => return Err(ResultCode::OP_NOT_APPLICABLE),
            None => return Ok(None),
        }
    }
    match at {
        Cow::Borrowed(bytes) => Ok(Some(bytes)),
        Cow::Owned(_) => Err(ResultCode::SERVER_ERROR),
    }
}

/// Does a call on what is `depth` steps down its path; `bytes` are none if nothing is there.
///
/// # Errors
/// As the operation's; and [`ResultCode::OP_NOT_APPLICABLE`] if the path leads nowhere.
pub(super) fn modify(bytes: Option<&[u8]>, call: &Call<'_>, depth: usize) -> Result<Outcome, ResultCode> {
    if bytes.is_none() && !call.creates() {
        return match call.code {
            code::MAP_REPLACE | code::MAP_REPLACE_ITEMS => Err(ResultCode::ELEMENT_NOT_FOUND),
            _ => Ok(Outcome::unchanged(None)),
        };
    }
    match call.path.get(depth) {
        None => match call.container {
            Container::List => list::modify(call, bytes),
            Container::Map => map::modify(call, bytes),
        },
        Some(step) if bytes.is_none() && step.create == Create::No => Err(ResultCode::OP_NOT_APPLICABLE),
        Some(step) => match step.container {
            Container::List => modify_in_list(bytes, step, call, depth),
            Container::Map => modify_in_map(bytes, step, call, depth),
        },
    }
}

fn modify_in_list(bytes: Option<&[u8]>, step: &Step<'_>, call: &Call<'_>, depth: usize) -> Result<Outcome, ResultCode> {
    let mut list = match bytes {
        Some(bytes) => List::parse(bytes)?.ok_or(ResultCode::OP_NOT_APPLICABLE)?,
        None => List { ordered: step.create == Create::Third, items: Vec::new() },
    };
    let found = find_in_list(&list, step.place)?;
    if found.is_none() && step.create == Create::No {
        return Err(ResultCode::OP_NOT_APPLICABLE);
    }
    let inner = modify(found.map(|index| &*list.items[index]), call, depth + 1)?;
    let Some(changed) = inner.container else { return Ok(inner) };
    match found {
        Some(index) if list.ordered => {
            list.items.remove(index);
            list.insert_ordered(Cow::Owned(changed));
        }
        Some(index) => list.items[index] = Cow::Owned(changed),
        None if list.ordered => list.insert_ordered(Cow::Owned(changed)),
        None => {
            let Place::Index(index) = step.place else { return Err(ResultCode::PARAMETER) };
            let index = usize::try_from(wrap(index, list.items.len())).map_err(|_| ResultCode::OP_NOT_APPLICABLE)?;
            if index > list.items.len() && step.create != Create::Second {
                return Err(ResultCode::OP_NOT_APPLICABLE);
            }
            pad(&mut list, index)?;
            list.items.push(Cow::Owned(changed));
        }
    }
    Ok(Outcome::changed(list.to_bytes(), inner.result))
}

fn modify_in_map(bytes: Option<&[u8]>, step: &Step<'_>, call: &Call<'_>, depth: usize) -> Result<Outcome, ResultCode> {
    let mut map = match bytes {
        Some(bytes) => Map::parse(bytes)?.ok_or(ResultCode::OP_NOT_APPLICABLE)?,
        None => Map { order: created_order(step.create), entries: Vec::new() },
    };
    let found = find_in_map(&map, step.place);
    if found.is_none() && step.create == Create::No {
        return Err(ResultCode::OP_NOT_APPLICABLE);
    }
    let inner = modify(found.map(|position| &*map.entries[position].value), call, depth + 1)?;
    let Some(changed) = inner.container else { return Ok(inner) };
    let value = Cow::Owned(changed);
    match found {
        Some(position) => map.entries[position].value = value,
        None => {
            let Place::Key(key) = step.place else { return Err(ResultCode::PARAMETER) };
            let key = stored_key(key, depth + 1)?;
            let position = map.find(&key).unwrap_or_else(|position| position);
            map.entries.insert(position, Entry { key: Cow::Owned(key), value });
        }
    }
    Ok(Outcome::changed(map.to_bytes(), inner.result))
}

fn created_order(create: Create) -> MapOrder {
    match create {
        Create::No | Create::First => MapOrder::Unordered,
        Create::Second => MapOrder::Key,
        Create::Third => MapOrder::KeyValue,
    }
}

/// The place of a list that a step leads to.
fn find_in_list(list: &List<'_>, place: Place<'_>) -> Result<Option<usize>, ResultCode> {
    let count = list.items.len();
    Ok(match place {
        Place::Index(index) => one(index, count).ok(),
        Place::Rank(rank) => one(rank, count).ok().map(|rank| {
            let mut indices: Vec<usize> = (0..count).collect();
            if !list.ordered {
                indices.sort_by(|left, right| compare(&list.items[*left], &list.items[*right]));
            }
            indices[rank]
        }),
        Place::Value(value) => list.items.iter().position(|item| compare(item, value).is_eq()),
        Place::Key(_) => return Err(ResultCode::PARAMETER),
    })
}

/// The position of the pair of a map that a step leads to.
fn find_in_map(map: &Map<'_>, place: Place<'_>) -> Option<usize> {
    let count = map.entries.len();
    let by_key = || {
        let mut positions: Vec<usize> = (0..count).collect();
        if map.order == MapOrder::Unordered {
            positions.sort_by(|left, right| compare(&map.entries[*left].key, &map.entries[*right].key));
        }
        positions
    };
    match place {
        Place::Key(key) => map.find(key).ok(),
        Place::Index(index) => one(index, count).ok().map(|index| by_key()[index]),
        Place::Rank(rank) => one(rank, count).ok().map(|rank| {
            let mut positions = by_key();
            positions.sort_by(|left, right| compare(&map.entries[*left].value, &map.entries[*right].value));
            positions[rank]
        }),
        Place::Value(value) => by_key().into_iter().find(|position| compare(&map.entries[*position].value, value).is_eq()),
    }
}
