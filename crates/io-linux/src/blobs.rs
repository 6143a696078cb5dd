//! Blobs on a file system: written beside, synced, renamed, directory synced; each in two directories.
//!
//! One background thread a process does this, in order, so that a core never blocks on it. A replacement is acknowledged when the first
//! copy is durable; the second follows before the thread rests. What a crash leaves between the two is mended at the next start: the
//! newer copy counts (`io::blob`).
//!
//! A temporary has a `~` at its end, which no name has, so left-overs of a crash are recognised. A copy that is not what was written is
//! kept beside as `NAME~damaged`, for whoever wants to know what happened.

use crate::control::Control;
use base::CoreId;
use io::{
    BLOB_COPIES, BlobCopy, BlobOwner, BlobSealer, DiskCompletion, DiskError, DiskTag, MANIFEST_BLOB, RecoveredBlobs, is_blob_name,
    seal_blob,
};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;

/// Second copies are behind by at most so many replacements.
const BEHIND_MAX: usize = 16;

/// Where a node's blobs are: a directory for each copy.
pub type BlobDirectories = [PathBuf; BLOB_COPIES];

/// Why blobs could not be read or mended at start-up.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// A directory or a left-over in it.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The directory or file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A copy that was to be written again.
    #[error("cannot write {}: {source}; the node needs to write its data directory", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Reads both copies of all blobs; a missing directory has none. A file that cannot be read is said to be so, and is no error.
///
/// # Errors
/// When a directory cannot be read.
pub fn read_blobs(directories: &BlobDirectories) -> Result<[BTreeMap<String, BlobCopy>; BLOB_COPIES], BlobError> {
    let mut copies = [BTreeMap::new(), BTreeMap::new()];
    for (directory, copies) in directories.iter().zip(&mut copies) {
        let failed = |source| BlobError::Read { path: directory.clone(), source };
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            other => other.map_err(failed)?,
        };
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            match path.file_name().and_then(|name| name.to_str()) {
                Some(name) if is_blob_name(name) => {
                    copies.insert(name.to_owned(), fs::read(&path).map_err(|error| error.to_string()));
                }
                Some(name) if is_left_over(name) => {}
                _ => tracing::warn!(path = %path.display(), "not a file of this server: ignored"),
            }
        }
    }
    Ok(copies)
}

/// A temporary of a crash, or a damaged copy that was kept.
fn is_left_over(name: &str) -> bool {
    name.strip_suffix("~damaged").or_else(|| name.strip_suffix('~')).is_some_and(is_blob_name)
}

/// Encrypts what blobs hold.
pub trait ContentCipher: fmt::Debug + Send + Sync {
    /// What is stored of a blob. Some are stored as they are.
    fn encrypt(&self, name: &str, content: &[u8]) -> Vec<u8>;
}

/// Where blobs are kept, and what seals them.
#[derive(Clone, Debug)]
pub struct BlobStore {
    directories: BlobDirectories,
    sealer: BlobSealer,
    cipher: Option<Arc<dyn ContentCipher>>,
}

impl BlobStore {
    /// Goes on with what was recovered: writes again what is not as it should be in either directory, and removes temporaries.
    ///
    /// Second copies and then first ones, the manifest last in each: so a directory that was never sealed is told from a damaged one.
    ///
    /// # Errors
    /// When a directory or a file in it cannot be written.
    pub fn open(directories: BlobDirectories, owner: BlobOwner, recovered: &RecoveredBlobs) -> Result<Self, BlobError> {
        let mut sealer = BlobSealer::new(owner, recovered);
        let unlisted = sealer.due_manifest();
        let manifest = unlisted.clone().unwrap_or_else(|| sealer.manifest());
        for (copy, directory) in directories.iter().enumerate().rev() {
            prepare(directory)?;
            let repairs = recovered.repairs.iter().filter(|repair| repair.copy == copy && repair.name != MANIFEST_BLOB);
            for repair in repairs {
                let Some(blob) = recovered.blobs.get(&repair.name) else { continue };
                rewrite(directory, &repair.name, &seal_blob(owner, &repair.name, blob.generation, &blob.content))?;
            }
            if unlisted.is_some() || recovered.repairs.iter().any(|repair| repair.copy == copy && repair.name == MANIFEST_BLOB) {
                rewrite(directory, MANIFEST_BLOB, &manifest)?;
            }
        }
        sealer.manifest_stored();
        Ok(Self { directories, sealer, cipher: None })
    }

    /// Stores what this makes of blobs from now on.
    pub fn set_cipher(&mut self, cipher: Arc<dyn ContentCipher>) {
        self.cipher = Some(cipher);
    }

