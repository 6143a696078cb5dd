//! What both sides have before anything is copied: the namespace, the sets that are asked for, and what is not copied.

use super::super::error::{IS_STATE, ImportError};
use super::connector::{Connection, Connector};
use super::state::STATE;
use crate::cli::ImportArguments;
use load::aerospike::client::ClientError;
use std::collections::BTreeSet;

/// Checks both sides; says what is not copied, and gives how many things that is.
pub(super) fn look(arguments: &ImportArguments, source: &Connector, target: &Connector) -> Result<usize, ImportError> {
    let namespace = &arguments.keyspace;
    let mut from = source.connect(0)?;
    let known = list(source, &mut from, "namespaces")?;
    if !has(&known, namespace) {
        return Err(ImportError::NoNamespace { namespace: namespace.clone(), known: known.replace(';', ", ") });
    }
    let known = list(target, &mut target.connect(0)?, "namespaces")?;
    if !has(&known, namespace) {
        return Err(ImportError::NoNamespaceHere { namespace: namespace.clone(), known: known.replace(';', ", ") });
    }
    if !arguments.table.is_empty() {
        check_sets(&arguments.table, source, namespace)?;
    }
    let left_out = left_out(source, &mut from, namespace)?;
    left_out.iter().for_each(|what| eprintln!("left out: {what}"));
    Ok(left_out.len())
}

fn check_sets(wanted: &[String], source: &Connector, namespace: &str) -> Result<(), ImportError> {
    if let Some(set) = wanted.iter().find(|set| *set == STATE) {
        return Err(ImportError::Unfit { keyspace: namespace.to_owned(), table: set.clone(), why: IS_STATE });
    }
    let known = known_sets(source, namespace)?;
    match wanted.iter().find(|set| !known.contains(*set)) {
        None => Ok(()),
        Some(set) => {
            let known = known.into_iter().collect::<Vec<_>>().join(", ");
            Err(ImportError::NoSet { namespace: namespace.to_owned(), set: set.clone(), known })
        }
    }
}

fn has(list: &str, name: &str) -> bool {
    list.split(';').any(|known| known == name)
}

fn value(connector: &Connector, connection: &mut Connection, command: &str) -> Result<String, ImportError> {
    let told = connection.info(&[command]).map_err(|error| connector.failed(error))?;
    Ok(told.into_values().next().unwrap_or_default())
}

/// The value of a command that every server knows.
fn list(connector: &Connector, connection: &mut Connection, command: &str) -> Result<String, ImportError> {
    let answer = value(connector, connection, command)?;
    if answer.starts_with("ERROR") {
        return Err(connector.failed(ClientError::Command { command: command.to_owned(), answer }));
    }
    Ok(answer)
}

/// The values of a key in what is told of several things: `key=value` with `:` or `,` between, things with `;`.
fn values_of<'t>(text: &'t str, key: &str) -> impl Iterator<Item = &'t str> {
    text.split([';', ':', ',']).filter_map(move |pair| pair.split_once('=').filter(|(name, _)| *name == key).map(|(_, value)| value))
}

/// Of all nodes that are named: a node tells those of which it has records.
fn known_sets(source: &Connector, namespace: &str) -> Result<BTreeSet<String>, ImportError> {
    let mut sets = BTreeSet::new();
    for address in source.addresses() {
        if let Ok(mut connection) = source.connect_to(address) {
            sets.extend(values_of(&list(source, &mut connection, &format!("sets/{namespace}"))?, "set").map(str::to_owned));
        }
    }
    Ok(sets)
}

/// Secondary indexes, which clients make again, and users' functions, which TarnDB does not serve to the protocol's clients.
fn left_out(source: &Connector, connection: &mut Connection, namespace: &str) -> Result<Vec<String>, ImportError> {
    let indexes = value(source, connection, &format!("sindex-list:ns={namespace}"))?;
    let functions = value(source, connection, "udf-list")?;
    let indexes =
        values_of(&indexes, "indexname").map(|name| format!("index {name}: make it again with sindex-create, once its set is here"));
    let functions =
        values_of(&functions, "filename").map(|name| format!("module {name}: TarnDB runs no functions for Aerospike's clients"));
    Ok(indexes.chain(functions).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_tell_is_read() {
        let sets = "ns=test:set=users:objects=5:tombstones=0;ns=test:set=orders:objects=1;";
        assert_eq!(values_of(sets, "set").collect::<Vec<_>>(), ["users", "orders"]);
        let indexes = "ns=test:indexname=by_age:set=users:bin=age:type=numeric:state=RW;";
        assert_eq!(values_of(indexes, "indexname").collect::<Vec<_>>(), ["by_age"]);
        assert_eq!(
            values_of("filename=a.lua,hash=1,type=LUA;filename=b.lua,hash=2,type=LUA;", "filename").collect::<Vec<_>>(),
            ["a.lua", "b.lua"]
        );
        assert_eq!(values_of("ERROR:201:no index", "indexname").count(), 0);
        assert!(has("test;app", "app") && !has("test;application", "app") && !has("", "app"));
    }
}
