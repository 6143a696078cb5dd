//! The newest ring, from the thread that asks for it to those that send.

use crate::ring::Ring;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Release},
};
use std::sync::{Arc, Mutex, PoisonError};

/// The newest ring, for all threads of a load.
#[derive(Debug)]
pub(crate) struct NewestRing {
    /// How many there have been.
    number: AtomicU64,
    ring: Mutex<Arc<Ring>>,
}

impl NewestRing {
    pub(crate) fn new(ring: Ring) -> Self {
        Self { number: AtomicU64::new(1), ring: Mutex::new(Arc::new(ring)) }
    }

    /// Takes the place of the one before, if it is another.
    pub(crate) fn set(&self, ring: Ring) {
        let mut newest = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        if **newest != ring {
            *newest = Arc::new(ring);
            self.number.fetch_add(1, Release);
        }
    }

    /// Which of the rings is the newest.
    pub(crate) fn number(&self) -> u64 {
        self.number.load(Acquire)
    }

    pub(crate) fn get(&self) -> Arc<Ring> {
        Arc::clone(&self.ring.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
