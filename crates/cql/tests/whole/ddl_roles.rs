//! Statements about roles by somebody who has logged in: what they make of the schema, and what is refused.

use crate::schema_support::Session;
use cql::ddl::PASSWORD_BYTES_MAX;
use cql::language::ast::PasswordHashes;
use cql::listings;
use cql::permissions::Rights;
use cql::roles::{self, Proof, Roles, Verifier};
use cql::{CqlError, language};
use model::{Role, Schema};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Of some password.
const HASH: &str = "$2a$04$abcdefghijklmnopqrstuuBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBC";

fn session(role: &str) -> Session {
    let mut session = Session::new();
    session.schema = roles::with_first_superuser(&session.schema, HASH).unwrap().into();
    session.role = Some(role.to_owned());
    session
}

fn invalid(message: &str) -> CqlError {
    CqlError::Invalid(message.to_owned())
}

fn unauthorized(message: &str) -> CqlError {
    CqlError::Unauthorized(message.to_owned())
}

/// Each statement is refused with its message.
fn assert_refused(session: &mut Session, refused: &[(&str, &str)], error: fn(&str) -> CqlError) {
    for (text, message) in refused {
        assert_eq!(session.run(text).unwrap_err(), error(message), "{text}");
    }
}

/// The names and figures that a LIST gives, a line a row.
fn listed(session: &Session, text: &str) -> Result<Vec<String>, CqlError> {
    let statement = language::parse(text).unwrap().statement;
    let role = session.role.as_deref().unwrap().into();
    let asker = listings::Asker { role: &role, keyspace: session.keyspace.as_deref(), checks_permissions: session.checks_permissions };
    let listing = listings::list(&statement, &session.schema, &asker).unwrap()?;
    let cell = |(index, value): (usize, Vec<u8>)| match index {
        0 => String::from_utf8(value).unwrap(),
        _ if value.len() == 1 => value[0].to_string(),
        _ => String::new(),
    };
    let line =
        |row: Vec<Option<Vec<u8>>>| row.into_iter().flatten().enumerate().map(cell).collect::<Vec<_>>().join(" ").trim_end().to_owned();
    Ok(listing.rows.into_iter().map(line).collect())
}

#[test]
fn there_is_a_first_superuser_whose_password_nobody_knows_beforehand() {
    let before = Session::new();
    let roles = Roles::of(&before.schema);
    assert!(
        roles.is_superuser("cassandra") && !roles.logs_in("cassandra", roles.verifier("cassandra", Proof::Password).hash),
        "nobody logs in yet"
    );
    let mut session = session("cassandra");
    let roles = Roles::of(&session.schema);
    assert!(roles.is_superuser("cassandra") && roles.logs_in("cassandra", roles.verifier("cassandra", Proof::Password).hash));
    session.all(&["CREATE ROLE jo WITH LOGIN = true"]);
    assert_eq!(session.schema.roles.keys().collect::<Vec<_>>(), ["cassandra", "jo"]);
    assert_eq!(listed(&session, "LIST ROLES").unwrap(), ["cassandra 1 1", "jo 0 1"]);
    assert_eq!(listed(&session, "LIST USERS").unwrap(), ["cassandra 1", "jo 0"]);
    let roles = Roles::of(&session.schema);
    for cannot in ["jo", "nobody"] {
        assert!(!roles.logs_in(cannot, roles.verifier(cannot, Proof::Password).hash), "the default's password is nobody else's");
    }
}

#[test]
fn options_are_set_and_changed() {
    let mut session = session("cassandra");
    session.all(&[&format!("CREATE ROLE jo WITH HASHED PASSWORD = '{HASH}' AND LOGIN = true")]);
    let role = session.schema.roles["jo"].clone();
    assert_eq!((role.can_login, role.is_superuser, role.password_hash.as_deref()), (true, false, Some(HASH)));
    session.all(&["ALTER ROLE jo WITH SUPERUSER = true AND LOGIN = false"]);
    let role = session.schema.roles["jo"].clone();
    assert_eq!((role.can_login, role.is_superuser, role.password_hash.as_deref()), (false, true, Some(HASH)), "the rest stays");
    assert!(session.run("ALTER ROLE jo WITH LOGIN = false").unwrap().change.is_none(), "nothing changes");
    assert!(session.run("CREATE ROLE IF NOT EXISTS jo").unwrap().change.is_none());
    assert!(session.run("ALTER ROLE IF EXISTS nobody WITH LOGIN = true").unwrap().change.is_none());
    assert!(session.run("DROP ROLE IF EXISTS nobody").unwrap().change.is_none());
    let change = session.run("DROP ROLE jo").unwrap().change.unwrap();
    assert!(change.event.is_none(), "drivers are not told");
    assert!(!session.schema.roles.contains_key("jo"));
}

