//! What tests of several modules need: a container without a node.
#![allow(clippy::unwrap_used)]

use crate::container::{Catalog, Container, ContainerChange};
use crate::schema::{ColumnDefinition, Definition, ElementType, Kind};
use crate::{ContainerName, PUBLIC_DATABASE};
use model::Schema;
use std::sync::Arc;

/// A column that may be null.
pub(crate) fn column(name: &str, element: ElementType, is_array: bool) -> ColumnDefinition {
    ColumnDefinition { name: name.to_owned(), element, is_array, is_not_null: false }
}

/// A container, as a node that has just made it knows it.
pub(crate) fn container(name: &str, kind: Kind, mut columns: Vec<ColumnDefinition>, key_len: usize) -> Arc<Container> {
    columns[..key_len].iter_mut().for_each(|column| column.is_not_null = true);
    let definition = Definition { name: ContainerName::parse(name), partition: 5, kind, columns, key_len, version: 0, partitioning: None };
    let change = ContainerChange::Put { definition: definition.clone(), is_modifiable: false };
    let changed = change.apply(&Schema::empty(), PUBLIC_DATABASE, 1, 1).unwrap().unwrap();
    let mut catalog = Catalog::default();
    catalog.follow(&changed.schema);
    let container = catalog.by_name(&changed.schema, PUBLIC_DATABASE, &definition.name).unwrap();
    assert_eq!(*container.definition, definition);
    Arc::clone(container)
}
