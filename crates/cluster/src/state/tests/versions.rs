//! What waits until every member knows it.

use super::*;
use model::record_set::NewBin;
use model::{CONTAINER_OPTION, Index, IndexPart, PARTITIONING_ENTRY};

#[test]
fn roles_wait_until_every_member_knows_them() {
    let mut cluster = Cluster { state: State::founded(7, "test".to_owned(), knows(1, 1, 4, 6), Schema::empty(), 1), index: 1 };
    cluster.apply(&Command::Join { profile: knows(2, 2, 4, 7), replaces: None });
    let roles = BTreeMap::from([("jo".to_owned(), Arc::new(model::Role::default()))]);
    let schema = Schema { version: 99, roles, ..Schema::clone(&cluster.state.schema) };
    let change = Command::Schema { expected: cluster.state.schema.version, document: schema_blob::encode(&schema) };
    assert_eq!(cluster.apply(&change), Outcome::Refused(Refused::BadSchema));
    cluster.apply(&Command::Started { node: NodeId(1), previous: 1, profile: knows(1, 3, 4, 7) });
    assert_eq!(cluster.apply(&change), Outcome::Done);
    assert!(cluster.state.schema.roles.contains_key("jo"));
}

#[test]
fn functions_in_webassembly_wait_until_every_member_runs_them() {
    let mut cluster = Cluster { state: State::founded(7, "test".to_owned(), knows(1, 1, 4, 18), Schema::empty(), 1), index: 1 };
    cluster.apply(&Command::Join { profile: knows(2, 2, 4, 19), replaces: None });
    let changed = |cluster: &Cluster, language: &str| {
        let function = model::Function {
            keyspace: "k".to_owned(),
            name: "f".to_owned(),
            arguments: Vec::new(),
            returns: DataType::Int,
            null_input: model::NullInput::Called,
            language: language.to_owned(),
            body: "return 1".to_owned(),
        };
        let mut keyspace = keyspace("k", 1);
        keyspace.functions.put_function(function);
        let mut schema = Schema { version: cluster.state.schema.version + 1, ..Schema::clone(&cluster.state.schema) };
        schema.keyspaces.insert("k".to_owned(), Arc::new(keyspace));
        Command::Schema { expected: cluster.state.schema.version, document: schema_blob::encode(&schema) }
    };
    let change = changed(&cluster, "wasm");
    assert_eq!(cluster.apply(&change), Outcome::Refused(Refused::BadSchema));
    let change = changed(&cluster, "lua");
    assert_eq!(cluster.apply(&change), Outcome::Done);
    cluster.apply(&Command::Started { node: NodeId(1), previous: 1, profile: knows(1, 3, 4, 19) });
    assert!(cluster.state.knows_wasm());
    let change = changed(&cluster, "wasm");
    assert_eq!(cluster.apply(&change), Outcome::Done);
}

#[test]
fn transactions_over_records_wait_until_every_member_knows_them() {
    let mut cluster = Cluster { state: State::founded(7, "test".to_owned(), knows(1, 1, 4, 19), Schema::empty(), 1), index: 1 };
    cluster.apply(&Command::Join { profile: knows(2, 2, 4, 20), replaces: None });
    let mut schema = Schema::empty().declare_bins("ks", "t", &[], 1).expect("a record set").expect("a new one").schema;
    assert!(schema.remember_deletions("ks", "t") && !schema.remember_deletions("ks", "t"));
    schema.version = 99;
    let change = Command::Schema { expected: cluster.state.schema.version, document: schema_blob::encode(&schema) };
    assert_eq!(cluster.apply(&change), Outcome::Refused(Refused::BadSchema));
    cluster.apply(&Command::Started { node: NodeId(1), previous: 1, profile: knows(1, 3, 4, 20) });
    assert_eq!(cluster.apply(&change), Outcome::Done);
    assert!(cluster.state.schema.has_record_transactions(), "it is in the stored schema");
}

