//! The difference between a schema and the next one: what is new, what is gone, what stays the same.

use base::TableId;
use cql::ddl::{self, SchemaEvent, SchemaEventTarget};
use cql::wire::ChangeKind;
use model::{DataType, Function, Keyspace, Schema, Table, UserAggregate};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// `schema` with tables and keyspaces of `known` in place of equal ones: plans about tables that have not changed stay as they are.
pub(crate) fn with_known_tables(known: &Schema, schema: &Schema) -> Schema {
    let mut schema = schema.clone();
    for (name, keyspace) in &mut schema.keyspaces {
        let Some(former) = known.keyspaces.get(name) else { continue };
        if former == keyspace {
            *keyspace = Arc::clone(former);
            continue;
        }
        let mut shared = Keyspace::clone(keyspace);
        for (name, table) in &mut shared.tables {
            if let Some(former) = former.tables.get(name).filter(|former| *former == table) {
                *table = Arc::clone(former);
            }
        }
        *keyspace = Arc::new(shared);
    }
    schema
}

fn table_ids(schema: &Schema) -> BTreeSet<TableId> {
    schema.tables().flat_map(|table| table.stored()).collect()
}

/// Tables of `before` that `after` does not have.
pub(crate) fn dropped_tables(before: &Schema, after: &Schema) -> Vec<TableId> {
    table_ids(before).difference(&table_ids(after)).copied().collect()
}

/// The schema with these tables and their views empty: each has a new id, as have its indexes, and the rows of the old ones are no table's.
pub(crate) fn emptied(schema: &Schema, tables: &[TableId]) -> Schema {
    let views = schema.tables().filter(|table| tables.contains(&table.id)).flat_map(|table| schema.views_of(table));
    let tables: Vec<TableId> = tables.iter().copied().chain(views.map(|view| view.id)).collect();
    let mut schema = schema.clone();
    for keyspace in schema.keyspaces.values_mut().filter(|keyspace| keyspace.tables.values().any(|table| tables.contains(&table.id))) {
        for table in Arc::make_mut(keyspace).tables.values_mut().filter(|table| tables.contains(&table.id)) {
            let mut new_id = || {
                let id = schema.next_table;
                schema.next_table = TableId(id.0 + 1);
                id
            };
            let table = Arc::make_mut(table);
            table.id = new_id();
            table.indexes.values_mut().for_each(|index| Arc::make_mut(index).id = new_id());
        }
    }
    schema.version = ddl::content_version(&schema);
    schema
}

/// What drivers that ask for events are told. A table that is only emptied is not among it.
pub(crate) fn differences(before: &Schema, after: &Schema) -> Vec<SchemaEvent> {
    let mut events = Vec::new();
    let event = |change, target, keyspace: &str| SchemaEvent { change, target, keyspace: keyspace.to_owned() };
    for (change, name) in changes(&before.keyspaces, &after.keyspaces, |one, other| {
        one.replication == other.replication && one.durable_writes == other.durable_writes
    }) {
        events.push(event(change, SchemaEventTarget::Keyspace, name));
    }
    for (name, keyspace) in &after.keyspaces {
        let Some(former) = before.keyspaces.get(name) else { continue };
        for (change, of_type) in changes(&former.types, &keyspace.types, |one, other| one == other) {
            events.push(event(change, SchemaEventTarget::Type(of_type.clone()), name));
        }
        function_events(former, keyspace, &mut events);
        let is_same = |one: &Arc<Table>, other: &Arc<Table>| Arc::ptr_eq(one, other) || is_same_but_for_ids(one, other);
        for (change, table) in changes(&former.tables, &keyspace.tables, is_same) {
            events.push(event(change, SchemaEventTarget::Table(table.clone()), name));
        }
    }
    events
}

/// The changes of a keyspace's functions and aggregates.
fn function_events(before: &Keyspace, after: &Keyspace, events: &mut Vec<SchemaEvent>) {
    let texts = |types: &[DataType]| types.iter().map(ToString::to_string).collect::<Vec<String>>();
    let functions = |keyspace: &Keyspace| {
        let keyed = |function: &Arc<Function>| ((function.name.clone(), texts(&function.argument_types())), Arc::clone(function));
        keyspace.functions.functions().map(keyed).collect::<BTreeMap<_, _>>()
    };
    let aggregates = |keyspace: &Keyspace| {
        let keyed = |aggregate: &Arc<UserAggregate>| ((aggregate.name.clone(), texts(&aggregate.arguments)), Arc::clone(aggregate));
        keyspace.functions.aggregates().map(keyed).collect::<BTreeMap<_, _>>()
    };
    for (change, (name, argument_types)) in changes(&functions(before), &functions(after), |one, other| one == other) {
        let target = SchemaEventTarget::Function { name: name.clone(), argument_types: argument_types.clone() };
        events.push(SchemaEvent { change, target, keyspace: after.name.clone() });
    }
    for (change, (name, argument_types)) in changes(&aggregates(before), &aggregates(after), |one, other| one == other) {
        let target = SchemaEventTarget::Aggregate { name: name.clone(), argument_types: argument_types.clone() };
        events.push(SchemaEvent { change, target, keyspace: after.name.clone() });
    }
}

/// Whether nothing but ids of the engine's tables differs.
fn is_same_but_for_ids(one: &Table, other: &Table) -> bool {
    let mut one = Table { id: other.id, ..one.clone() };
    for (name, index) in &mut one.indexes {
        let Some(other) = other.indexes.get(name) else { return false };
        Arc::make_mut(index).id = other.id;
    }
    one == *other
}

fn changes<'a, K: Ord, V>(
    before: &'a BTreeMap<K, V>,
    after: &'a BTreeMap<K, V>,
    is_same: impl Fn(&V, &V) -> bool,
) -> Vec<(ChangeKind, &'a K)> {
    let mut changes: Vec<(ChangeKind, &K)> =
        before.keys().filter(|name| !after.contains_key(*name)).map(|name| (ChangeKind::Dropped, name)).collect();
    for (name, value) in after {
        match before.get(name) {
            None => changes.push((ChangeKind::Created, name)),
            Some(former) if !is_same(former, value) => changes.push((ChangeKind::Updated, name)),
            Some(_) => {}
        }
    }
    changes
}
