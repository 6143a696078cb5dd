//! The secondary indexes, and how far they are.

use super::namespace::NO_NAMESPACE;
use super::text::{list as joined, parameter};
use super::view::NodeView;
use crate::index::{Definition, index_of_name};
use model::record_set::NO_SET;
use model::{Index, Table};
use std::sync::Arc;

const NO_INDEX: &str = "ERROR:201:no index of this name";

/// `sindex`, `sindex/namespace`, `sindex/namespace/index`; or `sindex-list:` with a namespace.
pub(super) fn list(view: &NodeView<'_>, path: &str, parameters: &str) -> String {
    if path.contains('/') {
        return state(view, path, parameters);
    }
    let wanted = Some(path).filter(|path| !path.is_empty()).or_else(|| namespace_of(parameters));
    if wanted.is_some_and(|name| view.namespace(name).is_none()) {
        return NO_NAMESPACE.to_owned();
    }
    let namespaces = view.namespaces.iter().map(|namespace| namespace.name.as_str());
    joined(namespaces.filter(|name| wanted.is_none_or(|wanted| *name == wanted)).flat_map(|name| of_namespace(view, name)))
}

fn of_namespace(view: &NodeView<'_>, namespace: &str) -> Vec<String> {
    let tables = view.schema.keyspaces.get(namespace).into_iter().flat_map(|keyspace| keyspace.tables.values());
    let indexes = tables.flat_map(|table| table.indexes.values().map(move |index| (table, index)));
    let line = |(table, index): (&Arc<Table>, &Arc<Index>)| {
        let definition = Definition::of(table, index)?;
        let state = if view.built_indexes.contains(&index.id) { "RW" } else { "WO" };
        let set = if table.name == NO_SET { "NULL" } else { &table.name };
        Some(format!(
            "ns={namespace}:indexname={}:set={set}:bin={}:type={}:indextype={}:context={}:state={state}",
            index.name,
            definition.bin,
            definition.kind.name(),
            definition.part.name(),
            definition.context_text()
        ))
    };
    indexes.filter_map(line).collect()
}

/// `sindex-stat/namespace/index`, or `sindex-stat:` with both. Queries need not wait for an index: what it lacks is found by scans.
pub(super) fn state(view: &NodeView<'_>, path: &str, parameters: &str) -> String {
    let named = path.split_once('/').or_else(|| namespace_of(parameters).zip(parameter(parameters, "indexname")));
    let Some((namespace, name)) = named else { return "ERROR:4:the namespace or the index's name is missing".to_owned() };
    if view.namespace(namespace).is_none() {
        return NO_NAMESPACE.to_owned();
    }
    let index = index_of_name(view.schema, namespace, name).and_then(|(table, _)| table.indexes.get(name));
    let Some(index) = index else { return NO_INDEX.to_owned() };
    let percent = if view.built_indexes.contains(&index.id) { 100 } else { 0 };
    format!("load_pct={percent};state={}", if percent == 100 { "RW" } else { "WO" })
}

/// `sindex-exists:` with a namespace and an index's name.
pub(super) fn exists(view: &NodeView<'_>, parameters: &str) -> String {
    let Some((namespace, name)) = namespace_of(parameters).zip(parameter(parameters, "indexname")) else {
        return "ERROR:4:the namespace or the index's name is missing".to_owned();
    };
    (view.namespace(namespace).is_some() && index_of_name(view.schema, namespace, name).is_some()).to_string()
}

fn namespace_of(parameters: &str) -> Option<&str> {
    parameter(parameters, "ns").or(parameter(parameters, "namespace"))
}
