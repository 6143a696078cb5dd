//! Schema statements where TarnDB is on its own: ids, versions, bounds, and what it does not have.

use crate::schema_support::Session;
use base::Compression;
use cql::CqlError;
use cql::ddl::{content_version, entry_compression, page_compression};
use model::{CONTAINER_OPTION, ColumnId, DataType, Frozen, KeptOption, Schema, VECTOR_DIMENSIONS_MAX, schema_blob};
use std::sync::Arc;

fn app() -> Session {
    let mut session = Session::new();
    session.all(&["CREATE KEYSPACE app WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}", "USE app"]);
    session
}

#[track_caller]
fn invalid(session: &mut Session, text: &str) -> String {
    match session.run(text) {
        Err(CqlError::Invalid(message)) => message,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn ids_of_tables_and_columns_are_never_used_again() {
    let mut session = app();
    session.all(&["CREATE TABLE t (k int PRIMARY KEY, a int, b int)"]);
    let first = session.schema.table("app", "t").unwrap().clone();
    assert_eq!(first.columns.iter().map(|column| column.id.0).collect::<Vec<_>>(), [0, 1, 2]);
    session.all(&["ALTER TABLE t DROP b", "ALTER TABLE t ADD b int"]);
    let altered = session.schema.table("app", "t").unwrap().clone();
    assert_eq!(altered.id, first.id);
    assert_eq!(altered.column("b").unwrap().1.id, ColumnId(3));
    assert!(altered.dropped_columns.contains_key("b"));
    session.all(&["DROP TABLE t", "CREATE TABLE t (k int PRIMARY KEY)"]);
    assert!(session.schema.table("app", "t").unwrap().id > first.id);
}

#[test]
fn what_is_dropped_is_told_so_that_rows_can_be_forgotten() {
    let mut session = app();
    session.all(&["CREATE TABLE t (k int PRIMARY KEY)", "CREATE TABLE u (k int PRIMARY KEY)"]);
    let ids: Vec<_> = session.schema.keyspaces["app"].tables.values().map(|table| table.id).collect();
    let change = session.run("DROP TABLE t").unwrap().change.unwrap();
    assert_eq!(change.dropped, [ids[0]]);
    let change = session.run("DROP KEYSPACE app").unwrap().change.unwrap();
    assert_eq!(change.dropped, [ids[1]]);
}

#[test]
fn the_version_follows_from_the_content() {
    let (mut one, mut other) = (app(), app());
    assert_eq!(one.schema.version, other.schema.version);
    assert_ne!(one.schema.version, content_version(&Schema::empty()));
    let versions: Vec<u128> = ["CREATE TABLE t (k int PRIMARY KEY)", "ALTER TABLE t ADD v int", "ALTER TABLE t WITH comment = 'x'"]
        .iter()
        .map(|text| {
            one.run(text).unwrap();
            one.schema.version
        })
        .collect();
    assert!(versions.windows(2).all(|pair| pair[0] != pair[1]));
    other.all(&["CREATE TABLE t (k int PRIMARY KEY)", "ALTER TABLE t ADD v int", "ALTER TABLE t WITH comment = 'x'"]);
    assert_eq!(one.schema.version, other.schema.version);
    let version = one.schema.version;
    assert_eq!((version >> 76 & 0xF, version >> 62 & 0x3), (3, 2), "a version 3 UUID");
    assert_eq!(content_version(&one.schema), version, "the version is no part of the content");
}

#[test]
fn schemas_survive_the_way_to_the_disk_and_back() {
    let mut session = app();
    session.all(&[
        "CREATE TYPE inner (a int)",
        "CREATE TYPE outer (i frozen<inner>, l frozen<list<frozen<inner>>>)",
        "CREATE TABLE t (k int, c text, s int static, v outer, w frozen<map<text, frozen<outer>>>, o text, PRIMARY KEY (k, c)) \
         WITH CLUSTERING ORDER BY (c DESC) AND caching = {'keys': 'NONE'} AND speculative_retry = '50ms'",
        "ALTER TABLE t DROP w",
        "ALTER TYPE inner ADD b duration",
    ]);
    assert_eq!(schema_blob::decode(&schema_blob::encode(&session.schema)).unwrap(), *session.schema);
}

#[test]
fn a_changed_type_changes_in_all_that_has_it() {
    let mut session = app();
    session.all(&[
        "CREATE TYPE a (x int)",
        "CREATE TYPE b (a frozen<a>)",
        "CREATE TYPE c (b frozen<list<frozen<b>>>, a frozen<a>)",
        "CREATE TYPE apart (x int)",
        "CREATE TABLE t (k int, q frozen<c>, c a, l list<frozen<b>>, t tuple<a, int>, v vector<frozen<c>, 2>, PRIMARY KEY (k, q))",
        "ALTER TYPE a ADD y text",
        "ALTER TYPE a RENAME x TO z",
    ]);
    let keyspace = &session.schema.keyspaces["app"];
    fn check(data_type: &DataType, found: &mut usize) {
        match data_type {
            DataType::Udt(user, _) => {
                if user.name == "a" {
                    *found += 1;
                    let names: Vec<&str> = user.fields.iter().map(|(name, _)| name.as_str()).collect();
                    assert_eq!(names, ["z", "y"]);
                }
                user.fields.iter().for_each(|(_, field)| check(field, found));
            }
            DataType::List(element, _) | DataType::Vector(element, _) => check(element, found),
            DataType::Tuple(fields) => fields.iter().for_each(|field| check(field, found)),
            _ => {}
        }
    }
    let mut found = 0;
    keyspace.types.values().for_each(|user| check(&DataType::Udt(user.clone(), Frozen::Yes), &mut found));
    keyspace.tables["t"].columns.iter().for_each(|column| check(&column.data_type, &mut found));
    assert_eq!(found, 4 + 7);
}

#[test]
fn types_that_grow_without_bound_are_refused() {
    let mut session = app();
    session.all(&["CREATE TYPE t0 (x int)"]);
    let mut refused = None;
    for level in 1..40 {
        let text = format!("CREATE TYPE t{level} (a frozen<t{0}>, b frozen<t{0}>)", level - 1);
        if let Err(error) = session.run(&text) {
            refused = Some((level, error.to_string()));
            break;
        }
    }
    let (level, message) = refused.unwrap();
    assert_eq!(level, 12, "2¹² parts and more are too many");
    assert!(message.contains("is too large: a type may have at most 31 levels and 10000 parts"), "{message}");
    let nested = |levels| {
        format!("CREATE TABLE t (k int PRIMARY KEY, v frozen<{}>)", (0..levels).fold("int".to_owned(), |inner, _| format!("list<{inner}>")))
    };
    assert!(invalid(&mut session, &nested(32)).contains("too large"));
    session.all(&[&nested(31)]);
    let described = session.statements_of("DESCRIBE TABLE t");
    session.all(&["DROP TABLE t", &described[0], "DROP TABLE t"]);
    session.all(&["CREATE TYPE leaf (x int)", "CREATE TYPE holder (l frozen<leaf>)"]);
    let holder = (0..28).fold("holder".to_owned(), |inner, _| format!("frozen<list<{inner}>>"));
    session.all(&[&format!("CREATE TABLE u (k int PRIMARY KEY, v {holder})")]);
    let before = session.schema.clone();
    let message = invalid(&mut session, "ALTER TYPE leaf ADD deep frozen<list<frozen<list<int>>>>");
    assert!(message.contains("too large"), "{message}");
    assert_eq!(session.schema, before, "a refused statement changes nothing");
}

#[test]
fn a_table_has_as_many_columns_as_there_are_ids() {
    let mut session = app();
    let columns: Vec<String> = (0..65_534).map(|n| format!("c{n} int")).collect();
    session.all(&[&format!("CREATE TABLE t (k int PRIMARY KEY, {})", columns.join(", "))]);
    let message = invalid(&mut session, "ALTER TABLE t ADD one_more int");
    assert!(message.contains("as many columns"), "{message}");
    session.all(&["ALTER TABLE t DROP c0"]);
    assert!(invalid(&mut session, "ALTER TABLE t ADD one_more int").contains("as many columns"), "ids are not used again");
    let too_many = format!("CREATE TABLE u (k int PRIMARY KEY, {}, x int)", columns.join(", "));
    assert!(invalid(&mut session, &too_many).contains("as many columns"));
}

#[test]
fn what_cannot_be_says_so() {
    let mut session = app();
    session.all(&["CREATE TABLE t (k int PRIMARY KEY, v text)"]);
    assert_eq!(invalid(&mut session, "CREATE TRIGGER x ON t USING 'a.B'"), "Trigger class 'a.B' couldn't be loaded");
    assert_eq!(invalid(&mut session, "CREATE TRIGGER x ON nothing USING 'a.B'"), "Table 'nothing' doesn't exist");
    assert!(invalid(&mut session, "CREATE TABLE u (k int PRIMARY KEY, v vector<counter, 2>)").contains("Counters are not allowed"));
    assert!(invalid(&mut session, "CREATE TABLE u (k vector<duration, 2> PRIMARY KEY)").contains("duration type is not supported"));
}

#[test]
fn vectors_have_as_many_dimensions_as_an_int_can_count() {
    let mut session = app();
    for dimension in [-2_147_483_648_i64, -1, 0] {
        let message = invalid(&mut session, &format!("CREATE TABLE t (k int PRIMARY KEY, v vector<float, {dimension}>)"));
        assert_eq!(message, format!("vectors may only have positive dimensions; given {dimension}"));
    }
    session.all(&[
        "CREATE TABLE t (k int PRIMARY KEY, v vector<float, 65535>)",
        "CREATE TABLE u (k int PRIMARY KEY, v vector<float, 65536>)",
        "CREATE TYPE w (v vector<text, 2147483647>)",
        "ALTER TABLE t ADD c 'org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType , 2147483647)'",
    ]);
    let longest = |element| DataType::Vector(Arc::new(element), VECTOR_DIMENSIONS_MAX);
    assert_eq!(session.schema.table("app", "t").unwrap().column("c").unwrap().1.data_type, longest(DataType::Float));
    assert_eq!(session.schema.keyspaces["app"].types["w"].fields[0].1, longest(DataType::Text));
    assert_eq!(schema_blob::decode(&schema_blob::encode(&session.schema)).unwrap(), *session.schema);
    let zero =
        "CREATE TABLE x (k int PRIMARY KEY, v 'org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType , 0)')";
    assert!(session.run(zero).is_err());
}

#[test]
fn indexes_get_names_and_tables_of_their_own() {
    let mut session = app();
    session.all(&[
        "CREATE TABLE t (k int, c int, v int, m map<text, int>, f frozen<set<int>>, PRIMARY KEY (k, c))",
        "CREATE INDEX ON t (v)",
        "CREATE INDEX t_m_idx ON t (keys(m))",
        "CREATE INDEX ON t (m)",
        "CREATE INDEX ON t (full(f))",
        "CREATE CUSTOM INDEX ON t (v) USING 'org.apache.cassandra.index.sai.StorageAttachedIndex'",
        "CREATE INDEX IF NOT EXISTS other ON t (v)",
    ]);
    let table = session.schema.table("app", "t").unwrap().clone();
    assert_eq!(table.indexes.keys().collect::<Vec<_>>(), ["t_f_idx", "t_m_idx", "t_m_idx_1", "t_v_idx", "t_v_idx_1"]);
    assert_eq!(table.stored().collect::<std::collections::BTreeSet<_>>().len(), 6);
    for (text, message) in [
        ("CREATE INDEX t_v_idx ON t (c)", "Index 't_v_idx' already exists"),
        ("CREATE INDEX again ON t (v)", "Index again is a duplicate of existing index t_v_idx"),
        ("CREATE INDEX ON t (k)", "Cannot create secondary index on the only partition key column k"),
        ("CREATE INDEX ON t (values(v))", "Cannot create values() index on v. Non-collection columns only support simple indexes"),
        ("ALTER TABLE t DROP v", "Cannot drop column v because it has dependent secondary indexes (t_v_idx,t_v_idx_1)"),
        ("DROP INDEX nothing", "Index 'app.nothing' doesn't exist'"),
    ] {
        assert_eq!(invalid(&mut session, text), message, "{text}");
    }
    session.all(&["DROP INDEX t_v_idx", "DROP INDEX t_v_idx_1", "DROP INDEX IF EXISTS t_v_idx", "ALTER TABLE t DROP v"]);
}

#[test]
fn the_index_of_a_container_is_its_clients() {
    let mut session = app();
    session.all(&["CREATE TABLE t (k int, c int, v int, PRIMARY KEY (k, c))", "CREATE INDEX i ON t (v)"]);
    let keyspace = Arc::make_mut(Arc::make_mut(&mut session.schema).keyspaces.get_mut("app").unwrap());
    let table = Arc::make_mut(keyspace.tables.get_mut("t").unwrap());
    table.options.kept.insert(CONTAINER_OPTION.to_owned(), KeptOption::Scalar(String::new()));
    for text in ["DROP INDEX i", "CREATE INDEX j ON t (c)", "DROP TABLE t", "ALTER TABLE t DROP v"] {
        assert_eq!(invalid(&mut session, text), "app.t is a container: GridDB clients make, change and drop it", "{text}");
    }
}

#[test]
fn a_keyspace_without_replicas_is_refused() {
    let mut session = Session::new();
    let error = session.run("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 0}").unwrap_err();
    assert_eq!(error, CqlError::Config("Replication factor must be at least 1, found 0".to_owned()));
}

#[test]
fn any_factor_is_taken_with_a_warning_when_there_are_not_that_many_nodes() {
    let mut session = Session::new();
    let outcome =
        session.run("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 2147483647}").unwrap();
    assert!(outcome.change.is_some());
    assert_eq!(outcome.warnings, ["Your replication factor 2147483647 for keyspace k is higher than the number of nodes 1"]);
}

#[test]
fn every_system_keyspace_is_closed_to_every_statement() {
    let mut session = app();
    for keyspace in
        ["system", "system_schema", "system_traces", "system_views", "system_virtual_schema", "system_auth", "system_distributed"]
    {
        for text in [
            format!("ALTER KEYSPACE {keyspace} WITH durable_writes = false"),
            format!("DROP KEYSPACE {keyspace}"),
            format!("DROP KEYSPACE IF EXISTS {keyspace}"),
            format!("CREATE TABLE {keyspace}.t (k int PRIMARY KEY)"),
            format!("CREATE TABLE IF NOT EXISTS {keyspace}.local (k int PRIMARY KEY)"),
            format!("ALTER TABLE {keyspace}.local ADD x int"),
            format!("DROP TABLE {keyspace}.local"),
            format!("DROP TABLE IF EXISTS {keyspace}.local"),
            format!("CREATE TYPE {keyspace}.t (a int)"),
            format!("ALTER TYPE {keyspace}.t ADD b int"),
            format!("DROP TYPE {keyspace}.t"),
        ] {
            let error = session.run(&text).unwrap_err();
            assert_eq!(error, CqlError::Unauthorized(format!("{keyspace} keyspace is not user-modifiable.")), "{text}");
        }
    }
}

#[test]
fn random_statements_keep_the_schema_whole() {
    let parts = [
        "a",
        "b",
        "c",
        "t",
        "u",
        "int",
        "text",
        "list<int>",
        "frozen<a>",
        "frozen<list<b>>",
        "counter",
        "set<text>",
        "frozen<map<text, c>>",
    ];
    for seed in 0..200 {
        let mut rng = base::Rng::new(seed);
        let mut session = app();
        session.all(&["CREATE TYPE a (x int)", "CREATE TYPE b (x frozen<a>)", "CREATE TABLE t (k int, c int, a a, PRIMARY KEY (k, c))"]);
        for _ in 0..60 {
            let mut pick = || parts[rng.below(parts.len() as u64) as usize];
            let (one, two, three) = (pick(), pick(), pick());
            let text = match rng.below(11) {
                0 => format!("CREATE TYPE {one} ({two} {three}, y frozen<{one}>)"),
                1 => format!("CREATE TYPE {one} ({two} {three})"),
                2 => format!("ALTER TYPE {one} ADD {two} {three}"),
                3 => format!("ALTER TYPE {one} RENAME {two} TO {three}"),
                4 => format!("DROP TYPE {one}"),
                5 => format!("CREATE TABLE {one} (k int, c {two}, v {three}, PRIMARY KEY (k, c))"),
                6 => format!("ALTER TABLE {one} ADD {two} {three}"),
                7 => format!("ALTER TABLE {one} DROP {two}"),
                8 => format!("ALTER TABLE {one} RENAME {two} TO {three}"),
                9 => format!("CREATE TABLE {one} LIKE {two}"),
                _ => format!("DROP TABLE {one}"),
            };
            // Refused or not: what comes out is a schema that the disk gives back.
            let _ = session.run(&text);
            let again = schema_blob::decode(&schema_blob::encode(&session.schema));
            assert_eq!(again.unwrap(), *session.schema, "seed {seed}: {text}");
        }
    }
}

#[test]
fn compression_chooses_what_pages_are_compressed_with() {
    let zstd = |level| Compression::Zstd { level };
    let choices = [
        ("", Compression::Lz4),
        ("WITH comment = 'x'", Compression::Lz4),
        ("WITH compression = {'class': 'LZ4Compressor', 'lz4_compressor_type': 'high'}", Compression::Lz4),
        ("WITH compression = {'class': 'ZstdCompressor'}", zstd(3)),
        ("WITH compression = {'class': 'org.apache.cassandra.io.compress.ZstdCompressor', 'compression_level': 9}", zstd(9)),
        ("WITH compression = {'class': 'ZstdCompressor', 'compression_level': '-131072'}", zstd(-131_072)),
        ("WITH compression = {'class': 'ZstdCompressor', 'compression_level': 22, 'enabled': true}", zstd(22)),
        ("WITH compression = {'class': 'DeflateCompressor'}", zstd(3)),
        ("WITH compression = {'class': 'SnappyCompressor'}", Compression::Lz4),
        ("WITH compression = {'class': 'NoopCompressor'}", Compression::None),
        ("WITH compression = {'enabled': false}", Compression::None),
        ("WITH compression = {}", Compression::None),
    ];
    let mut session = app();
    let of = |session: &Session, table: &str| page_compression(&session.schema.table("app", table).unwrap().options);
    for (number, (options, expected)) in choices.into_iter().enumerate() {
        let table = format!("t{number}");
        session.all(&[&format!("CREATE TABLE {table} (k int PRIMARY KEY) {options}")]);
        assert_eq!(of(&session, &table), expected, "{options}");
        // Entries of indexes are read in place, unless the table is to be small.
        let entries = if expected == Compression::Lz4 { Compression::None } else { expected };
        assert_eq!(entry_compression(&session.schema.table("app", &table).unwrap().options), entries, "{options}");
    }
    for (options, expected) in choices.into_iter().skip(2) {
        session.all(&[&format!("ALTER TABLE t0 {options}")]);
        assert_eq!(of(&session, "t0"), expected, "{options}");
    }
    // Other options leave it as it is, and it survives being stored.
    session.all(&["ALTER TABLE t4 WITH comment = 'x'"]);
    let stored = schema_blob::decode(&schema_blob::encode(&session.schema)).unwrap();
    assert_eq!(page_compression(&stored.table("app", "t4").unwrap().options), zstd(9));
}

#[test]
fn compressors_refuse_what_those_of_cassandra_refuse() {
    let mut session = app();
    session.all(&["CREATE TABLE t (k int PRIMARY KEY)"]);
    let create = "ZstdCompressor.create() threw an error: java.lang.";
    for (compression, expected) in [
        ("'class': 'ZstdCompressor', 'compression_level': 23", format!("{create}IllegalArgumentException compression_level=23 is invalid")),
        (
            "'class': 'ZstdCompressor', 'compression_level': -131073",
            format!("{create}IllegalArgumentException compression_level=-131073 is invalid"),
        ),
        ("'class': 'ZstdCompressor', 'compression_level': 'high'", format!("{create}NumberFormatException For input string: \"high\"")),
        ("'class': 'LZ4Compressor', 'compression_level': 3", "Unknown compression options compression_level".to_owned()),
        ("'class': 'Nope'", "Could not create Compression for type org.apache.cassandra.io.compress.Nope".to_owned()),
    ] {
        for statement in ["ALTER TABLE t", "CREATE TABLE u (k int PRIMARY KEY)"] {
            match session.run(&format!("{statement} WITH compression = {{{compression}}}")) {
                Err(CqlError::Config(message)) => assert_eq!(message, expected),
                other => panic!("{compression}: {other:?}"),
            }
        }
    }
}

#[test]
fn types_and_options_of_compaction_are_refused_as_cassandra_refuses_them() {
    let mut session = app();
    session.all(&["CREATE TYPE nested (l list<int>)"]);
    let nested = "CREATE TABLE t (k int PRIMARY KEY, u nested)";
    assert_eq!(invalid(&mut session, nested), "Non-frozen UDTs with nested non-frozen collections are not supported");
    let negative = "CREATE TABLE t (k int PRIMARY KEY, v vector<float, -18>)";
    assert_eq!(invalid(&mut session, negative), "vectors may only have positive dimensions; given -18");
    for (class, option, expected) in [
        ("SizeTiered", "'tombstone_threshold': -0.4", "tombstone_threshold must be greater than 0, but was -0.400000"),
        ("SizeTiered", "'min_sstable_size': -1", "min_sstable_size must be non negative: -1"),
        ("SizeTiered", "'bucket_high': 0.3", "bucket_high value (0.3) is less than or equal to the bucket_low value (0.5)"),
        ("SizeTiered", "'bucket_high': 'x'", "x is not a parsable float for bucket_high"),
        ("Leveled", "'enabled': 'certainly'", "enabled should either be 'true' or 'false', not certainly"),
        ("Leveled", "'fanout_size': 0", "fanout_size must be larger than 0, but was 0"),
        ("Leveled", "'sstable_size_in_mb': 'x'", "x is not a parsable int (base10) for sstable_size_in_mb"),
        ("TimeWindow", "'compaction_window_unit': 'EONS'", "EONS is not valid for compaction_window_unit"),
        ("TimeWindow", "'abc': 'x', 'compaction_window_size': 0", "0 must be greater than 1 for compaction_window_size"),
        ("Unified", "'scaling_parameters': 'T4, X'", "Scaling parameter X must match N|L[0-9]+|T[0-9]+|[+-]?[0-9]+"),
        ("Unified", "'scaling_parameters': 'T1'", "Fan factor cannot be lower than 2 in T1"),
    ] {
        let text = format!("CREATE TABLE t (k int PRIMARY KEY) WITH compaction = {{'class': '{class}CompactionStrategy', {option}}}");
        match session.run(&text) {
            Err(CqlError::Config(message)) => assert_eq!(message, expected),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn a_table_like_another_has_its_columns_and_options_and_nothing_else() {
    let mut session = app();
    session.all(&[
        "CREATE TYPE inner (x int)",
        "CREATE TYPE outer (i frozen<inner>, n text)",
        "CREATE TABLE t (k int, c text, s int static, a int, gone int, o frozen<outer>, PRIMARY KEY (k, c)) \
         WITH CLUSTERING ORDER BY (c DESC) AND comment = 'of t' AND gc_grace_seconds = 7",
        "ALTER TABLE t DROP gone",
        "CREATE INDEX ON t (a)",
        "CREATE MATERIALIZED VIEW v AS SELECT k, c, a FROM t WHERE k IS NOT NULL AND c IS NOT NULL PRIMARY KEY (c, k)",
        "CREATE TABLE l LIKE t WITH comment = 'of l' AND default_time_to_live = 60",
    ]);
    let (source, copy) = (session.schema.table("app", "t").unwrap().clone(), session.schema.table("app", "l").unwrap().clone());
    let told = |table: &model::Table| {
        let columns = table.columns.iter().map(|column| (column.name.clone(), column.kind, column.order, column.data_type.clone()));
        columns.collect::<Vec<_>>()
    };
    assert_eq!(told(&source), told(&copy));
    assert_eq!(copy.columns.iter().map(|column| column.id.0).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_ne!((source.id, source.uuid), (copy.id, copy.uuid));
    assert!(copy.indexes.is_empty() && copy.views.is_empty() && copy.dropped_columns.is_empty());
    let options = |name: &str| {
        let table = session.schema.table("app", name).unwrap();
        (table.options.comment.clone(), table.options.gc_grace_seconds, table.options.default_time_to_live)
    };
    assert_eq!((options("t"), options("l")), (("of t".into(), 7, 0), ("of l".into(), 7, 60)));
    // What becomes of the source is nothing to the copy.
    session.all(&["DROP MATERIALIZED VIEW v", "DROP TABLE t", "ALTER TABLE l ADD gone text", "CREATE TABLE IF NOT EXISTS l LIKE l"]);
    assert_eq!(session.schema.table("app", "l").unwrap().column("gone").unwrap().1.id, ColumnId(5));
}

#[test]
fn a_table_like_one_of_another_keyspace_has_that_keyspaces_types() {
    let mut session = app();
    session.all(&[
        "CREATE TYPE inner (x int)",
        "CREATE TYPE outer (i frozen<inner>, n text)",
        "CREATE TABLE t (k int PRIMARY KEY, o map<int, frozen<outer>>)",
        "CREATE KEYSPACE other WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    ]);
    let copy = "CREATE TABLE other.t LIKE t";
    assert_eq!(invalid(&mut session, copy), "UDTs inner, outer do not exist in target keyspace 'other'.");
    session.all(&["CREATE TYPE other.inner (x text)"]);
    assert_eq!(
        invalid(&mut session, copy),
        "Target keyspace 'other' has same UDT name 'inner' as source keyspace 'app' but with different structure."
    );
    session.all(&["DROP TYPE other.inner", "CREATE TYPE other.inner (x int)", "CREATE TYPE other.outer (i frozen<inner>, n text)", copy]);
    let DataType::Map(_, value, _) = &session.schema.table("other", "t").unwrap().columns[1].data_type else { panic!("no map") };
    let DataType::Udt(user, Frozen::Yes) = &**value else { panic!("no user type") };
    assert!(Arc::ptr_eq(user, &session.schema.keyspaces["other"].types["outer"]));
    // A type in use cannot go.
    assert!(session.run("DROP TYPE other.outer").is_err());
}

#[test]
fn a_table_like_another_is_refused_in_cassandras_words() {
    let mut session = app();
    session.all(&[
        "CREATE TABLE t (k int PRIMARY KEY, a int)",
        "CREATE TABLE n (k int PRIMARY KEY, a counter)",
        "CREATE MATERIALIZED VIEW v AS SELECT * FROM t WHERE k IS NOT NULL AND a IS NOT NULL PRIMARY KEY (a, k)",
    ]);
    for (text, message) in [
        ("CREATE TABLE l LIKE nope.t", "Source Keyspace 'nope' doesn't exist"),
        ("CREATE TABLE l LIKE system.local", "Source Keyspace 'system' doesn't exist"),
        ("CREATE TABLE l LIKE nope", "Souce Table 'app.nope' doesn't exist"),
        ("CREATE TABLE l LIKE v", "Cannot use CREATE TABLE LIKE on a materialized view 'app.v'."),
        ("CREATE TABLE nope.l LIKE t", "Target Keyspace 'nope' doesn't exist"),
    ] {
        assert_eq!(invalid(&mut session, text), message, "{text}");
    }
    assert!(matches!(session.run("CREATE TABLE t LIKE n"), Err(CqlError::AlreadyExists { .. })));
    assert!(matches!(session.run("CREATE TABLE system.l LIKE t"), Err(CqlError::Unauthorized(_))));
    for syntax in ["CREATE TABLE l LIKE", "CREATE TABLE l LIKE t WITH", "CREATE TABLE l LIKE t WITH nope = 1", "CREATE TABLE LIKE t"] {
        assert!(matches!(session.run(syntax), Err(CqlError::Syntax(_))), "{syntax}");
    }
    assert!(session.run("CREATE TABLE l LIKE n WITH default_time_to_live = 60").is_err());
    assert!(session.run("CREATE TABLE l LIKE t WITH id = '2b9b2f9c-5f1c-11ee-8c99-0242ac120002'").is_err());
}
