//! Collections and user types with a cell for each element: what assignments do to them, and what a read makes of them.

use super::bindings::Bound;
use super::failure::Failure;
use super::length;
use super::writer::Writer;
use crate::CqlError;
use crate::plan::{Assignment, ColumnRef, Modify};
use crate::value::{self, build, layout};
use model::row::{Complex, Content, Deletion, RowView, RowWriter, Stamp};
use model::{ColumnId, DataType};
use std::borrow::Cow;
use std::cmp::Ordering;

/// A list may have this many elements at most: positions are found by walking it.
const LIST_ELEMENTS_MAX: usize = 65_535;

/// What an update does to one element.
enum Change {
    Value(Vec<u8>),
    Delete,
}

impl Change {
    /// Which of two changes at the same time comes first, as the stronger: a deletion, then the larger value.
    fn compare_strength(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Delete, Self::Delete) => Ordering::Equal,
            (Self::Delete, Self::Value(_)) => Ordering::Less,
            (Self::Value(_), Self::Delete) => Ordering::Greater,
            (Self::Value(one), Self::Value(other)) => other.cmp(one),
        }
    }
}

/// Frozen sets and maps are stored sorted and without duplicates; everything else is stored as it came.
#[inline]
pub(super) fn normalized<'a>(data_type: &DataType, bytes: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
    let may_differ = matches!(
        data_type,
        DataType::List(..) | DataType::Set(..) | DataType::Map(..) | DataType::Tuple(_) | DataType::Udt(..) | DataType::Vector(..)
    );
    if !may_differ {
        return bytes;
    }
    match value::normalize(data_type, &bytes) {
        Ok(Cow::Owned(sorted)) => Cow::Owned(sorted),
        _ => bytes,
    }
}

/// Appends the complex cell that results from all assignments to one column.
pub(super) fn encode_complex<'p>(
    writer: &mut Writer<'_>,
    plan: &Modify,
    column: &ColumnRef,
    assignments: impl Iterator<Item = &'p Assignment>,
    stamp: Stamp,
    old: Option<RowView<'_>>,
    row: &mut RowWriter<'_>,
) -> Result<(), Failure> {
    let (data_type, column) = (&plan.table.columns[column.position].data_type, column.id);
    let mut outcome = Outcome { old, column, deletion: None, changes: Vec::new(), list: None };
    let mut touched = false;
    for assignment in assignments {
        touched |= one_assignment(writer, data_type, assignment, stamp, &mut outcome)?;
    }
    if !touched {
        return Ok(());
    }
    let Outcome { deletion, mut changes, .. } = outcome;
    // All have one timestamp: of several changes of an element the one stands that would win in a merge.
    changes.sort_by(|(one, change), (other, later)| compare_paths(data_type, one, other).then_with(|| change.compare_strength(later)));
    changes.dedup_by(|(one, _), (other, _)| compare_paths(data_type, one, other).is_eq());
    let mut cell = row.complex(column, deletion);
    for (path, change) in &changes {
        match change {
            Change::Value(bytes) => {
                length::check_element(plan, column, path, bytes)?;
                cell.value(path, stamp, bytes);
            }
            Change::Delete => cell.tombstone(path, stamp.timestamp, writer.now_s),
        }
    }
    cell.finish();
    Ok(())
}

fn compare_paths(data_type: &DataType, one: &[u8], other: &[u8]) -> Ordering {
    match data_type {
        DataType::Set(path, _) | DataType::Map(path, _, _) => value::compare(path, one, other),
        _ => one.cmp(other),
    }
}

/// What the assignments so far do to a column.
struct Outcome<'a> {
    /// The row as it was.
    old: Option<RowView<'a>>,
    column: ColumnId,
    deletion: Option<Deletion>,
    changes: Vec<(Vec<u8>, Change)>,
    /// The elements of a list as the assignments so far leave them, once one of them has asked.
    list: Option<ListView<'a>>,
}

impl<'a> Outcome<'a> {
    fn delete_all(&mut self, timestamp: i64, now_s: u32) {
        self.deletion = Some(Deletion { timestamp, deleted_at_s: now_s });
        self.changes.clear();
        self.list = None;
    }