#[test]
fn who_is_no_superuser_changes_its_own_password_and_nothing_else() {
    let mut session = session("cassandra");
    session.all(&["CREATE ROLE jo WITH LOGIN = true", "CREATE ROLE al WITH LOGIN = true"]);
    session.role = Some("jo".to_owned());
    session.all(&[&format!("ALTER ROLE jo WITH HASHED PASSWORD = '{HASH}'")]);
    let refused = [
        ("CREATE ROLE x", "User jo has no CREATE permission on <all roles> or any of its parents"),
        ("ALTER ROLE al WITH LOGIN = false", "User jo has no ALTER permission on <role al> or any of its parents"),
        ("DROP ROLE al", "User jo has no DROP permission on <role al> or any of its parents"),
        ("GRANT cassandra TO jo", "User jo has no AUTHORIZE permission on <role cassandra> or any of its parents"),
        ("REVOKE al FROM al", "User jo has no AUTHORIZE permission on <role al> or any of its parents"),
        ("ALTER ROLE jo WITH SUPERUSER = true", "You aren't allowed to alter your own superuser status or that of a role granted to you"),
        ("ALTER ROLE jo WITH LOGIN = false", "You aren't allowed to alter LOGIN"),
    ];
    assert_refused(&mut session, &refused, unauthorized);
    assert_eq!(listed(&session, "LIST ROLES").unwrap(), ["jo 0 1"], "itself");
    let hidden = unauthorized("You are not authorized to view roles granted to al ");
    assert_eq!(listed(&session, "LIST ROLES OF al").unwrap_err(), hidden);
}

#[test]
fn what_is_granted_is_inherited_and_never_in_a_circle() {
    let mut session = session("cassandra");
    session.all(&["CREATE ROLE boss WITH SUPERUSER = true", "CREATE ROLE team", "CREATE ROLE jo WITH LOGIN = true"]);
    session.all(&["GRANT boss TO team", "GRANT team TO jo"]);
    assert!(Roles::of(&session.schema).is_superuser("jo"));
    assert_eq!(listed(&session, "LIST ROLES OF jo").unwrap(), ["boss 1 0", "jo 1 1", "team 1 0"]);
    assert_eq!(listed(&session, "LIST ROLES OF jo NORECURSIVE").unwrap(), ["jo 1 1", "team 1 0"]);
    assert_eq!(session.run("GRANT jo TO boss").unwrap_err(), invalid("jo is a member of boss"));
    assert_eq!(session.run("GRANT boss TO jo").unwrap_err(), invalid("jo is a member of boss"));
    assert_eq!(session.run("GRANT jo TO jo").unwrap_err(), invalid("jo is a member of jo"));
    assert_eq!(session.run("REVOKE boss FROM jo").unwrap_err(), invalid("jo is not a member of boss"));
    session.all(&["DROP ROLE team"]);
    assert!(session.schema.roles["jo"].member_of.is_empty(), "nobody keeps what is gone");
    assert!(!Roles::of(&session.schema).is_superuser("jo"));
}

#[test]
fn somebody_can_always_manage_roles() {
    let mut session = session("cassandra");
    assert_eq!(session.run("DROP ROLE cassandra").unwrap_err(), invalid("Cannot DROP primary role for current login"));
    assert_eq!(
        session.run("ALTER ROLE cassandra WITH LOGIN = false").unwrap_err(),
        invalid("There would be no superuser left who can log in")
    );
    session.all(&["CREATE ROLE next WITH SUPERUSER = true AND LOGIN = true"]);
    // It has no password.
    assert_eq!(
        session.run("ALTER ROLE cassandra WITH LOGIN = false").unwrap_err(),
        invalid("There would be no superuser left who can log in")
    );
    session.all(&[&format!("ALTER ROLE next WITH HASHED PASSWORD = '{HASH}'"), "ALTER ROLE cassandra WITH LOGIN = false"]);
    // Who asks has been dropped meanwhile.
    session.role = Some("next".to_owned());
    session.all(&["DROP ROLE cassandra"]);
    session.role = Some("cassandra".to_owned());
    let gone = unauthorized("User cassandra has no CREATE permission on <all roles> or any of its parents");
    assert_eq!(session.run("CREATE ROLE x").unwrap_err(), gone);
}

