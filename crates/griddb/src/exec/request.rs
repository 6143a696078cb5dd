//! A statement, and the containers that it may name.

use crate::container::{Catalog, Container};
use crate::{ContainerName, ErrorCode, GridError};
use model::{Permission, Permissions, Schema, Table};
use std::sync::Arc;

pub(super) const READ: Permissions = Permissions::of(&[Permission::Select]);
pub(super) const WRITE: Permissions = Permissions::of(&[Permission::Modify]);
/// No certain one. Who has none at all is refused nevertheless.
pub(super) const ANY: Permissions = Permissions::of(&[]);

/// What a client may do.
pub trait Access: Sync {
    /// What with a container's table.
    fn permissions(&self, table: &Table) -> Permissions;
}

/// A statement, and what it is understood by.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The containers.
    pub catalog: &'a Arc<Catalog>,
    /// The schema that they are of.
    pub schema: &'a Arc<Schema>,
    /// The database that its client has logged in to.
    pub database: &'a str,
    /// The frame's body.
    pub body: &'a [u8],
    /// After so many seconds a transaction that it begins is over.
    pub transaction_timeout_s: u32,
    /// When the statement came, on this node's monotonic clock: it waits for locks from then on.
    pub received_us: u64,
    /// The same on its wall clock: seconds since the epoch.
    pub received_s: u32,
    /// Whether the connection's frames have addresses of IPv6.
    pub is_ipv6: bool,
    /// What its client may do; none if that is everything, or has been checked already.
    pub access: Option<&'a dyn Access>,
}

impl<'a> Request<'a> {
    /// The database's container of a number, with which the client may do this.
    #[inline]
    pub(super) fn container(&self, id: i64, needed: Permissions) -> Result<&'a Arc<Container>, GridError> {
        let container = self.any_container(id)?;
        self.check(container, needed)?;
        check_undivided(container)?;
        Ok(container)
    }

    /// The database's container of a number, whatever the client may do.
    #[inline]
    pub(super) fn any_container(&self, id: i64) -> Result<&'a Arc<Container>, GridError> {
        let container = self.catalog.by_id(id).map_err(|unknown| {
            // Numbers are given in turn: what has a later one has been made, and this member has not heard of it.
            if id >= i64::from(self.schema.next_table.0) { unknown.behind() } else { unknown }
        })?;
        if container.table.keyspace == self.database { Ok(container) } else { Err(Catalog::unknown(id)) }
    }

    /// Refuses what the client may not do with a container.
    #[inline]
    pub(super) fn check(&self, container: &Container, needed: Permissions) -> Result<(), GridError> {
        match self.access {
            Some(access) => check(access, container, needed),
            None => Ok(()),
        }
    }

    /// Whether the client may know of a container.
    pub(super) fn lists(&self, container: &Container) -> bool {
        self.check(container, ANY).is_ok()
    }

    /// The database's container of a name, if there is one.
    pub(super) fn find(&self, name: &ContainerName) -> Option<&'a Arc<Container>> {
        self.catalog.by_name(self.schema, self.database, name)
    }

    /// The database's container of a name, if there is one, with which the client may do this.
    pub(super) fn allowed(&self, name: &ContainerName, needed: Permissions) -> Result<Option<&'a Arc<Container>>, GridError> {
        let container = self.find(name);
        container.map_or(Ok(()), |container| self.check(container, needed))?;
        Ok(container)
    }
}

/// Refuses a partitioned table, whose rows are in its data partitions.
#[inline]
pub(super) fn check_undivided(container: &Container) -> Result<(), GridError> {
    if container.is_divided() { Err(divided(container)) } else { Ok(()) }
}

#[cold]
fn divided(container: &Container) -> GridError {
    GridError::unsupported(format!(
        "the table {} is partitioned: over NoSQL its rows are put, got and removed by their keys; all else is done by SQL",
        container.definition.name
    ))
}

#[inline(never)]
fn check(access: &dyn Access, container: &Container, needed: Permissions) -> Result<(), GridError> {
    let had = access.permissions(&container.table);
    let missing = needed.without(had);
    if !had.is_empty() && missing.is_empty() {
        return Ok(());
    }
    let name = &container.definition.name;
    let message = match missing.iter().next() {
        Some(permission) => format!("the user has no {} permission on the container {name}", permission.name()),
        None => format!("the user has no permission on the container {name}"),
    };
    Err(GridError::new(ErrorCode::TXN_OPERATION_NOT_ALLOWED, message))
}
