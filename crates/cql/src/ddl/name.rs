//! What names of keyspaces and tables may be.

use super::DdlError;
use super::error::IndexError;

/// How long the name of a keyspace may be.
const KEYSPACE_NAME_CHARACTERS_MAX: usize = 48;
/// How long the name of a table may be.
const TABLE_NAME_CHARACTERS_MAX: usize = 222;

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

pub(super) fn check_keyspace_name(name: &str) -> Result<(), DdlError> {
    if !is_plain(name) {
        return Err(DdlError::KeyspaceName(name.to_owned()));
    }
    let (characters, maximum) = (name.len(), KEYSPACE_NAME_CHARACTERS_MAX);
    if characters > maximum {
        return Err(DdlError::KeyspaceNameLength { name: name.to_owned(), characters, maximum });
    }
    Ok(())
}

pub(super) fn check_index_name(name: &str) -> Result<(), DdlError> {
    if is_plain(name) && name.len() <= TABLE_NAME_CHARACTERS_MAX { Ok(()) } else { Err(DdlError::Index(IndexError::Name(name.to_owned()))) }
}

pub(super) fn check_table_name(keyspace: &str, table: &str) -> Result<(), DdlError> {
    let (keyspace, table) = (keyspace.to_owned(), table.to_owned());
    if !is_plain(&table) {
        return Err(DdlError::TableName { keyspace, table });
    }
    let (characters, maximum) = (table.len(), TABLE_NAME_CHARACTERS_MAX);
    if characters > maximum {
        return Err(DdlError::TableNameLength { keyspace, table, characters, maximum });
    }
    Ok(())
}
