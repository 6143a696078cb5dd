//! The log of a table as a table of the schema: its columns, and how they follow those of the table.
//!
//! | columns | type | what |
//! |---|---|---|
//! | `cdc$stream_id` | blob | partition key: the stream |
//! | `cdc$time` | timeuuid | when the primary wrote; the same in all rows about one changed row |
//! | `cdc$batch_seq_no` | int | from 0, in the rows of one time |
//! | `cdc$operation`, `cdc$ttl`, `cdc$end_of_batch` | tinyint, bigint, boolean | what happened, with which time to live, whether it is the last row of its time |
//! | each of the table | frozen; of lists a map by timeuuid | what was written |
//! | `cdc$deleted_…`, of static and regular ones | boolean | it was deleted, or what it had before was |
//! | `cdc$deleted_elements_…`, of those with a cell for each element | frozen set | these elements were deleted |

use super::options::CdcOptions;
use base::TableId;
use md5::{Digest, Md5};
use model::{
    CDC_LOG_OPTION, Column, ColumnId, ColumnKind, ColumnMask, DataType, DroppedColumn, Frozen, KeptOption, Keyspace, Order, Schema, Table,
    TableOptions,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a log's name ends with.
pub const LOG_SUFFIX: &str = "_scylla_cdc_log";
/// What the names of a log's own columns begin with.
pub const OWN_PREFIX: &str = "cdc$";
/// The partition key.
pub const STREAM_ID: &str = "cdc$stream_id";
/// The first clustering column.
pub const TIME: &str = "cdc$time";
/// The second clustering column.
pub const BATCH_SEQ_NO: &str = "cdc$batch_seq_no";
/// What happened.
pub const OPERATION: &str = "cdc$operation";
/// With which time to live.
pub const TTL: &str = "cdc$ttl";
/// Whether it is the last row of its time.
pub const END_OF_BATCH: &str = "cdc$end_of_batch";

/// What is kept in the log's option: the table that it is the log of.
const BASE: &str = "base";
/// And the time, in milliseconds since the epoch, from which on logs have rows.
const GENERATION: &str = "generation";

/// The name of a table's log.
#[must_use]
pub fn log_name(table: &str) -> String {
    format!("{table}{LOG_SUFFIX}")
}

/// The column that says that `column` was deleted.
#[must_use]
pub fn deleted_name(column: &str) -> String {
    format!("cdc$deleted_{column}")
}

/// The column that says which elements of `column` were deleted.
#[must_use]
pub fn deleted_elements_name(column: &str) -> String {
    format!("cdc$deleted_elements_{column}")
}

fn kept<'t>(log: &'t Table, entry: &str) -> Option<&'t str> {
    match log.options.kept.get(CDC_LOG_OPTION) {
        Some(KeptOption::Map(entries)) => entries.get(entry).map(String::as_str),
        _ => None,
    }
}

/// The name of the table that `log` is the log of; none of a table that is no log.
#[must_use]
pub fn base_of(log: &Table) -> Option<&str> {
    kept(log, BASE)
}

/// The log of a table, whether it is written now or not.
#[must_use]
pub fn log_of<'k>(keyspace: &'k Keyspace, table: &Table) -> Option<&'k Arc<Table>> {
    keyspace.tables.get(&log_name(&table.name)).filter(|log| base_of(log) == Some(&*table.name))
}

/// The time from which on the streams are what they are, as milliseconds since the epoch; none without a log. It stays while there is one.
#[must_use]
pub fn generation_ms(schema: &Schema) -> Option<i64> {
    schema.tables().filter_map(|table| kept(table, GENERATION)?.parse().ok()).min()
}

/// A new log of `base`.
#[must_use]
pub fn new_log(base: &Table, id: TableId, generation_ms: i64, options: &CdcOptions) -> Table {
    let key = |id, name: &str, kind, data_type| {
        let (id, name, order) = (ColumnId(id), name.to_owned(), Order::Ascending);
        Column { id, name, kind, order, data_type, mask: None }
    };
    let mut log = Table {
        id,
        uuid: uuid(base, id),
        name: log_name(&base.name),
        columns: vec![
            key(0, STREAM_ID, ColumnKind::PartitionKey, DataType::Blob),
            key(1, TIME, ColumnKind::Clustering, DataType::TimeUuid),
            key(2, BATCH_SEQ_NO, ColumnKind::Clustering, DataType::Int),
        ],
        partition_key_len: 1,
        clustering_len: 2,
        next_column: ColumnId(3),
        dropped_columns: BTreeMap::new(),
        indexes: BTreeMap::new(),
        compact: false,
        views: BTreeSet::new(),
        view: None,
        records: None,
        keyspace: base.keyspace.clone(),
        options: TableOptions { comment: format!("CDC log for {}.{}", base.keyspace, base.name), ..TableOptions::default() },
    };
    let entries = [(BASE, base.name.clone()), (GENERATION, generation_ms.to_string())];
    let entries = entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    log.options.kept.insert(CDC_LOG_OPTION.to_owned(), KeptOption::Map(entries));
    follow(&mut log, base, base, options, 0);
    log
}

