//! What a session asks of the node: statements, names and passwords, and what it announces.

use super::client::Client;
use super::credentials::Credentials;
use crate::CqlError;
use crate::clients::ConnectedClient;
use crate::wire::{Request, StreamId};
use std::net::SocketAddr;
use std::sync::Arc;

/// What the session cannot answer itself.
pub trait Server {
    /// The options of SUPPORTED.
    fn supported(&self) -> Vec<(String, Vec<String>)>;

    /// Whether connections may begin.
    ///
    /// # Errors
    /// Why not.
    fn admit(&self) -> Result<(), CqlError>;

    /// A client has sent STARTUP. It is connected as long as this lives.
    fn connected(&mut self, _client: &Arc<ConnectedClient>) {}

    /// As whom a client is served by its certificate; none if it has to log in by its password, or nobody has to.
    ///
    /// # Errors
    /// When it has shown a certificate that logs nobody in, or none where that is the only way.
    fn certified(&mut self, client: &Client) -> Result<Option<Arc<str>>, CqlError>;

    /// The class by which drivers choose how to log in by password; none where nobody has to.
    fn authenticator(&self) -> Option<&'static str>;

    /// Finds out whether the client is who it says. The answer comes later: [`crate::Session::log_in`], or an error.
    ///
    /// # Errors
    /// When it is not even looked at.
    fn authenticate(&mut self, stream: StreamId, address: SocketAddr, credentials: Credentials<'_>) -> Result<(), CqlError>;

    /// A statement (QUERY, PREPARE, EXECUTE or BATCH). Appends the plain reply frame to `out`, or nothing when the reply comes later.
    fn statement(&mut self, client: &mut Client, stream: StreamId, request: Request<'_>, out: &mut Vec<u8>);

    /// As [`Server::statement`], of a client that asks for a trace. The default keeps none, and announces none.
    fn traced_statement(&mut self, client: &mut Client, stream: StreamId, request: Request<'_>, out: &mut Vec<u8>) {
        self.statement(client, stream, request, out);
    }
}
