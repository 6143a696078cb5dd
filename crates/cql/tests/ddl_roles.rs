//! Statements about roles by somebody who has logged in: what they make of the schema, and what is refused.

#![allow(clippy::unwrap_used)]

mod schema_support;

use cql::ddl::PASSWORD_BYTES_MAX;
use cql::roles::{self, Roles};
use cql::{CqlError, language};
use schema_support::Session;

/// Of some password.
const HASH: &str = "$2a$04$abcdefghijklmnopqrstuuBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBC";

fn session(role: &str) -> Session {
    Session { role: Some(role.to_owned()), ..Session::new() }
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
    let listing = roles::list(&statement, &session.schema, session.role.as_deref().unwrap()).unwrap()?;
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
fn there_is_a_superuser_before_any_role_is_made_and_it_stays() {
    let mut session = session("cassandra");
    let roles = Roles::of(&session.schema);
    assert!(roles.is_superuser("cassandra") && roles.logs_in("cassandra", roles.hash_of("cassandra")));
    session.all(&["CREATE ROLE jo WITH LOGIN = true"]);
    assert_eq!(session.schema.roles.keys().collect::<Vec<_>>(), ["cassandra", "jo"]);
    assert_eq!(listed(&session, "LIST ROLES").unwrap(), ["cassandra 1 1", "jo 0 1"]);
    assert_eq!(listed(&session, "LIST USERS").unwrap(), ["cassandra 1", "jo 0"]);
    let roles = Roles::of(&session.schema);
    for cannot in ["jo", "nobody"] {
        assert!(!roles.logs_in(cannot, roles.hash_of(cannot)), "the default's password is nobody else's");
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
        ("ALTER ROLE jo WITH LOGIN = false", "You aren't allowed to alter login"),
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
        ("CREATE ROLE x WITH OPTIONS = {'a': 'b'}", "org.apache.cassandra.auth.CassandraRoleManager doesn't support OPTIONS"),
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
fn a_password_gives_way_to_its_hash() {
    let mut session = session("cassandra");
    for text in ["CREATE ROLE jo WITH PASSWORD = 'secret' AND LOGIN = true", "ALTER USER jo WITH PASSWORD 'secret'"] {
        assert!(session.run(text).is_err(), "it is never stored as it is");
        let mut statement = language::parse(text).unwrap().statement;
        assert_eq!(roles::password_of(&statement).unwrap(), Some("secret"));
        roles::set_hash(&mut statement, HASH);
        assert_eq!(roles::password_of(&statement).unwrap(), None);
        assert!(!format!("{statement:?}").contains("secret"));
        session.all(&["CREATE ROLE IF NOT EXISTS jo"]);
    }
}
