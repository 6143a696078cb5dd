//! A range of rows that was deleted, as the relations of a statement.
//!
//! The log has the range's ends in the order of the clustering key, and in each the columns that were named.

use super::error::FollowError;
use super::followed::Followed;
use super::statement::Statement;
use crate::feed::{LogRow, quoted};

/// Adds the relations; each end with whether it belongs to the range.
pub(super) fn add(statement: &mut Statement, followed: &Followed, from: (&LogRow, bool), to: (&LogRow, bool)) -> Result<(), FollowError> {
    let log = &followed.log;
    statement.add_key(from.0, log.partition.iter());
    let named = |row: &LogRow| log.clustering.iter().take_while(|name| row.value(name).is_some()).count();
    let value = |row: &LogRow, name: &str| row.value(name).map(|(_, value)| value.to_vec());
    let shared = log.clustering.iter().take_while(|name| row_has(from.0, name) && value(from.0, name) == value(to.0, name)).count();
    for name in log.clustering.iter().take(shared) {
        statement.text.push_str(&format!(" AND {} = ?", quoted(name)));
        statement.values.push(value(from.0, name));
    }
    for ((row, is_inclusive), ascending, descending) in [(from, ">", "<"), (to, "<", ">")] {
        let names: Vec<&String> = log.clustering.iter().take(named(row)).skip(shared).collect();
        if names.is_empty() {
            continue;
        }
        let is_descending = followed.descending.contains(names[0]);
        if names.iter().any(|name| followed.descending.contains(name) != is_descending) {
            return Err(FollowError::Range);
        }
        let sign = if is_descending { descending } else { ascending };
        let equal = if is_inclusive { "=" } else { "" };
        let columns: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        let markers = vec!["?"; names.len()].join(", ");
        statement.text.push_str(&match &columns[..] {
            [column] => format!(" AND {column} {sign}{equal} ?"),
            columns => format!(" AND ({}) {sign}{equal} ({markers})", columns.join(", ")),
        });
        statement.values.extend(names.iter().map(|name| value(row, name)));
    }
    Ok(())
}

fn row_has(row: &LogRow, name: &str) -> bool {
    row.value(name).is_some()
}
