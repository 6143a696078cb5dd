#![allow(clippy::unwrap_used)]

use super::*;
use crate::ColumnId;
use crate::record_set::NewBin;
use crate::schema::{Column, ColumnKind, DroppedColumn, KeptOption, Keyspace, Order, Replication, Role, Table, TableOptions};
use crate::types::{DataType, Frozen, UserType};
use crate::{ColumnMask, Index, IndexPart, Limit, MaskArgument, Permission, Permissions, Resource, View};
use base::TableId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

fn column(id: u16, name: &str, kind: ColumnKind, order: Order, data_type: DataType) -> Column {
    Column { id: ColumnId(id), name: name.to_owned(), kind, order, data_type, mask: None }
}

/// A schema with everything in it that a schema can have.
fn full() -> Schema {
    use ColumnKind::{Clustering, PartitionKey, Regular, Static};
    use Order::{Ascending, Descending};
    let text = || Arc::new(DataType::Text);
    let inner =
        Arc::new(UserType { keyspace: "app".to_owned(), name: "Money".to_owned(), fields: vec![("cents".to_owned(), DataType::BigInt)] });
    let outer = Arc::new(UserType {
        keyspace: "app".to_owned(),
        name: "address".to_owned(),
        fields: vec![
            ("street".to_owned(), DataType::Text),
            ("fee".to_owned(), DataType::Udt(Arc::clone(&inner), Frozen::Yes)),
            ("tags".to_owned(), DataType::Set(text(), Frozen::Yes)),
        ],
    });
    let columns = vec![
        column(0, "id", PartitionKey, Ascending, DataType::Uuid),
        column(1, "at", Clustering, Descending, DataType::Timestamp),
        column(2, "owner", Static, Ascending, DataType::Text),
        column(9, "home", Regular, Ascending, DataType::Udt(Arc::clone(&outer), Frozen::No)),
        column(3, "legacy", Regular, Ascending, DataType::Custom("org.example.Type".into())),
        column(
            4,
            "m",
            Regular,
            Ascending,
            DataType::Map(text(), Arc::new(DataType::List(Arc::new(DataType::Int), Frozen::Yes)), Frozen::No),
        ),
        column(5, "pair", Regular, Ascending, DataType::Tuple([DataType::Int, DataType::Duration].into())),
        column(6, "v", Regular, Ascending, DataType::Vector(Arc::new(DataType::Float), 3)),
    ];
    let dropped = DroppedColumn { kind: Regular, data_type: DataType::List(text(), Frozen::No), dropped_at_us: 1_700_000_000_000_001 };
    let caching = KeptOption::Map(BTreeMap::from([("keys".to_owned(), "NONE".to_owned())]));
    let options = TableOptions {
        comment: "it's\na \"comment\"".to_owned(),
        default_time_to_live: 60,
        gc_grace_seconds: 10,
        kept: BTreeMap::from([("caching".to_owned(), caching), ("speculative_retry".to_owned(), KeptOption::Scalar("99p".to_owned()))]),
    };
    let table = Table {
        id: TableId(7),
        uuid: 0x5a1c_395e_b41f_11e5_9f22_ba0b_e048_3c18,
        keyspace: "app".to_owned(),
        name: "orders".to_owned(),
        columns,
        partition_key_len: 1,
        clustering_len: 1,
        next_column: ColumnId(10),
        dropped_columns: BTreeMap::from([("old".to_owned(), dropped)]),
        indexes: BTreeMap::new(),
        options,
        records: None,
        compact: false,
        views: BTreeSet::new(),
        view: None,
    };
    let keyspace = Keyspace {
        name: "app".to_owned(),
        replication: Replication {
            class: "org.apache.cassandra.locator.SimpleStrategy".to_owned(),
            parameters: BTreeMap::from([("replication_factor".to_owned(), "1".to_owned())]),
        },
        durable_writes: true,
        tables: BTreeMap::from([(table.name.clone(), Arc::new(table))]),
        types: BTreeMap::from([(inner.name.clone(), Arc::clone(&inner)), (outer.name.clone(), Arc::clone(&outer))]),
        functions: Default::default(),
    };
    let keyspaces = BTreeMap::from([(keyspace.name.clone(), Arc::new(keyspace))]);
    Schema { version: 0x1234, next_table: TableId(8), keyspaces, roles: BTreeMap::new() }
}

