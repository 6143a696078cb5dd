//! The values of a column of a batch, as Arrow lays them out.

use super::kind::{Kind, time_ms};
use sql::ValueRef;
use std::fmt::Write;

/// Buffers begin at multiples of it.
const ALIGNMENT: usize = 8;

/// A column that is filled.
pub(super) struct Column {
    pub(super) kind: Kind,
    rows: usize,
    nulls: usize,
    /// A bit for each row: whether it has a value.
    validity: Vec<u8>,
    /// Of texts and bytes, where each ends in `values`: 32 bits, a zero before the first.
    ends: Vec<u8>,
    values: Vec<u8>,
}

impl Column {
    pub(super) fn new(kind: Kind) -> Self {
        Self { kind, rows: 0, nulls: 0, validity: Vec::new(), ends: Vec::new(), values: Vec::new() }
    }

    /// Bytes that it has.
    pub(super) fn bytes(&self) -> usize {
        self.validity.len() + self.ends.len() + self.values.len()
    }

    /// Takes the value of the next row; false if its type does not hold it.
    pub(super) fn push(&mut self, value: ValueRef<'_>) -> bool {
        if !self.kind.holds(value) {
            return false;
        }
        let is_there = value != ValueRef::Null;
        push_bit(&mut self.validity, self.rows, is_there);
        self.nulls += usize::from(!is_there);
        match self.kind {
            Kind::Bool => push_bit(&mut self.values, self.rows, value == ValueRef::Integer(1)),
            Kind::Text | Kind::Blob => self.push_bytes(value),
            Kind::Int8 | Kind::Int16 | Kind::Int32 | Kind::Int64 => {
                let integer = if let ValueRef::Integer(value) = value { value } else { 0 };
                // The type holds it: no digit is cut.
                self.values.extend_from_slice(&integer.to_le_bytes()[..self.kind.width().unwrap_or(8)]);
            }
            Kind::Timestamp => {
                let ms = if let ValueRef::Text(text) = value { time_ms(text) } else { None };
                self.values.extend_from_slice(&ms.unwrap_or(0).to_le_bytes());
            }
            Kind::Float => self.values.extend_from_slice(&(real(value) as f32).to_le_bytes()),
            Kind::Double => self.values.extend_from_slice(&real(value).to_le_bytes()),
        }
        self.rows += 1;
        true
    }

    fn push_bytes(&mut self, value: ValueRef<'_>) {
        match value {
            ValueRef::Text(text) => self.values.extend_from_slice(text.as_bytes()),
            ValueRef::Blob(bytes) if self.kind == Kind::Blob => self.values.extend_from_slice(bytes),
            ValueRef::Null => {}
            other => self.values.extend_from_slice(text_of(other).as_bytes()),
        }
        if self.ends.is_empty() {
            self.ends.extend_from_slice(&[0; 4]);
        }
        self.ends.extend_from_slice(&(self.values.len() as u32).to_le_bytes());
    }

    /// How many rows it has, and how many are null.
    pub(super) fn counts(&self) -> (i64, i64) {
        (self.rows as i64, self.nulls as i64)
    }

    /// Moves its buffers to a body; tells where each is, and how long.
    pub(super) fn drain_to(&mut self, body: &mut Vec<u8>, places: &mut Vec<(i64, i64)>) {
        let has_ends = matches!(self.kind, Kind::Text | Kind::Blob);
        // Where nothing is null the bits may be left out.
        let validity = if self.nulls == 0 { &[][..] } else { &self.validity };
        for buffer in [Some(validity), has_ends.then_some(&self.ends[..]), Some(&self.values[..])].into_iter().flatten() {
            places.push((body.len() as i64, buffer.len() as i64));
            body.extend_from_slice(buffer);
            body.resize(body.len().next_multiple_of(ALIGNMENT), 0);
        }
        (self.rows, self.nulls) = (0, 0);
        self.validity.clear();
        self.ends.clear();
        self.values.clear();
    }
}

fn push_bit(bits: &mut Vec<u8>, at: usize, is_set: bool) {
    if at.is_multiple_of(8) {
        bits.push(0);
    }
    bits[at / 8] |= u8::from(is_set) << (at % 8);
}

fn real(value: ValueRef<'_>) -> f64 {
    match value {
        ValueRef::Real(value) => value,
        ValueRef::Integer(value) => value as f64,
        _ => 0.0,
    }
}

/// What stands among texts for another value.
fn text_of(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(value) => value.to_string(),
        ValueRef::Real(value) if value.is_finite() => serde_json::json!(value).to_string(),
        ValueRef::Real(value) => value.to_string(),
        ValueRef::Text(text) => text.to_owned(),
        ValueRef::Time(moment) => moment.format(),
        ValueRef::Blob(bytes) => bytes.iter().fold("0x".to_owned(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drained(kind: Kind, values: &[ValueRef<'_>]) -> (Vec<u8>, Vec<(i64, i64)>) {
        let mut column = Column::new(kind);
        assert!(values.iter().all(|value| column.push(*value)));
        let (mut body, mut places) = (Vec::new(), Vec::new());
        column.drain_to(&mut body, &mut places);
        assert_eq!((column.counts(), column.bytes()), ((0, 0), 0));
        (body, places)
    }

    #[test]
    fn values_lie_as_arrow_has_them() {
        let (body, places) = drained(Kind::Int16, &[ValueRef::Integer(-2), ValueRef::Null]);
        assert_eq!((body, places), (vec![1, 0, 0, 0, 0, 0, 0, 0, 0xFE, 0xFF, 0, 0, 0, 0, 0, 0], vec![(0, 1), (8, 4)]));
        let (body, places) = drained(Kind::Bool, &[ValueRef::Integer(1); 9]);
        assert_eq!((body, places), (vec![0xFF, 1, 0, 0, 0, 0, 0, 0], vec![(0, 0), (0, 2)]));
        let (body, places) = drained(Kind::Text, &[ValueRef::Text("ab"), ValueRef::Integer(7), ValueRef::Blob(&[9])]);
        assert_eq!(places, vec![(0, 0), (0, 16), (16, 7)]);
        assert_eq!((&body[..16], &body[16..]), (&[0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 7, 0, 0, 0][..], &b"ab70x09\0"[..]));
        assert!(!Column::new(Kind::Int8).push(ValueRef::Integer(128)) && !Column::new(Kind::Blob).push(ValueRef::Text("")));
    }
}
