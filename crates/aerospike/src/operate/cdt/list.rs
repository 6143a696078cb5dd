//! Operations on a list.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::answer::{Return, answer, values};
use super::call::{Call, code};
use super::outcome::{Outcome, number, particle};
use super::select::{Elements, Kind, Selector, clip, one, wrap};
use super::stored::{pad, stored};
use crate::ResultCode;
use crate::value::Particle;
use crate::value::msgpack::{Head, List, Reader, compare, write};

/// Bits of the flags of a write.
mod write_flags {
    /// A value must not be there yet.
    pub(super) const ADD_UNIQUE: u64 = 1;
    /// A place must not be behind the end.
    pub(super) const INSERT_BOUNDED: u64 = 2;
    /// What is not allowed is left out, and is no error.
    pub(super) const NO_FAIL: u64 = 4;
    /// With [`NO_FAIL`]: of several values, those that are allowed are written.
    pub(super) const PARTIAL: u64 = 8;
}

/// Bits of the flags of a sort.
mod sort_flags {
    /// The largest first.
    pub(super) const DESCENDING: u64 = 1;
    /// Of equal values, one is left.
    pub(super) const DROP_DUPLICATES: u64 = 2;
}

/// The bit of a list's type that says it is ordered.
const ORDERED: u64 = 1;

