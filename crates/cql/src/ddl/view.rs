//! CREATE, ALTER and DROP MATERIALIZED VIEW, and what statements about base tables do to their views.
//!
//! Checks come in Cassandra's order.

use super::change::{Context, Outcome, Place, SchemaEventTarget};
use super::create_table::chosen_uuid;
use super::error::{CdcError, ViewError};
use super::limits::SYSTEM_TABLE_IDS_FROM;
use super::options::{Occasion, TableParameters};
use super::property::Properties;
use super::types::contains_duration;
use super::{DdlError, cdc, name};
use crate::language::ast::{self, Comparison, Identifier, InValues, RelationTarget, Selection, Selector, WhereExpression};
use crate::language::{parse_where, quote_identifier};
use crate::plan::view_conditions;
use crate::wire::{ChangeKind, marshal_class};
use base::TableId;
use model::{Column, ColumnKind, DataType, Keyspace, Order, Table, View};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What Cassandra says of every new view. TarnDB's are written with their table.
const WARNING: &str = "Materialized views are experimental and are not recommended for production use.";

pub(super) fn create(context: &Context<'_>, statement: &ast::CreateView) -> Result<Outcome, DdlError> {
    let view_name = statement.name.name.as_str();
    let given = statement.name.keyspace.as_ref().or(statement.from.keyspace.as_ref());
    if let (Some(one), Some(other)) = (&statement.name.keyspace, &statement.from.keyspace)
        && one != other
    {
        return Err(ViewError::Keyspace.into());
    }
    let keyspace = context.existing_keyspace(given)?;
    let base_name = statement.from.name.as_str();
    let base = keyspace.tables.get(base_name).filter(|base| base.view.is_none());
    let base = base.ok_or_else(|| ViewError::UnknownBase(base_name.to_owned()))?;
    match keyspace.tables.get(view_name) {
        Some(existing) if existing.view.is_none() => return Err(ViewError::NamedAsTable(view_name.to_owned()).into()),
        Some(_) if statement.if_not_exists => return Ok(Outcome { change: None, warnings: vec![WARNING.to_owned()] }),
        Some(_) => return Err(DdlError::TableExists { keyspace: keyspace.name.clone(), table: view_name.to_owned() }),
        None => {}
    }
    check_base(base, view_name)?;
    let selected = selected(base, &statement.selection)?;
    if let Some(column) = selected.iter().find(|column| column.kind == ColumnKind::Static) {
        return Err(ViewError::Static { column: column.name.clone(), view: view_name.to_owned() }.into());
    }
    let columns = columns(base, statement, &selected)?;
    check_conditions(base, statement)?;
    let (uuid, parameters) = parameters(statement)?;
    name::check_table_name(&keyspace.name, view_name)?;
    let uuid = match uuid {
        Some(text) => chosen_uuid(context, &text)?,
        None => context.environment.table_uuid,
    };
    let id = context.schema.next_table;
    let next_table = id.0.checked_add(1).filter(|next| *next < SYSTEM_TABLE_IDS_FROM).ok_or(DdlError::TooManyTables(id.0))?;
    let view = Table {
        id,
        uuid,
        name: view_name.to_owned(),
        partition_key_len: statement.primary_key.partition.len(),
        clustering_len: statement.primary_key.clustering.len(),
        columns,
        options: parameters.to_options(),
        dropped_columns: Default::default(),
        indexes: Default::default(),
        views: BTreeSet::new(),
        view: Some(View {
            base: base.name.clone(),
            shows_all: statement.selection == Selection::Wildcard,
            where_clause: where_text(&statement.where_clause),
        }),
        ..Table::clone(base)
    };
    Ok(created(context, keyspace, base, view, TableId(next_table)))
}

/// The id that a new view is to have, if the statement says one, and its options.
fn parameters(statement: &ast::CreateView) -> Result<(Option<String>, TableParameters), DdlError> {
    let mut properties = Properties::new(&statement.options.properties);
    let uuid = properties.text("id")?;
    let mut parameters = TableParameters::default();
    parameters.declare(&mut properties, Occasion::Create)?;
    properties.finish()?;
    parameters.check()?;
    if parameters.default_time_to_live != 0 {
        return Err(ViewError::TimeToLive.into());
    }
    if parameters.change_log.is_some() {
        return Err(CdcError::OfView(statement.name.name.as_str().to_owned()).into());
    }
    if statement.options.compact_storage {
        return Err(ViewError::Compact.into());
    }
    Ok((uuid, parameters))
}

