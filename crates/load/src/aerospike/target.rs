//! An Aerospike server as a target.

use super::client::{Client, ClientError};
use super::session::{AerospikeSession, SessionSetup};
use super::{AerospikeSettings, PROTOCOL, check_namespace, wire};
use crate::tables::{Table, Tables};
use crate::target::{Request, RowKey, RowVersion, ServerInfo, Session, Target, TargetError, WriteKind};
use crate::values::ValueMaker;
use crate::workload::{Clients, Keys, Mix, OperationKind, Rows, Values};
use ::aerospike::value::ParticleType;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most that the protocol's servers can be set up to store as one record.
const RECORD_BYTES_MAX: u64 = 8 << 20;
const FIELDS_MAX: u32 = 1_000;
/// How long a server may take to remove records in the background.
const TRUNCATION_S: u64 = 60;
const LOOK: Duration = Duration::from_millis(100);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const ANSWER_S: f64 = 10.0;

/// A connection to a node, for what is asked before the load.
struct Connection {
    address: SocketAddr,
    client: Client<TcpStream>,
}

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

impl Connection {
    fn to(address: SocketAddr) -> Result<Self, TargetError> {
        let connect = |source| TargetError::Connect { address, source };
        let socket = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).map_err(connect)?;
        socket.set_nodelay(true).map_err(connect)?;
        let answer = Some(Duration::from_secs_f64(ANSWER_S));
        socket.set_read_timeout(answer).and_then(|()| socket.set_write_timeout(answer)).map_err(connect)?;
        Ok(Self { address, client: Client::new(socket) })
    }

    /// Asks for values by name.
    fn info(&mut self, names: &[&str]) -> Result<BTreeMap<String, String>, TargetError> {
        self.client.info(names).map_err(|error| failed(self.address, error))
    }
}

/// As a failure of the target.
fn failed(address: SocketAddr, error: ClientError) -> TargetError {
    match error {
        ClientError::Io(source) if matches!(source.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            TargetError::Silent { address, seconds: ANSWER_S }
        }
        ClientError::Io(source) => TargetError::Broken { address, source },
        ClientError::Wire(error) => wire(error),
        ClientError::Refused { what, code } => TargetError::Refused { what: what.to_owned(), kind: code.name(), message: code.to_string() },
        ClientError::Command { command, answer } => TargetError::Refused { what: command, kind: "error", message: answer },
        ClientError::Login { code, .. } => TargetError::Credentials { message: code.to_string() },
        ClientError::Unexpected => TargetError::Protocol { protocol: PROTOCOL, what: error.into() },
    }
}

/// Sends a request about a record, that of `what`, and waits until it is carried out.
fn carry_out(connection: &mut Connection, what: &str, request: &[u8]) -> Result<(), TargetError> {
    let Connection { address, client } = connection;
    client.request("a record", request).map_err(|error| match failed(*address, error) {
        TargetError::Refused { kind, message, .. } => TargetError::Refused { what: what.to_owned(), kind, message },
        other => other,
    })
}

impl AerospikeTarget {
    fn new(settings: AerospikeSettings, addresses: Vec<SocketAddr>) -> Self {
        Self { settings, addresses }
    }

    /// A connection to the first node, which has the namespace.
    fn client(&self) -> Result<Connection, TargetError> {
        let mut client = Connection::to(self.addresses[0])?;
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
fn wait_until_empty(client: &mut Connection, set: &str, until: Instant) -> Result<(), TargetError> {
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
            let key = RowKey { number, table, bytes: key.as_slice() };
            let row = RowVersion { key, version: 0 };
            let what = format!("set {}", table.name(&self.settings.set));
            out.clear();
            session.request(0, &Request::Write { row, field: None, kind: WriteKind::Insert, timestamp_us: 0 }, &mut out);
            carry_out(&mut client, &what, &out)?;
            out.clear();
            session.remove(key, &mut out);
            carry_out(&mut client, &what, &out)?;
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
            let command = format!("truncate:namespace={namespace};set={set}");
            client.client.command(&command).map_err(|error| failed(client.address, error))?;
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
