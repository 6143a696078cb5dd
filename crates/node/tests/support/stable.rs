//! Stable memory that outlives the engine it is lent to, and can cut a write short as the death of a process does.

use base::Rng;
use io::StableMemory;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Bytes that all clones share.
#[derive(Clone)]
pub(crate) struct FakeStable {
    bytes: Rc<RefCell<Vec<u8>>>,
    /// How many more bytes are written before the process is dead.
    fuse: Rc<Cell<Option<usize>>>,
}

impl FakeStable {
    pub(crate) fn new(length: usize) -> Self {
        Self { bytes: Rc::new(RefCell::new(vec![0; length])), fuse: Rc::default() }
    }

    /// The process dies within the write that reaches so many bytes from now.
    pub(crate) fn light_fuse(&self, bytes: usize) {
        self.fuse.set(Some(bytes));
    }

    /// Whether it has died.
    pub(crate) fn has_blown(&self) -> bool {
        self.fuse.get() == Some(0)
    }

    /// A new process maps the memory.
    pub(crate) fn reopened(self) -> Self {
        self.fuse.set(None);
        self
    }

    /// Changes bytes behind everybody's back.
    pub(crate) fn damage(&self, dice: &mut Rng) {
        let mut bytes = self.bytes.borrow_mut();
        for _ in 0..dice.below(10) {
            let at = dice.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << dice.below(8);
        }
    }

    /// After the loss of power a file mapping holds pages of any age.
    pub(crate) fn lose_power(&self, dice: &mut Rng) {
        let mut bytes = self.bytes.borrow_mut();
        match dice.below(4) {
            0 => bytes.fill(0),
            1 => dice.fill(&mut bytes),
            2 => {}
            _ => {
                for page in bytes.chunks_mut(4096) {
                    if dice.below(2) == 0 {
                        page.fill(0);
                    }
                }
            }
        }
    }
}

impl StableMemory for FakeStable {
    fn len(&self) -> usize {
        self.bytes.borrow().len()
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) {
        let length = self.fuse.get().map_or(bytes.len(), |left| left.min(bytes.len()));
        self.fuse.set(self.fuse.get().map(|left| left - length));
        self.bytes.borrow_mut()[offset..offset + length].copy_from_slice(&bytes[..length]);
    }

    fn read(&self, offset: usize, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.bytes.borrow()[offset..offset + bytes.len()]);
    }
}
