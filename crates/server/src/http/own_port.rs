//! The node's own CQL port, which the HTTP port asks for rows as the role that has logged in: so that permissions, routing, limits and the audit log are those of any
//! client.

use super::reply::{CONFLICT, Reply, UNAVAILABLE};
use crate::console::{Console, Login};
use crate::feed::{Link, own_address};
use crate::sql_tables::{CqlTables, SqlError};
use ::node::Board;
use cql::permissions::Rights;
use cql::wire::ProtocolVersion;
use load::cql::client::{Client, ClientError, Credentials};
use tls::Session;

/// Why it cannot be asked, if it cannot; `what` is not there then.
pub(crate) fn refuse(console: &Console, what: &str) -> Option<Reply> {
    if console.cql().is_none() {
        return Some(Reply::text(UNAVAILABLE, "starting"));
    }
    let needs_certificate = console.tls().is_some_and(|config| matches!(Session::to_itself(&config.tls), Ok(None)));
    needs_certificate.then(|| {
        Reply::text(CONFLICT, format!("{what} where clients need certificates (setting `tls_client_ca`): the node has none to show itself"))
    })
}

/// A connection to it.
pub(crate) fn connect(console: &Console, login: Option<&Login>) -> Result<Client<Link>, ClientError> {
    let starting = || std::io::Error::new(std::io::ErrorKind::NotConnected, "this node is starting");
    let cql = console.cql().ok_or_else(starting)?;
    let session = console.tls().map(|config| Session::to_itself(&config.tls)).transpose().map_err(std::io::Error::other)?;
    let credentials = login.map(|login| Credentials { user: &login.role, password: &login.password });
    Client::start_as(Link::connect(own_address(cql), session.flatten())?, ProtocolVersion::V4, credentials)
}

/// The tables of a statement of SQL, as the role that asks sees them.
pub(crate) fn tables(
    console: &Console,
    board: &Board,
    login: Option<&Login>,
    statement: &str,
    keyspace: Option<&str>,
) -> Result<CqlTables, SqlError> {
    let client = connect(console, login).map_err(|error| SqlError::Tables(error.into()))?;
    let schema = board.schema();
    let rights = login.filter(|_| console.checks_permissions()).map(|login| Rights::of(&schema, &login.role));
    Ok(CqlTables::new(client, schema, rights, statement, keyspace)?)
}
