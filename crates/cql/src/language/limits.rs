//! What bounds a statement.

/// How deep brackets, types, casts and signs may nest.
pub const NESTING_MAX: usize = 64;
/// How many operators one expression may have: they nest too, in the tree.
pub const EXPRESSION_OPERATORS_MAX: usize = 256;
/// How many bind markers a statement may have: the protocol counts them in 16 bits.
pub const BIND_MARKERS_MAX: usize = 65_535;
