//! Statements about what TarnDB does not have yet: each gets a clear answer, and dropping what is not there gets Cassandra's.

use super::DdlError;
use super::change::{Context, Outcome};
use super::error::{IndexError, RoleError};
use crate::language::ast::{AlterRole, Identifier, RoleOption, Statement};

/// Cassandra's, without permissions.
const AUTHORIZER: &str = "AllowAllAuthorizer";

/// The answer to a schema statement that is none of keyspaces, tables, user types and functions.
pub(super) fn answer(context: &Context<'_>, statement: &Statement) -> Result<Outcome, DdlError> {
    use Statement as S;
    let keyspace = |given: &Option<Identifier>| -> Result<String, DdlError> {
        let name = given.as_ref().map(Identifier::as_str).or(context.keyspace).ok_or(DdlError::NoKeyspace)?;
        Ok(name.to_owned())
    };
    let absent = |if_exists: bool, error: DdlError| if if_exists { Ok(Outcome::unchanged()) } else { Err(error) };
    let text = |name: &Identifier| name.as_str().to_owned();
    let is_known = context.environment.role.is_some();
    match statement {
        S::CreateTrigger(create) => {
            let found = context.existing_keyspace(create.table.keyspace.as_ref())?;
            let table = create.table.name.as_str();
            if !found.tables.contains_key(table) {
                return Err(DdlError::Index(IndexError::UnknownTable(table.to_owned())));
            }
            // A class of Java cannot be loaded.
            Err(DdlError::TriggerClass(create.class.to_string()))
        }
        S::DropTrigger(drop) => {
            let keyspace = keyspace(&drop.table.keyspace)?;
            let error = DdlError::UnknownTrigger { keyspace, table: text(&drop.table.name), name: text(&drop.name) };
            absent(drop.if_exists, error)
        }
        S::GrantPermissions(_) if is_known => Err(DdlError::Role(RoleError::NoAuthorizer("GRANT operation", AUTHORIZER))),
        S::RevokePermissions(_) if is_known => Err(DdlError::Role(RoleError::NoAuthorizer("REVOKE operation", AUTHORIZER))),
        S::ListPermissions(_) if is_known => Err(DdlError::Role(RoleError::NoAuthorizer("LIST PERMISSIONS operation", AUTHORIZER))),
        S::AlterRole(alter) if sets_password(alter) => Err(DdlError::Role(RoleError::RoleOption("PASSWORD"))),
        S::CreateRole(_)
        | S::AlterRole(_)
        | S::DropRole(_)
        | S::GrantRole(_)
        | S::RevokeRole(_)
        | S::GrantPermissions(_)
        | S::RevokePermissions(_)
        | S::ListPermissions(_)
        | S::ListRoles(_)
        | S::ListUsers
        | S::ListSuperusers
        | S::AddIdentity(_)
        | S::DropIdentity(_) => Err(DdlError::Anonymous),
        S::Unsupported(unsupported) => Err(DdlError::Unsupported(unsupported.text())),
        _ => Err(DdlError::NotASchemaStatement),
    }
}

fn sets_password(alter: &AlterRole) -> bool {
    alter.options.iter().any(|option| {
        matches!(
            option,
            RoleOption::Password(_) | RoleOption::HashedPassword(_) | RoleOption::PasswordHashes(_) | RoleOption::GeneratedPassword
        )
    })
}
