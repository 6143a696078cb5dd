//! A CQL server as a target.

use super::CqlSettings;
use super::client::{Cell, Client, ClientError, Credentials};
use super::session::{CqlSession, SessionSetup};
use super::statements::Statements;
use super::topology::CqlTopology;
use crate::ring::{Cores, Routing, Topology};
use crate::tables::Table;
use crate::target::{CoreOf, Route, ServerInfo, Session, Target, TargetError};
use crate::values::ValueMaker;
use crate::workload::{Mix, Rows};
use ::cql::wire::ProtocolVersion;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// How long a node may take for what is asked before the load; making a table can take Cassandra seconds.
const ANSWER_S: f64 = 30.0;
const CONNECT_S: f64 = 5.0;
/// The same for what a load can do without.
pub(super) const ASK_S: f64 = 2.0;
/// A core has at least sixteen ports.
const CORES_MAX: u16 = 1_000;
/// Rows are one EXECUTE frame each; the protocol's own bound is 256 MiB.
const ROW_BYTES_MAX: u64 = 200 << 20;
const FIELDS_MAX: u32 = 1_000;
/// Statements are prepared on streams of their own, signed 16-bit numbers.
const STATEMENTS_MAX: usize = 1 << 15;

/// A CQL server or cluster.
#[derive(Clone, Debug)]
pub struct CqlTarget {
    settings: CqlSettings,
    version: ProtocolVersion,
    addresses: Vec<SocketAddr>,
}

impl CqlTarget {
    pub(super) fn new(settings: CqlSettings, version: ProtocolVersion, addresses: Vec<SocketAddr>) -> Self {
        Self { settings, version, addresses }
    }

    /// As it was set up.
    #[must_use]
    pub fn settings(&self) -> &CqlSettings {
        &self.settings
    }

    fn credentials(&self) -> Option<Credentials<'_>> {
        let user = self.settings.user.as_deref()?;
        Some(Credentials { user, password: self.settings.password.as_deref().unwrap_or_default() })
    }

    /// A blocking connection to the first node.
    fn client(&self) -> Result<(SocketAddr, Client<TcpStream>), TargetError> {
        let address = self.addresses[0];
        Ok((address, self.client_of(address, CONNECT_S, ANSWER_S)?))
    }

    pub(super) fn client_of(&self, address: SocketAddr, connect_s: f64, answer_s: f64) -> Result<Client<TcpStream>, TargetError> {
        let connect = |source| TargetError::Connect { address, source };
        let socket = TcpStream::connect_timeout(&address, Duration::from_secs_f64(connect_s)).map_err(connect)?;
        socket.set_nodelay(true).map_err(connect)?;
        let answer = Some(Duration::from_secs_f64(answer_s));
        socket.set_read_timeout(answer).and_then(|()| socket.set_write_timeout(answer)).map_err(connect)?;
        Client::start_as(socket, self.version, self.credentials()).map_err(|error| failed(address, "the connection", error))
    }

    /// The cores of a node that has several; none if it does not say so, or its port for them cannot be reached from here.
    pub(super) fn cores(&self, node: SocketAddr) -> Result<Option<Cores>, TargetError> {
        let options = self.client_of(node, ASK_S, ASK_S)?.options().map_err(|error| failed(node, "OPTIONS", error))?;
        let number = |name: &str| first(&options, name)?.parse::<u16>().ok();
        let count = number(SHARDS).filter(|cores| (2..=CORES_MAX).contains(cores));
        let port = number("SCYLLA_SHARD_AWARE_PORT");
        let reached =
            port.filter(|port| TcpStream::connect_timeout(&SocketAddr::new(node.ip(), *port), Duration::from_secs_f64(ASK_S)).is_ok());
        let ignored_bits = number("SCYLLA_SHARDING_IGNORE_MSB").unwrap_or(0).into();
        Ok(count.zip(reached).map(|(count, port)| Cores { port, count, ignored_bits }))
    }

    fn statements<'a>(&'a self, rows: &'a Rows) -> Statements<'a> {
        Statements { settings: &self.settings, rows }
    }
}

/// An option of SUPPORTED, as ScyllaDB and TarnDB have it: the number of cores.
const SHARDS: &str = "SCYLLA_NR_SHARDS";
/// The same, as TarnDB has it: its version.
const TARNDB: &str = "TARNDB_VERSION";

/// The first value of an option.
fn first<'a>(options: &'a [(String, Vec<String>)], name: &str) -> Option<&'a String> {
    options.iter().find(|(option, _)| option == name)?.1.first()
}

/// What went wrong with `what`, for a person.
pub(super) fn failed(address: SocketAddr, what: &str, error: ClientError) -> TargetError {
    match error {
        ClientError::Io(source) if matches!(source.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            TargetError::Silent { address, seconds: ANSWER_S }
        }
        ClientError::Io(source) => TargetError::Broken { address, source },
        ClientError::Refused { code: 0x0100, message, .. } => TargetError::Credentials { message },
        ClientError::Refused { kind, message, .. } => TargetError::Refused { what: what.to_owned(), kind, message },
        ClientError::NoCredentials => TargetError::Credentials { message: error.to_string() },
        ClientError::Wire(_) | ClientError::Unexpected { .. } => TargetError::Protocol { protocol: "cql", what: error.into() },
    }
}

