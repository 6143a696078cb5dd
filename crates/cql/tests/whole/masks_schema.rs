//! Masks of columns in the schema: what is attached, what is refused, and what is told of it.

use crate::schema_support::Session;
use cql::describe;
use cql::permissions::Rights;
use cql::plan::prepare;
use model::{ColumnMask, DataType, MaskArgument, Permission, Permissions, Resource, Role, Schema, schema_blob};
use std::collections::BTreeMap;
use std::sync::Arc;

fn session() -> Session {
    let mut session = Session::new();
    session.all(&[
        "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE KEYSPACE other WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "USE ks",
        "CREATE FUNCTION plus(a int, b int) CALLED ON NULL INPUT RETURNS int LANGUAGE lua AS 'return (a or 0) + b'",
        "CREATE FUNCTION none() CALLED ON NULL INPUT RETURNS int LANGUAGE lua AS 'return 1'",
        "CREATE FUNCTION worded(a text) CALLED ON NULL INPUT RETURNS text LANGUAGE lua AS 'return a'",
        "CREATE FUNCTION wording(a int) CALLED ON NULL INPUT RETURNS text LANGUAGE lua AS 'return a'",
        "CREATE FUNCTION other.far(a int) CALLED ON NULL INPUT RETURNS int LANGUAGE lua AS 'return a'",
        "CREATE AGGREGATE total(int) SFUNC plus STYPE int INITCOND 0",
        "CREATE TABLE t (k int PRIMARY KEY, v int, w text)",
    ]);
    session
}

fn error(session: &mut Session, text: &str) -> String {
    session.run(text).expect_err(text).to_string()
}

fn mask_of(session: &Session, table: &str, column: &str) -> Option<ColumnMask> {
    let (_, column) = session.schema.table("ks", table).unwrap().column(column).unwrap();
    column.mask.as_deref().cloned()
}

fn native(function: &str, arguments: Vec<MaskArgument>) -> Option<ColumnMask> {
    Some(ColumnMask { keyspace: "system".to_owned(), function: function.to_owned(), arguments })
}

fn int(value: Option<i32>) -> MaskArgument {
    MaskArgument { data_type: DataType::Int, value: value.map(|value| value.to_be_bytes().to_vec()) }
}

#[test]
fn masks_come_go_and_change_with_their_columns() {
    let mut session = session();
    session.all(&[
        "CREATE TABLE m (a int MASKED WITH DEFAULT, b text MASKED WITH mask_inner(1, null), s int STATIC MASKED WITH ks.plus(1 + 2), \
         v set<int> MASKED WITH mask_null(), PRIMARY KEY (a, b)) WITH CLUSTERING ORDER BY (b DESC)",
    ]);
    assert_eq!(mask_of(&session, "m", "a"), native("mask_default", vec![]));
    assert_eq!(mask_of(&session, "m", "b"), native("mask_inner", vec![int(Some(1)), int(None)]));
    let plus = ColumnMask { keyspace: "ks".to_owned(), function: "plus".to_owned(), arguments: vec![int(Some(3))] };
    assert_eq!(mask_of(&session, "m", "s"), Some(plus));
    assert_eq!(mask_of(&session, "m", "v"), native("mask_null", vec![]));
    assert_eq!(schema_blob::decode(&schema_blob::encode(&session.schema)).unwrap(), *session.schema);
    session.all(&[
        "ALTER TABLE m ALTER a DROP MASKED",
        "ALTER TABLE m ALTER v MASKED WITH DEFAULT",
        "ALTER TABLE m ADD w text MASKED WITH mask_replace('no')",
    ]);
    assert_eq!(mask_of(&session, "m", "a"), None);
    assert_eq!(mask_of(&session, "m", "v"), native("mask_default", vec![]));
    let argument = MaskArgument { data_type: DataType::Text, value: Some(b"no".to_vec()) };
    assert_eq!(mask_of(&session, "m", "w"), native("mask_replace", vec![argument]));
    for unchanged in [
        "ALTER TABLE m ALTER a DROP MASKED",
        "ALTER TABLE m ALTER v MASKED WITH mask_default()",
        "ALTER TABLE m ALTER IF EXISTS nope MASKED WITH DEFAULT",
        "ALTER TABLE m ALTER IF EXISTS nope DROP MASKED",
        "ALTER TABLE IF EXISTS nope ALTER a DROP MASKED",
    ] {
        assert!(session.run(unchanged).unwrap().change.is_none(), "{unchanged}");
    }
    session.all(&["ALTER TABLE m DROP w", "ALTER TABLE m ADD w text"]);
    assert_eq!(mask_of(&session, "m", "w"), None, "a column that comes back has nothing of before");
}

