//! What bounds a value.

/// How many levels of collections, tuples and user types a type may have.
pub const TYPE_DEPTH_MAX: usize = 32;

/// The longest varint, and the longest unscaled integer of a decimal: some 19,700 digits.
pub const NUMBER_BYTES_MAX: usize = 8192;
