//! What the target has before anything is copied: of which containers the rows are there, and that the others can be copied.

use super::super::error::ImportError;
use super::containers;
use super::link::Link;
use super::rows;
use super::state::State;
use griddb::GridError;
use griddb::client::Description;

/// What there is to do for a container.
pub(super) struct Task<'a> {
    pub(super) container: &'a Description,
    /// The target's, where all rows are copied.
    pub(super) done: Option<Description>,
}

/// Looks at each container. What was copied to one that is gone is copied again, and with `restart` all is.
pub(super) fn look<'a>(
    target: &mut Link<'_>,
    containers: &'a [Description],
    state: &mut State<'_>,
    restart: bool,
) -> Result<Vec<Task<'a>>, ImportError> {
    let task = |container: &'a Description| {
        let there = containers::described(target, &container.name)?.map_err(ImportError::Told)?;
        if restart || there.is_none() {
            state.begin_again(&container.name)?;
        }
        let Some(there) = there else { return Ok(Task { container, done: None }) };
        if state.is_done(&container.name) {
            return Ok(Task { container, done: Some(there) });
        }
        // One without a row key that an import has begun is dropped.
        if container.key_len > 0 || !state.is_begun(&container.name) {
            containers::check(container, &there.columns, there.key_len)?;
            check_empty(target, &there)?;
        }
        Ok(Task { container, done: None })
    };
    containers.iter().map(task).collect()
}

/// Refuses rows that nothing would tell from those that are copied.
pub(super) fn check_empty(target: &mut Link<'_>, there: &Description) -> Result<(), ImportError> {
    if there.key_len > 0 {
        return Ok(());
    }
    let mut has_rows = false;
    let read = rows::part(target, there, None, |_| {
        has_rows = true;
        Ok::<(), GridError>(())
    })?;
    read.map_err(ImportError::Told)?;
    if has_rows { Err(ImportError::NotEmpty { container: there.name.to_string() }) } else { Ok(()) }
}