    fn push(&mut self, path: Vec<u8>, change: Change) {
        if let Some(list) = &mut self.list {
            list.apply(&path, &change);
        }
        self.changes.push((path, change));
    }

    /// The list as it is now: each operation of a statement sees what those before it did.
    fn list(&mut self, now_s: u32) -> &ListView<'a> {
        if self.list.is_none() {
            let old = self.old.filter(|_| self.deletion.is_none());
            let mut list = ListView::new(complex_of(old, self.column), now_s);
            self.changes.iter().for_each(|(path, change)| list.apply(path, change));
            self.list = Some(list);
        }
        self.list.as_ref().expect("it was made above")
    }
}

/// A list's elements by their paths.
struct ListView<'a> {
    elements: Vec<ListElement<'a>>,
}

struct ListElement<'a> {
    path: Cow<'a, [u8]>,
    value: Cow<'a, [u8]>,
    /// Whether this statement has written it.
    is_written: bool,
}

impl<'a> ListView<'a> {
    fn new(old: Option<Complex<'a>>, now_s: u32) -> Self {
        let live = old.into_iter().flat_map(|complex| complex.live(now_s)).take(LIST_ELEMENTS_MAX);
        let element = |(path, value, _): (&'a [u8], &'a [u8], _)| ListElement { path: path.into(), value: value.into(), is_written: false };
        Self { elements: live.map(element).collect() }
    }

    /// Of several changes of an element the strongest stands, as where they are merged.
    fn apply(&mut self, path: &[u8], change: &Change) {
        let at = self.elements.binary_search_by(|element| (*element.path).cmp(path));
        match (at, change) {
            (Ok(at), Change::Delete) => {
                self.elements.remove(at);
            }
            (Err(_), Change::Delete) => {}
            (Ok(at), Change::Value(value)) => {
                let element = &mut self.elements[at];
                if !element.is_written || *element.value < **value {
                    element.value = value.clone().into();
                    element.is_written = true;
                }
            }
            (Err(at), Change::Value(value)) => {
                let element = ListElement { path: path.to_vec().into(), value: value.clone().into(), is_written: true };
                self.elements.insert(at, element);
            }
        }
    }
}

/// Notes what an assignment does; `false` if it leaves the column as it is, its value being unset.
fn one_assignment(
    writer: &mut Writer<'_>,
    data_type: &DataType,
    assignment: &Assignment,
    stamp: Stamp,
    outcome: &mut Outcome<'_>,
) -> Result<bool, Failure> {
    let environment = writer.environment;
    match assignment {
        Assignment::Set(term) => {
            let bound = term.evaluate(environment)?;
            if bound == Bound::Unset {
                return Ok(false);
            }
            // What is written now has the statement's timestamp; what was there before must be older than that.
            outcome.delete_all(stamp.timestamp - 1, writer.now_s);
            if let Bound::Bytes(bytes) = bound {
                add_all(writer, data_type, &bytes, outcome)?;
            }
        }
        Assignment::Delete => {
            outcome.delete_all(stamp.timestamp, writer.now_s);
        }
        Assignment::Append(term) => match term.evaluate(environment)? {
            Bound::Bytes(bytes) => add_all(writer, data_type, &bytes, outcome)?,
            Bound::Null => {}
            Bound::Unset => return Ok(false),
        },
        Assignment::Prepend(term) => match term.evaluate(environment)? {
            Bound::Bytes(bytes) => prepend(writer, &bytes, outcome),
            Bound::Null => {}
            Bound::Unset => return Ok(false),
        },
        Assignment::Remove(term) => match term.evaluate(environment)? {
            Bound::Bytes(bytes) => remove_all(writer, data_type, &bytes, outcome),
            Bound::Null => {}
            Bound::Unset => return Ok(false),
        },
        Assignment::SetElement(key, term) => {
            let (key, value) = (key.evaluate(environment)?, term.evaluate(environment)?);
            let path = element_path(data_type, key, outcome, writer.now_s, "set an element on")?;
            if value == Bound::Unset {
                return Ok(false);
            }
            outcome.push(path, value.bytes().map_or(Change::Delete, |bytes| Change::Value(bytes.to_vec())));
        }
        Assignment::DeleteElement(key) => {
            let key = key.evaluate(environment)?;
            if key == Bound::Unset && matches!(data_type, DataType::List(..)) {
                return Ok(false);
            }
            let path = element_path(data_type, key, outcome, writer.now_s, "delete an element from")?;
            outcome.push(path, Change::Delete);
        }
        Assignment::SetField(number, term) => {
            let value = term.evaluate(environment)?;
            if value == Bound::Unset {
                return Ok(false);
            }
            let path = number.to_be_bytes().to_vec();
            outcome.push(path, value.bytes().map_or(Change::Delete, |bytes| Change::Value(bytes.to_vec())));
        }
        Assignment::Count { .. } => return Err(CqlError::invalid("Invalid operation for a collection").into()),
    }
    Ok(true)
}

