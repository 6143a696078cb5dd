//! What DESCRIBE gives can be fed back: the schema that comes of it is the one that was described.

use crate::schema_support::Session;
use base::Rng;
use cql::describe::DescribeError;
use cql::wire::marshal_class;
use model::{ColumnId, DROPPED_AT_OPTION, Keyspace, Schema, Table};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A schema without what DESCRIBE does not tell: ids, and the columns that were dropped.
fn told(schema: &Schema) -> BTreeMap<String, Keyspace> {
    let table = |table: &Arc<Table>| {
        let mut table = Table::clone(table);
        (table.id.0, table.uuid, table.next_column) = (0, 0, ColumnId(0));
        table.dropped_columns.clear();
        // Of columns that were dropped at no timestamp the description gives the time.
        table.options.kept.remove(DROPPED_AT_OPTION);
        table.columns.iter_mut().for_each(|column| column.id = ColumnId(0));
        Arc::new(table)
    };
    let keyspace = |keyspace: &Arc<Keyspace>| Keyspace {
        tables: keyspace.tables.iter().map(|(name, old)| (name.clone(), table(old))).collect(),
        ..Keyspace::clone(keyspace)
    };
    schema.keyspaces.iter().map(|(name, old)| (name.clone(), keyspace(old))).collect()
}

fn fed_back(session: &Session, describe: &str) -> Session {
    let mut other = Session::new();
    for batch in session.statements_of(describe) {
        for statement in batch.split_inclusive(";\n").map(str::trim) {
            other.run(statement).unwrap_or_else(|error| panic!("{error} in\n{statement}"));
        }
    }
    other
}

fn full() -> Session {
    let mut session = Session::new();
    session.all(&[
        "CREATE KEYSPACE \"Mixed_Case\" WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 3} \
         AND durable_writes = false",
        "USE \"Mixed_Case\"",
        "CREATE TYPE zz (a int, l frozen<list<int>>)",
        "CREATE TYPE aa (z frozen<zz>, \"select\" text)",
        "CREATE TYPE \"select\" (a frozen<list<frozen<aa>>>, \"a \"\" b\" tuple<int, frozen<zz>>)",
        "CREATE TYPE \"int\" (a vector<float, 3>)",
        "CREATE TYPE \"byte\" (a int)",
        "CREATE TYPE \"list\" (a int)",
        "CREATE TYPE \"Counter\" (a duration)",
        "CREATE TABLE types (k uuid PRIMARY KEY, a ascii, b bigint, c blob, d boolean, e date, f decimal, g double, h duration, i float, \
         j inet, k1 int, l smallint, m text, n time, o timestamp, p timeuuid, q tinyint, r uuid, s varint, t vector<vector<int, 2>, 3>)",
        "CREATE TABLE nested (k frozen<aa>, c frozen<map<text, frozen<set<int>>>>, s set<inet> static, \"S\" int static, m map<int, frozen<zz>>, \
         u zz, t tuple<int, tuple<text, blob>>, i frozen<\"int\">, w frozen<\"select\">, x list<frozen<\"list\">>, y frozen<\"Counter\">, \
         z frozen<\"byte\">, PRIMARY KEY (k, c))",
        "CREATE TABLE \"Quoted\" (\"K\" int, \"select\" int, \"a \"\"b\" int, \"ttl\" text, v text, PRIMARY KEY ((\"K\", \"select\"), \"a \"\"b\", \"ttl\")) \
         WITH CLUSTERING ORDER BY (\"a \"\"b\" DESC, \"ttl\" ASC) AND comment = 'it''s; a\nnew line -- no comment' \
         AND compaction = {'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': 160} AND compression = {'enabled': 'false'} \
         AND caching = {'keys': 'NONE', 'rows_per_partition': '100'} AND default_time_to_live = 5 AND gc_grace_seconds = 6 \
         AND speculative_retry = 'MIN(99.5p, 50ms)' AND additional_write_policy = 'NEVER' AND read_repair = 'NONE' AND cdc = true \
         AND bloom_filter_fp_chance = 0.00012345 AND crc_check_chance = 0.25 AND min_index_interval = 1 AND max_index_interval = 2 \
         AND memtable_flush_period_in_ms = 7 AND allow_auto_snapshot = false AND incremental_backups = false",
        "CREATE TABLE counts (k int, c int, n counter, s counter static, PRIMARY KEY (k, c))",
        "CREATE TABLE keys_only (a int, b int, PRIMARY KEY ((a, b)))",
        "CREATE KEYSPACE other WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE other.t (a int PRIMARY KEY)",
    ]);
    session
}

#[test]
fn the_described_schema_makes_itself_again() {
    let session = full();
    let again = fed_back(&session, "DESCRIBE SCHEMA");
    assert_eq!(told(&again.schema), told(&session.schema));
    assert_eq!(again.statements_of("DESCRIBE SCHEMA"), session.statements_of("DESCRIBE SCHEMA"));
}

#[test]
fn a_description_with_internals_keeps_ids_and_dropped_columns() {
    let mut session = full();
    session.all(&[
        "ALTER TABLE nested DROP (m, \"S\")",
        "ALTER TABLE nested ADD \"S\" int static",
        "ALTER TABLE types DROP t USING TIMESTAMP 77",
        "ALTER TABLE types DROP a",
        "ALTER TABLE types ADD a text",
    ]);
    let again = fed_back(&session, "DESCRIBE SCHEMA WITH INTERNALS");
    assert_eq!(told(&again.schema), told(&session.schema));
    for (name, keyspace) in &session.schema.keyspaces {
        for (table_name, table) in &keyspace.tables {
            let other = again.schema.table(name, table_name).unwrap();
            assert_eq!((table.uuid, &table.dropped_columns), (other.uuid, &other.dropped_columns), "{table_name}");
        }
    }
}