/// The schema with a new view of `base`.
fn created(context: &Context<'_>, keyspace: &Keyspace, base: &Table, view: Table, next_table: TableId) -> Outcome {
    let target = SchemaEventTarget::Table(view.name.clone());
    let mut base = Table::clone(base);
    base.views.insert(view.name.clone());
    let mut keyspace = Keyspace::clone(keyspace);
    keyspace.tables.insert(base.name.clone(), Arc::new(base));
    keyspace.tables.insert(view.name.clone(), Arc::new(view));
    let mut schema = context.schema.clone();
    schema.next_table = next_table;
    let keyspace_name = keyspace.name.clone();
    schema.keyspaces.insert(keyspace_name.clone(), Arc::new(keyspace));
    let mut outcome = context.table_changed(schema, ChangeKind::Created, target, &keyspace_name, Vec::new());
    outcome.warnings.push(WARNING.to_owned());
    outcome
}

pub(super) fn alter(context: &Context<'_>, statement: &ast::AlterView) -> Result<Outcome, DdlError> {
    let Some((keyspace, view)) = view(context, &statement.name)? else { return absent(context, &statement.name, statement.if_exists) };
    let mut properties = Properties::new(&statement.properties);
    if properties.text("id")?.is_some() {
        return Err(DdlError::AlterTableId);
    }
    let mut parameters = TableParameters::of(&view.options);
    parameters.declare(&mut properties, Occasion::Alter)?;
    properties.finish()?;
    parameters.check()?;
    if parameters.gc_grace_seconds == 0 {
        return Err(ViewError::Grace.into());
    }
    if parameters.default_time_to_live > 0 {
        return Err(ViewError::AlterViewTimeToLive.into());
    }
    let changed = Table { options: parameters.to_options(), ..Table::clone(view) };
    if changed == **view {
        return Ok(Outcome::unchanged());
    }
    let target = SchemaEventTarget::Table(changed.name.clone());
    let mut keyspace = Keyspace::clone(keyspace);
    keyspace.tables.insert(changed.name.clone(), Arc::new(changed));
    Ok(context.with_keyspace(keyspace, ChangeKind::Updated, target))
}

pub(super) fn drop(context: &Context<'_>, statement: &ast::DropView) -> Result<Outcome, DdlError> {
    let Some((keyspace, view)) = view(context, &statement.name)? else { return absent(context, &statement.name, statement.if_exists) };
    let mut keyspace = Keyspace::clone(keyspace);
    keyspace.tables.remove(&view.name);
    if let Some(base) = view.view.as_ref().and_then(|view| keyspace.tables.get_mut(&view.base)) {
        Arc::make_mut(base).views.remove(&view.name);
    }
    let mut schema = context.schema.clone();
    let keyspace_name = keyspace.name.clone();
    schema.keyspaces.insert(keyspace_name.clone(), Arc::new(keyspace));
    let target = SchemaEventTarget::Table(view.name.clone());
    Ok(context.table_changed(schema, ChangeKind::Dropped, target, &keyspace_name, view.stored().collect()))
}

/// Has the views of a table that has changed follow it: renamed keys, masks, and new columns where a view shows all.
pub(super) fn follow(keyspace: &mut Keyspace, former: &Table, table: &Table) {
    for name in &table.views {
        let Some(view) = keyspace.tables.get_mut(name) else { continue };
        let view = Arc::make_mut(view);
        for column in &mut view.columns {
            if let Some((_, now)) = table.column_of_id(column.id) {
                column.name.clone_from(&now.name);
                column.mask.clone_from(&now.mask);
            }
        }
        let shows_all = view.view.as_ref().is_some_and(|view| view.shows_all);
        let is_new = |column: &&Column| column.kind == ColumnKind::Regular && former.column_of_id(column.id).is_none();
        let new: Vec<Column> = table.value_columns().iter().filter(is_new).filter(|_| shows_all).cloned().collect();
        let keys = view.partition_key_len + view.clustering_len;
        view.columns.extend(new);
        if let Some(values) = view.columns.get_mut(keys..) {
            values.sort_by(|one, other| one.name.cmp(&other.name));
        }
        view.next_column = table.next_column;
        if let Some(definition) = &mut view.view {
            definition.where_clause = renamed(&definition.where_clause, former, table);
        }
    }
}

