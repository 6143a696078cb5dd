//! Rows of SQL as JSON: a document, or a line each.

use super::asked::Layout;
use cql::value::json::write_string;
use serde_json::json;
use sql::{ColumnType, Query, ValueRef};
use std::fmt::Write;
use std::time::Duration;

/// What is known of a result's columns.
pub(super) struct Rows {
    layout: Layout,
    columns: Vec<(String, Option<ColumnType>, Option<String>)>,
}

impl Rows {
    /// Of a query that is at its first row, if there is one: where nothing else tells what a column holds, its first value does.
    pub(super) fn of(query: &Query, is_there: bool, layout: Layout) -> Self {
        let columns = query.columns().into_iter().enumerate().map(|(at, column)| {
            let of_value = || if is_there { type_of(query.value(at)) } else { None };
            let label = column.kind.map(label).or_else(|| of_value().map(str::to_owned));
            (column.name, column.kind, label)
        });
        Self { layout, columns: columns.collect() }
    }

    /// What stands before the first row.
    pub(super) fn begin(&self, out: &mut String) {
        let columns: Vec<_> = self.columns.iter().map(|(name, _, label)| json!({"name": name, "type": label})).collect();
        let columns = json!(columns);
        let _ = match self.layout {
            Layout::Lines => writeln!(out, "{{\"columns\":{columns}}}"),
            Layout::Document => write!(out, "{{\"columns\":{columns},\n\"rows\":["),
        };
    }

    /// The row at which the query is.
    pub(super) fn row(&self, query: &Query, is_first: bool, out: &mut String) {
        if self.layout == Layout::Document {
            out.push_str(if is_first { "\n" } else { ",\n" });
        }
        out.push('[');
        for (at, (_, kind, _)) in self.columns.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            write_value(*kind, query.value(at), out);
        }
        out.push(']');
        if self.layout == Layout::Lines {
            out.push('\n');
        }
    }

    /// What stands after the last row.
    pub(super) fn end(&self, count: u64, has_more: bool, took: Duration, out: &mut String) {
        let took_ms = took.as_secs_f64() * 1e3;
        let said = format!("\"row_count\":{count},\"has_more\":{has_more},\"took_ms\":{took_ms:.3}}}\n");
        out.push_str(if self.layout == Layout::Lines { "{" } else { "],\n" });
        out.push_str(&said);
    }
}

/// What stands in place of the end where rows have begun and cannot go on.
pub(super) fn failure(layout: Layout, text: &str, code: Option<u16>) -> String {
    let said = json!({"error": text, "code": code}).to_string();
    match layout {
        Layout::Lines => said + "\n",
        Layout::Document => format!("],\n{}\n", &said[1..]),
    }
}

/// The name of a column's type.
fn label(kind: ColumnType) -> String {
    match kind {
        ColumnType::TimestampText => "timestamp".to_owned(),
        kind => kind.declaration().to_ascii_lowercase(),
    }
}

fn type_of(value: ValueRef<'_>) -> Option<&'static str> {
    Some(match value {
        ValueRef::Null => return None,
        ValueRef::Integer(_) => "bigint",
        ValueRef::Real(_) => "double",
        ValueRef::Text(_) => "text",
        ValueRef::Blob(_) => "blob",
        ValueRef::Time(_) => "timestamp",
    })
}

fn write_value(kind: Option<ColumnType>, value: ValueRef<'_>, out: &mut String) {
    match value {
        ValueRef::Integer(truth @ (0 | 1)) if kind == Some(ColumnType::Bool) => out.push_str(if truth == 1 { "true" } else { "false" }),
        ValueRef::Integer(value) => {
            let _ = write!(out, "{value}");
        }
        // The shortest text that is read as the same number.
        ValueRef::Real(value) if value.is_finite() => out.push_str(&json!(value).to_string()),
        // JSON has no word for it.
        ValueRef::Real(_) | ValueRef::Null => out.push_str("null"),
        ValueRef::Text(text) => write_string(text, out),
        ValueRef::Time(moment) => write_string(&moment.format(), out),
        ValueRef::Blob(bytes) => {
            out.push_str("\"0x");
            bytes.iter().for_each(|byte| {
                let _ = write!(out, "{byte:02x}");
            });
            out.push('"');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_json() {
        let written = |kind, value| {
            let mut out = String::new();
            write_value(kind, value, &mut out);
            out
        };
        let truth = Some(ColumnType::Bool);
        assert_eq!(
            written(truth, ValueRef::Integer(1)) + &written(truth, ValueRef::Integer(0)) + &written(truth, ValueRef::Integer(2)),
            "truefalse2"
        );
        assert_eq!(written(None, ValueRef::Integer(i64::MIN)), i64::MIN.to_string());
        assert_eq!(written(None, ValueRef::Real(0.1)), "0.1");
        assert_eq!(written(None, ValueRef::Real(f64::INFINITY)), "null");
        assert_eq!(written(None, ValueRef::Text("a\"\n")), "\"a\\\"\\n\"");
        assert_eq!(written(None, ValueRef::Blob(&[0, 171])), "\"0x00ab\"");
    }

    #[test]
    fn an_answer_that_fails_is_json_too() {
        let rows = |layout| Rows { layout, columns: vec![("a".to_owned(), None, None)] };
        let mut document = String::new();
        rows(Layout::Document).begin(&mut document);
        document.push_str("\n[1]");
        let failed: serde_json::Value =
            serde_json::from_str(&(document.clone() + &failure(Layout::Document, "no", Some(507)))).expect("it is JSON");
        assert_eq!((&failed["rows"], &failed["error"], &failed["code"]), (&json!([[1]]), &json!("no"), &json!(507)));
        rows(Layout::Document).end(1, false, Duration::from_millis(2), &mut document);
        let whole: serde_json::Value = serde_json::from_str(&document).expect("it is JSON");
        assert_eq!((&whole["rows"], &whole["row_count"], &whole["took_ms"]), (&json!([[1]]), &json!(1), &json!(2.0)));
        assert_eq!(failure(Layout::Lines, "no", None), "{\"code\":null,\"error\":\"no\"}\n");
    }
}
