//! Statements that are not about rows: USE, DESCRIBE, TRUNCATE, and changes and listings of the schema.

use super::{Progress, Statements};
use crate::logins::HashedChange;
use crate::message::Message;
use crate::protocol::Reply;
use crate::protocol::cql::failures::login_failure;
use crate::protocol::cql::reply_header::ReplyHeader;
use crate::protocol::cql::schema::SchemaStatement;
use crate::requests::{REQUEST_BYTES, Request};
use crate::schema_changes::{SchemaAction, SchemaRequest};
use crate::slow::{Subject, Waited};
use base::CoreId;
use cql::language::ast::Describe;
use cql::listings::{self, Listing};
use cql::plan::{Prepared, Statement};
use cql::reply::{self, ResultColumn};
use cql::session::Client;
use cql::wire::{self, Opcode};
use cql::{CqlError, roles};
use io::Reactor;
use std::sync::Arc;

impl<R: Reactor<Message = Message>> Statements<'_, R> {
    /// Statements that are not about rows.
    pub(super) fn run_other(
        &mut self,
        client: &mut Client,
        header: ReplyHeader,
        prepared: &Arc<Prepared>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, CqlError> {
        let action = match &prepared.statement {
            Statement::Use(keyspace) => {
                reply::write_frame(out, header.version, header.stream, Opcode::Result, |body| wire::write_set_keyspace(body, keyspace));
                client.use_keyspace(keyspace);
                return Ok(Progress::Replied);
            }
            Statement::Describe(statement) => {
                self.describe(client, header, statement, out)?;
                return Ok(Progress::Replied);
            }
            Statement::Truncate(table) => SchemaAction::Truncate(vec![table.id]),
            Statement::Schema(statement) => {
                let (keyspace, role) = (prepared.keyspace.clone(), client.role.clone());
                if let Some(role) = &role {
                    let checks_permissions = self.core.config.checks_permissions;
                    let asker = listings::Asker { role, keyspace: client.keyspace.as_deref(), checks_permissions };
                    if let Some(listing) = listings::list(statement, &self.core.schema, &asker) {
                        write_listing(&listing?, header, out);
                        return Ok(Progress::Replied);
                    }
                    if let Some(password) = roles::password_of(statement)? {
                        let change = SchemaStatement { keyspace, role: Some(Arc::clone(role)), statement: statement.clone() };
                        self.hash_password(header, password, change)?;
                        return Ok(Progress::Waiting);
                    }
                }
                SchemaStatement { keyspace, role, statement: statement.clone() }.into_action()
            }
            Statement::Select(_) | Statement::Modify(_) | Statement::Batch(_) => {
                return Err(CqlError::Server("a statement about rows was not given to a shard".to_owned()));
            }
        };
        self.check_waiting()?;
        self.core.requests.watch.will_wait(Waited::Other, || Subject::Plan(Arc::clone(prepared)));
        let request = self.core.requests.insert(Request::single(self.connection, Reply::Cql(header), REQUEST_BYTES));
        let request = SchemaRequest { origin: self.core.core, request, action };
        self.reactor.send(CoreId(0), Message::ChangeSchema(Box::new(request)));
        Ok(Progress::Waiting)
    }

    fn describe(&self, client: &Client, header: ReplyHeader, statement: &Describe, out: &mut Vec<u8>) -> Result<(), CqlError> {
        let view = self.core.view();
        let description =
            cql::describe::describe(statement, client.keyspace.as_deref(), &view).map_err(|error| CqlError::Invalid(error.to_string()))?;
        let columns: Vec<ResultColumn> =
            description.columns.into_iter().map(|(name, data_type)| ResultColumn { name: name.to_owned(), data_type }).collect();
        let rows: Vec<Vec<Option<Vec<u8>>>> = description.rows.into_iter().map(|row| row.into_iter().map(Some).collect()).collect();
        reply::write_rows(out, header.version, header.stream, "system", "describe", &columns, &rows);
        Ok(())
    }

    /// Has the password of a change hashed, away from this core; the change follows with the hashes.
    fn hash_password(&mut self, header: ReplyHeader, password: &str, mut change: SchemaStatement) -> Result<(), CqlError> {
        self.check_waiting()?;
        let request = Request::single(self.connection, Reply::Cql(header), REQUEST_BYTES);
        let change: HashedChange = Box::new(move |hashes| {
            hashes.into_iter().for_each(|hashes| roles::set_hash(&mut change.statement, hashes));
            change.into_action()
        });
        let hashing = self.core.hash_password(self.reactor, request, password.to_owned(), change);
        hashing.map_err(|refusal| login_failure(&refusal))
    }
}

fn write_listing(listing: &Listing, header: ReplyHeader, out: &mut Vec<u8>) {
    let Listing { table, columns, rows } = listing;
    if rows.is_empty() {
        reply::write_void(out, header.version, header.stream);
    } else {
        reply::write_rows(out, header.version, header.stream, listings::KEYSPACE, table, columns, rows);
    }
}