/// A WHERE clause with the names that columns have now.
fn renamed(clause: &str, former: &Table, table: &Table) -> String {
    let Some(mut parsed) = parse_where(clause) else { return clause.to_owned() };
    for expression in &mut parsed {
        let WhereExpression::Relation(relation) = expression else { continue };
        let RelationTarget::Column(name) = &mut relation.target else { continue };
        let now = former.column(name.as_str()).and_then(|(_, column)| table.column_of_id(column.id));
        if let Some((_, column)) = now {
            *name = Identifier::new(column.name.as_str());
        }
    }
    where_text(&parsed)
}

fn view<'a>(context: &Context<'a>, name: &'a ast::QualifiedName) -> Result<Option<Place<'a>>, DdlError> {
    Ok(context.table(name)?.filter(|(_, table)| table.view.is_some()))
}

fn absent(context: &Context<'_>, name: &ast::QualifiedName, if_exists: bool) -> Result<Outcome, DdlError> {
    if if_exists {
        return Ok(Outcome::unchanged());
    }
    let keyspace = context.keyspace_name(name.keyspace.as_ref())?.to_owned();
    Err(DdlError::UnknownView { keyspace, name: name.name.as_str().to_owned() })
}

/// What cannot have a view.
fn check_base(base: &Table, view: &str) -> Result<(), DdlError> {
    cdc::check_follower(base, "Materialized views")?;
    if base.is_counter() {
        return Err(ViewError::OfCounters.into());
    }
    if base.is_container() {
        return Err(DdlError::Container { keyspace: base.keyspace.clone(), table: base.name.clone() });
    }
    if base.records.is_some() {
        return Err(DdlError::RecordSet { keyspace: base.keyspace.clone(), table: base.name.clone() });
    }
    if base.options.gc_grace_seconds == 0 {
        return Err(ViewError::OfForgetful { view: view.to_owned(), base: base.name.clone() }.into());
    }
    Ok(())
}

/// The columns of SELECT.
fn selected<'t>(base: &'t Table, selection: &Selection) -> Result<Vec<&'t Column>, DdlError> {
    let Selection::Selectors(items) = selection else { return Ok(base.columns.iter().collect()) };
    let mut columns: Vec<&Column> = Vec::new();
    for item in items {
        if let Some(alias) = &item.alias {
            return Err(ViewError::Alias(format!("{} AS {}", item.selector, alias)).into());
        }
        let Selector::Column(name) = &item.selector else { return Err(ViewError::Selector(item.selector.to_string()).into()) };
        let unknown = || {
            DdlError::View(ViewError::UndefinedColumn {
                column: name.as_str().to_owned(),
                table: format!("{}.{}", base.keyspace, base.name),
            })
        };
        let (_, column) = base.column(name.as_str()).ok_or_else(unknown)?;
        if columns.iter().all(|other| other.id != column.id) {
            columns.push(column);
        }
    }
    Ok(columns)
}

/// The columns of the view: those of its key, then the others that are selected, by name.
fn columns(base: &Table, statement: &ast::CreateView, selected: &[&Column]) -> Result<Vec<Column>, DdlError> {
    let view = || statement.name.name.as_str().to_owned();
    let key = &statement.primary_key;
    let mut columns: Vec<Column> = Vec::with_capacity(selected.len());
    for (position, name) in key.partition.iter().chain(&key.clustering).enumerate() {
        let unknown = || DdlError::View(ViewError::UnknownKeyColumn { column: name.as_str().to_owned(), view: view() });
        let column = *selected.iter().find(|column| column.name == name.as_str()).ok_or_else(unknown)?;
        if columns.iter().any(|other| other.id == column.id) {
            return Err(ViewError::KeyColumnTwice { column: column.name.clone(), view: view() }.into());
        }
        check_key_column(column)?;
        let kind = if position < key.partition.len() { ColumnKind::PartitionKey } else { ColumnKind::Clustering };
        let order = match kind {
            ColumnKind::Clustering => order_of(statement, column),
            _ => Order::Ascending,
        };
        columns.push(Column { kind, order, ..column.clone() });
    }
    let orders = &statement.options.clustering_order;
    if !orders.is_empty() && !orders.iter().map(|(column, _)| column).eq(&key.clustering) {
        return Err(ViewError::Order.into());
    }
    let base_keys = || base.partition_key().iter().chain(base.clustering());
    let missing: Vec<&str> =
        base_keys().filter(|column| columns.iter().all(|other| other.id != column.id)).map(|column| column.name.as_str()).collect();
    if !missing.is_empty() {
        return Err(ViewError::MissingKeys { view: view(), columns: missing.join(", "), base: base.name.clone() }.into());
    }
    let others: Vec<&str> =
        columns.iter().filter(|column| base_keys().all(|key| key.id != column.id)).map(|column| column.name.as_str()).collect();
    if others.len() > 1 {
        return Err(ViewError::ManyColumns(others.join(", ")).into());
    }
    let mut values: Vec<Column> =
        selected.iter().filter(|column| columns.iter().all(|key| key.id != column.id)).map(|column| (*column).clone()).collect();
    values.sort_by(|one, other| one.name.cmp(&other.name));
    columns.extend(values);
    Ok(columns)
}