#[test]
fn what_cannot_be_is_refused() {
    let mut session = session("cassandra");
    session.all(&["CREATE ROLE jo"]);
    let refused = [
        ("CREATE ROLE jo", "jo already exists"),
        ("CREATE ROLE ''", "Role name can't be an empty string, nor have a zero byte"),
        ("ALTER ROLE nobody WITH LOGIN = true", "Role nobody doesn't exist"),
        ("DROP ROLE nobody", "nobody doesn't exist"),
        ("GRANT nobody TO jo", "nobody doesn't exist"),
        ("GRANT jo TO nobody", "nobody doesn't exist"),
        ("CREATE ROLE x WITH HASHED PASSWORD = 'secret'", "Invalid hashed password value. Please use jBCrypt."),
        (
            "CREATE ROLE x WITH HASHED PASSWORD = '$2a$31$abcdefghijklmnopqrstuuBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB'",
            "Invalid hashed password value. Please use jBCrypt.",
        ),
        (
            "CREATE ROLE x WITH HASHED PASSWORD = '$2a$04$abcdefghijklmnopqrstuuBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB'",
            "Invalid hashed password value. Please use jBCrypt.",
        ),
        ("CREATE ROLE x WITH OPTIONS = {'max_connection': 1}", "a role has no option \"max_connection\"; did you mean max_connections?"),
        (
            "CREATE ROLE x WITH OPTIONS = {'max_connections': 'b'}",
            "The option max_connections of a role is a number up to 1000000000000, not \"b\"; 0 is no limit",
        ),
        (
            "CREATE ROLE x WITH ACCESS TO DATACENTERS {'datacenter1', 'dc3'}",
            "Invalid value(s) for DATACENTERS '[dc3]', All values must be valid datacenters",
        ),
        (
            "CREATE ROLE x WITH ACCESS FROM CIDRS {'10.0.0.0/8', 'office'}",
            "'office' is no address or network, as '10.1.0.0/16' or 'fd00::7' are; groups of networks have no names here",
        ),
        ("CREATE ROLE x WITH GENERATED PASSWORD", "GENERATED PASSWORD is not supported by TarnDB yet"),
        ("GRANT SELECT ON ALL KEYSPACES TO jo", "GRANT operation is not supported by AllowAllAuthorizer"),
        ("REVOKE SELECT ON ALL KEYSPACES FROM jo", "REVOKE operation is not supported by AllowAllAuthorizer"),
        ("LIST ALL PERMISSIONS", "LIST PERMISSIONS operation is not supported by AllowAllAuthorizer"),
    ];
    assert_refused(&mut session, &refused, invalid);
    assert_eq!(listed(&session, "LIST ROLES OF nobody").unwrap_err(), invalid("nobody doesn't exist"));
    for password in ["p".repeat(PASSWORD_BYTES_MAX + 1), String::new(), "p\0".to_owned()] {
        let statement = language::parse(&format!("CREATE ROLE x WITH PASSWORD = '{password}'")).unwrap().statement;
        assert_eq!(
            CqlError::from(roles::password_of(&statement).unwrap_err()),
            invalid("A password has 1 to 72 bytes, none of which is zero")
        );
    }
}

