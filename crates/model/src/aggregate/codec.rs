//! Specs, partials and values as bytes, of one process or of two: lengths and numbers are little-endian.

use super::{CONDITIONS_MAX, Comparison, Condition, FOLDS_MAX, Fold, Function, GROUPS_MAX, OwnedValue, Spec, Value};

/// Bytes that are none of this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what is to be aggregated, or was, cannot be read")]
pub struct Damaged;

const FUNCTIONS: [Function; 6] = [Function::Rows, Function::Count, Function::Sum, Function::Average, Function::Least, Function::Greatest];
const COMPARISONS: [Comparison; 5] =
    [Comparison::Equal, Comparison::Less, Comparison::LessEqual, Comparison::Greater, Comparison::GreaterEqual];

/// Bytes that are read.
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], Damaged> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Damaged> {
        self.take(N)?.try_into().map_err(|_| Damaged)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Damaged> {
        Ok(self.array::<1>()?[0])
    }

    fn short(&mut self) -> Result<u16, Damaged> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(super) fn length(&mut self) -> Result<usize, Damaged> {
        Ok(u32::from_le_bytes(self.array()?) as usize)
    }

    pub(super) fn value(&mut self) -> Result<Value<'a>, Damaged> {
        Ok(match self.byte()? {
            0 => Value::Null,
            1 => Value::Integer(i64::from_le_bytes(self.array()?)),
            2 => Value::real(f64::from_le_bytes(self.array()?)),
            3 => {
                let length = self.length()?;
                Value::Bytes(self.take(length)?)
            }
            _ => return Err(Damaged),
        })
    }

    /// So many things, as far as there may be and there are bytes for them.
    fn many<T>(&mut self, most: usize, read: impl Fn(&mut Self) -> Result<T, Damaged>) -> Result<Vec<T>, Damaged> {
        let count = self.short()?;
        if usize::from(count) > most {
            return Err(Damaged);
        }
        (0..count).map(|_| read(self)).collect()
    }
}

/// Appends a value.
#[inline]
pub(super) fn put_value(value: Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(0),
        Value::Integer(value) => {
            out.push(1);
            out.extend_from_slice(&value.to_le_bytes());
        }
        Value::Real(value) => {
            out.push(2);
            out.extend_from_slice(&value.to_le_bytes());
        }
        Value::Bytes(bytes) => {
            out.push(3);
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            out.extend_from_slice(bytes);
        }
    }
}

impl Spec {
    /// Appends it. It can be read again if it [is bounded](Self::is_bounded).
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.groups.len() as u16).to_le_bytes());
        self.groups.iter().for_each(|column| out.extend_from_slice(&column.to_le_bytes()));
        out.extend_from_slice(&(self.folds.len() as u16).to_le_bytes());
        for fold in &self.folds {
            out.push(FUNCTIONS.iter().position(|known| *known == fold.function).unwrap_or(0) as u8);
            out.extend_from_slice(&fold.column.to_le_bytes());
        }
        out.extend_from_slice(&(self.conditions.len() as u16).to_le_bytes());
        for condition in &self.conditions {
            out.push(COMPARISONS.iter().position(|known| *known == condition.comparison).unwrap_or(0) as u8);
            out.extend_from_slice(&condition.column.to_le_bytes());
            put_value(condition.value.borrowed(), out);
        }
    }

    /// Reads it, for rows of so many columns, and gives what follows.
    ///
    /// # Errors
    /// Bytes that are none, columns that there are not, a spec that is [not bounded](Self::is_bounded).
    pub fn decode(bytes: &[u8], columns: usize) -> Result<(Self, &[u8]), Damaged> {
        let mut input = Input(bytes);
        let column =
            |input: &mut Input<'_>| input.short().and_then(|column| if usize::from(column) < columns { Ok(column) } else { Err(Damaged) });
        let groups = input.many(GROUPS_MAX, column)?;
        let folds = input.many(FOLDS_MAX, |input| {
            let function = *FUNCTIONS.get(usize::from(input.byte()?)).ok_or(Damaged)?;
            let column = if function == Function::Rows { input.short()? } else { column(input)? };
            Ok(Fold { function, column })
        })?;
        let conditions = input.many(CONDITIONS_MAX, |input| {
            let comparison = *COMPARISONS.get(usize::from(input.byte()?)).ok_or(Damaged)?;
            let column = column(input)?;
            Ok(Condition { column, comparison, value: OwnedValue::from(input.value()?) })
        })?;
        let spec = Self { groups, folds, conditions };
        if spec.is_bounded() { Ok((spec, input.0)) } else { Err(Damaged) }
    }
}

impl From<Value<'_>> for OwnedValue {
    fn from(value: Value<'_>) -> Self {
        value.to_owned()
    }
}
