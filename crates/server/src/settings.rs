//! The settings of a node as they are given: the same names and forms as flags, environment variables and keys of the file.
//!
//! `docs/reference/config.md` lists each with unit, default and range; a test compares.

use crate::devices::DeviceSpec;
use crate::guardrail_settings::GuardrailSettings;
use crate::size::Size;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What may be set; nothing that is not given has a value here.
#[derive(Args, Clone, Debug, Default, Deserialize)]
pub(crate) struct Settings {
    /// Where everything is kept; created when missing [default: ./tarndb-data].
    #[arg(long, value_name = "DIR", env = "TARNDB_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// The address to listen on, or a name that has one [default: 127.0.0.1].
    #[arg(long, value_name = "ADDRESS", env = "TARNDB_LISTEN")]
    pub(crate) listen: Option<String>,
    /// Listen beyond loopback although nobody has to log in: whoever reaches this node reads, changes and deletes everything [default: false].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", env = "TARNDB_INSECURE")]
    pub(crate) insecure: Option<bool>,
    /// The port for Cassandra drivers; 0 picks a free one [default: 9042].
    #[arg(long, value_name = "PORT", env = "TARNDB_CQL_PORT")]
    pub(crate) cql_port: Option<u16>,
    /// The port on which the client's own port chooses the core; 0 picks a free one [default: 19042].
    #[arg(long, value_name = "PORT", env = "TARNDB_CQL_SHARD_AWARE_PORT")]
    pub(crate) cql_shard_aware_port: Option<u16>,
    /// A port for Cassandra drivers that speak TLS, beside the others, which needs tls_certificate; 0 picks a free one [default: none, which leaves it off].
    #[arg(long, value_name = "PORT", env = "TARNDB_CQL_TLS_PORT")]
    pub(crate) cql_tls_port: Option<u16>,
    /// The port for Aerospike clients; 0 picks a free one [default: 3000].
    #[arg(long, value_name = "PORT", env = "TARNDB_AEROSPIKE_PORT")]
    pub(crate) aerospike_port: Option<u16>,
    /// A port for Aerospike clients that speak TLS, beside the other, which needs tls_certificate; 0 picks a free one [default: none, which leaves it off].
    #[arg(long, value_name = "PORT", env = "TARNDB_AEROSPIKE_TLS_PORT")]
    pub(crate) aerospike_tls_port: Option<u16>,
    /// Namespaces of Aerospike clients, separated by commas; none switches their port off [default: test].
    #[arg(long, value_delimiter = ',', value_name = "NAMES", env = "TARNDB_AEROSPIKE_NAMESPACES")]
    pub(crate) aerospike_namespaces: Option<Vec<String>>,
    /// In a cluster: the replication factor of a namespace that is written to for the first time, 1 to 7 [default: 2].
    #[arg(long, value_name = "N", env = "TARNDB_AEROSPIKE_REPLICATION_FACTOR")]
    pub(crate) aerospike_replication_factor: Option<u8>,
    /// The port for GridDB clients; 0 picks a free one [default: none, which leaves it off].
    #[arg(long, value_name = "PORT", env = "TARNDB_GRIDDB_PORT")]
    pub(crate) griddb_port: Option<u16>,
    /// The port for GridDB clients of SQL (JDBC), which needs griddb_port; 0 picks a free one [default: none, which leaves it off].
    #[arg(long, value_name = "PORT", env = "TARNDB_GRIDDB_SQL_PORT")]
    pub(crate) griddb_sql_port: Option<u16>,
    /// The port for `tarndb status`, metrics and health checks; 0 picks a free one [default: 8080].
    #[arg(long, value_name = "PORT", env = "TARNDB_HTTP_PORT")]
    pub(crate) http_port: Option<u16>,
    /// The port for other nodes, which switches clustering on; 0 picks a free one [default: none, and 7000 with join].
    #[arg(long, value_name = "PORT", env = "TARNDB_NODE_PORT")]
    pub(crate) node_port: Option<u16>,
    /// Members of the cluster to join, HOST:PORT of their node ports, separated by commas; without any a new cluster is founded [default: none].
    #[arg(long, value_delimiter = ',', value_name = "HOST:PORT", env = "TARNDB_JOIN")]
    pub(crate) join: Option<Vec<String>>,
    /// The number of the member, which is gone, whose place this node takes when it joins [default: none].
    #[arg(long, value_name = "NODE", env = "TARNDB_REPLACES")]
    pub(crate) replaces: Option<u32>,
    /// The node's certificate, PEM, followed by those between it and the authority; with node_key and node_ca links between nodes are encrypted [default: none].
    #[arg(long, value_name = "FILE", env = "TARNDB_NODE_CERTIFICATE")]
    pub(crate) node_certificate: Option<PathBuf>,
    /// The key of the node's certificate, PEM [default: none].
    #[arg(long, value_name = "FILE", env = "TARNDB_NODE_KEY")]
    pub(crate) node_key: Option<PathBuf>,
    /// Certificates of the authorities that sign those of all nodes of the cluster, PEM [default: none].
    #[arg(long, value_name = "FILE", env = "TARNDB_NODE_CA")]
    pub(crate) node_ca: Option<PathBuf>,
    /// The cluster's name: nodes of another one are kept out [default: TarnDB].
    #[arg(long, value_name = "NAME", env = "TARNDB_CLUSTER_NAME")]
    pub(crate) cluster_name: Option<String>,
    /// The data centre's name [default: datacenter1].
    #[arg(long, value_name = "NAME", env = "TARNDB_DATA_CENTER")]
    pub(crate) data_center: Option<String>,
    /// The rack's name: replicas of a row are placed in different racks where there are several [default: rack1].
    #[arg(long, value_name = "NAME", env = "TARNDB_RACK")]
    pub(crate) rack: Option<String>,
    /// Whether clients have to log in as a role; Aerospike clients are served then only if there are aerospike_namespaces [default: none].
    #[arg(long, value_enum, value_name = "HOW", env = "TARNDB_AUTHENTICATION")]
    pub(crate) authentication: Option<Authentication>,
    /// What of a client's certificate is its identity, by which roles know it [default: spiffe].
    #[arg(long, value_enum, value_name = "WHAT", env = "TARNDB_CERTIFICATE_IDENTITY")]
    pub(crate) certificate_identity: Option<CertificateIdentity>,
    /// A file with the password of the first superuser, `cassandra`, for a database that has no roles yet [default: one is made, in DATA_DIR/superuser-password].
    #[arg(long, value_name = "FILE", env = "TARNDB_SUPERUSER_PASSWORD_FILE")]
    pub(crate) superuser_password_file: Option<PathBuf>,
    /// What a role that has logged in may do [default: permissions with authentication, else none].
    #[arg(long, value_enum, value_name = "HOW", env = "TARNDB_AUTHORIZATION")]
    pub(crate) authorization: Option<Authorization>,
    /// The certificate that clients see, PEM, followed by those between it and the authority; with tls_key clients can speak TLS [default: none].
    #[arg(long, value_name = "FILE", env = "TARNDB_TLS_CERTIFICATE")]
    pub(crate) tls_certificate: Option<PathBuf>,
    /// The key of that certificate, PEM [default: none].
    #[arg(long, value_name = "FILE", env = "TARNDB_TLS_KEY")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Certificates of the authorities that have to have signed those of clients, PEM; without, clients need none [default: none].
    #[arg(long, value_name = "FILE", env = "TARNDB_TLS_CLIENT_CA")]
    pub(crate) tls_client_ca: Option<PathBuf>,
    /// Whether clients have to speak TLS [default: required with tls_certificate].
    #[arg(long, value_enum, value_name = "HOW", env = "TARNDB_TLS")]
    pub(crate) tls: Option<Tls>,
    /// Where requests and log-ins are written to, a JSON object a line: a file, `syslog`, or `syslog:SOCKET` [default: none, which is nowhere].
    #[arg(long, value_name = "WHERE", env = "TARNDB_AUDIT_LOG")]
    pub(crate) audit_log: Option<String>,
    /// Categories that are audited, separated by commas: query, dml, ddl, dcl, auth, error, prepare, other [default: all].
    #[arg(long, value_delimiter = ',', value_name = "CATEGORIES", env = "TARNDB_AUDIT_INCLUDED_CATEGORIES")]
    pub(crate) audit_included_categories: Option<Vec<String>>,
    /// Categories that are not audited [default: none].
    #[arg(long, value_delimiter = ',', value_name = "CATEGORIES", env = "TARNDB_AUDIT_EXCLUDED_CATEGORIES")]
    pub(crate) audit_excluded_categories: Option<Vec<String>>,
    /// Keyspaces and namespaces that are audited, separated by commas [default: all].
    #[arg(long, value_delimiter = ',', value_name = "NAMES", env = "TARNDB_AUDIT_INCLUDED_KEYSPACES")]
    pub(crate) audit_included_keyspaces: Option<Vec<String>>,
    /// Keyspaces and namespaces that are not audited [default: system,system_schema,system_virtual_schema].
    #[arg(long, value_delimiter = ',', value_name = "NAMES", env = "TARNDB_AUDIT_EXCLUDED_KEYSPACES")]
    pub(crate) audit_excluded_keyspaces: Option<Vec<String>>,
    /// Roles that are audited, separated by commas; clients that have not logged in are `anonymous` [default: all].
    #[arg(long, value_delimiter = ',', value_name = "ROLES", env = "TARNDB_AUDIT_INCLUDED_ROLES")]
    pub(crate) audit_included_roles: Option<Vec<String>>,
    /// Roles that are not audited [default: none].
    #[arg(long, value_delimiter = ',', value_name = "ROLES", env = "TARNDB_AUDIT_EXCLUDED_ROLES")]
    pub(crate) audit_excluded_roles: Option<Vec<String>>,
    /// When the audit log is slower than requests: drop lines, or have requests wait [default: drop].
    #[arg(long, value_enum, value_name = "WHAT", env = "TARNDB_AUDIT_WHEN_FULL")]
    pub(crate) audit_when_full: Option<AuditWhenFull>,
    /// How large a file of the audit log may become before the next one begins, at least 64KiB [default: 256MiB].
    #[arg(long, value_name = "SIZE", env = "TARNDB_AUDIT_FILE_SIZE")]
    pub(crate) audit_file_size: Option<Size>,
    /// How many files of the audit log there may be, with the one that is written, 1 to 1000 [default: 8].
    #[arg(long, value_name = "N", env = "TARNDB_AUDIT_FILES")]
    pub(crate) audit_files: Option<u16>,
    /// How many cores to use, 1 to 1024 [default: as the data directory was made, at first the CPUs this process may use, or its CPU quota if that is less].
    #[arg(long, value_name = "N", env = "TARNDB_CORES")]
    pub(crate) cores: Option<u16>,
    /// Memory to use at most, at least 64MiB [default: half of what the machine or container has].
    #[arg(long, value_name = "SIZE", env = "TARNDB_MEMORY_LIMIT")]
    pub(crate) memory_limit: Option<Size>,
    /// Disk space that data files may take, at least 256MiB [default: 80 % of what is free at the first start].
    #[arg(long, value_name = "SIZE", env = "TARNDB_CAPACITY")]
    pub(crate) capacity: Option<Size>,
    /// Disk space that all statements of SQL together may take for what is too much for memory; 0 leaves them with memory [default: 4GiB].
    #[arg(long, value_name = "SIZE", env = "TARNDB_SQL_SPILL_LIMIT")]
    pub(crate) sql_spill_limit: Option<Size>,
    /// Files or block devices for the data: each PATH or PATH=SIZE, separated by commas [default: a file a core in the data directory].
    #[arg(long, value_delimiter = ',', value_name = "DEVICES", env = "TARNDB_DEVICES")]
    pub(crate) devices: Option<Vec<DeviceSpec>>,
    /// A directory with room for a copy of the data, which a change of the number of cores of data on devices needs while it goes on [default: the data directory].
    #[arg(long, value_name = "DIR", env = "TARNDB_RELAYOUT_DIR")]
    pub(crate) relayout_dir: Option<PathBuf>,
    /// A file with the master key of encryption at rest: 64 hexadecimal digits or 32 bytes in Base64; decided at the first start [default: none, and nothing is encrypted].
    #[arg(long, value_name = "FILE", env = "TARNDB_ENCRYPTION_KEY_FILE")]
    pub(crate) encryption_key_file: Option<PathBuf>,
    /// A command for the shell that prints that key instead [default: none].
    #[arg(long, value_name = "COMMAND", env = "TARNDB_ENCRYPTION_KEY_COMMAND")]
    pub(crate) encryption_key_command: Option<String>,
    /// When a write is acknowledged [default: memory].
    #[arg(long, value_enum, value_name = "WHEN", env = "TARNDB_DURABILITY")]
    pub(crate) durability: Option<Durability>,
    /// How long an acknowledged write may be in memory only, in milliseconds, 1 to 10000 [default: 100].
    #[arg(long, value_name = "MS", env = "TARNDB_FLUSH_INTERVAL_MS")]
    pub(crate) flush_interval_ms: Option<u64>,
    /// Everything on the device is read and verified once in so many hours, 0 (never) to 8760 [default: 168].
    #[arg(long, value_name = "HOURS", env = "TARNDB_SCRUB_INTERVAL_HOURS")]
    pub(crate) scrub_interval_hours: Option<u64>,
    /// By how much moving rows between nodes may lengthen a request, in milliseconds, 1 to 1000 [default: 1].
    #[arg(long, value_name = "MS", env = "TARNDB_MIGRATION_LATENCY_MS")]
    pub(crate) migration_latency_ms: Option<u64>,
    /// How many client connections a core serves, 1 to 1000000 [default: 10000].
    #[arg(long, value_name = "N", env = "TARNDB_CONNECTIONS_PER_CORE")]
    pub(crate) connections_per_core: Option<u32>,
    /// A CQL batch over several partitions that writes more than this is answered with a warning [default: 5KiB].
    #[arg(long, value_name = "SIZE", env = "TARNDB_BATCH_SIZE_WARN_THRESHOLD")]
    pub(crate) batch_size_warn_threshold: Option<Size>,
    /// A CQL batch over several partitions that writes more than this is refused [default: 50KiB].
    #[arg(long, value_name = "SIZE", env = "TARNDB_BATCH_SIZE_FAIL_THRESHOLD")]
    pub(crate) batch_size_fail_threshold: Option<Size>,
    /// An unlogged CQL batch over more partitions than this is answered with a warning [default: 10].
    #[arg(long, value_name = "N", env = "TARNDB_UNLOGGED_BATCH_ACROSS_PARTITIONS_WARN_THRESHOLD")]
    pub(crate) unlogged_batch_across_partitions_warn_threshold: Option<u32>,
    /// What clients' statements are not to do.
    #[command(flatten)]
    #[serde(skip)]
    pub(crate) guardrails: GuardrailSettings,
    /// Requests that take longer are slow: they are logged and listed, in milliseconds, 0 (none) to 3600000 [default: 500].
    #[arg(long, value_name = "MS", env = "TARNDB_SLOW_QUERY_THRESHOLD_MS")]
    pub(crate) slow_query_threshold_ms: Option<u32>,
    /// Whether each core's thread stays on its own CPU [default: cpus].
    #[arg(long, value_enum, value_name = "WHERE", env = "TARNDB_PIN")]
    pub(crate) pin: Option<Pin>,
    /// What to log, as a filter: `warn`, `info`, `debug`, `info,tarndb_node=debug` [default: info, or RUST_LOG].
    #[arg(long, value_name = "FILTER", env = "TARNDB_LOG")]
    pub(crate) log: Option<String>,
    /// Log lines for people, or a JSON object each [default: text].
    #[arg(long, value_enum, value_name = "FORMAT", env = "TARNDB_LOG_FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
}