/// `document` with a checksum that is right.
fn sealed(document: &str) -> Vec<u8> {
    format!("{document}crc32 {:08x}\n", base::checksum(document.as_bytes())).into_bytes()
}

fn document_of(schema: &Schema) -> String {
    let bytes = encode(schema);
    String::from_utf8(bytes[..bytes.len() - CHECKSUM_LINE_BYTES].to_vec()).unwrap()
}

fn fault_of(document: &str) -> Inconsistency {
    match decode(&sealed(document)) {
        Err(SchemaBlobError::Inconsistent { fault, .. }) => fault,
        other => panic!("not an inconsistency: {other:?}"),
    }
}

#[test]
fn a_schema_survives_the_round_trip() {
    assert_eq!(decode(&encode(&full())).unwrap(), full());
    assert_eq!(decode(&encode(&Schema::empty())).unwrap(), Schema::empty());
    let mut compact = full();
    let keyspace = Arc::make_mut(compact.keyspaces.get_mut("app").unwrap());
    Arc::make_mut(keyspace.tables.get_mut("orders").unwrap()).compact = true;
    assert!(document_of(&compact).contains("\"format\": 3"));
    assert_eq!(decode(&encode(&compact)).unwrap(), compact);
}

#[test]
fn the_format_is_that_of_the_golden_file() {
    let golden = include_bytes!("../../tests/golden/schema-1.json");
    if std::env::var_os("TARNDB_WRITE_GOLDEN").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/schema-1.json"), encode(&full())).unwrap();
    }
    assert_eq!(String::from_utf8_lossy(&encode(&full())), String::from_utf8_lossy(golden));
    assert_eq!(decode(golden).unwrap(), full());
}

#[test]
fn every_changed_byte_is_found() {
    let blob = encode(&full());
    for position in 0..blob.len() {
        let mut damaged = blob.clone();
        damaged[position] ^= 1;
        assert!(decode(&damaged).is_err(), "byte {position}");
    }
}

#[test]
fn every_cut_is_found() {
    let blob = encode(&full());
    for len in 0..blob.len() {
        assert!(decode(&blob[..len]).is_err(), "cut at {len}");
    }
}

#[test]
fn a_newer_format_is_named_even_if_its_fields_are_unknown() {
    let error = decode(&sealed(&format!("{{\"format\": {}, \"galaxies\": []}}\n", FORMAT + 1))).unwrap_err();
    assert!(matches!(error, SchemaBlobError::Newer { found, supported: FORMAT } if found == FORMAT + 1), "{error}");
}

#[test]
fn unknown_fields_of_this_format_are_an_error() {
    let error = decode(&sealed(&document_of(&full()).replace("durable_writes", "durable_rights"))).unwrap_err();
    assert!(matches!(error, SchemaBlobError::Json(_)), "{error}");
}

#[test]
fn parts_that_do_not_fit_together_are_errors() {
    let document = document_of(&full());
    assert_eq!(fault_of(&document.replace("\"next_table\": 8", "\"next_table\": 7")), Inconsistency::Id);
    assert_eq!(fault_of(&document.replace("\"next_column\": 10", "\"next_column\": 9")), Inconsistency::Id);
    assert_eq!(fault_of(&document.replace("\"id\": 5", "\"id\": 6")), Inconsistency::Id);
    assert_eq!(fault_of(&document.replace("\"name\": \"pair\"", "\"name\": \"m\"")), Inconsistency::NameTwice);
    assert_eq!(fault_of(&document.replace("\"static\"", "\"partition_key\"")), Inconsistency::ColumnOrder);
    assert_eq!(fault_of(&document.replace("\"partition_key\"", "\"clustering\"")), Inconsistency::ColumnOrder);
    assert_eq!(
        fault_of(&document.replace("\"name\": \"Money\",\n          \"fields\"", "\"name\": \"Monet\",\n          \"fields\"")),
        Inconsistency::UnknownType
    );
    assert_eq!(fault_of(&document.replace("5a1c395e", "5a1c395")), Inconsistency::Uuid);
}

