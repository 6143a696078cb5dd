//! An Aerospike server as a target.

use super::client::Client;
use super::session::{AerospikeSession, SessionSetup};
use super::{AerospikeSettings, PROTOCOL, check_namespace};
use crate::tables::{Table, Tables};
use crate::target::{Request, RowKey, RowVersion, ServerInfo, Session, Target, TargetError, WriteKind};
use crate::values::ValueMaker;
use crate::workload::{Clients, Keys, Mix, OperationKind, Rows, Values};
use ::aerospike::value::ParticleType;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most that the protocol's servers can be set up to store as one record.
const RECORD_BYTES_MAX: u64 = 8 << 20;
const FIELDS_MAX: u32 = 1_000;
/// How long a server may take to remove records in the background.
const TRUNCATION_S: u64 = 60;
const LOOK: Duration = Duration::from_millis(100);

/// An Aerospike server or cluster.
#[derive(Debug)]
pub struct AerospikeTarget {
    settings: AerospikeSettings,
    addresses: Vec<SocketAddr>,
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

impl AerospikeTarget {
    fn new(settings: AerospikeSettings, addresses: Vec<SocketAddr>) -> Self {
        Self { settings, addresses }
    }

    /// A connection to the first node, which has the namespace.
    fn client(&self) -> Result<Client, TargetError> {
        let mut client = Client::connect(self.addresses[0])?;
        let named = client.info(&["namespaces"])?.remove("namespaces").unwrap_or_default();
        check_namespace(&self.settings.namespace, &named)?;
        Ok(client)
    }

    fn setup(&self, rows: &Rows) -> SessionSetup {
        SessionSetup {
            namespace: self.settings.namespace.clone(),
            sets: rows.tables.each().map(|table| table.name(&self.settings.set)).collect(),
            key: match rows.keys {
                Keys::YcsbHashed | Keys::YcsbOrdered => ParticleType::String,
                Keys::Stress => ParticleType::Blob,
                Keys::Number => ParticleType::Integer,
            },
            value: if rows.values == Values::Text { ParticleType::String } else { ParticleType::Blob },
            fields: (0..rows.fields).map(|field| format!("field{field}")).collect(),
            values: ValueMaker::new(rows),
        }
    }
}

/// Servers that remove records in the background say how many there are left.
fn wait_until_empty(client: &mut Client, set: &str, until: Instant) -> Result<(), TargetError> {
    loop {
        let told = client.info(&[set])?.remove(set).unwrap_or_default();
        let left = told.trim_end_matches(';').split(':').find_map(|pair| pair.strip_prefix("objects="));
        if left.is_none_or(|left| left == "0") {
            return Ok(());
        }
        if Instant::now() > until {
            let message = format!("{} records are left after {TRUNCATION_S} s", left.unwrap_or_default());
            return Err(TargetError::Refused { what: "to truncate".to_owned(), kind: "timeout", message });
        }
        std::thread::sleep(LOOK);
    }
}

impl Target for AerospikeTarget {
    fn protocol(&self) -> &'static str {
        PROTOCOL
    }

    fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// One request at a time on each connection: as many connections as there are to be requests in flight.
    fn clients(&self, wanted: Clients) -> Clients {
        Clients { connections: wanted.connections.saturating_mul(wanted.in_flight), in_flight: 1, ..wanted }
    }

    fn check(&self) -> Result<ServerInfo, TargetError> {
        let mut told = self.client()?.info(&["version", "build", "edition", "node", "statistics"])?;
        let version = told.remove("version").unwrap_or_default();
        let build = told.remove("build").unwrap_or_default();
        let statistics = told.remove("statistics").unwrap_or_default();
        let size = statistics.split(';').find_map(|pair| pair.strip_prefix("cluster_size=")).and_then(|size| size.parse().ok());
        let mut details: BTreeMap<String, String> = told.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        let (product, version) = match version.strip_prefix("TarnDB ") {
            Some(version) => {
                details.insert("build".to_owned(), build);
                ("TarnDB", version.to_owned())
            }
            None => ("Aerospike", build),
        };
        Ok(ServerInfo { product: product.to_owned(), version, nodes: size.unwrap_or(1), details })
    }

    /// Sets and bins come into being when they are written. A cluster takes its time for each: a load into many sets would time out meanwhile.
    fn create(&self, rows: &Rows) -> Result<(), TargetError> {
        let mut client = self.client()?;
        if rows.tables == Tables::ONE {
            return Ok(());
        }
        let mut session = AerospikeSession::new(Arc::new(self.setup(rows)));
        let mut out = Vec::new();
        for number in 0..u64::from(rows.tables.count()) {
            let table = rows.tables.of_row(number);
            let key = rows.keys.spell(number);
            let key = RowKey { table, bytes: key.as_slice() };
            let row = RowVersion { number, key, version: 0 };
            let what = format!("set {}", table.name(&self.settings.set));
            out.clear();
            session.request(0, &Request::Write { row, field: None, kind: WriteKind::Insert, timestamp_us: 0 }, &mut out);
            client.request(&what, &out)?;
            out.clear();
            session.remove(key, &mut out);
            client.request(&what, &out)?;
        }
        Ok(())
    }

    fn drop_dataset(&self) -> Result<(), TargetError> {
        let AerospikeSettings { namespace, set: first, .. } = &self.settings;
        let mut client = self.client()?;
        let path = format!("sets/{namespace}");
        let told = client.info(&[&path])?.remove(&path).unwrap_or_default();
        let named = told.split([':', ';']).filter_map(|pair| pair.strip_prefix("set="));
        // The first one even if this node has none of its records.
        let sets: BTreeSet<&str> = named.filter(|set| Table::named(set, first).is_some()).chain([first.as_str()]).collect();
        for set in &sets {
            client.command(&format!("truncate:namespace={namespace};set={set}"))?;
        }
        let until = Instant::now() + Duration::from_secs(TRUNCATION_S);
        sets.iter().try_for_each(|set| wait_until_empty(&mut client, &format!("sets/{namespace}/{set}"), until))
    }

    fn sessions(&self, rows: &Rows, mix: &Mix, count: u32) -> Result<Vec<Box<dyn Session>>, TargetError> {
        let unsupported = |why| TargetError::Unsupported { protocol: PROTOCOL, why };
        if mix.operations.get(&OperationKind::Scan).is_some_and(|weight| *weight > 0.0) {
            return Err(unsupported("it has no scans that start at a key"));
        }
        if rows.fields == 0 || rows.fields > FIELDS_MAX {
            return Err(unsupported("a row has 1 to 1,000 fields"));
        }
        if u64::from(rows.fields) * u64::from(rows.field_bytes) > RECORD_BYTES_MAX {
            return Err(unsupported("a record has at most 8 MiB"));
        }
        let setup = Arc::new(self.setup(rows));
        Ok((0..count).map(|_| Box::new(AerospikeSession::new(Arc::clone(&setup))) as Box<dyn Session>).collect())
    }
}
