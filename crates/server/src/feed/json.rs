//! A change as a line of JSON: `docs/reference/changes.md` describes it.

use super::change::{Change, Kind, LogRow};
use super::log::Log;
use super::position::Mark;
use cql::value::json::write_json;
use humantime::format_rfc3339_micros;
use std::fmt::Write;
use std::time::{Duration, UNIX_EPOCH};

/// A change, with the end of its line.
pub(crate) fn line(log: &Log, change: &Change) -> String {
    let operation = match change.kind {
        Kind::Insert => "insert",
        Kind::Update => "update",
        Kind::DeleteRow => "delete_row",
        Kind::DeletePartition => "delete_partition",
        Kind::DeleteRange { .. } => "delete_range",
    };
    let mut out = format!("{{\"operation\":\"{operation}\",\"key\":");
    match &change.kind {
        Kind::DeleteRange { with_first, to, with_last } => {
            object(&change.row, &log.partition, &mut out);
            for (name, row, inclusive) in [("from", &change.row, with_first), ("to", &**to, with_last)] {
                let _ = write!(out, ",\"{name}\":{{\"columns\":");
                object(row, &log.clustering, &mut out);
                let _ = write!(out, ",\"inclusive\":{inclusive}}}");
            }
        }
        _ => object(&change.row, log.partition.iter().chain(&log.clustering), &mut out),
    }
    if matches!(change.kind, Kind::Insert | Kind::Update) {
        written(log, &change.row, &mut out);
    }
    for (name, image) in [("preimage", &change.preimage), ("postimage", &change.postimage)] {
        if let Some(image) = image {
            let _ = write!(out, ",\"{name}\":");
            object(image, &log.values, &mut out);
        }
    }
    let _ = write!(out, ",\"time\":\"{}\",\"id\":\"{}\"", time(change.time.time_us()), change.id());
    out.push_str(&end(&change.position.into()));
    out
}

/// A line that tells how far the feed has come, and of no change.
pub(crate) fn mark(mark: &Mark, complete_until_us: i64, is_logged: bool) -> String {
    format!("{{\"complete_until\":\"{}\",\"logging\":{is_logged}{}", time(complete_until_us), end(mark))
}

fn end(mark: &Mark) -> String {
    format!(",\"position\":\"{mark}\"}}\n")
}

fn time(time_us: i64) -> String {
    format_rfc3339_micros(UNIX_EPOCH + Duration::from_micros(u64::try_from(time_us).unwrap_or(0))).to_string()
}

/// What was written, deleted and taken out of collections.
fn written(log: &Log, row: &LogRow, out: &mut String) {
    if let Some(ttl_s) = row.ttl_s() {
        let _ = write!(out, ",\"ttl\":{ttl_s}");
    }
    out.push_str(",\"columns\":");
    object(row, &log.values, out);
    let deleted: Vec<&String> = log.values.iter().filter(|name| row.deletes(name)).collect();
    if !deleted.is_empty() {
        let _ = write!(out, ",\"deleted\":{}", serde_json::json!(deleted));
    }
    let mut separator = ",\"removed\":{";
    for name in &log.values {
        if let Some((data_type, elements)) = row.deleted_elements(name) {
            out.push_str(separator);
            member(name, out);
            write_json(data_type, Some(elements), out);
            separator = ",";
        }
    }
    if separator == "," {
        out.push('}');
    }
}

/// Those columns of a row that it has.
fn object<'n>(row: &LogRow, names: impl IntoIterator<Item = &'n String>, out: &mut String) {
    out.push('{');
    let mut separator = "";
    for name in names {
        if let Some((data_type, value)) = row.value(name) {
            out.push_str(separator);
            member(name, out);
            write_json(data_type, Some(value), out);
            separator = ",";
        }
    }
    out.push('}');
}

fn member(name: &str, out: &mut String) {
    let _ = write!(out, "{}:", serde_json::Value::from(name));
}
