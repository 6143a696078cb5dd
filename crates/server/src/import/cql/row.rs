//! A row of the source as values for the target's statements.
//!
//! Cells of one timestamp and time to live are written together. Sets and maps are written element by element, so that each keeps its own. A list is
//! written as a whole, with the time of its newest element.

use super::plan::{Cells, INSERT, Part, Plan, UPDATE, UPDATE_STATIC};
use cql::value::{build, layout};
use cql::wire::{Value, ValuesBuffer};
use std::borrow::Cow;

/// A row as the source has it.
pub(super) type Row<'a> = [Option<&'a [u8]>];

/// When a cell was written, and for how many seconds it lives from now on: 0 is for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stamp {
    pub(super) time_us: i64,
    pub(super) ttl_s: i32,
}

/// The time of what has none, such as a row of a key alone: before all that anybody writes.
const UNKNOWN: Stamp = Stamp { time_us: 1, ttl_s: 0 };

/// What a part of a row gets at one time.
struct Written<'a> {
    part: usize,
    stamp: Stamp,
    value: Cow<'a, [u8]>,
}

/// Gives each statement that a row becomes, by its number in [`Plan::writes`], with its values. `later_us` is added to the times of lists: a list that is
/// written twice with the same time has its elements twice.
pub(super) fn write<E>(
    plan: &Plan,
    row: &Row<'_>,
    later_us: i64,
    with_static: bool,
    values: &mut ValuesBuffer,
    mut emit: impl FnMut(usize, &ValuesBuffer) -> Result<(), E>,
) -> Result<(), E> {
    let (partition, keys) = (plan.partition.len(), plan.key_len());
    let of_partition = if with_static { written(plan, row, later_us, true) } else { Vec::new() };
    for stamp in stamps(&of_partition) {
        update(plan, row, &of_partition, (stamp, true), partition, values);
        emit(UPDATE_STATIC, values)?;
    }
    // A partition of static columns alone has no row.
    if row.iter().take(keys).any(Option::is_none) {
        return Ok(());
    }
    let of_row = written(plan, row, later_us, false);
    let stamps = stamps(&of_row);
    let first = stamps.first().copied().unwrap_or(UNKNOWN);
    insert(plan, row, &of_row, first, values);
    emit(INSERT, values)?;
    for stamp in stamps {
        let is_left = |of: &Written<'_>| of.stamp == stamp && (stamp != first || plan.parts[of.part].cells != Cells::One);
        if of_row.iter().any(is_left) {
            update(plan, row, &of_row, (stamp, false), keys, values);
            emit(UPDATE, values)?;
        }
    }
    Ok(())
}

fn stamps(written: &[Written<'_>]) -> Vec<Stamp> {
    // Most rows were written at once.
    if let Some(first) = written.first()
        && written.iter().all(|of| of.stamp == first.stamp)
    {
        return vec![first.stamp];
    }
    let mut stamps: Vec<Stamp> = written.iter().map(|of| of.stamp).collect();
    stamps.sort_unstable();
    stamps.dedup();
    stamps
}

fn stamp(values: &mut ValuesBuffer, stamp: Stamp) {
    values.push(Value::Bytes(&stamp.time_us.to_be_bytes()));
    values.push(Value::Bytes(&stamp.ttl_s.to_be_bytes()));
}

fn key(row: &Row<'_>, length: usize, values: &mut ValuesBuffer) {
    row.iter().take(length).flatten().for_each(|cell| values.push(Value::Bytes(cell)));
}

fn value_of<'w>(written: &'w [Written<'_>], part: usize, stamp: Stamp) -> Value<'w> {
    // Those of a part are neighbours, in the order of parts.
    let start = written.partition_point(|of| of.part < part);
    let mut of_part = written[start..].iter().take_while(|of| of.part == part);
    of_part.find(|of| of.stamp == stamp).map_or(Value::Unset, |of| Value::Bytes(&of.value))
}

fn insert(plan: &Plan, row: &Row<'_>, written: &[Written<'_>], first: Stamp, values: &mut ValuesBuffer) {
    values.clear();
    key(row, plan.key_len(), values);
    plan.inserted().for_each(|(part, _)| values.push(value_of(written, part, first)));
    stamp(values, first);
}

fn update(plan: &Plan, row: &Row<'_>, written: &[Written<'_>], (at, is_static): (Stamp, bool), keys: usize, values: &mut ValuesBuffer) {
    values.clear();
    stamp(values, at);
    plan.updated(is_static).for_each(|(part, _)| values.push(value_of(written, part, at)));
    key(row, keys, values);
}

