//! What must hold of a configuration: ranges, and settings that need or exclude each other. The first that is wrong is told.

use super::addresses::is_loopback;
use super::error::ConfigError;
use super::tls::ClientTlsFiles;
use super::{CAPACITY_LEAST, CORES, Config, MEMORY_LIMIT_LEAST, SLOW_QUERY_THRESHOLDS_MS};
use crate::devices::{DEVICES_MAX, DeviceSpec};
use crate::settings::{Authentication, Authorization};
use crate::size::Size;
use io_linux::Memory;
use std::ops::RangeInclusive;

/// The replication factors that keyspaces may have.
const REPLICATION_FACTORS: RangeInclusive<u64> = 1..=7;
/// The longest name of a cluster, data centre or rack.
const NAME_BYTES_MAX: usize = 255;
/// The longest name of a namespace.
const NAMESPACE_BYTES_MAX: usize = 31;

impl Config {
    pub(super) fn check(&self, memory: Memory) -> Result<(), ConfigError> {
        self.check_ranges()?;
        self.check_storage()?;
        check_namespaces(&self.aerospike_namespaces)?;
        self.check_logins()?;
        self.check_optional_ports()?;
        self.check_cluster()?;
        self.check_names()?;
        self.check_ports_differ()?;
        self.check_memory(memory)
    }

    fn check_ranges(&self) -> Result<(), ConfigError> {
        if let Some(cores) = self.cores {
            in_range("cores", cores.into(), CORES)?;
        }
        in_range("aerospike_replication_factor", self.aerospike_replication_factor.into(), REPLICATION_FACTORS)?;
        in_range("flush_interval_ms", self.flush_interval_ms, 1..=10_000)?;
        in_range("slow_query_threshold_ms", self.slow_query_threshold_ms.into(), SLOW_QUERY_THRESHOLDS_MS)?;
        in_range("scrub_interval_hours", self.scrub_interval_hours, 0..=8_760)?;
        in_range("migration_latency_ms", self.migration_latency_ms, 1..=1_000)?;
        in_range("connections_per_core", self.connections_per_core.into(), 1..=1_000_000)?;
        match self.guardrails.contradictory() {
            Some([first, second]) => Err(ConfigError::Thresholds { first: first.name(), second: second.name() }),
            None => Ok(()),
        }
    }

    fn check_storage(&self) -> Result<(), ConfigError> {
        at_least("memory_limit", self.memory_limit, MEMORY_LIMIT_LEAST)?;
        if let Some(capacity) = self.capacity {
            at_least("capacity", capacity, CAPACITY_LEAST)?;
        }
        self.devices.as_ref().map_or(Ok(()), |devices| check_devices(devices, self.capacity))
    }

    /// Without logins nothing is about roles; certificates that log in have to be verified.
    fn check_logins(&self) -> Result<(), ConfigError> {
        if self.authentication == Authentication::None && self.authorization != Authorization::None {
            return Err(ConfigError::PermissionsOfNobody);
        }
        if self.authentication == Authentication::None && self.superuser_password_file.is_some() {
            return Err(ConfigError::PasswordOfNobody);
        }
        self.check_certificates()
    }

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

    /// What ports need that nobody has to open.
    fn check_optional_ports(&self) -> Result<(), ConfigError> {
        if let (Some((key, _)), None) = (self.tls_ports().next(), &self.client_tls) {
            return Err(ConfigError::TlsPortWithoutCertificate { key });
        }
        if self.aerospike_tls_port.is_some() && self.aerospike_namespaces.is_empty() {
            return Err(ConfigError::TlsPortOfNobody);
        }
        if self.griddb_sql_port.is_some() && self.griddb_port.is_none() {
            return Err(ConfigError::SqlWithoutGridDb);
        }
        if self.griddb_sql_port.is_some() && self.authentication == Authentication::Certificate {
            return Err(ConfigError::SqlByCertificate);
        }
        Ok(())
    }

    /// Who reaches the node, and how it is one of a cluster.
    fn check_cluster(&self) -> Result<(), ConfigError> {
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
        Ok(())
    }

    fn check_names(&self) -> Result<(), ConfigError> {
        for (key, name) in [("cluster_name", &self.cluster_name), ("data_center", &self.data_center), ("rack", &self.rack)] {
            if name.is_empty() || name.len() > NAME_BYTES_MAX {
                return Err(ConfigError::Name { key, most: NAME_BYTES_MAX });
            }
        }
        Ok(())
    }

    fn check_ports_differ(&self) -> Result<(), ConfigError> {
        let ports = self.ports();
        for (index, (one, port)) in ports.iter().copied().enumerate() {
            if let Some((other, _)) = ports[index + 1..].iter().find(|(_, other)| port != 0 && *other == port) {
                return Err(ConfigError::SamePort { one, other, port });
            }
        }
        Ok(())
    }

    /// Every port that somebody listens on, with its setting.
    fn ports(&self) -> Vec<(&'static str, u16)> {
        let mut ports =
            vec![("cql_port", self.cql_port), ("cql_shard_aware_port", self.cql_shard_aware_port), ("http_port", self.http_port)];
        if !self.aerospike_namespaces.is_empty() {
            ports.push(("aerospike_port", self.aerospike_port));
        }
        ports.extend(self.tls_ports());
        ports.extend(self.griddb_port.map(|port| ("griddb_port", port)));
        ports.extend(self.griddb_sql_port.map(|port| ("griddb_sql_port", port)));
        ports.extend(self.node_port.map(|port| ("node_port", port)));
        ports
    }

    fn tls_ports(&self) -> impl Iterator<Item = (&'static str, u16)> {
        let ports = [("cql_tls_port", self.cql_tls_port), ("aerospike_tls_port", self.aerospike_tls_port)];
        ports.into_iter().filter_map(|(key, port)| Some((key, port?)))
    }

    fn check_memory(&self, memory: Memory) -> Result<(), ConfigError> {
        let (whose, most) = match memory {
            Memory::OfMachine(bytes) => ("this machine", Size(bytes)),
            Memory::OfControlGroup(bytes) => ("the control group of this process", Size(bytes)),
        };
        if self.memory_limit > most {
            return Err(ConfigError::TooMuchMemory { value: self.memory_limit, whose, most });
        }
        Ok(())
    }
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
