//! The small files of a data directory, read together: layout, identity and the other blobs, each kept twice.
//!
//! 1. Every copy that is sealed says whose it is; the node is the one that most of them name. So a file of another node is told from
//!    those of this one, the identity included.
//! 2. Of each file the newest good copy counts. What is wrong with the other is reported, and mended when the directory is used.
//! 3. A file that was there and has no good copy ends the start. So does a directory with rows and without layout or identity: to make
//!    them anew would make the rows unreadable.
//!
//! Invariant: reading writes nothing.

use crate::file_copy::read_copy;
use crate::identity::{self, IDENTITY_BLOB};
use crate::layout::{LAYOUT, LAYOUT_COPY, Layout, LayoutError, Losses};
use io::{
    Blob, BlobCopy, BlobOwner, BlobRepair, MANIFEST_BLOB, RecoveredBlobs, choose_copy, open_blob, recover_blobs, recover_blobs_without,
};
use io_linux::{BlobDirectories, BlobStore, read_blobs};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The small files of a directory.
#[derive(Debug)]
pub(crate) struct SmallFiles {
    directory: PathBuf,
    /// `None` in a new directory.
    pub(crate) identity: Option<u128>,
    /// The layout's text; `None` before the end of the first start's preparations.
    pub(crate) layout: Option<Blob>,
    /// A copy of the layout is not as it should be.
    pub(crate) layout_needs_repair: bool,
    recovered: RecoveredBlobs,
}

/// The small files of a directory that is in use.
pub(crate) struct OpenFiles {
    pub(crate) identity: u128,
    /// Contents by name.
    pub(crate) blobs: BTreeMap<String, Vec<u8>>,
    /// Where they are kept.
    pub(crate) store: BlobStore,
}

/// Where blobs are.
pub(crate) fn blob_directories(directory: &Path) -> BlobDirectories {
    [directory.join("blobs"), directory.join("blobs-copy")]
}

/// Reads them.
///
/// # Errors
/// When one has no good copy.
pub(crate) fn read(directory: &Path, losses: Losses) -> Result<SmallFiles, LayoutError> {
    let copies = read_blobs(&blob_directories(directory))?;
    let layouts = [LAYOUT, LAYOUT_COPY].map(|name| read_copy(&directory.join(name)));
    let new = SmallFiles {
        directory: directory.to_owned(),
        identity: None,
        layout: None,
        layout_needs_repair: false,
        recovered: RecoveredBlobs::default(),
    };
    let is_made = layouts.iter().any(Option::is_some) || has_shard_files(directory);
    let Some(owner) = owner_of(directory, &copies, &layouts)? else {
        // Nothing says whose the directory is.
        let is_empty = copies.iter().all(|copies| copies.keys().all(|name| name == IDENTITY_BLOB || name == MANIFEST_BLOB));
        return if is_made || !is_empty { Err(LayoutError::IdentityLost { path: directory.to_owned() }) } else { Ok(new) };
    };
    let has_only_an_identity = copies.iter().flat_map(BTreeMap::keys).all(|name| name == IDENTITY_BLOB || name == MANIFEST_BLOB);
    let recovered = match recover_blobs(owner, &copies) {
        Ok(recovered) => recovered,
        // The first start was cut off before anything was made of the identity.
        Err(_) if !is_made && has_only_an_identity => first_identity(owner, &copies),
        Err(lost) if losses == Losses::Accepted && lost.lost.iter().all(|(name, _)| is_dispensable(name)) => {
            tracing::error!(%lost, "the node starts without small files: the loss of stored data was accepted");
            let names: Vec<String> = lost.lost.into_iter().map(|(name, _)| name).collect();
            recover_blobs_without(owner, &copies, &names).map_err(|lost| LayoutError::BlobsLost { path: directory.to_owned(), lost })?
        }
        Err(lost) => return Err(LayoutError::BlobsLost { path: directory.to_owned(), lost }),
    };
    let stored = recovered.blobs.get(IDENTITY_BLOB).and_then(|blob| identity::decode(&blob.content));
    let Some(identity) = stored.filter(|identity| identity::owner(*identity) == owner) else {
        if !is_made && has_only_an_identity {
            return Ok(new);
        }
        return Err(LayoutError::IdentityLost { path: directory.to_owned() });
    };
    // In a directory from before seals nothing is wrong.
    for repair in recovered.repairs.iter().filter(|_| recovered.manifest_generation > 0) {
        let path = blob_directories(directory)[repair.copy].join(&repair.name);
        report(&path, repair);
    }
    let (layout, layout_needs_repair) = choose_layout(directory, owner, &layouts)?;
    if layout.is_none() && (has_shard_files(directory) || !has_only_an_identity) {
        return Err(LayoutError::LayoutLost { path: directory.to_owned() });
    }
    Ok(SmallFiles { identity: Some(identity), layout, layout_needs_repair, recovered, ..new })
}

