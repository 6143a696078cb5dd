//! How far an import has come: a container of the target, in the database that is imported.
//!
//! | column | what |
//! |---|---|
//! | `container`, the row key | what the command line names as the source, a space, and the container's name |
//! | `done_at_ms` | when it was done, in milliseconds since 1970; 0 while it is being copied |

use super::super::error::ImportError;
use super::containers::{self, STATE};
use super::link::Link;
use super::rows;
use griddb::client::{ContainerId, Description};
use griddb::row::RowsWriter;
use griddb::schema::{ColumnDefinition, Kind};
use griddb::{ContainerName, ElementType, GridError};
use std::collections::HashMap;

/// What is done.
pub(super) struct State<'a> {
    target: Link<'a>,
    source: &'a str,
    pub(super) container: Description,
    /// When, by row keys.
    found: HashMap<String, i64>,
}

impl<'a> State<'a> {
    /// Reads it; makes its container where that is missing.
    pub(super) fn open(mut target: Link<'a>, source: &'a str) -> Result<Self, ImportError> {
        let column = |name: &str, element| ColumnDefinition { name: name.to_owned(), element, is_array: false, is_not_null: true };
        let columns = vec![column("container", ElementType::String), column("done_at_ms", ElementType::Long)];
        let (name, id) = (ContainerName::parse(STATE), ContainerId { id: 0, version: 0 });
        let mut container = Description { id, name, kind: Kind::Collection, columns, key_len: 1, indexes: Vec::new(), partitioning: None };
        container.id = containers::make(&mut target, &container)?;
        let (mut found, mut state) = (HashMap::new(), None::<Vec<u8>>);
        loop {
            let next = rows::part(&mut target, &container, state.as_deref(), |row| {
                if let [Some(key), Some(time)] = row {
                    let time = (*time).try_into().map_err(|_| GridError::malformed("a time of other than eight bytes"))?;
                    found.insert(String::from_utf8_lossy(key).into_owned(), i64::from_le_bytes(time));
                }
                Ok::<(), GridError>(())
            })?;
            match next.map_err(ImportError::Told)? {
                None => break,
                next => state = next,
            }
        }
        Ok(Self { target, source, container, found })
    }

    pub(super) fn is_done(&self, name: &ContainerName) -> bool {
        self.found.get(&self.key(name)).is_some_and(|time| *time > 0)
    }

    /// Whether an import has made this container, or was about to.
    pub(super) fn is_begun(&self, name: &ContainerName) -> bool {
        self.found.contains_key(&self.key(name))
    }

    /// What was done is to be done again.
    pub(super) fn begin_again(&mut self, name: &ContainerName) -> Result<(), ImportError> {
        if self.is_done(name) {
            let key = self.key(name);
            store(&mut self.target, &self.container, &key, 0)?;
            self.found.insert(key, 0);
        }
        Ok(())
    }

    /// The row key of a container.
    pub(super) fn key(&self, name: &ContainerName) -> String {
        format!("{} {name}", self.source)
    }
}

/// Stores that a container is done, or with 0 that it was begun.
pub(super) fn store(target: &mut Link<'_>, state: &Description, key: &str, done_at_ms: i64) -> Result<(), ImportError> {
    let mut rows = RowsWriter::new(&state.columns);
    rows.begin();
    rows.put(&state.columns[0], Some(key.as_bytes()));
    rows.put(&state.columns[1], Some(&done_at_ms.to_le_bytes()));
    rows::put(target, &state.name, state.id, &rows)
}
