//! Masks of columns in the schema blob.

use super::Inconsistency;
use super::types::{Resolver, TypeDocument};
use crate::column_mask::{ColumnMask, MaskArgument};
use crate::function::Functions;
use crate::schema::{Column, Table};
use crate::types::DataType;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MaskDocument {
    keyspace: String,
    function: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    arguments: Vec<MaskArgumentDocument>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MaskArgumentDocument {
    r#type: TypeDocument,
    /// Hexadecimal; none is null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<String>,
}

impl MaskDocument {
    pub(super) fn of(mask: &ColumnMask) -> Self {
        let hex = |bytes: &Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let argument = |argument: &MaskArgument| MaskArgumentDocument {
            r#type: TypeDocument::of(&argument.data_type),
            value: argument.value.as_ref().map(hex),
        };
        Self { keyspace: mask.keyspace.clone(), function: mask.function.clone(), arguments: mask.arguments.iter().map(argument).collect() }
    }

    pub(super) fn into_mask(self, resolver: &mut Resolver<'_>) -> Result<ColumnMask, Inconsistency> {
        let mut arguments = Vec::with_capacity(self.arguments.len());
        for argument in self.arguments {
            let value = argument.value.map(|digits| super::functions::bytes(&digits).ok_or(Inconsistency::Mask)).transpose()?;
            arguments.push(MaskArgument { data_type: resolver.data_type(argument.r#type, 0)?, value });
        }
        Ok(ColumnMask { keyspace: self.keyspace, function: self.function, arguments })
    }
}

/// Whether the functions of users that mask a table's columns are there.
pub(super) fn are_known(table: &Table, functions: &Functions) -> bool {
    let is_known = |column: &Column| {
        let Some(mask) = column.mask.as_ref().filter(|mask| !mask.is_native()) else { return true };
        let further = mask.arguments.iter().map(|argument| argument.data_type.clone());
        let types: Vec<DataType> = std::iter::once(column.data_type.clone()).chain(further).collect();
        mask.keyspace == table.keyspace && functions.function(&mask.function, &types).is_some()
    };
    table.columns.iter().all(is_known)
}
