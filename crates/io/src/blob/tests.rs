//! Seals, the choice between copies, and what is lost.

#![allow(clippy::unwrap_used)]

use super::*;

const OWNER: BlobOwner = BlobOwner(7);
type Copies = [BTreeMap<String, BlobCopy>; BLOB_COPIES];

/// Two copies of two blobs, the second of which was replaced once.
fn stored() -> Copies {
    let mut sealer = BlobSealer::new(OWNER, &RecoveredBlobs::default());
    let mut copies = Copies::default();
    for (name, content) in [("schema.json", &b"{}"[..]), ("marks", b"1"), ("marks", b"2")] {
        let mut store = |name: &str, bytes: Vec<u8>| {
            copies.iter_mut().for_each(|copy| drop(copy.insert(name.to_owned(), Ok(bytes.clone()))));
        };
        store(name, sealer.seal(name, content));
        sealer.blob_stored(name);
        if let Some(manifest) = sealer.due_manifest() {
            store(MANIFEST_BLOB, manifest);
            sealer.manifest_stored();
        }
    }
    copies
}

#[test]
fn a_seal_is_one_line_of_text() {
    let sealed = seal_blob(OWNER, "a.toml", 3, b"cores = 2\n");
    let text = "# tarndb-blob 1 node=00000000000000000000000000000007 name=a.toml generation=3 bytes=10 crc32=";
    assert!(sealed.starts_with(text.as_bytes()), "{}", String::from_utf8_lossy(&sealed));
    assert_eq!(open_blob("a.toml", &sealed).unwrap(), Sealed { owner: OWNER, generation: 3, content: b"cores = 2\n" });
}

#[test]
fn no_changed_byte_passes() {
    let sealed = seal_blob(OWNER, "marks", 3, b"content");
    for position in 0..sealed.len() {
        for bit in 0..8 {
            let mut changed = sealed.clone();
            changed[position] ^= 1 << bit;
            let opened = open_blob("marks", &changed);
            // Hexadecimal digits of either case say the same.
            assert!(opened.is_err() || opened == open_blob("marks", &sealed), "byte {position}, bit {bit}");
        }
        assert!(open_blob("marks", &sealed[..position]).is_err());
    }
}

#[test]
fn either_copy_of_a_blob_is_enough_whatever_becomes_of_the_other() {
    let good = recover_blobs(OWNER, &stored()).unwrap();
    assert_eq!(good.repairs, []);
    assert_eq!(good.blobs["marks"], Blob { generation: 2, content: b"2".to_vec() });
    for name in ["schema.json", "marks", MANIFEST_BLOB] {
        for copy in 0..BLOB_COPIES {
            let mut other_node = seal_blob(BlobOwner(8), name, 9, b"x");
            let faults: [(BlobFault, Option<BlobCopy>); 6] = [
                (BlobFault::Missing, None),
                (BlobFault::Unreadable("EIO".to_owned()), Some(Err("EIO".to_owned()))),
                (BlobFault::Unsealed, Some(Ok(Vec::new()))),
                (BlobFault::Owner, Some(Ok(other_node.clone()))),
                (BlobFault::Stale, Some(Ok(seal_blob(OWNER, name, 0, b"old")))),
                (BlobFault::Checksum, {
                    *other_node.last_mut().unwrap() ^= 1;
                    Some(Ok(other_node))
                }),
            ];
            for (fault, found) in faults {
                let mut copies = stored();
                match found {
                    Some(found) => drop(copies[copy].insert(name.to_owned(), found)),
                    None => drop(copies[copy].remove(name)),
                }
                let recovered = recover_blobs(OWNER, &copies).unwrap();
                assert_eq!(recovered.blobs, good.blobs, "{name} {fault}");
                assert_eq!(recovered.repairs, [BlobRepair { name: name.to_owned(), copy, fault }]);
            }
        }
    }
}

#[test]
fn a_blob_without_a_good_copy_is_lost_and_not_taken_for_one_that_never_was() {
    for name in ["schema.json", "marks", MANIFEST_BLOB] {
        let mut copies = stored();
        copies.iter_mut().for_each(|copy| drop(copy.remove(name)));
        let lost = vec![(name.to_owned(), [BlobFault::Missing, BlobFault::Missing])];
        assert_eq!(recover_blobs(OWNER, &copies), Err(BlobsLost { lost }));
    }
    assert_eq!(recover_blobs(OWNER, &Copies::default()).unwrap(), RecoveredBlobs::default());
}

#[test]
fn the_manifest_does_not_name_a_blob_that_could_not_be_stored() {
    let mut sealer = BlobSealer::new(OWNER, &RecoveredBlobs::default());
    sealer.seal("refused", b"1");
    assert_eq!(sealer.due_manifest(), None);
    sealer.seal("stored", b"1");
    sealer.blob_stored("stored");
    assert!(String::from_utf8(sealer.due_manifest().unwrap()).unwrap().ends_with("\nstored\n"));
    sealer.manifest_stored();
    sealer.seal("refused", b"2");
    sealer.blob_stored("refused");
    assert!(String::from_utf8(sealer.due_manifest().unwrap()).unwrap().ends_with("\nrefused\nstored\n"));
}

#[test]
fn a_directory_from_before_seals_is_read_and_sealed() {
    let mut copies = Copies::default();
    copies[0].insert("schema.json".to_owned(), Ok(b"{}".to_vec()));
    let recovered = recover_blobs(OWNER, &copies).unwrap();
    assert_eq!(recovered.blobs["schema.json"], Blob { generation: 0, content: b"{}".to_vec() });
    assert_eq!(recovered.repairs.len(), BLOB_COPIES);
    assert!(recovered.unlisted);
    // The sealing is cut off before the manifest, and goes on.
    copies[1].insert("schema.json".to_owned(), Ok(seal_blob(OWNER, "schema.json", 0, b"{}")));
    assert_eq!(recover_blobs(OWNER, &copies).unwrap(), recovered);
}

#[test]
fn a_blob_that_the_manifest_does_not_name_yet_counts() {
    let mut copies = stored();
    copies[0].insert("new".to_owned(), Ok(seal_blob(OWNER, "new", 1, b"n")));
    let recovered = recover_blobs(OWNER, &copies).unwrap();
    assert_eq!(recovered.blobs["new"].content, b"n");
    let mut sealer = BlobSealer::new(OWNER, &recovered);
    assert!(sealer.due_manifest().is_some(), "until it is stored");
    assert!(String::from_utf8(sealer.manifest()).unwrap().ends_with(
        "marks
new
schema.json
"
    ));
}