#[test]
fn what_cannot_mask_is_refused_in_cassandras_words() {
    let mut session = session();
    let class = "org.apache.cassandra.db.marshal.Int32Type";
    let cases = [
        ("missing()", "Unable to find masking function for v, no declared function matches the signature missing()".to_owned()),
        (
            "ks.missing(1, 'a')",
            "Unable to find masking function for v, no declared function matches the signature ks.missing(1, 'a')".to_owned(),
        ),
        ("nowhere.f()", "Unable to find masking function for v, no declared function matches the signature nowhere.f()".to_owned()),
        ("mask_default(1)", "Invalid number of arguments for function system.mask_default(any)".to_owned()),
        (
            "mask_inner(1, 1)",
            format!("Function system.mask_inner requires an argument of type [text|varchar|ascii], but found argument {class} of type int"),
        ),
        ("tojson()", "Not-masking function tojson() cannot be used for masking table columns".to_owned()),
        ("total()", "Aggregate function total() cannot be used for masking table columns".to_owned()),
        ("none()", "Invalid number of arguments in call to function ks.none: 0 required but 1 provided".to_owned()),
        ("plus(1, 3)", "Invalid number of arguments in call to function ks.plus: 2 required but 3 provided".to_owned()),
        ("worded()", format!("Type error: {class} cannot be passed as argument 0 of function ks.worded of type text")),
        ("other.far()", "Masking function other.far() doesn't belong to the same keyspace as the table ks.t".to_owned()),
        (
            "mask_hash('SHA-512')",
            "Masking function mask_hash('SHA-512') return type is blob. This is different to the type of the masked column v of type int. \
             Masking functions can only be attached to table columns if they return the same data type as the masked column."
                .to_owned(),
        ),
    ];
    for (mask, expected) in cases {
        assert_eq!(error(&mut session, &format!("ALTER TABLE t ALTER v MASKED WITH {mask}")), expected, "{mask}");
        let created = error(&mut session, &format!("CREATE TABLE t2 (k int PRIMARY KEY, v int MASKED WITH {mask})"));
        assert_eq!(created, expected.replace("table ks.t", "table ks.t2"), "{mask}");
        assert_eq!(
            error(&mut session, &format!("ALTER TABLE t ADD n int MASKED WITH {mask}")),
            expected.replace("column v", "column n").replace("for v", "for n")
        );
    }
    let expected = "Function system.mask_inner requires an argument of type int, but found argument 'a' of type ascii";
    assert_eq!(error(&mut session, "ALTER TABLE t ALTER w MASKED WITH mask_inner('a', 'b')"), expected);
    assert!(
        error(&mut session, "ALTER TABLE t ALTER v MASKED WITH wording()").starts_with("Masking function wording() return type is text.")
    );
    assert_eq!(error(&mut session, "ALTER TABLE t ALTER nope MASKED WITH DEFAULT"), "Column with name 'nope' doesn't exist on table 't'");
    assert_eq!(error(&mut session, "ALTER TABLE t ALTER nope DROP MASKED"), "Column with name 'nope' doesn't exist on table 't'");
    assert!(!session.schema.has_masks());
}

#[test]
fn functions_that_mask_cannot_be_dropped() {
    let mut session = session();
    session.all(&["CREATE TABLE a (k int MASKED WITH plus(7) PRIMARY KEY)", "ALTER TABLE t ALTER v MASKED WITH plus(1)"]);
    session.run("DROP AGGREGATE total").unwrap();
    assert_eq!(error(&mut session, "CREATE TABLE other.t LIKE t"), "Masking function ks.plus doesn't belong to target keyspace 'other'.");
    assert_eq!(error(&mut session, "DROP FUNCTION plus"), "Function 'ks.plus' is still referenced by column masks in tables a, t");
    session.all(&["ALTER TABLE a ALTER k DROP MASKED"]);
    assert_eq!(error(&mut session, "DROP FUNCTION plus"), "Function 'ks.plus' is still referenced by column masks in tables t");
    session.all(&["DROP TABLE t", "DROP FUNCTION plus"]);
}

