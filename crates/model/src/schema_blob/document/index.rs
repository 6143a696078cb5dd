//! An index in the document.

use crate::column_id::ColumnId;
use crate::schema::{Column, Index, IndexPart};
use crate::schema_blob::Inconsistency;
use base::TableId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IndexDocument {
    name: String,
    pub(super) id: u32,
    /// The id of the column.
    column: u16,
    part: PartDocument,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    options: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PartDocument {
    Value,
    Keys,
    Values,
    Entries,
}

impl IndexDocument {
    pub(super) fn of(index: &Index) -> Self {
        let part = match index.part {
            IndexPart::Value => PartDocument::Value,
            IndexPart::Keys => PartDocument::Keys,
            IndexPart::Values => PartDocument::Values,
            IndexPart::Entries => PartDocument::Entries,
        };
        let Index { name, class, options, .. } = index.clone();
        Self { name, id: index.id.0, column: index.column.0, part, class, options }
    }

    pub(super) fn into_index(self, columns: &[Column]) -> Result<Index, Inconsistency> {
        let part = match self.part {
            PartDocument::Value => IndexPart::Value,
            PartDocument::Keys => IndexPart::Keys,
            PartDocument::Values => IndexPart::Values,
            PartDocument::Entries => IndexPart::Entries,
        };
        let column = ColumnId(self.column);
        if columns.iter().all(|known| known.id != column) {
            return Err(Inconsistency::Id);
        }
        let Self { name, id, class, options, .. } = self;
        Ok(Index { id: TableId(id), name, column, part, class, options })
    }
}
