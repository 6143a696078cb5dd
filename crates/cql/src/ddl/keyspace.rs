//! CREATE, ALTER and DROP KEYSPACE.

use super::change::{Context, Outcome, SchemaEvent, SchemaEventTarget};
use super::property::Properties;
use super::{DdlError, name, replication};
use crate::language::ast;
use crate::system::is_system_keyspace;
use crate::wire::ChangeKind;
use model::Keyspace;
use std::collections::BTreeMap;

struct Declared {
    replication: Option<BTreeMap<String, String>>,
    durable_writes: Option<bool>,
}

fn declared(properties: &[ast::Property]) -> Result<Declared, DdlError> {
    let mut properties = Properties::new(properties);
    let replication = properties.map("replication")?;
    let durable_writes = properties.boolean("durable_writes")?;
    properties.finish()?;
    Ok(Declared { replication, durable_writes })
}

pub(super) fn create(context: &Context<'_>, statement: &ast::CreateKeyspace) -> Result<Outcome, DdlError> {
    let declared = declared(&statement.properties)?;
    let replication = declared.replication.ok_or(DdlError::MissingProperty("replication"))?;
    let name = statement.name.as_str();
    if is_system_keyspace(name) {
        return Err(DdlError::CreateSystemKeyspace(name.to_owned()));
    }
    name::check_keyspace_name(name)?;
    if context.schema.keyspaces.contains_key(name) {
        let exists = DdlError::KeyspaceExists(name.to_owned());
        return if statement.if_not_exists { Ok(Outcome::unchanged()) } else { Err(exists) };
    }
    let replication = replication::replication(name, replication, None, context.environment)?;
    let warnings = replication::warnings(name, &replication, context.environment);
    let keyspace = Keyspace {
        name: name.to_owned(),
        replication,
        durable_writes: declared.durable_writes.unwrap_or(true),
        tables: BTreeMap::new(),
        types: BTreeMap::new(),
        functions: Default::default(),
    };
    let outcome = context.with_keyspace(keyspace, ChangeKind::Created, SchemaEventTarget::Keyspace);
    Ok(Outcome { warnings, ..outcome })
}

pub(super) fn alter(context: &Context<'_>, statement: &ast::AlterKeyspace) -> Result<Outcome, DdlError> {
    let declared = declared(&statement.properties)?;
    let name = context.keyspace_name(Some(&statement.name))?;
    let Some(former) = context.schema.keyspaces.get(name) else {
        return if statement.if_exists { Ok(Outcome::unchanged()) } else { Err(DdlError::UnknownKeyspace(name.to_owned())) };
    };
    let mut keyspace = Keyspace::clone(former);
    if let Some(replication) = declared.replication {
        keyspace.replication = replication::replication(name, replication, Some(&former.replication), context.environment)?;
    }
    keyspace.durable_writes = declared.durable_writes.unwrap_or(former.durable_writes);
    let warnings = replication::warnings(name, &keyspace.replication, context.environment);
    if keyspace == **former {
        return Ok(Outcome { change: None, warnings });
    }
    let outcome = context.with_keyspace(keyspace, ChangeKind::Updated, SchemaEventTarget::Keyspace);
    Ok(Outcome { warnings, ..outcome })
}

pub(super) fn drop(context: &Context<'_>, statement: &ast::DropKeyspace) -> Result<Outcome, DdlError> {
    let name = context.keyspace_name(Some(&statement.name))?;
    let mut schema = context.schema.clone();
    let Some(former) = schema.keyspaces.remove(name) else {
        return if statement.if_exists { Ok(Outcome::unchanged()) } else { Err(DdlError::UnknownKeyspace(name.to_owned())) };
    };
    if former.tables.values().any(|table| table.records.is_some()) {
        return Err(DdlError::HasRecordSets(name.to_owned()));
    }
    let event = SchemaEvent { change: ChangeKind::Dropped, target: SchemaEventTarget::Keyspace, keyspace: name.to_owned() };
    Ok(context.with_schema(schema, Some(event), former.tables.values().flat_map(|table| table.stored()).collect()))
}
