//! Encryption at rest: the keys of a data directory.
//!
//! ```text
//! master key (file or command) ──wraps──► data key (encryption.toml, twice) ──derives──► log key      → engine: a key for each use of a segment
//!                                                                            └─────────► small files → a key for each version of a file
//! ```
//!
//! The data key is drawn at the first start and stays. A new master key wraps it anew, at the start or while the node runs: the data key is in
//! memory, so the former master key is not needed for that.
//!
//! Invariants: whether a directory is encrypted is decided when it is made (`layout.toml`); nothing is changed in a directory whose key does not fit; no key is
//! in a log line, an argument, a setting that is shown, or a core dump.

mod key_source;
mod small_files;

pub(crate) use key_source::{KEY_BYTES, KeySource, KeySourceError, MasterKey, from_hex, to_hex};

use crate::config::Config;
use crate::file_copy::read_copy;
use crate::identity;
use engine::LogKey;
use io::{BlobFault, choose_copy, seal_blob};
use io_linux::{ContentCipher, replace_file};
use key_source::derive;
use serde::{Deserialize, Serialize};
use small_files::SmallFileCipher;
use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The wrapped data key, and its second copy.
const FILES: [&str; 2] = ["encryption.toml", "encryption-copy.toml"];
const FORMAT: u32 = 1;
/// How often the file with the master key is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How often a command is asked for the master key.
const ASK_EVERY: Duration = Duration::from_secs(3600);

/// Why a data directory cannot be encrypted or decrypted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AtRestError {
    /// It was made without encryption.
    #[error(
        "{} was made without encryption and stays so: start without encryption_key_file and encryption_key_command; or make a new node with \
         another --data-dir, which takes the data over as a member of the cluster or from a backup",
        path.display()
    )]
    Plain {
        /// The directory.
        path: PathBuf,
    },
    /// No key is set.
    #[error("{} is encrypted: set encryption_key_file or encryption_key_command. Nothing was changed", path.display())]
    Unset {
        /// The directory.
        path: PathBuf,
    },
    /// There is no key where it should be.
    #[error("{0}. Nothing was changed")]
    NoKey(#[from] KeySourceError),
    /// It is another key.
    #[error(
        "{} is encrypted under master key {wanted}, and {} given: without that key the data cannot be read. Nothing was changed",
        path.display(),
        given.join(", ") + if given.len() == 1 { " is" } else { " are" }
    )]
    WrongKey {
        /// The directory.
        path: PathBuf,
        /// The name of the key.
        wanted: String,
        /// The names of those that there are.
        given: Vec<String>,
    },
    /// The wrapped key has no good copy.
    #[error("{} {first}, and its copy {} {second}: without it the data cannot be read. Restore both from a backup of this directory", path.display(), FILES[1])]
    Lost {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        first: BlobFault,
        /// What is wrong with its copy.
        second: BlobFault,
    },
    /// The wrapped key is none.
    #[error("{} is of no use: {why}", path.display())]
    Useless {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A small file is not what was encrypted.
    #[error("the file `{name}` in {} cannot be decrypted: it is damaged or of another node; restore both copies from a backup of this directory", path.display())]
    SmallFile {
        /// The directory.
        path: PathBuf,
        /// Its name.
        name: String,
    },
    /// The wrapped key cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// What the file holds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    format: u32,
    /// The name of the master key.
    master_key: String,
    /// The data key: nonce, ciphertext, tag.
    wrapped: String,
}

/// The keys of an encrypted data directory.
#[derive(Clone)]
pub(crate) struct AtRest {
    directory: PathBuf,
    identity: u128,
    source: KeySource,
    data_key: [u8; KEY_BYTES],
    /// The name of the master key that wraps it.
    master: String,
    generation: u64,
}

impl fmt::Debug for AtRest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AtRest(under {})", self.master)
    }
}

