//! Schema statements: what one has come to, before it is decided. One that changes nothing, such as IF NOT EXISTS of what is there, is not looked at.

use super::guard::{Guard, Violation};
use super::kind::{Feature, Limit};
use super::setting::Guardrails;
use crate::ddl::{Outcome, SIMPLE_STRATEGY};
use crate::language::ast::{
    AlterTable, AlterTableOperation, AlterType, AlterTypeOperation, CreateIndex, CreateTable, CreateType, CreateView, Identifier,
    QualifiedName, Statement, TypeName,
};
use crate::system::is_system_keyspace;
use model::{DataType, Schema, Table};
use std::sync::Arc;

/// What a statement is warned of that makes `outcome` of `former`; `keyspace` is the session's.
///
/// # Errors
/// Why it is refused.
pub fn check_definition(
    guardrails: &Guardrails,
    statement: &Statement,
    keyspace: Option<&str>,
    former: &Schema,
    outcome: &Outcome,
) -> Result<Vec<Violation>, Violation> {
    let Some(change) = &outcome.change else { return Ok(Vec::new()) };
    let mut made = Made { guard: Guard::new(guardrails), schema: &change.schema, keyspace };
    match statement {
        Statement::CreateKeyspace(create) => made.keyspace(create.name.as_str())?,
        Statement::AlterKeyspace(alter) => made.replication(alter.name.as_str(), Some(former))?,
        Statement::DropKeyspace(_) => made.guard.feature(Feature::DropKeyspace, true)?,
        Statement::CreateTable(create) => made.table(create)?,
        Statement::CopyTable(copy) => made.copied_table(&copy.name)?,
        Statement::AlterTable(alter) => made.altered_table(alter)?,
        Statement::DropTable(_) => made.guard.feature(Feature::DropTruncateTable, true)?,
        Statement::CreateIndex(create) => made.index(create)?,
        Statement::CreateView(create) => made.view(create)?,
        Statement::CreateType(create) => made.user_type(create)?,
        Statement::AlterType(alter) => made.altered_type(alter)?,
        _ => {}
    }
    Ok(made.guard.warnings)
}

/// A schema as a statement makes it.
struct Made<'a> {
    guard: Guard<'a>,
    schema: &'a Schema,
    keyspace: Option<&'a str>,
}

