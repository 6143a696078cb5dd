//! What an index is of.
//!
//! | option of the table's index | value |
//! |---|---|
//! | `aerospike_type` | `numeric`, `string`, `blob`, `geo2dsphere` |
//! | `aerospike_indextype` | `default`, `list`, `mapkeys`, `mapvalues` |
//! | `aerospike_context` | base 64 of the place within lists and maps; only with one |

use crate::ResultCode;
use crate::operate::kind_of_path;
use crate::record::new_bin;
use crate::value::ParticleType;
use base::TableId;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::record_set::{AEROSPIKE_KIND_OPTION as KIND_OPTION, GEO2DSPHERE, NewBin};
use model::{ColumnId, DataType, Index, IndexPart, Table};
use std::collections::BTreeMap;

const PART_OPTION: &str = "aerospike_indextype";
const CONTEXT_OPTION: &str = "aerospike_context";

/// CQL's kind of index that answers ranges.
const CLASS: &str = "StorageAttachedIndex";

/// The kind of values that an index has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Integers.
    Numeric,
    /// Strings.
    String,
    /// Bytes.
    Blob,
    /// GeoJSON: entries are the cells of [`crate::geo`].
    Geo,
}

/// What of a bin, or of the place in it, has entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexedPart {
    /// The value.
    Whole,
    /// The elements of a list.
    List,
    /// The keys of a map.
    MapKeys,
    /// The values of a map.
    MapValues,
}

/// An index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The bin's name.
    pub bin: String,
    /// The kind of values.
    pub kind: ValueKind,
    /// What of the bin.
    pub part: IndexedPart,
    /// The place within lists and maps, as clients write it; empty for the bin itself.
    pub context: Vec<u8>,
}

impl ValueKind {
    const ALL: [Self; 4] = [Self::Numeric, Self::String, Self::Blob, Self::Geo];

    /// As commands name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Numeric => "numeric",
            Self::String => "string",
            Self::Blob => "blob",
            Self::Geo => GEO2DSPHERE,
        }
    }

    /// The kind of this name, in any case.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }

    /// The values' type on the wire.
    #[must_use]
    pub fn particle(self) -> ParticleType {
        match self {
            Self::Numeric => ParticleType::Integer,
            Self::String => ParticleType::String,
            Self::Blob => ParticleType::Blob,
            Self::Geo => ParticleType::GeoJson,
        }
    }

    /// The type of entries of such values.
    #[must_use]
    pub fn data_type(self) -> DataType {
        match self {
            Self::Numeric | Self::Geo => DataType::BigInt,
            Self::String => DataType::Text,
            Self::Blob => DataType::Blob,
        }
    }

    /// The kind of values of a type on the wire.
    pub(super) fn of_particle(particle: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.particle() as u8 == particle)
    }
}

impl IndexedPart {
    /// By their numbers on the wire.
    const ALL: [Self; 4] = [Self::Whole, Self::List, Self::MapKeys, Self::MapValues];

    /// As commands name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Whole => "default",
            Self::List => "list",
            Self::MapKeys => "mapkeys",
            Self::MapValues => "mapvalues",
        }
    }

    /// The part of this name, in any case.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.name().eq_ignore_ascii_case(name))
    }

    /// The part of a number.
    pub(super) fn of_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

impl Definition {
    /// What an index of a set is of; `None` if it is none of this protocol's.
    #[must_use]
    pub fn of(table: &Table, index: &Index) -> Option<Self> {
        let bin = table.records.as_ref()?.bin(index.column)?;
        let option = |name: &str| index.options.get(name).map(String::as_str);
        let context = STANDARD.decode(option(CONTEXT_OPTION).unwrap_or_default()).ok()?;
        let (kind, part) = (ValueKind::of_name(option(KIND_OPTION)?)?, IndexedPart::of_name(option(PART_OPTION)?)?);
        Some(Self { bin: bin.name.clone(), kind, part, context })
    }

    /// Whether the bin's value itself is the entry.
    #[must_use]
    pub fn is_of_whole_bin(&self) -> bool {
        self.part == IndexedPart::Whole && self.context.is_empty() && self.kind != ValueKind::Geo
    }

    /// The type of bins that have entries.
    ///
    /// # Errors
    /// A context that is none.
    pub(crate) fn bin_kind(&self) -> Result<ParticleType, ResultCode> {
        if !self.context.is_empty() {
            return kind_of_path(&self.context);
        }
        Ok(match self.part {
            IndexedPart::Whole => self.kind.particle(),
            IndexedPart::List => ParticleType::List,
            IndexedPart::MapKeys | IndexedPart::MapValues => ParticleType::Map,
        })
    }

    /// What the set must have for it.
    ///
    /// # Errors
    /// A context that is none.
    pub fn needed_bin(&self) -> Result<NewBin, ResultCode> {
        new_bin(self.bin.as_bytes(), self.bin_kind()?)
    }

    /// The context as commands have it; `null` for none.
    #[must_use]
    pub fn context_text(&self) -> String {
        if self.context.is_empty() { "null".to_owned() } else { STANDARD.encode(&self.context) }
    }

    /// The index of this name on a column of the set's table. CQL asks the entries of values within others for nothing.
    pub(super) fn to_index(&self, id: TableId, name: &str, column: ColumnId) -> Index {
        let mut options =
            BTreeMap::from([(KIND_OPTION.to_owned(), self.kind.name().to_owned()), (PART_OPTION.to_owned(), self.part.name().to_owned())]);
        if !self.context.is_empty() {
            options.insert(CONTEXT_OPTION.to_owned(), STANDARD.encode(&self.context));
        }
        let part = if self.is_of_whole_bin() { IndexPart::Value } else { IndexPart::Values };
        Index { id, name: name.to_owned(), column, part, class: Some(CLASS.to_owned()), options }
    }
}
