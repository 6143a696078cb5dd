//! The configuration of a node: every setting with a value, checked.

mod addresses;
mod check;
mod error;
mod tls;

pub(crate) use addresses::is_loopback;
pub(crate) use error::ConfigError;
pub(crate) use tls::{ClientTlsFiles, TlsFiles};

use crate::at_rest::KeySource;
use crate::audit_settings::AuditSettings;
use crate::devices::DeviceSpec;
use crate::settings::{Authentication, Authorization, CertificateIdentity, Durability, Pin, Settings, without_empty};
use crate::size::Size;
use addresses::{resolve, resolve_own};
use base::NodeId;
use cql::exec::BatchLimits;
use cql::guardrails::Guardrails;
use io_linux::Memory;
use node::SLOW_QUERY_THRESHOLD_MS;
use serde::Serialize;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use tls::{client_tls_files, tls_files};

/// What this machine or container has, where a default depends on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host {
    pub(crate) memory: Memory,
}

/// A checked configuration. [`Config::shown`] shows it: fields have the names of their settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Config {
    pub(crate) data_dir: PathBuf,
    pub(crate) listen: IpAddr,
    /// Whether everybody may be served beyond loopback.
    pub(crate) insecure: bool,
    pub(crate) cql_port: u16,
    pub(crate) cql_shard_aware_port: u16,
    /// `None`: nobody listens on it.
    pub(crate) cql_tls_port: Option<u16>,
    pub(crate) aerospike_port: u16,
    pub(crate) aerospike_tls_port: Option<u16>,
    /// None: nobody listens on that port.
    pub(crate) aerospike_namespaces: Vec<String>,
    pub(crate) aerospike_replication_factor: u8,
    /// `None`: nobody listens on it.
    pub(crate) griddb_port: Option<u16>,
    pub(crate) griddb_sql_port: Option<u16>,
    pub(crate) http_port: u16,
    /// `None`: clustering is off.
    pub(crate) node_port: Option<u16>,
    pub(crate) join: Vec<SocketAddr>,
    #[serde(skip)]
    pub(crate) replaces: Option<NodeId>,
    /// `None`: links between nodes are not encrypted.
    #[serde(skip)]
    pub(crate) node_tls: Option<TlsFiles>,
    pub(crate) authentication: Authentication,
    pub(crate) certificate_identity: CertificateIdentity,
    /// `None`: a password is made.
    pub(crate) superuser_password_file: Option<PathBuf>,
    pub(crate) authorization: Authorization,
    #[serde(skip)]
    pub(crate) client_tls: Option<ClientTlsFiles>,
    /// `None`: nothing is audited.
    #[serde(skip)]
    pub(crate) audit: Option<AuditSettings>,
    pub(crate) cluster_name: String,
    pub(crate) data_center: String,
    pub(crate) rack: String,
    /// `None`: as the data directory says, or all CPUs for a new one.
    pub(crate) cores: Option<u16>,
    pub(crate) memory_limit: Size,
    /// `None`: as the data directory says, or a share of the free space for a new one.
    pub(crate) capacity: Option<Size>,
    /// 0: statements of SQL have memory alone.
    pub(crate) sql_spill_limit: Size,
    /// `None`: as the data directory says, or files in it for a new one.
    pub(crate) devices: Option<Vec<DeviceSpec>>,
    /// `None`: the data directory.
    pub(crate) relayout_dir: Option<PathBuf>,
    /// `None`: nothing is encrypted.
    #[serde(skip)]
    pub(crate) master_key: Option<KeySource>,
    pub(crate) durability: Durability,
    pub(crate) flush_interval_ms: u64,
    pub(crate) scrub_interval_hours: u64,
    pub(crate) migration_latency_ms: u64,
    pub(crate) connections_per_core: u32,
    pub(crate) batch_size_warn_threshold: Size,
    pub(crate) batch_size_fail_threshold: Size,
    pub(crate) unlogged_batch_across_partitions_warn_threshold: u32,
    /// What clients' statements are not to do.
    #[serde(skip)]
    pub(crate) guardrails: Guardrails,
    pub(crate) slow_query_threshold_ms: u32,
    pub(crate) pin: Pin,
}

/// How many cores a node may have.
pub(crate) const CORES: RangeInclusive<u64> = 1..=1024;
pub(crate) const SLOW_QUERY_THRESHOLDS_MS: RangeInclusive<u64> = 0..=3_600_000;
const MEMORY_LIMIT_LEAST: Size = Size(64 << 20);
const SQL_SPILL_LIMIT: Size = Size(4 << 30);
/// The smallest capacity.
pub(crate) const CAPACITY_LEAST: Size = Size(256 << 20);

