//! How a CQL target is reached: part of a study's file or of the command line.

use super::{ConsistencyLevel, OwnStatements};
use crate::ring::Routing;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Settings of a CQL target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CqlSettings {
    /// `host:port` of each node that clients connect to.
    pub addresses: Vec<String>,
    /// Name to log in with, if the server asks.
    pub user: Option<String>,
    /// Password to log in with.
    pub password: Option<String>,
    /// File with the authorities, PEM, that sign the servers' certificates: clients speak TLS, and each certificate must name the host of the first address.
    pub tls_ca: Option<PathBuf>,
    /// Native protocol version, 3 to 5.
    pub protocol_version: u8,
    /// Of all requests.
    pub consistency: ConsistencyLevel,
    /// Name of the keyspace.
    pub keyspace: String,
    /// Name of the table.
    pub table: String,
    /// Replicas of each row.
    pub replication_factor: u32,
    /// Appended to the table's WITH, for example `compression = {'enabled': false}`.
    pub table_options: String,
    /// Which node, and core of it, a request is sent to.
    pub routing: Routing,
    /// Statements of the study's own.
    #[serde(skip_serializing_if = "OwnStatements::is_empty")]
    pub own: OwnStatements,
}

impl Default for CqlSettings {
    fn default() -> Self {
        Self {
            addresses: vec!["127.0.0.1:9042".to_owned()],
            user: None,
            password: None,
            tls_ca: None,
            protocol_version: 4,
            consistency: ConsistencyLevel::default(),
            keyspace: "tarndb_bench".to_owned(),
            table: "usertable".to_owned(),
            replication_factor: 1,
            table_options: String::new(),
            routing: Routing::default(),
            own: OwnStatements::default(),
        }
    }
}
