//! Bounds in the maps of leaves and pages: short ones lie in the map's nodes, so that a search does not follow a pointer for each comparison.

use smallvec::SmallVec;
use std::borrow::Borrow;
use std::ops::Deref;

/// Longer bounds lie on the heap. A number, a time or two of them are shorter.
const INLINE_BYTES: usize = 16;

/// A clustering key at which a leaf or page begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BoundKey(SmallVec<[u8; INLINE_BYTES]>);

impl BoundKey {
    /// Memory besides the map's own.
    pub(crate) fn heap_bytes(&self) -> usize {
        if self.0.len() > INLINE_BYTES { self.0.len() } else { 0 }
    }
}

impl From<&[u8]> for BoundKey {
    fn from(key: &[u8]) -> Self {
        Self(SmallVec::from_slice(key))
    }
}

impl Deref for BoundKey {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for BoundKey {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}
