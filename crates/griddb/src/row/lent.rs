//! Memory for rows in the making, kept from one answer to the next.
//!
//! An allocator that gives freed memory back at once has each answer of some hundred KiB pay a page fault for each 4 KiB.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// What grew larger is freed.
const BYTES_MAX: usize = 1 << 20;
/// How many a core keeps: an answer has two.
const KEPT_MAX: usize = 2;

thread_local! {
    static KEPT: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Bytes whose memory goes back to the core that they were made on.
pub(super) struct Lent(Vec<u8>);

impl Lent {
    /// Empty.
    pub(super) fn take() -> Self {
        Self(KEPT.with_borrow_mut(Vec::pop).unwrap_or_default())
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.0);
        if bytes.capacity() == 0 || bytes.capacity() > BYTES_MAX {
            return;
        }
        bytes.clear();
        // A thread that ends has no memory to keep any more.
        let _ = KEPT.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            if kept.len() < KEPT_MAX {
                kept.push(bytes);
            }
        });
    }
}

impl Deref for Lent {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.0
    }
}

impl DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_lent_again_empty_and_bounded() {
        let mut first = Lent::take();
        first.extend_from_slice(&[7; 5000]);
        let at = first.as_ptr();
        drop(first);
        let again = Lent::take();
        assert!(again.is_empty() && again.as_ptr() == at);
        drop(again);
        let mut large = Lent::take();
        large.resize(BYTES_MAX + 1, 0);
        drop(large);
        assert_eq!(Lent::take().capacity(), 0, "what is too large is freed");
    }
}
