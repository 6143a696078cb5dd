//! Statements about users, databases and who may use which: decoded, and the lists that answer some of them. What they mean is for the node to say.
//!
//! A user is a role that may log in; a role without a password is one that may not.

use crate::GridError;
use crate::wire::{Options, Reader, Statement, put_i32, put_string, statement};
use model::{Permission, Permissions};

/// What the lists say of a superuser, and of everybody else.
const ADMINISTRATOR: u8 = 1;
const NORMAL: u8 = 0;

/// How many privileges a statement has at most.
const PRIVILEGES_MAX: usize = 1_024;

/// A statement about users and databases.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in the protocol")]
pub enum UserStatement {
    /// Of one, or of all.
    GetUsers {
        user: Option<String>,
    },
    /// A role if there is no digest of a password.
    PutUser {
        user: String,
        digest: Option<String>,
        is_modifiable: bool,
    },
    DropUser {
        user: String,
    },
    /// One, the client's own if the name is empty, or all.
    GetDatabases {
        database: Option<String>,
    },
    PutDatabase {
        database: String,
        privileges: Vec<(String, Privilege)>,
    },
    DropDatabase {
        database: String,
    },
    PutPrivilege {
        database: String,
        privileges: Vec<(String, Privilege)>,
    },
    DropPrivilege {
        database: String,
        privileges: Vec<(String, Privilege)>,
    },
}

/// What a user may do in a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// Read containers.
    Read,
    /// Make, change, drop, read and write them.
    All,
}

/// A user or role in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserShown<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it may log in.
    pub can_login: bool,
    /// Whether it may do everything.
    pub is_superuser: bool,
}

/// A database in a list, with who may use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseShown<'a> {
    /// Its name.
    pub name: &'a str,
    /// Users, and what they may do.
    pub privileges: Vec<(&'a str, Privilege)>,
}

impl Privilege {
    const READS: Permissions = Permissions::of(&[Permission::Select]);
    const ALL: Permissions =
        Permissions::of(&[Permission::Create, Permission::Alter, Permission::Drop, Permission::Select, Permission::Modify]);

    /// As permissions on all tables of the database's keyspace.
    #[must_use]
    pub fn permissions(self) -> Permissions {
        match self {
            Self::Read => Self::READS,
            Self::All => Self::ALL,
        }
    }

    /// What these permissions are shown as, which may be more.
    #[must_use]
    pub fn of(permissions: Permissions) -> Option<Self> {
        [Self::All, Self::Read].into_iter().find(|privilege| privilege.permissions().without(permissions).is_empty())
    }

    fn name(self) -> &'static str {
        match self {
            Self::Read => "READ",
            Self::All => "ALL",
        }
    }
}

impl UserStatement {
    /// The numbers of these statements.
    pub const NUMBERS: std::ops::RangeInclusive<i32> = statement::GET_USERS..=statement::DROP_PRIVILEGE;

    /// Decodes a statement.
    ///
    /// # Errors
    /// It cannot be read, or is none of these.
    pub fn read(statement: &Statement<'_>) -> Result<Self, GridError> {
        let mut reader = statement.arguments;
        let reader = &mut reader;
        Options::read(reader)?;
        Ok(match statement.number() {
            statement::GET_USERS => Self::GetUsers { user: read_optional(reader)? },
            statement::PUT_USER => {
                let user = reader.string()?.to_owned();
                let _kind = reader.u8()?;
                Self::PutUser { user, digest: read_optional(reader)?, is_modifiable: reader.bool()? }
            }
            statement::DROP_USER => Self::DropUser { user: reader.string()?.to_owned() },
            statement::GET_DATABASES => Self::GetDatabases { database: read_optional(reader)? },
            statement::PUT_DATABASE => {
                let (database, privileges) = read_privileges(reader)?;
                Self::PutDatabase { database, privileges }
            }
            statement::DROP_DATABASE => Self::DropDatabase { database: reader.string()?.to_owned() },
            statement::PUT_PRIVILEGE => {
                let (database, privileges) = read_privileges(reader)?;
                Self::PutPrivilege { database, privileges }
            }
            statement::DROP_PRIVILEGE => {
                let (database, privileges) = read_privileges(reader)?;
                Self::DropPrivilege { database, privileges }
            }
            number => return Err(GridError::unsupported(format!("statement {number} is not about users"))),
        })
    }