impl AtRest {
    /// The keys of a directory that has data. Changes nothing unless there is a new master key.
    pub(crate) fn of_made(config: &Config, identity: u128, encrypted: bool) -> Result<Option<Self>, AtRestError> {
        match (&config.master_key, encrypted) {
            (None, false) => Ok(None),
            (Some(_), false) => Err(AtRestError::Plain { path: config.data_dir.clone() }),
            (None, true) => Err(AtRestError::Unset { path: config.data_dir.clone() }),
            (Some(source), true) => {
                let (mut keys, current, is_whole) = Self::open(&config.data_dir, identity, source)?;
                keys.protect();
                if !is_whole {
                    tracing::warn!(path = FILES[0], "a copy of the wrapped data key was not as it should be, and is written anew");
                    keys.store(&current)?;
                }
                keys.wrap_by(&current)?;
                Ok(Some(keys))
            }
        }
    }

    /// New keys of a directory that is being made; `masters` if the master keys have been read already.
    pub(crate) fn of_new(config: &Config, identity: u128, masters: Option<Vec<MasterKey>>) -> Result<Option<Self>, AtRestError> {
        let Some(source) = config.master_key.clone() else { return Ok(None) };
        let masters = masters.map_or_else(|| source.read(), Ok)?;
        let mut data_key = [0; KEY_BYTES];
        io_linux::fill_with_entropy(&mut data_key);
        let (directory, master) = (config.data_dir.clone(), String::new());
        let mut keys = Self { directory, identity, source, data_key, master, generation: 0 };
        keys.protect();
        keys.wrap_by(&masters[0])?;
        Ok(Some(keys))
    }

    /// The keys of a directory that is only looked at.
    pub(crate) fn of_inspected(directory: &Path, identity: u128, source: Option<&KeySource>) -> Result<Self, AtRestError> {
        let source = source.ok_or_else(|| AtRestError::Unset { path: directory.to_owned() })?;
        let (keys, ..) = Self::open(directory, identity, source)?;
        keys.protect();
        Ok(keys)
    }

    /// Unwraps the data key of a directory. Also gives the master key that should wrap it, and whether both copies are as they should be. Writes nothing.
    fn open(directory: &Path, identity: u128, source: &KeySource) -> Result<(Self, MasterKey, bool), AtRestError> {
        let path = directory.join(FILES[0]);
        let copies = FILES.map(|name| read_copy(&directory.join(name)));
        let (blob, repair) = choose_copy(identity::owner(identity), FILES[0], [copies[0].as_ref(), copies[1].as_ref()])
            .map_err(|[first, second]| AtRestError::Lost { path: path.clone(), first, second })?;
        let useless = |why: String| AtRestError::Useless { path: path.clone(), why };
        let stored: Stored = toml::from_str(&String::from_utf8_lossy(&blob.content)).map_err(|error| useless(error.to_string()))?;
        if stored.format != FORMAT {
            return Err(useless(format!("it has format {}, and this version knows only {FORMAT}", stored.format)));
        }
        let wrapped = from_hex(stored.wrapped.as_bytes()).ok_or_else(|| useless("`wrapped` is not hexadecimal".to_owned()))?;
        let mut masters = source.read()?;
        let Some(data_key) = masters.iter().find_map(|master| master.unwrap(identity, &wrapped)) else {
            let given = masters.iter().map(MasterKey::name).collect();
            return Err(AtRestError::WrongKey { path: directory.to_owned(), wanted: stored.master_key, given });
        };
        let (directory, source) = (directory.to_owned(), source.clone());
        let keys = Self { directory, identity, source, data_key, master: stored.master_key, generation: blob.generation };
        Ok((keys, masters.swap_remove(0), repair.is_none()))
    }

    /// Keys are in memory from here on.
    fn protect(&self) {
        if let Err(error) = io_linux::forbid_core_dumps() {
            tracing::warn!(%error, "core dumps of this process cannot be forbidden: they would have keys");
        }
    }

