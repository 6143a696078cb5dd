//! Blobs as files: small named files of a node that are replaced as a whole, each kept twice.
//!
//! A copy is *sealed*: one line of text says whose it is, its generation and its checksum; the content follows. Names that end in
//! `.toml` have the line as a comment.
//!
//! ```text
//! tarndb-blob 1 node=HEX32 name=NAME generation=N bytes=N crc32=HEX8\n
//! content
//! ```
//!
//! | of a blob's two copies | what counts |
//! |---|---|
//! | both are good | the higher generation |
//! | one is good | that one; the other is written again |
//! | none is good, and the manifest names the blob | it is lost: the node must not start |
//!
//! A blob that can be made again ([`DISPENSABLE_PREFIX`]) is not lost but missing.
//!
//! The *manifest* is itself a blob. It names every blob that was ever stored, so that a lost one is not taken for one that never was.
//! Everything here is a value: `io-linux` does it with files, the simulator with memory.

#[cfg(test)]
mod tests;

use base::checksum;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The blob that names all others.
pub const MANIFEST_BLOB: &str = "manifest";
/// Blobs whose names begin so may be lost: what they hold can be made again.
pub const DISPENSABLE_PREFIX: &str = "vectors-";

/// Each blob has so many copies.
pub const BLOB_COPIES: usize = 2;

const NAME_BYTES_MAX: usize = 128;
const MAGIC: &str = "tarndb-blob 1 ";
const COMMENT: &str = "# ";
/// The longest line of a seal.
const LINE_BYTES_MAX: usize = 512;

/// Whose a blob is: the node's host id, which clients may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobOwner(pub u128);

/// Whether a blob may have this name: 1 to 128 lower-case letters, digits, `-` and `.`, not beginning with `.`.
#[must_use]
pub fn is_blob_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.';
    (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(allowed)
}

/// What is wrong with a copy of a blob.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlobFault {
    /// There is no such file.
    #[error("is missing")]
    Missing,
    /// The operating system does not give it.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// It has no seal, or not all that the seal says.
    #[error("is cut short or was overwritten")]
    Unsealed,
    /// It is not what was written.
    #[error("is damaged: its checksum does not match")]
    Checksum,
    /// It was sealed under another name.
    #[error("is a copy of another file")]
    Name,
    /// It was sealed by another node.
    #[error("belongs to another node")]
    Owner,
    /// The other copy is newer.
    #[error("is older than its copy")]
    Stale,
}

/// A copy that is what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed<'a> {
    /// Who wrote it.
    pub owner: BlobOwner,
    /// How many times the blob was replaced.
    pub generation: u64,
    /// What was to be kept.
    pub content: &'a [u8],
}

/// The bytes of a copy.
#[must_use]
pub fn seal_blob(owner: BlobOwner, name: &str, generation: u64, content: &[u8]) -> Vec<u8> {
    let comment = if name.ends_with(".toml") { COMMENT } else { "" };
    let head = format!("{comment}{MAGIC}node={:032x} name={name} generation={generation} bytes={}", owner.0, content.len());
    let checksum = checksum_of(head.as_bytes(), content);
    let mut bytes = format!("{head} crc32={checksum:08x}\n").into_bytes();
    bytes.extend_from_slice(content);
    bytes
}

/// Reads a copy of the blob `name`.
///
/// # Errors
/// What is wrong with it. A copy without any seal is [`BlobFault::Unsealed`].
pub fn open_blob<'a>(name: &str, bytes: &'a [u8]) -> Result<Sealed<'a>, BlobFault> {
    let line_end = bytes.iter().take(LINE_BYTES_MAX).position(|byte| *byte == b'\n').ok_or(BlobFault::Unsealed)?;
    let (line, content) = (&bytes[..line_end], &bytes[line_end + 1..]);
    let line = std::str::from_utf8(line).map_err(|_| BlobFault::Unsealed)?;
    let (head, stored) = line.rsplit_once(" crc32=").ok_or(BlobFault::Unsealed)?;
    let fields = head.strip_prefix(COMMENT).unwrap_or(head).strip_prefix(MAGIC).ok_or(BlobFault::Unsealed)?;
    let mut fields = fields.split(' ');
    let mut field = |key: &str| fields.next()?.strip_prefix(key)?.strip_prefix('=');
    let parsed = (|| {
        let owner = u128::from_str_radix(field("node")?, 16).ok()?;
        let named = field("name")?;
        let generation: u64 = field("generation")?.parse().ok()?;
        let length: usize = field("bytes")?.parse().ok()?;
        Some((BlobOwner(owner), named, generation, length))
    })();
    let (owner, named, generation, length) = parsed.ok_or(BlobFault::Unsealed)?;
    if content.len() != length {
        return Err(BlobFault::Unsealed);
    }
    if u32::from_str_radix(stored, 16) != Ok(checksum_of(head.as_bytes(), content)) {
        return Err(BlobFault::Checksum);
    }
    if named != name {
        return Err(BlobFault::Name);
    }
    Ok(Sealed { owner, generation, content })
}