#[test]
fn access_is_from_the_networks_that_a_superuser_says() {
    let mut session = session("cassandra");
    session
        .run("CREATE ROLE jo WITH LOGIN = true AND ACCESS FROM CIDRS {'10.0.0.0/8', '::1'} AND ACCESS TO DATACENTERS {'datacenter1'}")
        .unwrap();
    let admitted = |session: &Session| {
        ["10.1.2.3", "::1", "127.0.0.1"].map(|address| Roles::of(&session.schema).admits("jo", address.parse().unwrap()))
    };
    assert_eq!(admitted(&session), [true, true, false]);
    session.run("ALTER ROLE jo WITH ACCESS TO ALL DATACENTERS").unwrap();
    assert_eq!(admitted(&session), [true, true, false]);
    session.run("ALTER ROLE jo WITH ACCESS FROM CIDRS {'10.1.2.3/8', '10.0.0.0/8', 'fd12::7/16'}").unwrap();
    let kept: Vec<&str> = session.schema.roles["jo"].whitelist.iter().map(String::as_str).collect();
    assert_eq!(kept, ["10.0.0.0/8", "fd12::/16"], "networks are known by their first address, as Cassandra's");
    session.run("ALTER ROLE jo WITH ACCESS FROM CIDRS {'127.0.0.1'}").unwrap();
    assert_eq!(admitted(&session), [false, false, true]);
    session.role = Some("jo".to_owned());
    let own = [
        ("ALTER ROLE jo WITH ACCESS FROM ALL CIDRS", "Only superusers are allowed to alter access from CIDR groups."),
        ("ALTER ROLE jo WITH ACCESS TO ALL DATACENTERS", "Only superusers are allowed to alter access to datacenters."),
    ];
    assert_refused(&mut session, &own, unauthorized);
    session.role = Some("cassandra".to_owned());
    session.run("ALTER ROLE jo WITH ACCESS FROM ALL CIDRS").unwrap();
    assert_eq!(admitted(&session), [true, true, true]);
}

#[test]
fn a_password_gives_way_to_its_hash() {
    let mut session = session("cassandra");
    for text in ["CREATE ROLE jo WITH PASSWORD = 'secret' AND LOGIN = true", "ALTER USER jo WITH PASSWORD 'secret'"] {
        assert!(session.run(text).is_err(), "it is never stored as it is");
        let mut statement = language::parse(text).unwrap().statement;
        assert_eq!(roles::password_of(&statement).unwrap(), Some("secret"));
        let hashes = PasswordHashes { password: Some(HASH.into()), ..PasswordHashes::default() };
        roles::set_hash(&mut statement, &hashes);
        assert_eq!(roles::password_of(&statement).unwrap(), None);
        assert!(!format!("{statement:?}").contains("secret"));
        session.all(&["CREATE ROLE IF NOT EXISTS jo"]);
    }
}

#[test]
fn a_proof_is_compared_with_the_hash_that_it_fits() {
    let all = [Proof::Password, Proof::AerospikeHash, Proof::GridDbDigest];
    // Of each proof: what the hash that it is compared with is one of, if a password has these hashes.
    for (hashes, expected) in [
        ([true, true, true], [Some(0), Some(1), Some(2)]),
        ([true, false, false], [Some(0), None, None]),
        ([false, true, false], [Some(1), Some(1), None]),
        ([false, false, true], [Some(2), None, Some(2)]),
        ([false, false, false], [None; 3]),
    ] {
        let [password_hash, aerospike_hash, griddb_hash] = [0, 1, 2].map(|at| hashes[at].then(|| format!("hash {at}")));
        let role = Role { can_login: true, password_hash, aerospike_hash, griddb_hash, ..Role::default() };
        let schema = Schema { roles: BTreeMap::from([("jo".to_owned(), Arc::new(role))]), ..Schema::empty() };
        let roles = Roles::of(&schema);
        for (proof, expected) in all.into_iter().zip(expected) {
            let Verifier { hash, of } = roles.verifier("jo", proof);
            match expected {
                Some(at) => assert_eq!((hash, of, roles.logs_in("jo", hash)), (&*format!("hash {at}"), all[at], true)),
                None => assert!(!roles.logs_in("jo", hash), "{hash} is nobody's"),
            }
        }
    }
}

/// Sessions of these roles on one schema, which has them and table `ks.t`; roles need permissions.
struct Guarded {
    session: Session,
}

impl Guarded {
    fn new() -> Self {
        let mut guarded = Self { session: Session { checks_permissions: true, ..session("cassandra") } };
        guarded.session.all(&[
            "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
            "CREATE TABLE ks.t (k int PRIMARY KEY, v int)",
            "CREATE TYPE ks.ty (a int)",
            "CREATE ROLE jo WITH LOGIN = true",
            "CREATE ROLE staff",
        ]);
        guarded
    }

    fn as_role(&mut self, role: &str) -> &mut Session {
        self.session.role = Some(role.to_owned());
        &mut self.session
    }