#[test]
fn masks_wait_until_every_member_knows_them() {
    let mut cluster = Cluster { state: State::founded(7, "test".to_owned(), knows(1, 1, 4, 14), Schema::empty(), 1), index: 1 };
    cluster.apply(&Command::Join { profile: knows(2, 2, 4, 15), replaces: None });
    let declared = Schema::empty().declare_bins("ks", "t", &[], 1).expect("a record set").expect("a new one");
    let mut schema = Schema { version: 99, ..declared.schema };
    let keyspace = Arc::make_mut(schema.keyspaces.get_mut("ks").expect("a keyspace"));
    let table = Arc::make_mut(keyspace.tables.get_mut("t").expect("a table"));
    let mask = model::ColumnMask { keyspace: "system".to_owned(), function: "mask_null".to_owned(), arguments: Vec::new() };
    table.columns[0].mask = Some(Arc::new(mask));
    let change = Command::Schema { expected: cluster.state.schema.version, document: schema_blob::encode(&schema) };
    assert_eq!(cluster.apply(&change), Outcome::Refused(Refused::BadSchema));
    cluster.apply(&Command::Started { node: NodeId(1), previous: 1, profile: knows(1, 3, 4, 15) });
    assert_eq!(cluster.apply(&change), Outcome::Done);
    assert!(cluster.state.schema.has_masks());
}

#[test]
fn cdc_logs_wait_until_every_member_writes_them() {
    let mut cluster = Cluster { state: State::founded(7, "test".to_owned(), knows(1, 1, 4, 14), Schema::empty(), 1), index: 1 };
    cluster.apply(&Command::Join { profile: knows(2, 2, 4, 15), replaces: None });
    let key = Column {
        id: ColumnId(0),
        name: "k".to_owned(),
        kind: ColumnKind::PartitionKey,
        order: Order::Ascending,
        data_type: DataType::Blob,
        mask: None,
    };
    let mut log = Table {
        id: TableId(1),
        uuid: 7,
        keyspace: "k".to_owned(),
        name: "t_scylla_cdc_log".to_owned(),
        columns: vec![key],
        partition_key_len: 1,
        clustering_len: 0,
        next_column: ColumnId(1),
        dropped_columns: BTreeMap::new(),
        options: TableOptions::default(),
        records: None,
        indexes: BTreeMap::new(),
        compact: false,
        views: BTreeSet::new(),
        view: None,
    };
    log.options.kept.insert(CDC_LOG_OPTION.to_owned(), KeptOption::Map(BTreeMap::from([("base".to_owned(), "t".to_owned())])));
    let mut keyspace = keyspace("k", 1);
    keyspace.tables.insert(log.name.clone(), Arc::new(log));
    let mut schema = Schema { version: 99, next_table: TableId(2), ..Schema::clone(&cluster.state.schema) };
    schema.keyspaces.insert("k".to_owned(), Arc::new(keyspace));
    let change = Command::Schema { expected: cluster.state.schema.version, document: schema_blob::encode(&schema) };
    assert!(!cluster.state.knows_cdc());
    assert_eq!(cluster.apply(&change), Outcome::Refused(Refused::BadSchema));
    cluster.apply(&Command::Started { node: NodeId(1), previous: 1, profile: knows(1, 3, 4, 15) });
    assert!(cluster.state.knows_cdc());
    assert_eq!(cluster.apply(&change), Outcome::Done);
}

#[test]
fn indexes_of_record_sets_wait_until_every_member_knows_them() {
    let founder = knows(1, 1, 4, 17);
    let mut cluster = Cluster { state: State::founded(7, "test".to_owned(), founder, Schema::empty(), 1), index: 1 };
    let bin = NewBin { name: "n".to_owned(), kind: 1, kind_name: "integer", data_type: DataType::BigInt };
    let mut schema = Schema::empty().declare_bins("test", "s", &[bin], 3).expect("names that can be").expect("a new set").schema;
    schema.version = 98;
    let change = |schema: &Schema, state: &State| Command::Schema { expected: state.schema.version, document: schema_blob::encode(schema) };
    assert_eq!(cluster.apply(&change(&schema, &cluster.state.clone())), Outcome::Done, "a set without an index is known since long");
    let keyspace = Arc::make_mut(schema.keyspaces.get_mut("test").expect("the keyspace"));
    let table = Arc::make_mut(keyspace.tables.get_mut("s").expect("the set"));
    let column = table.records.as_ref().and_then(|records| records.column(b"n", 1)).expect("the bin");
    let index = Index { id: TableId(77), name: "by_n".to_owned(), column, part: IndexPart::Values, class: None, options: BTreeMap::new() };
    table.indexes.insert(index.name.clone(), Arc::new(index));
    schema.version = 99;
    schema.next_table = TableId(78);
    assert_eq!(cluster.apply(&change(&schema, &cluster.state.clone())), Outcome::Refused(Refused::BadSchema));
    cluster.apply(&Command::Started { node: NodeId(1), previous: 1, profile: knows(1, 3, 4, 18) });
    assert_eq!(cluster.apply(&change(&schema, &cluster.state.clone())), Outcome::Done);
}

