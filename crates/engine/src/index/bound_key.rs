//! Bounds in the maps of leaves and pages: short ones lie in the map's nodes, so that a search does not follow a pointer for each comparison.

use smallvec::SmallVec;
use std::borrow::Borrow;
use std::ops::Deref;

/// Longer bounds lie on the heap. A number, a time or two of them are shorter.
const INLINE_BYTES: usize = 16;

/// A clustering key at which a leaf or page begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BoundKey(SmallVec<[u8; INLINE_BYTES]>);

/// The shortest bound between two neighbours: above `before` and not above `key`, of which it is the beginning.
pub(crate) fn bound_between<'a>(before: &[u8], key: &'a [u8]) -> &'a [u8] {
    let alike = before.iter().zip(key).take_while(|(before, key)| before == key).count();
    &key[..key.len().min(alike + 1)]
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_lies_between_its_neighbours() {
        for (before, key, bound) in
            [("abc", "abd", "abd"), ("abc", "b", "b"), ("abc", "azz", "az"), ("ab", "abcd", "abc"), ("", "xyz", "x")]
        {
            assert_eq!(bound_between(before.as_bytes(), key.as_bytes()), bound.as_bytes());
            assert!(before < bound && bound <= key);
        }
    }
}
