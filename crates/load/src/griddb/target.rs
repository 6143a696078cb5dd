//! A GridDB server as a target.

use super::client::Client;
use super::format::RowFormat;
use super::handshake::Identity;
use super::session::{GridDbSession, REPLY_BYTES_MAX, SessionSetup};
use super::{GridDbSettings, PROTOCOL, is_ipv6};
use crate::tables::Table;
use crate::target::{ServerInfo, Session, Target, TargetError};
use crate::workload::{Clients, Mix, Rows};
use ::griddb::ContainerName;
use ::griddb::client;
use ::griddb::schema::Kind;
use ::griddb::wire::statement;
use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

const FIELDS_MAX: u32 = 1_000;
/// Of a batch, as rows have them: TarnDB answers with as many.
const BATCH_BYTES_MAX: u64 = REPLY_BYTES_MAX as u64 / 2;
/// Of a row beside its values.
const ROW_BYTES_MORE: u64 = 64;
/// As many as a connection may have in flight.
const BATCH_MAX: u32 = 16_384;

/// A GridDB server.
#[derive(Debug)]
pub struct GridDbTarget {
    settings: GridDbSettings,
    addresses: Vec<SocketAddr>,
    is_ipv6: bool,
}

impl GridDbSettings {
    /// The target. Resolves names, connects to nothing.
    ///
    /// # Errors
    /// [`TargetError::Address`], and [`TargetError::Unsupported`] for settings that make no sense.
    pub fn open(&self) -> Result<GridDbTarget, TargetError> {
        let unsupported = |why| TargetError::Unsupported { protocol: PROTOCOL, why };
        if !(1..=BATCH_MAX).contains(&self.batch) {
            return Err(unsupported("a batch has 1 to 16,384 rows"));
        }
        let mut addresses = Vec::new();
        for address in &self.addresses {
            let resolved = address.to_socket_addrs().map_err(|source| TargetError::Address { address: address.clone(), source })?;
            addresses.extend(resolved.take(1));
        }
        let first = addresses.first().ok_or(unsupported("no address is given"))?;
        let is_ipv6 = is_ipv6(first);
        if addresses.iter().any(|address| super::is_ipv6(address) != is_ipv6) {
            return Err(unsupported("addresses are all of IPv4 or all of IPv6, which frames differ in"));
        }
        Ok(GridDbTarget { settings: self.clone(), addresses, is_ipv6 })
    }
}

impl GridDbTarget {
    fn client(&self) -> Result<Client, TargetError> {
        Client::connect(self.addresses[0], &self.settings, None)
    }

    fn container(&self, table: Table) -> ContainerName {
        ContainerName::parse(&table.name(&self.settings.container))
    }

    /// The containers that this target makes, whenever that was.
    fn made(&self, client: &mut Client) -> Result<Vec<ContainerName>, TargetError> {
        let mut made = Vec::new();
        for partition in 0..client.partitions as i32 {
            let mut seen = 0;
            loop {
                let list = (statement::GET_PARTITION_CONTAINER_NAMES, partition);
                let (total, names) =
                    client.ask("names of containers", list, |out| client::list_containers(seen, out), client::read_names)?;
                seen += names.len();
                let is_last = names.is_empty() || seen as i64 >= total;
                made.extend(names.into_iter().filter(|name| Table::named(&name.to_string(), &self.settings.container).is_some()));
                if is_last {
                    break;
                }
            }
        }
        Ok(made)
    }
}

impl Target for GridDbTarget {
    fn protocol(&self) -> &'static str {
        PROTOCOL
    }

    fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// One request at a time on each connection: of all rows that the connection has in flight, or of one on as many connections as there are to be
    /// requests in flight.
    fn clients(&self, wanted: Clients) -> Clients {
        match self.settings.batch {
            1 => Clients { connections: wanted.connections.saturating_mul(wanted.in_flight), in_flight: 1, ..wanted },
            batch => Clients { in_flight: batch, ..wanted },
        }
    }

    fn batch(&self) -> u32 {
        self.settings.batch
    }

    fn check(&self) -> Result<ServerInfo, TargetError> {
        let mut client = self.client()?;
        let details = BTreeMap::from([("partitions".to_owned(), client.partitions.to_string())]);
        let nodes = self.addresses.len() as u32;
        // The protocol has no statement that tells who serves it: TarnDB has one of its own, which others do not know.
        let version = client.ask("its version", (statement::TARNDB_VERSION, 0), |_| {}, |results| results.string().map(str::to_owned));
        let (product, version) = match version {
            Ok(version) => ("TarnDB", version),
            Err(_) => ("GridDB", "of a version that it does not tell".to_owned()),
        };
        Ok(ServerInfo { product: product.to_owned(), version, nodes, details })
    }

    fn create(&self, rows: &Rows) -> Result<(), TargetError> {
        let format = RowFormat::new(rows);
        let mut client = self.client()?;
        for table in rows.tables.each() {
            let name = self.container(table);
            let place = (statement::PUT_CONTAINER, client.partition_of(&name));
            let write = |out: &mut Vec<u8>| client::put_container((&name, Kind::Collection), (&format.columns, 1), false, out);
            client.ask(&format!("to make container {name}"), place, write, |_| Ok(()))?;
        }
        Ok(())
    }

    fn drop_dataset(&self) -> Result<(), TargetError> {
        let mut client = self.client()?;
        for name in self.made(&mut client)? {
            let place = (statement::DROP_CONTAINER, client.partition_of(&name));
            let write = |out: &mut Vec<u8>| client::name_container(&name, Kind::Collection, out);
            client.ask(&format!("to drop container {name}"), place, write, |_| Ok(()))?;
        }
        Ok(())
    }

    fn sessions(&self, rows: &Rows, _mix: &Mix, count: u32) -> Result<Vec<Box<dyn Session>>, TargetError> {
        let unsupported = |why| TargetError::Unsupported { protocol: PROTOCOL, why };
        if rows.fields == 0 || rows.fields > FIELDS_MAX {
            return Err(unsupported("a row has 1 to 1,000 fields"));
        }
        let row_bytes = u64::from(rows.fields) * u64::from(rows.field_bytes) + ROW_BYTES_MORE;
        if row_bytes.saturating_mul(u64::from(self.settings.batch)) > BATCH_BYTES_MAX {
            return Err(unsupported("the rows of a request have at most 32 MiB: choose a smaller batch"));
        }
        let setup = SessionSetup {
            identity: Identity::new(&self.settings, self.is_ipv6),
            names: rows.tables.each().map(|table| self.container(table)).collect(),
            format: RowFormat::new(rows),
        };
        let setup = Arc::new(setup);
        Ok((0..count).map(|_| Box::new(GridDbSession::new(Arc::clone(&setup))) as Box<dyn Session>).collect())
    }
}
