//! The node's own CQL port, which the HTTP port asks for rows as the role that has logged in: so that permissions, routing, limits and the audit log are those of any
//! client.

use super::reply::{FORBIDDEN, Reply, UNAVAILABLE};
use crate::console::{Asker, Console};
use crate::feed::Link;
use crate::own_connection;
use crate::sql_tables::{CqlTables, SqlError};
use ::node::Board;
use cql::permissions::Rights;
use cql::wire::ProtocolVersion;
use load::cql::client::{Client, ClientError};
use tls::{CertificateNeed, ClientCertificate, Session};

/// Why it cannot be asked, if it cannot; `what` is not there then. Where clients need certificates to get at rows, so does who asks here for them.
pub(crate) fn refuse(console: &Console, asker: Asker<'_>, what: &str) -> Option<Reply> {
    if console.cql().is_none() {
        return Some(Reply::text(UNAVAILABLE, "starting"));
    }
    match console.tls().and_then(|config| config.tls.certificate_need()) {
        Some(CertificateNeed::ToLogIn) if asker.certificate() == ClientCertificate::None => {
            let why = "by name and password where certificates alone log clients in (setting `authentication`): show yours, as with curl --cert, and give neither";
            Some(Reply::text(FORBIDDEN, format!("{what} {why}")))
        }
        Some(CertificateNeed::ToConnect) if !asker.shows_certificate => {
            let why = "without a certificate, as other clients need one (setting `tls_client_ca`): show yours, as with curl --cert";
            Some(Reply::text(FORBIDDEN, format!("{what} {why}")))
        }
        _ => None,
    }
}

/// A connection to it.
pub(crate) fn connect(console: &Console, board: &Board, asker: Asker<'_>) -> Result<Client<Link>, ClientError> {
    Client::start_as(link(console, board, asker)?, ProtocolVersion::V4, asker.credentials())
}

/// The same, for requests that give way to those of other clients.
pub(crate) fn connect_in_background(console: &Console, board: &Board, asker: Asker<'_>) -> Result<Client<Link>, ClientError> {
    Client::start_in_background(link(console, board, asker)?, ProtocolVersion::V4, asker.credentials())
}

fn link(console: &Console, board: &Board, asker: Asker<'_>) -> std::io::Result<Link> {
    let starting = || std::io::Error::new(std::io::ErrorKind::NotConnected, "this node is starting");
    let cql = console.cql().ok_or_else(starting)?;
    let session = console.tls().map(|config| Session::to_itself(&config.tls)).transpose().map_err(std::io::Error::other)?;
    let (stream, client) = own_connection::connect(board, cql, asker.address, asker.certificate())?;
    Link::over(stream, session, Some(client))
}

/// The tables of a statement of SQL, as the role that asks sees them.
pub(crate) fn tables(
    console: &Console,
    board: &Board,
    asker: Asker<'_>,
    statement: &str,
    keyspace: Option<&str>,
) -> Result<CqlTables, SqlError> {
    let client = connect(console, board, asker).map_err(|error| SqlError::Tables(error.into()))?;
    let schema = board.schema();
    let rights = asker.login.filter(|_| console.checks_permissions()).map(|login| Rights::of(&schema, &login.role));
    Ok(CqlTables::new(client, schema, rights, statement, keyspace)?)
}