    /// Replaces both copies of a blob, durably.
    ///
    /// # Errors
    /// When one cannot be written.
    pub fn replace(&mut self, name: &str, content: &[u8]) -> Result<(), BlobError> {
        let failed = |source| BlobError::Write { path: self.directories[0].join(name), source };
        let mut writer = Writer::new(self.clone());
        writer.replace(name, content).map_err(failed)?;
        writer.catch_up().map_err(failed)?;
        self.sealer = writer.store.sealer;
        Ok(())
    }
}

fn write_failed(path: &Path) -> impl FnOnce(std::io::Error) -> BlobError {
    let path = path.to_owned();
    move |source| BlobError::Write { path, source }
}

/// Makes a directory, or removes what a crash has left in it.
fn prepare(directory: &Path) -> Result<(), BlobError> {
    fs::create_dir_all(directory).map_err(write_failed(directory))?;
    for entry in fs::read_dir(directory).map_err(|source| BlobError::Read { path: directory.to_owned(), source })?.flatten() {
        let path = entry.path();
        if path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with('~') && is_left_over(name)) {
            fs::remove_file(&path).map_err(write_failed(&path))?;
        }
    }
    Ok(())
}

/// Replaces a copy that is not what was written, and keeps that beside.
fn rewrite(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
    let path = directory.join(name);
    keep_damaged(&path).and_then(|()| replace_file(directory, name, bytes)).map_err(write_failed(&path))
}

/// Puts a file that is not what was written out of the way.
fn keep_damaged(path: &Path) -> std::io::Result<()> {
    let mut kept = path.as_os_str().to_owned();
    kept.push("~damaged");
    if fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    match fs::symlink_metadata(&kept) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(&kept)?,
        Ok(_) => fs::remove_file(&kept)?,
        Err(_) => {}
    }
    fs::rename(path, kept)
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

/// Starts the thread that replaces blobs.
pub(crate) fn start_writer(store: Option<BlobStore>, control: Arc<Control>) -> std::io::Result<(BlobSender, thread::JoinHandle<()>)> {
    let (sender, receiver) = mpsc::channel::<BlobRequest>();
    let thread = thread::Builder::new().name("tarndb-blobs".to_owned()).spawn(move || {
        let mut writer = store.map(Writer::new);
        while let Ok(first) = receiver.recv() {
            let mut next = Some(first);
            while let Some(BlobRequest { core, tag, name, bytes }) = next {
                let result = match &mut writer {
                    Some(writer) => writer.replace(&name, &bytes),
                    None => Err(std::io::Error::from_raw_os_error(libc::ENOENT)),
                };
                let result = result.map_err(|error| disk_error(&error));
                control.cores[usize::from(core.0)].complete(DiskCompletion { tag, result, buffer: None });
                next = receiver.try_recv().ok();
            }
            if let Some(writer) = &mut writer {
                writer.catch_up_or_tell();
            }
        }
    })?;
    Ok((sender, thread))
}

/// Writes first copies, and second ones after them.
struct Writer {
    store: BlobStore,
    /// First copies that have no second yet.
    behind: BTreeMap<String, Vec<u8>>,
    replaced: usize,
}

impl Writer {
    fn new(store: BlobStore) -> Self {
        Self { store, behind: BTreeMap::new(), replaced: 0 }
    }

    /// Makes the first copy durable.
    fn replace(&mut self, name: &str, content: &[u8]) -> std::io::Result<()> {
        if !is_blob_name(name) {
            return Err(std::io::Error::from_raw_os_error(libc::EINVAL));
        }
        let BlobStore { directories: [first, _], sealer, cipher } = &mut self.store;
        let encrypted = cipher.as_ref().map(|cipher| cipher.encrypt(name, content));
        let bytes = sealer.seal(name, encrypted.as_deref().unwrap_or(content));
        replace_file(first, name, &bytes)?;
        sealer.blob_stored(name);
        self.behind.insert(name.to_owned(), bytes);
        if let Some(manifest) = sealer.due_manifest() {
            replace_file(first, MANIFEST_BLOB, &manifest)?;
            sealer.manifest_stored();
            self.behind.insert(MANIFEST_BLOB.to_owned(), manifest);
        }
        self.replaced += 1;
        if self.replaced >= BEHIND_MAX {
            self.catch_up_or_tell();
        }
        Ok(())
    }

    /// Makes second copies durable.
    fn catch_up(&mut self) -> std::io::Result<()> {
        self.replaced = 0;
        let [_, second] = &self.store.directories;
        std::mem::take(&mut self.behind).into_iter().try_for_each(|(name, bytes)| replace_file(second, &name, &bytes))
    }