    /// Its name, for the audit log.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::GetUsers { .. } => "GET_USERS",
            Self::PutUser { .. } => "PUT_USER",
            Self::DropUser { .. } => "DROP_USER",
            Self::GetDatabases { .. } => "GET_DATABASES",
            Self::PutDatabase { .. } => "PUT_DATABASE",
            Self::DropDatabase { .. } => "DROP_DATABASE",
            Self::PutPrivilege { .. } => "PUT_PRIVILEGE",
            Self::DropPrivilege { .. } => "DROP_PRIVILEGE",
        }
    }
}

fn read_optional(reader: &mut Reader<'_>) -> Result<Option<String>, GridError> {
    if reader.bool()? { Ok(Some(reader.string()?.to_owned())) } else { Ok(None) }
}

/// A database's name, and users with what they may do in it.
fn read_privileges(reader: &mut Reader<'_>) -> Result<(String, Vec<(String, Privilege)>), GridError> {
    let database = reader.string()?.to_owned();
    let _kind = reader.u8()?;
    let count = reader.count()?;
    if count > PRIVILEGES_MAX {
        return Err(GridError::malformed("too many privileges"));
    }
    let privileges = (0..count).map(|_| {
        let user = reader.string()?.to_owned();
        let name = reader.string()?;
        let privilege = [Privilege::All, Privilege::Read].into_iter().find(|privilege| privilege.name() == name);
        Ok((user, privilege.ok_or(GridError::malformed("a privilege is ALL or READ"))?))
    });
    Ok((database, privileges.collect::<Result<_, GridError>>()?))
}

