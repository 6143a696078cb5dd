//! What all functions are declared with, and fail with.

use rusqlite::Error;
use rusqlite::functions::FunctionFlags;

pub(super) const FLAGS: FunctionFlags = FunctionFlags::SQLITE_UTF8.union(FunctionFlags::SQLITE_DETERMINISTIC);

pub(super) fn wrong(message: &str) -> Error {
    Error::UserFunctionError(message.into())
}
