//! How a side is connected to: by which addresses, as whom.

use super::super::error::{ImportError, Side};
use crate::endpoint::Endpoint;
use crate::feed::Link;
use load::aerospike::client::{Client, ClientError};
use std::io::Error;

/// A connection that is let in.
pub(super) type Connection = Client<Link>;

/// A side.
pub(super) struct Connector {
    endpoint: Endpoint,
    pub(super) side: Side,
    /// The user, and what the protocol's clients make of its password; none if that cannot be a password.
    login: Option<(String, Option<String>)>,
}

impl Connector {
    pub(super) fn new(endpoint: Endpoint, side: Side) -> Self {
        let login = endpoint.login().map(|(user, password)| (user.to_owned(), node::aerospike_hash(password)));
        Self { endpoint, side, login }
    }

    pub(super) fn failed(&self, error: ClientError) -> ImportError {
        ImportError::Aerospike { side: self.side, error }
    }

    /// To the first node that answers, from the one with this number on.
    pub(super) fn connect(&self, number: usize) -> Result<Connection, ImportError> {
        self.endpoint.first(number, |address| self.open(address)).map_err(|error| self.failed(error))
    }

    /// To this node.
    pub(super) fn connect_to(&self, address: &str) -> Result<Connection, ImportError> {
        self.open(address).map_err(|error| self.failed(error))
    }

    fn open(&self, address: &str) -> Result<Connection, ClientError> {
        let named = |error: Error| Error::new(error.kind(), format!("{address}: {error}"));
        let mut client = Client::new(self.endpoint.link(address).map_err(named)?);
        if let Some((user, credential)) = &self.login {
            match client.log_in(user, credential.as_deref().unwrap_or_default()) {
                Err(ClientError::Io(error)) => return Err(named(error).into()),
                done => done?,
            }
        }
        Ok(client)
    }

    /// HOST:PORT of each node that is named.
    pub(super) fn addresses(&self) -> &[String] {
        self.endpoint.addresses()
    }

    /// What tells the other nodes of a cluster, at addresses that speak as this side is spoken to.
    pub(super) fn peers_command(&self) -> &'static str {
        if self.endpoint.speaks_tls() { "peers-tls-std" } else { "peers-clear-std" }
    }
}
