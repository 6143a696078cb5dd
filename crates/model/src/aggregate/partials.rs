//! What some of the rows give, by group.
//!
//! | bytes | encoded |
//! |---|---|
//! | 1 | whether it cannot be told: nothing follows then |
//! | 4 | groups |
//! | 4 + n | of each: its values, one after the other, each as in the spec's conditions |
//! | … | then each fold: of counts 8; of sums 8 + 8 + 1 + 8 + 8; of the least and greatest a value |

use super::codec::{Input, put_value};
use super::sum::Sum;
use super::{Damaged, Fold, Function, OwnedValue, Spec, Value};
use foldhash::quality::RandomState;
use std::cmp::Ordering;
use std::collections::HashMap;

/// What a fold has of a group's rows so far.
#[derive(Clone, Debug, PartialEq)]
enum State {
    Count(u64),
    Sum(Sum),
    Extreme(OwnedValue),
}

/// Values by group. They grow with the groups: [`Partials::bytes`] says how far, up to [`BYTES_MAX`].
#[derive(Debug, Default)]
pub struct Partials {
    /// The number of each group, by its encoded values.
    numbers: HashMap<Box<[u8]>, usize, RandomState>,
    /// The states of all folds, group by group.
    states: Vec<State>,
    /// The group of the row before: rows that come one after the other are often of one.
    last: Option<(Vec<u8>, usize)>,
    scratch: Vec<u8>,
    bytes: usize,
    is_lost: bool,
}

/// What they take at most: what would be more cannot be told.
pub const BYTES_MAX: usize = 32 << 20;
/// What a group takes besides its values.
const GROUP_BYTES: usize = 64;

impl State {
    fn new(fold: &Fold) -> Self {
        match fold.function {
            Function::Rows | Function::Count => Self::Count(0),
            Function::Sum | Function::Average => Self::Sum(Sum::default()),
            Function::Least | Function::Greatest => Self::Extreme(OwnedValue::Null),
        }
    }

    /// Adds a value that may take so many bytes more, and gives how many it takes; none if it cannot be told any more.
    #[inline]
    fn add(&mut self, function: Function, value: Value<'_>, room: usize) -> Option<usize> {
        match self {
            Self::Count(count) => *count += u64::from(function == Function::Rows || value != Value::Null),
            Self::Sum(sum) => return sum.add(value).then_some(0),
            Self::Extreme(extreme) => return keep(extreme, function, value, room),
        }
        Some(0)
    }

    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Count(count) => out.extend_from_slice(&count.to_le_bytes()),
            Self::Sum(sum) => {
                out.extend_from_slice(&sum.count.to_le_bytes());
                out.extend_from_slice(&sum.integer.to_le_bytes());
                out.push(u8::from(sum.is_real));
                out.extend_from_slice(&sum.real.to_le_bytes());
                out.extend_from_slice(&sum.lost.to_le_bytes());
            }
            Self::Extreme(value) => put_value(value.borrowed(), out),
        }
    }

    /// Adds what another has of the same group, as [`State::add`].
    fn merge(&mut self, function: Function, input: &mut Input<'_>, room: usize) -> Result<Option<usize>, Damaged> {
        match self {
            Self::Count(count) => *count = count.saturating_add(u64::from_le_bytes(input.array()?)),
            Self::Sum(sum) => {
                let count = u64::from_le_bytes(input.array()?);
                let (integer, is_real) = (i64::from_le_bytes(input.array()?), input.byte()? != 0);
                let (real, lost) = (f64::from_le_bytes(input.array()?), f64::from_le_bytes(input.array()?));
                return Ok(sum.merge(&Sum { count, integer, is_real, real, lost }).then_some(0));
            }
            Self::Extreme(extreme) => return Ok(keep(extreme, function, input.value()?, room)),
        }
        Ok(Some(0))
    }

    fn value(&self, function: Function) -> OwnedValue {
        match self {
            Self::Count(count) => OwnedValue::Integer(i64::try_from(*count).unwrap_or(i64::MAX)),
            Self::Sum(sum) if function == Function::Average => sum.average(),
            Self::Sum(sum) => sum.sum(),
            Self::Extreme(value) => value.clone(),
        }
    }
}

/// Keeps the less, or the greater, of two values, and gives how many bytes more it takes; none, and nothing is kept, if there is no room for them. Null is neither.
#[inline]
fn keep(extreme: &mut OwnedValue, function: Function, value: Value<'_>, room: usize) -> Option<usize> {
    let wanted = if function == Function::Least { Ordering::Less } else { Ordering::Greater };
    if value != Value::Null && (*extreme == OwnedValue::Null || value.order(extreme.borrowed()) == wanted) {
        let taken = value.bytes().saturating_sub(extreme.room());
        if taken > room {
            return None;
        }
        match (&mut *extreme, value) {
            // Its room is used again.
            (OwnedValue::Bytes(kept), Value::Bytes(bytes)) => {
                kept.clear();
                kept.reserve_exact(bytes.len());
                kept.extend_from_slice(bytes);
            }
            (extreme, value) => *extreme = value.to_owned(),
        }
        return Some(taken);
    }
    Some(0)
}

impl Partials {
    /// Of no rows.
    #[must_use]
    pub fn new(spec: &Spec) -> Self {
        let mut partials = Self::default();
        if spec.groups.is_empty() {
            partials.group(spec, &[]);
        }
        partials
    }

