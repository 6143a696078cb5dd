//! What a record is found by: a hash of its set and key, which clients compute.

use model::record_set::DIGEST_BYTES;
use ripemd::{Digest, Ripemd160};

/// The digest of a key: its first byte is its type, the rest its value.
#[must_use]
pub fn digest(set: &[u8], key: &[u8]) -> [u8; DIGEST_BYTES] {
    let mut hash = Ripemd160::new();
    hash.update(set);
    hash.update(key);
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_that_clients_compute() {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(&digest(b"", b"")), "9c1185a5c5e9fc54612808977ee8f548b2258d31", "RIPEMD-160 of nothing, from its paper");
        assert_eq!(hex(&digest(b"demo", b"\x03key")), DEMO_KEY);
        assert_eq!(hex(&digest(b"demo", &[1, 0, 0, 0, 0, 0, 0, 0, 7])), DEMO_SEVEN);
        assert_eq!(digest(b"de", b"mokey"), digest(b"demo", b"key"), "set and key are one run of bytes");
    }

    // As the Python client's `calc_digest` gives them.
    const DEMO_KEY: &str = "3bd475bd0c73f210b67ea83793300eeae576285d";
    const DEMO_SEVEN: &str = "dc2e595bc2a0d8c6290c474d74e71b23e3ed846a";
}
