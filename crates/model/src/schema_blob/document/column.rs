//! A column in the document.

use crate::column_id::ColumnId;
use crate::schema::{Column, ColumnKind, Order};
use crate::schema_blob::Inconsistency;
use crate::schema_blob::masks::MaskDocument;
use crate::schema_blob::types::{Resolver, TypeDocument};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ColumnDocument {
    pub(super) name: String,
    pub(super) id: u16,
    pub(super) kind: KindDocument,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    descending: bool,
    r#type: TypeDocument,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mask: Option<MaskDocument>,
}

#[derive(Clone, Copy, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum KindDocument {
    PartitionKey,
    Clustering,
    Static,
    Regular,
}

impl ColumnDocument {
    pub(super) fn of(column: &Column) -> Self {
        Self {
            name: column.name.clone(),
            id: column.id.0,
            kind: KindDocument::of(column.kind),
            descending: column.order == Order::Descending,
            r#type: TypeDocument::of(&column.data_type),
            mask: column.mask.as_deref().map(MaskDocument::of),
        }
    }

    pub(super) fn into_column(self, resolver: &mut Resolver<'_>) -> Result<Column, Inconsistency> {
        Ok(Column {
            id: ColumnId(self.id),
            name: self.name,
            kind: self.kind.kind(),
            order: if self.descending { Order::Descending } else { Order::Ascending },
            data_type: resolver.data_type(self.r#type, 0)?,
            mask: self.mask.map(|mask| mask.into_mask(resolver)).transpose()?.map(Arc::new),
        })
    }
}

impl KindDocument {
    pub(super) fn of(kind: ColumnKind) -> Self {
        match kind {
            ColumnKind::PartitionKey => Self::PartitionKey,
            ColumnKind::Clustering => Self::Clustering,
            ColumnKind::Static => Self::Static,
            ColumnKind::Regular => Self::Regular,
        }
    }

    pub(super) fn kind(self) -> ColumnKind {
        match self {
            Self::PartitionKey => ColumnKind::PartitionKey,
            Self::Clustering => ColumnKind::Clustering,
            Self::Static => ColumnKind::Static,
            Self::Regular => ColumnKind::Regular,
        }
    }

    /// Key columns first.
    pub(super) fn rank(self) -> u8 {
        match self {
            Self::PartitionKey => 0,
            Self::Clustering => 1,
            Self::Static | Self::Regular => 2,
        }
    }
}
