//! Names of cores of other nodes.

use base::{CoreId, NodeId};

/// A core of another node.
pub(crate) type RemoteCore = (NodeId, CoreId);
