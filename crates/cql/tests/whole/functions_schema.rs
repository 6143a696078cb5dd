//! CREATE and DROP of functions and aggregates: what is made, what is refused, and what is told of it.

use crate::schema_support::Session;
use cql::ddl::SchemaEventTarget;
use cql::wire::ChangeKind;
use model::schema_blob;

fn session() -> Session {
    let mut session = Session::new();
    session.all(&[
        "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "USE ks",
        "CREATE TYPE person (name text, age int)",
    ]);
    session
}

fn error(session: &mut Session, text: &str) -> String {
    session.run(text).expect_err(text).to_string()
}

const PLUS: &str = "FUNCTION plus(a int, b int) RETURNS NULL ON NULL INPUT RETURNS int LANGUAGE lua AS 'return a + b'";

#[test]
fn functions_come_and_go_with_their_events() {
    let mut session = session();
    let event = session.run(&format!("CREATE {PLUS}")).unwrap().change.unwrap().event.unwrap();
    assert_eq!(event.change, ChangeKind::Created);
    let argument_types = vec!["int".to_owned(), "int".to_owned()];
    assert_eq!(event.target, SchemaEventTarget::Function { name: "plus".to_owned(), argument_types });
    assert_eq!(error(&mut session, &format!("CREATE {PLUS}")), "Function 'plus' already exists");
    assert!(session.run(&format!("CREATE {}", PLUS.replace("FUNCTION", "FUNCTION IF NOT EXISTS"))).unwrap().change.is_none());
    let replaced = format!("CREATE OR REPLACE {}", PLUS.replace("a + b", "b + a"));
    assert_eq!(session.run(&replaced).unwrap().change.unwrap().event.unwrap().change, ChangeKind::Updated);
    assert_eq!(schema_blob::decode(&schema_blob::encode(&session.schema)).unwrap(), *session.schema);
    session.run("DROP FUNCTION plus(int, int)").unwrap();
    assert_eq!(error(&mut session, "DROP FUNCTION plus"), "Function 'ks.plus' doesn't exist");
    assert_eq!(error(&mut session, "DROP FUNCTION ks.plus(int)"), "Function 'ks.plus(int)' doesn't exist");
    assert!(session.run("DROP FUNCTION IF EXISTS plus").unwrap().change.is_none());
    assert!(session.run("DROP FUNCTION IF EXISTS other.plus(int)").unwrap().change.is_none());
}

#[test]
fn what_cannot_be_a_function_is_refused_in_cassandras_words() {
    let mut session = session();
    session.run(&format!("CREATE {PLUS}")).unwrap();
    let cases = [
        ("CREATE FUNCTION j(a int) CALLED ON NULL INPUT RETURNS int LANGUAGE java AS 'return a;'", "Language 'java' is not supported"),
        ("CREATE FUNCTION j(a int) CALLED ON NULL INPUT RETURNS int LANGUAGE rust AS 'x'", "Language 'rust' is not supported"),
        (
            "CREATE OR REPLACE FUNCTION IF NOT EXISTS f(a int) CALLED ON NULL INPUT RETURNS int LANGUAGE lua AS 'return a'",
            "Cannot use both 'OR REPLACE' and 'IF NOT EXISTS' directives",
        ),
        (
            "CREATE FUNCTION f(a int, a int) CALLED ON NULL INPUT RETURNS int LANGUAGE lua AS 'return a'",
            "Duplicate argument names for given function f with argument names [a, a]",
        ),
        ("CREATE FUNCTION no.f(a int) CALLED ON NULL INPUT RETURNS int LANGUAGE lua AS 'return a'", "Keyspace 'no' doesn't exist"),
        (
            "CREATE OR REPLACE FUNCTION plus(a int, b int) CALLED ON NULL INPUT RETURNS int LANGUAGE lua AS 'return a'",
            "Function 'plus' must have CALLED ON NULL INPUT directive",
        ),
        (
            "CREATE OR REPLACE FUNCTION plus(a int, b int) RETURNS NULL ON NULL INPUT RETURNS text LANGUAGE lua AS 'return a'",
            "Cannot replace function 'plus', the new return type text is not compatible with the return type int of existing function",
        ),
        ("CREATE FUNCTION f(a nothing) CALLED ON NULL INPUT RETURNS int LANGUAGE lua AS 'return 1'", "Unknown type ks.nothing"),
    ];
    for (text, expected) in cases {
        assert_eq!(error(&mut session, text), expected, "{text}");
    }
    let broken = error(&mut session, "CREATE FUNCTION f(a int) CALLED ON NULL INPUT RETURNS int LANGUAGE lua AS 'return return'");
    assert!(broken.starts_with("Could not compile function 'f': ks.f:1:"), "{broken}");
}

