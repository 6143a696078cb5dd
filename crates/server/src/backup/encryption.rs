//! Encrypted backups: chunks of rows and the schema by AES-256-GCM, under a data key that a master key wraps.
//!
//! The data key is drawn for each backup; the manifest has it, wrapped. A nonce is the place of what it seals, so a chunk that is copied to another place,
//! of this backup or another, does not open. The schema is sealed with the manifest's list of files, so that a list that was changed is found, too.

use super::error::BackupError;
use crate::at_rest::{KEY_BYTES, KeySource, MasterKey, from_hex, to_hex};
use crate::cli::BackupKeyArguments;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A data key as the manifest has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrappedKey {
    /// The name of the master key.
    pub(crate) master_key: String,
    /// Drawn for this backup; no other one's key opens with it.
    backup: String,
    /// Nonce, ciphertext, tag.
    wrapped: String,
}

/// Where in a backup something stands.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// Of a file of rows its number.
    file: u32,
    chunk: u64,
}

impl Place {
    pub(crate) const SCHEMA: Self = Self { file: u32::MAX, chunk: 0 };
    pub(crate) const ROLES: Self = Self { file: u32::MAX, chunk: 1 };

    pub(crate) const fn chunk(file: u32, chunk: u64) -> Self {
        Self { file, chunk }
    }

    fn nonce(self) -> Nonce {
        let mut nonce = [0; NONCE_LEN];
        nonce[..4].copy_from_slice(&self.file.to_le_bytes());
        nonce[4..].copy_from_slice(&self.chunk.to_le_bytes());
        Nonce::assume_unique_for_key(nonce)
    }
}

/// What a backup is encrypted with.
pub(crate) struct BackupCipher(LessSafeKey);

impl fmt::Debug for BackupCipher {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("BackupCipher")
    }
}

impl BackupKeyArguments {
    fn source(&self) -> Option<KeySource> {
        KeySource::new(self.encryption_key_file.clone(), self.encryption_key_command.clone()).flatten()
    }

    /// A cipher for a new backup, if there is to be one, and its key for the manifest.
    pub(crate) fn draw(&self) -> Result<Option<(BackupCipher, WrappedKey)>, BackupError> {
        let Some(source) = self.source() else { return Ok(None) };
        let masters = source.read()?;
        let (mut data_key, mut backup) = ([0; KEY_BYTES], [0; 16]);
        io_linux::fill_with_entropy(&mut data_key);
        io_linux::fill_with_entropy(&mut backup);
        let wrapped = to_hex(&masters[0].wrap(u128::from_le_bytes(backup), &data_key));
        let key = WrappedKey { master_key: masters[0].name(), backup: to_hex(&backup), wrapped };
        Ok(Some((BackupCipher::new(&data_key), key)))
    }

    /// The ciphers of attempts at a backup that is there.
    pub(crate) fn open<'a>(
        &self,
        wrapped: impl IntoIterator<Item = Option<&'a WrappedKey>>,
    ) -> Result<Vec<Option<BackupCipher>>, BackupError> {
        let masters = self.source().map(|source| source.read()).transpose()?;
        let open = |wrapped: Option<&WrappedKey>| {
            let (masters, wrapped) = match (&masters, wrapped) {
                (None, None) => return Ok(None),
                (Some(_), None) => return Err(BackupError::Plain),
                (None, Some(wrapped)) => return Err(BackupError::Encrypted { master_key: wrapped.master_key.clone() }),
                (Some(masters), Some(wrapped)) => (masters, wrapped),
            };
            match masters.iter().find_map(|master| wrapped.unwrap_by(master)) {
                Some(data_key) => Ok(Some(BackupCipher::new(&data_key))),
                None => {
                    let given = masters.iter().map(MasterKey::name).collect::<Vec<_>>().join(", ");
                    Err(BackupError::WrongKey { wanted: wrapped.master_key.clone(), given })
                }
            }
        };
        wrapped.into_iter().map(open).collect()
    }
}

impl WrappedKey {
    fn unwrap_by(&self, master: &MasterKey) -> Option<[u8; KEY_BYTES]> {
        let backup = from_hex(self.backup.as_bytes())?.try_into().ok()?;
        master.unwrap(u128::from_le_bytes(backup), &from_hex(self.wrapped.as_bytes())?)
    }
}

impl BackupCipher {
    fn new(data_key: &[u8; KEY_BYTES]) -> Self {
        if let Err(error) = io_linux::forbid_core_dumps() {
            tracing::warn!(%error, "core dumps of this process cannot be forbidden: they would have keys");
        }
        Self(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, data_key).expect("a key of 32 bytes")))
    }

    /// Encrypts what stands at a place. Each place is written once.
    pub(crate) fn seal(&self, place: Place, beside: &[u8], mut bytes: Vec<u8>) -> Vec<u8> {
        let sealed = self.0.seal_in_place_append_tag(place.nonce(), Aad::from(beside), &mut bytes);
        sealed.expect("64 MiB are not too long");
        bytes
    }

    /// Undoes that; `None` if it is not what was sealed at this place, beside that.
    pub(crate) fn open(&self, place: Place, beside: &[u8], mut bytes: Vec<u8>) -> Option<Vec<u8>> {
        let length = self.0.open_in_place(place.nonce(), Aad::from(beside), &mut bytes).ok()?.len();
        bytes.truncate(length);
        Some(bytes)
    }
}
