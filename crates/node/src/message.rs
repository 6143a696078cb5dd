//! The messages between cores of a node.

use crate::cluster::View;
pub(crate) use crate::request_id::PartId;
use crate::request_id::RequestId;
use crate::schema_changes::{SchemaOutcome, SchemaRequest, SchemaUpdate};
use base::{CoreId, NodeId};
use io::DiskError;
use model::Schema;
use model::operation::Operation;
use shard::{Access, ShardError};
use std::sync::Arc;

/// A message from one core to another.
pub enum Message {
    /// Run this where its partition lives; answer with [`Message::Ran`].
    Run {
        /// Whose request it is a part of.
        part: PartId,
        /// Whose rows it may read.
        access: Access,
        /// What to run.
        operation: Box<dyn Operation>,
    },
    /// What came of [`Message::Run`].
    Ran {
        /// Which part.
        part: PartId,
        /// Its reply.
        outcome: Result<Vec<u8>, ShardError>,
    },
    /// Run a client's request, or a part of it, whose form is that in which it travels between members; answer with
    /// [`Message::Forwarded`].
    Forward {
        /// Who asks.
        from: CoreId,
        /// The asker's name for it.
        id: u32,
        /// The version of the metadata that the asker goes by.
        version: u64,
        /// Which part; all of it without.
        part: Option<Vec<u8>>,
        /// The request.
        request: Arc<[u8]>,
    },
    /// What came of [`Message::Forward`].
    Forwarded {
        /// The asker's name for it.
        id: u32,
        /// What came of it.
        outcome: Result<Vec<u8>, ShardError>,
    },
    /// From core 0: the cluster is this now.
    View(Arc<View>),
    /// From core 0: until this time (monotonic, in microseconds) this member may serve what it is the primary of.
    Lease(u64),
    /// To core 0: this core's lease, which had no end, has one now.
    LeaseHasEnd,
    /// To core 0: propose this change of the metadata.
    Propose(Box<cluster::Command>),
    /// To core 0: a frame for it that another core has received.
    Metadata {
        /// Who has sent it.
        from: NodeId,
        /// The message.
        body: Vec<u8>,
    },
    /// To core 0: change the schema.
    ChangeSchema(Box<SchemaRequest>),
    /// From core 0: the schema will be this; answer with [`Message::SchemaApplied`] once the shard has its tables.
    ShardSchema(Arc<Schema>),
    /// From core 0: the schema is this now; answer with [`Message::SchemaApplied`].
    Schema(Arc<SchemaUpdate>),
    /// From core 0: every core has applied this; send events to clients.
    Announce(Arc<SchemaUpdate>),
    /// To core 0: this core has applied [`Message::ShardSchema`] or [`Message::Schema`].
    SchemaApplied {
        /// Why it will not outlast this process, if it will not.
        failure: Option<DiskError>,
    },
    /// From core 0 to the core that asked: the change is done or was refused.
    SchemaChanged {
        /// Whose request.
        request: RequestId,
        /// What came of it.
        outcome: Box<SchemaOutcome>,
    },
    /// To core 0: this core's shard has recovered, and whether it has found stored data damaged.
    Recovered {
        /// Whether rows may be missing.
        is_damaged: bool,
    },
    /// To core 0: this core knows what its node is in the cluster.
    Serving,
    /// To core 0, when the node ends: this core has given away the slots that others can take.
    PrimariesTransferred,
    /// From core 0: drain clients to other nodes.
    SendAway,
    /// To core 0, when the node ends: everything of this core is on the device.
    Flushed,
}