impl Config {
    /// Checks settings and fills in defaults.
    pub(crate) fn new(settings: Settings, host: Host) -> Result<Self, ConfigError> {
        let audit = AuditSettings::new(&settings)?;
        let join = settings.join.map_or_else(Vec::new, without_empty);
        let authentication = settings.authentication.unwrap_or(Authentication::None);
        let namespaces = settings.aerospike_namespaces.map(without_empty);
        let batch_limits = BatchLimits::default();
        let config = Self {
            node_port: settings.node_port.or((!join.is_empty()).then_some(7000)),
            join: join.iter().map(|address| resolve(address)).collect::<Result<_, _>>()?,
            replaces: settings.replaces.map(NodeId),
            node_tls: tls_files([
                ("node_certificate", settings.node_certificate),
                ("node_key", settings.node_key),
                ("node_ca", settings.node_ca),
            ])?,
            authentication,
            certificate_identity: settings.certificate_identity.unwrap_or_default(),
            superuser_password_file: settings.superuser_password_file,
            authorization: settings.authorization.unwrap_or(match authentication {
                Authentication::None => Authorization::None,
                _ => Authorization::Permissions,
            }),
            client_tls: client_tls_files(
                [("tls_certificate", settings.tls_certificate), ("tls_key", settings.tls_key)],
                settings.tls_client_ca,
                authentication,
                settings.tls,
            )?,
            audit,
            cluster_name: settings.cluster_name.unwrap_or_else(|| "TarnDB".to_owned()),
            data_center: settings.data_center.unwrap_or_else(|| "datacenter1".to_owned()),
            rack: settings.rack.unwrap_or_else(|| "rack1".to_owned()),
            data_dir: settings.data_dir.unwrap_or_else(|| PathBuf::from("./tarndb-data")),
            listen: settings.listen.as_deref().map_or(Ok(IpAddr::V4(Ipv4Addr::LOCALHOST)), resolve_own)?,
            insecure: settings.insecure.unwrap_or(false),
            cql_port: settings.cql_port.unwrap_or(9042),
            cql_shard_aware_port: settings.cql_shard_aware_port.unwrap_or(19042),
            cql_tls_port: settings.cql_tls_port,
            aerospike_port: settings.aerospike_port.unwrap_or(3000),
            aerospike_tls_port: settings.aerospike_tls_port,
            aerospike_namespaces: match authentication {
                Authentication::None => namespaces.unwrap_or_else(|| vec!["test".to_owned()]),
                _ => namespaces.unwrap_or_default(),
            },
            aerospike_replication_factor: settings.aerospike_replication_factor.unwrap_or(2),
            griddb_port: settings.griddb_port,
            griddb_sql_port: settings.griddb_sql_port,
            http_port: settings.http_port.unwrap_or(8080),
            cores: settings.cores,
            memory_limit: settings.memory_limit.unwrap_or(Size(host.memory.bytes() / 2).max(MEMORY_LIMIT_LEAST)),
            capacity: settings.capacity,
            sql_spill_limit: settings.sql_spill_limit.unwrap_or(SQL_SPILL_LIMIT),
            devices: settings.devices,
            relayout_dir: settings.relayout_dir,
            master_key: KeySource::new(settings.encryption_key_file, settings.encryption_key_command).ok_or(ConfigError::TwoMasterKeys)?,
            durability: settings.durability.unwrap_or(Durability::Memory),
            flush_interval_ms: settings.flush_interval_ms.unwrap_or(100),
            scrub_interval_hours: settings.scrub_interval_hours.unwrap_or(168),
            migration_latency_ms: settings.migration_latency_ms.unwrap_or(1),
            connections_per_core: settings.connections_per_core.unwrap_or(10_000),
            batch_size_warn_threshold: settings.batch_size_warn_threshold.unwrap_or(Size(batch_limits.warn_bytes)),
            batch_size_fail_threshold: settings.batch_size_fail_threshold.unwrap_or(Size(batch_limits.fail_bytes)),
            unlogged_batch_across_partitions_warn_threshold: settings
                .unlogged_batch_across_partitions_warn_threshold
                .unwrap_or(batch_limits.unlogged_partitions),
            guardrails: settings.guardrails.guardrails(),
            slow_query_threshold_ms: settings.slow_query_threshold_ms.unwrap_or(SLOW_QUERY_THRESHOLD_MS),
            pin: settings.pin.unwrap_or(Pin::Cpus),
        };
        config.check(host.memory)?;
        Ok(config)
    }

    /// How large batches of CQL may be.
    pub(crate) fn batch_limits(&self) -> BatchLimits {
        BatchLimits {
            warn_bytes: self.batch_size_warn_threshold.0,
            fail_bytes: self.batch_size_fail_threshold.0,
            unlogged_partitions: self.unlogged_batch_across_partitions_warn_threshold,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
