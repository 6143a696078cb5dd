//! `caching = {'keys': …, 'rows_per_partition': …}`.

use crate::ddl::DdlError;
use crate::ddl::error::TableOptionError;
use std::collections::BTreeMap;

const KEYS: &str = "keys";
const ROWS: &str = "rows_per_partition";

pub(super) fn default() -> BTreeMap<String, String> {
    BTreeMap::from([(KEYS.to_owned(), "ALL".to_owned()), (ROWS.to_owned(), "NONE".to_owned())])
}

/// What is not said is not cached.
pub(super) fn caching(entries: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, DdlError> {
    let unknown: Vec<&str> = entries.keys().map(String::as_str).filter(|name| ![KEYS, ROWS].contains(name)).collect();
    if !unknown.is_empty() {
        return Err(TableOptionError::CachingOption(unknown.join(", ")).into());
    }
    let upper = |name| entries.get(name).map_or_else(|| "NONE".to_owned(), |value: &String| value.to_ascii_uppercase());
    let (keys, rows) = (upper(KEYS), upper(ROWS));
    if !matches!(keys.as_str(), "ALL" | "NONE") {
        return Err(TableOptionError::CachingKeys(entries.get(KEYS).cloned().unwrap_or_default()).into());
    }
    if !matches!(rows.as_str(), "ALL" | "NONE") && !rows.parse().is_ok_and(|rows: i32| rows >= 0) {
        return Err(TableOptionError::CachingRows(entries.get(ROWS).cloned().unwrap_or_default()).into());
    }
    Ok(BTreeMap::from([(KEYS.to_owned(), keys), (ROWS.to_owned(), rows)]))
}
