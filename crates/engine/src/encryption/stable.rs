//! Stable memory whose segments are encrypted, if there is a key.
//!
//! A slot's key follows from the header block in it, which is written before anything else of the segment.

use super::keys::{LogKey, SegmentCipher, UseCipher, use_of};
use crate::config::Config;
use base::BLOCK_BYTES;
use io::StableMemory;

/// The engine's stable memory.
pub(crate) enum Stable {
    Plain(Box<dyn StableMemory>),
    Encrypted(Box<EncryptedMemory>),
}

impl Stable {
    /// Encrypted if the configuration has a key.
    pub(crate) fn new(memory: Box<dyn StableMemory>, config: &Config) -> Self {
        match &config.log_key {
            Some(key) => {
                let memory = EncryptedMemory::new(memory, key, config.store, config.shard, config.segment_bytes as usize);
                Self::Encrypted(Box::new(memory))
            }
            None => Self::Plain(memory),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Plain(memory) => memory.len(),
            Self::Encrypted(memory) => memory.inner.len(),
        }
    }

    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) {
        match self {
            Self::Plain(memory) => memory.write(offset, bytes),
            Self::Encrypted(memory) => memory.write(offset, bytes),
        }
    }

    pub(crate) fn read(&self, offset: usize, bytes: &mut [u8]) {
        match self {
            Self::Plain(memory) => memory.read(offset, bytes),
            Self::Encrypted(memory) => memory.read(offset, bytes),
        }
    }

    /// What there is, plain or not.
    pub(super) fn read_as_it_is(&self, offset: usize, bytes: &mut [u8]) {
        match self {
            Self::Plain(memory) => memory.read(offset, bytes),
            Self::Encrypted(memory) => memory.inner.read(offset, bytes),
        }
    }
}

/// Stable memory, as it is plain to the engine and encrypted in what is below.
pub(crate) struct EncryptedMemory {
    inner: Box<dyn StableMemory>,
    cipher: SegmentCipher,
    segment_bytes: usize,
    /// Of each slot, if there is a header.
    slots: Vec<Option<UseCipher>>,
    scratch: Vec<u8>,
}

impl EncryptedMemory {
    pub(crate) fn new(inner: Box<dyn StableMemory>, key: &LogKey, store: u64, shard: u32, segment_bytes: usize) -> Self {
        let cipher = SegmentCipher::new(key, store, shard);
        let slot = |slot: usize| {
            let mut block = [0; BLOCK_BYTES];
            inner.read(slot * segment_bytes, &mut block);
            use_of(&block).map(|(segment, nonce)| cipher.of_use(segment, nonce))
        };
        let slots = (0..inner.len() / segment_bytes).map(slot).collect();
        Self { inner, cipher, segment_bytes, slots, scratch: Vec::new() }
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) {
        let (slot, within) = (offset / self.segment_bytes, offset % self.segment_bytes);
        if within == 0 && bytes.len() >= BLOCK_BYTES {
            self.slots[slot] = use_of(&bytes[..BLOCK_BYTES]).map(|(segment, nonce)| self.cipher.of_use(segment, nonce));
        }
        if within + bytes.len() <= BLOCK_BYTES {
            return self.inner.write(offset, bytes);
        }
        let cipher = self.slots[slot].as_ref().expect("a slot's header is written before its records");
        self.scratch.clear();
        self.scratch.extend_from_slice(bytes);
        cipher.encrypt(within, &mut self.scratch);
        self.inner.write(offset, &self.scratch);
    }

    fn read(&self, offset: usize, bytes: &mut [u8]) {
        self.inner.read(offset, bytes);
        let (slot, within) = (offset / self.segment_bytes, offset % self.segment_bytes);
        if let Some(Some(cipher)) = self.slots.get(slot) {
            cipher.decrypt(within, bytes);
        }
    }
}
