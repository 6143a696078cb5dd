//! A whole node, generic over `io`: connections, routing to shards, schema changes.
//!
//! [`Core`] is one core's part and implements [`io::Handler`]; the production reactor and the simulator drive the same code.

mod audit;
mod background;
mod backup;
mod cluster;
mod config;
mod connections;
mod coordination;
mod core;
mod cutting;
mod failed_logins;
mod first_superuser;
mod handler;
mod handshakes;
mod hot;
mod large_partitions;
mod latencies;
mod lifecycle;
mod limits;
mod live_guardrails;
mod live_settings;
mod logins;
mod message;
mod part_sizes;
mod pending_clients;
mod phases;
mod protocol;
mod represented;
mod request_figures;
mod request_id;
mod requests;
mod schema_changes;
mod script_log;
mod serving;
mod slow;
mod superuser_making;
mod table_figures;
mod tags;
mod traces;
mod tracing;
mod transport;
mod vector_images;

pub use crate::audit::{
    AuditConfig, AuditFilter, AuditMessage, Categories, Category, Lines, Names, OperatorAudit, OperatorFailure, OperatorRequest, WhenFull,
    append_dropped,
};
pub use crate::backup::{
    BackupFigures, BackupPort, BackupRequest, FRAME_HEAD_BYTES, FrameKind, FrameReceiver, PlaceReport, frames, read_frame_head,
};
pub use crate::cluster::{
    Answer, Board, ClusterConfig, ClusterReport, CoreReport, Held, MemberReport, MetadataBlobs, Order, PendingReport, Planted,
    RebuildReport, Report, View, committed_sequence, relaid_replication,
};
pub use crate::core::{Core, CoreParts};
pub use ::cluster::{LOG_BLOB, SNAPSHOT_BLOB, Versions};
pub use ::engine::{Stats as EngineStats, TableSizes};
pub use ::io::{DISK_BOUNDS_US, DiskHistogram};
pub use ::tls::IdentityKind;
pub use config::{AerospikeConfig, CertificateLogins, Listening, NodeConfig, SCHEMA_BLOB, Speaks, replication_blob, truncations_blob};
pub use failed_logins::{FailedLogins, TooManyFailures, is_worth_a_line};
pub use first_superuser::{FirstSuperuser, NoPassword, is_password_of_first_superuser};
pub use latencies::{LATENCY_BOUNDS_US, Latencies};
pub use lifecycle::{OnFailure, OnReady};
pub use limits::RoleUses;
pub use live_guardrails::LiveGuardrails;
pub use live_settings::{LiveSettings, SLOW_QUERY_THRESHOLD_MS};
pub use logins::{aerospike_hash, fits as fits_password};
pub use message::Message;
pub use protocol::Protocol;
pub use protocol::cql::SharedStatements;
pub use represented::{Representation, RepresentedClients};
pub use request_figures::{ErrorCounts, MEASURED_PROTOCOLS, RequestFigures, RequestKind};
pub use table_figures::{TableFigures, TableLatencies, TableRequest, by_table};
pub use transport::ClientTlsConfig;
pub use vector_images::take_vector_images;
