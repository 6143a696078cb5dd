//! A client of S3 and of what speaks as it does: what backups need of it, on threads that wait.
//!
//! ```text
//! Bucket: an operation ─► Ask ─► sign ─► Wire: one attempt, bounded in time and bytes ─► judged: done, lasting fault, or again after a pause
//!    ├── Upload: a file of unknown length, a part at a time
//!    └── ObjectReader: an object, a range at a time
//! ```
//!
//! Invariants: no request is tried for longer than `--s3-retry-for`, whatever the other side does. What is held of a body is bounded by a part. Secrets are
//! in no message and no log line. Nothing here decides what to delete.

mod address;
mod arguments;
mod bucket;
mod credentials;
mod endpoint;
mod error;
mod judgement;
mod multipart;
mod parts;
mod reader;
mod request;
mod sign;
mod trust;
mod upload;
mod wire;
mod xml;

pub(crate) use address::S3Address;
pub(crate) use arguments::S3Arguments;
pub(crate) use bucket::{Bucket, Condition};
pub(crate) use error::S3Error;
pub(crate) use reader::ObjectReader;
pub(crate) use upload::{Started, Upload};
