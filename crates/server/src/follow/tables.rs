//! What the source says of a table, and how the target gets one like it.

use super::error::FollowError;
use super::followed::{Followed, Multi};
use super::target::Target;
use crate::feed::{FeedError, Log, Source, digest, quoted, text};
use cql::cdc::log_table::deleted_elements_name;
use cql::cdc::{CdcOptions, log_name};
use cql::value::layout;
use std::collections::{BTreeMap, HashMap};

const COLUMNS: &str =
    "SELECT column_name, kind, position, type, clustering_order FROM system_schema.columns WHERE keyspace_name = ? AND table_name = ?";

/// A column: its position, name, kind, type, and whether its order is descending.
type Column = (i32, String, String, String, bool);

/// Asks the source for a table.
pub(super) fn read(source: &mut Source<'_>, keyspace: &str, table: &str) -> Result<Followed, FollowError> {
    let names = || (keyspace.to_owned(), table.to_owned());
    let (of, log) = ([keyspace.as_bytes(), table.as_bytes()], log_name(table));
    let of_log = [keyspace.as_bytes(), log.as_bytes()];
    let columns = columns(source, &of)?;
    if columns.is_empty() {
        let (keyspace, table) = names();
        return Err(FeedError::NoTable { keyspace, table }.into());
    }
    let logged: Vec<String> = source.all(COLUMNS, &of_log)?.iter().map(|row| text(row.first())).collect();
    let Some((id, options)) = log_options(source, &of, &of_log)? else {
        let (keyspace, table) = names();
        return Err(FeedError::NoLog { keyspace, table }.into());
    };
    if options.delta == cql::cdc::options::Delta::Keys {
        return Err(FollowError::Keys);
    }
    let multi: HashMap<String, Multi> = columns
        .iter()
        .filter(|(_, name, ..)| logged.contains(&deleted_elements_name(name)))
        .map(|(_, name, _, data_type, _)| (name.clone(), multi_of(data_type)))
        .collect();
    if let Some((column, _)) = multi.iter().find(|(_, multi)| **multi == Multi::List && !options.postimage) {
        return Err(FollowError::List { column: column.clone() });
    }
    let of_kind =
        |kinds: &[&str]| columns.iter().filter(|(_, _, kind, ..)| kinds.contains(&&**kind)).map(|(_, name, ..)| name.clone()).collect();
    let (keyspace, table) = names();
    let log = Log {
        keyspace,
        table,
        id: digest(id),
        ttl_s: options.ttl_s,
        is_enabled: options.enabled,
        partition: of_kind(&["partition_key"]),
        clustering: of_kind(&["clustering"]),
        values: of_kind(&["static", "regular"]),
    };
    let descending = columns.iter().filter(|(.., descending)| *descending).map(|(_, name, ..)| name.clone()).collect();
    Ok(Followed { log, multi, statics: of_kind(&["static"]), descending })
}

/// The columns of a table, by position; none of one that is not there.
fn columns(source: &mut Source<'_>, of: &[&[u8]]) -> Result<Vec<Column>, FollowError> {
    let rows = source.all(COLUMNS, of)?;
    let mut columns: Vec<Column> = rows
        .iter()
        .map(|row| {
            let position = row.get(2).and_then(Option::as_deref).and_then(|bytes| bytes.try_into().ok()).map_or(0, i32::from_be_bytes);
            (position, text(row.first()), text(row.get(1)), text(row.get(3)), text(row.get(4)) == "desc")
        })
        .collect();
    columns.sort();
    Ok(columns)
}

/// The id of a table's log, and its options; none of a table that has no log.
fn log_options(source: &mut Source<'_>, of: &[&[u8]], of_log: &[&[u8]]) -> Result<Option<(u128, CdcOptions)>, FollowError> {
    let id = source.all("SELECT id FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?", of_log)?;
    let id = id.first().and_then(|row| row.first()?.as_deref()?.try_into().ok()).map(u128::from_be_bytes);
    let Some(id) = id else { return Ok(None) };
    let options = source.all("SELECT cdc FROM system_schema.scylla_tables WHERE keyspace_name = ? AND table_name = ?", of)?;
    let options = options.first().and_then(|row| row.first()?.as_deref()).map(|map| {
        let word = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        layout::entries(map).map(|(name, value)| (word(name), word(value))).collect::<BTreeMap<_, _>>()
    });
    Ok(options.and_then(|entries| CdcOptions::read(&entries, false).ok()).map(|options| (id, options)))
}

fn multi_of(data_type: &str) -> Multi {
    match data_type.split('<').next() {
        Some("list") => Multi::List,
        Some("set" | "map") => Multi::Keyed,
        _ => Multi::Udt,
    }
}

/// Makes the keyspace, its types and the table at the target, where they are missing.
pub(super) fn make(source: &mut Source<'_>, target: &mut Target<'_>, followed: &Followed) -> Result<(), FollowError> {
    let Log { keyspace, table, .. } = &followed.log;
    if target.has_table(keyspace, table)? {
        return target.make_positions();
    }
    let described = source.all(&format!("DESCRIBE KEYSPACE {}", quoted(keyspace)), &[])?;
    for row in &described {
        let (kind, name, statement) = (text(row.get(1)), text(row.get(2)), text(row.get(3)));
        let is_wanted = matches!(&*kind, "keyspace" | "type") || kind == "table" && (name == *table || name == quoted(table));
        if is_wanted {
            target.change_schema(&without_log(&statement))?;
        }
    }
    target.make_positions()
}

/// The statement as one that may find what it makes, and whose table has no log: what is followed is not followed on.
fn without_log(statement: &str) -> String {
    let mut made = ["KEYSPACE", "TYPE", "TABLE"].iter().fold(statement.to_owned(), |statement, what| {
        let begin = format!("CREATE {what} ");
        match statement.strip_prefix(&begin) {
            Some(rest) if !rest.starts_with("IF NOT EXISTS") => format!("{begin}IF NOT EXISTS {rest}"),
            _ => statement,
        }
    });
    if let Some(start) = made.find("cdc = {")
        && let Some(length) = made.get(start..).and_then(|rest| rest.find('}'))
    {
        made.replace_range(start..=start + length, "cdc = false");
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_made_without_a_log() {
        let made = without_log(
            "CREATE TABLE k.t (\n    p int PRIMARY KEY\n) WITH caching = {}\n    AND cdc = {'delta': 'full', 'enabled': 'true'}\n    AND comment = '';",
        );
        assert_eq!(
            made,
            "CREATE TABLE IF NOT EXISTS k.t (\n    p int PRIMARY KEY\n) WITH caching = {}\n    AND cdc = false\n    AND comment = '';"
        );
        assert_eq!(without_log("CREATE TYPE k.u (\n    a int\n);"), "CREATE TYPE IF NOT EXISTS k.u (\n    a int\n);");
    }
}
