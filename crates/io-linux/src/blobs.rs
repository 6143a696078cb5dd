//! Small named files that are replaced as a whole: written beside, synced, renamed, directory synced.
//!
//! One background thread a process does this, in order, so that a core never blocks on it.
//!
//! A name is 1 to 128 lower-case letters, digits, `-` and `.`, not beginning with `.`; a temporary has a `~` at its end, which no name
//! has, so left-overs of a crash are recognised.

use crate::control::Control;
use base::CoreId;
use io::{DiskCompletion, DiskError, DiskTag};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;

const NAME_BYTES_MAX: usize = 128;

/// Why the blobs could not be read at start-up.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {source}", path.display())]
pub struct BlobError {
    /// The directory or file.
    pub path: PathBuf,
    /// Why.
    pub source: std::io::Error,
}

/// Reads all blobs of a directory; a missing directory has none. Temporaries left by a crash are removed.
///
/// # Errors
/// When the directory or a blob in it cannot be read.
pub fn read_blobs(directory: &Path) -> Result<BTreeMap<String, Vec<u8>>, BlobError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| BlobError { path, source }
    };
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        other => other.map_err(failed(directory))?,
    };
    let mut blobs = BTreeMap::new();
    for entry in entries {
        let path = entry.map_err(failed(directory))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if let Some(stem) = name.strip_suffix('~')
            && is_valid_name(stem)
        {
            fs::remove_file(&path).map_err(failed(&path))?;
        } else if is_valid_name(name) && path.is_file() {
            blobs.insert(name.to_owned(), fs::read(&path).map_err(failed(&path))?);
        } else {
            tracing::warn!(path = %path.display(), "not a file of this server: ignored");
        }
    }
    Ok(blobs)
}

fn is_valid_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.';
    (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(allowed)
}

/// A blob to replace, and who wants to know.
pub(crate) struct BlobRequest {
    pub(crate) core: CoreId,
    pub(crate) tag: DiskTag,
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// Where cores send blobs to. The thread ends when the last sender is gone.
pub(crate) type BlobSender = mpsc::Sender<BlobRequest>;

/// Starts the thread that replaces the blobs of `directory`, which it creates.
pub(crate) fn start_writer(directory: Option<PathBuf>, control: Arc<Control>) -> std::io::Result<(BlobSender, thread::JoinHandle<()>)> {
    if let Some(directory) = &directory {
        fs::create_dir_all(directory)?;
    }
    let (sender, receiver) = mpsc::channel::<BlobRequest>();
    let thread = thread::Builder::new().name("tarndb-blobs".to_owned()).spawn(move || {
        for request in receiver {
            let result = match &directory {
                Some(directory) => replace(directory, &request.name, &request.bytes),
                None => Err(std::io::Error::from_raw_os_error(libc::ENOENT)),
            };
            let result = result.map_err(|error| disk_error(&error));
            control.cores[usize::from(request.core.0)].complete(DiskCompletion { tag: request.tag, result, buffer: None });
        }
    })?;
    Ok((sender, thread))
}

fn replace(directory: &Path, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    if !is_valid_name(name) {
        return Err(std::io::Error::from_raw_os_error(libc::EINVAL));
    }
    let temporary = directory.join(format!("{name}~"));
    // The schema has hashes of passwords.
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, directory.join(name))?;
    File::open(directory)?.sync_all()
}

fn disk_error(error: &std::io::Error) -> DiskError {
    match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT) => DiskError::Full,
        code => DiskError::Device { code: code.unwrap_or(libc::EIO) },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn replaced_blobs_are_read_back_and_temporaries_are_not() {
        let directory = std::env::temp_dir().join(format!("tarndb-blobs-{}", std::process::id()));
        assert!(read_blobs(&directory).unwrap().is_empty());
        fs::create_dir_all(&directory).unwrap();
        replace(&directory, "schema.1", b"old").unwrap();
        replace(&directory, "schema.1", b"new").unwrap();
        fs::write(directory.join("schema.1~"), b"half").unwrap();
        fs::write(directory.join("NOTES"), b"of the operator").unwrap();
        let blobs = read_blobs(&directory).unwrap();
        assert_eq!(blobs, BTreeMap::from([("schema.1".to_owned(), b"new".to_vec())]));
        assert!(!directory.join("schema.1~").exists());
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn names_that_would_leave_the_directory_are_refused() {
        for name in ["", ".", "..", "a/b", "../a", "A", "a~", "a\0", &"a".repeat(129)] {
            assert!(replace(Path::new("/nonexistent"), name, b"").unwrap_err().raw_os_error() == Some(libc::EINVAL), "{name}");
        }
    }
}
