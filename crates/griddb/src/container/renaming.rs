//! A column that gets another name. Rows, indexes and transactions know columns by their ids, and stay as they are.

use super::existing::Container;
use crate::schema::is_column_name;
use crate::{ErrorCode, GridError};

/// A column, and the name that it gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renaming {
    /// How it is called.
    pub from: String,
    /// How it will be.
    pub to: String,
}

impl Renaming {
    /// The position of the column.
    ///
    /// # Errors
    /// There is none, or it cannot have the name.
    pub(crate) fn position(&self, container: &Container) -> Result<usize, GridError> {
        let Self { from, to } = self;
        let table = &container.definition.name;
        let refused = |message: String| Err(GridError::new(ErrorCode::SQL_DDL_INVALID_COLUMN, message));
        if !is_column_name(to) {
            return refused(format!("{to:?} is no name of a column: it is empty, too long or has a space in it"));
        }
        let Some(position) = container.position(from) else {
            return refused(format!("the table {table} has no column {from}"));
        };
        match container.position(to) {
            Some(other) if other != position => refused(format!("the table {table} has a column {to} already")),
            Some(_) if container.definition.columns[position].name == *to => refused(format!("the column {to} is called so already")),
            _ => Ok(position),
        }
    }

    /// Whether it was made before: the cluster may decide a change twice.
    pub(super) fn is_made(&self, container: &Container) -> bool {
        let position = container.position(&self.to);
        position.is_some_and(|position| {
            container.definition.columns[position].name == self.to && container.position(&self.from).is_none_or(|from| from == position)
        })
    }
}
