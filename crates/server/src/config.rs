//! The configuration of a node: every setting with a value, checked.

use crate::at_rest::KeySource;
use crate::audit_settings::{AuditSettings, AuditSettingsError};
use crate::devices::{DEVICES_MAX, DeviceSpec};
use crate::settings::{Authentication, Authorization, CertificateIdentity, Durability, Pin, Settings, Tls, without_empty};
use crate::size::Size;
use base::NodeId;
use cql::exec::BatchLimits;
use cql::guardrails::Guardrails;
use io_linux::Memory;
use node::SLOW_QUERY_THRESHOLD_MS;
use serde::Serialize;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use tls::CertificateNeed;

/// Why settings are no configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConfigError {
    /// A number is outside its range.
    #[error("{key} is {value}, but must be from {least} to {most}")]
    Range {
        /// The setting.
        key: &'static str,
        /// What was given.
        value: u64,
        /// The least allowed.
        least: u64,
        /// The most allowed.
        most: u64,
    },
    /// A size is too small to work with.
    #[error("{key} is {value}, but must be at least {least}")]
    TooSmall {
        /// The setting.
        key: &'static str,
        /// What was given.
        value: Size,
        /// The least allowed.
        least: Size,
    },
    /// Space is given twice.
    #[error("capacity is how long data files may become, and devices have their own sizes: leave capacity away, or write PATH=SIZE")]
    CapacityOfDevices,
    /// Clients are refused before they are warned.
    #[error("{warn} must not be greater than {fail}")]
    Thresholds {
        /// A setting.
        warn: &'static str,
        /// Another.
        fail: &'static str,
    },
    /// There is not so much memory.
    #[error("memory_limit is {value}, but {whose} has {most}: give the node less")]
    TooMuchMemory {
        /// What was given.
        value: Size,
        /// Who says how much there is.
        whose: &'static str,
        /// How much there is.
        most: Size,
    },
    /// A name to listen on has no address.
    #[error("listen is `{name}`, which is neither an IP address nor a name that has one: {why}")]
    Listen {
        /// What was given.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// Everybody who reaches the node would be served.
    #[error(
        "listen is {listen}, beyond loopback, and nobody has to log in: whoever reaches it reads, changes and deletes everything; \
         set authentication = password, or insecure = true if the network keeps others away"
    )]
    Exposed {
        /// The address.
        listen: IpAddr,
    },
    /// A list of devices is empty or too long.
    #[error("devices lists {count}, but must list 1 to {DEVICES_MAX}")]
    Devices {
        /// How many were given.
        count: usize,
    },
    /// A device is given twice.
    #[error("devices lists {} twice", path.display())]
    DeviceTwice {
        /// Which.
        path: PathBuf,
    },
    /// A namespace's name is not one.
    #[error("aerospike_namespaces has `{0}`: a name is 1 to 31 letters, digits, `_`, `-` or `$`, not one of the system's, and listed once")]
    Namespace(String),
    /// Permissions are those of roles.
    #[error("authorization = permissions needs authentication = password: who does not log in has no role to have permissions")]
    PermissionsOfNobody,
    /// Who does not log in has no password.
    #[error("superuser_password_file needs authentication = password: without it nobody logs in")]
    PasswordOfNobody,
    /// Certificates that log in have to be verified.
    #[error(
        "authentication = {authentication} needs tls_certificate, tls_key and tls_client_ca, whose authorities have signed clients' certificates"
    )]
    CertificatesOfNobody {
        /// As it is set.
        authentication: &'static str,
    },
    /// Who does not speak TLS has no certificate.
    #[error("authentication = certificate needs tls = required: who does not speak TLS has no certificate to log in by")]
    CertificatesInPlain,
    /// Members tell each other where they are.
    #[error("with clustering, listen must be the address at which other nodes and clients reach this node, not all addresses")]
    NoAddress,
    /// Only who joins takes a place.
    #[error("replaces is given without join: name a member of the cluster")]
    ReplacesNobody,
    /// TLS to clients takes two files.
    #[error("{given} is given without {missing}: TLS to clients takes tls_certificate and tls_key")]
    PartOfClientTls {
        /// A setting.
        given: &'static str,
        /// Another.
        missing: &'static str,
    },
    /// The audit log.
    #[error(transparent)]
    Audit(#[from] AuditSettingsError),
    /// There is one master key.
    #[error("encryption_key_file and encryption_key_command are both given: the master key comes from one of them")]
    TwoMasterKeys,
    /// One file of three is of no use.
    #[error("{given} is given without {missing}: TLS between nodes takes node_certificate, node_key and node_ca")]
    PartOfTls {
        /// A setting.
        given: &'static str,
        /// Another.
        missing: &'static str,
    },
    /// Without clustering there are no links.
    #[error("node_certificate is for links between nodes: give node_port or join, which switch clustering on, or leave it away")]
    TlsWithoutCluster,
    /// SQL is about containers.
    #[error("griddb_sql_port needs griddb_port: statements of SQL read and write through it")]
    SqlWithoutGridDb,
    /// Nothing to speak TLS with.
    #[error("{key} is for clients that speak TLS: give tls_certificate and tls_key, too, or leave it away")]
    TlsPortWithoutCertificate {
        /// The setting.
        key: &'static str,
    },
    /// Nothing to serve there.
    #[error("aerospike_tls_port has nobody to serve: give aerospike_namespaces, too, or leave it away")]
    TlsPortOfNobody,
    /// The SQL port is a client of the node's own.
    #[error(
        "griddb_sql_port reads and writes through griddb_port, where nobody can log in with authentication = \"certificate\": leave it away, or set \"certificate-or-password\""
    )]
    SqlByCertificate,
    /// A name is missing or too long.
    #[error("{key} must have 1 to {most} bytes")]
    Name {
        /// The setting.
        key: &'static str,
        /// The most bytes.
        most: usize,
    },
    /// An address of a member is none.
    #[error("join has `{address}`, which is not HOST:PORT of a node: {why}")]
    Join {
        /// What was given.
        address: String,
        /// What is wrong.
        why: String,
    },
    /// Two listeners have one port.
    #[error("{one} and {other} are both {port}: each needs its own port (0 picks a free one)")]
    SamePort {
        /// A setting.
        one: &'static str,
        /// Another.
        other: &'static str,
        /// The port.
        port: u16,
    },
}

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