#[test]
fn spatial_indexes_of_containers_wait_until_every_member_knows_them() {
    let founder = knows(1, 1, 4, 18);
    let mut cluster = Cluster { state: State::founded(7, "test".to_owned(), founder, Schema::empty(), 1), index: 1 };
    // A container is a table with this option. What it is made of does not matter here.
    let bin = NewBin { name: "n".to_owned(), kind: 1, kind_name: "integer", data_type: DataType::Text };
    let mut schema = Schema::empty().declare_bins("test", "c", &[bin], 3).expect("names that can be").expect("a new set").schema;
    let table = Arc::make_mut(schema.keyspaces.get_mut("test").expect("the keyspace")).tables.get_mut("c").expect("the table");
    let table = Arc::make_mut(table);
    let column = table.records.take().and_then(|records| records.column(b"n", 1)).expect("the column");
    table.options.kept.insert(CONTAINER_OPTION.to_owned(), KeptOption::Map(BTreeMap::new()));
    let index = |part| Index { id: TableId(77), name: "by_n".to_owned(), column, part, class: None, options: BTreeMap::new() };
    let mut with_index = |part, version| {
        let keyspace = Arc::make_mut(schema.keyspaces.get_mut("test").expect("the keyspace"));
        Arc::make_mut(keyspace.tables.get_mut("c").expect("the table")).indexes.insert("by_n".to_owned(), Arc::new(index(part)));
        (schema.version, schema.next_table) = (version, TableId(78));
        schema_blob::encode(&schema)
    };
    let (tree, spatial) = (with_index(IndexPart::Value, 98), with_index(IndexPart::Values, 99));
    let change = |document: &[u8], state: &State| Command::Schema { expected: state.schema.version, document: document.to_vec() };
    assert_eq!(cluster.apply(&change(&spatial, &cluster.state.clone())), Outcome::Refused(Refused::BadSchema));
    assert_eq!(cluster.apply(&change(&tree, &cluster.state.clone())), Outcome::Done, "a TREE index is known since long");
    cluster.apply(&Command::Started { node: NodeId(1), previous: 1, profile: knows(1, 2, 4, 19) });
    assert_eq!(cluster.apply(&change(&spatial, &cluster.state.clone())), Outcome::Done);
}

#[test]
fn partitioned_containers_wait_until_every_member_knows_them() {
    let mut cluster = Cluster { state: State::founded(7, "test".to_owned(), knows(1, 1, 4, 19), Schema::empty(), 1), index: 1 };
    let bin = NewBin { name: "n".to_owned(), kind: 1, kind_name: "integer", data_type: DataType::Text };
    let mut schema = Schema::empty().declare_bins("test", "c", &[bin], 3).expect("names that can be").expect("a new set").schema;
    let mut with_option = |entries: &[&str], version| {
        let keyspace = Arc::make_mut(schema.keyspaces.get_mut("test").expect("the keyspace"));
        let table = Arc::make_mut(keyspace.tables.get_mut("c").expect("the table"));
        table.records = None;
        let entries = entries.iter().map(|entry| ((*entry).to_owned(), String::new())).collect();
        table.options.kept.insert(CONTAINER_OPTION.to_owned(), KeptOption::Map(entries));
        schema.version = version;
        schema_blob::encode(&schema)
    };
    let (plain, divided) = (with_option(&[], 98), with_option(&[PARTITIONING_ENTRY], 99));
    let change = |document: &[u8], state: &State| Command::Schema { expected: state.schema.version, document: document.to_vec() };
    assert_eq!(cluster.apply(&change(&divided, &cluster.state.clone())), Outcome::Refused(Refused::BadSchema));
    assert_eq!(cluster.apply(&change(&plain, &cluster.state.clone())), Outcome::Done, "a container is known since long");
    cluster.apply(&Command::Started { node: NodeId(1), previous: 1, profile: knows(1, 2, 4, 20) });
    assert_eq!(cluster.apply(&change(&divided, &cluster.state.clone())), Outcome::Done);
}

