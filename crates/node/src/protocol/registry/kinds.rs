//! The protocols there are: what each has on a listener, a connection, a request and a core. `dispatch` acts on it.

#[cfg(test)]
use crate::protocol::ping;
use crate::protocol::{aerospike, cql, griddb};
use ::aerospike::exec::RecordCoordinator;
use model::operation::Coordinator;
use std::sync::Arc;

/// What is spoken on a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Cassandra's native protocol.
    Cql,
    /// Aerospike's.
    Aerospike,
    /// GridDB's.
    GridDb,
    /// What members of a cluster say to each other.
    Node,
    /// The tests' own.
    #[cfg(test)]
    Ping,
}

/// A connection's state.
pub(crate) enum Session {
    Cql(Box<::cql::session::Session>),
    Aerospike(Box<aerospike::Connected>),
    GridDb(Box<griddb::Connected>),
    #[cfg(test)]
    Ping(Box<ping::PingSession>),
}

/// Buffers that a core's sessions share.
#[derive(Default)]
pub(crate) struct Workspaces {
    pub(super) cql: ::cql::session::Workspaces,
    pub(super) aerospike: (),
    pub(super) griddb: (),
    #[cfg(test)]
    pub(super) ping: (),
}

/// How a request is answered.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reply {
    Cql(cql::ReplyHeader),
    Aerospike(aerospike::Answer),
    GridDb(::griddb::wire::ReplyHeader),
    #[cfg(test)]
    Ping(ping::PingReply),
}

/// Who drives a request over several partitions.
pub(crate) enum AnyCoordinator {
    Cql(Box<dyn Coordinator<Error = ::cql::CqlError>>),
    Aerospike(Box<dyn RecordCoordinator>),
    #[cfg(test)]
    Ping(ping::Count),
}

/// What a core keeps for its protocols.
pub(crate) struct CoreStates {
    pub(crate) cql: cql::CoreState,
    pub(crate) aerospike: aerospike::CoreState,
    pub(crate) griddb: griddb::CoreState,
}

impl CoreStates {
    pub(crate) fn new(statements: Arc<cql::SharedStatements>, schema: &model::Schema) -> Self {
        let (cql, griddb) = (cql::CoreState::new(statements), griddb::CoreState::new(schema));
        Self { cql, aerospike: aerospike::CoreState::default(), griddb }
    }
}