/// Where the parts of TLS between nodes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) authority: PathBuf,
}

/// What clients' TLS is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientTlsFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) authority: Option<PathBuf>,
    /// What clients need a certificate for, if there is an authority.
    pub(crate) need: CertificateNeed,
    /// Whether clients have to speak it.
    pub(crate) is_required: bool,
}

/// How many cores a node may have.
pub(crate) const CORES: RangeInclusive<u64> = 1..=1024;
/// The replication factors that keyspaces may have.
const REPLICATION_FACTORS: RangeInclusive<u64> = 1..=7;
pub(crate) const SLOW_QUERY_THRESHOLDS_MS: RangeInclusive<u64> = 0..=3_600_000;
/// The longest name of a cluster, data centre or rack.
const NAME_BYTES_MAX: usize = 255;
/// The longest name of a namespace.
const NAMESPACE_BYTES_MAX: usize = 31;
const MEMORY_LIMIT_LEAST: Size = Size(64 << 20);
const SQL_SPILL_LIMIT: Size = Size(4 << 30);
/// The smallest capacity.
pub(crate) const CAPACITY_LEAST: Size = Size(256 << 20);

impl ConfigError {
    /// The settings whose values are wrong.
    pub(crate) fn keys(&self) -> Vec<&'static str> {
        match self {
            Self::Range { key, .. } | Self::TooSmall { key, .. } | Self::Name { key, .. } => vec![key],
            Self::Thresholds { warn, fail } => vec![warn, fail],
            Self::CapacityOfDevices => vec!["capacity", "devices"],
            Self::TooMuchMemory { .. } => vec!["memory_limit"],
            Self::Listen { .. } | Self::NoAddress => vec!["listen"],
            Self::Exposed { .. } => vec!["listen", "authentication", "insecure"],
            Self::Devices { .. } | Self::DeviceTwice { .. } => vec!["devices"],
            Self::Namespace(_) => vec!["aerospike_namespaces"],
            Self::PermissionsOfNobody => vec!["authorization", "authentication"],
            Self::CertificatesOfNobody { .. } => vec!["authentication", "tls_client_ca"],
            Self::CertificatesInPlain => vec!["authentication", "tls"],
            Self::PasswordOfNobody => vec!["superuser_password_file", "authentication"],
            Self::ReplacesNobody => vec!["replaces"],
            Self::PartOfTls { given, .. } => vec![given],
            Self::PartOfClientTls { given, .. } => vec![given],
            Self::Audit(error) => vec![error.key()],
            Self::TwoMasterKeys => vec!["encryption_key_file", "encryption_key_command"],
            Self::TlsWithoutCluster => vec!["node_certificate"],
            Self::SqlWithoutGridDb | Self::SqlByCertificate => vec!["griddb_sql_port"],
            Self::TlsPortWithoutCertificate { key } => vec![key],
            Self::TlsPortOfNobody => vec!["aerospike_tls_port"],
            Self::Join { .. } => vec!["join"],
            Self::SamePort { one, other, .. } => vec![one, other],
        }
    }
}

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
        config.check()?;
        let (whose, most) = match host.memory {
            Memory::OfMachine(bytes) => ("this machine", Size(bytes)),
            Memory::OfControlGroup(bytes) => ("the control group of this process", Size(bytes)),
        };
        if config.memory_limit > most {
            return Err(ConfigError::TooMuchMemory { value: config.memory_limit, whose, most });
        }
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

    fn check(&self) -> Result<(), ConfigError> {
        if let Some(cores) = self.cores {
            in_range("cores", cores.into(), CORES)?;
        }
        in_range("aerospike_replication_factor", self.aerospike_replication_factor.into(), REPLICATION_FACTORS)?;
        in_range("flush_interval_ms", self.flush_interval_ms, 1..=10_000)?;
        in_range("slow_query_threshold_ms", self.slow_query_threshold_ms.into(), SLOW_QUERY_THRESHOLDS_MS)?;
        in_range("scrub_interval_hours", self.scrub_interval_hours, 0..=8_760)?;
        in_range("migration_latency_ms", self.migration_latency_ms, 1..=1_000)?;
        in_range("connections_per_core", self.connections_per_core.into(), 1..=1_000_000)?;
        if let Some(limit) = self.guardrails.contradictory() {
            return Err(ConfigError::Thresholds { warn: limit.warn_setting(), fail: limit.fail_setting() });
        }
        at_least("memory_limit", self.memory_limit, MEMORY_LIMIT_LEAST)?;
        if let Some(capacity) = self.capacity {
            at_least("capacity", capacity, CAPACITY_LEAST)?;
        }
        if let Some(devices) = &self.devices {
            check_devices(devices, self.capacity)?;
        }
        check_namespaces(&self.aerospike_namespaces)?;
        if self.authentication == Authentication::None && self.authorization != Authorization::None {
            return Err(ConfigError::PermissionsOfNobody);
        }
        if self.authentication == Authentication::None && self.superuser_password_file.is_some() {
            return Err(ConfigError::PasswordOfNobody);
        }
        self.check_certificates()?;
        let mut ports =
            vec![("cql_port", self.cql_port), ("cql_shard_aware_port", self.cql_shard_aware_port), ("http_port", self.http_port)];
        if !self.aerospike_namespaces.is_empty() {
            ports.push(("aerospike_port", self.aerospike_port));
        }
        let tls_ports = [("cql_tls_port", self.cql_tls_port), ("aerospike_tls_port", self.aerospike_tls_port)];
        let tls_ports: Vec<_> = tls_ports.into_iter().filter_map(|(key, port)| Some((key, port?))).collect();
        if let (Some((key, _)), None) = (tls_ports.first(), &self.client_tls) {
            return Err(ConfigError::TlsPortWithoutCertificate { key });
        }
        if self.aerospike_tls_port.is_some() && self.aerospike_namespaces.is_empty() {
            return Err(ConfigError::TlsPortOfNobody);
        }
        ports.extend(tls_ports);
        ports.extend(self.griddb_port.map(|port| ("griddb_port", port)));
        ports.extend(self.griddb_sql_port.map(|port| ("griddb_sql_port", port)));
        if self.griddb_sql_port.is_some() && self.griddb_port.is_none() {
            return Err(ConfigError::SqlWithoutGridDb);
        }
        if self.griddb_sql_port.is_some() && self.authentication == Authentication::Certificate {
            return Err(ConfigError::SqlByCertificate);
        }
        ports.extend(self.node_port.map(|port| ("node_port", port)));
        if self.node_port.is_some() && self.listen.is_unspecified() {
            return Err(ConfigError::NoAddress);
        }
        if self.authentication == Authentication::None && !self.insecure && !is_loopback(self.listen) {
            return Err(ConfigError::Exposed { listen: self.listen });
        }
        if self.replaces.is_some() && self.join.is_empty() {
            return Err(ConfigError::ReplacesNobody);
        }
        if self.node_tls.is_some() && self.node_port.is_none() {
            return Err(ConfigError::TlsWithoutCluster);
        }
        for (key, name) in [("cluster_name", &self.cluster_name), ("data_center", &self.data_center), ("rack", &self.rack)] {
            if name.is_empty() || name.len() > NAME_BYTES_MAX {
                return Err(ConfigError::Name { key, most: NAME_BYTES_MAX });
            }
        }
        for (index, (one, port)) in ports.iter().copied().enumerate() {
            if let Some((other, _)) = ports[index + 1..].iter().find(|(_, other)| port != 0 && *other == port) {
                return Err(ConfigError::SamePort { one, other, port });
            }
        }
        Ok(())
    }
}

