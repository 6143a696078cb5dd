//! The node's identity: a random number, drawn at the first start and kept as a blob. It is secret: the low half is the store id of the
//! shards, with which checksums are salted, so that no client can write a row whose bytes pass for a record. What clients may see is the
//! host id, which is made of it one way.

use io::BlobOwner;
use md5::{Digest, Md5};

/// Blob that holds the node's identity: 32 hexadecimal digits.
pub(crate) const IDENTITY_BLOB: &str = "identity";

/// Reads the identity from its blob.
pub(crate) fn decode(content: &[u8]) -> Option<u128> {
    u128::from_str_radix(std::str::from_utf8(content).ok()?.trim(), 16).ok()
}

/// What the blob holds.
pub(crate) fn encode(identity: u128) -> Vec<u8> {
    format!("{identity:032x}\n").into_bytes()
}

/// Draws an identity: a UUID of version 4, variant 1.
pub(crate) fn random() -> u128 {
    let mut bytes = [0; 16];
    io_linux::fill_with_entropy(&mut bytes);
    bytes[6] = (bytes[6] & 0x0F) | 0x40;
    bytes[8] = (bytes[8] & 0x3F) | 0x80;
    u128::from_be_bytes(bytes)
}

/// The node's name to clients: a UUID of version 3, a hash of the identity.
pub(crate) fn host_id(identity: u128) -> u128 {
    let mut hash = Md5::new();
    hash.update(b"TarnDB host id");
    hash.update(identity.to_be_bytes());
    let mut bytes: [u8; 16] = hash.finalize().into();
    bytes[6] = (bytes[6] & 0x0F) | 0x30;
    bytes[8] = (bytes[8] & 0x3F) | 0x80;
    u128::from_be_bytes(bytes)
}

/// As whom the node seals its small files.
pub(crate) fn owner(identity: u128) -> BlobOwner {
    BlobOwner(host_id(identity))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_id_is_a_uuid_that_tells_nothing_of_the_identity() {
        let identity = 0x0123_4567_89AB_4DEF_8123_4567_89AB_CDEF;
        let host = host_id(identity);
        assert_eq!(host, host_id(identity), "it stays the same over restarts");
        assert_eq!(((host >> 76) & 0xF, (host >> 62) & 3), (3, 2), "version and variant");
        assert_ne!(host as u64, identity as u64);
        assert_ne!(host, host_id(identity + 1));
        assert_eq!(decode(&encode(identity)), Some(identity));
    }
}