    /// Adds a row if it fulfils the conditions. `value` gives its columns.
    #[inline]
    pub fn add<'v>(&mut self, spec: &Spec, value: impl Fn(u16) -> Value<'v>) {
        if self.is_lost || !spec.conditions.iter().all(|condition| condition.holds(value(condition.column))) {
            return;
        }
        let group = if spec.groups.is_empty() { Some(0) } else { self.group_of_row(spec, &value) };
        let Some(group) = group else {
            self.is_lost = true;
            return;
        };
        let first = group * spec.folds.len();
        let Some(states) = self.states.get_mut(first..first + spec.folds.len()) else { return };
        for (state, fold) in states.iter_mut().zip(&spec.folds) {
            let value = if fold.function == Function::Rows { Value::Null } else { value(fold.column) };
            let taken = state.add(fold.function, value, BYTES_MAX.saturating_sub(self.bytes));
            self.is_lost |= taken.is_none();
            self.bytes += taken.unwrap_or_default();
        }
    }

    /// What cannot be told of the rows makes it so for all.
    pub fn lose(&mut self) {
        self.is_lost = true;
    }

    /// Whether it cannot be told.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// How many groups there are.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.numbers.len()
    }

    /// What they take, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// None if there is no room for it.
    fn group_of_row<'v>(&mut self, spec: &Spec, value: &impl Fn(u16) -> Value<'v>) -> Option<usize> {
        let mut key = std::mem::take(&mut self.scratch);
        key.clear();
        for column in &spec.groups {
            // Both zeros are one group.
            let value = if value(*column) == Value::Real(0.0) { Value::Real(0.0) } else { value(*column) };
            if key.len() + value.bytes() > BYTES_MAX {
                return None;
            }
            put_value(value, &mut key);
        }
        let group = match &self.last {
            Some((last, group)) if *last == key => *group,
            _ => {
                let group = self.group(spec, &key)?;
                let (last, number) = self.last.get_or_insert_default();
                last.clone_from(&key);
                *number = group;
                group
            }
        };
        self.scratch = key;
        Some(group)
    }

    /// The number of a group, which may be a new one; none if there is no room for it.
    fn group(&mut self, spec: &Spec, key: &[u8]) -> Option<usize> {
        if let Some(number) = self.numbers.get(key) {
            return Some(*number);
        }
        let taken = GROUP_BYTES + key.len() + spec.folds.len() * size_of::<State>();
        if taken > BYTES_MAX.saturating_sub(self.bytes) {
            return None;
        }
        let number = self.numbers.len();
        self.numbers.insert(key.into(), number);
        self.states.extend(spec.folds.iter().map(State::new));
        self.bytes += taken;
        Some(number)
    }

    /// Appends them.
    pub fn encode(&self, spec: &Spec, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_lost));
        if self.is_lost {
            return;
        }
        out.extend_from_slice(&(self.numbers.len() as u32).to_le_bytes());
        for (key, number) in &self.numbers {
            out.extend_from_slice(&(key.len() as u32).to_le_bytes());
            out.extend_from_slice(key);
            let first = number * spec.folds.len();
            self.states[first..first + spec.folds.len()].iter().for_each(|state| state.put(out));
        }
    }

    /// Adds what others are of the same spec.
    ///
    /// # Errors
    /// Bytes that are none.
    pub fn merge(&mut self, spec: &Spec, encoded: &[u8]) -> Result<(), Damaged> {
        let mut input = Input(encoded);
        self.is_lost |= input.byte()? != 0;
        if self.is_lost {
            return Ok(());
        }
        for _ in 0..input.length()? {
            let length = input.length()?;
            let key = input.take(length)?;
            values(spec, key)?;
            let Some(group) = self.group(spec, key) else {
                self.is_lost = true;
                return Ok(());
            };
            for (state, fold) in self.states[group * spec.folds.len()..].iter_mut().zip(&spec.folds) {
                let taken = state.merge(fold.function, &mut input, BYTES_MAX.saturating_sub(self.bytes))?;
                self.is_lost |= taken.is_none();
                self.bytes += taken.unwrap_or_default();
            }
        }
        if input.0.is_empty() { Ok(()) } else { Err(Damaged) }
    }

    /// The groups in the order of their values: these, then each fold's.
    #[must_use]
    pub fn finish(self, spec: &Spec) -> Vec<Vec<OwnedValue>> {
        let mut rows: Vec<Vec<OwnedValue>> = Vec::with_capacity(self.numbers.len());
        for (key, number) in &self.numbers {
            let mut row: Vec<OwnedValue> = values(spec, key).unwrap_or_default().into_iter().map(OwnedValue::from).collect();
            let states = &self.states[number * spec.folds.len()..];
            row.extend(states.iter().zip(&spec.folds).map(|(state, fold)| state.value(fold.function)));
            rows.push(row);
        }
        let groups = spec.groups.len();
        rows.sort_by(|one, other| {
            let pairs = one[..groups].iter().zip(&other[..groups]);
            pairs.map(|(one, other)| one.borrowed().order(other.borrowed())).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        });
        rows
    }
}

/// The values of a group.
fn values<'k>(spec: &Spec, key: &'k [u8]) -> Result<Vec<Value<'k>>, Damaged> {
    let mut input = Input(key);
    let values = spec.groups.iter().map(|_| input.value()).collect::<Result<_, _>>()?;
    if input.0.is_empty() { Ok(values) } else { Err(Damaged) }
}