impl Config {
    fn check_certificates(&self) -> Result<(), ConfigError> {
        let authentication = match self.authentication {
            Authentication::None | Authentication::Password => return Ok(()),
            Authentication::Certificate => "certificate",
            Authentication::CertificateOrPassword => "certificate-or-password",
        };
        match &self.client_tls {
            Some(ClientTlsFiles { authority: None, .. }) | None => Err(ConfigError::CertificatesOfNobody { authentication }),
            Some(files) if !files.is_required && self.authentication == Authentication::Certificate => {
                Err(ConfigError::CertificatesInPlain)
            }
            Some(_) => Ok(()),
        }
    }
}

/// All three, or none.
fn tls_files(named: [(&'static str, Option<PathBuf>); 3]) -> Result<Option<TlsFiles>, ConfigError> {
    let of = |is_given| move |(name, path): &(&'static str, Option<PathBuf>)| (path.is_some() == is_given).then_some(*name);
    let (given, missing) = (named.iter().find_map(of(true)), named.iter().find_map(of(false)));
    if let (Some(given), Some(missing)) = (given, missing) {
        return Err(ConfigError::PartOfTls { given, missing });
    }
    let [certificate, key, authority] = named.map(|(_, path)| path);
    Ok(certificate.zip(key).zip(authority).map(|((certificate, key), authority)| TlsFiles { certificate, key, authority }))
}

/// A certificate and its key, or neither, nor what goes with them.
fn client_tls_files(
    [certificate, key]: [(&'static str, Option<PathBuf>); 2],
    authority: Option<PathBuf>,
    authentication: Authentication,
    tls: Option<Tls>,
) -> Result<Option<ClientTlsFiles>, ConfigError> {
    let others = [("tls_client_ca", authority.is_some()), ("tls", tls.is_some())];
    let given = [(certificate.0, certificate.1.is_some()), (key.0, key.1.is_some())].into_iter().chain(others).find(|(_, given)| *given);
    let Some((given, _)) = given else { return Ok(None) };
    let missing = |missing| ConfigError::PartOfClientTls { given, missing };
    let certificate_file = certificate.1.ok_or(missing(certificate.0))?;
    let key_file = key.1.ok_or(missing(key.0))?;
    let is_required = tls.unwrap_or(Tls::Required) == Tls::Required;
    Ok(Some(ClientTlsFiles {
        certificate: certificate_file,
        key: key_file,
        authority,
        need: match authentication {
            Authentication::None | Authentication::Password => CertificateNeed::ToConnect,
            Authentication::CertificateOrPassword => CertificateNeed::Optional,
            Authentication::Certificate => CertificateNeed::ToLogIn,
        },
        is_required,
    }))
}

/// The address of another node.
fn resolve(address: &str) -> Result<SocketAddr, ConfigError> {
    let unknown = |why: String| ConfigError::Join { address: address.to_owned(), why };
    let mut found = address.to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
    found.next().ok_or_else(|| unknown("the name has no address".to_owned()))
}

/// The address to listen on. Of a name that has several the same one is taken each time: IPv4 before IPv6, loopback before others, the least first.
fn resolve_own(name: &str) -> Result<IpAddr, ConfigError> {
    if let Ok(address) = name.parse() {
        return Ok(address);
    }
    let unknown = |why: String| ConfigError::Listen { name: name.to_owned(), why };
    let found = (name, 0).to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
    let mut found: Vec<IpAddr> = found.map(|address| address.ip()).collect();
    found.sort_by_key(|address| (address.is_ipv6(), !address.is_loopback(), *address));
    found.dedup();
    let taken = *found.first().ok_or_else(|| unknown("it has no address".to_owned()))?;
    tracing::info!(name, %taken, all = ?found, "listen is a name; this address of it is taken");
    Ok(taken)
}

/// Whether only this machine reaches it: 127.0.0.0/8, also written as an IPv6 address, and `::1`.
pub(crate) fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

fn check_namespaces(names: &[String]) -> Result<(), ConfigError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-$".contains(&byte);
    for (index, name) in names.iter().enumerate() {
        let is_name = (1..=NAMESPACE_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_plain);
        if !is_name || cql::system::is_system_keyspace(name) || names[..index].contains(name) {
            return Err(ConfigError::Namespace(name.clone()));
        }
    }
    Ok(())
}

fn in_range(key: &'static str, value: u64, range: RangeInclusive<u64>) -> Result<(), ConfigError> {
    let (least, most) = (*range.start(), *range.end());
    if range.contains(&value) { Ok(()) } else { Err(ConfigError::Range { key, value, least, most }) }
}

fn check_devices(devices: &[DeviceSpec], capacity: Option<Size>) -> Result<(), ConfigError> {
    if capacity.is_some() {
        return Err(ConfigError::CapacityOfDevices);
    }
    if devices.is_empty() || devices.len() > DEVICES_MAX {
        return Err(ConfigError::Devices { count: devices.len() });
    }
    let twice = devices.iter().enumerate().find(|(index, device)| devices[..*index].iter().any(|other| other.path == device.path));
    twice.map_or(Ok(()), |(_, device)| Err(ConfigError::DeviceTwice { path: device.path.clone() }))
}

fn at_least(key: &'static str, value: Size, least: Size) -> Result<(), ConfigError> {
    if value >= least { Ok(()) } else { Err(ConfigError::TooSmall { key, value, least }) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const HOST: Host = Host { memory: Memory::OfMachine(8 << 30) };

    #[test]
    fn without_settings_it_is_a_single_node_on_loopback() {
        let config = Config::new(Settings::default(), HOST).unwrap();
        assert_eq!(config.listen, IpAddr::V4(Ipv4Addr::LOCALHOST));
        assert_eq!((config.cql_port, config.cql_shard_aware_port, config.http_port), (9042, 19042, 8080));
        assert_eq!((config.aerospike_port, config.aerospike_namespaces), (3000, vec!["test".to_owned()]));
        assert_eq!(config.memory_limit, Size(4 << 30));
        assert_eq!((config.durability, config.flush_interval_ms), (Durability::Memory, 100));
    }

    #[test]
    fn clients_are_warned_before_they_are_refused() {
        let of = |text: &str| Config::new(Settings { guardrails: toml::from_str(text).unwrap(), ..Settings::default() }, HOST);
        of("page_size_warn_threshold = 5\npage_size_fail_threshold = 5").unwrap();
        let error = of("page_size_warn_threshold = 6\npage_size_fail_threshold = 5").unwrap_err();
        assert_eq!(error.to_string(), "page_size_warn_threshold must not be greater than page_size_fail_threshold");
        assert_eq!(error.keys(), ["page_size_warn_threshold", "page_size_fail_threshold"]);
    }

    #[test]
    fn a_name_to_listen_on_is_resolved_to_the_same_address_each_time() {
        let listen = |name: &str| Config::new(Settings { listen: Some(name.to_owned()), ..Settings::default() }, HOST);
        assert_eq!(listen("localhost").unwrap().listen, IpAddr::V4(Ipv4Addr::LOCALHOST));
        assert_eq!(listen("::1").unwrap().listen, IpAddr::V6(std::net::Ipv6Addr::LOCALHOST));
        let error = listen("no.such.name.invalid").unwrap_err().to_string();
        assert!(error.starts_with("listen is `no.such.name.invalid`, which is neither an IP address nor a name"), "{error}");
    }

    #[test]
    fn beyond_loopback_somebody_has_to_log_in_or_the_operator_says_otherwise() {
        let settings = |listen: &str| Settings { listen: Some(listen.to_owned()), ..Settings::default() };
        for listen in ["127.0.0.1", "127.77.0.3", "::1", "::ffff:127.0.0.1"] {
            Config::new(settings(listen), HOST).unwrap();
        }
        for listen in ["0.0.0.0", "::", "10.0.0.1", "192.0.2.1", "::ffff:10.0.0.1", "fe80::1"] {
            let error = Config::new(settings(listen), HOST).unwrap_err();
            assert!(matches!(error, ConfigError::Exposed { .. }), "{listen}: {error}");
            let no = Settings { insecure: Some(false), ..settings(listen) };
            assert!(matches!(Config::new(no, HOST), Err(ConfigError::Exposed { .. })), "{listen}");
            Config::new(Settings { insecure: Some(true), ..settings(listen) }, HOST).unwrap();
            Config::new(Settings { authentication: Some(Authentication::Password), ..settings(listen) }, HOST).unwrap();
        }
    }

    #[test]
    fn flags_go_before_the_file() {
        let flags = Settings { cql_port: Some(1), ..Settings::default() };
        let file = Settings { cql_port: Some(2), http_port: Some(3), ..Settings::default() };
        let config = Config::new(flags.or(file), HOST).unwrap();
        assert_eq!((config.cql_port, config.http_port), (1, 3));
    }

    #[test]
    fn values_outside_their_range_are_refused_with_the_range() {
        let refused = |settings| Config::new(settings, HOST).unwrap_err().to_string();
        let error = refused(Settings { cores: Some(0), ..Settings::default() });
        assert_eq!(error, "cores is 0, but must be from 1 to 1024");
        let error = refused(Settings { memory_limit: Some(Size(1 << 20)), ..Settings::default() });
        assert_eq!(error, "memory_limit is 1 MiB, but must be at least 64 MiB");
        let error = refused(Settings { memory_limit: Some(Size(9 << 30)), ..Settings::default() });
        assert_eq!(error, "memory_limit is 9 GiB, but this machine has 8 GiB: give the node less");
        let group = Host { memory: Memory::OfControlGroup(1 << 30) };
        let error = Config::new(Settings { memory_limit: Some(Size(2 << 30)), ..Settings::default() }, group).unwrap_err().to_string();
        assert_eq!(error, "memory_limit is 2 GiB, but the control group of this process has 1 GiB: give the node less");
        let error = refused(Settings { cql_port: Some(8080), ..Settings::default() });
        assert_eq!(error, "cql_port and http_port are both 8080: each needs its own port (0 picks a free one)");
        let namespaces = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        for names in [&["a b"][..], &["system"], &["a", "a"], &["a", ""], &["01234567890123456789012345678901"]] {
            let error = refused(Settings { aerospike_namespaces: namespaces(names), ..Settings::default() });
            assert!(error.starts_with("aerospike_namespaces has `"), "{error}");
        }
        let devices = |text: &str| Some(text.split(',').map(|device| device.parse().unwrap()).collect());
        let error = refused(Settings { devices: devices("/a,/b,/a=1GiB"), ..Settings::default() });
        assert_eq!(error, "devices lists /a twice");
        let error = refused(Settings { devices: devices("/a"), capacity: Some(Size(1 << 30)), ..Settings::default() });
        assert!(error.contains("leave capacity away"), "{error}");
        let file = || Some(PathBuf::from("file"));
        let error = refused(Settings { node_port: Some(1), node_key: file(), ..Settings::default() });
        assert_eq!(error, "node_key is given without node_certificate: TLS between nodes takes node_certificate, node_key and node_ca");
        let tls = Settings { node_certificate: file(), node_key: file(), node_ca: file(), ..Settings::default() };
        assert!(refused(tls.clone()).contains("switch clustering on"));
        assert!(Config::new(Settings { node_port: Some(7000), ..tls }, HOST).unwrap().node_tls.is_some());
        let error = refused(Settings { tls_key: file(), ..Settings::default() });
        assert_eq!(error, "tls_key is given without tls_certificate: TLS to clients takes tls_certificate and tls_key");
        assert!(refused(Settings { tls: Some(Tls::Optional), ..Settings::default() }).starts_with("tls is given without tls_certificate"));
        let tls = Settings { tls_certificate: file(), tls_key: file(), ..Settings::default() };
        assert!(Config::new(tls.clone(), HOST).unwrap().client_tls.unwrap().is_required, "who gives a certificate wants it used");
        let error = refused(Settings { cql_tls_port: Some(9142), ..Settings::default() });
        assert_eq!(error, "cql_tls_port is for clients that speak TLS: give tls_certificate and tls_key, too, or leave it away");
        let own_port = Settings { aerospike_tls_port: Some(4333), ..tls.clone() };
        assert!(Config::new(own_port.clone(), HOST).is_ok());
        assert!(
            refused(Settings { cql_port: Some(4333), ..own_port.clone() }).starts_with("cql_port and aerospike_tls_port are both 4333")
        );
        assert!(
            refused(Settings { aerospike_namespaces: namespaces(&[""]), ..own_port }).starts_with("aerospike_tls_port has nobody to serve")
        );
        let sql = Settings { griddb_port: Some(0), griddb_sql_port: Some(0), ..tls.clone() };
        assert!(Config::new(sql.clone(), HOST).is_ok(), "by TLS");
        let with_certificates = Settings { tls_client_ca: file(), ..sql };
        assert!(Config::new(with_certificates.clone(), HOST).is_ok(), "by its own certificate");
        let by_certificate = Settings { authentication: Some(Authentication::Certificate), ..with_certificates };
        assert!(refused(by_certificate).starts_with("griddb_sql_port reads and writes through griddb_port, where nobody can log in"));
        assert!(!Config::new(Settings { tls: Some(Tls::Optional), ..tls }, HOST).unwrap().client_tls.unwrap().is_required);
        Config::new(Settings { cql_port: Some(0), http_port: Some(0), ..Settings::default() }, HOST).unwrap();
        let off = Settings { aerospike_namespaces: namespaces(&[""]), http_port: Some(3000), ..Settings::default() };
        assert!(Config::new(off, HOST).unwrap().aerospike_namespaces.is_empty(), "without namespaces nobody listens");
        let with_login = || Settings { authentication: Some(Authentication::Password), ..Settings::default() };
        assert!(Config::new(with_login(), HOST).unwrap().aerospike_namespaces.is_empty(), "one port less, unless it is asked for");
        assert_eq!(Config::new(with_login(), HOST).unwrap().authorization, Authorization::Permissions);
        assert_eq!(Config::new(Settings::default(), HOST).unwrap().authorization, Authorization::None);
        let error = refused(Settings { authorization: Some(Authorization::Permissions), ..Settings::default() });
        assert!(error.contains("needs authentication = password"), "{error}");
        let error = refused(Settings { superuser_password_file: file(), ..Settings::default() });
        assert!(error.contains("needs authentication = password"), "{error}");
        let both = Settings { aerospike_namespaces: namespaces(&["test"]), ..with_login() };
        assert_eq!(Config::new(both, HOST).unwrap().aerospike_namespaces, ["test"]);
    }
}