    /// Has this master key wrap the data key, if it is another one.
    fn wrap_by(&mut self, master: &MasterKey) -> Result<(), AtRestError> {
        let former = self.master.clone();
        if former == master.name() {
            return Ok(());
        }
        self.store(master)?;
        if former.is_empty() {
            tracing::info!(master_key = self.master, "what is stored is encrypted");
        } else {
            tracing::info!(former, master_key = self.master, "the master key was replaced: the former one is not needed any more");
        }
        Ok(())
    }

    /// Stores the data key as this master key wraps it, twice.
    fn store(&mut self, master: &MasterKey) -> Result<(), AtRestError> {
        let name = master.name();
        let stored = Stored { format: FORMAT, master_key: name.clone(), wrapped: to_hex(&master.wrap(self.identity, &self.data_key)) };
        let text = toml::to_string(&stored).expect("text and a number");
        let generation = self.generation + 1;
        let sealed = seal_blob(identity::owner(self.identity), FILES[0], generation, text.as_bytes());
        for file in FILES.iter().rev() {
            replace_file(&self.directory, file, &sealed).map_err(|source| AtRestError::Io { path: self.directory.join(file), source })?;
        }
        (self.master, self.generation) = (name, generation);
        Ok(())
    }

    /// Looks for a new master key as long as the process lives.
    pub(crate) fn follow(&self) {
        let mut follower = Follower { keys: self.clone(), seen: None, failure: String::new() };
        let every = if self.source.file().is_some() { LOOK_EVERY } else { ASK_EVERY };
        let follow = move || {
            loop {
                std::thread::sleep(every);
                follower.look();
            }
        };
        if let Err(error) = std::thread::Builder::new().name("master-key".to_owned()).spawn(follow) {
            tracing::warn!(%error, "a master key that is replaced counts from the next start on only");
        }
    }

    /// What logs are encrypted with.
    pub(crate) fn log_key(&self) -> LogKey {
        let mut key = [0; KEY_BYTES];
        derive(&self.data_key, b"tarndb log", &mut key);
        LogKey::new(key)
    }

    /// What small files are encrypted with.
    pub(crate) fn small_files(&self) -> Arc<dyn ContentCipher> {
        Arc::new(SmallFileCipher::new(&self.data_key))
    }

    /// Makes small files readable.
    pub(crate) fn decrypt_small_files(&self, files: &mut BTreeMap<String, Vec<u8>>) -> Result<(), AtRestError> {
        for (name, content) in files {
            *content = self.decrypt_small_file(name, content)?;
        }
        Ok(())
    }

    /// Makes one readable.
    pub(crate) fn decrypt_small_file(&self, name: &str, stored: &[u8]) -> Result<Vec<u8>, AtRestError> {
        let damaged = || AtRestError::SmallFile { path: self.directory.clone(), name: name.to_owned() };
        SmallFileCipher::new(&self.data_key).decrypt(name, stored).ok_or_else(damaged)
    }
}

/// Looks for a new master key.
struct Follower {
    keys: AtRest,
    /// The file whose key wraps the data key.
    seen: Option<Stamp>,
    /// What was wrong the last time: it is told once.
    failure: String,
}

impl Follower {
    fn look(&mut self) {
        let found = self.keys.source.file().and_then(Stamp::of);
        if found.is_some() && found == self.seen {
            return;
        }
        let read = self.keys.source.read().map_err(AtRestError::from);
        match read.and_then(|masters| self.keys.wrap_by(&masters[0])) {
            Ok(()) => {
                self.seen = found;
                self.failure.clear();
            }
            Err(error) => {
                let failure = error.to_string();
                if failure != self.failure {
                    let needed = &self.keys.master;
                    tracing::error!(%error, needed, "no new master key could be taken: the next start needs the one that is named, or both");
                }
                self.failure = failure;
            }
        }
    }
}

/// What changes when a file is written or replaced.
#[derive(PartialEq, Eq)]
struct Stamp {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let found = std::fs::metadata(path).ok()?;
        Some(Self { inode: found.ino(), bytes: found.len(), changed: (found.ctime(), found.ctime_nsec()) })
    }
}