    fn catch_up_or_tell(&mut self) {
        if let Err(error) = self.catch_up() {
            let path = &self.store.directories[1];
            tracing::error!(path = %path.display(), %error, "second copies of small files could not be written: they are older than the first ones until those change or the node starts again");
        }
    }
}

/// Replaces a file as a whole, durably.
///
/// # Errors
/// When it cannot be written; then the file is as it was.
pub fn replace_file(directory: &Path, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let temporary = directory.join(format!("{name}~"));
    // The schema has hashes of passwords.
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    let path = directory.join(name);
    if path.is_dir() {
        keep_damaged(&path)?;
    }
    fs::rename(&temporary, path)?;
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
    use io::recover_blobs;

    const OWNER: BlobOwner = BlobOwner(7);

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("tarndb-blobs-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            Self(path)
        }

        fn directories(&self) -> BlobDirectories {
            [self.0.join("blobs"), self.0.join("blobs-copy")]
        }

        fn recover(&self) -> RecoveredBlobs {
            recover_blobs(OWNER, &read_blobs(&self.directories()).unwrap()).unwrap()
        }

        fn open(&self) -> BlobStore {
            BlobStore::open(self.directories(), OWNER, &self.recover()).unwrap()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn replaced_blobs_are_read_back_and_temporaries_are_not() {
        let folder = Folder::new("replaced");
        let mut store = folder.open();
        store.replace("schema.1", b"old").unwrap();
        store.replace("schema.1", b"new").unwrap();
        let [first, second] = folder.directories();
        fs::write(first.join("schema.1~"), b"half").unwrap();
        fs::write(first.join("NOTES"), b"of the operator").unwrap();
        let recovered = folder.recover();
        assert_eq!(recovered.blobs.len(), 1);
        assert_eq!((recovered.blobs["schema.1"].generation, &recovered.blobs["schema.1"].content[..]), (2, &b"new"[..]));
        assert_eq!(recovered.repairs, []);
        folder.open();
        assert!(!first.join("schema.1~").exists());
        assert_eq!(fs::read(first.join("schema.1")).unwrap(), fs::read(second.join("schema.1")).unwrap());
    }

    #[test]
    fn a_lost_or_damaged_copy_is_written_again_and_what_was_found_is_kept() {
        for copy in 0..BLOB_COPIES {
            let folder = Folder::new(&format!("mended-{copy}"));
            folder.open().replace("schema.1", b"new").unwrap();
            let path = folder.directories()[copy].join("schema.1");
            let good = fs::read(&path).unwrap();
            fs::write(&path, b"overwritten").unwrap();
            folder.open();
            assert_eq!(fs::read(&path).unwrap(), good);
            assert_eq!(fs::read(path.with_file_name("schema.1~damaged")).unwrap(), b"overwritten");
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
            folder.open();
            assert_eq!(fs::read(&path).unwrap(), good);
            fs::remove_dir_all(&folder.directories()[copy]).unwrap();
            folder.open();
            assert_eq!(fs::read(&path).unwrap(), good);
            assert_eq!(folder.recover().repairs, []);
        }
    }

    #[test]
    fn a_directory_from_before_seals_is_sealed_wherever_that_is_cut_off() {
        let folder = Folder::new("sealed");
        let [first, second] = folder.directories();
        fs::create_dir_all(&first).unwrap();
        fs::write(first.join("schema.1"), b"new").unwrap();
        fs::write(first.join("marks-0"), b"1").unwrap();
        folder.open();
        let sealed = folder.recover();
        assert_eq!((sealed.blobs.len(), &sealed.repairs[..], sealed.unlisted), (2, &[][..], false));
        fs::write(first.join("schema.1"), b"new").unwrap();
        fs::write(first.join("marks-0"), b"1").unwrap();
        fs::remove_file(first.join(MANIFEST_BLOB)).unwrap();
        fs::remove_file(second.join(MANIFEST_BLOB)).unwrap();
        folder.open();
        assert_eq!(folder.recover().blobs, sealed.blobs);
    }

    #[test]
    fn names_that_would_leave_the_directory_are_refused() {
        let folder = Folder::new("names");
        let mut writer = Writer::new(folder.open());
        for name in ["", ".", "..", "a/b", "../a", "A", "a~", "a\0", &"a".repeat(129)] {
            assert!(writer.replace(name, b"").unwrap_err().raw_os_error() == Some(libc::EINVAL), "{name}");
        }
    }
}
