//! CREATE INDEX and DROP INDEX.
//!
//! Checks come in Cassandra's order.

use super::change::{Context, Outcome, SchemaEventTarget};
use super::error::{IndexError, ViewError};
use super::limits::SYSTEM_TABLE_IDS_FROM;
use super::property::Properties;
use super::types::contains_duration;
use super::{DdlError, cdc, name, sasi};
use crate::index::{IndexClass, indexed_type};
use crate::language::ast::{self, Identifier};
use crate::value::function::Similarity;
use crate::wire::ChangeKind;
use base::TableId;
use model::{Column, ColumnKind, DataType, Frozen, Index, IndexPart, Keyspace, Schema, Table};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Options of storage-attached indexes that are `true` or `false`: what of a text counts.
const ANALYSIS_OPTIONS: [&str; 3] = ["case_sensitive", "normalize", "ascii"];

/// What Cassandra calls its first kind of index, and keeps for itself among options.
const LEGACY_CLASS: &str = "legacy_local_table";
const OWN_OPTIONS: [&str; 2] = ["class_name", "target"];

/// What Cassandra says of every SASI index.
const SASI_WARNING: &str = "SASI indexes are experimental and are not recommended for production use.";
/// What Cassandra says of every index on vectors.
const VECTOR_WARNING: &str = "SAI ANN indexes on vector columns are experimental and are not recommended for production use.\n\
     They don't yet support SELECT queries with:\n \
     * Consistency level higher than ONE/LOCAL_ONE.\n \
     * Paging.\n \
     * No LIMIT clauses.\n \
     * PER PARTITION LIMIT clauses.\n \
     * GROUP BY clauses.\n \
     * Aggregation functions.\n \
     * Filters on columns without a SAI index.";

pub(super) fn create(context: &Context<'_>, statement: &ast::CreateIndex) -> Result<Outcome, DdlError> {
    let mut properties = Properties::new(&statement.properties);
    let options = properties.map("options")?.unwrap_or_default();
    properties.finish()?;
    if statement.using.is_none() && !options.is_empty() {
        return Err(IndexError::Options.into());
    }
    let keyspace = context.existing_keyspace(statement.table.keyspace.as_ref())?;
    let table_name = statement.table.name.as_str();
    let table = keyspace.tables.get(table_name).ok_or_else(|| IndexError::UnknownTable(table_name.to_owned()))?;
    check_table(table)?;
    if let Some(name) = &statement.name {
        name::check_index_name(name.as_str())?;
        if has_index(keyspace, name.as_str()) {
            let exists = DdlError::Index(IndexError::Exists(name.as_str().to_owned()));
            return if statement.if_not_exists { Ok(Outcome::unchanged()) } else { Err(exists) };
        }
    }
    let class = declared_class(statement)?;
    if let Some(own) = OWN_OPTIONS.into_iter().find(|option| options.contains_key(*option)) {
        return Err(IndexError::OwnOption(own).into());
    }
    if table.is_counter() {
        return Err(IndexError::OnCounters.into());
    }
    let (column, part) = indexed(table, only_target(statement, class)?)?;
    let same = |index: &&Arc<Index>| index.column == column.id && index.part == part && IndexClass::of(index) == class;
    if let Some(existing) = table.indexes.values().find(same) {
        if statement.if_not_exists {
            return Ok(Outcome::unchanged());
        }
        let is_identical = existing.class.as_deref() == statement.using.as_deref() && existing.options == options;
        if class == IndexClass::StorageAttached && !is_identical {
            return Err(IndexError::StorageAttachedTwice(column.name.clone()).into());
        }
        return Err(IndexError::Twice { name: chosen_name(keyspace, table, column, statement), existing: existing.name.clone() }.into());
    }
    match class {
        IndexClass::Legacy if statement.using.is_some() && !options.is_empty() => return Err(IndexError::Options.into()),
        IndexClass::Legacy => {}
        IndexClass::StorageAttached => check_storage_attached(column, part, &options)?,
        IndexClass::Sasi => sasi::check(column, &options)?,
    }
    let id = context.schema.next_table;
    let next_table = id.0.checked_add(1).filter(|next| *next < SYSTEM_TABLE_IDS_FROM).ok_or(DdlError::TooManyTables(id.0))?;
    let name = chosen_name(keyspace, table, column, statement);
    let is_of_vectors = class == IndexClass::StorageAttached && matches!(column.data_type, DataType::Vector(..));
    let is_sasi = class == IndexClass::Sasi;
    let class = statement.using.as_deref().map(str::to_owned);
    let index = Index { id, name: name.clone(), column: column.id, part, class, options };
    let schema = Schema { next_table: TableId(next_table), ..context.schema.clone() };
    let changed = |table: &mut Table| drop(table.indexes.insert(name, Arc::new(index)));
    let mut outcome = with_table(context, schema, table, changed, Vec::new());
    if is_of_vectors {
        outcome.warnings.push(VECTOR_WARNING.to_owned());
    }
    if is_sasi {
        outcome.warnings.push(SASI_WARNING.to_owned());
    }
    Ok(outcome)
}

