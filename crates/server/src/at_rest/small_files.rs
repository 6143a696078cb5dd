//! Small files (blobs) as they are stored: AES-256-GCM, a key of its own for each version of each file.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | magic `TARNENC1` |
//! | 8 | 16 | salt, drawn at random |
//! | 24 | | content, encrypted |
//! | last 16 | 16 | tag; the name counts, too |
//!
//! The key is derived from the data key, salt and name, so the nonce is always zero. The identity stays plain: it says whose the key is.

use super::key_source::{KEY_BYTES, derive};
use crate::identity::IDENTITY_BLOB;
use io_linux::ContentCipher;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use std::fmt;

const MAGIC: &[u8; 8] = b"TARNENC1";
const SALT_BYTES: usize = 16;

/// Encrypts the small files of a node.
pub(super) struct SmallFileCipher([u8; KEY_BYTES]);

impl fmt::Debug for SmallFileCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SmallFileCipher")
    }
}

impl SmallFileCipher {
    pub(super) fn new(data_key: &[u8; KEY_BYTES]) -> Self {
        let mut key = [0; KEY_BYTES];
        derive(data_key, b"tarndb small files", &mut key);
        Self(key)
    }

    /// What was encrypted; `None` if it is not what was stored under this name.
    pub(super) fn decrypt(&self, name: &str, stored: &[u8]) -> Option<Vec<u8>> {
        if !is_encrypted(name) {
            return Some(stored.to_vec());
        }
        let (salt, sealed) = stored.strip_prefix(MAGIC)?.split_first_chunk::<SALT_BYTES>()?;
        let mut content = sealed.to_vec();
        let length = self.cipher(salt, name).open_in_place(nonce(), Aad::from(name.as_bytes()), &mut content).ok()?.len();
        content.truncate(length);
        Some(content)
    }

    fn cipher(&self, salt: &[u8; SALT_BYTES], name: &str) -> LessSafeKey {
        let mut key = [0; KEY_BYTES];
        derive(&self.0, &[salt, name.as_bytes()].concat(), &mut key);
        LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &key).expect("a key of 32 bytes"))
    }
}

impl ContentCipher for SmallFileCipher {
    fn encrypt(&self, name: &str, content: &[u8]) -> Vec<u8> {
        if !is_encrypted(name) {
            return content.to_vec();
        }
        let mut salt = [0; SALT_BYTES];
        io_linux::fill_with_entropy(&mut salt);
        let mut sealed = content.to_vec();
        let done = self.cipher(&salt, name).seal_in_place_append_tag(nonce(), Aad::from(name.as_bytes()), &mut sealed);
        done.expect("a small file is not too long");
        [MAGIC, &salt[..], &sealed].concat()
    }
}

fn is_encrypted(name: &str) -> bool {
    name != IDENTITY_BLOB
}

/// No two files have the same key.
fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_was_stored_under_its_name_or_nothing() {
        let cipher = SmallFileCipher::new(&[1; KEY_BYTES]);
        let stored = cipher.encrypt("schema.json", b"plain text");
        assert!(!stored.windows(5).any(|window| window == b"plain"));
        assert_ne!(stored, cipher.encrypt("schema.json", b"plain text"));
        assert_eq!(cipher.decrypt("schema.json", &stored).unwrap(), b"plain text");
        assert_eq!(cipher.decrypt("truncations-0", &stored), None);
        assert_eq!(SmallFileCipher::new(&[2; KEY_BYTES]).decrypt("schema.json", &stored), None);
        for at in 0..stored.len() {
            let mut damaged = stored.clone();
            damaged[at] ^= 1;
            assert_eq!(cipher.decrypt("schema.json", &damaged), None);
            assert_eq!(cipher.decrypt("schema.json", &stored[..at]), None);
        }
    }
}
