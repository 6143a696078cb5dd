//! One side of a command that copies from one database to another: its nodes, and how to log in there.

use crate::cli::EndsArguments;
use crate::feed::{Link, Source};
use crate::login_file::read_login;
use crate::tls_files::{TlsFileError, read_trust};
use cql::wire::ProtocolVersion;
use load::cql::client::{Client, ClientError, Credentials};
use std::io::{Error, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use tls::{Session, Trust};

/// Why a side cannot be asked: the command line is wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EndpointError {
    /// An address.
    #[error("`{address}` is to be HOST:PORT, the {protocol} port of a node; several with commas between")]
    Address {
        /// What was given.
        address: String,
        /// What is to be spoken there.
        protocol: &'static str,
    },
    /// The scheme of addresses.
    #[error("`{scheme}://` is no database that is known: cql:// (or nothing), aerospike:// and griddb:// are")]
    Scheme {
        /// What was given.
        scheme: String,
    },
    /// The file with a login.
    #[error("{} cannot be used: {why}; it has one line, ROLE:PASSWORD", path.display())]
    LoginFile {
        /// Its name.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A file for TLS.
    #[error(transparent)]
    Authority(#[from] TlsFileError),
}

/// What a database speaks, by the scheme of its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Cql,
    Aerospike,
    GridDb,
}

impl Protocol {
    const ALL: [Self; 3] = [Self::Cql, Self::Aerospike, Self::GridDb];

    /// That of an address; CQL without a scheme.
    pub(crate) fn of(address: &str) -> Result<Self, EndpointError> {
        let Some((scheme, _)) = address.split_once("://") else { return Ok(Self::Cql) };
        let found = Self::ALL.into_iter().find(|protocol| protocol.scheme() == scheme);
        found.ok_or_else(|| EndpointError::Scheme { scheme: scheme.to_owned() })
    }

    /// In front of addresses.
    pub(crate) fn scheme(self) -> &'static str {
        match self {
            Self::Cql => "cql",
            Self::Aerospike => "aerospike",
            Self::GridDb => "griddb",
        }
    }

    /// Its name among people.
    fn name(self) -> &'static str {
        match self {
            Self::Cql => "CQL",
            Self::Aerospike => "Aerospike",
            Self::GridDb => "GridDB",
        }
    }

    /// Where a target of this machine listens that nobody has named.
    fn own_address(self) -> &'static str {
        match self {
            Self::Cql => "127.0.0.1:9042",
            Self::Aerospike => "127.0.0.1:3000",
            Self::GridDb => "127.0.0.1:10001",
        }
    }
}

/// Both sides, as the command line names them: who is read, and who is written to.
pub(crate) fn ends(protocol: Protocol, arguments: &EndsArguments) -> Result<(Endpoint, Endpoint), EndpointError> {
    let to = arguments.to.as_deref().unwrap_or(protocol.own_address());
    let of_from = trust("from-ca", arguments.from_ca.as_deref(), "from-certificate", arguments.from_certificate.as_deref())?;
    let of_to = trust("to-ca", arguments.to_ca.as_deref(), "to-certificate", arguments.to_certificate.as_deref())?;
    let from = Endpoint::new(protocol, &arguments.from, arguments.from_login_file.as_deref(), of_from)?;
    let to = Endpoint::new(protocol, to, arguments.to_login_file.as_deref(), of_to)?;
    Ok((from, to))
}

/// Whom a side is trusted by, and what it is shown.
fn trust(
    ca_flag: &'static str,
    ca: Option<&Path>,
    certificate_flag: &'static str,
    certificate: Option<&Path>,
) -> Result<Option<Trust>, TlsFileError> {
    ca.map(|path| read_trust((ca_flag, path), certificate.map(|path| (certificate_flag, path)))).transpose()
}

/// How a client begins on a connection.
type Start = fn(Link, ProtocolVersion, Option<Credentials<'_>>) -> Result<Client<Link>, ClientError>;

/// Nodes of one database.
pub(crate) struct Endpoint {
    /// HOST:PORT of each.
    addresses: Vec<String>,
    /// GridDB: the cluster's name, after the addresses and a slash; any if it is empty.
    cluster: String,
    login: Option<(String, String)>,
    trust: Option<Trust>,
}

impl Endpoint {
    fn new(protocol: Protocol, given: &str, login_file: Option<&Path>, trust: Option<Trust>) -> Result<Self, EndpointError> {
        let wrong = |address: &str| EndpointError::Address { address: address.to_owned(), protocol: protocol.name() };
        let addresses = match given.split_once("://") {
            Some((scheme, addresses)) if scheme == protocol.scheme() => addresses,
            Some(_) => return Err(wrong(given)),
            None => given,
        };
        let (addresses, cluster) = match addresses.split_once('/') {
            Some((addresses, cluster)) if protocol == Protocol::GridDb => (addresses, cluster),
            _ => (addresses, ""),
        };
        let addresses: Vec<String> = addresses.split(',').map(|address| address.trim().to_owned()).collect();
        if let Some(address) = addresses.iter().find(|address| host_and_port(address).is_none()) {
            return Err(wrong(address));
        }
        let cluster = cluster.to_owned();
        Ok(Self { addresses, cluster, login: login_file.map(login).transpose()?, trust })
    }

    /// HOST:PORT of each node that is named.
    pub(crate) fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// The name of GridDB's cluster; empty for any.
    pub(crate) fn cluster(&self) -> &str {
        &self.cluster
    }

    /// Name and password, if there are any.
    pub(crate) fn login(&self) -> Option<(&str, &str)> {
        self.login.as_ref().map(|(user, password)| (user.as_str(), password.as_str()))
    }

    /// Whether it is spoken to by TLS.
    pub(crate) fn speaks_tls(&self) -> bool {
        self.trust.is_some()
    }

    /// Who is asked over a connection of its own, in CQL.
    pub(crate) fn source(&self) -> Source<'_> {
        Source::new(Box::new(|| self.connect(0)))
    }

    /// The same for requests that give way to those of other clients, where the one that is asked knows such.
    pub(crate) fn background_source(&self) -> Source<'_> {
        Source::new(Box::new(|| self.client(0, Client::start_in_background)))
    }

    /// To the first that answers, from the address with this number on, in CQL.
    pub(crate) fn connect(&self, number: usize) -> Result<Client<Link>, ClientError> {
        self.client(number, Client::start_as)
    }

    fn client(&self, number: usize, start: Start) -> Result<Client<Link>, ClientError> {
        let credentials = || self.login().map(|(user, password)| Credentials { user, password });
        let connect = |address: &str| start(self.link(address)?, ProtocolVersion::V4, credentials());
        self.first(number, |address| match connect(address) {
            Err(ClientError::Io(error)) => Err(Error::new(error.kind(), format!("{address}: {error}")).into()),
            done => done,
        })
    }

    /// What `connect` gives for the first address for which it gives something, from the one with this number on.
    pub(crate) fn first<C, E>(&self, number: usize, connect: impl Fn(&str) -> Result<C, E>) -> Result<C, E> {
        first_of(&self.addresses, number, |address| connect(address))
    }

    /// A connection to a node, plain or by TLS.
    pub(crate) fn link(&self, address: &str) -> Result<Link, Error> {
        let (host, _) = host_and_port(address).ok_or(Error::from(ErrorKind::InvalidInput))?;
        first_of(&resolve(address)?, 0, |resolved| {
            let session = self.trust.as_ref().map(|trust| Session::to_server(trust, host)).transpose().map_err(Error::other)?;
            Link::connect(*resolved, session)
        })
    }
}

