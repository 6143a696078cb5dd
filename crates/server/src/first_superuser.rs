//! The password of the first superuser: from a file that the operator names, or made here and left in the data directory.
//!
//! | start | password |
//! |---|---|
//! | there are roles already | nothing to do; a file that was left is removed once its password is changed |
//! | `superuser_password_file` is given | what the file has |
//! | else | random, in `superuser-password` of the data directory, for its owner alone |
//!
//! Invariant: a password is in no log line, argument or environment variable. It is in its file before the role is made, so that no crash loses it.

use crate::config::Config;
use crate::settings::Authentication;
use model::Schema;
use model::schema_blob::{self, SchemaBlobError};
use node::{FirstSuperuser, NoPassword, SCHEMA_BLOB, is_password_of_first_superuser};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a password is left that was made here.
const FILE: &str = "superuser-password";

/// Of a password that is made here: 120 bits.
const RANDOM_BYTES: usize = 24;
/// No letter looks like another one.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// Why there is no password for the first superuser.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SuperuserError {
    /// The file cannot be read.
    #[error(
        "superuser_password_file {} cannot be read: {source}; it is needed until the first superuser has been made, and without the setting \
         the node makes a password itself",
        path.display()
    )]
    Read {
        /// Its name.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What it holds is no password.
    #[error("superuser_password_file {} {why}; a line end after it does not count", path.display())]
    Useless {
        /// Its name.
        path: PathBuf,
        /// Why.
        why: NoPassword,
    },
    /// The password cannot be left in the data directory.
    #[error("the first superuser's password cannot be kept in {}: {source}; or give superuser_password_file", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Who can log in is in the schema.
    #[error("the schema cannot be read: {0}")]
    Schema(#[from] SchemaBlobError),
}

/// The first superuser of a node that is starting.
#[derive(Debug)]
pub(crate) struct Superuser {
    /// What it is made with; none if there are roles, or nobody has to log in.
    pub(crate) first: Option<Arc<FirstSuperuser>>,
    /// Where its password is, if it was made here.
    left: Option<PathBuf>,
}

impl Superuser {
    /// Finds or makes its password.
    pub(crate) fn prepare(config: &Config, blobs: &BTreeMap<String, Vec<u8>>) -> Result<Self, SuperuserError> {
        let none = Self { first: None, left: None };
        if config.authentication == Authentication::None {
            return Ok(none);
        }
        let own = config.data_dir.join(FILE);
        let schema = blobs.get(SCHEMA_BLOB).map(|bytes| schema_blob::decode(bytes)).transpose()?.unwrap_or_else(Schema::empty);
        if !schema.roles.is_empty() {
            look_at_what_was_left(&own, &schema)?;
            return Ok(none);
        }
        let (password, left) = match &config.superuser_password_file {
            Some(path) => (read(path).map_err(|source| SuperuserError::Read { path: path.clone(), source })?, None),
            None => (read_or_make(&own).map_err(|source| SuperuserError::File { path: own.clone(), source })?, Some(own.clone())),
        };
        let path = config.superuser_password_file.clone().unwrap_or(own);
        let first = FirstSuperuser::new(&password, [random(), random(), random()]).map_err(|why| SuperuserError::Useless { path, why })?;
        Ok(Self { first: Some(Arc::new(first)), left })
    }

    /// The node is ready: says where the password is, or removes one that another member was before.
    pub(crate) fn ready(&self) {
        let (Some(first), role) = (&self.first, FirstSuperuser::NAME) else { return };
        match (first.is_made(), &self.left) {
            (Some(true), Some(path)) => {
                tracing::warn!(role, file = %path.display(), "the first superuser was made: log in with the password in this file, and change it");
            }
            (Some(true), None) => tracing::info!(role, "the first superuser was made, with the password in superuser_password_file"),
            (Some(false), Some(path)) => drop(fs::remove_file(path)),
            (Some(false), None) => tracing::info!(role, "there are roles already: superuser_password_file is not used"),
            (None, _) => {}
        }
    }
}

/// Removes a password that is not that of the role any more.
fn look_at_what_was_left(path: &Path, schema: &Schema) -> Result<(), SuperuserError> {
    let failed = |source| SuperuserError::File { path: path.to_owned(), source };
    let password = match read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        read => read.map_err(failed)?,
    };
    let role = FirstSuperuser::NAME;
    if is_password_of_first_superuser(schema, &password) {
        tracing::warn!(role, file = %path.display(), "the first superuser still has the password in this file: change it");
        return Ok(());
    }
    fs::remove_file(path).map_err(failed)
}

/// A password without the end of its line.
fn read(path: &Path) -> std::io::Result<String> {
    let text = fs::read_to_string(path)?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

/// What a start that was cut off has left, or a new one.
fn read_or_make(path: &Path) -> std::io::Result<String> {
    if let Ok(password) = read(path)
        && password.len() == RANDOM_BYTES
    {
        return Ok(password);
    }
    let password: String =
        random::<RANDOM_BYTES>().into_iter().map(|byte| char::from(LETTERS[usize::from(byte) % LETTERS.len()])).collect();
    // One that was cut short may be there.
    let _ = fs::remove_file(path);
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{password}")?;
    file.sync_all()?;
    Ok(password)
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    io_linux::fill_with_entropy(&mut bytes);
    bytes
}
