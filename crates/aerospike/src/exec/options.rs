//! What requests go by besides what they say.

use crate::jobs::Jobs;
use model::Table;
use std::sync::Arc;

/// A keyspace that clients know as a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Its name.
    pub name: String,
    /// How long records last whose writer leaves that to the server, in seconds; 0 is for ever.
    pub default_ttl_s: u32,
}

/// Whether this node is the primary of a namespace's slot.
pub type IsPrimary<'a> = dyn Fn(&str, u16) -> bool + 'a;

/// Whether a client may read a set.
pub type MayRead<'a> = dyn Fn(&Table) -> bool + 'a;

/// What a node decides.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The namespaces there are.
    pub namespaces: &'a [Namespace],
    /// How many cores the node has: requests about many records come in parts of a core's each. In a cluster, where a part may be run by
    /// another member, this is the number of slots.
    pub cores: u16,
    /// The size a record may have.
    pub record_bytes_max: u32,
    /// In a cluster. A scan that names no partitions is about those of which this node is the primary.
    pub is_primary: Option<&'a IsPrimary<'a>>,
    /// Where scans and queries are told of that clients may ask after. Without, none runs in the background.
    pub jobs: Option<&'a Arc<Jobs>>,
    /// Of a client that may not read everything. It is asked about sets in which a record is looked for that is named by its digest alone.
    pub may_read: Option<&'a MayRead<'a>>,
    /// Whether another member has sent the request on. It has checked what its client may, and sends on as a batch's part what reads by digest alone.
    pub is_forwarded: bool,
}

impl Options<'_> {
    pub(super) fn holds(&self, namespace: &str, slot: u16) -> bool {
        self.is_primary.is_none_or(|is_primary| is_primary(namespace, slot))
    }
}
