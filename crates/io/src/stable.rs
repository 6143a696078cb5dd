//! Memory that outlives the process.

/// Bytes that survive the death of the process (`kill -9`), though not the loss of power: on Linux a shared mapping of a file.
///
/// A write is safe from process death when `write` returns. Writes are not atomic: a process that dies within a write leaves a prefix of
/// it, so whoever reads back needs a checksum.
pub trait StableMemory {
    /// How many bytes there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies `bytes` to `offset`.
    ///
    /// # Panics
    /// When the range leaves the memory: the caller's bug.
    fn write(&mut self, offset: usize, bytes: &[u8]);

    /// Copies `bytes.len()` bytes from `offset`.
    ///
    /// # Panics
    /// When the range leaves the memory: the caller's bug.
    fn read(&self, offset: usize, bytes: &mut [u8]);
}
