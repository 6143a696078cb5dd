//! CQL values: everything that is known about the bytes of one value.
//!
//! A value is always its serialization of the native protocol (version 3 and later), as it stands on the wire, in memory and in the
//! log; null is `None` around it. The files follow a value's way: it arrives as bytes ([`validate`]) or as a literal of a statement
//! ([`literal`], [`build`]), becomes part of a key ([`token`], [`comparable`]), is compared ([`order`]), is computed with
//! ([`function`], [`aggregate`]) and leaves as text or JSON ([`text`], [`json`]).
//!
//! Invariants: nothing here panics on any bytes, allocates by a length that was not checked against the bytes that are there, or
//! recurses deeper than the type does ([`TYPE_DEPTH_MAX`]). Functions other than [`validate()`] and `decode` expect validated bytes and
//! give an unspecified but harmless answer for others.

pub mod aggregate;
pub mod build;
mod calendar;
pub mod comparable;
mod decimal;
pub mod error;
pub mod function;
pub mod json;
pub mod layout;
mod limits;
pub mod literal;
pub mod order;
pub mod parse;
pub mod script;
pub mod text;
pub mod token;
pub mod validate;
mod vint;

pub use aggregate::Aggregate;
pub use error::{Container, ValueError};
pub use limits::{NUMBER_BYTES_MAX, TYPE_DEPTH_MAX};
pub use literal::{Literal, LiteralError};
pub use order::compare;
pub use token::{PartitionKey, partition_key, token};
pub use validate::{normalize, validate};
