//! `MASKED WITH …`: from a statement to what the schema keeps. Checks come in Cassandra's order, in its words.

use super::call_planner::argument;
use super::{MaskedColumn, Planner};
use crate::CqlError;
use crate::exec::{Bindings, Bound, Environment};
use crate::language::ast;
use crate::value::function::{Argument, FunctionError, FunctionSpec};
use crate::wire::marshal_class;
use model::operation::Context;
use model::{ColumnMask, MaskArgument, Schema};

/// The mask that a statement gives to a column. `context` serves functions among the arguments, such as `now()`.
///
/// # Errors
/// A function that is none, does not take the column's type or does not give it.
pub fn column_mask(schema: &Schema, column: MaskedColumn<'_>, mask: &ast::ColumnMask, context: &Context) -> Result<ColumnMask, CqlError> {
    let default = ast::FunctionName { keyspace: Some(ast::Identifier::new("system")), name: ast::Identifier::new("mask_default") };
    let (name, arguments) = match mask {
        ast::ColumnMask::Default => (&default, &[][..]),
        ast::ColumnMask::Function { name, arguments } => (name, arguments.as_slice()),
    };
    let shown = format!("{name}({})", arguments.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
    let mut planner = Planner::new(schema, Some(column.keyspace), Vec::new());
    let own = arguments.iter().map(|term| planner.type_of(term)).collect::<Result<Vec<_>, _>>()?;
    let further = arguments.iter().zip(&own).map(|(term, own)| argument(term, own.as_ref()));
    let types: Vec<Argument<'_>> = std::iter::once(Argument::Type(column.data_type)).chain(further).collect();
    let found = planner.find_function(name, &types, Some(column.data_type)).map_err(|error| refused(error, &shown, column))?;
    check(&found, &shown, column)?;
    let mut kept = Vec::with_capacity(arguments.len());
    for (term, data_type) in arguments.iter().zip(found.arguments().iter().skip(1)) {
        let planned = planner.term(term, data_type, "(dummy)")?;
        let value = match planned.evaluate(&Environment { bindings: &Bindings::default(), context })? {
            Bound::Bytes(bytes) => Some(bytes.into_owned()),
            Bound::Null | Bound::Unset => None,
        };
        kept.push(MaskArgument { data_type: data_type.clone(), value });
    }
    let signature = found.signature();
    Ok(ColumnMask { keyspace: signature.keyspace.to_string(), function: signature.name.to_string(), arguments: kept })
}

/// Why no function was found, as Cassandra tells it of masks: the column's value is an argument that has a class, and no text.
fn refused(error: FunctionError, shown: &str, column: MaskedColumn<'_>) -> CqlError {
    let class = || marshal_class(column.data_type).into();
    CqlError::Invalid(match error {
        FunctionError::Unknown { .. } => {
            format!("Unable to find masking function for {}, no declared function matches the signature {shown}", column.name)
        }
        FunctionError::ArgumentType { position: 0, name, expected, .. } => {
            FunctionError::ArgumentType { argument: class(), position: 0, name, expected }.to_string()
        }
        FunctionError::RequiresType { name, required, found, .. } if found == *column.data_type && required.starts_with('[') => {
            FunctionError::RequiresType { name, required, argument: class(), found }.to_string()
        }
        other => other.to_string(),
    })
}

/// What a function must be to mask a column.
fn check(found: &FunctionSpec, shown: &str, column: MaskedColumn<'_>) -> Result<(), CqlError> {
    let MaskedColumn { keyspace, table, name, data_type } = column;
    if found.is_aggregate() {
        return Err(CqlError::Invalid(format!("Aggregate function {shown} cannot be used for masking table columns")));
    }
    if found.user().is_none() && !found.is_mask() {
        return Err(CqlError::Invalid(format!("Not-masking function {shown} cannot be used for masking table columns")));
    }
    if found.user().is_some() && *found.signature().keyspace != *keyspace {
        return Err(CqlError::Invalid(format!(
            "Masking function {shown} doesn't belong to the same keyspace as the table {keyspace}.{table}"
        )));
    }
    let result = found.result();
    if result.frozen() != data_type.frozen() {
        return Err(CqlError::Invalid(format!(
            "Masking function {shown} return type is {result}. This is different to the type of the masked column {name} of type {data_type}. \
             Masking functions can only be attached to table columns if they return the same data type as the masked column."
        )));
    }
    Ok(())
}
