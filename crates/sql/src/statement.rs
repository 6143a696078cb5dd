//! SQLite's prepared statement, which rusqlite lends and this owns: a result is read in pages, between which other requests come.
#![allow(unsafe_code, reason = "a statement that outlives the call which prepared it")]

use crate::tables::ValueRef;
use crate::time::Moment;
use rusqlite::{Connection, ffi};
use std::ffi::{CStr, c_int};
use std::ptr::NonNull;

/// A prepared statement and its SQLite.
pub(crate) struct OwnedStatement {
    statement: NonNull<ffi::sqlite3_stmt>,
    /// Dropped after the statement was finalized.
    connection: Connection,
}

// SAFETY: SQLite is built to be used by one thread after the other, and this is not `Sync`.
unsafe impl Send for OwnedStatement {}

/// What SQLite says of a failure.
pub(crate) struct Failure {
    pub(crate) code: c_int,
    pub(crate) message: String,
}

/// What became of a text that was to be prepared.
pub(crate) enum Prepared {
    Statement(OwnedStatement),
    /// The text has no statement.
    Nothing,
    Failed(Connection, Failure),
}

impl OwnedStatement {
    /// Prepares the first statement of a text; says how many bytes it has.
    pub(crate) fn prepare(connection: Connection, sql: &str) -> (Prepared, usize) {
        let mut statement = std::ptr::null_mut();
        let mut tail = std::ptr::null();
        let start = sql.as_ptr().cast();
        // SAFETY: the connection is open, the text is as long as is said, and both pointers are ours.
        let code = unsafe { ffi::sqlite3_prepare_v2(connection.handle(), start, sql.len() as c_int, &raw mut statement, &raw mut tail) };
        // SAFETY: SQLite leaves the tail within the text, or null.
        let taken = if tail.is_null() { sql.len() } else { usize::try_from(unsafe { tail.offset_from(start) }).unwrap_or(sql.len()) };
        let prepared = match NonNull::new(statement) {
            _ if code != ffi::SQLITE_OK => {
                let failure = failure(&connection, code);
                Prepared::Failed(connection, failure)
            }
            Some(statement) => Prepared::Statement(Self { statement, connection }),
            None => Prepared::Nothing,
        };
        (prepared, taken)
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn parameters(&self) -> usize {
        // SAFETY: the statement is open.
        unsafe { ffi::sqlite3_bind_parameter_count(self.statement.as_ptr()) as usize }
    }

    pub(crate) fn columns(&self) -> usize {
        // SAFETY: the statement is open.
        unsafe { ffi::sqlite3_column_count(self.statement.as_ptr()) as usize }
    }

    pub(crate) fn reads_only(&self) -> bool {
        // SAFETY: the statement is open.
        unsafe { ffi::sqlite3_stmt_readonly(self.statement.as_ptr()) != 0 }
    }

    /// Whether it tells its own program, as EXPLAIN does, and neither its plan nor rows.
    pub(crate) fn tells_program(&self) -> bool {
        // SAFETY: the statement is open.
        unsafe { ffi::sqlite3_stmt_isexplain(self.statement.as_ptr()) == 1 }
    }

    pub(crate) fn name(&self, column: usize) -> String {
        // SAFETY: the statement is open; the text lasts until it is asked for again.
        unsafe { text(ffi::sqlite3_column_name(self.statement.as_ptr(), column as c_int)) }.unwrap_or_default()
    }

    /// How the column was declared that a result's column is.
    pub(crate) fn declaration(&self, column: usize) -> Option<String> {
        // SAFETY: as in `name`.
        unsafe { text(ffi::sqlite3_column_decltype(self.statement.as_ptr(), column as c_int)) }
    }

    /// Binds a parameter, from 1.
    pub(crate) fn bind(&mut self, parameter: usize, value: ValueRef<'_>) -> Result<(), Failure> {
        let (statement, at) = (self.statement.as_ptr(), parameter as c_int);
        // SAFETY: the statement is open, lengths are those of the slices, and SQLite copies what it is told is transient.
        let code = unsafe {
            match value {
                ValueRef::Null => ffi::sqlite3_bind_null(statement, at),
                ValueRef::Integer(value) => ffi::sqlite3_bind_int64(statement, at, value),
                ValueRef::Time(moment) => ffi::sqlite3_bind_int64(statement, at, moment.ms),
                ValueRef::Real(value) => ffi::sqlite3_bind_double(statement, at, value),
                ValueRef::Text(text) => {
                    let length = text.len() as u64;
                    ffi::sqlite3_bind_text64(statement, at, text.as_ptr().cast(), length, ffi::SQLITE_TRANSIENT(), ffi::SQLITE_UTF8 as _)
                }
                ValueRef::Blob(bytes) => {
                    ffi::sqlite3_bind_blob64(statement, at, bytes.as_ptr().cast(), bytes.len() as u64, ffi::SQLITE_TRANSIENT())
                }
            }
        };
        if code == ffi::SQLITE_OK { Ok(()) } else { Err(failure(&self.connection, code)) }
    }

    /// Binds a time as a text.
    pub(crate) fn bind_moment(&mut self, parameter: usize, moment: Moment) -> Result<(), Failure> {
        self.bind(parameter, ValueRef::Text(&moment.format()))
    }

    /// Goes to the next row; false after the last.
    pub(crate) fn step(&mut self) -> Result<bool, Failure> {
        // SAFETY: the statement is open.
        match unsafe { ffi::sqlite3_step(self.statement.as_ptr()) } {
            ffi::SQLITE_ROW => Ok(true),
            ffi::SQLITE_DONE => Ok(false),
            code => Err(failure(&self.connection, code)),
        }
    }

    /// A value of the row.
    pub(crate) fn value(&self, column: usize) -> ValueRef<'_> {
        let (statement, at) = (self.statement.as_ptr(), column as c_int);
        // SAFETY: the statement is open and at a row. What is borrowed lasts until the next step, which needs `&mut self`, as no other call converts it.
        unsafe {
            match ffi::sqlite3_column_type(statement, at) {
                ffi::SQLITE_INTEGER => ValueRef::Integer(ffi::sqlite3_column_int64(statement, at)),
                ffi::SQLITE_FLOAT => ValueRef::Real(ffi::sqlite3_column_double(statement, at)),
                ffi::SQLITE_TEXT => {
                    let bytes = bytes(ffi::sqlite3_column_text(statement, at), ffi::sqlite3_column_bytes(statement, at));
                    std::str::from_utf8(bytes).map_or(ValueRef::Blob(bytes), ValueRef::Text)
                }
                ffi::SQLITE_BLOB => {
                    ValueRef::Blob(bytes(ffi::sqlite3_column_blob(statement, at).cast(), ffi::sqlite3_column_bytes(statement, at)))
                }
                _ => ValueRef::Null,
            }
        }
    }
}

impl Drop for OwnedStatement {
    fn drop(&mut self) {
        // SAFETY: it was prepared and is finalized once; the connection is closed after it.
        unsafe { ffi::sqlite3_finalize(self.statement.as_ptr()) };
    }
}

/// What SQLite has in a buffer of its own.
///
/// # Safety
/// The pointer is null or has so many bytes, for as long as the result lives.
unsafe fn bytes<'a>(start: *const u8, length: c_int) -> &'a [u8] {
    // SAFETY: as the caller says.
    if start.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(start, length as usize) } }
}

/// A copy of a text of SQLite's.
///
/// # Safety
/// The pointer is null or a text that ends.
unsafe fn text(start: *const std::ffi::c_char) -> Option<String> {
    // SAFETY: as the caller says.
    (!start.is_null()).then(|| unsafe { CStr::from_ptr(start) }.to_string_lossy().into_owned())
}

fn failure(connection: &Connection, code: c_int) -> Failure {
    // SAFETY: the connection is open; the text is copied at once.
    let message = unsafe { text(ffi::sqlite3_errmsg(connection.handle())) };
    Failure { code, message: message.unwrap_or_default() }
}