    /// Whether a role may run a statement about rows.
    fn runs(&self, role: &str, text: &str) -> Result<(), CqlError> {
        let prepared = cql::plan::prepare(&self.session.schema, None, text).unwrap();
        Rights::of(&self.session.schema, &role.into()).check_statement(&prepared)
    }
}

#[test]
fn a_statement_about_rows_needs_a_permission_on_its_table_or_above() {
    let mut guarded = Guarded::new();
    let missing = |permission: &str| unauthorized(&format!("User jo has no {permission} permission on <table ks.t> or any of its parents"));
    let (read, write, compare) = ("SELECT * FROM ks.t", "INSERT INTO ks.t (k) VALUES (1)", "UPDATE ks.t SET v = 1 WHERE k = 1 IF v = 2");
    for text in [write, compare, "TRUNCATE ks.t", "BEGIN BATCH DELETE FROM ks.t WHERE k = 1 APPLY BATCH"] {
        assert_eq!(guarded.runs("jo", text), Err(missing("MODIFY")), "{text}");
        guarded.runs("cassandra", text).unwrap();
    }
    assert_eq!(guarded.runs("jo", read), Err(missing("SELECT")));
    for resource in ["ks.t", "ALL TABLES IN KEYSPACE ks", "KEYSPACE ks", "ALL KEYSPACES"] {
        guarded.as_role("cassandra").all(&[&format!("GRANT MODIFY ON {resource} TO jo")]);
        guarded.runs("jo", write).unwrap();
        assert_eq!(guarded.runs("jo", compare), Err(missing("SELECT")), "a condition tells what is stored");
        guarded.as_role("cassandra").all(&[&format!("GRANT SELECT ON {resource} TO jo")]);
        guarded.runs("jo", compare).unwrap();
        guarded.as_role("cassandra").all(&[&format!("REVOKE ALL ON {resource} FROM jo")]);
        assert_eq!(guarded.runs("jo", read), Err(missing("SELECT")), "{resource}");
    }
    guarded.as_role("cassandra").all(&["GRANT SELECT ON ks.t TO staff", "GRANT staff TO jo"]);
    guarded.runs("jo", read).unwrap();
    guarded.as_role("cassandra").all(&["DROP TABLE ks.t", "CREATE TABLE ks.t (k int PRIMARY KEY, v int)"]);
    assert_eq!(guarded.runs("jo", read), Err(missing("SELECT")), "another table of the same name");
}

#[test]
fn drivers_can_read_what_they_need_and_no_more() {
    let guarded = Guarded::new();
    for table in ["system.local", "system.peers", "system.peers_v2", "system_schema.tables", "system_virtual_schema.tables"] {
        guarded.runs("jo", &format!("SELECT * FROM {table}")).unwrap();
    }
    for table in ["system_auth.roles", "system_auth.role_permissions", "system_views.clients"] {
        guarded.runs("cassandra", &format!("SELECT * FROM {table}")).unwrap();
        let message = format!("User jo has no SELECT permission on <table {table}> or any of its parents");
        assert_eq!(guarded.runs("jo", &format!("SELECT * FROM {table}")), Err(unauthorized(&message)));
    }
}

