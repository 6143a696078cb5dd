//! The Aerospike protocol: bytes to messages to operations on records, without I/O.
//!
//! [`value`] knows the bytes of one bin's value, lists and maps in msgpack among them; [`operate`] has the pure functions that do one
//! operation on one bin. [`ResultCode`] is how everything here says no.

pub mod operate;
mod result_code;
pub mod value;

pub use result_code::ResultCode;
