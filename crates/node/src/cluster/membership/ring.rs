//! The ring as drivers see it in the system tables.

use cql::system::{self, PeerView};

/// Who has what of the ring, as drivers see it.
#[derive(Debug)]
pub(crate) struct Ring {
    pub(crate) tokens: Vec<i64>,
    pub(crate) peers: Vec<PeerView>,
}

impl Default for Ring {
    /// This node has all of it.
    fn default() -> Self {
        Self { tokens: system::ring_tokens().to_vec(), peers: Vec::new() }
    }
}