/// The kind of index that a statement asks for.
fn declared_class(statement: &ast::CreateIndex) -> Result<IndexClass, DdlError> {
    let unknown = |name: &str| DdlError::Index(IndexError::Class(name.to_owned()));
    match statement.using.as_deref() {
        None if statement.custom => Err(unknown(LEGACY_CLASS)),
        None => Ok(IndexClass::Legacy),
        Some(class) => IndexClass::declared(class, statement.custom).ok_or_else(|| unknown(class)),
    }
}

/// What the index is on, which is one column.
fn only_target(statement: &ast::CreateIndex, class: IndexClass) -> Result<&ast::IndexTarget, DdlError> {
    match statement.targets.as_slice() {
        [] if statement.using.is_none() => Err(IndexError::WithoutColumn.into()),
        [] => Err(DdlError::Unsupported("an index without a column")),
        [target] => Ok(target),
        targets if class == IndexClass::StorageAttached => {
            let columns = targets.iter().filter_map(named_column).map(ToString::to_string).collect::<Vec<_>>().join(", ");
            Err(IndexError::StorageAttachedOnManyColumns(columns).into())
        }
        _ => Err(IndexError::OnManyColumns.into()),
    }
}

/// Whether clients of CQL may index a table.
fn check_table(table: &Table) -> Result<(), DdlError> {
    if table.view.is_some() {
        return Err(ViewError::Index.into());
    }
    cdc::check_follower(table, "Secondary indexes")?;
    if table.is_container() {
        return Err(DdlError::Container { keyspace: table.keyspace.clone(), table: table.name.clone() });
    }
    if table.records.is_some() {
        return Err(DdlError::RecordSet { keyspace: table.keyspace.clone(), table: table.name.clone() });
    }
    Ok(())
}

/// The name that the statement gives, or one that is free.
fn chosen_name(keyspace: &Keyspace, table: &Table, column: &Column, statement: &ast::CreateIndex) -> String {
    statement.name.as_ref().map_or_else(|| free_name(keyspace, table, column), |name| name.as_str().to_owned())
}

pub(super) fn drop_index(context: &Context<'_>, statement: &ast::DropIndex) -> Result<Outcome, DdlError> {
    let keyspace = context.keyspace_name(statement.name.keyspace.as_ref())?;
    let name = statement.name.name.as_str();
    let tables = context.schema.keyspaces.get(keyspace).into_iter().flat_map(|keyspace| keyspace.tables.values());
    let found = tables.filter_map(|table| Some((table, table.indexes.get(name)?))).next();
    let Some((table, index)) = found else {
        let unknown = DdlError::UnknownIndex { keyspace: keyspace.to_owned(), name: name.to_owned() };
        return if statement.if_exists { Ok(Outcome::unchanged()) } else { Err(unknown) };
    };
    if table.is_container() {
        return Err(DdlError::Container { keyspace: table.keyspace.clone(), table: table.name.clone() });
    }
    if table.records.is_some() {
        return Err(DdlError::RecordSet { keyspace: table.keyspace.clone(), table: table.name.clone() });
    }
    let changed = |table: &mut Table| drop(table.indexes.remove(name));
    Ok(with_table(context, context.schema.clone(), table, changed, vec![index.id]))
}

/// The outcome in which a table has changed.
fn with_table(context: &Context<'_>, mut schema: Schema, table: &Table, change: impl FnOnce(&mut Table), dropped: Vec<TableId>) -> Outcome {
    let mut changed = table.clone();
    change(&mut changed);
    if let Some(keyspace) = schema.keyspaces.get_mut(&table.keyspace) {
        Arc::make_mut(keyspace).tables.insert(table.name.clone(), Arc::new(changed));
    }
    context.table_changed(schema, ChangeKind::Updated, SchemaEventTarget::Table(table.name.clone()), &table.keyspace, dropped)
}

fn has_index(keyspace: &Keyspace, name: &str) -> bool {
    keyspace.tables.values().any(|table| table.indexes.contains_key(name))
}

/// The name of an index that was given none.
fn free_name(keyspace: &Keyspace, table: &Table, column: &Column) -> String {
    let plain = |text: &str| text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect::<String>();
    let base = format!("{}_{}_idx", plain(&table.name), plain(&column.name));
    let numbered = (1..).map(|number: u32| format!("{base}_{number}"));
    std::iter::once(base.clone()).chain(numbered).find(|name| !has_index(keyspace, name)).unwrap_or(base)
}

