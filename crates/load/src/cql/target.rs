//! A CQL server as a target.

use super::CqlSettings;
use super::access::{Access, SHARDS, failed, first, text};
use super::session::{CqlSession, SessionSetup};
use super::statements::Statements;
use super::topology::CqlTopology;
use crate::ring::{Cores, Routing};
use crate::tables::Table;
use crate::target::{CoreOf, Route, ServerInfo, Session, Target, TargetError, Topology};
use crate::tls::access::TlsAccess;
use crate::tls::session::TlsSession;
use crate::values::ValueMaker;
use crate::workload::{Mix, Rows};
use ::cql::wire::ProtocolVersion;
use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

/// Rows are one EXECUTE frame each; the protocol's own bound is 256 MiB.
const ROW_BYTES_MAX: u64 = 200 << 20;
const FIELDS_MAX: u32 = 1_000;
/// Statements are prepared on streams of their own, signed 16-bit numbers.
const STATEMENTS_MAX: usize = 1 << 15;

/// A CQL server or cluster.
#[derive(Clone, Debug)]
pub struct CqlTarget {
    access: Access,
}

impl CqlSettings {
    /// The target. Resolves names, connects to nothing.
    ///
    /// # Errors
    /// [`TargetError::Address`], [`TargetError::Tls`], and [`TargetError::Unsupported`] for settings that make no sense.
    pub fn open(&self) -> Result<CqlTarget, TargetError> {
        let unsupported = |why| TargetError::Unsupported { protocol: "cql", why };
        let version = ProtocolVersion::from_number(self.protocol_version).ok_or(unsupported("protocol versions are 3, 4 and 5"))?;
        if self.addresses.is_empty() {
            return Err(unsupported("no address is given"));
        }
        let mut addresses = Vec::new();
        for address in &self.addresses {
            let resolved = address.to_socket_addrs().map_err(|source| TargetError::Address { address: address.clone(), source })?;
            addresses.extend(resolved.take(1));
        }
        let tls = self.tls_ca.as_deref().map(|path| TlsAccess::read(path, &self.addresses[0])).transpose()?;
        Ok(CqlTarget { access: Access { settings: self.clone(), version, addresses, tls: tls.map(Arc::new) } })
    }
}

impl CqlTarget {
    /// As it was set up.
    #[must_use]
    pub fn settings(&self) -> &CqlSettings {
        &self.access.settings
    }

    fn statements<'a>(&'a self, rows: &'a Rows) -> Statements<'a> {
        Statements { settings: &self.access.settings, rows }
    }
}

/// The same, as TarnDB has it: its version.
const TARNDB: &str = "TARNDB_VERSION";

impl Target for CqlTarget {
    fn protocol(&self) -> &'static str {
        "cql"
    }

    fn addresses(&self) -> &[SocketAddr] {
        &self.access.addresses
    }

    /// The first core of each node, then the second of each, and so on.
    fn routes(&self) -> Vec<Route> {
        let nodes: Vec<_> = self.access.addresses.iter().map(|address| (*address, self.access.cores(*address).ok().flatten())).collect();
        let most = nodes.iter().filter_map(|(_, cores)| Some(cores.as_ref()?.count)).max().unwrap_or(1);
        let core = |round: u16, cores: Cores| CoreOf { port: cores.port, index: round % cores.count, of: cores.count };
        let nth =
            |round, (address, cores): &(SocketAddr, Option<Cores>)| Route { address: *address, core: cores.map(|all| core(round, all)) };
        (0..most).flat_map(|round| nodes.iter().map(move |node| nth(round, node))).collect()
    }

    fn topology(&self) -> Option<Box<dyn Topology>> {
        (self.access.settings.routing == Routing::Primary).then(|| Box::new(CqlTopology::new(self.access.clone())) as Box<dyn Topology>)
    }

    fn check(&self) -> Result<ServerInfo, TargetError> {
        const COLUMNS: [&str; 6] =
            ["release_version", "cluster_name", "data_center", "partitioner", "cql_version", "native_protocol_version"];
        let (address, mut client) = self.access.client()?;
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
        let (address, mut client) = self.access.client()?;
        for statement in self.statements(rows).schema() {
            client.query(&statement).map_err(|error| failed(address, &statement, error))?;
        }
        Ok(())
    }

    fn drop_dataset(&self) -> Result<(), TargetError> {
        let (address, mut client) = self.access.client()?;
        let select = Statements::tables(&self.access.settings);
        let names = client.rows(&select).map_err(|error| failed(address, &select, error))?;
        for table in names.iter().filter_map(|row| Table::named(&text(row.first()), &self.access.settings.table)) {
            let statement = Statements::drop_table(&self.access.settings, table);
            client.query(&statement).map_err(|error| failed(address, &statement, error))?;
        }
        Ok(())
    }

    fn reads_all_fields(&self) -> bool {
        self.access.settings.own.read.is_none()
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
            version: self.access.version,
            consistency: self.access.settings.consistency.on_the_wire(),
            credentials: self.access.credentials().map(|credentials| (credentials.user.to_owned(), credentials.password.to_owned())),
            statements,
            tables: rows.tables,
            values: Arc::new(ValueMaker::new(rows)),
        };
        let setup = Arc::new(setup);
        let session = |_| -> Box<dyn Session> {
            let session = Box::new(CqlSession::new(Arc::clone(&setup)));
            match &self.access.tls {
                None => session,
                Some(access) => Box::new(TlsSession::new(session, Arc::clone(access))),
            }
        };
        Ok((0..count).map(session).collect())
    }
}
