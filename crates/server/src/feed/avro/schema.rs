//! The schema of a table's changes.

use crate::feed::Log;
use cql::cdc::log_table::deleted_elements_name;
use model::DataType;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// What a record is of; the numbers are those of the names in [`OPERATIONS`].
#[derive(Clone, Copy)]
pub(super) enum Operation {
    Insert,
    Update,
    DeleteRow,
    DeleteRange,
    DeletePartition,
    Mark,
    Failure,
}

/// Their names, in their order.
const OPERATIONS: [&str; 7] = ["insert", "update", "delete_row", "delete_range", "delete_partition", "mark", "failure"];

/// The schema of a change. Every column may be null; names that Avro does not allow are changed, and the columns' own ones are in `cql.name`.
pub(super) fn of(log: &Log, types: &HashMap<String, DataType>) -> Value {
    let mut records = Records::default();
    let key = records.columns("Key", log.partition.iter().chain(&log.clustering).map(|name| (&**name, types.get(name))));
    let bound_columns = records.columns("BoundColumns", log.clustering.iter().map(|name| (&**name, types.get(name))));
    let bound = record("Bound", vec![json!({"name": "columns", "type": bound_columns}), json!({"name": "inclusive", "type": "boolean"})]);
    let row = records.columns("Row", log.values.iter().map(|name| (&**name, types.get(name))));
    let removed = log.values.iter().filter_map(|name| Some((&**name, Some(types.get(&deleted_elements_name(name))?))));
    let removed = records.columns("Removed", removed);
    let operation = json!({"type": "enum", "name": "Operation", "symbols": OPERATIONS});
    let micros = json!({"type": "long", "logicalType": "timestamp-micros"});
    let field = |name: &str, of: &Value| json!({"name": name, "type": ["null", of], "default": null});
    let fields = vec![
        json!({"name": "operation", "type": operation}),
        field("key", &key),
        field("from", &bound),
        field("to", &json!("Bound")),
        field("columns", &row),
        json!({"name": "deleted", "type": {"type": "array", "items": "string"}}),
        field("removed", &removed),
        field("ttl", &json!("long")),
        field("preimage", &json!("Row")),
        field("postimage", &json!("Row")),
        field("time", &micros),
        field("id", &json!("string")),
        field("position", &json!("string")),
        field("complete_until", &micros),
        field("logging", &json!("boolean")),
        field("error", &json!("string")),
        field("code", &json!("int")),
    ];
    let mut change = record("Change", fields);
    change["namespace"] = json!("tarndb.changes");
    change
}

fn record(name: &str, fields: Vec<Value>) -> Value {
    json!({"type": "record", "name": name, "fields": fields})
}

/// Names the records that types need.
#[derive(Default)]
struct Records {
    count: usize,
}

impl Records {
    /// A record of columns or fields, which may all be null.
    fn columns<'n>(&mut self, name: &str, columns: impl Iterator<Item = (&'n str, Option<&'n DataType>)>) -> Value {
        let mut taken = HashSet::new();
        let fields = columns.map(|(own, data_type)| {
            let mut name = avro_name(own);
            while !taken.insert(name.clone()) {
                name.push('_');
            }
            let data_type = data_type.map_or_else(|| json!("null"), |data_type| json!(["null", self.of_type(data_type)]));
            let mut field = json!({"name": name, "type": data_type});
            if name != own {
                field["cql.name"] = json!(own);
            }
            field
        });
        let fields = fields.collect();
        record(name, fields)
    }

    /// A name that nothing else has: Avro has one definition for each.
    fn name(&mut self, of: &str) -> String {
        self.count += 1;
        format!("{}_{}", avro_name(of), self.count)
    }

    fn of_type(&mut self, data_type: &DataType) -> Value {
        let logical = |of: &str, name: &str| json!({"type": of, "logicalType": name});
        match data_type {
            DataType::Blob | DataType::Custom(_) => json!("bytes"),
            DataType::Boolean => json!("boolean"),
            DataType::TinyInt | DataType::SmallInt | DataType::Int => json!("int"),
            DataType::BigInt | DataType::Counter | DataType::Time => json!("long"),
            DataType::Float => json!("float"),
            DataType::Double => json!("double"),
            DataType::Timestamp => logical("long", "timestamp-millis"),
            DataType::Date => logical("int", "date"),
            DataType::Uuid | DataType::TimeUuid => logical("string", "uuid"),
            DataType::Ascii | DataType::Text | DataType::Inet | DataType::Duration | DataType::Varint | DataType::Decimal => {
                json!("string")
            }
            DataType::List(element, _) | DataType::Set(element, _) | DataType::Vector(element, _) => self.array(element),
            DataType::Map(key, value, _) => {
                let name = self.name("entry");
                let fields = [("key", Some(&**key)), ("value", Some(&**value))];
                let entry = self.columns(&name, fields.into_iter());
                json!({"type": "array", "items": entry})
            }
            DataType::Tuple(types) => {
                let (name, places) = (self.name("tuple"), (0..types.len()).map(|place| format!("field_{place}")).collect::<Vec<_>>());
                self.columns(&name, places.iter().map(|name| &**name).zip(types.iter().map(Some)))
            }
            DataType::Udt(user, _) => {
                let name = self.name(&user.name);
                self.columns(&name, user.fields.iter().map(|(name, data_type)| (&**name, Some(data_type))))
            }
        }
    }

    fn array(&mut self, element: &DataType) -> Value {
        json!({"type": "array", "items": ["null", self.of_type(element)]})
    }
}

/// A name as Avro allows it: letters of ASCII, digits and `_`, and no digit first.
fn avro_name(name: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let changed: String = name.chars().map(allowed).collect();
    if changed.starts_with(|c: char| c.is_ascii_digit()) || changed.is_empty() { format!("_{changed}") } else { changed }
}