#[test]
fn views_have_the_masks_of_their_tables() {
    let mut session = session();
    session.all(&[
        "CREATE TABLE base (k int, c int MASKED WITH DEFAULT, v int, PRIMARY KEY (k, c))",
        "CREATE MATERIALIZED VIEW seen AS SELECT * FROM base WHERE k IS NOT NULL AND c IS NOT NULL AND v IS NOT NULL PRIMARY KEY (v, c, k)",
        "ALTER TABLE base ALTER v MASKED WITH plus(5)",
        "ALTER TABLE base ADD w text MASKED WITH DEFAULT",
    ]);
    let masks = |session: &Session| ["k", "c", "v", "w"].map(|column| mask_of(session, "seen", column).map(|mask| mask.function));
    assert_eq!(masks(&session), [None, Some("mask_default".to_owned()), Some("plus".to_owned()), Some("mask_default".to_owned())]);
    session.all(&["ALTER TABLE base ALTER v DROP MASKED"]);
    assert_eq!(masks(&session)[2], None);
}

#[test]
fn types_that_change_change_in_masks() {
    let mut session = session();
    session.all(&[
        "CREATE TYPE person (name text)",
        "CREATE TABLE p (k int PRIMARY KEY, v person MASKED WITH mask_replace({name: 'nobody'}))",
        "ALTER TYPE person ADD age int",
    ]);
    let mask = mask_of(&session, "p", "v").unwrap();
    let (_, column) = session.schema.table("ks", "p").unwrap().column("v").unwrap();
    assert_eq!(mask.arguments[0].data_type, column.data_type);
    assert!(prepare(&session.schema, Some("ks"), "SELECT v FROM p").unwrap().masking.is_some());
}

#[test]
fn masks_are_described_and_listed_as_cassandra_does() {
    let mut session = session();
    session.all(&[
        "CREATE TABLE one (k int MASKED WITH DEFAULT PRIMARY KEY, \"V\" text MASKED WITH mask_inner(1, null, '#'))",
        "CREATE TABLE two (k int, c text, s text STATIC MASKED WITH mask_replace('it''s'), v int MASKED WITH ks.plus(-3), PRIMARY KEY (k, c))",
    ]);
    let one = &session.statements_of("DESCRIBE TABLE one")[0];
    assert!(one.contains("\n    k int MASKED WITH system.mask_default() PRIMARY KEY,\n"), "{one}");
    assert!(one.contains("\n    \"V\" text MASKED WITH system.mask_inner(1, null, '#')\n"), "{one}");
    let two = &session.statements_of("DESCRIBE TABLE two")[0];
    assert!(two.contains("\n    s text static MASKED WITH system.mask_replace('it''s'),\n    v int MASKED WITH ks.plus(-3),\n"), "{two}");
    let described: Vec<String> = [one, two].iter().map(|text| text.replace("ks.one", "ks.uno").replace("ks.two", "ks.due")).collect();
    session.all(&[&described[0], &described[1]]);
    for (name, again) in [("one", "uno"), ("two", "due")] {
        let columns = |name: &str| session.schema.table("ks", name).unwrap().columns.clone();
        assert_eq!(columns(name), columns(again), "what is described can be made again");
    }
    let rows = session.system_rows("system_schema", "column_masks");
    let table = cql::system::table("system_schema", "column_masks").unwrap();
    let shown = |row: &cql::system::SystemRow| {
        let cells = table.columns.iter().zip(&row.values);
        cells.map(|(column, value)| cql::value::text::to_literal(&column.data_type, value.as_deref())).collect::<Vec<_>>().join(" ")
    };
    let all: Vec<String> = rows.iter().map(shown).collect();
    let expected = "'ks' 'one' 'V' [false, true, false] ['int', 'int', 'text'] ['1', '', '#'] 'system' 'mask_inner'";
    assert!(all.contains(&expected.to_owned()), "{all:?}");
    assert!(all.contains(&"'ks' 'two' 's' [false] ['text'] ['it''s'] 'system' 'mask_replace'".to_owned()), "{all:?}");
    assert!(all.contains(&"'ks' 'one' 'k' [] [] [] 'system' 'mask_default'".to_owned()), "{all:?}");
    assert_eq!(all.len(), 8);
    assert!(!describe::create_table(session.schema.table("ks", "t").unwrap()).contains("MASKED"));
}

