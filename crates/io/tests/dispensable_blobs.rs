//! A blob that can be made again does not keep a node from starting when it is lost; any other one does.

#![allow(clippy::unwrap_used)]

use io::{BlobCopy, BlobOwner, BlobSealer, DISPENSABLE_PREFIX, MANIFEST_BLOB, RecoveredBlobs, recover_blobs};
use std::collections::BTreeMap;

const OWNER: BlobOwner = BlobOwner(7);

#[test]
fn only_blobs_that_can_be_made_again_may_be_lost() {
    let image = format!("{DISPENSABLE_PREFIX}0-5-0");
    let mut sealer = BlobSealer::new(OWNER, &RecoveredBlobs::default());
    let mut copy: BTreeMap<String, BlobCopy> = BTreeMap::new();
    for name in ["marks", image.as_str()] {
        copy.insert(name.to_owned(), Ok(sealer.seal(name, b"content")));
        sealer.blob_stored(name);
    }
    copy.insert(MANIFEST_BLOB.to_owned(), Ok(sealer.due_manifest().unwrap()));
    let recover = |copy: &BTreeMap<String, BlobCopy>| recover_blobs(OWNER, &[copy.clone(), copy.clone()]);
    assert_eq!(recover(&copy).unwrap().blobs.len(), 2);

    let without = |name: &str| copy.iter().filter(|(other, _)| *other != name).map(|(name, copy)| (name.clone(), copy.clone())).collect();
    assert_eq!(recover(&without(&image)).unwrap().blobs.into_keys().collect::<Vec<_>>(), ["marks"]);
    assert!(recover(&without("marks")).is_err());

    let damaged = BTreeMap::from([(image.clone(), Ok(b"tarndb-blob 1 nothing".to_vec()))]);
    let damaged = copy.iter().map(|(name, copy)| (name.clone(), copy.clone())).chain(damaged).collect();
    assert_eq!(recover(&damaged).unwrap().blobs.into_keys().collect::<Vec<_>>(), ["marks"]);
}
