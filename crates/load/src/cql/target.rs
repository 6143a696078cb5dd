//! A CQL server as a target.

use super::CqlSettings;
use crate::target::{ServerInfo, Session, Target, TargetError};
use crate::workload::{Mix, Rows};
use std::net::SocketAddr;

const NOT_YET: TargetError = TargetError::Unsupported { protocol: "cql", why: "not there yet" };

/// A CQL server or cluster.
#[derive(Debug)]
pub struct CqlTarget {
    settings: CqlSettings,
    addresses: Vec<SocketAddr>,
}

impl CqlTarget {
    pub(super) fn new(settings: CqlSettings, addresses: Vec<SocketAddr>) -> Self {
        Self { settings, addresses }
    }

    /// As it was set up.
    #[must_use]
    pub fn settings(&self) -> &CqlSettings {
        &self.settings
    }
}

impl Target for CqlTarget {
    fn protocol(&self) -> &'static str {
        "cql"
    }

    fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    fn check(&self) -> Result<ServerInfo, TargetError> {
        Err(NOT_YET)
    }

    fn create(&self, _rows: &Rows) -> Result<(), TargetError> {
        Err(NOT_YET)
    }

    fn drop_dataset(&self) -> Result<(), TargetError> {
        Err(NOT_YET)
    }

    fn session(&self, _rows: &Rows, _mix: &Mix, _index: u32) -> Result<Box<dyn Session>, TargetError> {
        Err(NOT_YET)
    }
}
