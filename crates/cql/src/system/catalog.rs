//! The system's keyspaces as values of the schema model, made once from their definitions.

use super::definitions::{DEFINITIONS, Listing};
use crate::ddl::{SIMPLE_STRATEGY, SYSTEM_TABLE_IDS_FROM, declare_table};
use crate::language::{Statement, parse};
use base::TableId;
use md5::{Digest, Md5};
use model::{Keyspace, Replication, Table};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// The system's keyspaces.
#[derive(Debug)]
pub struct Catalog {
    /// Those that `system_schema` lists, by name.
    pub ordinary: BTreeMap<String, Arc<Keyspace>>,
    /// Those that `system_virtual_schema` lists, by name.
    pub virtual_keyspaces: BTreeMap<String, Arc<Keyspace>>,
}

static CATALOG: LazyLock<Catalog> = LazyLock::new(Catalog::build);

/// All of the system's keyspaces.
#[must_use]
pub fn catalog() -> &'static Catalog {
    &CATALOG
}

/// The system's keyspace `name`.
#[must_use]
pub fn keyspace(name: &str) -> Option<&'static Arc<Keyspace>> {
    let catalog = catalog();
    catalog.ordinary.get(name).or_else(|| catalog.virtual_keyspaces.get(name))
}

/// The system's table `keyspace.table`.
#[must_use]
pub fn table(keyspace: &str, table: &str) -> Option<Arc<Table>> {
    // Most tables that are asked for are users'.
    if !keyspace.starts_with("system") {
        return None;
    }
    self::keyspace(keyspace)?.tables.get(table).cloned()
}

impl Catalog {
    fn build() -> Self {
        let mut catalog = Self { ordinary: BTreeMap::new(), virtual_keyspaces: BTreeMap::new() };
        let mut next_table = SYSTEM_TABLE_IDS_FROM;
        for definition in DEFINITIONS {
            let mut tables = BTreeMap::new();
            for text in definition.tables {
                let table = declared(definition.name, text, TableId(next_table));
                tables.insert(table.name.clone(), Arc::new(table));
                next_table += 1;
            }
            let replication = match definition.replication_factor {
                Some(factor) => Replication {
                    class: SIMPLE_STRATEGY.to_owned(),
                    parameters: BTreeMap::from([("replication_factor".to_owned(), factor.to_string())]),
                },
                None => Replication { class: "org.apache.cassandra.locator.LocalStrategy".to_owned(), parameters: BTreeMap::new() },
            };
            let name = definition.name.to_owned();
            let (types, functions) = Default::default();
            let keyspace = Keyspace { name: name.clone(), replication, durable_writes: true, tables, types, functions };
            let place = match definition.listing {
                Listing::Ordinary => &mut catalog.ordinary,
                Listing::Virtual => &mut catalog.virtual_keyspaces,
            };
            place.insert(name, Arc::new(keyspace));
        }
        catalog
    }
}

/// The table that one of the definitions declares.
fn declared(keyspace: &str, text: &str, id: TableId) -> Table {
    let parsed = parse(text).expect("the definitions are CQL");
    let Statement::CreateTable(statement) = parsed.statement else { unreachable!("the definitions are CREATE TABLE statements") };
    let uuid = name_uuid(keyspace, &statement.name.name);
    declare_table(keyspace, &statement, id, uuid).expect("the definitions declare tables that can be")
}

/// The id that drivers see: Cassandra's for the same table, a UUID (version 3) of keyspace and name.
fn name_uuid(keyspace: &str, table: &str) -> u128 {
    let digest: [u8; 16] = Md5::digest(format!("{keyspace}{table}")).into();
    let uuid = u128::from_be_bytes(digest) & !(0xF << 76) & !(0x3 << 62);
    uuid | 0x3 << 76 | 0x2 << 62
}
