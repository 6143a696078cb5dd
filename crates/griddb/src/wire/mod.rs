//! Frames and what is in them: little-endian, lengths bounded, every byte sequence read without panic.
//!
//! | bytes | request |
//! |---|---|
//! | 4 | 65021048 |
//! | 4, or 16 over IPv6, + 4 + 4 | address, port and number: of no meaning here |
//! | 4 | length of the rest |
//! | 4 | statement |
//! | 4 | partition |
//! | 8, of CONNECT 4 | the client's number of the statement |
//! | … | arguments |
//!
//! A reply has the same header; then statement, number, a byte of status, and results or errors.

mod frame;
mod options;
mod reader;
mod reply;
mod request;
pub mod statement;
mod writer;

pub use frame::{FrameError, FrameHeader, MAGIC};
pub use options::{
    AGGREGATES_OPTION, COLUMNS_OPTION, FIGURES_OPTION, OWN_GROUP, Options, PARTITIONING_OPTION, PRECISE_TIMES_FEATURE, RENAMING_OPTION,
    put_acceptable_version,
};
pub use reader::Reader;
pub use reply::{ReplyBody, ReplyHeader, Status, error_of};
pub use request::Statement;
pub use writer::{copy_reversed, put_i16, put_i32, put_i64, put_string, put_var_bytes, put_var_size};