/// Removes the elements of a list that `bytes` has, those of a set, or a map's entries with these keys.
fn remove_all(writer: &Writer<'_>, data_type: &DataType, bytes: &[u8], outcome: &mut Outcome<'_>) {
    match data_type {
        DataType::List(element_type, _) => {
            let unwanted: Vec<&[u8]> = layout::elements(bytes).collect();
            let is_unwanted = |value: &[u8]| unwanted.iter().any(|other| value::compare(element_type, other, value).is_eq());
            let elements = outcome.list(writer.now_s).elements.iter();
            let removed: Vec<Vec<u8>> =
                elements.filter(|element| is_unwanted(&element.value)).map(|element| element.path.to_vec()).collect();
            removed.into_iter().for_each(|path| outcome.push(path, Change::Delete));
        }
        _ => layout::elements(bytes).for_each(|key| outcome.push(key.to_vec(), Change::Delete)),
    }
}

/// Adds the elements of a list before all that it has.
fn prepend(writer: &mut Writer<'_>, bytes: &[u8], outcome: &mut Outcome<'_>) {
    let elements: Vec<&[u8]> = layout::elements(bytes).collect();
    let base = (1u64 << 63).wrapping_sub(writer.environment.context.timestamp_us as u64);
    let first = (u64::MAX >> 1) - (writer.list_sequence + elements.len() as u64);
    writer.list_sequence += elements.len() as u64;
    for (offset, element) in elements.iter().enumerate() {
        outcome.push(list_path(base, first + offset as u64), Change::Value(element.to_vec()));
    }
}

/// Adds the elements of a whole collection value.
fn add_all(writer: &mut Writer<'_>, data_type: &DataType, bytes: &[u8], outcome: &mut Outcome<'_>) -> Result<(), CqlError> {
    match data_type {
        DataType::List(..) => {
            let base = (1u64 << 63).wrapping_add(writer.environment.context.timestamp_us as u64);
            for element in layout::elements(bytes) {
                outcome.push(list_path(base, (1 << 63) + writer.list_sequence), Change::Value(element.to_vec()));
                writer.list_sequence += 1;
            }
        }
        DataType::Set(..) => layout::elements(bytes).for_each(|element| outcome.push(element.to_vec(), Change::Value(Vec::new()))),
        DataType::Map(..) => {
            layout::entries(bytes).for_each(|(key, value)| outcome.push(key.to_vec(), Change::Value(value.to_vec())));
        }
        DataType::Udt(..) => {
            for (number, field) in layout::fields(bytes).enumerate() {
                // The deletion of what was there before covers a field that is null.
                if let Some(bytes) = field {
                    outcome.push((number as u16).to_be_bytes().to_vec(), Change::Value(bytes.to_vec()));
                }
            }
        }
        _ => return Err(CqlError::Server(format!("{data_type} has no elements"))),
    }
    Ok(())
}

