//! Rows of a partition in order, from both ends: leaf by leaf.

use super::super::bound_key::BoundKey;
use super::super::leaf::Leaf;
use crate::key::span;
use crate::location::Location;
use std::collections::btree_map;
use std::ops::Bound;

pub(super) enum LeafIter<'a> {
    One(Option<&'a Leaf>),
    Many(btree_map::Range<'a, BoundKey, Leaf>),
}

impl<'a> LeafIter<'a> {
    fn next(&mut self) -> Option<&'a Leaf> {
        match self {
            Self::One(leaf) => leaf.take(),
            Self::Many(range) => range.next().map(|(_, leaf)| leaf),
        }
    }

    fn next_back(&mut self) -> Option<&'a Leaf> {
        match self {
            Self::One(leaf) => leaf.take(),
            Self::Many(range) => range.next_back().map(|(_, leaf)| leaf),
        }
    }
}

/// The rows `next..end` of a leaf.
#[derive(Clone, Copy)]
struct Run<'a> {
    leaf: &'a Leaf,
    next: usize,
    end: usize,
}

impl<'a> Run<'a> {
    fn new(leaf: &'a Leaf, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Self {
        let (next, end) = span(leaf.len(), from, to, |key| leaf.search(key));
        Self { leaf, next, end: end.max(next) }
    }

    fn all(leaf: &'a Leaf) -> Self {
        Self { leaf, next: 0, end: leaf.len() }
    }

    fn front(&mut self) -> Option<(&'a [u8], Location)> {
        if self.next == self.end {
            return None;
        }
        self.next += 1;
        Some((self.leaf.key(self.next - 1), self.leaf.location(self.next - 1)))
    }

    fn back(&mut self) -> Option<(&'a [u8], Location)> {
        if self.next == self.end {
            return None;
        }
        self.end -= 1;
        Some((self.leaf.key(self.end), self.leaf.location(self.end)))
    }
}

/// Rows in order, from both ends.
pub(crate) struct RowsIter<'a> {
    leaves: LeafIter<'a>,
    front: Option<Run<'a>>,
    back: Option<Run<'a>>,
}

impl<'a> RowsIter<'a> {
    pub(super) fn empty() -> Self {
        Self { leaves: LeafIter::One(None), front: None, back: None }
    }

    /// Of leaves whose first and last may have rows beyond the bounds.
    pub(super) fn new(leaves: LeafIter<'a>, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Self {
        let mut iter = Self { leaves, front: None, back: None };
        iter.front = iter.leaves.next().map(|leaf| Run::new(leaf, from, to));
        iter.back = iter.leaves.next_back().map(|leaf| Run::new(leaf, from, to));
        iter
    }
}

impl<'a> Iterator for RowsIter<'a> {
    type Item = (&'a [u8], Location);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(run) = &mut self.front {
                if let Some(row) = run.front() {
                    return Some(row);
                }
                self.front = None;
            }
            match self.leaves.next() {
                Some(leaf) => self.front = Some(Run::all(leaf)),
                None => return self.back.as_mut()?.front(),
            }
        }
    }
}

impl DoubleEndedIterator for RowsIter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(run) = &mut self.back {
                if let Some(row) = run.back() {
                    return Some(row);
                }
                self.back = None;
            }
            match self.leaves.next_back() {
                Some(leaf) => self.back = Some(Run::all(leaf)),
                None => return self.front.as_mut()?.back(),
            }
        }
    }
}
