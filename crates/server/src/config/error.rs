//! Why settings are no configuration, and which of them are to blame.

use crate::audit_settings::AuditSettingsError;
use crate::devices::DEVICES_MAX;
use crate::size::Size;
use std::net::IpAddr;
use std::path::PathBuf;

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
    #[error("{first} must not be greater than {second}")]
    Thresholds {
        /// A setting.
        first: &'static str,
        /// Another.
        second: &'static str,
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

impl ConfigError {
    /// The settings whose values are wrong.
    pub(crate) fn keys(&self) -> Vec<&'static str> {
        match self {
            Self::Range { key, .. } | Self::TooSmall { key, .. } | Self::Name { key, .. } => vec![key],
            Self::Thresholds { first, second } => vec![first, second],
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
