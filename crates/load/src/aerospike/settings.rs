//! How an Aerospike target is reached: part of the command line, or of an assignment to another load machine.

use super::{AerospikeTarget, PROTOCOL};
use crate::target::TargetError;
use serde::{Deserialize, Serialize};
use std::net::ToSocketAddrs;

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

impl AerospikeSettings {
    /// The target. Resolves names, connects to nothing.
    ///
    /// # Errors
    /// [`TargetError::Address`], and [`TargetError::Unsupported`] without an address.
    pub fn open(&self) -> Result<AerospikeTarget, TargetError> {
        if self.addresses.is_empty() {
            return Err(TargetError::Unsupported { protocol: PROTOCOL, why: "no address is given" });
        }
        let mut addresses = Vec::new();
        for address in &self.addresses {
            let resolved = address.to_socket_addrs().map_err(|source| TargetError::Address { address: address.clone(), source })?;
            addresses.extend(resolved.take(1));
        }
        Ok(AerospikeTarget::new(self.clone(), addresses))
    }
}