#[test]
fn log_ins_by_digests_wait_until_every_member_knows_them() {
    let mut cluster = Cluster { state: State::founded(7, "test".to_owned(), knows(1, 1, 4, 13), Schema::empty(), 1), index: 1 };
    let role = model::Role { griddb_hash: Some("$2b$10$hash".to_owned()), ..model::Role::default() };
    let roles = BTreeMap::from([("jo".to_owned(), Arc::new(role))]);
    let schema = Schema { version: 99, roles, ..Schema::clone(&cluster.state.schema) };
    let change = Command::Schema { expected: cluster.state.schema.version, document: schema_blob::encode(&schema) };
    assert_eq!(cluster.apply(&change), Outcome::Refused(Refused::BadSchema));
    cluster.apply(&Command::Started { node: NodeId(1), previous: 1, profile: knows(1, 2, 4, 14) });
    assert_eq!(cluster.apply(&change), Outcome::Done);
    assert_eq!(cluster.state.schema.roles, schema.roles);
}

#[test]
fn limits_of_roles_wait_until_every_member_knows_them() {
    let mut cluster = Cluster { state: State::founded(7, "test".to_owned(), knows(1, 1, 4, 15), Schema::empty(), 1), index: 1 };
    let mut role = model::Role::default();
    role.limits.set(model::Limit::Connections, 5);
    let roles = BTreeMap::from([("jo".to_owned(), Arc::new(role))]);
    let schema = Schema { version: 99, roles, ..Schema::clone(&cluster.state.schema) };
    let change = Command::Schema { expected: cluster.state.schema.version, document: schema_blob::encode(&schema) };
    assert_eq!(cluster.apply(&change), Outcome::Refused(Refused::BadSchema));
    cluster.apply(&Command::Started { node: NodeId(1), previous: 1, profile: knows(1, 2, 4, 16) });
    assert_eq!(cluster.apply(&change), Outcome::Done);
    assert_eq!(cluster.state.schema.roles, schema.roles);
}

#[test]
fn the_cluster_goes_by_the_latest_version_that_every_member_knows() {
    let mut state = State::founded(7, "test".to_owned(), knows(1, 1, 3, 3), Schema::empty(), 1);
    let mut index = 1;
    let mut apply = |command: Command| {
        index += 1;
        let before = state.protocol_version();
        let outcome = state.apply(index, &command);
        assert!(state.protocol_version() >= before, "{command:?}");
        assert!(State::decode(&state.encode(), Versions::new(3, 5)).is_ok());
        (outcome, state.protocol_version())
    };
    let join = |host, oldest, latest| Command::Join { profile: knows(host, u64::from(host), oldest, latest), replaces: None };
    let started = |host: u32, previous, incarnation, oldest, latest| Command::Started {
        node: NodeId(host),
        previous,
        profile: knows(host, incarnation, oldest, latest),
    };
    assert_eq!(apply(join(2, 3, 4)), (Outcome::Joined(NodeId(2)), 3));
    let too_new = Refused::TooNew { agreed: 3, known: Versions::new(4, 5) };
    assert_eq!(apply(join(3, 4, 5)), (Outcome::Refused(too_new.clone()), 3));
    assert_eq!(apply(join(3, 3, 3)), (Outcome::Joined(NodeId(3)), 3));
    // Steps back are possible before all know more.
    assert_eq!(apply(started(2, 2, 22, 3, 3)), (Outcome::Done, 3));
    assert_eq!(apply(started(2, 22, 23, 3, 4)), (Outcome::Done, 3));
    assert_eq!(apply(started(2, 23, 24, 4, 5)), (Outcome::Refused(too_new), 3));
    assert_eq!(apply(started(1, 1, 11, 3, 4)), (Outcome::Done, 3));
    assert_eq!(apply(Command::Down { node: NodeId(3) }), (Outcome::Done, 3), "it comes back");
    // Who asks again to be taken in says nothing of a new process.
    assert_eq!(apply(join(3, 3, 4)), (Outcome::Joined(NodeId(3)), 3));
    assert_eq!(apply(Command::Remove { node: NodeId(3), force: false }), (Outcome::Removed { lost: 0 }, 4));
    let too_old = Refused::TooOld { agreed: 4, known: Versions::new(3, 3) };
    assert_eq!(apply(join(4, 3, 3)), (Outcome::Refused(too_old.clone()), 4));
    assert_eq!(apply(started(2, 23, 25, 3, 3)), (Outcome::Refused(too_old), 4));
    assert_eq!(apply(join(4, 4, 5)), (Outcome::Joined(NodeId(4)), 4));
}