fn checksum_of(head: &[u8], content: &[u8]) -> u32 {
    // The seal of the head and that of the content, sealed: no copy of both is made.
    let mut both = [0; 8];
    both[..4].copy_from_slice(&checksum(head).to_le_bytes());
    both[4..].copy_from_slice(&checksum(content).to_le_bytes());
    checksum(&both)
}

/// A copy as it was found. A copy that is not there is not in the map.
pub type BlobCopy = Result<Vec<u8>, String>;

/// A blob's newest content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// How many times it was replaced.
    pub generation: u64,
    /// What was to be kept.
    pub content: Vec<u8>,
}

/// A copy that was not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobRepair {
    /// The blob.
    pub name: String,
    /// Which copy.
    pub copy: usize,
    /// What is wrong with it.
    pub fault: BlobFault,
}

/// Blobs of which no copy is good.
#[derive(Debug, PartialEq, Eq)]
pub struct BlobsLost {
    /// Each with what is wrong with its copies.
    pub lost: Vec<(String, [BlobFault; BLOB_COPIES])>,
}

impl fmt::Display for BlobsLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (name, [one, other])) in self.lost.iter().enumerate() {
            write!(f, "{}`{name}` {one}, and its copy {other}", if position > 0 { "; " } else { "" })?;
        }
        Ok(())
    }
}

impl std::error::Error for BlobsLost {}

/// All blobs of a node, and what is wrong with copies of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RecoveredBlobs {
    /// By name; without the manifest.
    pub blobs: BTreeMap<String, Blob>,
    /// The manifest's generation.
    pub manifest_generation: u64,
    /// The manifest does not name all of them.
    pub unlisted: bool,
    /// Copies to be written again.
    pub repairs: Vec<BlobRepair>,
}

/// Chooses the newest good copy of each blob.
///
/// A directory from before blobs were sealed has neither a manifest nor a seal; its one copy is taken as it is.
///
/// # Errors
/// When a blob that was stored has no good copy.
pub fn recover_blobs(owner: BlobOwner, copies: &[BTreeMap<String, BlobCopy>; BLOB_COPIES]) -> Result<RecoveredBlobs, BlobsLost> {
    recover_blobs_without(owner, copies, &[])
}

/// The same as if blobs with these names had never been stored.
///
/// # Errors
/// When another blob that was stored has no good copy.
pub fn recover_blobs_without(
    owner: BlobOwner,
    copies: &[BTreeMap<String, BlobCopy>; BLOB_COPIES],
    without: &[String],
) -> Result<RecoveredBlobs, BlobsLost> {
    let mut recovered = RecoveredBlobs::default();
    let mut lost = Vec::new();
    if is_from_before_seals(copies) {
        recovered.unlisted = !copies[0].is_empty();
        for (name, copy) in &copies[0] {
            match copy {
                Ok(content) => {
                    recovered.blobs.insert(name.clone(), Blob { generation: 0, content: content.clone() });
                    recovered.repairs.extend((0..BLOB_COPIES).map(|copy| BlobRepair {
                        name: name.clone(),
                        copy,
                        fault: BlobFault::Unsealed,
                    }));
                }
                Err(why) => lost.push((name.clone(), [BlobFault::Unreadable(why.clone()), BlobFault::Missing])),
            }
        }
        return if lost.is_empty() { Ok(recovered) } else { Err(BlobsLost { lost }) };
    }
    let mut names: BTreeSet<&str> = copies.iter().flat_map(|copies| copies.keys().map(String::as_str)).collect();
    names.insert(MANIFEST_BLOB);
    let mut manifest = Vec::new();
    match choose(owner, MANIFEST_BLOB, copies) {
        Ok((blob, faults)) => {
            recovered.manifest_generation = blob.generation;
            recovered.repairs.extend(faults);
            manifest = blob.content;
        }
        Err(faults) => lost.push((MANIFEST_BLOB.to_owned(), faults)),
    }
    let listed: BTreeSet<&str> = std::str::from_utf8(&manifest).unwrap_or_default().lines().collect();
    names.extend(&listed);
    names.remove(MANIFEST_BLOB);
    names.retain(|name| !without.iter().any(|other| other == name));
    recovered.unlisted = !without.is_empty();
    for name in names {
        match choose(owner, name, copies) {
            Ok((blob, faults)) => {
                recovered.unlisted |= !listed.contains(name);
                recovered.blobs.insert(name.to_owned(), blob);
                recovered.repairs.extend(faults);
            }
            Err(_) if name.starts_with(DISPENSABLE_PREFIX) => {}
            Err(faults) => lost.push((name.to_owned(), faults)),
        }
    }
    if lost.is_empty() { Ok(recovered) } else { Err(BlobsLost { lost }) }
}