/// Reads a list.
pub(super) fn read(call: &Call<'_>, bytes: &[u8]) -> Result<Option<Particle<'static>>, ResultCode> {
    let list = List::parse(bytes)?.ok_or(ResultCode::BIN_TYPE)?;
    let count = list.items.len();
    match call.code {
        code::LIST_SIZE => {
            call.arguments(0, 0)?;
            Ok(number(count))
        }
        code::LIST_GET => {
            let index = one(call.arguments(1, 1)?.integer(0)?, count)?;
            Ok(Some(particle(&list.items[index])?))
        }
        code::LIST_GET_RANGE => {
            let arguments = call.arguments(1, 2)?;
            let range = clip(wrap(arguments.integer(0)?, count), arguments.optional_count(1)?, count);
            Ok(Some(values(list.items[range].iter().map(|item| &**item))))
        }
        _ => {
            let (wanted, elements, selected) = select(call, &list)?;
            answer(wanted, &elements, &selected)
        }
    }
}

/// Changes a list, or makes it if there is none.
pub(super) fn modify(call: &Call<'_>, bytes: Option<&[u8]>) -> Result<Outcome, ResultCode> {
    let mut list = match bytes {
        Some(bytes) => List::parse(bytes)?.ok_or(ResultCode::BIN_TYPE)?,
        None => List { ordered: created_type(call)? & ORDERED != 0, items: Vec::new() },
    };
    let depth = call.path.len() + 1;
    let count = list.items.len();
    let result = match call.code {
        code::LIST_SET_TYPE => {
            list.ordered = call.arguments(1, 2)?.flags(0)? & ORDERED != 0;
            if list.ordered {
                list.sort();
            }
            None
        }
        code::LIST_APPEND | code::LIST_APPEND_ITEMS | code::LIST_INSERT | code::LIST_INSERT_ITEMS => {
            insert(call, &mut list)?;
            number(list.items.len())
        }
        code::LIST_SET => {
            let arguments = call.arguments(2, 3)?;
            let item = stored(arguments.value(1)?, depth)?;
            set(&mut list, arguments.integer(0)?, item, arguments.flags(2)?)?;
            None
        }
        code::LIST_INCREMENT => {
            let arguments = call.arguments(1, 4)?;
            let sum = increment(&mut list, arguments.integer(0)?, arguments.optional_value(1), arguments.flags(3)?)?;
            Some(particle(&sum)?)
        }
        code::LIST_POP => {
            let item = list.items.remove(one(call.arguments(1, 1)?.integer(0)?, count)?);
            Some(particle(&item)?)
        }
        code::LIST_REMOVE => {
            list.items.remove(one(call.arguments(1, 1)?.integer(0)?, count)?);
            number(1)
        }
        code::LIST_POP_RANGE | code::LIST_REMOVE_RANGE => {
            let arguments = call.arguments(1, 2)?;
            let range = clip(wrap(arguments.integer(0)?, count), arguments.optional_count(1)?, count);
            let removed: Vec<Cow<'_, [u8]>> = list.items.drain(range).collect();
            match call.code {
                code::LIST_POP_RANGE => Some(values(removed.iter().map(|item| &**item))),
                _ => number(removed.len()),
            }
        }
        code::LIST_TRIM => {
            let arguments = call.arguments(2, 2)?;
            let start = one(arguments.integer(0)?, count)?;
            let kept = clip(start as i128, Some(arguments.count(1)?), count);
            list.items.truncate(kept.end);
            list.items.drain(..kept.start);
            number(count - kept.len())
        }
        code::LIST_CLEAR => {
            call.arguments(0, 0)?;
            list.items.clear();
            None
        }
        code::LIST_SORT => {
            sort(&mut list, call.arguments(0, 1)?.flags(0)?);
            None
        }
        _ => return remove(call, list),
    };
    Ok(Outcome::changed(list.to_bytes(), result))
}

/// Adds an element or several, at the end or at an index.
fn insert(call: &Call<'_>, list: &mut List<'_>) -> Result<(), ResultCode> {
    let depth = call.path.len() + 1;
    let is_at_end = matches!(call.code, code::LIST_APPEND | code::LIST_APPEND_ITEMS);
    let arguments = if is_at_end { call.arguments(1, 3)? } else { call.arguments(2, 3)? };
    let value = arguments.value(usize::from(!is_at_end))?;
    let items = match call.code {
        code::LIST_APPEND | code::LIST_INSERT => vec![stored(value, depth)?],
        _ => stored_items(value, depth)?,
    };
    let index = if is_at_end { None } else { Some(arguments.integer(0)?) };
    add(list, index, items, arguments.flags(2)?)
}

/// The type of a list that an operation makes.
fn created_type(call: &Call<'_>) -> Result<u64, ResultCode> {
    match call.code {
        code::LIST_APPEND | code::LIST_APPEND_ITEMS => call.arguments(1, 3)?.flags(1),
        code::LIST_INCREMENT => call.arguments(1, 4)?.flags(2),
        _ => Ok(0),
    }
}

fn stored_items(bytes: &[u8], depth: usize) -> Result<Vec<Vec<u8>>, ResultCode> {
    let items = List::parse(bytes)?.ok_or(ResultCode::PARAMETER)?.items;
    items.iter().map(|item| stored(item, depth)).collect()
}

/// Adds values behind the end or at a place; an ordered list takes them where they belong.
fn add(list: &mut List<'_>, place: Option<i64>, items: Vec<Vec<u8>>, flags: u64) -> Result<(), ResultCode> {
    let at = match place {
        None => list.items.len(),
        Some(_) if list.ordered => return Err(ResultCode::OP_NOT_APPLICABLE),
        Some(place) => match place_for(list, place, flags)? {
            Some(at) => at,
            None => return Ok(()),
        },
    };
    let items = if flags & write_flags::ADD_UNIQUE != 0 {
        match new_items(list, items, flags)? {
            Some(items) => items,
            None => return Ok(()),
        }
    } else {
        items
    };
    if list.ordered && items.len() == 1 {
        items.into_iter().for_each(|item| list.insert_ordered(Cow::Owned(item)));
        return Ok(());
    }
    pad(list, at)?;
    list.items.splice(at..at, items.into_iter().map(Cow::Owned));
    if list.ordered {
        list.sort();
    }
    Ok(())
}

/// Where a value that is put at a place goes, which may be behind the end; none if that is not allowed, and no error.
fn place_for(list: &List<'_>, place: i64, flags: u64) -> Result<Option<usize>, ResultCode> {
    let at = usize::try_from(wrap(place, list.items.len())).map_err(|_| ResultCode::OP_NOT_APPLICABLE)?;
    if at <= list.items.len() || flags & write_flags::INSERT_BOUNDED == 0 {
        return Ok(Some(at));
    }
    refuse(flags, ResultCode::OP_NOT_APPLICABLE)
}

/// What is not allowed: an error, or nothing.
fn refuse<T>(flags: u64, code: ResultCode) -> Result<Option<T>, ResultCode> {
    if flags & write_flags::NO_FAIL != 0 { Ok(None) } else { Err(code) }
}

/// Of the values, those that are not in the list, each once; none if there are others and they may not be left out.
fn new_items(list: &List<'_>, items: Vec<Vec<u8>>, flags: u64) -> Result<Option<Vec<Vec<u8>>>, ResultCode> {
    let mut known: BTreeSet<ByValue<'_>> = BTreeSet::new();
    if items.len() > 1 {
        known.extend(list.items.iter().map(|item| ByValue(item)));
    }
    let is_new: Vec<bool> = match &items[..] {
        [item] => vec![!contains(list, item)],
        items => items.iter().map(|item| known.insert(ByValue(item))).collect(),
    };
    if is_new.contains(&false) && flags & (write_flags::NO_FAIL | write_flags::PARTIAL) != write_flags::NO_FAIL | write_flags::PARTIAL {
        return refuse(flags, ResultCode::ELEMENT_EXISTS);
    }
    Ok(Some(items.into_iter().zip(is_new).filter(|(_, is_new)| *is_new).map(|(item, _)| item).collect()))
}

fn contains(list: &List<'_>, item: &[u8]) -> bool {
    if list.ordered {
        return !list.range_of(item).is_empty();
    }
    list.items.iter().any(|other| compare(other, item).is_eq())
}

/// Puts a value in the place of another, or behind the end.
fn set(list: &mut List<'_>, place: i64, item: Vec<u8>, flags: u64) -> Result<(), ResultCode> {
    if list.ordered {
        return Err(ResultCode::OP_NOT_APPLICABLE);
    }
    let Some(at) = place_for(list, place, flags)? else { return Ok(()) };
    let elsewhere = |(index, other): (usize, &Cow<'_, [u8]>)| index != at && compare(other, &item).is_eq();
    if flags & write_flags::ADD_UNIQUE != 0 && list.items.iter().enumerate().any(elsewhere) {
        return refuse(flags, ResultCode::ELEMENT_EXISTS).map(|_: Option<()>| ());
    }
    pad(list, at)?;
    match list.items.get_mut(at) {
        Some(place) => *place = Cow::Owned(item),
        None => list.items.push(Cow::Owned(item)),
    }
    Ok(())
}

/// Adds to the number at a place, and gives what is there then; behind the end stands nothing, which is zero.
fn increment(list: &mut List<'_>, place: i64, delta: Option<&[u8]>, flags: u64) -> Result<Vec<u8>, ResultCode> {
    let Some(at) = place_for(list, place, flags)? else { return Ok(vec![write::NIL]) };
    let old = list.items.get(at).map(|item| &**item);
    let new = sum(old, delta, Sign::Plus)?;
    let elsewhere = |(index, other): (usize, &Cow<'_, [u8]>)| index != at && compare(other, &new).is_eq();
    if flags & write_flags::ADD_UNIQUE != 0 && list.items.iter().enumerate().any(elsewhere) {
        return refuse(flags, ResultCode::ELEMENT_EXISTS).map(|_: Option<()>| old.map_or(vec![write::NIL], <[u8]>::to_vec));
    }
    if list.ordered {
        if at < list.items.len() {
            list.items.remove(at);
        }
        list.insert_ordered(Cow::Owned(new.clone()));
        return Ok(new);
    }
    pad(list, at)?;
    match list.items.get_mut(at) {
        Some(item) => *item = Cow::Owned(new.clone()),
        None => list.items.push(Cow::Owned(new.clone())),
    }
    Ok(new)
}

/// Whether a number is added or taken away.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Plus,
    Minus,
}

/// A number, of either type.
#[derive(Clone, Copy)]
enum Number {
    Integer(i64),
    Double(f64),
}

impl Number {
    fn parse(bytes: &[u8]) -> Result<Self, ResultCode> {
        match Reader::new(bytes).head()? {
            Head::Integer(number) => Ok(Self::Integer(number)),
            Head::Unsigned(number) => Ok(Self::Integer(number as i64)),
            Head::Double(number) => Ok(Self::Double(number)),
            _ => Err(ResultCode::PARAMETER),
        }
    }

    fn negated(self) -> Self {
        match self {
            Self::Integer(number) => Self::Integer(number.wrapping_neg()),
            Self::Double(number) => Self::Double(-number),
        }
    }
}

/// The sum of a number and a delta, which is one if it is not said; the type is that of the number, or of the delta if there is none.
///
/// # Errors
/// [`ResultCode::PARAMETER`] for what is no number.
pub(super) fn sum(old: Option<&[u8]>, delta: Option<&[u8]>, sign: Sign) -> Result<Vec<u8>, ResultCode> {
    let delta = delta.map_or(Ok(Number::Integer(1)), Number::parse)?;
    let delta = if sign == Sign::Minus { delta.negated() } else { delta };
    let sum = match (old.map(Number::parse).transpose()?, delta) {
        (None, delta) => delta,
        (Some(Number::Integer(old)), Number::Integer(delta)) => Number::Integer(old.wrapping_add(delta)),
        (Some(Number::Integer(old)), Number::Double(delta)) => Number::Integer(old.wrapping_add(delta as i64)),
        (Some(Number::Double(old)), Number::Integer(delta)) => Number::Double(old + delta as f64),
        (Some(Number::Double(old)), Number::Double(delta)) => Number::Double(old + delta),
    };
    let mut out = Vec::new();
    match sum {
        Number::Integer(number) => write::integer(&mut out, number),
        Number::Double(number) => write::double(&mut out, number),
    }
    Ok(out)
}

fn sort(list: &mut List<'_>, flags: u64) {
    list.sort();
    if flags & sort_flags::DROP_DUPLICATES != 0 {
        list.items.dedup_by(|left, right| compare(left, right).is_eq());
    }
    if flags & sort_flags::DESCENDING != 0 && !list.ordered {
        list.items.reverse();
    }
}

/// Finds what an operation selects by, what it wants to know, and the elements it means.
fn select<'l>(call: &Call<'_>, list: &'l List<'_>) -> Result<(Return, Elements<'l>, super::select::Selected), ResultCode> {
    let first = if call.changes() { code::LIST_REMOVE_BY } else { code::LIST_GET_BY };
    let kind = match call.code.wrapping_sub(first) {
        0 => Kind::Index,
        2 => Kind::Rank,
        3 => Kind::Value,
        4 => Kind::ValueList,
        5 => Kind::IndexRange,
        6 => Kind::ValueInterval,
        7 => Kind::RankRange,
        8 => Kind::ValueRelative,
        _ => return Err(ResultCode::PARAMETER),
    };
    let (least, most) = kind.arguments();
    let arguments = call.arguments(least, most)?;
    let (wanted, inverted) = Return::parse(arguments.count(0)?, false)?;
    let selector = Selector::parse(kind, arguments)?;
    let elements = Elements { keys: None, values: list.items.iter().map(|item| &**item).collect(), ranked: list.ordered };
    let selected = elements.select(&selector, inverted)?;
    Ok((wanted, elements, selected))
}

fn remove(call: &Call<'_>, mut list: List<'_>) -> Result<Outcome, ResultCode> {
    let (wanted, elements, selected) = select(call, &list)?;
    let result = answer(wanted, &elements, &selected)?;
    let mut gone = vec![false; list.items.len()];
    selected.indices().iter().for_each(|index| gone[*index] = true);
    let mut gone = gone.into_iter();
    list.items.retain(|_| gone.next() == Some(false));
    Ok(Outcome::changed(list.to_bytes(), result))
}

/// A value's bytes, ordered as values are.
pub(super) struct ByValue<'v>(pub(super) &'v [u8]);

impl PartialEq for ByValue<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for ByValue<'_> {}

impl PartialOrd for ByValue<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByValue<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self.0, other.0)
    }
}
