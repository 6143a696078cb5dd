//! How the nodes of a target are reached, by blocking connections.

use super::CqlSettings;
use super::client::{Cell, Client, ClientError, Credentials};
use crate::ring::Cores;
use crate::target::TargetError;
use crate::tls::access::TlsAccess;
use crate::tls::link::Link;
use ::cql::wire::ProtocolVersion;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// How long a node may take for what is asked before the load; making a table can take Cassandra seconds.
const ANSWER_S: f64 = 30.0;
const CONNECT_S: f64 = 5.0;
/// The same for what a load can do without.
pub(super) const ASK_S: f64 = 2.0;
/// A core has at least sixteen ports.
const CORES_MAX: u16 = 1_000;

/// An option of SUPPORTED, as ScyllaDB and TarnDB have it: the number of cores.
pub(super) const SHARDS: &str = "SCYLLA_NR_SHARDS";

/// Settings of a target, with its names resolved.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) settings: CqlSettings,
    pub(super) version: ProtocolVersion,
    pub(super) addresses: Vec<SocketAddr>,
    /// None: in the plain.
    pub(super) tls: Option<Arc<TlsAccess>>,
}

impl Access {
    pub(super) fn credentials(&self) -> Option<Credentials<'_>> {
        let user = self.settings.user.as_deref()?;
        Some(Credentials { user, password: self.settings.password.as_deref().unwrap_or_default() })
    }

    /// A blocking connection to the first node.
    pub(super) fn client(&self) -> Result<(SocketAddr, Client<Link>), TargetError> {
        let address = self.addresses[0];
        Ok((address, self.client_of(address, CONNECT_S, ANSWER_S)?))
    }

    pub(super) fn client_of(&self, address: SocketAddr, connect_s: f64, answer_s: f64) -> Result<Client<Link>, TargetError> {
        let connect = |source| TargetError::Connect { address, source };
        let socket = TcpStream::connect_timeout(&address, Duration::from_secs_f64(connect_s)).map_err(connect)?;
        socket.set_nodelay(true).map_err(connect)?;
        let answer = Some(Duration::from_secs_f64(answer_s));
        socket.set_read_timeout(answer).and_then(|()| socket.set_write_timeout(answer)).map_err(connect)?;
        let link = Link::new(socket, self.tls.as_deref()).map_err(|error| connect(std::io::Error::other(error)))?;
        Client::start_as(link, self.version, self.credentials()).map_err(|error| failed(address, "the connection", error))
    }

    /// The cores of a node that has several; none if it does not say so, or its port for them cannot be reached from here.
    pub(super) fn cores(&self, node: SocketAddr) -> Result<Option<Cores>, TargetError> {
        let options = self.client_of(node, ASK_S, ASK_S)?.options().map_err(|error| failed(node, "OPTIONS", error))?;
        let number = |name: &str| first(&options, name)?.parse::<u16>().ok();
        let count = number(SHARDS).filter(|cores| (2..=CORES_MAX).contains(cores));
        let port = number("SCYLLA_SHARD_AWARE_PORT");
        let reached =
            port.filter(|port| TcpStream::connect_timeout(&SocketAddr::new(node.ip(), *port), Duration::from_secs_f64(ASK_S)).is_ok());
        let ignored_bits = number("SCYLLA_SHARDING_IGNORE_MSB").unwrap_or(0).into();
        Ok(count.zip(reached).map(|(count, port)| Cores { port, count, ignored_bits }))
    }
}

/// The first value of an option.
pub(super) fn first<'a>(options: &'a [(String, Vec<String>)], name: &str) -> Option<&'a String> {
    options.iter().find(|(option, _)| option == name)?.1.first()
}

/// What went wrong with `what`, for a person.
pub(super) fn failed(address: SocketAddr, what: &str, error: ClientError) -> TargetError {
    match error {
        ClientError::Io(source) if matches!(source.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            TargetError::Silent { address, seconds: ANSWER_S }
        }
        ClientError::Io(source) => TargetError::Broken { address, source },
        ClientError::Refused { code: 0x0100, message, .. } => TargetError::Credentials { message },
        ClientError::Refused { kind, message, .. } => TargetError::Refused { what: what.to_owned(), kind, message },
        ClientError::NoCredentials => TargetError::Credentials { message: error.to_string() },
        ClientError::Wire(_) | ClientError::Unexpected { .. } => TargetError::Protocol { protocol: "cql", what: error.into() },
    }
}

pub(super) fn text(cell: Option<&Cell>) -> String {
    let bytes = cell.and_then(Option::as_deref).unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}