impl Settings {
    /// These, and where they say nothing, `other`.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            data_dir: self.data_dir.or(other.data_dir),
            listen: self.listen.or(other.listen),
            insecure: self.insecure.or(other.insecure),
            cql_port: self.cql_port.or(other.cql_port),
            cql_shard_aware_port: self.cql_shard_aware_port.or(other.cql_shard_aware_port),
            cql_tls_port: self.cql_tls_port.or(other.cql_tls_port),
            aerospike_port: self.aerospike_port.or(other.aerospike_port),
            aerospike_tls_port: self.aerospike_tls_port.or(other.aerospike_tls_port),
            aerospike_namespaces: self.aerospike_namespaces.or(other.aerospike_namespaces),
            aerospike_replication_factor: self.aerospike_replication_factor.or(other.aerospike_replication_factor),
            griddb_port: self.griddb_port.or(other.griddb_port),
            griddb_sql_port: self.griddb_sql_port.or(other.griddb_sql_port),
            http_port: self.http_port.or(other.http_port),
            node_port: self.node_port.or(other.node_port),
            join: self.join.or(other.join),
            replaces: self.replaces.or(other.replaces),
            node_certificate: self.node_certificate.or(other.node_certificate),
            node_key: self.node_key.or(other.node_key),
            node_ca: self.node_ca.or(other.node_ca),
            cluster_name: self.cluster_name.or(other.cluster_name),
            data_center: self.data_center.or(other.data_center),
            rack: self.rack.or(other.rack),
            authentication: self.authentication.or(other.authentication),
            certificate_identity: self.certificate_identity.or(other.certificate_identity),
            superuser_password_file: self.superuser_password_file.or(other.superuser_password_file),
            authorization: self.authorization.or(other.authorization),
            tls_certificate: self.tls_certificate.or(other.tls_certificate),
            tls_key: self.tls_key.or(other.tls_key),
            tls_client_ca: self.tls_client_ca.or(other.tls_client_ca),
            tls: self.tls.or(other.tls),
            audit_log: self.audit_log.or(other.audit_log),
            audit_included_categories: self.audit_included_categories.or(other.audit_included_categories),
            audit_excluded_categories: self.audit_excluded_categories.or(other.audit_excluded_categories),
            audit_included_keyspaces: self.audit_included_keyspaces.or(other.audit_included_keyspaces),
            audit_excluded_keyspaces: self.audit_excluded_keyspaces.or(other.audit_excluded_keyspaces),
            audit_included_roles: self.audit_included_roles.or(other.audit_included_roles),
            audit_excluded_roles: self.audit_excluded_roles.or(other.audit_excluded_roles),
            audit_when_full: self.audit_when_full.or(other.audit_when_full),
            audit_file_size: self.audit_file_size.or(other.audit_file_size),
            audit_files: self.audit_files.or(other.audit_files),
            cores: self.cores.or(other.cores),
            memory_limit: self.memory_limit.or(other.memory_limit),
            capacity: self.capacity.or(other.capacity),
            sql_spill_limit: self.sql_spill_limit.or(other.sql_spill_limit),
            devices: self.devices.or(other.devices),
            relayout_dir: self.relayout_dir.or(other.relayout_dir),
            encryption_key_file: self.encryption_key_file.or(other.encryption_key_file),
            encryption_key_command: self.encryption_key_command.or(other.encryption_key_command),
            durability: self.durability.or(other.durability),
            flush_interval_ms: self.flush_interval_ms.or(other.flush_interval_ms),
            scrub_interval_hours: self.scrub_interval_hours.or(other.scrub_interval_hours),
            migration_latency_ms: self.migration_latency_ms.or(other.migration_latency_ms),
            connections_per_core: self.connections_per_core.or(other.connections_per_core),
            batch_size_warn_threshold: self.batch_size_warn_threshold.or(other.batch_size_warn_threshold),
            batch_size_fail_threshold: self.batch_size_fail_threshold.or(other.batch_size_fail_threshold),
            unlogged_batch_across_partitions_warn_threshold: self
                .unlogged_batch_across_partitions_warn_threshold
                .or(other.unlogged_batch_across_partitions_warn_threshold),
            guardrails: self.guardrails.or(&other.guardrails),
            slow_query_threshold_ms: self.slow_query_threshold_ms.or(other.slow_query_threshold_ms),
            pin: self.pin.or(other.pin),
            log: self.log.or(other.log),
            log_format: self.log_format.or(other.log_format),
        }
    }

    /// The names of all keys, as the file has them.
    pub(crate) fn keys() -> Vec<String> {
        let command = Self::augment_args(clap::Command::new("keys"));
        command.get_arguments().map(|argument| argument.get_id().to_string()).collect()
    }
}