#[test]
fn overloads_are_dropped_by_their_types() {
    let mut session = session();
    for arguments in ["a int", "a text", "a list<int>, b frozen<person>"] {
        session.run(&format!("CREATE FUNCTION f({arguments}) CALLED ON NULL INPUT RETURNS int LANGUAGE lua AS 'return 1'")).unwrap();
    }
    let message = error(&mut session, "DROP FUNCTION f");
    assert!(message.starts_with("'DROP FUNCTION f' matches multiple function definitions; specify the argument types"), "{message}");
    // Whether a type is frozen tells no function from another.
    session.run("DROP FUNCTION f(frozen<list<int>>, person)").unwrap();
    session.run("DROP FUNCTION f(int)").unwrap();
    session.run("DROP FUNCTION f").unwrap();
    assert!(!session.schema.has_functions());
}

fn with_aggregates() -> Session {
    let mut session = session();
    session.all(&[
        "CREATE FUNCTION adds(s bigint, v int) CALLED ON NULL INPUT RETURNS bigint LANGUAGE lua AS 'return (s or 0) + (v or 0)'",
        "CREATE FUNCTION adds_some(s bigint, v int) RETURNS NULL ON NULL INPUT RETURNS bigint LANGUAGE lua AS 'return s + v'",
        "CREATE FUNCTION show(s bigint) CALLED ON NULL INPUT RETURNS text LANGUAGE lua AS $$return 'sum ' .. s$$",
        "CREATE AGGREGATE total(int) SFUNC adds STYPE bigint FINALFUNC show INITCOND 5",
    ]);
    session
}

#[test]
fn aggregates_hold_on_to_their_functions() {
    let mut session = with_aggregates();
    let aggregate = session.schema.keyspaces["ks"].functions.aggregates().next().unwrap().clone();
    assert_eq!((aggregate.returns.to_string(), aggregate.initial.clone()), ("text".to_owned(), Some(5i64.to_be_bytes().to_vec())));
    assert_eq!(error(&mut session, "DROP FUNCTION show"), "Function 'ks.show' is still referenced by aggregates ks.total");
    assert_eq!(
        error(&mut session, "DROP FUNCTION adds(bigint, int)"),
        "Function 'ks.adds(bigint, int)' is still referenced by aggregates ks.total"
    );
    session.run("DROP FUNCTION adds_some").unwrap();
    assert_eq!(error(&mut session, "DROP FUNCTION total"), "Function 'ks.total' doesn't exist");
    session.run("DROP AGGREGATE total(int)").unwrap();
    session.run("DROP FUNCTION show").unwrap();
    assert_eq!(error(&mut session, "DROP AGGREGATE total"), "Aggregate 'ks.total' doesn't exist");
}