/// What a storage-attached index cannot be on, and its options.
fn check_storage_attached(column: &Column, part: IndexPart, options: &BTreeMap<String, String>) -> Result<(), DdlError> {
    let data_type = indexed_type(&column.data_type, part);
    let is_text = matches!(data_type, DataType::Text | DataType::Ascii);
    for (option, value) in options {
        match option.as_str() {
            known if ANALYSIS_OPTIONS.contains(&known) => {
                if !is_text {
                    return Err(IndexError::Analysis(data_type.clone()).into());
                }
                if !value.eq_ignore_ascii_case("true") && !value.eq_ignore_ascii_case("false") {
                    return Err(IndexError::Flag { option: option.clone(), value: value.clone() }.into());
                }
            }
            Similarity::OPTION if !matches!(data_type, DataType::Vector(..)) => {
                return Err(IndexError::VectorOption(data_type.clone()).into());
            }
            Similarity::OPTION if Similarity::named(value).is_none() => {
                return Err(IndexError::Similarity(value.to_ascii_uppercase()).into());
            }
            Similarity::OPTION => {}
            "maximum_node_connections" => return Err(IndexError::GraphOption("Maximum node connections").into()),
            "construction_beam_width" => return Err(IndexError::GraphOption("Construction beam width").into()),
            // What a graph of neighbours would be made for; searches are exact.
            "optimize_for" => {}
            _ => return Err(IndexError::UnknownOption(option.clone()).into()),
        }
    }
    let is_cosine = options.get(Similarity::OPTION).is_none_or(|name| Similarity::named(name) == Some(Similarity::Cosine));
    match &column.data_type {
        DataType::Vector(element, _) if **element != DataType::Float => Err(DdlError::Index(IndexError::OnVectorOf)),
        DataType::Vector(_, 1) if is_cosine => Err(DdlError::Index(IndexError::OnOneDimension)),
        _ => Ok(()),
    }
}

/// The name of the column that a target is about; of several, none.
fn named_column(target: &ast::IndexTarget) -> Option<&Identifier> {
    use ast::IndexTarget as T;
    match target {
        T::Column(name) | T::Keys(name) | T::Values(name) | T::Entries(name) | T::Full(name) => Some(name),
        T::Columns(_) => None,
    }
}

/// The column that a target names, and what of it.
fn indexed<'t>(table: &'t Table, target: &ast::IndexTarget) -> Result<(&'t Column, IndexPart), DdlError> {
    use ast::IndexTarget as T;
    let name = named_column(target).ok_or(DdlError::Unsupported("A local index"))?;
    let kind = match target {
        T::Keys(_) => "keys",
        T::Entries(_) => "entries",
        T::Full(_) => "full",
        T::Column(_) | T::Values(_) | T::Columns(_) => "values",
    };
    let is_simple = matches!(target, T::Column(_));
    let unknown =
        || DdlError::UnknownColumn { keyspace: table.keyspace.clone(), table: table.name.clone(), column: name.as_str().to_owned() };
    let (_, column) = table.column(name.as_str()).ok_or_else(unknown)?;
    let ty = &column.data_type;
    if contains_duration(ty) {
        let what = match ty {
            DataType::Duration => "duration columns",
            DataType::Tuple(_) => "tuples containing durations",
            DataType::Udt(..) => "UDTs containing durations",
            _ => "collections containing durations",
        };
        return Err(IndexError::OnDuration(what).into());
    }
    if table.compact && column.kind != ColumnKind::Regular {
        return Err(DdlError::IndexOnCompactKey);
    }
    if table.compact && table.clustering_len > 0 {
        return Err(DdlError::IndexOnCompactValue);
    }
    if column.kind == ColumnKind::PartitionKey && table.partition_key_len == 1 {
        return Err(IndexError::OnPartitionKey(column.name.clone()).into());
    }
    let is_frozen = matches!(ty, DataType::List(_, Frozen::Yes) | DataType::Set(_, Frozen::Yes) | DataType::Map(_, _, Frozen::Yes));
    if is_frozen && !matches!(target, T::Full(_)) {
        return Err(IndexError::OnFrozen { kind, column: column.name.clone() }.into());
    }
    if !is_frozen && matches!(target, T::Full(_)) {
        return Err(IndexError::FullIndex.into());
    }
    if !ty.is_collection() && !is_simple {
        return Err(IndexError::OnSimple { kind, column: column.name.clone() }.into());
    }
    if !matches!(ty, DataType::Map(..)) && matches!(target, T::Keys(_) | T::Entries(_)) {
        return Err(IndexError::OnNoMap { kind, column: column.name.clone() }.into());
    }
    if matches!(ty, DataType::Udt(..)) && ty.is_multi_cell() {
        return Err(IndexError::OnUserType(column.name.clone()).into());
    }
    let part = match target {
        T::Keys(_) => IndexPart::Keys,
        T::Entries(_) => IndexPart::Entries,
        T::Full(_) => IndexPart::Value,
        _ if ty.is_collection() => IndexPart::Values,
        _ => IndexPart::Value,
    };
    Ok((column, part))
}
