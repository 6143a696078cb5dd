//! Values as JSON and back: `SELECT JSON`, `toJson()`, `INSERT … JSON`, `fromJson()`.
//!
//! The mapping is Cassandra's: every native type also reads from a string with its literal; a blob is a string of `0x…`; sets, tuples and
//! vectors are arrays; a map's keys are always strings, those of other types with the JSON text of the key in them; names of fields and
//! columns that are not plain lower-case identifiers carry double quotes within the string. Numbers keep all their digits, where
//! Cassandra sends decimals through a double.

mod read;
mod scan;
mod shown;

pub use read::{JsonError, from_json, object};
pub use scan::{Kind, SyntaxError};

use super::{layout, text};
use model::DataType;

/// Appends a value as JSON.
pub fn write_json(ty: &DataType, wire: Option<&[u8]>, out: &mut String) {
    let Some(wire) = wire else {
        out.push_str("null");
        return;
    };
    match ty {
        DataType::Text | DataType::Ascii => write_string(&String::from_utf8_lossy(wire), out),
        DataType::List(element, _) | DataType::Set(element, _) => array(layout::elements(wire).map(|part| (&**element, Some(part))), out),
        DataType::Vector(element, dimension) => {
            array(layout::vector_elements(element, *dimension, wire).map(|part| (&**element, Some(part))), out);
        }
        DataType::Tuple(types) => {
            let mut fields = layout::fields(wire);
            array(types.iter().map(|ty| (ty, fields.next().flatten())), out);
        }
        DataType::Map(key, value, _) => {
            out.push('{');
            for (position, (k, v)) in layout::entries(wire).enumerate() {
                separate(position, out);
                write_key(key, k, out);
                out.push_str(": ");
                write_json(value, Some(v), out);
            }
            out.push('}');
        }
        DataType::Udt(user, _) => {
            let mut fields = layout::fields(wire);
            out.push('{');
            for (position, (name, ty)) in user.fields.iter().enumerate() {
                separate(position, out);
                write_name(name, out);
                out.push_str(": ");
                write_json(ty, fields.next().flatten(), out);
            }
            out.push('}');
        }
        DataType::Boolean if wire.is_empty() => out.push_str("null"),
        DataType::Float | DataType::Double => {
            let start = out.len();
            text::write_plain(ty, wire, out);
            // JSON has no word for them.
            if out[start..].ends_with(['N', 'y']) {
                out.truncate(start);
                out.push_str("null");
            } else if out.len() == start {
                out.push_str("\"\"");
            }
        }
        DataType::Int
        | DataType::BigInt
        | DataType::Counter
        | DataType::SmallInt
        | DataType::TinyInt
        | DataType::Varint
        | DataType::Decimal
            if wire.is_empty() =>
        {
            out.push_str("\"\"");
        }
        DataType::Int
        | DataType::BigInt
        | DataType::Counter
        | DataType::SmallInt
        | DataType::TinyInt
        | DataType::Varint
        | DataType::Decimal
        | DataType::Boolean => text::write_plain(ty, wire, out),
        DataType::Timestamp if wire.len() == 8 => {
            out.push('"');
            let milliseconds = wire.iter().fold(0_i64, |word, byte| (word << 8) | i64::from(*byte));
            // Writing to a string cannot fail.
            let _ = text::write_timestamp(milliseconds, ' ', out);
            out.push('"');
        }
        _ => {
            out.push('"');
            text::write_plain(ty, wire, out);
            out.push('"');
        }
    }
}

/// A value as JSON.
#[must_use]
pub fn to_json(ty: &DataType, wire: Option<&[u8]>) -> String {
    let mut out = String::new();
    write_json(ty, wire, &mut out);
    out
}

/// Appends a JSON string.
pub fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{C}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1F}' => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push('"');
}

/// Appends the JSON string for a field's or column's name.
pub fn write_name(name: &str, out: &mut String) {
    if text::is_plain_identifier(name) {
        write_string(name, out);
    } else {
        write_string(&format!("\"{name}\""), out);
    }
}

fn write_key(ty: &DataType, wire: &[u8], out: &mut String) {
    let key = to_json(ty, Some(wire));
    if key.starts_with('"') {
        out.push_str(&key);
    } else {
        write_string(&key, out);
    }
}

fn separate(position: usize, out: &mut String) {
    if position > 0 {
        out.push_str(", ");
    }
}

fn array<'a>(parts: impl Iterator<Item = (&'a DataType, Option<&'a [u8]>)>, out: &mut String) {
    out.push('[');
    for (position, (ty, part)) in parts.enumerate() {
        separate(position, out);
        write_json(ty, part, out);
    }
    out.push(']');
}