#[test]
fn descriptions_of_one_thing_are_parts_of_that_of_the_schema() {
    let session = full();
    let all = session.statements_of("DESCRIBE SCHEMA");
    for (name, keyspace) in &session.schema.keyspaces {
        for table in keyspace.tables.keys() {
            let quoted = table.replace('"', "\"\"");
            for form in [format!("DESCRIBE TABLE \"{name}\".\"{quoted}\""), format!("DESC \"{name}\".\"{quoted}\"")] {
                let statements = session.statements_of(&form);
                assert!(statements.len() == 1 && all.contains(&statements[0]), "{form}");
            }
        }
        for user in keyspace.types.keys() {
            let statements = session.statements_of(&format!("DESCRIBE TYPE \"{name}\".\"{}\"", user.replace('"', "\"\"")));
            assert!(statements.len() == 1 && all.contains(&statements[0]), "{user}");
        }
    }
}

#[test]
fn every_system_keyspace_can_be_described() {
    let session = full();
    let full = session.describe("DESCRIBE FULL SCHEMA").unwrap();
    for keyspace in ["system", "system_schema", "system_traces", "system_views", "system_virtual_schema"] {
        let own = session.describe(&format!("DESCRIBE KEYSPACE {keyspace}")).unwrap();
        assert!(own.rows.len() > 1 && own.rows.iter().all(|row| full.rows.contains(row)), "{keyspace}");
    }
    assert!(session.statements_of("DESCRIBE SCHEMA").iter().all(|statement| !statement.contains("system")));
}

#[test]
fn the_cluster_tells_its_ring_only_to_those_who_use_a_keyspace() {
    let mut session = full();
    let names = |session: &Session| {
        let description = session.describe("DESCRIBE CLUSTER").unwrap();
        assert_eq!(description.rows.len(), 1);
        assert_eq!(description.rows[0].len(), description.columns.len());
        for ((_, data_type), bytes) in description.columns.iter().zip(&description.rows[0]) {
            cql::value::validate(data_type, bytes).unwrap();
        }
        description.columns.iter().map(|(name, _)| *name).collect::<Vec<_>>()
    };
    assert_eq!(names(&session), ["cluster", "partitioner", "snitch", "range_ownership"]);
    session.keyspace = None;
    assert_eq!(names(&session), ["cluster", "partitioner", "snitch"]);
    session.keyspace = Some("system".to_owned());
    assert_eq!(names(&session), ["cluster", "partitioner", "snitch"]);
}

#[test]
fn what_is_not_there_is_named() {
    let message = |session: &Session, text: &str| session.describe(text).unwrap_err().to_string();
    let mut session = full();
    assert_eq!(message(&session, "DESCRIBE KEYSPACE nope"), "'nope' not found in keyspaces");
    assert_eq!(message(&session, "DESCRIBE TABLE nope"), "Table 'nope' not found in keyspace 'Mixed_Case'");
    assert_eq!(message(&session, "DESCRIBE FUNCTION nope"), "User defined function 'nope' not found in 'Mixed_Case'");
    session.keyspace = None;
    assert_eq!(message(&session, "DESCRIBE TABLE nope"), DescribeError::NoKeyspace.to_string());
}

/// Random types, written as CREATE TABLE has them.
fn random_type(rng: &mut Rng, depth: u32) -> String {
    const NATIVE: [&str; 8] = ["int", "text", "uuid", "varint", "inet", "date", "decimal", "frozen<aa>"];
    let frozen = |rng: &mut Rng| random_type(rng, depth - 1);
    match if depth == 0 { 0 } else { rng.below(7) } {
        1 => format!("frozen<list<{}>>", frozen(rng)),
        2 => format!("frozen<set<{}>>", frozen(rng)),
        3 => format!("frozen<map<{}, {}>>", frozen(rng), frozen(rng)),
        4 => format!("frozen<tuple<{}, {}>>", frozen(rng), frozen(rng)),
        5 => format!("vector<{}, {}>", frozen(rng), 1 + rng.below(9)),
        6 => "frozen<\"select\">".to_owned(),
        _ => NATIVE[rng.below(NATIVE.len() as u64) as usize].to_owned(),
    }
}

#[test]
fn random_types_come_back_as_they_were() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let mut session = full();
        let columns: Vec<String> = (0..1 + rng.below(5)).map(|n| format!("c{n} {}", random_type(&mut rng, 4))).collect();
        let text = format!("CREATE TABLE r (k {} PRIMARY KEY, {})", random_type(&mut rng, 3), columns.join(", "));
        session.run(&text).unwrap_or_else(|error| panic!("seed {seed}: {error} in {text}"));
        let again = fed_back(&session, "DESCRIBE KEYSPACE");
        let types = |session: &Session| -> Vec<String> {
            session.schema.table("Mixed_Case", "r").unwrap().columns.iter().map(|column| marshal_class(&column.data_type)).collect()
        };
        assert_eq!(types(&again), types(&session), "seed {seed}: {text}");
    }
}
