//! The set that a request is about, and whether it can be served at all.

use super::need::{Need, declaration_failure, missing_bins};
use super::options::{Namespace, Options};
use super::request::{Role, is_write};
use super::sets::sets;
use crate::ResultCode;
use crate::digest::digest;
use crate::wire::{Attributes, Fields, Operations, info2, info4};
use model::record_set::{DIGEST_BYTES, MONITOR_SET, RecordSet};
use model::{Keyspace, Schema, Table};
use std::sync::Arc;

/// Refuses what would be answered wrongly.
pub(super) fn check_served(fields: &Fields<'_>, attributes: &Attributes) -> Result<(), ResultCode> {
    let transaction = &fields.transaction;
    // A deadline alone is an old client's batch.
    let is_old_batch = transaction.has_other_deadline || transaction.deadline_s.is_some() && transaction.id.is_none();
    if fields.index.has_expression || is_old_batch {
        return Err(ResultCode::UNSUPPORTED_FEATURE);
    }
    if attributes.info4 & !(ROLES | info4::ON_LOCKING_ONLY | info4::DONE) != 0 {
        return Err(ResultCode::PARAMETER);
    }
    Ok(())
}

/// Flags of requests that have a role without a transaction's number.
const ROLES: u8 = info4::VERIFY | info4::ROLL_FORWARD | info4::ROLL_BACK;

/// What a request has to do with transactions; none if monitors are to be declared first.
fn role(schema: &Schema, namespace: &Namespace, set: &str, asked: &Asked<'_>) -> Result<Option<Role>, ResultCode> {
    if set.starts_with('<') && set == MONITOR_SET {
        return Ok(Some(Role::Monitor));
    }
    if asked.fields.transaction.id.is_none() && asked.attributes.info4 & ROLES == 0 {
        return Ok(Some(Role::Plain));
    }
    Ok(record_set(schema, namespace, MONITOR_SET)?.map(|table| Role::Member(table.id)))
}

/// What is looked at of a request to find its target.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) fields: &'a Fields<'a>,
    pub(super) attributes: &'a Attributes,
    pub(super) operations: &'a Operations<'a>,
}

/// The namespace, and the set's name, which is empty when there is none.
pub(super) fn names<'a, 'o>(fields: &Fields<'a>, options: &Options<'o>) -> Result<(&'o Namespace, &'a str), ResultCode> {
    let name = fields.namespace.ok_or(ResultCode::INVALID_NAMESPACE)?;
    let namespace = options.namespaces.iter().find(|namespace| namespace.name.as_bytes() == name);
    let set = std::str::from_utf8(fields.set.unwrap_or_default()).map_err(|_| ResultCode::PARAMETER)?;
    Ok((namespace.ok_or(ResultCode::INVALID_NAMESPACE)?, set))
}

/// In whose sets a record is looked for: the namespace of a plain read that names it by its digest alone, if that has sets.
pub(super) fn elsewhere<'a>(schema: &'a Schema, namespace: &Namespace, asked: &Asked<'_>) -> Option<&'a Arc<Keyspace>> {
    let Asked { fields, attributes, .. } = *asked;
    let is_plain = !is_write(attributes) && !fields.udf.is_asked() && fields.transaction.id.is_none() && attributes.info4 & ROLES == 0;
    if fields.set.is_some() || !is_plain {
        return None;
    }
    schema.keyspaces.get(&namespace.name).filter(|keyspace| sets(keyspace).next().is_some())
}

/// Where a request on one record goes.
pub(super) enum Target<'a> {
    /// To a set that has all it needs.
    Table(&'a Arc<Table>, Role),
    /// Nowhere: it reads a set that does not exist.
    Nothing,
    /// To a set that lacks something.
    Missing(Vec<Need>),
}

#[inline]
pub(super) fn target<'a>(schema: &'a Schema, namespace: &Namespace, set: &str, asked: &Asked<'_>) -> Result<Target<'a>, ResultCode> {
    let Asked { attributes, operations, .. } = *asked;
    let table = record_set(schema, namespace, set)?;
    let role = role(schema, namespace, set, asked)?;
    if role != Some(Role::Plain) {
        return target_in_role(namespace, set, asked, table, role);
    }
    if !is_write(attributes) {
        return Ok(table.map_or(Target::Nothing, |table| Target::Table(table, Role::Plain)));
    }
    if operations.is_empty() && attributes.info2 & info2::DELETE == 0 {
        return Err(ResultCode::PARAMETER);
    }
    let records: Option<&RecordSet> = table.and_then(|table| table.records.as_ref());
    let bins = missing_bins(operations, records)?;
    match table {
        Some(table) if bins.is_empty() => Ok(Target::Table(table, Role::Plain)),
        // What writes no bin has nothing to do in a set that does not exist.
        None if bins.is_empty() => Ok(Target::Nothing),
        _ => Ok(Target::Missing(vec![Need::new(namespace, set, bins)])),
    }
}

/// Where a request goes that belongs to a transaction: its set is made even to be read, so that the record is known to be missing.
fn target_in_role<'a>(
    namespace: &Namespace,
    set: &str,
    asked: &Asked<'_>,
    table: Option<&'a Arc<Table>>,
    role: Option<Role>,
) -> Result<Target<'a>, ResultCode> {
    let Asked { fields, attributes, operations } = *asked;
    let writes = is_write(attributes) && attributes.info4 & (ROLES | info4::DONE) == 0 && !fields.udf.is_asked();
    if writes && operations.is_empty() && attributes.info2 & info2::DELETE == 0 {
        return Err(ResultCode::PARAMETER);
    }
    let bins = if writes { missing_bins(operations, table.and_then(|table| table.records.as_ref()))? } else { Vec::new() };
    let mut needs = Vec::new();
    if role.is_none() {
        needs.push(Need::new(namespace, MONITOR_SET, Vec::new()));
    }
    let remembers = role != Some(Role::Monitor);
    if !bins.is_empty() || !table.is_some_and(|table| !remembers || table.remembers_deletions()) {
        needs.push(Need { remembers, ..Need::new(namespace, set, bins) });
    }
    match table.zip(role) {
        Some((table, role)) if needs.is_empty() => Ok(Target::Table(table, role)),
        _ => Ok(Target::Missing(needs)),
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
    asked: &Asked<'_>,
) -> Result<Target<'a>, ResultCode> {
    let Asked { fields, attributes, .. } = *asked;
    if fields.udf.module.is_none() || fields.udf.function.is_none() || fields.udf.operation.is_some() || !is_write(attributes) {
        return Err(ResultCode::PARAMETER);
    }
    let table = record_set(schema, namespace, set)?;
    match role(schema, namespace, set, asked)? {
        Some(Role::Plain) => {
            let need = || Need::new(namespace, set, Vec::new());
            Ok(table.map_or_else(|| Target::Missing(vec![need()]), |table| Target::Table(table, Role::Plain)))
        }
        Some(Role::Monitor) => Err(ResultCode::FORBIDDEN),
        role => target_in_role(namespace, set, asked, table, role),
    }
}

/// The digest of the record that a request is about.
pub(super) fn digest_of(fields: &Fields<'_>, set: &str) -> Option<[u8; DIGEST_BYTES]> {
    fields.digest.copied().or_else(|| Some(digest(set.as_bytes(), fields.key?)))
}