/// A list's element is stored under the time of its writing (before 2⁶³ when prepended, mirrored) and a number within the operation.
fn list_path(time: u64, sequence: u64) -> Vec<u8> {
    let mut path = Vec::with_capacity(16);
    path.extend_from_slice(&time.to_be_bytes());
    path.extend_from_slice(&sequence.to_be_bytes());
    path
}

fn complex_of<'a>(row: Option<RowView<'a>>, column: ColumnId) -> Option<Complex<'a>> {
    match row?.cells().find(|cell| cell.column == column)?.content {
        Content::Complex(complex) => Some(complex),
        _ => None,
    }
}

/// The path of the element that `key` names: a list's index, a map's key, a set's element. `act` is what is done to it, for messages.
fn element_path(data_type: &DataType, key: Bound<'_>, outcome: &mut Outcome<'_>, now_s: u32, act: &str) -> Result<Vec<u8>, CqlError> {
    let what = match data_type {
        DataType::List(..) => "value for list index",
        DataType::Set(..) => "set element",
        _ => "map key",
    };
    match key {
        Bound::Null => Err(CqlError::Invalid(format!("Invalid null {what}"))),
        Bound::Unset => Err(CqlError::Invalid(format!("Invalid unset {what}"))),
        Bound::Bytes(index) if matches!(data_type, DataType::List(..)) => list_position(outcome.list(now_s), &index, act),
        Bound::Bytes(key) => Ok(key.into_owned()),
    }
}

fn list_position(list: &ListView<'_>, index: &[u8], act: &str) -> Result<Vec<u8>, CqlError> {
    let index = <[u8; 4]>::try_from(index).map(i32::from_be_bytes).map_err(|_| CqlError::invalid("Invalid list index"))?;
    let elements = &list.elements;
    if elements.is_empty() {
        return Err(CqlError::Invalid(format!("Attempted to {act} a list which is null")));
    }
    let size = elements.len();
    usize::try_from(index)
        .ok()
        .and_then(|index| elements.get(index))
        .map(|element| element.path.to_vec())
        .ok_or_else(|| CqlError::Invalid(format!("List index {index} out of bound, list has size {size}")))
}

/// Appends the wire value that a read at `now_s` sees in a complex cell; `false` when nothing is there, which reads as null.
pub(super) fn assemble(data_type: &DataType, complex: &Complex<'_>, now_s: u32, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let mut count = 0i32;
    match data_type {
        DataType::Udt(user, _) => {
            let mut fields: Vec<Option<&[u8]>> = vec![None; user.fields.len()];
            for (path, value, _) in complex.live(now_s) {
                let number = <[u8; 2]>::try_from(path).map(u16::from_be_bytes).unwrap_or(u16::MAX);
                if let Some(field) = fields.get_mut(usize::from(number)) {
                    *field = Some(value);
                    count += 1;
                }
            }
            if count > 0 {
                build::tuple(fields.into_iter(), out);
            }
        }
        _ => {
            out.extend_from_slice(&0i32.to_be_bytes());
            for (path, value, _) in complex.live(now_s) {
                if !matches!(data_type, DataType::List(..)) {
                    build::field(Some(path), out);
                }
                if !matches!(data_type, DataType::Set(..)) {
                    build::field(Some(value), out);
                }
                count += 1;
            }
            out[start..start + 4].copy_from_slice(&count.to_be_bytes());
        }
    }
    if count == 0 {
        out.truncate(start);
    }
    count > 0
}

/// Whether a collection has an element or value, or a map a key, that `test` holds for; it gets the type, too.
pub(super) fn contains(data_type: &DataType, whole: &[u8], is_of_keys: bool, test: impl Fn(&DataType, &[u8]) -> bool) -> bool {
    match data_type {
        DataType::List(element, _) | DataType::Set(element, _) if !is_of_keys => {
            layout::elements(whole).any(|candidate| test(element, candidate))
        }
        DataType::Map(key, _, _) if is_of_keys => layout::entries(whole).any(|(candidate, _)| test(key, candidate)),
        DataType::Map(_, element, _) => layout::entries(whole).any(|(_, candidate)| test(element, candidate)),
        _ => false,
    }
}