#[test]
fn types_that_contain_each_other_are_an_error_and_no_endless_loop() {
    let keyspace = |types: &str| {
        format!(
            "{{\"format\":1,\"version\":\"{:032x}\",\"next_table\":1,\"keyspaces\":[{{\"name\":\"k\",\"replication_class\":\"\",\
             \"replication_parameters\":{{}},\"durable_writes\":true,\"types\":[{types}],\"tables\":[]}}]}}\n",
            0
        )
    };
    let refer =
        |from: &str, to: &str| format!("{{\"name\":\"{from}\",\"fields\":[[\"f\",{{\"udt\":{{\"name\":\"{to}\",\"frozen\":true}}}}]]}}");
    assert_eq!(fault_of(&keyspace(&refer("a", "a"))), Inconsistency::UnknownType);
    assert_eq!(fault_of(&keyspace(&format!("{},{}", refer("a", "b"), refer("b", "a")))), Inconsistency::UnknownType);
    assert_eq!(fault_of(&keyspace(&refer("a", "nowhere"))), Inconsistency::UnknownType);
    let chain: Vec<String> = (0..100_000).map(|n| refer(&format!("t{n:06}"), &format!("t{:06}", n + 1))).collect();
    assert_eq!(fault_of(&keyspace(&chain.join(","))), Inconsistency::TypeBounds);
    let deep = format!("{{\"name\":\"a\",\"fields\":[[\"f\",{}\"int\"{}]]}}", "{\"tuple\":[".repeat(200), "]}".repeat(200));
    assert!(matches!(decode(&sealed(&keyspace(&deep))), Err(SchemaBlobError::Json(_))));
}

#[test]
fn the_content_does_not_depend_on_the_version() {
    let mut other = full();
    other.version = 99;
    assert_eq!(content(&other), content(&full()));
    assert_ne!(encode(&other), encode(&full()));
    assert_ne!(content(&full()), content(&Schema::empty()));
}

/// A group, and somebody in it.
fn with_index(id: u32, column: u16) -> Schema {
    let mut schema = full();
    let options = BTreeMap::from([("case_sensitive".to_owned(), "true".to_owned())]);
    let index = Index {
        id: TableId(id),
        name: "keys_of_m".to_owned(),
        column: ColumnId(column),
        part: IndexPart::Keys,
        class: Some("sai".to_owned()),
        options,
    };
    let keyspace = Arc::make_mut(schema.keyspaces.get_mut("app").unwrap());
    let table = Arc::make_mut(keyspace.tables.get_mut("orders").unwrap());
    table.indexes.insert(index.name.clone(), Arc::new(index));
    Schema { next_table: TableId(9), ..schema }
}

#[test]
fn indexes_survive_the_round_trip_and_need_a_program_that_knows_them() {
    let schema = with_index(8, 4);
    assert_eq!(decode(&encode(&schema)).unwrap(), schema);
    assert!(document_of(&schema).contains("\"format\": 3"));
    assert_eq!(schema.tables().flat_map(|table| table.stored().collect::<Vec<_>>()).collect::<Vec<_>>(), [TableId(7), TableId(8)]);
    for (id, column) in [(7, 4), (9, 4), (8, 77)] {
        let error = decode(&encode(&with_index(id, column))).unwrap_err();
        assert!(matches!(error, SchemaBlobError::Inconsistent { fault: Inconsistency::Id, .. }), "table {id}, column {column}: {error}");
    }
}

fn with_roles() -> Schema {
    let group = Role { is_superuser: true, ..Role::default() };
    let member_of = BTreeSet::from(["staff".to_owned()]);
    let somebody =
        Role { can_login: true, is_superuser: false, password_hash: Some("$2b$10$salt".to_owned()), member_of, ..Role::default() };
    let roles = BTreeMap::from([("staff".to_owned(), Arc::new(group)), ("Jo".to_owned(), Arc::new(somebody))]);
    Schema { roles, ..full() }
}

