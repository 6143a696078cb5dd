//! Stable memory that outlives whoever it is lent to, and can cut a write short as the death of a process does.

use base::Rng;
use io::StableMemory;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Bytes that all clones share: what one process wrote, the next one finds.
#[derive(Clone)]
pub struct Stable {
    bytes: Rc<RefCell<Vec<u8>>>,
    /// How many more bytes are written before the process is dead.
    crash_after: Rc<Cell<Option<usize>>>,
}

impl Stable {
    /// Zeroed bytes.
    #[must_use]
    pub fn new(length: usize) -> Self {
        Self { bytes: Rc::new(RefCell::new(vec![0; length])), crash_after: Rc::default() }
    }

    /// The process dies within the write that reaches so many bytes from now; nothing is written after it.
    pub fn crash_in_write(&self, bytes: usize) {
        self.crash_after.set(Some(bytes));
    }

    /// Whether it has died.
    #[must_use]
    pub fn has_crashed(&self) -> bool {
        self.crash_after.get() == Some(0)
    }

    /// A new process maps the memory.
    pub fn reopen(&self) {
        self.crash_after.set(None);
    }

    /// Replaces all bytes by chance.
    pub fn scramble(&self, rng: &mut Rng) {
        rng.fill(&mut self.bytes.borrow_mut());
    }

    /// Flips a few bits.
    pub fn rot(&self, rng: &mut Rng) {
        let mut bytes = self.bytes.borrow_mut();
        for _ in 0..rng.below(10) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << rng.below(8);
        }
    }

    /// After the loss of power a file mapping holds pages of any age: here nothing, garbage, everything, or holes.
    pub fn lose_power(&self, rng: &mut Rng) {
        match rng.below(4) {
            0 => self.bytes.borrow_mut().fill(0),
            1 => self.scramble(rng),
            2 => {}
            _ => {
                for page in self.bytes.borrow_mut().chunks_mut(4096) {
                    if rng.below(2) == 0 {
                        page.fill(0);
                    }
                }
            }
        }
    }
}

impl StableMemory for Stable {
    fn len(&self) -> usize {
        self.bytes.borrow().len()
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) {
        let length = self.crash_after.get().map_or(bytes.len(), |left| left.min(bytes.len()));
        self.crash_after.set(self.crash_after.get().map(|left| left - length));
        self.bytes.borrow_mut()[offset..offset + length].copy_from_slice(&bytes[..length]);
    }

    fn read(&self, offset: usize, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.bytes.borrow()[offset..offset + bytes.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_cuts_the_write_that_it_reaches() {
        let mut stable = Stable::new(16);
        stable.crash_in_write(6);
        stable.write(0, &[1; 4]);
        assert!(!stable.has_crashed());
        stable.write(4, &[2; 4]);
        assert!(stable.has_crashed());
        stable.write(8, &[3; 4]);
        let mut bytes = [0; 16];
        stable.read(0, &mut bytes);
        assert_eq!(bytes, [1, 1, 1, 1, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        stable.reopen();
        stable.write(8, &[3; 4]);
        stable.read(0, &mut bytes);
        assert_eq!(bytes[8], 3);
    }
}