fn rights(schema: &Schema, permissions: &[(Resource, &[Permission])]) -> (Schema, Rights) {
    let permissions = permissions.iter().map(|(resource, list)| (resource.clone(), Permissions::of(list))).collect();
    let role = Role { can_login: true, permissions, ..Role::default() };
    let boss = Role { can_login: true, is_superuser: true, ..Role::default() };
    let roles = BTreeMap::from([("jo".to_owned(), Arc::new(role)), ("boss".to_owned(), Arc::new(boss))]);
    let schema = Schema { roles, ..schema.clone() };
    let rights = Rights::of(&schema, &Arc::from("jo"));
    (schema, rights)
}

#[test]
fn who_may_not_see_masked_columns_may_not_look_for_them() {
    use Permission::{Modify, Select, SelectMasked, Unmask};
    let mut session = session();
    session.all(&[
        "CREATE TABLE m (k int MASKED WITH DEFAULT, c int, s int STATIC, v int MASKED WITH DEFAULT, l map<int, int> MASKED WITH DEFAULT, \
         PRIMARY KEY (k, c))",
        "CREATE TABLE n (k int PRIMARY KEY, v int MASKED WITH DEFAULT)",
        "CREATE MATERIALIZED VIEW mv AS SELECT * FROM n WHERE k IS NOT NULL AND v IS NOT NULL PRIMARY KEY (v, k)",
    ]);
    let cases = [
        ("SELECT * FROM m", "m", ""),
        ("SELECT * FROM m WHERE c = 7 ALLOW FILTERING", "m", ""),
        ("SELECT * FROM m WHERE k = 7", "m", "k"),
        ("SELECT v FROM m WHERE token(k) > 7", "m", "k"),
        ("SELECT * FROM m WHERE k = 7 AND v = 7 ALLOW FILTERING", "m", "k, v"),
        ("SELECT * FROM m WHERE v = 7 AND l CONTAINS 1 ALLOW FILTERING", "m", "l, v"),
        ("SELECT * FROM m WHERE l[1] = 7 ALLOW FILTERING", "m", "l"),
        ("SELECT k FROM mv WHERE v = 7", "mv", "v"),
        ("UPDATE n SET v = 1 WHERE k = 1", "n", ""),
        ("UPDATE n SET v = 1 WHERE k = 1 IF EXISTS", "n", ""),
        ("UPDATE n SET v = 1 WHERE k = 1 IF v > 3", "n", "v"),
        ("UPDATE m SET v = 1 WHERE k = 1 AND c = 1", "m", ""),
        ("UPDATE m SET v = 1 WHERE k = 1 AND c = 1 IF EXISTS", "m", "k"),
        ("INSERT INTO m (k, c) VALUES (1, 1) IF NOT EXISTS", "m", "k"),
        ("BEGIN BATCH UPDATE n SET v = 1 WHERE k = 1 IF v = 3; APPLY BATCH", "n", "v"),
    ];
    for (text, table, columns) in cases {
        let all = Resource::AllKeyspaces;
        for (extra, is_allowed, unmasks) in
            [(None, columns.is_empty(), false), (Some(SelectMasked), true, false), (Some(Unmask), true, true)]
        {
            let permissions: Vec<Permission> = [Select, Modify].into_iter().chain(extra).collect();
            let (schema, rights) = rights(&session.schema, &[(all.clone(), &permissions)]);
            let prepared = prepare(&schema, Some("ks"), text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(rights.unmask(&prepared), unmasks, "{text}");
            let expected =
                format!("User jo has no UNMASK nor SELECT_MASKED permission on table ks.{table}, cannot query masked columns [{columns}]");
            match rights.check_statement(&prepared) {
                Ok(()) => assert!(is_allowed, "{text}"),
                Err(error) => assert_eq!((error.to_string(), is_allowed), (expected, false), "{text}"),
            }
            assert!(Rights::of(&schema, &Arc::from("boss")).check_statement(&prepared).is_ok());
        }
    }
    let (schema, rights) = rights(&session.schema, &[(Resource::table("ks", "n"), &[Select, Unmask])]);
    let unmasks = |text: &str| rights.unmask(&prepare(&schema, Some("ks"), text).unwrap());
    assert!(unmasks("SELECT * FROM n") && unmasks("SELECT * FROM mv") && !unmasks("SELECT * FROM m"), "a view goes by its table");
    assert!(prepare(&schema, Some("ks"), "SELECT * FROM t").unwrap().masking.is_none());
}
