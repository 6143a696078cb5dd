//! The blobs of a simulated node: two sealed copies of each, what may happen to one of them, and which counts at the next start.
//!
//! The seals and the choice are production code (`io::recover_blobs`); only the files are not.

use crate::planted::Planted;
use base::Rng;
use io::{BLOB_COPIES, BlobCopy, BlobOwner, BlobSealer, MANIFEST_BLOB, RecoveredBlobs, open_blob, recover_blobs, seal_blob};
use std::collections::BTreeMap;

type Copies = [BTreeMap<String, BlobCopy>; BLOB_COPIES];

/// A node's blobs.
pub(crate) struct Blobs {
    owner: BlobOwner,
    sealer: BlobSealer,
    copies: Copies,
    /// What each copy was before.
    former: BTreeMap<String, Vec<u8>>,
    /// Contents that were acknowledged.
    stored: BTreeMap<String, Vec<u8>>,
    /// A die of its own: faults of blobs move no other chance.
    rng: Rng,
}

impl Blobs {
    pub(crate) fn new(seed: u64) -> Self {
        let owner = BlobOwner(u128::from(seed) + 1);
        Self {
            owner,
            sealer: BlobSealer::new(owner, &RecoveredBlobs::default()),
            copies: Copies::default(),
            former: BTreeMap::new(),
            stored: BTreeMap::new(),
            rng: Rng::new(seed ^ 0x626C_6F62),
        }
    }

    /// Replaces a blob: the first copy before it is acknowledged, the second now or with one of the next replacements.
    pub(crate) fn store(&mut self, name: &str, content: Vec<u8>) {
        let mut files = vec![(name.to_owned(), self.sealer.seal(name, &content))];
        self.sealer.blob_stored(name);
        files.extend(self.sealer.due_manifest().map(|manifest| (MANIFEST_BLOB.to_owned(), manifest)));
        self.sealer.manifest_stored();
        for (name, bytes) in files {
            if let Some(Ok(former)) = self.copies[0].insert(name.clone(), Ok(bytes)) {
                self.former.insert(name, former);
            }
        }
        self.stored.insert(name.to_owned(), content);
        if self.rng.below(4) > 0 {
            self.copies[1] = self.copies[0].clone();
        }
    }

    /// There is no room for a blob: what it was before stays.
    pub(crate) fn refuse(&mut self, name: &str, content: &[u8]) {
        self.sealer.seal(name, content);
    }

    /// One copy of a few blobs is lost, damaged, old or another node's. Both copies of those are the newest before: one that a crash has left
    /// behind and a fault of the other are two faults.
    fn suffer(&mut self) {
        for _ in 0..self.rng.below(4) {
            let whole: Vec<String> =
                self.copies[0].keys().filter(|name| self.copies[0].get(*name) == self.copies[1].get(*name)).cloned().collect();
            if whole.is_empty() {
                return;
            }
            let name = &whole[self.rng.below(whole.len() as u64) as usize];
            let copy = self.rng.below(BLOB_COPIES as u64) as usize;
            let Some(Ok(bytes)) = self.copies[copy].get(name).cloned() else { continue };
            let found = match (self.rng.below(6), self.former.get(name)) {
                (0, _) => None,
                (1, Some(former)) => Some(Ok(former.clone())),
                (2, _) => Some(Err("EIO".to_owned())),
                (3, _) => Some(Ok(bytes[..self.rng.below(bytes.len() as u64) as usize].to_vec())),
                (4, _) => Some(Ok(seal_blob(BlobOwner(0), name, 1_000_000, b""))),
                _ => {
                    let mut bytes = bytes;
                    let position = self.rng.below(bytes.len() as u64) as usize;
                    bytes[position] ^= 1 << self.rng.below(8);
                    Some(Ok(bytes))
                }
            };
            match found {
                Some(found) => drop(self.copies[copy].insert(name.clone(), found)),
                None => drop(self.copies[copy].remove(name)),
            }
        }
    }

    /// What the next start finds, whatever has happened to single copies meanwhile.
    ///
    /// # Panics
    /// When that is not what was stored.
    pub(crate) fn restart(&mut self, planted: Option<Planted>) -> BTreeMap<String, Vec<u8>> {
        self.suffer();
        let recovered = recover_blobs(self.owner, &self.copies).unwrap_or_else(|lost| panic!("blobs are lost: {lost}"));
        self.sealer = BlobSealer::new(self.owner, &recovered);
        for (name, blob) in &recovered.blobs {
            let bytes = seal_blob(self.owner, name, blob.generation, &blob.content);
            self.copies.iter_mut().for_each(|copies| drop(copies.insert(name.clone(), Ok(bytes.clone()))));
        }
        let manifest = self.sealer.due_manifest().unwrap_or_else(|| self.sealer.manifest());
        self.sealer.manifest_stored();
        self.copies.iter_mut().for_each(|copies| drop(copies.insert(MANIFEST_BLOB.to_owned(), Ok(manifest.clone()))));
        let mut blobs: BTreeMap<_, _> = recovered.blobs.into_iter().map(|(name, blob)| (name, blob.content)).collect();
        if planted == Some(Planted::StaleBlobs) {
            for (name, former) in &self.former {
                let former = open_blob(name, former).map(|sealed| sealed.content.to_vec());
                former.into_iter().filter(|_| name != MANIFEST_BLOB).for_each(|former| drop(blobs.insert(name.clone(), former)));
            }
        } else {
            assert_eq!(blobs, self.stored, "what is recovered is not what was stored");
        }
        blobs
    }
}
