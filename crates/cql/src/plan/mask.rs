//! The masks of a table's columns, ready to be applied.

use crate::CqlError;
use crate::value::function::{self, Argument, FunctionSpec, UserFunctions};
use model::{Column, ColumnMask, DataType, Schema, Table};
use std::sync::Arc;

/// The column that a mask is for.
#[derive(Clone, Copy, Debug)]
pub struct MaskedColumn<'a> {
    /// The table's keyspace.
    pub keyspace: &'a str,
    /// The table.
    pub table: &'a str,
    /// The column.
    pub name: &'a str,
    /// Its type.
    pub data_type: &'a DataType,
}

/// What is shown in place of a column's values.
#[derive(Clone, Debug)]
pub struct Mask {
    /// The column's position in its table.
    pub position: usize,
    /// The function of the column's value.
    pub function: FunctionSpec,
    /// The arguments after the column's value; none is null.
    pub arguments: Vec<Option<Box<[u8]>>>,
}

impl Mask {
    /// The arguments of a call for `value`.
    pub(crate) fn arguments_for<'a>(&'a self, value: Option<&'a [u8]>) -> Vec<Option<&'a [u8]>> {
        std::iter::once(value).chain(self.arguments.iter().map(Option::as_deref)).collect()
    }
}

/// The masks of `table`, each column's at most one.
pub(super) fn masks_of(schema: &Schema, table: &Table) -> Result<Vec<Arc<Mask>>, CqlError> {
    let masked = table.columns.iter().enumerate().filter_map(|(position, column)| Some((position, column, column.mask.as_ref()?)));
    let mask = |(position, column, mask): (usize, &Column, &Arc<ColumnMask>)| {
        let arguments = mask.arguments.iter().map(|argument| argument.value.clone().map(Vec::into_boxed_slice)).collect();
        Ok(Arc::new(Mask { position, function: function_of(schema, column, mask)?, arguments }))
    };
    masked.map(mask).collect()
}

fn function_of(schema: &Schema, column: &Column, mask: &ColumnMask) -> Result<FunctionSpec, CqlError> {
    let further = mask.arguments.iter().map(|argument| Argument::Type(&argument.data_type));
    let types: Vec<Argument<'_>> = std::iter::once(Argument::Type(&column.data_type)).chain(further).collect();
    let found = if mask.is_native() {
        function::resolve(&mask.function, &types, Some(&column.data_type)).ok()
    } else {
        schema.keyspaces.get(&mask.keyspace).and_then(|keyspace| {
            let users = UserFunctions { keyspace: &keyspace.name, functions: &keyspace.functions, and_native: false };
            function::resolve_with(users, &mask.function, &types, Some(&column.data_type)).ok()
        })
    };
    // The schema has no mask without its function: to show the value instead would be the worst that could happen.
    found.ok_or_else(|| CqlError::Server(format!("the function that masks {} is not there", column.name)))
}
