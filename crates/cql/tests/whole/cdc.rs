//! CDC logs in the schema: what a log looks like, how it follows its table, and what is refused.

use crate::schema_support::Session;
use cql::CqlError;
use cql::cdc::{base_of, generation_ms};
use cql::system;
use model::{Permission, Resource, Schema, Table, schema_blob};
use std::sync::Arc;

const LOG: &str = "t_scylla_cdc_log";

fn app(statements: &[&str]) -> Session {
    let mut session = Session::new();
    session.all(&["CREATE KEYSPACE app WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}", "USE app"]);
    session.all(statements);
    session
}

fn columns(table: &Table) -> Vec<String> {
    table.columns.iter().map(|column| format!("{} {}", column.name, column.data_type)).collect()
}

#[track_caller]
fn log(session: &Session) -> Arc<Table> {
    Arc::clone(session.schema.table("app", LOG).unwrap())
}

#[track_caller]
fn refused(session: &mut Session, text: &str) -> String {
    match session.run(text) {
        Err(CqlError::Invalid(message) | CqlError::Config(message) | CqlError::Syntax(message)) => message,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_log_has_the_columns_that_libraries_read() {
    let session = app(&[
        "CREATE TYPE u (a int, b text)",
        "CREATE TABLE t (p int, q text, c int, d text, v int, s text static, l list<text>, e set<int>, m map<text, int>, u u, \
         f frozen<list<int>>, PRIMARY KEY ((p, q), c, d)) WITH cdc = {'enabled': true, 'ttl': 100}",
    ]);
    let log = log(&session);
    let expected = [
        "cdc$stream_id blob",
        "cdc$time timeuuid",
        "cdc$batch_seq_no int",
        "c int",
        "cdc$deleted_e boolean",
        "cdc$deleted_elements_e frozen<set<int>>",
        "cdc$deleted_elements_l frozen<set<timeuuid>>",
        "cdc$deleted_elements_m frozen<set<text>>",
        "cdc$deleted_elements_u frozen<set<smallint>>",
        "cdc$deleted_f boolean",
        "cdc$deleted_l boolean",
        "cdc$deleted_m boolean",
        "cdc$deleted_s boolean",
        "cdc$deleted_u boolean",
        "cdc$deleted_v boolean",
        "cdc$end_of_batch boolean",
        "cdc$operation tinyint",
        "cdc$ttl bigint",
        "d text",
        "e frozen<set<int>>",
        "f frozen<list<int>>",
        "l frozen<map<timeuuid, text>>",
        "m frozen<map<text, int>>",
        "p int",
        "q text",
        "s text",
        "u frozen<u>",
        "v int",
    ];
    assert_eq!(columns(&log), expected);
    assert_eq!((log.partition_key_len, log.clustering_len, log.options.gc_grace_seconds), (1, 2, 0));
    assert_eq!((base_of(&log), log.options.comment.as_str()), (Some("t"), "CDC log for app.t"));
    let decoded = schema_blob::decode(&schema_blob::encode(&session.schema)).unwrap();
    assert_eq!(decoded, *session.schema);
}

#[test]
fn a_log_follows_its_table() {
    let mut session = app(&["CREATE TABLE t (k int PRIMARY KEY, v int, w int) WITH cdc = {'enabled': true}"]);
    let former = log(&session);
    session.all(&["ALTER TABLE t ADD x set<int>", "ALTER TABLE t DROP w", "ALTER TABLE t RENAME k TO key"]);
    let now = log(&session);
    assert_eq!((now.id, now.uuid), (former.id, former.uuid));
    let names: Vec<&str> = now.columns.iter().map(|column| column.name.as_str()).collect();
    assert!(["x", "cdc$deleted_x", "cdc$deleted_elements_x", "key"].iter().all(|name| names.contains(name)), "{names:?}");
    assert!(!["w", "cdc$deleted_w", "k"].iter().any(|name| names.contains(name)), "{names:?}");
    assert_eq!(now.column("key").unwrap().1.id, former.column("k").unwrap().1.id, "what was written stays");
    let ids = |table: &Table| table.columns.iter().map(|column| column.id).collect::<std::collections::BTreeSet<_>>().len();
    assert_eq!(ids(&now), now.columns.len());
    session.all(&["ALTER TABLE t ADD w int"]);
    assert_ne!(log(&session).column("w").unwrap().1.id, former.column("w").unwrap().1.id);
}

#[test]
fn a_log_is_made_once_kept_while_disabled_and_dropped_with_its_table() {
    let mut session = app(&["CREATE TABLE t (k int PRIMARY KEY, v int)"]);
    assert!(session.schema.table("app", LOG).is_none());
    let change = session.run("ALTER TABLE t WITH cdc = {'enabled': true}").unwrap().change.unwrap();
    assert_eq!(change.further.len(), 1, "clients are told of the log");
    let made = log(&session);
    session.all(&["ALTER TABLE t WITH cdc = {'enabled': false}", "ALTER TABLE t ADD w int"]);
    assert_eq!(log(&session), made);
    session.all(&["ALTER TABLE t WITH cdc = {'enabled': true}"]);
    assert_eq!(log(&session).id, made.id);
    assert!(log(&session).column("w").is_some());
    let base = session.schema.table("app", "t").unwrap().id;
    let dropped = session.run("DROP TABLE t").unwrap().change.unwrap().dropped;
    assert_eq!(dropped, [base, made.id]);
    assert!(session.schema.table("app", LOG).is_none());
}

#[test]
fn a_log_of_a_disabled_table_can_be_dropped() {
    let mut session = app(&["CREATE TABLE t (k int PRIMARY KEY, v int) WITH cdc = {'enabled': true}"]);
    let message = refused(&mut session, "DROP TABLE t_scylla_cdc_log");
    assert_eq!(message, "Cannot drop CDC log table app.t_scylla_cdc_log: disable cdc of its base table first, or drop that");
    session.all(&[
        "ALTER TABLE t WITH cdc = {'enabled': false}",
        "DROP TABLE t_scylla_cdc_log",
        "ALTER TABLE t WITH cdc = {'enabled': true}",
    ]);
    log(&session);
}

#[test]
fn streams_begin_with_the_first_log_and_stay() {
    let mut session = app(&["CREATE TABLE t (k int PRIMARY KEY, v int) WITH cdc = {'enabled': true}"]);
    let first = generation_ms(&session.schema).unwrap();
    session.all(&["CREATE TABLE u (k int PRIMARY KEY) WITH cdc = {'enabled': true}", "DROP TABLE t"]);
    assert_eq!(generation_ms(&session.schema), Some(first));
    session.all(&["DROP TABLE u"]);
    assert_eq!(generation_ms(&session.schema), None);
    assert_eq!(generation_ms(&Schema::empty()), None);
}

#[test]
fn what_cannot_be_logged_is_refused() {
    let mut session = app(&["CREATE TABLE t (k int PRIMARY KEY, v int) WITH cdc = {'enabled': true}"]);
    let mut check = |text: &str, expected: &str| assert_eq!(refused(&mut session, text), expected, "{text}");
    check(
        "CREATE TABLE n (k int PRIMARY KEY, c counter) WITH cdc = {'enabled': true}",
        "Cannot create CDC log for table app.n. Counter support not implemented",
    );
    check("CREATE TABLE o (k int PRIMARY KEY) WITH cdc = {'enabled': 'x'}", "Invalid value for CDC option \"enabled\": x");
    check("CREATE TABLE o (k int PRIMARY KEY) WITH cdc = {'enabled': true, 'mode': 1}", "Invalid CDC option: mode");
    check(
        "CREATE TABLE o (\"cdc$k\" int PRIMARY KEY) WITH cdc = {'enabled': true}",
        "Cannot create CDC log for table app.o: the name of its column cdc$k begins as those of the log do",
    );
    check("ALTER TABLE t_scylla_cdc_log ADD x int", "Cannot alter CDC log table app.t_scylla_cdc_log: it follows its base table");
    check("CREATE INDEX ON t_scylla_cdc_log (v)", "Secondary indexes are not supported on CDC log table app.t_scylla_cdc_log");
    check(
        "CREATE MATERIALIZED VIEW w AS SELECT * FROM t_scylla_cdc_log WHERE v IS NOT NULL PRIMARY KEY (v)",
        "Materialized views are not supported on CDC log table app.t_scylla_cdc_log",
    );
    check(
        "CREATE MATERIALIZED VIEW w AS SELECT * FROM t WHERE v IS NOT NULL AND k IS NOT NULL PRIMARY KEY (v, k) WITH cdc = {'enabled': true}",
        "Cannot create CDC log for materialized view w: enable it for the base table",
    );
    session.all(&["CREATE TABLE x (k int PRIMARY KEY)", "CREATE TABLE x_scylla_cdc_log (k int PRIMARY KEY)"]);
    let message = refused(&mut session, "ALTER TABLE x WITH cdc = {'enabled': true}");
    assert_eq!(message, "Cannot create CDC log table for table app.x because a table of name app.x_scylla_cdc_log already exists");
    session.all(&["ALTER TABLE x_scylla_cdc_log ADD v int"]);
}

#[test]
fn a_table_is_described_with_its_options_and_its_log_for_reference() {
    let session = app(&["CREATE TABLE t (k int PRIMARY KEY, v int) WITH cdc = {'enabled': true, 'preimage': 'full', 'delta': 'keys'}"]);
    let described = session.statements_of("DESCRIBE KEYSPACE app");
    assert_eq!(described.len(), 2, "the keyspace and the table");
    let option = "AND cdc = {'delta': 'keys', 'enabled': 'true', 'postimage': 'false', 'preimage': 'full', 'ttl': '86400'}";
    assert!(described[1].contains(option), "{}", described[1]);
    let mut again = app(&[&described[1]]);
    assert_eq!(columns(&log(&again)), columns(&log(&session)));
    again.all(&["ALTER TABLE t WITH cdc = false"]);
    assert!(again.statements_of("DESCRIBE TABLE t")[0].contains("'enabled': 'false'"));
    let of_log = session.statements_of(&format!("DESCRIBE TABLE {LOG}"));
    assert!(of_log[0].starts_with("/*\nCDC log table app.t_scylla_cdc_log is made and dropped with cdc of table t."), "{}", of_log[0]);
}

#[test]
fn system_tables_tell_libraries_of_streams() {
    let empty = app(&[]);
    let rows = |session: &Session, keyspace: &str, table: &str| session.system_rows(keyspace, table);
    let places = [
        ("system_distributed", "cdc_generation_timestamps", 1),
        ("system_distributed", "cdc_streams_descriptions_v2", 256),
        ("system_schema", "scylla_tables", 2),
        ("system", "cdc_timestamps", 2),
        ("system", "cdc_streams", 2 * 4096),
    ];
    let session = app(&[
        "CREATE TABLE t (k int PRIMARY KEY) WITH cdc = {'enabled': true}",
        "CREATE TABLE u (k int PRIMARY KEY) WITH cdc = {'enabled': true}",
    ]);
    for (keyspace, table, count) in places {
        assert!(rows(&empty, keyspace, table).is_empty());
        assert_eq!(rows(&session, keyspace, table).len(), count, "{table}");
    }
    let tables = system::table("system_schema", "tables").unwrap();
    let (name, extensions) = (tables.column("table_name").unwrap().0, tables.column("extensions").unwrap().0);
    let of = |wanted: &str| {
        let all = rows(&session, "system_schema", "tables");
        all.into_iter().find(|row| row.values[name].as_deref() == Some(wanted.as_bytes())).unwrap().values[extensions].clone().unwrap()
    };
    assert!(of("t").starts_with(b"\0\0\0\x01\0\0\0\x03cdc"));
    assert_eq!(of(LOG), [0; 4]);
}

#[test]
fn who_makes_a_log_may_read_it_until_it_is_gone() {
    let mut session = app(&["CREATE TABLE t (k int PRIMARY KEY)"]);
    let hash = "$2a$04$abcdefghijklmnopqrstuuBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBC";
    session.schema = cql::roles::with_first_superuser(&session.schema, hash).unwrap().into();
    (session.role, session.checks_permissions) = (Some("cassandra".to_owned()), true);
    session.all(&["CREATE ROLE jo WITH LOGIN = true", "GRANT CREATE, ALTER ON KEYSPACE app TO jo"]);
    session.role = Some("jo".to_owned());
    session.all(&["ALTER TABLE t WITH cdc = {'enabled': true}", "CREATE TABLE u (k int PRIMARY KEY) WITH cdc = {'enabled': true}"]);
    let may_read = |session: &Session, table: &str| {
        let permissions = session.schema.roles["jo"].permissions.get(&Resource::table("app", table)).copied().unwrap_or_default();
        permissions.contains(Permission::Select)
    };
    assert!(may_read(&session, LOG) && may_read(&session, "u_scylla_cdc_log") && !may_read(&session, "t"));
    session.role = Some("cassandra".to_owned());
    session.all(&["DROP TABLE t"]);
    assert!(!may_read(&session, LOG));
}

#[test]
fn a_log_masks_what_its_table_masks() {
    let mut session =
        app(&["CREATE TABLE t (k int PRIMARY KEY, v text MASKED WITH mask_inner(1, 1), e set<int>) WITH cdc = {'enabled': true}"]);
    let masks = |session: &Session| -> Vec<String> {
        let log = log(session);
        let masked = log.columns.iter().filter_map(|column| Some(format!("{} {}", column.name, column.mask.as_ref()?.function)));
        masked.collect()
    };
    assert_eq!(masks(&session), ["v mask_inner"]);
    // Elements of a collection have another type in the log, where its mask is of no use.
    session.all(&["ALTER TABLE t ALTER e MASKED WITH DEFAULT"]);
    assert_eq!(masks(&session), ["cdc$deleted_elements_e mask_null", "e mask_null", "v mask_inner"]);
    session.all(&["ALTER TABLE t ALTER v DROP MASKED", "ALTER TABLE t ALTER e DROP MASKED"]);
    assert_eq!(masks(&session), [""; 0]);
}
