//! What somebody else's device looks like: the signatures of common file systems and volume managers.
//!
//! Only to name what was found. A device without any of these is still not empty if a byte that is looked at is not zero.

/// A signature: where, what, whose.
const SIGNATURES: [(usize, &[u8], &str); 17] = [
    (1024 + 56, &[0x53, 0xEF], "an ext2, ext3 or ext4 file system"),
    (0, b"XFSB", "an XFS file system"),
    (65_536 + 64, b"_BHRfS_M", "a Btrfs file system"),
    (1024, &[0x10, 0x20, 0xF5, 0xF2], "an F2FS file system"),
    (3, b"NTFS    ", "an NTFS file system"),
    (3, b"EXFAT   ", "an exFAT file system"),
    (82, b"FAT32   ", "a FAT file system"),
    (54, b"FAT16   ", "a FAT file system"),
    (32_769, b"CD001", "an ISO 9660 image"),
    (4086, b"SWAPSPACE2", "swap space"),
    (0, b"LUKS\xBA\xBE", "an encrypted volume (LUKS)"),
    (512, b"LABELONE", "an LVM physical volume"),
    (4096, &[0xFC, 0x4E, 0x2B, 0xA9], "a member of a software RAID"),
    (512, b"EFI PART", "a GPT partition table"),
    (4096, b"EFI PART", "a GPT partition table"),
    (510, &[0x55, 0xAA], "a partition table or boot sector"),
    (0, b"TARNSEG1", "segments of a shard's own file (shard-N.data)"),
];

/// What the head of a device is known to hold.
pub(crate) fn recognise(head: &[u8]) -> Option<&'static str> {
    let found = SIGNATURES.iter().find(|(offset, magic, _)| head.get(*offset..).is_some_and(|bytes| bytes.starts_with(magic)));
    found.map(|(_, _, name)| *name)
}

/// How data without a signature is named.
pub(crate) fn unknown_at(offset: u64) -> String {
    format!("data of an unknown kind at offset {offset}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signature_is_recognised_where_it_belongs_and_zeros_are_not() {
        assert_eq!(recognise(&[0; 1 << 17]), None);
        assert_eq!(recognise(&[]), None);
        for (offset, magic, name) in SIGNATURES {
            let mut head = vec![0; 1 << 17];
            head[offset..offset + magic.len()].copy_from_slice(magic);
            assert_eq!(recognise(&head), Some(name));
            assert_eq!(recognise(&head[..offset]), None, "{name} is cut off");
        }
    }
}
