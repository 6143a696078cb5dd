//! Files with certificates and keys.

use base::Now;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use tls::{SetupError, Trust};

/// Why a file is of no use.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsFileError {
    /// It cannot be read.
    #[error("--{setting} {} cannot be read: {source}", path.display())]
    Read {
        /// Which it is.
        setting: &'static str,
        /// Its name.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What it holds cannot be used.
    #[error("--{setting} {} {why}; docs/reference/operations.md shows how to make certificates", path.display())]
    Useless {
        /// Which it is.
        setting: &'static str,
        /// Its name.
        path: PathBuf,
        /// Why.
        why: SetupError,
    },
}

pub(crate) fn read_file(setting: &'static str, path: &Path) -> Result<Vec<u8>, TlsFileError> {
    std::fs::read(path).map_err(|source| TlsFileError::Read { setting, path: path.to_owned(), source })
}

/// Whom a program trusts that connects to a node, and what it shows where it is asked: files, each with the flag that names it.
pub(crate) fn read_trust(authority: (&'static str, &Path), shown: Option<(&'static str, &Path)>) -> Result<Trust, TlsFileError> {
    let authorities = read_file(authority.0, authority.1)?;
    let pem = shown.map(|(flag, path)| read_file(flag, path)).transpose()?;
    Trust::new(&authorities, pem.as_deref(), now()).map_err(|why| {
        let (setting, path) = if matches!(why, SetupError::Authority { .. }) { authority } else { shown.unwrap_or(authority) };
        TlsFileError::Useless { setting, path: path.to_owned(), why }
    })
}

/// The time by which certificates are looked at.
pub(crate) fn now() -> Now {
    let wall_us = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX));
    Now { monotonic_us: 0, wall_us }
}