/// What there is of static columns, or of the others, in the order of parts.
fn written<'a>(plan: &Plan, row: &Row<'a>, later_us: i64, is_static: bool) -> Vec<Written<'a>> {
    let mut written = Vec::with_capacity(plan.parts.len());
    for (number, part) in plan.updated(is_static) {
        let Some(value) = row.get(part.at).copied().flatten() else { continue };
        if !part.has_times {
            written.push(Written { part: number, stamp: UNKNOWN, value: Cow::Borrowed(value) });
            continue;
        }
        match part.cells {
            Cells::One | Cells::Field => written.push(Written { part: number, stamp: stamp_of(part, row), value: Cow::Borrowed(value) }),
            Cells::List | Cells::Fields => {
                let newest = elements_stamps(part, row).max_by_key(|stamp| stamp.time_us).unwrap_or(UNKNOWN);
                // It lives as long as its longest-lived element.
                let ttl_s = if elements_stamps(part, row).any(|stamp| stamp.ttl_s == 0) {
                    0
                } else {
                    elements_stamps(part, row).map(|stamp| stamp.ttl_s).max().unwrap_or(0)
                };
                let stamp = Stamp { time_us: newest.time_us.saturating_add(later_us), ttl_s };
                written.push(Written { part: number, stamp, value: Cow::Borrowed(value) });
            }
            Cells::Set | Cells::Map => elements(number, part, row, value, &mut written),
        }
    }
    if written.iter().any(|of| !plan.parts[of.part].has_times) {
        guess(plan, later_us, &mut written);
    }
    written
}

/// What the source tells no time of has that of the newest cell beside it, and lives as long as those.
fn guess(plan: &Plan, later_us: i64, written: &mut [Written<'_>]) {
    let known = || written.iter().filter(|of| plan.parts[of.part].has_times);
    let time_us = known().map(|of| of.stamp.time_us).max().unwrap_or(UNKNOWN.time_us);
    let is_for_ever = known().any(|of| of.stamp.ttl_s == 0);
    let ttl_s = if is_for_ever { 0 } else { known().map(|of| of.stamp.ttl_s).max().unwrap_or(0) };
    for of in written.iter_mut().filter(|of| !plan.parts[of.part].has_times) {
        let later_us = if plan.parts[of.part].cells == Cells::List { later_us } else { 0 };
        of.stamp = Stamp { time_us: time_us.saturating_add(later_us), ttl_s };
    }
}

fn stamp_of(part: &Part, row: &Row<'_>) -> Stamp {
    let cell = |offset: usize| row.get(part.at + offset).copied().flatten();
    Stamp { time_us: cell(1).map_or(UNKNOWN.time_us, time_us), ttl_s: cell(2).map_or(0, ttl_s) }
}

fn time_us(bytes: &[u8]) -> i64 {
    <[u8; 8]>::try_from(bytes).map_or(UNKNOWN.time_us, i64::from_be_bytes)
}

/// What ends within this second must end, and 0 is for ever.
fn ttl_s(bytes: &[u8]) -> i32 {
    <[u8; 4]>::try_from(bytes).map_or(0, |bytes| i32::from_be_bytes(bytes).max(1))
}

/// Of each element, in their order.
fn elements_stamps<'a>(part: &Part, row: &Row<'a>) -> impl Iterator<Item = Stamp> + use<'a> {
    let list = |offset: usize| row.get(part.at + offset).copied().flatten();
    let mut ttls = list(2).map(layout::nullable_elements);
    layout::nullable_elements(list(1).unwrap_or_default()).map(move |time| {
        let ttl = ttls.as_mut().and_then(Iterator::next).flatten();
        Stamp { time_us: time.map_or(UNKNOWN.time_us, time_us), ttl_s: ttl.map_or(0, ttl_s) }
    })
}

/// A set or map in pieces, one for each timestamp and time to live.
fn elements<'a>(number: usize, part: &Part, row: &Row<'a>, value: &'a [u8], written: &mut Vec<Written<'a>>) {
    let stamps: Vec<Stamp> = elements_stamps(part, row).collect();
    let newest = stamps.iter().max().copied().unwrap_or(UNKNOWN);
    let (is_map, mut at) = (part.cells == Cells::Map, 0);
    let all: Vec<(&[u8], &[u8])> =
        if is_map { layout::entries(value).collect() } else { layout::elements(value).map(|element| (element, &b""[..])).collect() };
    // Nothing is lost where the source has not told of each.
    if stamps.iter().all(|stamp| *stamp == newest) || stamps.len() != all.len() {
        return written.push(Written { part: number, stamp: newest, value: Cow::Borrowed(value) });
    }
    let mut by_stamp: Vec<(Stamp, usize)> = stamps.into_iter().zip(0..all.len()).collect();
    by_stamp.sort_unstable();
    while let Some((stamp, _)) = by_stamp.get(at).copied() {
        let length = by_stamp[at..].iter().take_while(|(other, _)| *other == stamp).count();
        let of_stamp = by_stamp[at..at + length].iter().map(|(_, element)| all[*element]);
        let mut piece = Vec::new();
        if is_map {
            piece.extend_from_slice(&(length as i32).to_be_bytes());
            of_stamp.for_each(|(key, value)| {
                build::field(Some(key), &mut piece);
                build::field(Some(value), &mut piece);
            });
        } else {
            build::list(of_stamp.map(|(element, _)| element), &mut piece);
        }
        written.push(Written { part: number, stamp, value: Cow::Owned(piece) });
        at += length;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