#[test]
fn a_statement_about_the_schema_needs_a_permission() {
    let mut guarded = Guarded::new();
    let create = "CREATE KEYSPACE own WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
    let needs = [
        (create, "CREATE", "<all keyspaces>"),
        ("ALTER KEYSPACE ks WITH durable_writes = true", "ALTER", "<keyspace ks>"),
        ("DROP KEYSPACE ks", "DROP", "<keyspace ks>"),
        ("DROP KEYSPACE IF EXISTS nothing", "DROP", "<keyspace nothing>"),
        ("CREATE TABLE ks.t2 (k int PRIMARY KEY)", "CREATE", "<all tables in ks>"),
        ("ALTER TABLE ks.t ADD w int", "ALTER", "<table ks.t>"),
        ("DROP TABLE ks.t", "DROP", "<table ks.t>"),
        ("CREATE INDEX ON ks.t (v)", "ALTER", "<table ks.t>"),
        ("CREATE TYPE ks.ty2 (a int)", "CREATE", "<all tables in ks>"),
        ("ALTER TYPE ks.ty ADD b int", "ALTER", "<all tables in ks>"),
        ("DROP TYPE ks.ty", "DROP", "<all tables in ks>"),
        ("GRANT SELECT ON ks.t TO jo", "AUTHORIZE", "<table ks.t>"),
        ("REVOKE SELECT ON ks.t FROM jo", "AUTHORIZE", "<table ks.t>"),
    ];
    for (text, permission, resource) in needs {
        let message = format!("User jo has no {permission} permission on {resource} or any of its parents");
        assert_eq!(guarded.as_role("jo").run(text).unwrap_err(), unauthorized(&message), "{text}");
    }
    let insufficient = "User jo does not have sufficient privileges to perform the requested operation";
    for text in
        ["CREATE ROLE other", "ALTER ROLE staff WITH LOGIN = true", "DROP ROLE staff", "DROP ROLE IF EXISTS nobody", "GRANT staff TO jo"]
    {
        assert_eq!(guarded.as_role("jo").run(text).unwrap_err(), unauthorized(insufficient), "{text}");
    }
    guarded.as_role("cassandra").all(&["GRANT CREATE ON ALL KEYSPACES TO jo", "GRANT CREATE ON ALL ROLES TO jo"]);
    guarded.as_role("jo").all(&[
        create,
        "CREATE TABLE own.t (k int PRIMARY KEY, v int)",
        "CREATE TABLE ks.mine (k int PRIMARY KEY)",
        "CREATE ROLE helper",
    ]);
    let own = [
        "CREATE INDEX i ON own.t (v)",
        "DROP INDEX own.i",
        "GRANT SELECT ON KEYSPACE own TO staff",
        "GRANT helper TO staff",
        "DROP TABLE ks.mine",
    ];
    guarded.as_role("jo").all(&own);
    guarded.runs("jo", "SELECT * FROM own.t").unwrap();
    assert!(guarded.runs("jo", "SELECT * FROM ks.t").is_err());
    guarded.as_role("jo").all(&["DROP KEYSPACE own", "DROP ROLE helper"]);
    let left: Vec<String> = guarded.session.schema.roles["jo"].permissions.keys().map(|resource| resource.name()).collect();
    assert_eq!(left, ["data", "roles"], "what is dropped leaves nothing behind");
}

#[test]
fn what_is_granted_is_listed() {
    let mut guarded = Guarded::new();
    guarded.as_role("cassandra").all(&[
        "GRANT ALL ON ks.t TO jo",
        "GRANT SELECT, EXECUTE ON KEYSPACE ks TO jo",
        "GRANT DESCRIBE ON ROLE staff TO jo",
        "GRANT EXECUTE ON ALL FUNCTIONS IN KEYSPACE ks TO staff",
    ]);
    let names = |session: &Session, text: &str| -> Result<Vec<String>, CqlError> {
        let statement = language::parse(text).unwrap().statement;
        let role = session.role.as_deref().unwrap().into();
        let asker = listings::Asker { role: &role, keyspace: None, checks_permissions: true };
        let text = |value: Option<Vec<u8>>| String::from_utf8(value.unwrap()).unwrap();
        let listing = listings::list(&statement, &session.schema, &asker).unwrap()?;
        Ok(listing.rows.into_iter().map(|row| row.into_iter().skip(1).map(text).collect::<Vec<_>>().join(" ")).collect())
    };
    let of_keyspace = "jo <keyspace ks> SELECT";
    let on_table =
        ["ALTER", "DROP", "SELECT", "MODIFY", "AUTHORIZE", "UNMASK", "SELECT_MASKED"].map(|name| format!("jo <table ks.t> {name}"));
    let mut all: Vec<String> = std::iter::once(of_keyspace.to_owned()).chain(on_table).collect();
    assert_eq!(names(&guarded.session, "LIST SELECT ON ks.t").unwrap(), [of_keyspace, "jo <table ks.t> SELECT"]);
    assert_eq!(names(&guarded.session, "LIST SELECT ON ks.t NORECURSIVE").unwrap(), ["jo <table ks.t> SELECT"]);
    all.push("jo <role staff> DESCRIBE".to_owned());
    assert_eq!(names(&guarded.session, "LIST ALL PERMISSIONS OF jo").unwrap(), all);
    assert_eq!(names(guarded.as_role("jo"), "LIST ALL OF jo").unwrap(), all);
    assert_eq!(names(guarded.as_role("jo"), "LIST ALL OF staff").unwrap(), ["staff <all functions in ks> EXECUTE"], "by DESCRIBE");
    assert_eq!(
        names(guarded.as_role("jo"), "LIST ALL").unwrap_err(),
        unauthorized("You are not authorized to view everyone's permissions")
    );
    assert_eq!(
        names(guarded.as_role("jo"), "LIST ALL OF cassandra").unwrap_err(),
        unauthorized("You are not authorized to view cassandra's permissions")
    );
    for (text, message) in [("LIST ALL ON ks.x", "<table ks.x> doesn't exist"), ("LIST ALL OF nobody", "<role nobody> doesn't exist")] {
        assert_eq!(names(guarded.as_role("cassandra"), text).unwrap_err(), invalid(message));
    }
}

