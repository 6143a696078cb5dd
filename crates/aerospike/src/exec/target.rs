//! The set that a request is about, and whether it can be served at all.

use super::need::{Need, declaration_failure, missing_bins};
use super::options::{Namespace, Options};
use super::request::is_write;
use crate::ResultCode;
use crate::digest::digest;
use crate::wire::{Attributes, Fields, Operations, info2};
use model::operation::{RowStore, Stop};
use model::record_set::{DIGEST_BYTES, RecordSet};
use model::{Schema, Table};
use std::sync::Arc;

/// Refuses what would be answered wrongly.
pub(super) fn check_served(fields: &Fields<'_>, attributes: &Attributes) -> Result<(), ResultCode> {
    if fields.has_transaction || attributes.info4 != 0 {
        return Err(ResultCode::ENTERPRISE_ONLY);
    }
    if fields.index.has_expression || fields.has_deadline {
        return Err(ResultCode::UNSUPPORTED_FEATURE);
    }
    Ok(())
}

/// The namespace, and the set's name, which is empty when there is none.
pub(super) fn names<'a, 'o>(fields: &Fields<'a>, options: &Options<'o>) -> Result<(&'o Namespace, &'a str), ResultCode> {
    let name = fields.namespace.ok_or(ResultCode::INVALID_NAMESPACE)?;
    let namespace = options.namespaces.iter().find(|namespace| namespace.name.as_bytes() == name);
    let set = std::str::from_utf8(fields.set.unwrap_or_default()).map_err(|_| ResultCode::PARAMETER)?;
    Ok((namespace.ok_or(ResultCode::INVALID_NAMESPACE)?, set))
}

/// Where a request on one record goes.
pub(super) enum Target<'a> {
    /// To a set that has all it needs.
    Table(&'a Arc<Table>),
    /// Nowhere: it reads a set that does not exist.
    Nothing,
    /// To a set that lacks something.
    Missing(Need),
}

#[inline]
pub(super) fn target<'a>(
    schema: &'a Schema,
    namespace: &Namespace,
    set: &str,
    attributes: &Attributes,
    operations: &Operations<'_>,
) -> Result<Target<'a>, ResultCode> {
    let table = record_set(schema, namespace, set)?;
    if !is_write(attributes) {
        return Ok(table.map_or(Target::Nothing, Target::Table));
    }
    if operations.is_empty() && attributes.info2 & info2::DELETE == 0 {
        return Err(ResultCode::PARAMETER);
    }
    let records: Option<&RecordSet> = table.and_then(|table| table.records.as_ref());
    let bins = missing_bins(operations, records)?;
    match table {
        Some(table) if bins.is_empty() => Ok(Target::Table(table)),
        // What writes no bin has nothing to do in a set that does not exist.
        None if bins.is_empty() => Ok(Target::Nothing),
        _ => Ok(Target::Missing(Need { namespace: namespace.name.clone(), set: set.to_owned(), bins })),
    }
}

fn record_set<'a>(schema: &'a Schema, namespace: &Namespace, set: &str) -> Result<Option<&'a Arc<Table>>, ResultCode> {
    schema.record_set(&namespace.name, set).map_err(|error| declaration_failure(&error))
}

/// Where a function on one record runs: in a set that is there, which may have to be made first. Which bins it writes is not known before it runs.
pub(super) fn target_of_call<'a>(
    schema: &'a Schema,
    namespace: &Namespace,
    set: &str,
    fields: &Fields<'_>,
    attributes: &Attributes,
) -> Result<Target<'a>, ResultCode> {
    if fields.udf.module.is_none() || fields.udf.function.is_none() || fields.udf.operation.is_some() || !is_write(attributes) {
        return Err(ResultCode::PARAMETER);
    }
    let need = || Need { namespace: namespace.name.clone(), set: set.to_owned(), bins: Vec::new() };
    Ok(record_set(schema, namespace, set)?.map_or_else(|| Target::Missing(need()), Target::Table))
}

/// The dictionary of a set as it is where an operation runs: others may have declared and written bins since the operation was made.
pub(super) fn dictionary<'a>(store: &'a dyn RowStore, table: &'a Table) -> Result<&'a RecordSet, Stop> {
    store.record_set(table.id).unwrap_or(table).records.as_ref().ok_or(Stop::UnknownTable)
}

/// The digest of the record that a request is about.
pub(super) fn digest_of(fields: &Fields<'_>, set: &str) -> Option<[u8; DIGEST_BYTES]> {
    fields.digest.copied().or_else(|| Some(digest(set.as_bytes(), fields.key?)))
}
