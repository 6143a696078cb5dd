//! A keyspace in the document: its tables know of each other through it.

use super::table::TableDocument;
use crate::schema::{Keyspace, Replication, Table};
use crate::schema_blob::functions::{AggregateDocument, FunctionDocument};
use crate::schema_blob::types::{Resolver, TypeDeclaration};
use crate::schema_blob::{Inconsistency, SchemaBlobError, functions, masks};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyspaceDocument {
    name: String,
    replication_class: String,
    replication_parameters: BTreeMap<String, String>,
    durable_writes: bool,
    types: Vec<TypeDeclaration>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    functions: Vec<FunctionDocument>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    aggregates: Vec<AggregateDocument>,
    tables: Vec<TableDocument>,
}

impl KeyspaceDocument {
    pub(super) fn of(keyspace: &Keyspace) -> Self {
        Self {
            name: keyspace.name.clone(),
            replication_class: keyspace.replication.class.clone(),
            replication_parameters: keyspace.replication.parameters.clone(),
            durable_writes: keyspace.durable_writes,
            types: keyspace.types.values().map(|user| TypeDeclaration::of(user)).collect(),
            functions: keyspace.functions.functions().map(|function| FunctionDocument::of(function)).collect(),
            aggregates: keyspace.functions.aggregates().map(|aggregate| AggregateDocument::of(aggregate)).collect(),
            tables: keyspace.tables.values().map(|table| TableDocument::of(table)).collect(),
        }
    }

    pub(super) fn into_keyspace(self, next_table: u32, table_ids: &mut BTreeSet<u32>) -> Result<Keyspace, SchemaBlobError> {
        let keyspace = self.name;
        let at = |name: String| {
            let keyspace = keyspace.clone();
            move |fault| SchemaBlobError::Inconsistent { keyspace, name, fault }
        };
        let mut declared = BTreeMap::new();
        for declaration in self.types {
            if let Some(twice) = declared.insert(declaration.name.clone(), declaration) {
                return Err(at(twice.name)(Inconsistency::NameTwice));
            }
        }
        let mut resolver = Resolver { keyspace: &keyspace, declared, types: BTreeMap::new() };
        while let Some(name) = resolver.declared.keys().next().cloned() {
            resolver.user_type(&name, 0).map_err(at(name))?;
        }
        let mut tables = BTreeMap::new();
        for document in self.tables {
            let name = document.name.clone();
            let ids = std::iter::once(document.id).chain(document.indexes.iter().map(|index| index.id));
            for id in ids {
                if id >= next_table || !table_ids.insert(id) {
                    return Err(at(name)(Inconsistency::Id));
                }
            }
            let table = document.into_table(&mut resolver).map_err(at(name.clone()))?;
            if tables.insert(name.clone(), Arc::new(table)).is_some() {
                return Err(at(name)(Inconsistency::NameTwice));
            }
        }
        note_views(&mut tables).map_err(|name| at(name)(Inconsistency::View))?;
        let functions = functions::functions(self.functions, self.aggregates, &mut resolver).map_err(|(name, fault)| at(name)(fault))?;
        if let Some(table) = tables.values().find(|table| !masks::are_known(table, &functions)) {
            return Err(at(table.name.clone())(Inconsistency::Mask));
        }
        let types = resolver.types;
        let replication = Replication { class: self.replication_class, parameters: self.replication_parameters };
        Ok(Keyspace { name: keyspace, replication, durable_writes: self.durable_writes, tables, types, functions })
    }
}

/// Has base tables know their views. Gives the name of a view that cannot be one.
fn note_views(tables: &mut BTreeMap<String, Arc<Table>>) -> Result<(), String> {
    let views: Vec<(String, String)> =
        tables.values().filter_map(|table| Some((table.name.clone(), table.view.as_ref()?.base.clone()))).collect();
    for (name, base) in views {
        let Some(base) = tables.get_mut(&base).filter(|base| base.view.is_none()) else { return Err(name) };
        Arc::make_mut(base).views.insert(name);
    }
    Ok(())
}
