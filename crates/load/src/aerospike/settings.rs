//! How an Aerospike target is reached: part of the command line, or of an assignment to another load machine.

use serde::{Deserialize, Serialize};

/// Settings of an Aerospike target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AerospikeSettings {
    /// `host:port` of each node that clients connect to. A node passes on what is another's.
    pub addresses: Vec<String>,
    /// Name of the namespace, which is there.
    pub namespace: String,
    /// Name of the set.
    pub set: String,
}

impl Default for AerospikeSettings {
    fn default() -> Self {
        Self { addresses: vec!["127.0.0.1:3000".to_owned()], namespace: "test".to_owned(), set: "usertable".to_owned() }
    }
}
