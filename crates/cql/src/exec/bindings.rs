//! Values bound to a statement's markers.

use crate::CqlError;
use crate::plan::Marker;
use crate::value::script::Meter;
use crate::value::{self, ValueError};
use crate::wire::{Value, ValueNames, Values};
use model::operation::Context;
use std::borrow::Cow;

/// The values of one execution by marker index, checked against the markers' types.
#[derive(Clone, Debug)]
pub struct Bindings<'a> {
    values: Inline<'a>,
    meter: Meter,
}

/// How many values need no allocation.
const INLINE_VALUES: usize = 12;

/// A few values in place, or many on the heap. (`SmallVec` would make the lifetime invariant.)
#[derive(Clone, Debug)]
struct Inline<'a> {
    few: [Value<'a>; INLINE_VALUES],
    length: usize,
    /// All of them, if they are more than `few` has room for.
    many: Vec<Value<'a>>,
}

impl<'a> Inline<'a> {
    #[inline]
    fn new() -> Self {
        Self { few: [Value::Null; INLINE_VALUES], length: 0, many: Vec::new() }
    }

    /// Makes room for `count` values, the first of which is yet to come.
    #[inline]
    fn reserve(&mut self, count: usize) {
        if count > INLINE_VALUES {
            self.many.reserve_exact(count);
        }
    }

    #[inline]
    fn push(&mut self, value: Value<'a>) {
        if self.many.capacity() > 0 {
            self.many.push(value);
        } else {
            self.few[self.length] = value;
            self.length += 1;
        }
    }

    #[inline]
    fn as_slice(&self) -> &[Value<'a>] {
        if self.many.capacity() > 0 { &self.many } else { &self.few[..self.length] }
    }
}

impl Default for Bindings<'_> {
    #[inline]
    fn default() -> Self {
        Self { values: Inline::new(), meter: Meter::default() }
    }
}

/// A term's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound<'a> {
    /// Null.
    Null,
    /// Nothing was bound: leave alone what it would set.
    Unset,
    /// Wire bytes.
    Bytes(Cow<'a, [u8]>),
}

/// What terms are evaluated in.
#[derive(Clone, Copy, Debug)]
pub struct Environment<'a> {
    /// The bound values.
    pub bindings: &'a Bindings<'a>,
    /// Time and a nonce, for functions such as `now()`.
    pub context: &'a Context,
}

impl<'a> Bindings<'a> {
    /// Checks `values` against `markers`.
    ///
    /// # Errors
    /// Too few or too many values, unknown or missing names, bytes that are not of the marker's type.
    pub fn new(markers: &[Marker], values: &Values<'a>) -> Result<Self, CqlError> {
        let mut bindings = Self::default();
        bindings.bind(markers, values)?;
        Ok(bindings)
    }

    /// As [`Bindings::new`], in place of one that has no values: several hundred bytes are not moved about.
    ///
    /// # Errors
    /// As of [`Bindings::new`].
    #[inline]
    pub fn bind(&mut self, markers: &[Marker], values: &Values<'a>) -> Result<(), CqlError> {
        let bound = &mut self.values;
        bound.reserve(markers.len());
        if values.names() == ValueNames::Present {
            return bind_named(bound, markers, values);
        }
        if values.len() != markers.len() {
            return Err(CqlError::Invalid(format!("there were {} markers(?) in CQL but {} bound variables", markers.len(), values.len())));
        }
        for (marker, value) in markers.iter().zip(values.iter()) {
            check(marker, value)?;
            bound.push(value);
        }
        Ok(())
    }

    /// The value of marker `index`.
    #[inline]
    #[must_use]
    pub fn get(&self, index: u16) -> Value<'a> {
        self.values.as_slice().get(usize::from(index)).copied().unwrap_or(Value::Null)
    }

    /// What functions of users have cost that ran with these values.
    #[must_use]
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Bytes of all values.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.values.as_slice().iter().map(|value| if let Value::Bytes(bytes) = value { bytes.len() } else { 0 }).sum()
    }

    /// A copy that owns its bytes, for an operation that outlives its frame.
    #[must_use]
    pub fn to_owned_values(&self) -> OwnedValues {
        let mut owned = OwnedValues::default();
        for value in self.values.as_slice() {
            owned.ends.push(match value {
                Value::Null => Slot::Null,
                Value::Unset => Slot::Unset,
                Value::Bytes(bytes) => {
                    owned.bytes.extend_from_slice(bytes);
                    Slot::End(owned.bytes.len())
                }
            });
        }
        owned
    }
}

/// Checks that a QUERY has a value for each marker, about which Cassandra tells less than of an EXECUTE.
///
/// # Errors
/// Too few or too many values.
pub fn check_query(markers: &[Marker], values: &Values<'_>) -> Result<(), CqlError> {
    if values.names() == ValueNames::Absent && values.len() != markers.len() {
        return Err(CqlError::invalid("Invalid amount of bind variables"));
    }
    Ok(())
}

fn bind_named<'a>(bound: &mut Inline<'a>, markers: &[Marker], values: &Values<'a>) -> Result<(), CqlError> {
    for marker in markers {
        let value = values
            .iter_named()
            .filter(|(name, _)| *name == Some(marker.name.as_str()))
            .map(|(_, value)| value)
            .last()
            .ok_or_else(|| CqlError::Invalid(format!("Invalid amount of bind variables: no value for '{}'", marker.name)))?;
        check(marker, value)?;
        bound.push(value);
    }
    Ok(())
}

fn check(marker: &Marker, value: Value<'_>) -> Result<(), CqlError> {
    match value {
        Value::Bytes(bytes) => value::validate(&marker.data_type, bytes)
            .or_else(|error| if marker.has_nulls && error == ValueError::NullElement { Ok(()) } else { Err(error) })
            .map_err(|error| CqlError::Invalid(error.to_string())),
        _ => Ok(()),
    }
}

/// Bound values that own their bytes.
#[derive(Clone, Debug, Default)]
pub struct OwnedValues {
    bytes: Vec<u8>,
    ends: Vec<Slot>,
}

#[derive(Clone, Copy, Debug)]
enum Slot {
    Null,
    Unset,
    End(usize),
}

impl OwnedValues {
    /// The values, borrowed; they were checked when they were first bound.
    #[must_use]
    pub fn bindings(&self) -> Bindings<'_> {
        let mut start = 0;
        let mut values = Inline::new();
        values.reserve(self.ends.len());
        for slot in &self.ends {
            values.push(match *slot {
                Slot::Null => Value::Null,
                Slot::Unset => Value::Unset,
                Slot::End(end) => {
                    let bytes = &self.bytes[start..end];
                    start = end;
                    Value::Bytes(bytes)
                }
            });
        }
        Bindings { values, meter: Meter::default() }
    }
}

impl<'a> Bound<'a> {
    /// The bytes, with null and unset alike `None`.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Null | Self::Unset => None,
        }
    }

    /// The bytes, or `error` for null and unset.
    ///
    /// # Errors
    /// `error` when there are none.
    pub fn require(self, error: impl FnOnce() -> CqlError) -> Result<Cow<'a, [u8]>, CqlError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Null | Self::Unset => Err(error()),
        }
    }
}
