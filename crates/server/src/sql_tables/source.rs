//! The tables of a statement: those of the schema that the node has when it begins.

use super::aggregate::aggregate;
use super::error::{TEMP, TablesError};
use super::names::meant;
use super::port::Port;
use super::restriction::restriction;
use super::scan::TableScan;
use super::table::CqlTable;
use crate::feed::Link;
use cql::permissions::Rights;
use cql::system;
use load::cql::client::Client;
use model::{Keyspace, Permission, Schema};
use sql::syntax::words;
use sql::{Aggregation, Condition, Order, Scan, SourceError, Table, Tables, Times};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The tables that one statement may name, as the role that asks sees them.
pub(crate) struct CqlTables {
    port: Arc<Port>,
    schema: Arc<Schema>,
    /// What the role may do, where that is checked.
    rights: Option<Rights>,
    /// Whose tables need not be named with it.
    keyspace: Option<Arc<Keyspace>>,
    /// All names that the statement has.
    named: BTreeSet<String>,
    found: Mutex<Vec<Arc<CqlTable>>>,
}

impl CqlTables {
    /// The tables for a statement. `rights` are those of the role that asks, where they are checked.
    pub(crate) fn new(
        client: Client<Link>,
        schema: Arc<Schema>,
        rights: Option<Rights>,
        statement: &str,
        keyspace: Option<&str>,
    ) -> Result<Self, TablesError> {
        let words = words(statement).unwrap_or_default();
        let named: BTreeSet<String> = words.iter().filter_map(sql::syntax::Word::name).collect();
        let no_keyspace = |name: &str| TablesError::NoKeyspace { name: name.to_owned() };
        let given = |name: &str| keyspace_of(&schema, name, &BTreeSet::new())?.ok_or_else(|| no_keyspace(name));
        let keyspace = keyspace.map(given).transpose()?;
        let port = Arc::new(Port::new(client));
        Ok(Self { port, schema, rights, keyspace, named, found: Mutex::default() })
    }

    /// A table of a keyspace in a schema of SQLite's: the same one each time.
    fn table(&self, keyspace: &Keyspace, schema: &str, written: &str) -> Result<Option<Arc<Table>>, TablesError> {
        let Some(table) = meant(keyspace.tables.keys(), written, &self.named)?.and_then(|name| keyspace.tables.get(name)) else {
            return Ok(None);
        };
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |known: &&Arc<CqlTable>| known.seen.schema.as_deref() == Some(schema) && known.seen.name == table.name;
        if let Some(known) = found.iter().find(is_it) {
            return Ok(Some(Arc::clone(&known.seen)));
        }
        let sees_masked = self.rights.as_ref().is_none_or(|rights| rights.are_all() || rights.of_table(table).contains(Permission::Unmask));
        let new = Arc::new(CqlTable::new(table, schema, sees_masked));
        found.push(Arc::clone(&new));
        Ok(Some(Arc::clone(&new.seen)))
    }

    fn find_table(&self, name: &str) -> Result<Option<Arc<Table>>, TablesError> {
        // Names may have points.
        for (at, _) in name.match_indices('.') {
            let (schema, table) = (&name[..at], &name[at + 1..]);
            let Some(keyspace) = keyspace_of(&self.schema, schema, &self.named)? else { continue };
            if keyspace.name.eq_ignore_ascii_case(TEMP) {
                return Err(TablesError::Reserved);
            }
            if let Some(table) = self.table(&keyspace, &keyspace.name, table)? {
                return Ok(Some(table));
            }
        }
        match &self.keyspace {
            Some(keyspace) => self.table(keyspace, Table::MAIN, name),
            None if name.contains('.') => Ok(None),
            None => Err(TablesError::Unqualified { name: name.to_owned() }),
        }
    }

    /// The table that a query was given.
    fn given(&self, table: &Arc<Table>) -> Result<Arc<CqlTable>, SourceError> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let known = found.iter().find(|known| Arc::ptr_eq(&known.seen, table)).cloned();
        Ok(known.ok_or_else(|| format!("there is no table {}", table.name))?)
    }

    fn tables_at_hand(&self) -> Result<Vec<Arc<Table>>, TablesError> {
        let Some(keyspace) = &self.keyspace else { return Ok(Vec::new()) };
        let mut tables: Vec<Arc<Table>> = Vec::new();
        for name in &self.named {
            let table = self.table(keyspace, Table::MAIN, name)?;
            tables.extend(table.filter(|table| !tables.iter().any(|known| Arc::ptr_eq(known, table))));
        }
        Ok(tables)
    }
}

/// The keyspace that a name means, the system's own among them.
fn keyspace_of(schema: &Schema, written: &str, named: &BTreeSet<String>) -> Result<Option<Arc<Keyspace>>, TablesError> {
    let own = system::catalog();
    let known = schema.keyspaces.keys().chain(own.ordinary.keys()).chain(own.virtual_keyspaces.keys());
    let Some(name) = meant(known, written, named)? else { return Ok(None) };
    Ok(schema.keyspaces.get(name).or_else(|| system::keyspace(name)).cloned())
}

impl Tables for CqlTables {
    fn times(&self) -> Times {
        Times::Texts
    }

    fn at_hand(&self) -> Result<Vec<Arc<Table>>, SourceError> {
        Ok(self.tables_at_hand()?)
    }

    fn find(&self, name: &str) -> Result<Option<Arc<Table>>, SourceError> {
        Ok(self.find_table(name)?)
    }

    fn scan(&self, table: &Arc<Table>, conditions: &[Condition], _: Order, columns: u64) -> Result<Box<dyn Scan>, SourceError> {
        let table = self.given(table)?;
        Ok(Box::new(TableScan::new(&self.port, &table, restriction(&table, conditions), columns)))
    }

    fn aggregate(
        &self,
        table: &Arc<Table>,
        wanted: &Aggregation,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Box<dyn Scan>>, SourceError> {
        let groups = aggregate(&self.port, &*self.given(table)?, wanted, is_over)?;
        Ok(groups.map(|groups| Box::new(groups) as Box<dyn Scan>))
    }
}