#[test]
fn what_cannot_be_an_aggregate_is_refused_in_cassandras_words() {
    let mut session = with_aggregates();
    let cases = [
        ("CREATE AGGREGATE total(int) SFUNC adds STYPE bigint FINALFUNC show INITCOND 5", "Aggregate 'total' already exists"),
        ("CREATE AGGREGATE a(text) SFUNC adds STYPE bigint", "State function ks.adds(bigint, text) doesn't exist"),
        ("CREATE AGGREGATE a(int) SFUNC adds STYPE bigint FINALFUNC adds", "Final function ks.adds(bigint) doesn't exist"),
        (
            "CREATE AGGREGATE a(int) SFUNC adds_some STYPE bigint",
            "Cannot create aggregate 'a' without INITCOND because state function adds_some does not accept 'null' arguments",
        ),
        (
            "CREATE AGGREGATE a() SFUNC show STYPE bigint",
            "State function ks.show(bigint) return type must be the same as the first argument type - check STYPE, argument and return types",
        ),
        ("CREATE AGGREGATE adds(bigint, int) SFUNC adds STYPE bigint", "State function ks.adds(bigint, bigint, int) doesn't exist"),
        (
            "CREATE OR REPLACE AGGREGATE total(int) SFUNC adds STYPE bigint",
            "Cannot replace aggregate 'total', the new return type bigint isn't compatible with the return type text of existing function",
        ),
        (
            "CREATE FUNCTION total(a int) CALLED ON NULL INPUT RETURNS int LANGUAGE lua AS 'return 1'",
            "Function 'total' cannot replace an aggregate",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(error(&mut session, text), expected, "{text}");
    }
    assert!(session.run("CREATE AGGREGATE a(int) SFUNC adds STYPE bigint INITCOND 'x'").is_err());
    session.run("CREATE AGGREGATE adds(int) SFUNC adds STYPE bigint").unwrap();
    session.run("CREATE OR REPLACE AGGREGATE total(int) SFUNC adds STYPE bigint FINALFUNC show").unwrap();
}

#[test]
fn types_in_functions_are_not_dropped_and_change_with_them() {
    let mut session = session();
    session.all(&["CREATE FUNCTION age(p person) CALLED ON NULL INPUT RETURNS int LANGUAGE lua AS 'return p.age'"]);
    assert_eq!(error(&mut session, "DROP TYPE person"), "Cannot drop user type 'ks.person' as it is still used by functions ks.age");
    session.run("ALTER TYPE person ADD city text").unwrap();
    let keyspace = &session.schema.keyspaces["ks"];
    let function = keyspace.functions.functions().next().unwrap();
    let model::DataType::Udt(user, _) = &function.arguments[0].1 else { panic!("no user type") };
    assert_eq!(user, &keyspace.types["person"]);
    session.all(&["DROP FUNCTION age", "DROP TYPE person"]);
}

#[test]
fn descriptions_make_the_same_again() {
    let mut session = with_aggregates();
    session.all(&[
        "CREATE FUNCTION \"Odd\"(\"A\" map<text, frozen<list<int>>>, b tuple<int, text>) CALLED ON NULL INPUT RETURNS set<int> LANGUAGE lua \
         AS 'return {[#b[2]] = true} -- $$ it''s'",
    ]);
    assert_eq!(
        session.statements_of("DESCRIBE FUNCTION show"),
        ["CREATE FUNCTION ks.show(s bigint)\n    CALLED ON NULL INPUT\n    RETURNS text\n    LANGUAGE lua\n    AS $$return 'sum ' .. s$$;"]
    );
    assert_eq!(
        session.statements_of("DESCRIBE AGGREGATE total"),
        ["CREATE AGGREGATE ks.total(int)\n    SFUNC adds\n    STYPE bigint\n    FINALFUNC show\n    INITCOND 5;"]
    );
    let statements = session.statements_of("DESCRIBE KEYSPACE ks");
    let mut again = Session::new();
    again.all(&statements.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(again.schema.keyspaces["ks"].functions, session.schema.keyspaces["ks"].functions);
    assert_eq!(session.describe("DESCRIBE FUNCTIONS").unwrap().rows.len(), 4);
    assert_eq!(session.describe("DESCRIBE AGGREGATES").unwrap().rows.len(), 1);
    assert!(session.describe("DESCRIBE FUNCTION total").is_err() && session.describe("DESCRIBE AGGREGATE show").is_err());
    assert_eq!(session.system_rows("system_schema", "functions").len(), 4);
    assert_eq!(session.system_rows("system_schema", "aggregates").len(), 1);
}

#[test]
fn functions_need_permissions_and_take_them_along() {
    let mut session = with_aggregates();
    session.role = Some("cassandra".to_owned());
    session.checks_permissions = true;
    let hash = "$2b$10$TEDwZiPAH1KeXETkWVTqb.ChLV738ekqWq4LAZKqz63Mku3r2aMRm";
    session.all(&[
        &format!("ALTER ROLE cassandra WITH HASHED PASSWORD = '{hash}'"),
        &format!("CREATE ROLE r WITH LOGIN = true AND HASHED PASSWORD = '{hash}'"),
    ]);
    let denied = |permission: &str, on: &str| format!("User r has no {permission} permission on <{on}> or any of its parents");
    session.role = Some("r".to_owned());
    assert_eq!(error(&mut session, &format!("CREATE {PLUS}")), denied("CREATE", "all functions in ks"));
    assert_eq!(error(&mut session, "DROP FUNCTION show"), denied("DROP", "function ks.show(bigint)"));
    session.role = Some("cassandra".to_owned());
    session.run("GRANT CREATE ON ALL FUNCTIONS IN KEYSPACE ks TO r").unwrap();
    session.role = Some("r".to_owned());
    session.run(&format!("CREATE {PLUS}")).unwrap();
    let own = |session: &Session| session.schema.roles["r"].permissions.keys().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(own(&session), ["<all functions in ks>", "<function ks.plus(int, int)>"]);
    assert_eq!(error(&mut session, "CREATE AGGREGATE a(int) SFUNC adds STYPE bigint"), denied("EXECUTE", "function ks.adds(bigint, int)"));
    session.run(&format!("CREATE OR REPLACE {}", PLUS.replace("a + b", "b + a"))).unwrap();
    session.run("DROP FUNCTION plus").unwrap();
    assert_eq!(own(&session), ["<all functions in ks>"]);
    session.role = Some("cassandra".to_owned());
    session.run("GRANT EXECUTE ON FUNCTION ks.adds(bigint, int) TO r").unwrap();
    assert_eq!(error(&mut session, "GRANT EXECUTE ON FUNCTION ks.adds(int) TO r"), "Resource <function ks.adds(int)> doesn't exist");
    assert_eq!(
        error(&mut session, "GRANT SELECT ON FUNCTION ks.show(bigint) TO r"),
        "Resource type FunctionResource does not support any of the requested permissions"
    );
    session.role = Some("r".to_owned());
    session.run("CREATE AGGREGATE a(int) SFUNC adds STYPE bigint").unwrap();
    session.role = Some("cassandra".to_owned());
    session.run("DROP KEYSPACE ks").unwrap();
    assert_eq!(own(&session), Vec::<String>::new());
}