#[test]
fn a_grant_that_makes_no_sense_is_refused_or_warned_of() {
    let mut guarded = Guarded::new();
    let session = guarded.as_role("cassandra");
    for (text, kind) in [
        ("GRANT DESCRIBE ON KEYSPACE ks TO jo", "DataResource"),
        ("GRANT CREATE ON ks.t TO jo", "DataResource"),
        ("GRANT CREATE ON ROLE staff TO jo", "RoleResource"),
        ("GRANT SELECT ON ALL FUNCTIONS TO jo", "FunctionResource"),
    ] {
        let message = format!("Resource type {kind} does not support any of the requested permissions");
        assert_eq!(session.run(text).unwrap_err(), CqlError::Syntax(message), "{text}");
    }
    let refused = [
        ("GRANT SELECT ON ks.x TO jo", "Resource <table ks.x> doesn't exist"),
        ("GRANT SELECT ON t TO jo", "No keyspace has been specified. USE a keyspace, or explicitly specify keyspace.tablename"),
        ("GRANT SELECT ON ALL TABLES IN KEYSPACE x TO jo", "Resource <all tables in x> doesn't exist"),
        ("GRANT ALTER ON ROLE nobody TO jo", "Resource <role nobody> doesn't exist"),
        ("GRANT SELECT ON ks.t TO nobody", "Role nobody doesn't exist"),
        ("GRANT EXECUTE ON FUNCTION f(int) TO jo", "In this context function name must be explictly qualified by a keyspace"),
        ("GRANT EXECUTE ON FUNCTION system.now() TO jo", "Altering permissions on builtin functions is not supported"),
        ("GRANT EXECUTE ON FUNCTION ks.f(int) TO jo", "Resource <function ks.f(int)> doesn't exist"),
    ];
    assert_refused(session, &refused, invalid);
    session.all(&["GRANT SELECT ON ks.t TO jo"]);
    let warned = |session: &mut Session, text: &str| session.run(text).unwrap().warnings;
    assert_eq!(warned(session, "GRANT SELECT, MODIFY ON ks.t TO jo"), ["Role 'jo' was already granted SELECT on <table ks.t>"]);
    assert_eq!(warned(session, "GRANT SELECT ON ks.t TO jo"), ["Role 'jo' was already granted SELECT on <table ks.t>"]);
    assert_eq!(warned(session, "REVOKE DROP, SELECT ON ks.t FROM jo"), ["Role 'jo' was not granted DROP on <table ks.t>"]);
}

#[test]
fn superusers_are_made_and_dropped_by_superusers() {
    let mut guarded = Guarded::new();
    guarded.as_role("cassandra").all(&[
        "CREATE ROLE root WITH SUPERUSER = true",
        "GRANT ALL ON ALL ROLES TO jo",
        "GRANT ALL ON ALL KEYSPACES TO jo",
    ]);
    let refused = [
        ("CREATE ROLE other WITH SUPERUSER = true", "Only superusers can create a role with superuser status"),
        ("ALTER ROLE staff WITH SUPERUSER = true", "Only superusers are allowed to alter superuser status"),
        ("DROP ROLE root", "Only superusers can drop a role with superuser status"),
        ("ALTER ROLE jo WITH LOGIN = true", "You aren't allowed to alter LOGIN"),
        ("ALTER ROLE jo WITH SUPERUSER = true", "You aren't allowed to alter your own superuser status or that of a role granted to you"),
    ];
    assert_refused(guarded.as_role("jo"), &refused, unauthorized);
    // As in Cassandra: who has these permissions on all roles can become one of them.
    guarded.as_role("jo").all(&["ALTER ROLE root WITH LOGIN = true", "GRANT root TO staff", "REVOKE root FROM staff"]);
    guarded.as_role("jo").all(&["ALTER ROLE staff WITH LOGIN = true", "GRANT staff TO jo", "CREATE ROLE other", "DROP ROLE other"]);
    assert_eq!(listed(guarded.as_role("jo"), "LIST ROLES").unwrap().len(), 4, "DESCRIBE on all roles");
}