impl Made<'_> {
    fn keyspace(&mut self, name: &str) -> Result<(), Violation> {
        let count = self.schema.keyspaces.keys().filter(|name| !is_system_keyspace(name)).count();
        self.guard.limit(Limit::Keyspaces, &name, count as u64)?;
        self.replication(name, None)
    }

    fn replication(&self, name: &str, former: Option<&Schema>) -> Result<(), Violation> {
        let replication = |schema: &Schema| schema.keyspaces.get(name).map(|keyspace| keyspace.replication.clone());
        let now = replication(self.schema);
        let is_new = former.is_none_or(|former| replication(former) != now);
        self.guard.feature(Feature::SimpleStrategy, is_new && now.is_some_and(|replication| replication.class == SIMPLE_STRATEGY))
    }

    fn table(&mut self, create: &CreateTable) -> Result<(), Violation> {
        self.new_table(create.name.name.as_str(), create.columns.len(), create.options.compact_storage)?;
        create.columns.iter().try_for_each(|column| self.vectors("Column", &column.name, &column.type_name))
    }

    fn copied_table(&mut self, name: &QualifiedName) -> Result<(), Violation> {
        let Some(table) = self.find(name).cloned() else { return Ok(()) };
        self.new_table(&table.name, table.columns.len(), table.compact)?;
        table.columns.iter().try_for_each(|column| match &column.data_type {
            DataType::Vector(_, dimension) => {
                self.guard.limit(Limit::VectorDimensions, &format!("Column {}", column.name), u64::from(*dimension))
            }
            _ => Ok(()),
        })
    }

    fn new_table(&mut self, name: &str, columns: usize, is_compact: bool) -> Result<(), Violation> {
        self.guard.limit(Limit::ColumnsPerTable, &name, columns as u64)?;
        let count = self.schema.tables().filter(|table| !is_system_keyspace(&table.keyspace)).count();
        self.guard.limit(Limit::Tables, &name, count as u64)?;
        self.guard.feature(Feature::CompactTables, is_compact)
    }

    fn altered_table(&mut self, alter: &AlterTable) -> Result<(), Violation> {
        match &alter.operation {
            AlterTableOperation::Add { columns, .. } => {
                self.guard.feature(Feature::AlterTable, true)?;
                columns.iter().try_for_each(|column| self.vectors("Column", &column.name, &column.type_name))?;
                let count = self.find(&alter.name).map_or(0, |table| table.columns.len());
                self.guard.limit(Limit::ColumnsPerTable, &alter.name.name.as_str(), count as u64)
            }
            AlterTableOperation::Drop { .. } | AlterTableOperation::Rename { .. } => self.guard.feature(Feature::AlterTable, true),
            _ => Ok(()),
        }
    }

    fn index(&mut self, create: &CreateIndex) -> Result<(), Violation> {
        self.guard.feature(Feature::SecondaryIndexes, true)?;
        let count = self.find(&create.table).map_or(0, |table| table.indexes.len());
        let name = create.name.as_ref().map_or(String::new(), |name| format!("{} ", name.as_str()));
        let what = format!("{name}on table {}", create.table.name.as_str());
        self.guard.limit(Limit::SecondaryIndexesPerTable, &what, count as u64)
    }

    fn view(&mut self, create: &CreateView) -> Result<(), Violation> {
        let count = self.find(&create.from).map_or(0, |table| table.views.len());
        let what = format!("{} on table {}", create.name.name.as_str(), create.from.name.as_str());
        self.guard.limit(Limit::MaterializedViewsPerTable, &what, count as u64)
    }

    fn user_type(&mut self, create: &CreateType) -> Result<(), Violation> {
        self.guard.limit(Limit::FieldsPerUdt, &create.name.name.as_str(), create.fields.len() as u64)?;
        create.fields.iter().try_for_each(|(field, type_name)| self.vectors("Field", field, type_name))
    }

    fn altered_type(&mut self, alter: &AlterType) -> Result<(), Violation> {
        let AlterTypeOperation::Add { field, type_name, .. } = &alter.operation else { return Ok(()) };
        let keyspace = self.schema.keyspaces.get(self.keyspace_of(&alter.name));
        let made = keyspace.and_then(|keyspace| keyspace.types.get(alter.name.name.as_str()));
        self.guard.limit(Limit::FieldsPerUdt, &alter.name.name.as_str(), made.map_or(0, |made| made.fields.len() as u64))?;
        self.vectors("Field", field, type_name)
    }

    /// Looks at the vectors in a type as it is written: those in user types have been looked at with these.
    fn vectors(&mut self, kind: &str, name: &Identifier, type_name: &TypeName) -> Result<(), Violation> {
        match type_name {
            TypeName::Vector { dimension, .. } => {
                let what = format!("{kind} {}", name.as_str());
                self.guard.limit(Limit::VectorDimensions, &what, dimension.unsigned_abs().into())
            }
            TypeName::List(inner) | TypeName::Set(inner) | TypeName::Frozen(inner) => self.vectors(kind, name, inner),
            TypeName::Map(key, value) => {
                self.vectors(kind, name, key)?;
                self.vectors(kind, name, value)
            }
            TypeName::Tuple(fields) => fields.iter().try_for_each(|field| self.vectors(kind, name, field)),
            TypeName::Native(_) | TypeName::User(_) | TypeName::Custom(_) => Ok(()),
        }
    }

    fn keyspace_of<'n>(&'n self, name: &'n QualifiedName) -> &'n str {
        name.keyspace.as_ref().map(Identifier::as_str).or(self.keyspace).unwrap_or_default()
    }

    fn find(&self, name: &QualifiedName) -> Option<&Arc<Table>> {
        self.schema.table(self.keyspace_of(name), name.name.as_str())
    }
}