/// Whether nothing was sealed yet, or the sealing of everything was cut off: second copies are sealed before first ones, and the
/// manifest comes last.
fn is_from_before_seals(copies: &[BTreeMap<String, BlobCopy>; BLOB_COPIES]) -> bool {
    let is_unsealed = |copy: &BlobCopy| !copy.as_ref().is_ok_and(|bytes| bytes.starts_with(MAGIC.as_bytes()));
    copies.iter().all(|copies| !copies.contains_key(MANIFEST_BLOB)) && copies[0].values().all(is_unsealed)
}

fn choose(
    owner: BlobOwner,
    name: &str,
    copies: &[BTreeMap<String, BlobCopy>; BLOB_COPIES],
) -> Result<(Blob, Option<BlobRepair>), [BlobFault; BLOB_COPIES]> {
    choose_copy(owner, name, [copies[0].get(name), copies[1].get(name)])
}

/// The newest good copy of a blob, and what is wrong with the other.
///
/// # Errors
/// What is wrong with each, if none is good.
pub fn choose_copy(
    owner: BlobOwner,
    name: &str,
    copies: [Option<&BlobCopy>; BLOB_COPIES],
) -> Result<(Blob, Option<BlobRepair>), [BlobFault; BLOB_COPIES]> {
    let open = |copy: usize| match copies[copy] {
        None => Err(BlobFault::Missing),
        Some(Err(why)) => Err(BlobFault::Unreadable(why.clone())),
        Some(Ok(bytes)) => match open_blob(name, bytes)? {
            sealed if sealed.owner == owner => Ok(sealed),
            _ => Err(BlobFault::Owner),
        },
    };
    let (newest, repair) = match (open(0), open(1)) {
        (Ok(one), Ok(other)) if one.generation == other.generation => (one, None),
        (Ok(one), Ok(other)) if one.generation > other.generation => (one, Some((1, BlobFault::Stale))),
        (Ok(_), Ok(other)) => (other, Some((0, BlobFault::Stale))),
        (Ok(one), Err(fault)) => (one, Some((1, fault))),
        (Err(fault), Ok(other)) => (other, Some((0, fault))),
        (Err(one), Err(other)) => return Err([one, other]),
    };
    let blob = Blob { generation: newest.generation, content: newest.content.to_vec() };
    Ok((blob, repair.map(|(copy, fault)| BlobRepair { name: name.to_owned(), copy, fault })))
}

/// Seals each new version of a node's blobs, and keeps the manifest.
#[derive(Clone, Debug)]
pub struct BlobSealer {
    owner: BlobOwner,
    generations: BTreeMap<String, u64>,
    /// Blobs that are stored; one that there was no room for is none.
    stored: BTreeSet<String>,
    manifest_generation: u64,
    manifest_due: bool,
}

impl BlobSealer {
    /// Goes on after what was recovered.
    #[must_use]
    pub fn new(owner: BlobOwner, recovered: &RecoveredBlobs) -> Self {
        let generations = recovered.blobs.iter().map(|(name, blob)| (name.clone(), blob.generation)).collect();
        let stored = recovered.blobs.keys().cloned().collect();
        Self { owner, generations, stored, manifest_generation: recovered.manifest_generation, manifest_due: recovered.unlisted }
    }

    /// The next version of a blob, which may yet fail to be stored.
    pub fn seal(&mut self, name: &str, content: &[u8]) -> Vec<u8> {
        let generation = self.generations.entry(name.to_owned()).or_default();
        *generation += 1;
        seal_blob(self.owner, name, *generation, content)
    }

    /// The first copy of a blob is durable. [`BlobSealer::due_manifest`] must be durable too before it counts.
    pub fn blob_stored(&mut self, name: &str) {
        if !self.stored.contains(name) {
            self.stored.insert(name.to_owned());
            self.manifest_due = true;
        }
    }

    /// The next version of the manifest, if it does not name all blobs yet.
    pub fn due_manifest(&mut self) -> Option<Vec<u8>> {
        self.manifest_due.then(|| {
            self.manifest_generation += 1;
            self.manifest()
        })
    }

    /// The manifest that was due is durable.
    pub fn manifest_stored(&mut self) {
        self.manifest_due = false;
    }

    /// The manifest as it is.
    #[must_use]
    pub fn manifest(&self) -> Vec<u8> {
        let names = self.stored.iter().fold(String::new(), |names, name| names + name + "\n");
        seal_blob(self.owner, MANIFEST_BLOB, self.manifest_generation, names.as_bytes())
    }
}
