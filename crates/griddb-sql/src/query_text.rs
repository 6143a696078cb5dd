//! The query of a scan, as a text of TQL.

use crate::container::Container;
use sql::{Condition, Operator, Order, ValueRef};
use std::fmt::Write;

/// The last time that TQL has: that of a year of four digits.
const TIME_MAX: i64 = 253_402_300_799_999;

/// Whether a text has the values that columns are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    Told,
    /// As `?`: the text is not for the node.
    Hidden,
}

/// The query of a scan.
pub(crate) fn query_text(container: &Container, conditions: &[Condition], order: Order, values: Values) -> String {
    let mut text = "SELECT *".to_owned();
    for (at, condition) in conditions.iter().enumerate() {
        let name = &container.columns[condition.column].name;
        let Some(value) = literal(condition.value.as_ref(), container.table.columns[condition.column].kind) else { continue };
        let value = if values == Values::Told { &*value } else { "?" };
        let operator = match condition.operator {
            Operator::Equal => "=",
            Operator::Less => "<",
            Operator::LessEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterEqual => ">=",
        };
        let word = if at == 0 || !text.contains(" WHERE ") { "WHERE" } else { "AND" };
        let _ = write!(text, " {word} \"{}\" {operator} {value}", name.replace('"', "\"\""));
    }
    if order == Order::KeyDescending && container.table.key_len > 0 {
        let keys: Vec<String> =
            container.columns[..container.key_len].iter().map(|column| format!("\"{}\" DESC", column.name.replace('"', "\"\""))).collect();
        let _ = write!(text, " ORDER BY {}", keys.join(", "));
    }
    text
}

/// A value as TQL has it; none if it cannot say it.
fn literal(value: ValueRef<'_>, kind: sql::ColumnType) -> Option<String> {
    match (value, kind) {
        (ValueRef::Integer(value), sql::ColumnType::Bool) => match value {
            0 => Some("FALSE".to_owned()),
            1 => Some("TRUE".to_owned()),
            _ => None,
        },
        (ValueRef::Integer(i64::MIN), _) => None,
        (ValueRef::Integer(value), sql::ColumnType::Timestamp) => {
            (0..=TIME_MAX).contains(&value).then(|| format!("TO_TIMESTAMP_MS({value})"))
        }
        // What is beyond the years that TQL has it cannot say.
        (ValueRef::Time(moment), sql::ColumnType::MicroTimestamp | sql::ColumnType::NanoTimestamp) => {
            (0..=TIME_MAX).contains(&moment.ms).then(|| format!("TIMESTAMP_NS('{}')", moment.format()))
        }
        (ValueRef::Integer(value), _) => Some(value.to_string()),
        (ValueRef::Text(text), _) => Some(format!("'{}'", text.replace('\'', "''"))),
        _ => None,
    }
}