#[test]
fn roles_survive_the_round_trip_and_need_a_program_that_knows_them() {
    assert_eq!(decode(&encode(&with_roles())).unwrap(), with_roles());
    assert!(document_of(&with_roles()).contains("\"format\": 2"));
    assert!(document_of(&full()).contains("\"format\": 1"), "what older programs can read");
    assert_ne!(content(&with_roles()), content(&full()));
    let error = decode(&sealed(&document_of(&with_roles()).replace("\"staff\": {", "\"stuff\": {"))).unwrap_err();
    assert!(matches!(&error, SchemaBlobError::UnknownRole { role } if role == "Jo"), "{error}");
}

#[test]
fn views_survive_the_round_trip_and_need_a_program_that_knows_them() {
    let mut schema = full();
    let keyspace = Arc::make_mut(schema.keyspaces.get_mut("app").unwrap());
    let mut view = Table::clone(keyspace.tables.get("orders").unwrap());
    (view.name, view.id) = ("by_time".to_owned(), TableId(6));
    view.view = Some(View { base: "orders".to_owned(), shows_all: true, where_clause: "id IS NOT NULL AND at IS NOT NULL".to_owned() });
    keyspace.tables.insert(view.name.clone(), Arc::new(view));
    Arc::make_mut(keyspace.tables.get_mut("orders").unwrap()).views.insert("by_time".to_owned());
    assert_eq!(decode(&encode(&schema)).unwrap(), schema);
    let document = document_of(&schema);
    assert!(document.contains("\"format\": 5"));
    assert_eq!(fault_of(&document.replace("\"base\": \"orders\"", "\"base\": \"by_time\"")), Inconsistency::View, "a view of a view");
    assert_eq!(fault_of(&document.replace("\"base\": \"orders\"", "\"base\": \"moon\"")), Inconsistency::View);
}

#[test]
fn permissions_survive_the_round_trip_and_need_a_program_that_knows_them() {
    let mut schema = with_roles();
    let granted = Permissions::of(&[Permission::Select, Permission::Modify]);
    let role = Arc::make_mut(schema.roles.get_mut("Jo").unwrap());
    role.permissions = BTreeMap::from([(Resource::table("app", "users"), granted), (Resource::Role("staff".to_owned()), granted)]);
    assert_eq!(decode(&encode(&schema)).unwrap(), schema);
    let document = document_of(&schema);
    assert!(document.contains("\"format\": 4") && document.contains("\"data/app/users\""));
    for (known, unknown) in [("\"SELECT\"", "\"DANCE\""), ("\"data/app/users\"", "\"moon\"")] {
        let error = decode(&sealed(&document.replace(known, unknown))).unwrap_err();
        assert!(matches!(&error, SchemaBlobError::UnknownPermission { role } if role == "Jo"), "{error}");
    }
}

#[test]
fn identities_survive_the_round_trip_and_are_one_roles_each() {
    let mut schema = with_roles();
    for (name, identity) in [("Jo", "spiffe://x/jo"), ("staff", "spiffe://x/staff")] {
        Arc::make_mut(schema.roles.get_mut(name).unwrap()).identities.insert(identity.to_owned());
    }
    assert_eq!(decode(&encode(&schema)).unwrap(), schema);
    let document = document_of(&schema);
    assert!(document.contains("\"format\": 7"));
    let error = decode(&sealed(&document.replace("spiffe://x/staff", "spiffe://x/jo"))).unwrap_err();
    assert!(matches!(&error, SchemaBlobError::IdentityTwice { identity } if identity == "spiffe://x/jo"), "{error}");
}

/// A record set beside the tables.
fn with_records() -> Schema {
    let bin = |name: &str, kind, kind_name, data_type| NewBin { name: name.to_owned(), kind, kind_name, data_type };
    let bins = [bin("age", 1, "integer", DataType::BigInt), bin("age", 3, "string", DataType::Text)];
    full().declare_bins("app", "users", &bins, 0xABCD).unwrap().unwrap().schema
}

