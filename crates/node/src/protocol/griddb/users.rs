//! Statements about users and databases: lists are answered here, changes are decided by core 0 ([`super::user_changes`]).

use super::failures::nobody;
use super::logins::{refusal, required};
use super::statements::Statements;
use super::user_changes::UserChange;
use crate::audit::{Category, Event, Operation};
use crate::logins::{HashedChange, Salts, hash_griddb, is_griddb_digest};
use crate::message::Message;
use crate::protocol::Reply;
use crate::requests::{REQUEST_BYTES, Request};
use crate::schema_changes::{SchemaAction, SchemaRequest};
use base::CoreId;
use cql::roles::Roles;
use cql::system::is_system_keyspace;
use griddb::session::Progress;
use griddb::users::{DatabaseShown, Privilege, UserShown, UserStatement, write_databases, write_users};
use griddb::wire::{Statement, Status};
use griddb::{ErrorCode, GridError, PUBLIC_DATABASE};
use io::Reactor;
use model::{Permission, Resource};
use std::sync::Arc;

impl<R: Reactor<Message = Message>> Statements<'_, R> {
    /// Serves a statement about users or databases, of a client of this database.
    pub(super) fn serve_users(&mut self, statement: &Statement<'_>, database: &str, out: &mut Vec<u8>) -> Progress {
        let start = out.len();
        let read = UserStatement::read(statement);
        let event = read.as_ref().ok().map(event_of);
        let served = read.and_then(|asked| self.users(asked, statement, database, out));
        let progress = served.unwrap_or_else(|error| {
            out.truncate(start);
            statement.reply.write_error(Status::StatementError, &error, out);
            Progress::Replied
        });
        if let Some(event) = event.filter(|_| self.core.audit.is_some()) {
            self.audit(event, progress, &out[start..], statement.reply.is_ipv6);
        }
        progress
    }

    fn users(&mut self, asked: UserStatement, statement: &Statement<'_>, database: &str, out: &mut Vec<u8>) -> Result<Progress, GridError> {
        let asker = self.client.as_deref().and_then(|client| client.role.clone());
        if asker.is_none() && self.core.config.requires_login {
            return Err(required());
        }
        match asked {
            UserStatement::GetUsers { user } => {
                let reply = statement.reply.begin(Status::Success, out);
                self.list_users(asker.as_ref(), user.as_deref(), out)?;
                reply.end(out);
                Ok(Progress::Replied)
            }
            UserStatement::GetDatabases { database: wanted } => {
                let wanted = wanted.map(|name| if name.is_empty() { database.to_owned() } else { name });
                let reply = statement.reply.begin(Status::Success, out);
                self.list_databases(asker.as_ref(), wanted.as_deref(), out)?;
                reply.end(out);
                Ok(Progress::Replied)
            }
            asked => self.change_users(asker, asked, statement),
        }
    }

    /// Has core 0 make a change, once the digest of a password is hashed if there is one.
    fn change_users(&mut self, asker: Option<Arc<str>>, asked: UserStatement, statement: &Statement<'_>) -> Result<Progress, GridError> {
        let core = &mut *self.core;
        if core.is_full() {
            return Err(GridError::new(ErrorCode::CM_NO_MEMORY, "too many requests wait on this core; try again later"));
        }
        let bytes = REQUEST_BYTES + statement.arguments.rest().len();
        let request = Request::single(self.connection, Reply::GridDb(statement.reply), bytes);
        let UserStatement::PutUser { digest: Some(digest), .. } = &asked else {
            let request = core.requests.insert(request);
            let action = SchemaAction::Change(Box::new(UserChange { asker, asked, hashes: None }));
            self.reactor.send(CoreId(0), Message::ChangeSchema(Box::new(SchemaRequest { origin: core.core, request, action })));
            return Ok(Progress::Waiting);
        };
        if !is_griddb_digest(digest) {
            let message = "what is stored of a password is made from its SHA-256 in hexadecimal, which this is not";
            return Err(GridError::new(ErrorCode::TXN_OPERATION_NOT_ALLOWED, message));
        }
        if asker.is_none() {
            return Err(nobody());
        }
        let digest = digest.clone();
        let change: HashedChange =
            Box::new(move |hashes| SchemaAction::Change(Box::new(UserChange { asker, asked, hashes: hashes.cloned() })));
        let make = move |[salt, ..]: Salts| hash_griddb(&digest, salt);
        core.hash(self.reactor, request, change, make).map_err(|why| refusal(&why))?;
        Ok(Progress::Waiting)
    }

    /// Whether somebody may see all users, and who may use which database.
    fn describes(&mut self, asker: &Arc<str>) -> bool {
        match self.core.config.checks_permissions {
            true => self.core.rights_of(asker).allow(Permission::Describe, &Resource::AllRoles),
            false => Roles::of(&self.core.schema).is_superuser(asker),
        }
    }

    fn list_users(&mut self, asker: Option<&Arc<str>>, user: Option<&str>, out: &mut Vec<u8>) -> Result<(), GridError> {
        let asker = asker.ok_or_else(nobody)?;
        if user != Some(&**asker) && !self.describes(asker) {
            let message = format!("the user {asker} has no DESCRIBE permission on {}", Resource::AllRoles);
            return Err(GridError::new(ErrorCode::TXN_OPERATION_NOT_ALLOWED, message));
        }
        let roles = Roles::of(&self.core.schema);
        let all = self.core.schema.roles.iter().filter(|(name, _)| user.is_none_or(|user| user == *name));
        let shown: Vec<UserShown<'_>> =
            all.map(|(name, role)| UserShown { name, can_login: role.can_login, is_superuser: roles.is_superuser(name) }).collect();
        if let Some(user) = user.filter(|_| shown.is_empty()) {
            return Err(GridError::new(ErrorCode::TXN_OPERATION_NOT_ALLOWED, format!("there is no user {user}")));
        }
        write_users(&shown, out);
        Ok(())
    }

    /// Lists the keyspaces that somebody may do something in, or one, with the privileges that it may know of.
    fn list_databases(&mut self, asker: Option<&Arc<str>>, wanted: Option<&str>, out: &mut Vec<u8>) -> Result<(), GridError> {
        let sees_all = asker.is_none_or(|asker| self.describes(asker));
        let rights = asker.map(|asker| self.core.rights_of(asker));
        let checks = self.core.config.checks_permissions;
        let schema = &self.core.schema;
        let is_public = |name: &str| name == PUBLIC_DATABASE && !schema.keyspaces.contains_key(name);
        if let Some(name) = wanted.filter(|name| !schema.keyspaces.contains_key(*name) && !is_public(name)) {
            return Err(GridError::new(ErrorCode::TXN_DATABASE_NOT_EXIST, format!("there is no database {name}")));
        }
        let may_see =
            |name: &str| !checks || sees_all || name == PUBLIC_DATABASE || rights.as_ref().is_none_or(|rights| rights.uses_keyspace(name));
        // One that is not made yet is there nevertheless.
        let public = Some(PUBLIC_DATABASE).filter(|name| is_public(name));
        let all = schema.keyspaces.keys().map(String::as_str).chain(public).filter(|name| !is_system_keyspace(name));
        let names = all.filter(|name| wanted.map_or_else(|| may_see(name), |wanted| wanted == *name));
        let shown = names.map(|name| {
            let tables = Resource::AllTablesIn(name.to_owned());
            let privileges = schema.roles.iter().filter(|(role, _)| sees_all || asker.is_some_and(|asker| **asker == ***role));
            let privileges = privileges.filter_map(|(role, stored)| {
                let granted = tables.chain().filter_map(|resource| stored.permissions.get(&resource).copied());
                let granted = granted.fold(Default::default(), model::Permissions::or);
                Some((role.as_str(), Privilege::of(granted)?))
            });
            DatabaseShown { name, privileges: privileges.collect() }
        });
        write_databases(&shown.collect::<Vec<_>>(), out);
        Ok(())
    }
}

/// What the audit log tells. No password, and nothing that is made of one.
fn event_of(asked: &UserStatement) -> Event {
    let event = |keyspace: Option<&String>, object: Option<&String>, category| Event {
        category,
        kind: asked.name(),
        keyspace: keyspace.map(|name| name.as_str().into()),
        object: object.map(|name| name.as_str().into()),
        operation: Operation::None,
    };
    match asked {
        UserStatement::GetUsers { user } => event(None, user.as_ref(), Category::Dcl),
        UserStatement::PutUser { user, .. } | UserStatement::DropUser { user } => event(None, Some(user), Category::Dcl),
        UserStatement::GetDatabases { database } => event(database.as_ref(), None, Category::Query),
        UserStatement::PutDatabase { database, .. } | UserStatement::DropDatabase { database } => {
            event(Some(database), None, Category::Ddl)
        }
        UserStatement::PutPrivilege { database, privileges } | UserStatement::DropPrivilege { database, privileges } => {
            event(Some(database), privileges.first().map(|(user, _)| user), Category::Dcl)
        }
    }
}
