//! A target as data: what a study's file or an assignment to another load machine says of it.

use crate::aerospike::AerospikeSettings;
use crate::cql::CqlSettings;
use crate::griddb::GridDbSettings;
use crate::target::{Target, TargetError};
use serde::{Deserialize, Serialize};

/// Settings of a target, by its protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "protocol", rename_all = "kebab-case")]
pub enum TargetSettings {
    /// A server that speaks CQL.
    Cql(CqlSettings),
    /// A server that speaks Aerospike's protocol.
    Aerospike(AerospikeSettings),
    /// A server that speaks GridDB's protocol.
    #[serde(rename = "griddb")]
    GridDb(GridDbSettings),
}

impl TargetSettings {
    /// The target. Resolves names, connects to nothing.
    ///
    /// # Errors
    /// When the settings make no sense.
    pub fn open(&self) -> Result<Box<dyn Target>, TargetError> {
        Ok(match self {
            Self::Cql(settings) => Box::new(settings.open()?),
            Self::Aerospike(settings) => Box::new(settings.open()?),
            Self::GridDb(settings) => Box::new(settings.open()?),
        })
    }
}
