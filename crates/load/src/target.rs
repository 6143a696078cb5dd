//! What stands between the load generator and a protocol.
//!
//! [`Target`] is the part that may block: look at a server, make the schema. [`Session`] is the hot part: bytes in, bytes out, no I/O, so
//! that one event loop drives every protocol.

pub use crate::route::{CoreOf, Route};

use crate::ring::Ring;
use crate::tables::Table;
use crate::workload::{Clients, Mix, Pace, Rows};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// A server or cluster under load.
pub trait Target: Send + Sync {
    /// Name of the protocol, for example `cql`.
    fn protocol(&self) -> &'static str;

    /// Where its nodes are; connections are spread over them.
    fn addresses(&self) -> &[SocketAddr];

    /// Where connections go, one after the other and over again, of clients without a [`Target::topology`]. Asks nodes how many cores they have, if the protocol can tell cores.
    fn routes(&self) -> Vec<Route> {
        self.addresses().iter().map(|address| Route { address: *address, core: None }).collect()
    }

    /// Where partitions are, for clients that send each request to the node that serves its key; none if these do not.
    fn topology(&self) -> Option<Box<dyn Topology>> {
        None
    }

    /// Clients with as many requests in flight as `wanted` has, the way in which the protocol has them.
    fn clients(&self, wanted: Clients) -> Clients {
        wanted
    }

    /// Rows of one request, where the protocol has requests about many: all that a connection has in flight. Those of a request should be of one table.
    fn batch(&self) -> u32 {
        1
    }

    /// When requests are sent where `wanted` says so: a connection that asks for many rows at once asks for no more before it has all of them.
    fn pace(&self, wanted: Pace) -> Pace {
        if self.batch() > 1 && wanted == Pace::Closed { Pace::Batches } else { wanted }
    }

    /// Connects and asks who is there.
    ///
    /// # Errors
    /// One line that says what is the matter: refused, no answer, wrong credentials, not this protocol.
    fn check(&self) -> Result<ServerInfo, TargetError>;

    /// Makes the schema that `rows` need, unless it is there.
    ///
    /// # Errors
    /// When the server refuses it.
    fn create(&self, rows: &Rows) -> Result<(), TargetError>;

    /// Removes all rows and their schema, however many tables they are in. Not an error if there are none.
    ///
    /// # Errors
    /// When the server refuses it.
    fn drop_dataset(&self) -> Result<(), TargetError>;

    /// Whether a read brings all fields of its row, so that their lengths can be looked at.
    fn reads_all_fields(&self) -> bool {
        true
    }

    /// What `count` connections speak.
    ///
    /// # Errors
    /// When rows or mix cannot be expressed in the protocol.
    fn sessions(&self, rows: &Rows, mix: &Mix, count: u32) -> Result<Vec<Box<dyn Session>>, TargetError>;
}

/// Says where partitions are now.
pub trait Topology: Send {
    /// Asks a node that is there. May block for some seconds.
    ///
    /// # Errors
    /// When it gives no answer; the next call asks another one.
    fn look(&mut self) -> Result<Ring, TargetError>;
}

/// The protocol's state of one connection: sans-io.
pub trait Session: Send {
    /// A new socket is there: forgets the old one and appends the first bytes to send.
    fn open(&mut self, out: &mut Vec<u8>);

    /// Whether requests can be sent.
    fn is_ready(&self) -> bool;

    /// Appends a request; `stream` is the caller's, and not in use. Only when [`Session::is_ready`].
    fn request(&mut self, stream: u16, request: &Request<'_>, out: &mut Vec<u8>);

    /// Completes what was appended, to be called before bytes are sent.
    fn flush(&mut self, out: &mut Vec<u8>);

    /// Takes bytes that came, tells replies, appends what the handshake sends next.
    ///
    /// # Errors
    /// When the connection is of no further use.
    fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>, replies: &mut dyn Replies) -> Result<(), TargetError>;
}

/// What a client asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// All fields of a row.
    Read {
        /// Its key.
        key: RowKey<'a>,
    },
    /// Writes fields of a row.
    Write {
        /// The row.
        row: RowVersion<'a>,
        /// The only field to write, or all.
        field: Option<u32>,
        /// Whether the row is there already.
        kind: WriteKind,
        /// Write timestamp, microseconds since 1970.
        timestamp_us: i64,
    },
    /// Rows of a table from a key on, in the server's order.
    Scan {
        /// The key.
        key: RowKey<'a>,
        /// How many.
        rows: u32,
    },
}

/// Where a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowKey<'a> {
    /// Its number.
    pub number: u64,
    /// In which table.
    pub table: Table,
    /// The bytes of its key.
    pub bytes: &'a [u8],
}

/// What a write expects of its row. Not every protocol asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// It is not there.
    Insert,
    /// It is.
    Update,
}

/// What values are drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowVersion<'a> {
    /// Which row.
    pub key: RowKey<'a>,
    /// Which of the values that the row has in the course of time.
    pub version: u32,
}

/// Hears of replies.
pub trait Replies {
    /// A write was done.
    fn written(&mut self, stream: u16);

    /// Rows came: how many, and the fields of the first in the table's order.
    fn rows(&mut self, stream: u16, rows: usize, fields: &mut dyn Iterator<Item = Option<&[u8]>>);

    /// The server refused a request; `kind` is the protocol's name for the error.
    fn refused(&mut self, stream: u16, kind: &'static str, message: &str);
}

/// What a server says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerInfo {
    /// For example `TarnDB`, `Apache Cassandra`, `ScyllaDB`.
    pub product: String,
    /// As the server says it.
    pub version: String,
    /// Nodes that it knows of, itself included.
    pub nodes: u32,
    /// What else it says: cluster name, protocol version, partitioner, data centre.
    pub details: BTreeMap<String, String>,
}

/// Why a target cannot be used; each is one line for a person.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The name or address makes no sense.
    #[error("'{address}' is not an address: {source}")]
    Address {
        /// As it was given.
        address: String,
        /// Why.
        source: std::io::Error,
    },
    /// Clients cannot speak TLS as the settings have it.
    #[error(transparent)]
    Tls(#[from] crate::tls::access::TlsError),
    /// No connection.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// It accepts connections and says nothing.
    #[error("{address} accepts connections but does not answer within {seconds} s")]
    Silent {
        /// Where.
        address: SocketAddr,
        /// For how long.
        seconds: f64,
    },
    /// The connection broke.
    #[error("the connection to {address} broke: {source}")]
    Broken {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// What is there does not speak the protocol.
    #[error("what listens does not speak {protocol}: {what}")]
    Protocol {
        /// What was tried.
        protocol: &'static str,
        /// What is wrong.
        what: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Wrong name or password, or none given.
    #[error("the server does not let the client in: {message}")]
    Credentials {
        /// The server's words.
        message: String,
    },
    /// The server said no.
    #[error("the server refuses {what}: {kind}: {message}")]
    Refused {
        /// What was asked.
        what: String,
        /// The protocol's name for the error.
        kind: &'static str,
        /// The server's words.
        message: String,
    },
    /// The load cannot be expressed.
    #[error("{protocol} cannot express this load: {why}")]
    Unsupported {
        /// Which protocol.
        protocol: &'static str,
        /// Why not.
        why: &'static str,
    },
}
