//! The Aerospike protocol: bytes to messages to operations on records, without I/O.
//!
//! The way of a request: [`session`] cuts a connection's bytes into messages, [`wire`] reads them, [`info`] answers those about the node,
//! [`exec`] turns those about records into work on shards. A record is a row of a record set (see `model::record_set`); the private module
//! `record` knows how, the private module `expression` what expressions say of one, and [`index`] which of their values a secondary index
//! has; [`udf`] runs functions of users on one; [`jobs`] are scans and queries that clients can ask after; the private module `transaction` says what transactions over several records keep in rows. [`value`] knows the bytes of one bin's value, lists and maps in msgpack among them; [`operate`] has the pure functions that do one
//! operation on one bin. [`ResultCode`] is how everything here says no.

mod digest;
pub mod exec;
mod expression;
mod geo;
pub mod index;
pub mod info;
pub mod jobs;
pub mod operate;
mod record;
mod result_code;
pub mod security;
pub mod session;
mod transaction;
pub mod udf;
pub mod value;
pub mod wire;

pub use digest::digest;
pub use result_code::ResultCode;