#[test]
fn record_sets_have_the_format_of_their_golden_file() {
    let golden = include_bytes!("../../tests/golden/schema-1-records.json");
    if std::env::var_os("TARNDB_WRITE_GOLDEN").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/schema-1-records.json"), encode(&with_records())).unwrap();
    }
    assert_eq!(String::from_utf8_lossy(&encode(&with_records())), String::from_utf8_lossy(golden));
    assert_eq!(decode(golden).unwrap(), with_records());
}

#[test]
fn bins_that_are_not_the_columns_are_refused() {
    let document = document_of(&with_records());
    let bin = "            {\n              \"name\": \"age\",\n              \"kind\": 3\n            }";
    assert_eq!(fault_of(&document.replace(&format!(",\n{bin}"), "")), Inconsistency::Bins, "a column without a bin");
    assert_eq!(fault_of(&document.replace(bin, &bin.replace('3', "1"))), Inconsistency::Bins, "a bin twice");
    assert_eq!(
        fault_of(&document.replace(bin, &format!("{bin},\n{}", bin.replace('3', "4")))),
        Inconsistency::Bins,
        "a bin without a column"
    );
}

fn with_functions() -> Schema {
    use crate::function::{Function, NullInput, UserAggregate};
    let mut schema = full();
    let keyspace = Arc::make_mut(schema.keyspaces.get_mut("app").unwrap());
    let user = DataType::Udt(Arc::clone(keyspace.types.values().next().unwrap()), Frozen::No);
    let function = |name: &str, arguments: &[DataType]| Function {
        keyspace: "app".to_owned(),
        name: name.to_owned(),
        arguments: arguments.iter().enumerate().map(|(number, ty)| (format!("a{number}"), ty.clone())).collect(),
        returns: DataType::BigInt,
        null_input: NullInput::Called,
        language: "lua".to_owned(),
        body: "return a0".to_owned(),
    };
    keyspace.functions.put_function(function("f", &[DataType::BigInt, DataType::Int]));
    keyspace.functions.put_function(function("f", &[user]));
    keyspace.functions.put_aggregate(UserAggregate {
        keyspace: "app".to_owned(),
        name: "sum_of".to_owned(),
        arguments: vec![DataType::Int],
        state_type: DataType::BigInt,
        state_function: "f".to_owned(),
        reduce_function: None,
        final_function: None,
        initial: Some(vec![0, 0, 0, 0, 0, 0, 0, 0x1F]),
        returns: DataType::BigInt,
    });
    schema
}

#[test]
fn functions_have_the_format_of_their_golden_file() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/schema-6.json");
    let schema = with_functions();
    if std::env::var_os("TARNDB_WRITE_GOLDEN").is_some() {
        std::fs::write(golden, encode(&schema)).unwrap();
    }
    let stored = std::fs::read(golden).unwrap();
    assert_eq!(String::from_utf8_lossy(&encode(&schema)), String::from_utf8_lossy(&stored));
    assert_eq!(decode(&stored).unwrap(), schema);
    assert!(document_of(&schema).contains("\"format\": 6"));
}

#[test]
fn functions_that_do_not_fit_together_are_errors() {
    let document = document_of(&with_functions());
    assert_eq!(fault_of(&document.replace("\"state_function\": \"f\"", "\"state_function\": \"g\"")), Inconsistency::StateFunction);
    assert_eq!(fault_of(&document.replace("000000000000001f", "000000000000001")), Inconsistency::Initial);
}

