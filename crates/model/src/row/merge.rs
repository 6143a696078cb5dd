//! Last write wins, cell by cell.

use super::{Cell, Complex, Content, Deletion, Element, ElementContent, RowKind, RowView, RowWriter, Stamp};
use crate::ColumnId;
use std::cmp::Ordering;

/// The order of a complex column's paths, which depends on its type.
pub trait ElementOrder {
    /// Compares two paths of `column`.
    fn compare(&self, column: ColumnId, one: &[u8], other: &[u8]) -> Ordering;
}

/// What is common to a merge.
struct Rules<'a> {
    order: &'a dyn ElementOrder,
    now_s: u32,
    /// Deletions and expiries before this time are forgotten.
    forget_before_s: u32,
}

/// Appends to `out` the row that results from having seen both `old` and `new`.
///
/// `hidden_by` is a deletion of the partition or of a range that covers the row. Deletions made more than `gc_grace_s` before `now_s`
/// are forgotten; values that have expired become deletions, without their bytes.
pub fn merge(
    old: RowView<'_>,
    new: RowView<'_>,
    hidden_by: Option<Deletion>,
    order: &dyn ElementOrder,
    now_s: u32,
    gc_grace_s: u32,
    out: &mut Vec<u8>,
) -> RowKind {
    let rules = Rules { order, now_s, forget_before_s: now_s.saturating_sub(gc_grace_s) };
    let deletion = Deletion::later(old.deletion(), new.deletion());
    let hidden_until = Deletion::later(deletion, hidden_by).map_or(i64::MIN, |d| d.timestamp);
    let kept_deletion = deletion.filter(|d| d.deleted_at_s >= rules.forget_before_s && hidden_by.is_none_or(|h| h.timestamp < d.timestamp));
    let liveness = later_liveness(old.liveness(), new.liveness())
        .filter(|stamp| stamp.timestamp > hidden_until && stamp.is_live(rules.forget_before_s));
    let shared = liveness.unwrap_or_else(|| new.shared());
    let mut writer = RowWriter::new(out, shared, liveness.is_some(), kept_deletion);

    let (mut olds, mut news) = (old.cells().peekable(), new.cells().peekable());
    loop {
        let next = match (olds.peek(), news.peek()) {
            (None, None) => break,
            (Some(_), None) => (olds.next(), None),
            (None, Some(_)) => (None, news.next()),
            (Some(a), Some(b)) => match a.column.cmp(&b.column) {
                Ordering::Less => (olds.next(), None),
                Ordering::Greater => (None, news.next()),
                Ordering::Equal => (olds.next(), news.next()),
            },
        };
        match next {
            (Some(a), Some(b)) => match (a.content, b.content) {
                (Content::Complex(x), Content::Complex(y)) => {
                    write_complex(&rules, a.column, Some(x), Some(y), hidden_until, &mut writer);
                }
                // A column that changed between simple and complex was dropped and added again: the later one stands.
                (Content::Complex(_), _) | (_, Content::Complex(_)) => write_cell(&rules, b, hidden_until, &mut writer),
                _ => write_cell(&rules, later_cell(a, b, rules.now_s), hidden_until, &mut writer),
            },
            (Some(cell), None) | (None, Some(cell)) => write_cell(&rules, cell, hidden_until, &mut writer),
            (None, None) => {}
        }
    }
    writer.finish()
}

fn later_liveness(one: Option<Stamp>, other: Option<Stamp>) -> Option<Stamp> {
    match (one, other) {
        (Some(a), Some(b)) => {
            Some(if (b.timestamp, b.ttl_s != 0, b.expires_at_s) >= (a.timestamp, a.ttl_s != 0, a.expires_at_s) { b } else { a })
        }
        (a, b) => a.or(b),
    }
}

/// Which of two versions wins: the larger timestamp; then a tombstone, then what expires, then the later expiry, then the larger value.
/// What has expired counts as a tombstone: it will be one once the row is written again.
type Rank<'a> = (i64, bool, bool, u32, &'a [u8]);

fn rank_of_value(stamp: Stamp, value: &[u8], now_s: u32) -> Rank<'_> {
    if !stamp.is_live(now_s) {
        return rank_of_tombstone(stamp, stamp.expires_at_s);
    }
    (stamp.timestamp, false, stamp.ttl_s != 0, stamp.expires_at_s, value)
}

