//! Vectors with more dimensions than two bytes count: programs that keep a dimension in two bytes know no schema that has one.

use super::{Keyspace, Schema, Table};
use crate::types::DataType;

impl Schema {
    /// Whether a type in it has a vector of more than 65,535 dimensions.
    #[must_use]
    pub fn has_long_vectors(&self) -> bool {
        self.keyspaces.values().any(|keyspace| types_of_keyspace(keyspace).any(has_long_vector))
    }
}

fn types_of_keyspace(keyspace: &Keyspace) -> impl Iterator<Item = &DataType> {
    let fields = keyspace.types.values().flat_map(|user| user.fields.iter().map(|(_, data_type)| data_type));
    let functions = keyspace.functions.functions().flat_map(|function| function.types());
    let aggregates = keyspace.functions.aggregates().flat_map(|aggregate| aggregate.types());
    let tables = keyspace.tables.values().flat_map(|table| types_of_table(table));
    fields.chain(functions).chain(aggregates).chain(tables)
}

fn types_of_table(table: &Table) -> impl Iterator<Item = &DataType> {
    let columns = table.columns.iter().map(|column| &column.data_type);
    let masks = table.columns.iter().filter_map(|column| column.mask.as_ref());
    let arguments = masks.flat_map(|mask| mask.arguments.iter().map(|argument| &argument.data_type));
    columns.chain(arguments).chain(table.dropped_columns.values().map(|dropped| &dropped.data_type))
}

/// Does not look into user types: their keyspace declares them.
fn has_long_vector(data_type: &DataType) -> bool {
    match data_type {
        DataType::Vector(element, dimension) => *dimension > u32::from(u16::MAX) || has_long_vector(element),
        DataType::List(element, _) | DataType::Set(element, _) => has_long_vector(element),
        DataType::Map(key, value, _) => has_long_vector(key) || has_long_vector(value),
        DataType::Tuple(fields) => fields.iter().any(has_long_vector),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::column_mask::{ColumnMask, MaskArgument};
    use crate::function::{Function, NullInput, UserAggregate};
    use crate::record_set::NewBin;
    use crate::schema::{ColumnKind, DroppedColumn};
    use crate::types::{Frozen, UserType};
    use std::sync::Arc;

    fn vector(dimension: u32) -> DataType {
        DataType::Vector(Arc::new(DataType::Float), dimension)
    }

    #[test]
    fn long_vectors_are_found_within_other_types() {
        let wraps: [fn(Arc<DataType>) -> DataType; 6] = [
            |inner| DataType::Vector(inner, 2),
            |inner| DataType::List(inner, Frozen::Yes),
            |inner| DataType::Set(inner, Frozen::No),
            |inner| DataType::Map(inner, Arc::new(DataType::Int), Frozen::No),
            |inner| DataType::Map(Arc::new(DataType::Int), inner, Frozen::No),
            |inner| DataType::Tuple([DataType::Int, DataType::clone(&inner)].into()),
        ];
        assert!(has_long_vector(&vector(65_536)) && !has_long_vector(&vector(65_535)));
        for wrap in wraps {
            assert!(has_long_vector(&wrap(Arc::new(vector(65_536)))) && !has_long_vector(&wrap(Arc::new(vector(65_535)))));
        }
    }

    #[test]
    fn long_vectors_are_found_wherever_a_schema_has_types() {
        let bin = NewBin { name: "n".to_owned(), kind: 1, kind_name: "integer", data_type: DataType::BigInt };
        let schema = Schema::empty().declare_bins("k", "t", &[bin], 1).unwrap().unwrap().schema;
        assert!(!schema.has_long_vectors());
        let changed = |change: &dyn Fn(&mut Keyspace)| {
            let mut schema = schema.clone();
            change(Arc::make_mut(schema.keyspaces.get_mut("k").unwrap()));
            assert!(schema.has_long_vectors());
        };
        let in_table = |change: &dyn Fn(&mut Table)| changed(&|keyspace| change(Arc::make_mut(keyspace.tables.get_mut("t").unwrap())));
        let name = || "x".to_owned();
        in_table(&|table| table.columns[0].data_type = vector(65_536));
        in_table(&|table| {
            let dropped = DroppedColumn { kind: ColumnKind::Regular, data_type: vector(65_536), dropped_at_us: 1 };
            table.dropped_columns.insert(name(), dropped);
        });
        in_table(&|table| {
            let arguments = vec![MaskArgument { data_type: vector(65_536), value: None }];
            table.columns[0].mask = Some(Arc::new(ColumnMask { keyspace: name(), function: name(), arguments }));
        });
        changed(&|keyspace| {
            let user = UserType { keyspace: name(), name: name(), fields: vec![(name(), vector(65_536))] };
            keyspace.types.insert(name(), Arc::new(user));
        });
        changed(&|keyspace| {
            keyspace.functions.put_function(Function {
                keyspace: name(),
                name: name(),
                arguments: vec![(name(), vector(65_536))],
                returns: DataType::Int,
                null_input: NullInput::Called,
                language: "lua".to_owned(),
                body: String::new(),
            });
        });
        changed(&|keyspace| {
            keyspace.functions.put_aggregate(UserAggregate {
                keyspace: name(),
                name: name(),
                arguments: Vec::new(),
                state_type: vector(65_536),
                state_function: name(),
                reduce_function: None,
                final_function: None,
                initial: None,
                returns: DataType::Int,
            });
        });
    }
}