/// As the view says, else as in the base table.
fn order_of(statement: &ast::CreateView, column: &Column) -> Order {
    let given = statement.options.clustering_order.iter().find(|(name, _)| name.as_str() == column.name);
    given.map_or(column.order, |(_, direction)| match direction {
        ast::OrderDirection::Ascending => Order::Ascending,
        ast::OrderDirection::Descending => Order::Descending,
    })
}

fn check_key_column(column: &Column) -> Result<(), DdlError> {
    let (name, data_type) = (column.name.clone(), marshal_class(&column.data_type));
    match &column.data_type {
        DataType::Udt(..) if column.data_type.is_multi_cell() => Err(DdlError::View(ViewError::UserTypeKey { column: name, data_type })),
        ty if ty.is_multi_cell() => Err(DdlError::View(ViewError::CollectionKey { column: name, data_type })),
        ty if contains_duration(ty) => Err(DdlError::DurationKeyColumn(name)),
        _ => Ok(()),
    }
}

/// Each column of the view's key must be restricted, others only by IS NOT NULL.
fn check_conditions(base: &Table, statement: &ast::CreateView) -> Result<(), DdlError> {
    let conditions = view_conditions(base, &statement.where_clause).map_err(|error| ViewError::Where(error.to_string()))?;
    let key = &statement.primary_key;
    let is_restricted = |name: &&Identifier| {
        conditions.iter().any(|condition| base.columns.get(condition.position).is_some_and(|column| column.name == name.as_str()))
    };
    let free: Vec<&str> =
        key.partition.iter().chain(&key.clustering).filter(|name| !is_restricted(name)).map(|name| name.as_str()).collect();
    if !free.is_empty() {
        return Err(ViewError::FreeKeys(free.join(", ")).into());
    }
    let base_keys = base.partition_key_len + base.clustering_len;
    let others: BTreeSet<&str> = conditions
        .iter()
        .filter(|condition| condition.filter.is_some() && condition.position >= base_keys)
        .filter_map(|condition| base.columns.get(condition.position).map(|column| column.name.as_str()))
        .collect();
    if !others.is_empty() {
        return Err(ViewError::Restrictions(others.into_iter().collect::<Vec<_>>().join(",")).into());
    }
    Ok(())
}

/// A WHERE clause as CQL.
fn where_text(clause: &ast::WhereClause) -> String {
    let text = |expression: &WhereExpression| match expression {
        WhereExpression::Relation(relation) => relation_text(relation),
        WhereExpression::CustomIndex { .. } => String::new(),
    };
    clause.iter().map(text).collect::<Vec<_>>().join(" AND ")
}

fn relation_text(relation: &ast::Relation) -> String {
    let RelationTarget::Column(name) = &relation.target else { return String::new() };
    let list = |values: &InValues| match values {
        InValues::List(terms) => format!("({})", terms.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
        InValues::Marker(_) => "?".to_owned(),
    };
    let what = match &relation.comparison {
        Comparison::Compare(operator, term) => format!("{} {term}", operator.sign()),
        Comparison::In(values) => format!("IN {}", list(values)),
        Comparison::NotIn(values) => format!("NOT IN {}", list(values)),
        Comparison::Between(low, high) => format!("BETWEEN {low} AND {high}"),
        Comparison::Contains(term) => format!("CONTAINS {term}"),
        Comparison::ContainsKey(term) => format!("CONTAINS KEY {term}"),
        Comparison::NotContains(term) => format!("NOT CONTAINS {term}"),
        Comparison::NotContainsKey(term) => format!("NOT CONTAINS KEY {term}"),
        Comparison::Like(term) => format!("LIKE {term}"),
        Comparison::IsNotNull => "IS NOT NULL".to_owned(),
    };
    format!("{} {what}", quote_identifier(name.as_str()))
}