#[test]
fn without_authorization_permissions_are_neither_granted_nor_needed() {
    let mut session = session("cassandra");
    session.all(&["CREATE ROLE jo WITH LOGIN = true"]);
    let error = session.run("GRANT SELECT ON ALL KEYSPACES TO jo").unwrap_err();
    assert_eq!(error, invalid("GRANT operation is not supported by AllowAllAuthorizer"));
    session.role = Some("jo".to_owned());
    session.all(&["CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"]);
}

#[test]
fn an_identity_is_one_roles_and_goes_with_it() {
    let mut guarded = Guarded::new();
    let boss = guarded.as_role("cassandra");
    boss.all(&[
        "ADD IDENTITY 'spiffe://x/jo' TO ROLE 'jo'",
        "ADD IDENTITY IF NOT EXISTS 'spiffe://x/jo' TO ROLE 'staff'",
        "ADD IDENTITY 'CN' TO ROLE 'jo'",
        "ADD IDENTITY 'spiffe://x/staff' TO ROLE 'staff'",
        "DROP IDENTITY IF EXISTS 'nobody'",
        "DROP IDENTITY 'CN'",
    ]);
    let of = |session: &Session, identity: &str| Roles::of(&session.schema).of_identity(identity).map(str::to_owned);
    assert_eq!([of(boss, "spiffe://x/jo"), of(boss, "CN")], [Some("jo".to_owned()), None]);
    let refused = [
        ("ADD IDENTITY 'spiffe://x/jo' TO ROLE 'staff'", "spiffe://x/jo already exists"),
        ("ADD IDENTITY 'new' TO ROLE 'nobody'", "Can not add identity for non-existent role 'nobody'"),
        ("ADD IDENTITY IF NOT EXISTS 'new' TO ROLE 'nobody'", "Can not add identity for non-existent role 'nobody'"),
        ("ADD IDENTITY '' TO ROLE 'jo'", "An identity has 1 to 2048 bytes"),
        ("DROP IDENTITY 'new'", "identity 'new' doesn't exist"),
    ];
    assert_refused(boss, &refused, invalid);
    boss.all(&["DROP ROLE staff"]);
    assert_eq!(of(boss, "spiffe://x/staff"), None, "who gets the name of a role later is somebody else");
    boss.all(&["ADD IDENTITY 'spiffe://x/staff' TO ROLE 'jo'"]);
}

#[test]
fn identities_are_for_who_may_make_and_drop_roles_and_those_of_superusers_for_superusers() {
    let mut guarded = Guarded::new();
    guarded.as_role("cassandra").all(&["ADD IDENTITY 'boss' TO ROLE 'cassandra'"]);
    let insufficient = "User jo does not have sufficient privileges to perform the requested operation";
    let refused =
        ["ADD IDENTITY 'jo' TO ROLE 'jo'", "ADD IDENTITY 'x' TO ROLE 'nobody'", "DROP IDENTITY 'x'", "DROP IDENTITY IF EXISTS 'boss'"];
    assert_refused(guarded.as_role("jo"), &refused.map(|text| (text, insufficient)), unauthorized);
    guarded.as_role("cassandra").all(&["GRANT CREATE, DROP ON ALL ROLES TO jo"]);
    guarded.as_role("jo").all(&["ADD IDENTITY 'staff' TO ROLE 'staff'", "DROP IDENTITY 'staff'"]);
    let only = "Only superusers can add or drop identities of a role with superuser status";
    assert_refused(
        guarded.as_role("jo"),
        &["ADD IDENTITY 'jo' TO ROLE 'cassandra'", "DROP IDENTITY 'boss'"].map(|text| (text, only)),
        unauthorized,
    );
    let mut nobody = Session::new();
    let anonymous = "You have to be logged in and not anonymous to perform this request";
    assert_refused(
        &mut nobody,
        &["ADD IDENTITY 'x' TO ROLE 'cassandra'", "DROP IDENTITY IF EXISTS 'x'"].map(|text| (text, anonymous)),
        unauthorized,
    );
}
