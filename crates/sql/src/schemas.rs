//! Where a statement finds a table: alone, by the name that it has written, or in a schema, which is a database in memory of SQLite's.

use crate::tables::Table;
use crate::virtual_table::{MODULE, MODULE_OF_SCHEMAS, Shared};
use rusqlite::limits::Limit;
use rusqlite::{Connection, Error, Result};
use std::sync::Arc;

/// Schemas that a statement may name: what SQLite attaches.
pub(crate) const SCHEMAS_MAX: usize = 10;

/// What one SQLite has of tables.
#[derive(Default)]
pub(crate) struct Schemas {
    attached: Vec<String>,
    tables: Vec<Arc<Table>>,
}

impl Schemas {
    /// The tables that are there.
    pub(crate) fn tables(&self) -> &[Arc<Table>] {
        &self.tables
    }

    /// Makes a table be there, to be called before the connection is told what statements may do. `written`: its name in the statement.
    pub(crate) fn add(&mut self, connection: &mut Connection, written: &str, table: &Arc<Table>, shared: &Arc<Shared>) -> Result<()> {
        let aux = Some((Arc::clone(table), Arc::clone(shared)));
        match &table.schema {
            None => connection.create_module(written, MODULE, aux)?,
            Some(schema) => {
                self.attach(connection, schema)?;
                let module = format!("table_{}", self.tables.len());
                connection.create_module(module.as_str(), MODULE_OF_SCHEMAS, aux)?;
                connection.execute_batch(&format!("CREATE VIRTUAL TABLE {}.{} USING {module}", quoted(schema), quoted(&table.name)))?;
            }
        }
        self.tables.push(Arc::clone(table));
        Ok(())
    }

    fn attach(&mut self, connection: &Connection, schema: &str) -> Result<()> {
        if schema == Table::MAIN || self.attached.iter().any(|known| known == schema) {
            return Ok(());
        }
        if self.attached.len() == SCHEMAS_MAX {
            return Err(Error::ModuleError(format!("a statement names tables of at most {SCHEMAS_MAX} schemas")));
        }
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, SCHEMAS_MAX as i32)?;
        connection.execute_batch(&format!("ATTACH ':memory:' AS {}", quoted(schema)))?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        self.attached.push(schema.to_owned());
        Ok(())
    }
}

pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
