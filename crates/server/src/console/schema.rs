//! `GET /api/v1/schema`: what is declared, as every role may read it in `system_schema`.

use crate::http::{NOT_FOUND, Reply, Request};
use cql::describe::{create_index, create_keyspace, create_table, create_type, index_target, type_text};
use model::{Column, ColumnKind, Keyspace, Order, Schema, Table};
use serde_json::{Value, json};

pub(super) fn answer(schema: &Schema, request: &Request) -> Reply {
    match (request.parameter("keyspace"), request.parameter("table")) {
        (Some(keyspace), Some(name)) => match schema.table(&keyspace, &name) {
            Some(table) => Reply::json(&whole(table)),
            None => Reply::text(NOT_FOUND, format!("there is no table {keyspace}.{name}")),
        },
        (Some(name), None) => match schema.keyspaces.get(&name) {
            Some(keyspace) => Reply::json(&names(keyspace)),
            None => Reply::text(NOT_FOUND, format!("there is no keyspace {name}")),
        },
        _ => Reply::json(&json!({"keyspaces": schema.keyspaces.values().map(|keyspace| names(keyspace)).collect::<Vec<_>>()})),
    }
}

/// A keyspace, its types in full and the names of the rest.
fn names(keyspace: &Keyspace) -> Value {
    let tables = |is_view: bool| {
        let tables = keyspace.tables.values().filter(move |table| table.view.is_some() == is_view);
        tables.map(|table| table.name.as_str()).collect::<Vec<_>>()
    };
    let types = keyspace.types.values().map(|user| json!({"name": user.name, "describe": create_type(user)}));
    let functions = keyspace.functions.functions().map(|function| function.name.as_str());
    json!({
        "name": keyspace.name,
        "replication": {"class": keyspace.replication.class.rsplit('.').next(), "parameters": keyspace.replication.parameters},
        "tables": tables(false),
        "views": tables(true),
        "types": types.collect::<Vec<_>>(),
        "functions": functions.collect::<Vec<_>>(),
        "aggregates": keyspace.functions.aggregates().map(|aggregate| aggregate.name.as_str()).collect::<Vec<_>>(),
        "describe": create_keyspace(keyspace),
    })
}

fn whole(table: &Table) -> Value {
    let indexes = table
        .indexes
        .values()
        .map(|index| json!({"name": index.name, "target": index_target(table, index), "describe": create_index(table, index)}));
    json!({
        "keyspace": table.keyspace,
        "name": table.name,
        "kind": kind(table),
        "base": table.view.as_ref().map(|view| &view.base),
        "comment": table.options.comment,
        "columns": table.columns.iter().map(column).collect::<Vec<_>>(),
        "indexes": indexes.collect::<Vec<_>>(),
        "views": table.views,
        "describe": create_table(table),
    })
}

fn kind(table: &Table) -> &'static str {
    match table {
        Table { view: Some(_), .. } => "materialized view",
        Table { records: Some(_), .. } => "set of Aerospike",
        table if table.is_container() => "container of GridDB",
        _ => "table",
    }
}

fn column(column: &Column) -> Value {
    let kind = match (column.kind, column.order) {
        (ColumnKind::PartitionKey, _) => "partition key",
        (ColumnKind::Clustering, Order::Ascending) => "clustering, ascending",
        (ColumnKind::Clustering, Order::Descending) => "clustering, descending",
        (ColumnKind::Static, _) => "static",
        (ColumnKind::Regular, _) => "",
    };
    json!({"name": column.name, "type": type_text(&column.data_type), "kind": kind})
}
