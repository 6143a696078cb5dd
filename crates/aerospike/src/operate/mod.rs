//! Operations on one bin, as pure functions: the bin's value and the operand go in, the change and the answer come out.
//!
//! [`scalar`] has what works on whole values: write, add, append, prepend. [`cdt`] has what works inside lists and maps, [`bits`] what works
//! on the bits of blobs, [`hll`] what works on HyperLogLog sketches. Expressions are not here: they are about the whole record
//! (`crate::expression`).
//!
//! The caller finds the bin, applies the change to the record, and answers with the result. A read of a bin that is missing has no result
//! and is no error; so has a removal. A change that leaves the bin missing is none: whether the record comes to be is the caller's to say.

mod bits;
mod cdt;
mod effect;
mod hll;
mod scalar;
#[cfg(test)]
mod tests;

pub use effect::{Change, Effect};

pub(crate) use cdt::{kind_of_path, within};

use crate::ResultCode;
use crate::value::Particle;

/// The codes of operations on the wire.
pub mod code {
    /// Reads the bin.
    pub const READ: u8 = 1;
    /// Writes the bin.
    pub const WRITE: u8 = 2;
    /// A read inside a list or map.
    pub const CDT_READ: u8 = 3;
    /// A change inside a list or map.
    pub const CDT_MODIFY: u8 = 4;
    /// Adds to a number.
    pub const ADD: u8 = 5;
    /// Evaluates an expression.
    pub const EXPRESSION_READ: u8 = 7;
    /// Writes what an expression gives.
    pub const EXPRESSION_MODIFY: u8 = 8;
    /// Appends to a string or blob.
    pub const APPEND: u8 = 9;
    /// Prepends to a string or blob.
    pub const PREPEND: u8 = 10;
    /// Renews the record's expiry; about the record, not about a bin.
    pub const TOUCH: u8 = 11;
    /// Reads bits of a blob.
    pub const BITS_READ: u8 = 12;
    /// Changes bits of a blob.
    pub const BITS_MODIFY: u8 = 13;
    /// Deletes the record; about the record, not about a bin.
    pub const DELETE: u8 = 14;
    /// Reads a HyperLogLog sketch.
    pub const HLL_READ: u8 = 15;
    /// Changes a HyperLogLog sketch.
    pub const HLL_MODIFY: u8 = 16;
}

/// Whether an operation can change its bin.
pub fn is_write(operation: u8) -> bool {
    matches!(
        operation,
        code::WRITE
            | code::CDT_MODIFY
            | code::ADD
            | code::EXPRESSION_MODIFY
            | code::APPEND
            | code::PREPEND
            | code::TOUCH
            | code::BITS_MODIFY
            | code::DELETE
            | code::HLL_MODIFY
    )
}

/// Does one operation on one bin.
///
/// # Errors
/// As the server answers it: [`ResultCode::PARAMETER`] for an operand that is not what the operation takes,
/// [`ResultCode::BIN_TYPE`] for a bin of another type, [`ResultCode::OP_NOT_APPLICABLE`] for a place that is not there,
/// [`ResultCode::UNSUPPORTED_FEATURE`] for what is not served here.
pub fn apply<'a>(operation: u8, bin: Option<&Particle<'a>>, operand: &Particle<'a>) -> Result<Effect<'a>, ResultCode> {
    match operation {
        code::READ => Ok(Effect::answer(bin.cloned())),
        code::WRITE => scalar::write(operand),
        code::ADD => scalar::add(bin, operand),
        code::APPEND => scalar::append(bin, operand),
        code::PREPEND => scalar::prepend(bin, operand),
        code::CDT_READ => cdt::read(bin, operand),
        code::CDT_MODIFY => cdt::modify(bin, operand),
        code::BITS_READ => bits::read(bin, operand),
        code::BITS_MODIFY => bits::modify(bin, operand),
        code::HLL_READ => hll::read(bin, operand),
        code::HLL_MODIFY => hll::modify(bin, operand),
        _ => Err(ResultCode::PARAMETER),
    }
}
