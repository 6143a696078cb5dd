//! Stable memory that is not stable: plain bytes, as a mapping is to the process that writes it.

use io::StableMemory;

/// Zeroed bytes.
pub(crate) struct PlainMemory(pub(crate) Box<[u8]>);

impl StableMemory for PlainMemory {
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.0[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn read(&self, offset: usize, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.0[offset..offset + bytes.len()]);
    }
}
