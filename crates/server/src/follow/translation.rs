//! A change as statements for the target, with the time of the change.
//!
//! A deletion has the microsecond before: what the same change has left, or written anew, is above it.

use super::error::FollowError;
use super::followed::{Followed, Multi};
use super::range;
use super::statement::Statement;
use crate::feed::{Change, Kind, LogRow, quoted};
use cql::value::{build, layout};
use model::DataType;

/// The statements that a change comes to, all of one partition. `image` is the row after it, if the log has it.
pub(super) fn of_change(followed: &Followed, change: &Change, image: Option<&LogRow>, now_us: i64) -> Result<Vec<Statement>, FollowError> {
    let (log, row, time_us) = (&followed.log, &change.row, change.time.time_us());
    let table = format!("{}.{}", quoted(&log.keyspace), quoted(&log.table));
    let delete = format!("DELETE FROM {table} USING TIMESTAMP {}", time_us - 1);
    let mut statement = Statement { text: delete, ..Statement::default() };
    match &change.kind {
        Kind::DeleteRow => statement.add_key(row, log.partition.iter().chain(&log.clustering)),
        Kind::DeletePartition => statement.add_key(row, log.partition.iter()),
        Kind::DeleteRange { with_first, to, with_last } => range::add(&mut statement, followed, (row, *with_first), (to, *with_last))?,
        Kind::Insert | Kind::Update => return written(followed, &table, change, image, now_us),
    }
    Ok(vec![statement])
}

/// What is left of a time to live. What has ended is written all the same, for it hides what was there before.
fn ttl_left_s(ttl_s: i64, time_us: i64, now_us: i64) -> i64 {
    ttl_s - ((now_us - time_us) / 1_000_000).clamp(0, ttl_s - 1)
}

fn written(followed: &Followed, table: &str, change: &Change, image: Option<&LogRow>, now_us: i64) -> Result<Vec<Statement>, FollowError> {
    let (log, row, time_us) = (&followed.log, &change.row, change.time.time_us());
    let ttl = row.ttl_s().map_or(String::new(), |ttl_s| format!(" AND TTL {}", ttl_left_s(ttl_s, time_us, now_us)));
    let using = format!(" USING TIMESTAMP {time_us}{ttl}");
    let keys = || log.partition.iter().chain(&log.clustering);
    let (mut set, mut statements) = (Vec::new(), Vec::new());
    let mut update = Statement { text: format!("UPDATE {table}{using} SET "), ..Statement::default() };
    for name in &log.values {
        match followed.multi.get(name) {
            None => {
                let value = row.value(name).map(|(_, value)| value.to_vec());
                if value.is_some() || row.deletes(name) {
                    set.push(format!("{} = ?", quoted(name)));
                    update.values.push(value);
                }
            }
            Some(multi) => elements(&mut update, &mut set, *multi, name, row, image),
        }
    }
    if matches!(change.kind, Kind::Insert) {
        // The row itself, and then its columns: both have the same time.
        let names: Vec<&String> = keys().filter(|name| row.value(name).is_some()).collect();
        let columns: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        let markers = vec!["?"; names.len()].join(", ");
        let text = format!("INSERT INTO {table} ({}) VALUES ({markers}){using}", columns.join(", "));
        let values = names.iter().map(|name| row.value(name).map(|(_, value)| value.to_vec())).collect();
        statements.push(Statement { text, values });
    }
    if !set.is_empty() {
        update.text.push_str(&set.join(", "));
        update.add_key(row, keys());
        statements.push(update);
    }
    Ok(statements)
}

/// What a column with a cell for each element gets.
fn elements(update: &mut Statement, set: &mut Vec<String>, multi: Multi, name: &str, row: &LogRow, image: Option<&LogRow>) {
    let (column, value, removed) = (quoted(name), row.value(name), row.deleted_elements(name));
    let is_replaced = row.deletes(name);
    if value.is_none() && removed.is_none() && !is_replaced {
        return;
    }
    match multi {
        Multi::List => {
            set.push(format!("{column} = ?"));
            update.values.push(image.and_then(|image| image.value(name)).map(|(_, positions)| list_value(positions)));
        }
        _ if is_replaced => {
            set.push(format!("{column} = ?"));
            update.values.push(value.map(|(_, value)| value.to_vec()));
        }
        Multi::Keyed => {
            for (sign, elements) in [("+", value), ("-", removed)] {
                if let Some((_, elements)) = elements {
                    set.push(format!("{column} = {column} {sign} ?"));
                    update.bind(elements);
                }
            }
        }
        Multi::Udt => fields(update, set, name, row),
    }
}

/// The fields of a user type that were written or deleted, each by itself.
fn fields(update: &mut Statement, set: &mut Vec<String>, name: &str, row: &LogRow) {
    let Some(DataType::Udt(user, _)) = row.data_type(name) else { return };
    let (value, removed) = (row.value(name), row.deleted_elements(name));
    let mut written = value.into_iter().flat_map(|(_, value)| layout::fields(value));
    let removed: Vec<&[u8]> = removed.into_iter().flat_map(|(_, fields)| layout::elements(fields)).collect();
    for (number, (field, _)) in user.fields.iter().enumerate() {
        let value = written.next().flatten();
        if value.is_some()
            || removed.iter().any(|removed| <[u8; 2]>::try_from(*removed).is_ok_and(|of| usize::from(u16::from_be_bytes(of)) == number))
        {
            set.push(format!("{}.{} = ?", quoted(name), quoted(field)));
            update.values.push(value.map(<[u8]>::to_vec));
        }
    }
}

/// The list of which the log has a map by position.
fn list_value(positions: &[u8]) -> Vec<u8> {
    let elements: Vec<&[u8]> = layout::entries(positions).map(|(_, element)| element).collect();
    let mut value = Vec::new();
    build::list(elements.into_iter(), &mut value);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_time_to_live_is_at_least_a_second() {
        assert_eq!(ttl_left_s(10, 5_000_000, 5_000_000), 10);
        assert_eq!(ttl_left_s(10, 5_000_000, 8_900_000), 7);
        assert_eq!(ttl_left_s(10, 5_000_000, 99_000_000), 1);
        assert_eq!(ttl_left_s(10, 5_000_000, 4_000_000), 10, "a clock that is behind gives no more than there was");
    }
}
