//! Schema statements: what one has come to, before it is decided. One that changes nothing, such as IF NOT EXISTS of what is there, is not looked at.

use super::feature::Feature;
use super::guard::{Guard, Violation};
use super::limit::Limit;
use super::setting::Guardrails;
use super::values::{Values, properties, property};
use crate::ddl::{Outcome, SIMPLE_STRATEGY, TableParameters};
use crate::language::ast::{
    AlterTable, AlterTableOperation, AlterType, AlterTypeOperation, CreateIndex, CreateTable, CreateType, CreateView, Identifier, Property,
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
    made.properties(statement)?;
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

/// A statement without the properties of tables that are ignored, and the warning of these; `None` if it gives none of them.
#[must_use]
pub fn without_ignored(guardrails: &Guardrails, statement: &Statement) -> Option<(Statement, Vec<Violation>)> {
    let mut guard = Guard::new(guardrails);
    let given = given_properties(statement)?;
    let ignored = guard.ignored_properties(properties(given.iter().map(|given| given.name.as_str())));
    if ignored == 0 {
        return None;
    }
    let mut statement = statement.clone();
    let is_kept = |given: &Property| property(given.name.as_str()).is_none_or(|property| property & ignored == 0);
    match &mut statement {
        Statement::CreateTable(create) => create.options.properties.retain(is_kept),
        Statement::CreateView(create) => create.options.properties.retain(is_kept),
        Statement::CopyTable(copy) => copy.properties.retain(is_kept),
        Statement::AlterView(alter) => alter.properties.retain(is_kept),
        Statement::AlterTable(AlterTable { operation: AlterTableOperation::With(given), .. }) => given.retain(is_kept),
        _ => {}
    }
    Some((statement, guard.warnings))
}

/// What a statement about a table or view gives after WITH.
fn given_properties(statement: &Statement) -> Option<&[Property]> {
    match statement {
        Statement::CreateTable(create) => Some(&create.options.properties),
        Statement::CreateView(create) => Some(&create.options.properties),
        Statement::CopyTable(copy) => Some(&copy.properties),
        Statement::AlterView(alter) => Some(&alter.properties),
        Statement::AlterTable(AlterTable { operation: AlterTableOperation::With(given), .. }) => Some(given),
        _ => None,
    }
}

/// A schema as a statement makes it.
struct Made<'a> {
    guard: Guard<'a>,
    schema: &'a Schema,
    keyspace: Option<&'a str>,
}

impl Made<'_> {
    fn properties(&mut self, statement: &Statement) -> Result<(), Violation> {
        let given = given_properties(statement).unwrap_or_default();
        self.guard.values(Values::TableProperties, properties(given.iter().map(|given| given.name.as_str())))
    }

    fn keyspace(&mut self, name: &str) -> Result<(), Violation> {
        let count = self.schema.keyspaces.keys().filter(|name| !is_system_keyspace(name)).count();
        self.guard.limit(Limit::Keyspaces, &name, count as u64)?;
        self.replication(name, None)
    }

    fn replication(&mut self, name: &str, former: Option<&Schema>) -> Result<(), Violation> {
        let replication = |schema: &Schema| schema.keyspaces.get(name).map(|keyspace| keyspace.replication.clone());
        let now = replication(self.schema);
        let is_new = former.is_none_or(|former| replication(former) != now);
        let Some(now) = now.filter(|_| is_new) else { return Ok(()) };
        self.guard.feature(Feature::SimpleStrategy, now.class == SIMPLE_STRATEGY)?;
        now.parameters.values().filter_map(|factor| factor.parse().ok()).try_for_each(|factor| {
            self.guard.limit(Limit::MinimumReplicationFactor, &name, factor)?;
            self.guard.limit(Limit::MaximumReplicationFactor, &name, factor)
        })
    }

    fn table(&mut self, create: &CreateTable) -> Result<(), Violation> {
        self.uncompressed(&create.name)?;
        self.new_table(create.name.name.as_str(), create.columns.len(), create.options.compact_storage)?;
        create.columns.iter().try_for_each(|column| self.vectors("Column", &column.name, &column.type_name))
    }

    fn copied_table(&mut self, name: &QualifiedName) -> Result<(), Violation> {
        let Some(table) = self.find(name).cloned() else { return Ok(()) };
        self.uncompressed(name)?;
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

    /// A table whose compression is switched off, which is less than a compressor that does nothing.
    fn uncompressed(&self, name: &QualifiedName) -> Result<(), Violation> {
        let compression = self.find(name).map(|table| TableParameters::of(&table.options).compression);
        let is_off = compression.is_some_and(|entries| entries.get("enabled").is_some_and(|enabled| enabled == "false"));
        self.guard.feature(Feature::UncompressedTables, is_off)
    }

    fn altered_table(&mut self, alter: &AlterTable) -> Result<(), Violation> {
        match &alter.operation {
            AlterTableOperation::Add { columns, .. } => {
                self.guard.feature(Feature::AlterTable, true)?;
                columns.iter().try_for_each(|column| self.vectors("Column", &column.name, &column.type_name))?;
                let count = self.find(&alter.name).map_or(0, |table| table.columns.len());
                self.guard.limit(Limit::ColumnsPerTable, &alter.name.name.as_str(), count as u64)
            }
            AlterTableOperation::With(_) => self.uncompressed(&alter.name),
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