#[test]
fn long_vectors_wait_until_every_member_knows_them() {
    let mut cluster = Cluster { state: State::founded(7, "test".to_owned(), knows(1, 1, 4, 22), Schema::empty(), 1), index: 1 };
    let bin = NewBin { name: "n".to_owned(), kind: 1, kind_name: "integer", data_type: DataType::BigInt };
    let mut schema = Schema::empty().declare_bins("test", "t", &[bin], 3).expect("names that can be").expect("a new set").schema;
    let mut with_dimension = |dimension, version| {
        let keyspace = Arc::make_mut(schema.keyspaces.get_mut("test").expect("the keyspace"));
        let table = Arc::make_mut(keyspace.tables.get_mut("t").expect("the table"));
        table.records = None;
        let column = table.columns.last_mut().expect("the column");
        column.data_type = DataType::Vector(Arc::new(DataType::Float), dimension);
        schema.version = version;
        schema_blob::encode(&schema)
    };
    let (short, long) = (with_dimension(65_535, 98), with_dimension(65_536, 99));
    let change = |document: &[u8], state: &State| Command::Schema { expected: state.schema.version, document: document.to_vec() };
    assert_eq!(cluster.apply(&change(&long, &cluster.state.clone())), Outcome::Refused(Refused::BadSchema));
    assert_eq!(cluster.apply(&change(&short, &cluster.state.clone())), Outcome::Done, "vectors are known since long");
    cluster.apply(&Command::Started { node: NodeId(1), previous: 1, profile: knows(1, 2, 4, 23) });
    assert_eq!(cluster.apply(&change(&long, &cluster.state.clone())), Outcome::Done);
}

#[test]
fn analyzers_of_indexes_wait_until_every_member_knows_them() {
    let mut cluster = Cluster { state: State::founded(7, "test".to_owned(), knows(1, 1, 4, 23), Schema::empty(), 1), index: 1 };
    let bin = NewBin { name: "n".to_owned(), kind: 3, kind_name: "string", data_type: DataType::Text };
    let mut schema = Schema::empty().declare_bins("test", "t", &[bin], 3).expect("names that can be").expect("a new set").schema;
    let mut with_analyzer = |analyzer: &str, version| {
        let id = schema.next_table;
        let keyspace = Arc::make_mut(schema.keyspaces.get_mut("test").expect("the keyspace"));
        let table = Arc::make_mut(keyspace.tables.get_mut("t").expect("the table"));
        table.records = None;
        let class = format!("org.apache.cassandra.index.sasi.analyzer.{analyzer}");
        let options = [("analyzer_class".to_owned(), class)].into();
        let column = table.columns.last().expect("the column").id;
        let index = Index { id, name: format!("by_{analyzer}"), column, part: IndexPart::Value, class: None, options };
        table.indexes = [(index.name.clone(), Arc::new(index))].into();
        schema.next_table = TableId(id.0 + 1);
        schema.version = version;
        schema_blob::encode(&schema)
    };
    let (whole, apart) = (with_analyzer("NonTokenizingAnalyzer", 98), with_analyzer("DelimiterAnalyzer", 99));
    let change = |document: &[u8], state: &State| Command::Schema { expected: state.schema.version, document: document.to_vec() };
    assert_eq!(cluster.apply(&change(&apart, &cluster.state.clone())), Outcome::Refused(Refused::BadSchema));
    assert_eq!(cluster.apply(&change(&whole, &cluster.state.clone())), Outcome::Done, "texts that stay whole are known since long");
    cluster.apply(&Command::Started { node: NodeId(1), previous: 1, profile: knows(1, 2, 4, 24) });
    assert_eq!(cluster.apply(&change(&apart, &cluster.state.clone())), Outcome::Done);
}