pub(super) fn text(cell: Option<&Cell>) -> String {
    let bytes = cell.and_then(Option::as_deref).unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}

impl Target for CqlTarget {
    fn protocol(&self) -> &'static str {
        "cql"
    }

    fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The first core of each node, then the second of each, and so on.
    fn routes(&self) -> Vec<Route> {
        let nodes: Vec<_> = self.addresses.iter().map(|address| (*address, self.cores(*address).ok().flatten())).collect();
        let most = nodes.iter().filter_map(|(_, cores)| Some(cores.as_ref()?.count)).max().unwrap_or(1);
        let core = |round: u16, cores: Cores| CoreOf { port: cores.port, index: round % cores.count, of: cores.count };
        let nth =
            |round, (address, cores): &(SocketAddr, Option<Cores>)| Route { address: *address, core: cores.map(|all| core(round, all)) };
        (0..most).flat_map(|round| nodes.iter().map(move |node| nth(round, node))).collect()
    }

    fn topology(&self) -> Option<Box<dyn Topology>> {
        (self.settings.routing == Routing::Primary).then(|| Box::new(CqlTopology::new(self.clone())) as Box<dyn Topology>)
    }

    fn check(&self) -> Result<ServerInfo, TargetError> {
        const COLUMNS: [&str; 6] =
            ["release_version", "cluster_name", "data_center", "partitioner", "cql_version", "native_protocol_version"];
        let (address, mut client) = self.client()?;
        let options = client.options().map_err(|error| failed(address, "OPTIONS", error))?;
        let select = format!("SELECT {} FROM system.local", COLUMNS.join(", "));
        let local = client.rows(&select).map_err(|error| failed(address, &select, error))?;
        let peers = client.rows("SELECT peer FROM system.peers").map_err(|error| failed(address, "SELECT from system.peers", error))?;
        let row = local.first().map(Vec::as_slice).unwrap_or_default();
        let mut details: BTreeMap<String, String> =
            COLUMNS.iter().enumerate().skip(1).map(|(column, name)| ((*name).to_owned(), text(row.get(column)))).collect();
        let shards = first(&options, SHARDS);
        if let Some(shards) = shards {
            details.insert("shards".to_owned(), shards.clone());
        }
        // All three claim versions of Cassandra; what else they say tells them apart.
        let (product, version) = match (first(&options, TARNDB), shards) {
            (Some(version), _) => ("TarnDB", version.clone()),
            (None, Some(_)) => ("ScyllaDB", text(row.first())),
            (None, None) => ("Apache Cassandra", text(row.first())),
        };
        Ok(ServerInfo { product: product.to_owned(), version, nodes: 1 + peers.len() as u32, details })
    }

    fn create(&self, rows: &Rows) -> Result<(), TargetError> {
        let statements = self.statements(rows);
        let (address, mut client) = self.client()?;
        let tables = rows.tables.each().map(|table| statements.create_table(table));
        for statement in std::iter::once(statements.create_keyspace()).chain(tables) {
            client.query(&statement).map_err(|error| failed(address, &statement, error))?;
        }
        Ok(())
    }

    fn drop_dataset(&self) -> Result<(), TargetError> {
        let (address, mut client) = self.client()?;
        let select = Statements::tables(&self.settings);
        let names = client.rows(&select).map_err(|error| failed(address, &select, error))?;
        for table in names.iter().filter_map(|row| Table::named(&text(row.first()), &self.settings.table)) {
            let statement = Statements::drop_table(&self.settings, table);
            client.query(&statement).map_err(|error| failed(address, &statement, error))?;
        }
        Ok(())
    }

    fn sessions(&self, rows: &Rows, mix: &Mix, count: u32) -> Result<Vec<Box<dyn Session>>, TargetError> {
        let unsupported = |why| TargetError::Unsupported { protocol: "cql", why };
        if rows.fields == 0 || rows.fields > FIELDS_MAX {
            return Err(unsupported("a row has 1 to 1,000 fields"));
        }
        if u64::from(rows.fields) * u64::from(rows.field_bytes) > ROW_BYTES_MAX {
            return Err(unsupported("a row has at most 200 MiB"));
        }
        let statements = self.statements(rows).of(mix);
        if statements.len() > STATEMENTS_MAX {
            return Err(unsupported(
                "a connection prepares at most 32,768 statements: fewer tables, or fields that are updated one by one",
            ));
        }
        let setup = SessionSetup {
            version: self.version,
            consistency: self.settings.consistency.on_the_wire(),
            credentials: self.credentials().map(|credentials| (credentials.user.to_owned(), credentials.password.to_owned())),
            statements,
            tables: rows.tables,
            fields: rows.fields,
            values: Arc::new(ValueMaker::new(rows)),
        };
        let setup = Arc::new(setup);
        Ok((0..count).map(|_| Box::new(CqlSession::new(Arc::clone(&setup))) as Box<dyn Session>).collect())
    }
}
