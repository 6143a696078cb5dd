//! One side of a command that copies from one CQL database to another: its nodes, and how to log in there.

use crate::cli::EndsArguments;
use crate::feed::{Link, Source};
use crate::tls_files::{TlsFileError, now, read_file};
use cql::wire::ProtocolVersion;
use load::cql::client::{Client, ClientError, Credentials};
use std::io::{Error, ErrorKind};
use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};
use tls::{Session, Trust};

/// Why a side cannot be asked: the command line is wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EndpointError {
    /// An address.
    #[error("`{address}` is to be HOST:PORT, the CQL port of a node; several with commas between")]
    Address {
        /// What was given.
        address: String,
    },
    /// The file with a login.
    #[error("{} cannot be used: {why}; it has one line, ROLE:PASSWORD", path.display())]
    LoginFile {
        /// Its name.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The file with authorities.
    #[error(transparent)]
    Authority(#[from] TlsFileError),
}

/// Both sides, as the command line names them: who is read, and who is written to.
pub(crate) fn ends(arguments: &EndsArguments) -> Result<(Endpoint, Endpoint), EndpointError> {
    let from = Endpoint::new(&arguments.from, arguments.from_login_file.as_deref(), arguments.from_ca.as_deref())?;
    let to = Endpoint::new(&arguments.to, arguments.to_login_file.as_deref(), arguments.to_ca.as_deref())?;
    Ok((from, to))
}

/// Nodes of one database.
pub(crate) struct Endpoint {
    /// HOST:PORT of each.
    addresses: Vec<String>,
    login: Option<(String, String)>,
    trust: Option<Trust>,
}

impl Endpoint {
    fn new(addresses: &str, login_file: Option<&Path>, ca: Option<&Path>) -> Result<Self, EndpointError> {
        let addresses: Vec<String> = addresses.split(',').map(|address| address.trim().to_owned()).collect();
        if let Some(wrong) = addresses.iter().find(|address| host_and_port(address).is_none()) {
            return Err(EndpointError::Address { address: wrong.clone() });
        }
        let trust = |path: &Path| {
            let useless = |why| TlsFileError::Useless { setting: "from-ca or to-ca", path: path.to_owned(), why };
            Trust::new(&read_file("from-ca or to-ca", path)?, now()).map_err(useless)
        };
        Ok(Self { addresses, login: login_file.map(login).transpose()?, trust: ca.map(trust).transpose()? })
    }

    /// Who is asked over a connection of its own.
    pub(crate) fn source(&self) -> Source<'_> {
        Source::new(Box::new(|| self.connect(0)))
    }

    /// To the first that answers, from the address with this number on.
    pub(crate) fn connect(&self, number: usize) -> Result<Client<Link>, ClientError> {
        let mut last = ClientError::Io(ErrorKind::NotFound.into());
        let count = self.addresses.len();
        for address in self.addresses.iter().cycle().skip(number % count).take(count) {
            match self.connect_to(address) {
                Ok(client) => return Ok(client),
                Err(ClientError::Io(error)) => last = Error::new(error.kind(), format!("{address}: {error}")).into(),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn connect_to(&self, address: &str) -> Result<Client<Link>, ClientError> {
        let (host, _) = host_and_port(address).ok_or(Error::from(ErrorKind::InvalidInput))?;
        let mut last = Error::new(ErrorKind::NotFound, "the name has no address");
        for resolved in address.to_socket_addrs()? {
            let session = self.trust.as_ref().map(|trust| Session::to_server(trust, host)).transpose().map_err(Error::other)?;
            match Link::connect(resolved, session) {
                Ok(link) => {
                    let credentials = self.login.as_ref().map(|(user, password)| Credentials { user, password });
                    return Client::start_as(link, ProtocolVersion::V4, credentials);
                }
                Err(error) => last = error,
            }
        }
        Err(last.into())
    }
}

fn host_and_port(address: &str) -> Option<(&str, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Some((host, port.parse().ok()?)).filter(|(host, _)| !host.is_empty())
}

fn login(path: &Path) -> Result<(String, String), EndpointError> {
    let refused = |why: String| EndpointError::LoginFile { path: path.to_owned(), why };
    let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
    let line = text.trim_end_matches(['\r', '\n']);
    let (role, password) =
        line.split_once(':').filter(|_| !line.contains('\n')).ok_or_else(|| refused("it has no such line".to_owned()))?;
    Ok((role.to_owned(), password.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_a_port() {
        assert_eq!(host_and_port("[::1]:9042"), Some(("::1", 9042)));
        assert_eq!(host_and_port("db.example:1"), Some(("db.example", 1)));
        for wrong in ["", "x", ":9042", "x:", "x:70000", "x:y"] {
            assert!(host_and_port(wrong).is_none() && Endpoint::new(wrong, None, None).is_err(), "{wrong}");
        }
    }
}