impl SmallFiles {
    /// What was fixed when the directory was made; `None` if it was not, yet.
    pub(crate) fn layout(&self) -> Result<Option<Layout>, LayoutError> {
        let Some(blob) = &self.layout else { return Ok(None) };
        Layout::parse(&self.directory.join(LAYOUT), &String::from_utf8_lossy(&blob.content)).map(Some)
    }

    /// A blob's content.
    pub(crate) fn blob(&self, name: &str) -> Option<&[u8]> {
        self.recovered.blobs.get(name).map(|blob| &blob.content[..])
    }

    /// Mends what is not as it should be, and makes the identity in a new directory.
    pub(crate) fn open(self) -> Result<OpenFiles, LayoutError> {
        let identity = self.identity.unwrap_or_else(identity::random);
        let mut store = BlobStore::open(blob_directories(&self.directory), identity::owner(identity), &self.recovered)?;
        if self.identity.is_none() {
            store.replace(IDENTITY_BLOB, &identity::encode(identity))?;
        }
        let blobs = self.recovered.blobs.into_iter().map(|(name, blob)| (name, blob.content)).collect();
        Ok(OpenFiles { identity, blobs, store })
    }
}

/// Whether a node can go on without a blob: truncated rows return, and what replicas that are away have is not known.
fn is_dispensable(name: &str) -> bool {
    name.starts_with("truncations-") || name.starts_with("replication-")
}

fn report(path: &Path, repair: &BlobRepair) {
    tracing::warn!(path = %path.display(), fault = %repair.fault, "a small file is not as it should be; its other copy is good and replaces it");
}

/// What was stored before anything else was.
fn first_identity(owner: BlobOwner, copies: &[BTreeMap<String, BlobCopy>; 2]) -> RecoveredBlobs {
    let mut recovered = RecoveredBlobs { unlisted: true, ..RecoveredBlobs::default() };
    if let Ok((blob, repair)) = choose_copy(owner, IDENTITY_BLOB, [copies[0].get(IDENTITY_BLOB), copies[1].get(IDENTITY_BLOB)]) {
        recovered.blobs.insert(IDENTITY_BLOB.to_owned(), blob);
        recovered.repairs.extend(repair);
    }
    recovered
}

/// The node that most sealed copies name; that of the identity, if nothing is sealed yet.
fn owner_of(
    directory: &Path,
    copies: &[BTreeMap<String, BlobCopy>; 2],
    layouts: &[Option<BlobCopy>; 2],
) -> Result<Option<BlobOwner>, LayoutError> {
    let blobs = copies.iter().flatten().map(|(name, copy)| (name.as_str(), copy));
    let layouts = layouts.iter().flatten().map(|copy| (LAYOUT, copy));
    let mut votes: BTreeMap<BlobOwner, usize> = BTreeMap::new();
    for (name, copy) in blobs.chain(layouts) {
        if let Some(sealed) = copy.as_ref().ok().and_then(|bytes| open_blob(name, bytes).ok()) {
            *votes.entry(sealed.owner).or_default() += 1;
        }
    }
    let most = votes.values().copied().max().unwrap_or(0);
    let mut first = votes.iter().filter(|(_, count)| **count == most).map(|(owner, _)| *owner);
    match (first.next(), first.next()) {
        (Some(_), Some(_)) => Err(LayoutError::TwoNodes { path: directory.to_owned() }),
        (Some(owner), None) => Ok(Some(owner)),
        (None, _) => {
            let unsealed = copies[0].get(IDENTITY_BLOB).and_then(|copy| copy.as_ref().ok());
            Ok(unsealed.and_then(|content| identity::decode(content)).map(identity::owner))
        }
    }
}

/// The newest good copy of the layout, and whether the other is to be written again.
fn choose_layout(directory: &Path, owner: BlobOwner, layouts: &[Option<BlobCopy>; 2]) -> Result<(Option<Blob>, bool), LayoutError> {
    match layouts {
        [None, None] => return Ok((None, false)),
        // From before there were seals.
        [Some(Ok(text)), None] if !text.starts_with(b"# tarndb-blob") => {
            return Ok((Some(Blob { generation: 0, content: text.clone() }), true));
        }
        _ => {}
    }
    match choose_copy(owner, LAYOUT, [layouts[0].as_ref(), layouts[1].as_ref()]) {
        Ok((blob, None)) => Ok((Some(blob), false)),
        Ok((blob, Some(repair))) => {
            report(&directory.join([LAYOUT, LAYOUT_COPY][repair.copy]), &repair);
            Ok((Some(blob), true))
        }
        Err([first, second]) => Err(LayoutError::LayoutDamaged { path: directory.join(LAYOUT), first, second }),
    }
}

/// Whether a shard has written here.
fn has_shard_files(directory: &Path) -> bool {
    let is_shard_file = |name: &str| name.starts_with("shard-") && (name.ends_with(".data") || name.ends_with(".buffer"));
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).any(|name| is_shard_file(&name))
}
