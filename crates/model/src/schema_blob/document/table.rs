//! A table in the document, with what is in it once: its options, bins, dropped columns and its view.

use super::column::{ColumnDocument, KindDocument};
use super::index::IndexDocument;
use crate::column_id::ColumnId;
use crate::record_set::{Bin, RecordSet};
use crate::schema::{Column, DroppedColumn, KeptOption, Table, TableOptions, View};
use crate::schema_blob::Inconsistency;
use crate::schema_blob::hex::{from_hex, hex};
use crate::schema_blob::types::{Resolver, TypeDocument};
use crate::types::DataType;
use base::TableId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableDocument {
    pub(super) name: String,
    pub(super) id: u32,
    uuid: String,
    columns: Vec<ColumnDocument>,
    next_column: u16,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    dropped_columns: Vec<DroppedDocument>,
    comment: String,
    default_time_to_live: u32,
    gc_grace_seconds: u32,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    options: BTreeMap<String, OptionDocument>,
    /// Of a record set: bins in the order of their columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bins: Option<Vec<BinDocument>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) indexes: Vec<IndexDocument>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    compact: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    view: Option<ViewDocument>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ViewDocument {
    base: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    shows_all: bool,
    #[serde(rename = "where")]
    where_clause: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BinDocument {
    name: String,
    kind: u8,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DroppedDocument {
    name: String,
    kind: KindDocument,
    r#type: TypeDocument,
    dropped_at_us: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum OptionDocument {
    Scalar(String),
    Map(BTreeMap<String, String>),
}

impl TableDocument {
    pub(super) fn of(table: &Table) -> Self {
        Self {
            name: table.name.clone(),
            id: table.id.0,
            uuid: hex(table.uuid),
            columns: table.columns.iter().map(ColumnDocument::of).collect(),
            next_column: table.next_column.0,
            dropped_columns: table.dropped_columns.iter().map(|(name, dropped)| DroppedDocument::of(name, dropped)).collect(),
            comment: table.options.comment.clone(),
            default_time_to_live: table.options.default_time_to_live,
            gc_grace_seconds: table.options.gc_grace_seconds,
            options: table.options.kept.iter().map(|(name, value)| (name.clone(), OptionDocument::of(value))).collect(),
            bins: table.records.as_ref().map(|records| records.bins().iter().map(BinDocument::of).collect()),
            indexes: table.indexes.values().map(|index| IndexDocument::of(index)).collect(),
            compact: table.compact,
            view: table.view.clone().map(|View { base, shows_all, where_clause }| ViewDocument { base, shows_all, where_clause }),
        }
    }

    pub(super) fn into_table(self, resolver: &mut Resolver<'_>) -> Result<Table, Inconsistency> {
        let (mut ids, mut names) = (BTreeSet::new(), BTreeSet::new());
        for column in &self.columns {
            if column.id >= self.next_column || !ids.insert(column.id) {
                return Err(Inconsistency::Id);
            }
            if !names.insert(column.name.as_str()) {
                return Err(Inconsistency::NameTwice);
            }
        }
        let count = |kind| self.columns.iter().filter(|column| column.kind == kind).count();
        let (partition_key_len, clustering_len) = (count(KindDocument::PartitionKey), count(KindDocument::Clustering));
        if partition_key_len == 0 || !self.columns.is_sorted_by_key(|column| column.kind.rank()) {
            return Err(Inconsistency::ColumnOrder);
        }
        let columns = self.columns.into_iter().map(|column| column.into_column(resolver)).collect::<Result<Vec<_>, _>>()?;
        let mut dropped_columns = BTreeMap::new();
        for dropped in self.dropped_columns {
            let data_type = resolver.data_type(dropped.r#type, 0)?;
            let value = DroppedColumn { kind: dropped.kind.kind(), data_type, dropped_at_us: dropped.dropped_at_us };
            dropped_columns.insert(dropped.name, value);
        }
        let records = match self.bins {
            None => None,
            Some(bins) => Some(records(&columns, self.next_column, bins)?),
        };
        let mut indexes = BTreeMap::new();
        for document in self.indexes {
            let index = document.into_index(&columns)?;
            if indexes.insert(index.name.clone(), Arc::new(index)).is_some() {
                return Err(Inconsistency::NameTwice);
            }
        }
        Ok(Table {
            id: TableId(self.id),
            uuid: from_hex(&self.uuid).ok_or(Inconsistency::Uuid)?,
            keyspace: resolver.keyspace.to_owned(),
            name: self.name,
            columns,
            partition_key_len,
            clustering_len,
            next_column: ColumnId(self.next_column),
            dropped_columns,
            options: TableOptions {
                comment: self.comment,
                default_time_to_live: self.default_time_to_live,
                gc_grace_seconds: self.gc_grace_seconds,
                kept: self.options.into_iter().map(|(name, value)| (name, value.into_option())).collect(),
            },
            records,
            compact: self.compact,
            indexes,
            views: BTreeSet::new(),
            view: self.view.map(|ViewDocument { base, shows_all, where_clause }| View { base, shows_all, where_clause }),
        })
    }
}

/// The dictionary of a record set with these columns: each bin has its own.
fn records(columns: &[Column], next_column: u16, bins: Vec<BinDocument>) -> Result<RecordSet, Inconsistency> {
    let count = bins.len();
    let texts: BTreeSet<usize> =
        columns.iter().filter(|column| column.data_type == DataType::Text).map(|column| usize::from(column.id.0)).collect();
    let is_text = |place: usize| texts.contains(&(RecordSet::COLUMNS + place));
    let bins = bins.into_iter().enumerate().map(|(place, bin)| Bin { name: bin.name, kind: bin.kind, is_text: is_text(place) }).collect();
    let records = RecordSet::new(bins).ok_or(Inconsistency::Bins)?;
    let bin_columns = columns.iter().filter(|column| records.bin(column.id).is_some()).count();
    let is_whole = bin_columns == count && columns.len() == count + RecordSet::COLUMNS && usize::from(next_column) == columns.len();
    if is_whole { Ok(records) } else { Err(Inconsistency::Bins) }
}

impl BinDocument {
    fn of(bin: &Bin) -> Self {
        Self { name: bin.name.clone(), kind: bin.kind }
    }
}

impl DroppedDocument {
    fn of(name: &str, dropped: &DroppedColumn) -> Self {
        Self {
            name: name.to_owned(),
            kind: KindDocument::of(dropped.kind),
            r#type: TypeDocument::of(&dropped.data_type),
            dropped_at_us: dropped.dropped_at_us,
        }
    }
}

impl OptionDocument {
    fn of(value: &KeptOption) -> Self {
        match value {
            KeptOption::Scalar(text) => Self::Scalar(text.clone()),
            KeptOption::Map(entries) => Self::Map(entries.clone()),
        }
    }

    fn into_option(self) -> KeptOption {
        match self {
            Self::Scalar(text) => KeptOption::Scalar(text),
            Self::Map(entries) => KeptOption::Map(entries),
        }
    }
}
