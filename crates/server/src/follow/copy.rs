//! Rows that are there before their changes are followed.
//!
//! They are written with a time before all changes that will follow, so that each of these wins. A row that is deleted while it is copied is deleted again
//! by its change.

use super::error::FollowError;
use super::followed::Followed;
use super::statement::Statement;
use super::target::Target;
use crate::feed::{Cells, Page, Source, quoted};
use crate::patience::patiently;
use std::collections::BTreeMap;

const PAGE_ROWS: u32 = 500;

/// Copies all rows. It may be done again.
pub(super) fn copy(
    source: &mut Source<'_>,
    target: &mut Target<'_>,
    followed: &Followed,
    time_us: i64,
    note: impl Fn(&str),
) -> Result<(), FollowError> {
    let log = &followed.log;
    let keys: Vec<&String> = log.partition.iter().chain(&log.clustering).collect();
    let single: Vec<&String> = log.values.iter().filter(|name| !followed.multi.contains_key(*name)).collect();
    let multi: Vec<&String> = log.values.iter().filter(|name| followed.multi.contains_key(*name)).collect();
    let columns = keys.iter().chain(&single).chain(&multi).map(|name| quoted(name));
    let wanted: Vec<String> = columns.chain(single.iter().map(|name| format!("TTL({})", quoted(name)))).collect();
    let text = format!("SELECT {} FROM {}.{}", wanted.join(", "), quoted(&log.keyspace), quoted(&log.table));
    let copy = Copy { followed, keys, single, multi, time_us };
    let (mut state, mut copied): (Option<Vec<u8>>, u64) = (None, 0);
    loop {
        let page = Page { rows: Some(PAGE_ROWS), state: state.as_deref() };
        let (rows, next): (Vec<Cells>, _) = source.rows(&text, &[], page, |rows| {
            let cells = rows.iter().map(|row| row.map(|cell| cell.map(<[u8]>::to_vec)).collect());
            (cells.collect(), rows.metadata.paging_state.map(<[u8]>::to_vec))
        })?;
        let statements: Vec<Vec<Statement>> = rows.iter().map(|row| copy.statements(row)).collect();
        patiently(&note, || target.run_all(&statements))?;
        copied += rows.len() as u64;
        state = next;
        if state.is_none() {
            note(&format!("{copied} rows copied"));
            return Ok(());
        }
    }
}

struct Copy<'a> {
    followed: &'a Followed,
    keys: Vec<&'a String>,
    single: Vec<&'a String>,
    multi: Vec<&'a String>,
    time_us: i64,
}

impl Copy<'_> {
    /// Of key, values, and times to live: one statement for each time to live, for the row and for the partition's static columns.
    fn statements(&self, row: &Cells) -> Vec<Statement> {
        let cell = |index: usize| row.get(index).and_then(Option::as_ref);
        let (keys, single) = (self.keys.len(), self.single.len());
        let ttl_s = |index: usize| {
            let bytes = cell(keys + single + self.multi.len() + index).and_then(|bytes| <[u8; 4]>::try_from(&bytes[..]).ok());
            bytes.map_or(0, i32::from_be_bytes)
        };
        let values = self.single.iter().enumerate().filter_map(|(index, name)| Some((*name, cell(keys + index)?, ttl_s(index))));
        let elements = self.multi.iter().enumerate().filter_map(|(index, name)| Some((*name, cell(keys + single + index)?, 0)));
        let (mut of_row, mut of_partition): (BTreeMap<i32, Vec<_>>, BTreeMap<i32, Vec<_>>) = Default::default();
        for (name, value, ttl_s) in values.chain(elements) {
            let part = if self.followed.statics.contains(name) { &mut of_partition } else { &mut of_row };
            part.entry(ttl_s).or_default().push((name, value));
        }
        let partition = self.followed.log.partition.len();
        let key = |length: usize| -> Vec<_> {
            self.keys.iter().enumerate().take(length).filter_map(|(index, name)| Some((*name, cell(index)?))).collect()
        };
        let mut statements: Vec<Statement> =
            of_partition.iter().map(|(ttl_s, values)| self.insert(&key(partition), values, *ttl_s)).collect();
        // A partition of static columns alone has no row.
        if key(keys).len() == keys {
            if of_row.is_empty() {
                of_row.insert(0, Vec::new());
            }
            // The first makes the row, too.
            let (first, others) = (of_row.iter().take(1), of_row.iter().skip(1));
            statements.extend(first.map(|(ttl_s, values)| self.insert(&key(keys), values, *ttl_s)));
            statements.extend(others.map(|(ttl_s, values)| self.update(&key(keys), values, *ttl_s)));
        }
        statements
    }

    fn insert(&self, key: &[(&String, &Vec<u8>)], values: &[(&String, &Vec<u8>)], ttl_s: i32) -> Statement {
        let log = &self.followed.log;
        let all = || key.iter().chain(values);
        let columns: Vec<String> = all().map(|(name, _)| quoted(name)).collect();
        let markers = vec!["?"; columns.len()].join(", ");
        let (keyspace, table, using) = (quoted(&log.keyspace), quoted(&log.table), self.using(ttl_s));
        let text = format!("INSERT INTO {keyspace}.{table} ({}) VALUES ({markers}){using}", columns.join(", "));
        Statement { text, values: all().map(|(_, value)| Some((*value).clone())).collect() }
    }

    fn update(&self, key: &[(&String, &Vec<u8>)], values: &[(&String, &Vec<u8>)], ttl_s: i32) -> Statement {
        let log = &self.followed.log;
        let equals = |columns: &[(&String, &Vec<u8>)]| columns.iter().map(|(name, _)| format!("{} = ?", quoted(name))).collect::<Vec<_>>();
        let (keyspace, table, using) = (quoted(&log.keyspace), quoted(&log.table), self.using(ttl_s));
        let text = format!("UPDATE {keyspace}.{table}{using} SET {} WHERE {}", equals(values).join(", "), equals(key).join(" AND "));
        Statement { text, values: values.iter().chain(key).map(|(_, value)| Some((*value).clone())).collect() }
    }

    fn using(&self, ttl_s: i32) -> String {
        let ttl = if ttl_s > 0 { format!(" AND TTL {ttl_s}") } else { String::new() };
        format!(" USING TIMESTAMP {}{ttl}", self.time_us)
    }
}
