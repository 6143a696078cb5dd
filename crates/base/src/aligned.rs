//! A heap buffer aligned for direct I/O.
//!
//! Invariants: the address is a multiple of [`BLOCK_BYTES`], the length one of [`SECTOR_BYTES`]; the bytes are initialised from the start.
#![allow(unsafe_code, reason = "an aligned allocation needs the raw allocator")]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// The unit of direct I/O that every device has: offsets, lengths and addresses are multiples of it.
pub const BLOCK_BYTES: usize = 4096;
/// The smallest unit of direct I/O that devices have.
pub const SECTOR_BYTES: usize = 512;

/// Owned bytes whose address is a multiple of [`BLOCK_BYTES`], and whose length is, unless it was made shorter.
pub struct AlignedBuffer {
    start: NonNull<u8>,
    length: usize,
    capacity: usize,
}

// SAFETY: the buffer owns its allocation alone, as `Box<[u8]>` does.
unsafe impl Send for AlignedBuffer {}
// SAFETY: shared access is read-only, as for `Box<[u8]>`.
unsafe impl Sync for AlignedBuffer {}

impl AlignedBuffer {
    /// Allocates `length` zeroed bytes, rounded up to whole blocks.
    ///
    /// # Panics
    /// If `length` is zero or larger than the address space allows.
    #[must_use]
    pub fn zeroed(length: usize) -> Self {
        assert!(length > 0, "an aligned buffer has at least one block");
        let length = length.div_ceil(BLOCK_BYTES) * BLOCK_BYTES;
        let layout = Self::layout(length);
        // SAFETY: the layout has a non-zero size.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        Self { start, length, capacity: length }
    }

    /// How long it may be.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Makes it shorter, or as long as it was before.
    ///
    /// # Panics
    /// If `length` is zero, more than was allocated, or not whole sectors.
    pub fn set_length(&mut self, length: usize) {
        assert!((1..=self.capacity).contains(&length) && length.is_multiple_of(SECTOR_BYTES), "{length} bytes of {}", self.capacity);
        self.length = length;
    }

    fn layout(length: usize) -> Layout {
        Layout::from_size_align(length, BLOCK_BYTES).expect("a buffer's length fits the address space")
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `zeroed` with this very layout and not freed since.
        unsafe { dealloc(self.start.as_ptr(), Self::layout(self.capacity)) }
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` points to `length` initialised bytes that this value owns.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl std::fmt::Debug for AlignedBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AlignedBuffer({} bytes)", self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_and_address_are_whole_blocks() {
        let mut buffer = AlignedBuffer::zeroed(1);
        assert_eq!(buffer.len(), BLOCK_BYTES);
        assert_eq!(buffer.as_ptr() as usize % BLOCK_BYTES, 0);
        assert!(buffer.iter().all(|byte| *byte == 0));
        buffer[BLOCK_BYTES - 1] = 7;
        assert_eq!(buffer[BLOCK_BYTES - 1], 7);
    }

    #[test]
    fn a_buffer_that_was_made_shorter_can_be_as_long_as_before() {
        let mut buffer = AlignedBuffer::zeroed(BLOCK_BYTES);
        buffer[BLOCK_BYTES - 1] = 7;
        buffer.set_length(3 * SECTOR_BYTES);
        assert_eq!((buffer.len(), buffer.capacity()), (3 * SECTOR_BYTES, BLOCK_BYTES));
        buffer.set_length(BLOCK_BYTES);
        assert_eq!(buffer[BLOCK_BYTES - 1], 7);
    }
}
