//! A statement, and the containers that it may name.

use crate::container::{Catalog, Container};
use crate::{ContainerName, ErrorCode, GridError};
use model::Schema;
use std::sync::Arc;

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
    /// Whether the connection's frames have addresses of IPv6.
    pub is_ipv6: bool,
}

impl<'a> Request<'a> {
    /// The database's container of a number.
    pub(super) fn container(&self, id: i64) -> Result<&'a Arc<Container>, GridError> {
        let container = self.catalog.by_id(id).map_err(|unknown| {
            // Numbers are given in turn: what has a later one has been made, and this member has not heard of it.
            if id >= i64::from(self.schema.next_table.0) { unknown.behind() } else { unknown }
        })?;
        if container.table.keyspace == self.database { Ok(container) } else { Err(Catalog::unknown(id)) }
    }

    /// The database's container of a name, if there is one.
    pub(super) fn find(&self, name: &ContainerName) -> Option<&'a Arc<Container>> {
        self.catalog.by_name(self.schema, self.database, name)
    }

    /// The database's container of a name.
    pub(super) fn named(&self, name: &ContainerName) -> Result<&'a Arc<Container>, GridError> {
        self.find(name).ok_or_else(|| GridError::new(ErrorCode::TXN_CONTAINER_NOT_FOUND, format!("there is no container {name}")))
    }
}