/// Appends a list of users. No password is in it, nor what is stored of one.
pub fn write_users(users: &[UserShown<'_>], out: &mut Vec<u8>) {
    put_i32(out, users.len() as i32);
    for user in users {
        put_string(out, if user.can_login { user.name } else { "" });
        out.push(if user.is_superuser { ADMINISTRATOR } else { NORMAL });
        // No hash, and an empty one.
        out.push(0);
        put_string(out, "");
    }
    for user in users {
        // Not one of a directory's groups.
        out.push(0);
        put_string(out, if user.can_login { "" } else { user.name });
    }
}

/// Appends a list of databases.
pub fn write_databases(databases: &[DatabaseShown<'_>], out: &mut Vec<u8>) {
    put_i32(out, databases.len() as i32);
    for database in databases {
        put_string(out, database.name);
        out.push(NORMAL);
        put_i32(out, database.privileges.len() as i32);
        for (user, privilege) in &database.privileges {
            put_string(out, user);
            put_string(out, privilege.name());
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::wire::put_i64;
    use base::Rng;

    fn body(number: i32, arguments: &[u8]) -> Vec<u8> {
        let mut body = [number.to_le_bytes(), 0_i32.to_le_bytes()].concat();
        put_i64(&mut body, 9);
        // No options.
        put_i32(&mut body, 0);
        body.extend_from_slice(arguments);
        body
    }

    fn text(of: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_string(&mut bytes, of);
        bytes
    }

    fn samples() -> Vec<(Vec<u8>, UserStatement)> {
        let owned = str::to_owned;
        let privileges = [&text("db")[..], &[0], &1_i32.to_le_bytes(), &text("ann"), &text("READ")].concat();
        let granted = || vec![(owned("ann"), Privilege::Read)];
        let put = |digest: &[u8], end: u8| body(statement::PUT_USER, &[&text("ann")[..], &[0], digest, &[end]].concat());
        vec![
            (body(statement::GET_USERS, &[0, 0]), UserStatement::GetUsers { user: None }),
            (body(statement::GET_USERS, &[&[1][..], &text("ann"), &[0]].concat()), UserStatement::GetUsers { user: Some(owned("ann")) }),
            (
                put(&[&[1][..], &text("digest")].concat(), 1),
                UserStatement::PutUser { user: owned("ann"), digest: Some(owned("digest")), is_modifiable: true },
            ),
            (put(&[0], 0), UserStatement::PutUser { user: owned("ann"), digest: None, is_modifiable: false }),
            (body(statement::DROP_USER, &text("ann")), UserStatement::DropUser { user: owned("ann") }),
            (body(statement::GET_DATABASES, &[0, 0]), UserStatement::GetDatabases { database: None }),
            (
                body(statement::PUT_DATABASE, &[&text("db")[..], &[0; 6]].concat()),
                UserStatement::PutDatabase { database: owned("db"), privileges: Vec::new() },
            ),
            (body(statement::DROP_DATABASE, &text("db")), UserStatement::DropDatabase { database: owned("db") }),
            (body(statement::PUT_PRIVILEGE, &privileges), UserStatement::PutPrivilege { database: owned("db"), privileges: granted() }),
            (body(statement::DROP_PRIVILEGE, &privileges), UserStatement::DropPrivilege { database: owned("db"), privileges: granted() }),
        ]
    }

    #[test]
    fn statements_are_read_as_clients_write_them() {
        for (body, expected) in samples() {
            let statement = Statement::read(&body, false).unwrap();
            assert!(UserStatement::NUMBERS.contains(&statement.number()));
            assert_eq!(UserStatement::read(&statement), Ok(expected));
        }
        let other = [&text("db")[..], &[0], &1_i32.to_le_bytes(), &text("ann"), &text("WRITE")].concat();
        let other = body(statement::PUT_PRIVILEGE, &other);
        assert!(UserStatement::read(&Statement::read(&other, false).unwrap()).is_err());
    }

    #[test]
    fn any_bytes_are_read_or_refused() {
        let mut random = Rng::new(46);
        for _ in 0..20_000 {
            let mut all = samples();
            let mut body = all.swap_remove(random.below(all.len() as u64) as usize).0;
            let at = 16 + random.below(body.len() as u64 - 16) as usize;
            match random.below(2) {
                0 => body[at] = random.next_u64() as u8,
                _ => body.truncate(at),
            }
            // Neither outcome panics.
            let _ = UserStatement::read(&Statement::read(&body, false).unwrap());
        }
    }

    #[test]
    fn permissions_are_shown_as_the_privilege_that_they_cover() {
        assert_eq!(Privilege::of(Permissions::default()), None);
        assert_eq!(Privilege::of(Permissions::of(&[Permission::Modify])), None, "there is none to write only");
        for privilege in [Privilege::Read, Privilege::All] {
            assert_eq!(Privilege::of(privilege.permissions()), Some(privilege));
        }
        assert_eq!(Privilege::of(Permissions::of(&Permission::ALL)), Some(Privilege::All));
    }

    #[test]
    fn lists_are_written_as_clients_read_them() {
        let mut out = Vec::new();
        let shown = |name, can_login, is_superuser| UserShown { name, can_login, is_superuser };
        write_users(&[shown("boss", true, true), shown("group", false, false)], &mut out);
        let parts = [
            &2_i32.to_le_bytes()[..],
            &text("boss"),
            &[1, 0],
            &text(""),
            &text(""),
            &[0, 0],
            &text(""),
            &[0],
            &text(""),
            &[0],
            &text("group"),
        ];
        assert_eq!(out, parts.concat());
        out.clear();
        write_databases(&[DatabaseShown { name: "db", privileges: vec![("ann", Privilege::All)] }], &mut out);
        let parts = [&1_i32.to_le_bytes()[..], &text("db"), &[0], &1_i32.to_le_bytes(), &text("ann"), &text("ALL")];
        assert_eq!(out, parts.concat());
    }
}