/// An empty flag or variable is an empty list.
pub(crate) fn without_empty(names: Vec<String>) -> Vec<String> {
    if names == [""] { Vec::new() } else { names }
}

/// When a write is acknowledged.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Durability {
    /// When it survives the death of the process; the device has it after the flush interval.
    Memory,
    /// When the device has it.
    Device,
}

/// Who is served.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Authentication {
    /// Everybody.
    None,
    /// Who gives the name of a role and its password.
    Password,
    /// Who has a certificate whose identity is a role's.
    Certificate,
    /// Either: clients without a certificate are asked for a password.
    CertificateOrPassword,
}

/// What of a client's certificate is its identity.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CertificateIdentity {
    /// The URI in subjectAltName that begins with `spiffe://`.
    #[default]
    Spiffe,
    /// The subject's common name.
    CommonName,
}

/// What those may do who are served.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Authorization {
    /// Everything with data; superusers manage roles.
    None,
    /// What has been granted to their role.
    Permissions,
}

/// Who has to speak TLS.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Tls {
    /// Clients that want to, on the same ports as others.
    Optional,
    /// All clients.
    Required,
}

/// What gives way when the audit log is slower than requests.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AuditWhenFull {
    /// Lines are dropped, and counted.
    Drop,
    /// Requests wait.
    Block,
}

/// What a log line looks like.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    /// Time, level, where in the program, message and fields.
    #[default]
    Text,
    /// A JSON object with the same.
    Json,
}

/// Where threads run.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Pin {
    /// Core n stays on the nth CPU that the process may use.
    Cpus,
    /// Where the kernel likes: for several nodes on one machine.
    Off,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_lists_exactly_the_settings_that_exist() {
        let reference = include_str!("../../../docs/reference/config.md");
        let listed: Vec<&str> = reference.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
        assert_eq!(listed, Settings::keys());
    }
}
