//! Whom clients trust that speak TLS.

use base::Now;
use std::io::Error;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use tls::{LinkError, Trust};

/// Whom clients trust, and the name that servers' certificates must have.
#[derive(Debug)]
pub(crate) struct TlsAccess {
    trust: Trust,
    name: String,
}

/// Why TLS cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// No file of authorities.
    #[error("{} cannot be read: {source}", path.display())]
    Read {
        /// Its name.
        path: PathBuf,
        /// Why.
        source: Error,
    },
    /// It holds no authorities.
    #[error("{} {source}", path.display())]
    Authority {
        /// Its name.
        path: PathBuf,
        /// Why.
        source: tls::SetupError,
    },
    /// The name cannot be in a certificate.
    #[error(transparent)]
    Name(#[from] LinkError),
}

impl TlsAccess {
    /// Trusts the authorities in a file, PEM, for a server at `address`, HOST:PORT.
    pub(crate) fn read(path: &Path, address: &str) -> Result<Self, TlsError> {
        let authorities = std::fs::read(path).map_err(|source| TlsError::Read { path: path.to_owned(), source })?;
        let trust = Trust::new(&authorities, None, now()).map_err(|source| TlsError::Authority { path: path.to_owned(), source })?;
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let access = Self { trust, name: host.trim_start_matches('[').trim_end_matches(']').to_owned() };
        access.session()?;
        Ok(access)
    }

    pub(super) fn session(&self) -> Result<tls::Session, LinkError> {
        tls::Session::to_server(&self.trust, &self.name)
    }
}

/// The time by which certificates are looked at.
pub(super) fn now() -> Now {
    let wall_us = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX));
    Now { monotonic_us: 0, wall_us }
}