fn rank_of_tombstone<'a>(stamp: Stamp, deleted_at_s: u32) -> Rank<'a> {
    (stamp.timestamp, true, true, deleted_at_s, &[])
}

fn later_cell<'a>(one: Cell<'a>, other: Cell<'a>, now_s: u32) -> Cell<'a> {
    if one.stamp.timestamp != other.stamp.timestamp {
        return if one.stamp.timestamp > other.stamp.timestamp { one } else { other };
    }
    let rank = |cell: &Cell<'a>| match cell.content {
        Content::Value(value) => rank_of_value(cell.stamp, value, now_s),
        Content::Tombstone(deleted_at_s) => rank_of_tombstone(cell.stamp, deleted_at_s),
        Content::Complex(_) => rank_of_value(cell.stamp, &[], now_s),
    };
    if rank(&one) > rank(&other) { one } else { other }
}

fn later_element<'a>(one: Element<'a>, other: Element<'a>, now_s: u32) -> Element<'a> {
    let rank = |element: &Element<'a>| match element.content {
        ElementContent::Value(value) => rank_of_value(element.stamp, value, now_s),
        ElementContent::Tombstone(deleted_at_s) => rank_of_tombstone(element.stamp, deleted_at_s),
    };
    if rank(&one) > rank(&other) { one } else { other }
}

fn write_cell(rules: &Rules<'_>, cell: Cell<'_>, hidden_until: i64, writer: &mut RowWriter<'_>) {
    if let Content::Complex(complex) = cell.content {
        return write_complex(rules, cell.column, Some(complex), None, hidden_until, writer);
    }
    if cell.stamp.timestamp <= hidden_until {
        return;
    }
    match cell.content {
        Content::Value(value) if cell.stamp.is_live(rules.now_s) => writer.value(cell.column, cell.stamp, value),
        Content::Value(_) if cell.stamp.expires_at_s >= rules.forget_before_s => {
            writer.tombstone(cell.column, cell.stamp.timestamp, cell.stamp.expires_at_s);
        }
        Content::Tombstone(deleted_at_s) if deleted_at_s >= rules.forget_before_s => {
            writer.tombstone(cell.column, cell.stamp.timestamp, deleted_at_s);
        }
        _ => {}
    }
}

fn write_complex(
    rules: &Rules<'_>,
    column: ColumnId,
    old: Option<Complex<'_>>,
    new: Option<Complex<'_>>,
    hidden_until: i64,
    writer: &mut RowWriter<'_>,
) {
    let deletion = Deletion::later(old.and_then(|c| c.deletion), new.and_then(|c| c.deletion));
    let hidden_until = deletion.map_or(hidden_until, |d| d.timestamp.max(hidden_until));
    let kept = deletion.filter(|d| d.deleted_at_s >= rules.forget_before_s && d.timestamp >= hidden_until);
    let mut cell = writer.complex(column, kept);
    let mut olds = old.map(|c| c.elements()).into_iter().flatten().peekable();
    let mut news = new.map(|c| c.elements()).into_iter().flatten().peekable();
    loop {
        let element = match (olds.peek(), news.peek()) {
            (None, None) => break,
            (Some(_), None) => olds.next(),
            (None, Some(_)) => news.next(),
            (Some(a), Some(b)) => match rules.order.compare(column, a.path, b.path) {
                Ordering::Less => olds.next(),
                Ordering::Greater => news.next(),
                Ordering::Equal => olds.next().zip(news.next()).map(|(a, b)| later_element(a, b, rules.now_s)),
            },
        };
        let Some(element) = element else { break };
        if element.stamp.timestamp <= hidden_until {
            continue;
        }
        match element.content {
            ElementContent::Value(value) if element.stamp.is_live(rules.now_s) => cell.value(element.path, element.stamp, value),
            ElementContent::Value(_) if element.stamp.expires_at_s >= rules.forget_before_s => {
                cell.tombstone(element.path, element.stamp.timestamp, element.stamp.expires_at_s);
            }
            ElementContent::Tombstone(deleted_at_s) if deleted_at_s >= rules.forget_before_s => {
                cell.tombstone(element.path, element.stamp.timestamp, deleted_at_s);
            }
            _ => {}
        }
    }
    cell.finish();
}