/// Columns that are masked by a native function and by a user's, one of whose arguments is null.
fn with_masks() -> Schema {
    use crate::function::{Function, NullInput};
    let mut schema = full();
    let keyspace = Arc::make_mut(schema.keyspaces.get_mut("app").unwrap());
    keyspace.functions.put_function(Function {
        keyspace: "app".to_owned(),
        name: "hide".to_owned(),
        arguments: vec![("at".to_owned(), DataType::Timestamp), ("by".to_owned(), DataType::Int)],
        returns: DataType::Timestamp,
        null_input: NullInput::Called,
        language: "lua".to_owned(),
        body: "return by".to_owned(),
    });
    let table = Arc::make_mut(keyspace.tables.get_mut("orders").unwrap());
    let argument = |data_type, value: Option<&[u8]>| MaskArgument { data_type, value: value.map(<[u8]>::to_vec) };
    let mut mask = |name: &str, keyspace: &str, function: &str, arguments: Vec<MaskArgument>| {
        let column = table.columns.iter_mut().find(|column| column.name == name).unwrap();
        column.mask = Some(Arc::new(ColumnMask { keyspace: keyspace.to_owned(), function: function.to_owned(), arguments }));
    };
    mask("id", "system", "mask_default", vec![]);
    mask("owner", "system", "mask_inner", vec![argument(DataType::Int, Some(&[0, 0, 0, 0xA1])), argument(DataType::Int, None)]);
    mask("at", "app", "hide", vec![argument(DataType::Int, Some(&[0, 0, 0, 1]))]);
    schema
}

#[test]
fn masks_have_the_format_of_their_golden_file_and_need_a_program_that_knows_them() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/schema-9.json");
    let schema = with_masks();
    if std::env::var_os("TARNDB_WRITE_GOLDEN").is_some() {
        std::fs::write(golden, encode(&schema)).unwrap();
    }
    let stored = std::fs::read(golden).unwrap();
    assert_eq!(String::from_utf8_lossy(&encode(&schema)), String::from_utf8_lossy(&stored));
    assert_eq!(decode(&stored).unwrap(), schema);
    let document = document_of(&schema);
    assert!(document.contains("\"format\": 9"));
    assert_eq!(fault_of(&document.replace("000000a1", "00000a1")), Inconsistency::Mask);
    assert_eq!(fault_of(&document.replace("\"function\": \"hide\"", "\"function\": \"seek\"")), Inconsistency::Mask);
}

#[test]
fn log_ins_by_digests_survive_the_round_trip_and_need_a_program_that_knows_them() {
    let log_in: [fn(&mut Role); 3] = [
        |role| role.aerospike_hash = Some("$2b$10$other".to_owned()),
        |role| role.griddb_hash = Some("$2b$10$another".to_owned()),
        |role| role.whitelist = BTreeSet::from(["10.0.0.0/8".to_owned(), "::1".to_owned()]),
    ];
    for log_in in log_in {
        let mut schema = with_roles();
        log_in(Arc::make_mut(schema.roles.get_mut("Jo").unwrap()));
        assert_eq!(decode(&encode(&schema)).unwrap(), schema);
        assert!(document_of(&schema).contains("\"format\": 8"));
        assert_ne!(content(&schema), content(&with_roles()));
    }
}

#[test]
fn limits_of_roles_have_the_format_of_their_golden_file_and_need_a_program_that_knows_them() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/schema-10.json");
    let mut schema = with_roles();
    let limits = &mut Arc::make_mut(schema.roles.get_mut("Jo").unwrap()).limits;
    Limit::ALL.into_iter().zip([7, 1_000, 800, 200, 1 << 20]).for_each(|(limit, value)| limits.set(limit, value));
    if std::env::var_os("TARNDB_WRITE_GOLDEN").is_some() {
        std::fs::write(golden, encode(&schema)).unwrap();
    }
    let stored = std::fs::read(golden).unwrap();
    assert_eq!(String::from_utf8_lossy(&encode(&schema)), String::from_utf8_lossy(&stored));
    assert_eq!(decode(&stored).unwrap(), schema);
    let document = document_of(&schema);
    assert!(document.contains("\"format\": 10") && document.contains("\"bytes_per_second\": 1048576"));
    let error = decode(&sealed(&document.replace("reads_per_second", "leaps_per_second"))).unwrap_err();
    assert!(matches!(&error, SchemaBlobError::UnknownPermission { role } if role == "Jo"), "{error}");
}

