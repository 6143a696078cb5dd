//! A SQLite of a statement's own, and what it may do.

use crate::form::Form;
use crate::functions;
use crate::spill;
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of a statement.
pub const SQL_BYTES_MAX: usize = 1 << 20;
/// Bytes of a value.
pub(crate) const VALUE_BYTES_MAX: i32 = 32 << 20;
/// Steps of SQLite's program between two looks at whether it was interrupted.
const STEPS_BETWEEN_LOOKS: c_int = 10_000;

/// A SQLite that can read alone.
pub(crate) fn open(is_interrupted: &Arc<AtomicBool>, form: &Arc<Form>) -> rusqlite::Result<Connection> {
    let mut connection = match spill::name() {
        Some(files) => Connection::open_in_memory_with_flags_and_vfs(OpenFlags::default(), files)?,
        None => Connection::open_in_memory()?,
    };
    let temp_store = if spill::name().is_some() { "FILE" } else { "MEMORY" };
    // The schema is what this process makes: views, whose texts may call what statements may call. Sorts have the memory that pages of the schema may have.
    let (run_kib, trusted) = (spill::run_bytes() >> 10, "PRAGMA trusted_schema = ON");
    connection.execute_batch(&format!("PRAGMA temp_store = {temp_store}; PRAGMA cache_size = -{run_kib}; {trusted};"))?;
    // A name in double quotes is a name, also one that nothing has: not a text.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)?;
    // Written anew it is longer.
    connection.set_limit(Limit::SQLITE_LIMIT_SQL_LENGTH, 8 * SQL_BYTES_MAX as i32)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.set_limit(Limit::SQLITE_LIMIT_EXPR_DEPTH, 500)?;
    functions::register(&connection, form)?;
    connection.authorizer(Some(authorize))?;
    let is_interrupted = Arc::clone(is_interrupted);
    connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(move || is_interrupted.load(Ordering::Acquire)))?;
    Ok(connection)
}

/// Whether a statement may do it.
pub(crate) fn authorize(context: AuthContext<'_>) -> Authorization {
    match context.action {
        // SQLite's own tables have nothing to tell.
        AuthAction::Read { table_name, .. } if table_name.starts_with("sqlite_") => Authorization::Deny,
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => Authorization::Allow,
        AuthAction::Function { function_name } if !function_name.eq_ignore_ascii_case("load_extension") => Authorization::Allow,
        _ => Authorization::Deny,
    }
}