/// The id that drivers see: another one for each log.
fn uuid(base: &Table, id: TableId) -> u128 {
    let digest: [u8; 16] = Md5::digest([&base.uuid.to_be_bytes()[..], &id.0.to_be_bytes()].concat()).into();
    let uuid = u128::from_be_bytes(digest) & !(0xF << 76) & !(0x3 << 62);
    uuid | 0x3 << 76 | 0x2 << 62
}

/// Makes the log's columns those of `base`, which was `former` when the log was last made to follow it.
pub fn follow(log: &mut Table, former: &Table, base: &Table, options: &CdcOptions, now_us: i64) {
    log.options.gc_grace_seconds = if options.ttl_s > 0 { 0 } else { TableOptions::default().gc_grace_seconds };
    let key_len = log.partition_key_len + log.clustering_len;
    for column in former.columns.iter().filter(|column| matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Clustering)) {
        let Some((_, now)) = base.column_of_id(column.id).filter(|(_, now)| now.name != column.name) else { continue };
        if let Some(renamed) = log.columns.iter_mut().skip(key_len).find(|other| other.name == column.name) {
            renamed.name.clone_from(&now.name);
        }
    }
    let mut wanted = columns(base);
    let mut values = log.columns.split_off(key_len);
    values.retain(|column| {
        let stays = wanted.get(&column.name) == Some(&column.data_type);
        if stays {
            wanted.remove(&column.name);
        } else {
            let dropped = DroppedColumn { kind: column.kind, data_type: column.data_type.clone(), dropped_at_us: now_us };
            log.dropped_columns.insert(column.name.clone(), dropped);
        }
        stays
    });
    for (name, data_type) in wanted {
        let id = log.next_column;
        log.next_column = ColumnId(id.0.saturating_add(1));
        log.dropped_columns.remove(&name);
        values.push(Column { id, name, kind: ColumnKind::Regular, order: Order::Ascending, data_type, mask: None });
    }
    mask(&mut values, base);
    values.sort_by(|one, other| one.name.cmp(&other.name));
    log.columns.extend(values);
}

/// Masks what the log has of the base's masked columns: as they are, or altogether where the log has another type.
fn mask(values: &mut [Column], base: &Table) {
    values.iter_mut().for_each(|column| column.mask = None);
    for masked in base.columns.iter().filter(|column| column.mask.is_some()) {
        let is_same = logged_type(&masked.data_type) == masked.data_type;
        let null = || ColumnMask { keyspace: "system".to_owned(), function: "mask_null".to_owned(), arguments: Vec::new() };
        let elements = deleted_elements_name(&masked.name);
        for column in values.iter_mut().filter(|column| column.name == masked.name || column.name == elements) {
            column.mask = if is_same { masked.mask.clone() } else { Some(Arc::new(null())) };
        }
    }
}

/// How many columns a log of `base` has besides its key.
#[must_use]
pub fn column_count(base: &Table) -> usize {
    columns(base).len()
}

/// The columns of a log of `base` that are not its key.
fn columns(base: &Table) -> BTreeMap<String, DataType> {
    let own = [(OPERATION, DataType::TinyInt), (TTL, DataType::BigInt), (END_OF_BATCH, DataType::Boolean)];
    let mut columns: BTreeMap<String, DataType> = own.into_iter().map(|(name, data_type)| (name.to_owned(), data_type)).collect();
    for column in &base.columns {
        columns.insert(column.name.clone(), logged_type(&column.data_type));
        if matches!(column.kind, ColumnKind::Static | ColumnKind::Regular) {
            columns.insert(deleted_name(&column.name), DataType::Boolean);
        }
        if let Some(path) = path_type(&column.data_type) {
            columns.insert(deleted_elements_name(&column.name), DataType::Set(Arc::new(path), Frozen::Yes));
        }
    }
    columns
}

/// The type that values of a column have in the log.
fn logged_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::List(element, Frozen::No) => DataType::Map(Arc::new(DataType::TimeUuid), Arc::clone(element), Frozen::Yes),
        data_type if data_type.is_multi_cell() => data_type.frozen(),
        data_type => data_type.clone(),
    }
}

/// The type of what names an element of a column with a cell for each.
fn path_type(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::List(_, Frozen::No) => Some(DataType::TimeUuid),
        DataType::Set(key, Frozen::No) | DataType::Map(key, _, Frozen::No) => Some(DataType::clone(key)),
        DataType::Udt(_, Frozen::No) => Some(DataType::SmallInt),
        _ => None,
    }
}