/// A schema whose table has a vector of so many dimensions.
fn with_vector(dimension: u32) -> Schema {
    let mut schema = full();
    let keyspace = Arc::make_mut(schema.keyspaces.get_mut("app").unwrap());
    let columns = &mut Arc::make_mut(keyspace.tables.get_mut("orders").unwrap()).columns;
    let column = columns.iter_mut().find(|column| column.name == "v").unwrap();
    column.data_type = DataType::Vector(Arc::new(DataType::Float), dimension);
    schema
}

#[test]
fn long_vectors_have_the_format_of_their_golden_file_and_need_a_program_that_knows_them() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/schema-11.json");
    let schema = with_vector(65_536);
    if std::env::var_os("TARNDB_WRITE_GOLDEN").is_some() {
        std::fs::write(golden, encode(&schema)).unwrap();
    }
    let stored = std::fs::read(golden).unwrap();
    assert_eq!(String::from_utf8_lossy(&encode(&schema)), String::from_utf8_lossy(&stored));
    assert_eq!(decode(&stored).unwrap(), schema);
    assert!(document_of(&schema).contains("\"format\": 11") && document_of(&schema).contains("\"dimension\": 65536"));
}

#[test]
fn vectors_of_two_bytes_are_stored_as_before_and_those_of_more_than_an_int_are_refused() {
    assert_eq!(document_of(&with_vector(65_535)), document_of(&full()).replace("\"dimension\": 3", "\"dimension\": 65535"));
    assert_eq!(decode(&encode(&with_vector(65_535))).unwrap(), with_vector(65_535));
    assert_eq!(decode(&encode(&with_vector(i32::MAX as u32))).unwrap(), with_vector(i32::MAX as u32));
    let document = document_of(&with_vector(65_536));
    assert_eq!(fault_of(&document.replace(": 65536", ": 2147483648")), Inconsistency::TypeBounds);
    for dimension in ["-1", "4294967296", "1.5", "\"3\""] {
        let error = decode(&sealed(&document.replace(": 65536", &format!(": {dimension}")))).unwrap_err();
        assert!(matches!(error, SchemaBlobError::Json(_)), "{error}");
    }
    let error = decode(&sealed(&document.replace("\"format\": 11", "\"format\": 13"))).unwrap_err();
    assert!(matches!(error, SchemaBlobError::Newer { found: 13, supported: 12 }), "{error}");
}

/// A schema with an index that has these options.
fn with_analyzed(options: &[(&str, &str)]) -> Schema {
    let mut schema = full();
    let keyspace = Arc::make_mut(schema.keyspaces.get_mut("app").unwrap());
    let table = Arc::make_mut(keyspace.tables.get_mut("orders").unwrap());
    let index = Index {
        id: schema.next_table,
        name: "by_text".to_owned(),
        column: table.columns.last().unwrap().id,
        part: IndexPart::Value,
        class: Some("org.apache.cassandra.index.sasi.SASIIndex".to_owned()),
        options: options.iter().map(|(option, value)| ((*option).to_owned(), (*value).to_owned())).collect(),
    };
    schema.next_table = TableId(index.id.0 + 1);
    table.indexes.insert(index.name.clone(), Arc::new(index));
    schema
}

#[test]
fn analyzers_of_indexes_have_the_format_of_their_golden_file_and_need_a_program_that_knows_them() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/schema-12.json");
    let schema = with_analyzed(&[("analyzer_class", "org.apache.cassandra.index.sasi.analyzer.DelimiterAnalyzer"), ("delimiter", "░")]);
    if std::env::var_os("TARNDB_WRITE_GOLDEN").is_some() {
        std::fs::write(golden, encode(&schema)).unwrap();
    }
    let stored = std::fs::read(golden).unwrap();
    assert_eq!(String::from_utf8_lossy(&encode(&schema)), String::from_utf8_lossy(&stored));
    assert_eq!(decode(&stored).unwrap(), schema);
    let format = |options: &[(&str, &str)]| document_of(&with_analyzed(options)).contains("\"format\": 12");
    assert!(format(&[("normalize_uppercase", "true")]));
    assert!(!format(&[
        ("analyzer_class", "org.apache.cassandra.index.sasi.analyzer.NonTokenizingAnalyzer"),
        ("normalize_lowercase", "true")
    ]));
}