/// The addresses of a HOST:PORT, at least one.
pub(crate) fn resolve(address: &str) -> Result<Vec<SocketAddr>, Error> {
    let resolved: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
    if resolved.is_empty() { Err(Error::new(ErrorKind::NotFound, "the name has no address")) } else { Ok(resolved) }
}

/// What `connect` gives for the first of these for which it gives something, from the one with this number on. There is at least one.
pub(crate) fn first_of<A, C, E>(all: &[A], number: usize, connect: impl Fn(&A) -> Result<C, E>) -> Result<C, E> {
    let at = |place: usize| connect(&all[place % all.len()]);
    (1..all.len()).fold(at(number), |done, next| done.or_else(|_| at(number + next)))
}

fn host_and_port(address: &str) -> Option<(&str, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Some((host, port.parse().ok()?)).filter(|(host, _)| !host.is_empty())
}

fn login(path: &Path) -> Result<(String, String), EndpointError> {
    let refused = |why: String| EndpointError::LoginFile { path: path.to_owned(), why };
    read_login(path).map_err(refused)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn addresses(protocol: Protocol, given: &str) -> Option<Vec<String>> {
        Endpoint::new(protocol, given, None, None).ok().map(|endpoint| endpoint.addresses)
    }

    #[test]
    fn addresses_have_a_host_and_a_port() {
        assert_eq!(host_and_port("[::1]:9042"), Some(("::1", 9042)));
        assert_eq!(host_and_port("db.example:1"), Some(("db.example", 1)));
        for wrong in ["", "x", ":9042", "x:", "x:70000", "x:y"] {
            assert!(host_and_port(wrong).is_none() && addresses(Protocol::Cql, wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn schemes_say_what_is_spoken() {
        assert_eq!(Protocol::of("a:1,b:2").ok(), Some(Protocol::Cql));
        assert_eq!(Protocol::of("cql://a:1").ok(), Some(Protocol::Cql));
        assert_eq!(Protocol::of("aerospike://a:1,b:2").ok(), Some(Protocol::Aerospike));
        assert!(matches!(Protocol::of("mysql://a:1"), Err(EndpointError::Scheme { scheme }) if scheme == "mysql"));
        let two = Some(vec!["a:1".to_owned(), "b:2".to_owned()]);
        assert_eq!(addresses(Protocol::Aerospike, "aerospike://a:1, b:2"), two);
        assert_eq!(addresses(Protocol::Aerospike, "a:1,b:2"), two);
        assert_eq!(addresses(Protocol::Aerospike, "cql://a:1"), None, "the other side speaks something else");
        let endpoint = Endpoint::new(Protocol::GridDb, "griddb://a:1,b:2/myCluster", None, None).ok();
        assert_eq!(endpoint.map(|endpoint| (Some(endpoint.addresses), endpoint.cluster)), Some((two, "myCluster".to_owned())));
        assert_eq!(addresses(Protocol::Aerospike, "a:1/name"), None, "only GridDB's have a cluster's name");
    }

    #[test]
    fn addresses_are_asked_in_turn_until_one_answers() {
        let endpoint = Endpoint::new(Protocol::Cql, "a:1,b:2,c:3", None, None).ok().unwrap();
        let asked = |number, answers: &str| {
            let asked = std::cell::RefCell::new(Vec::new());
            let done = endpoint.first(number, |address| {
                asked.borrow_mut().push(address.to_owned());
                if address == answers { Ok(()) } else { Err(address.to_owned()) }
            });
            (done, asked.into_inner().join(" "))
        };
        assert_eq!(asked(0, "a:1"), (Ok(()), "a:1".to_owned()));
        assert_eq!(asked(4, "a:1"), (Ok(()), "b:2 c:3 a:1".to_owned()));
        assert_eq!(asked(2, "none"), (Err("b:2".to_owned()), "c:3 a:1 b:2".to_owned()));
    }
}
