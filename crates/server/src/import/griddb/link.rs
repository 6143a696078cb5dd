//! How a side is connected to, and a connection that is made again when it has failed.

use super::super::error::{ImportError, Side};
use crate::endpoint::{Endpoint, first_of, resolve};
use griddb::wire::Reader;
use griddb::{ContainerName, GridError, PUBLIC_DATABASE};
use load::griddb::GridDbSettings;
use load::griddb::client::Client;
use load::target::TargetError;

/// What a server says of a database that it does not have.
const NO_DATABASE: &str = "TXN_DATABASE_NOT_EXIST";

/// A side.
pub(super) struct Connector {
    endpoint: Endpoint,
    side: Side,
    settings: GridDbSettings,
    database: String,
}

/// One job's connection to it.
pub(super) struct Link<'a> {
    connector: &'a Connector,
    /// Which of the addresses is asked first.
    number: usize,
    client: Option<Client>,
}

impl Connector {
    pub(super) fn new(endpoint: Endpoint, side: Side, database: &str) -> Self {
        let mut settings = GridDbSettings { cluster: endpoint.cluster().to_owned(), ..GridDbSettings::default() };
        if let Some((user, password)) = endpoint.login() {
            (settings.user, settings.password) = (user.to_owned(), password.to_owned());
        }
        Self { endpoint, side, settings, database: database.to_owned() }
    }

    fn failed(&self, error: TargetError) -> ImportError {
        match error {
            TargetError::Refused { kind: NO_DATABASE, .. } => ImportError::NoDatabase { side: self.side, database: self.database.clone() },
            error => ImportError::GridDb { side: self.side, error },
        }
    }

    /// To the first address that answers, from the one with this number on.
    fn connect(&self, number: usize) -> Result<Client, TargetError> {
        let database = (self.database != PUBLIC_DATABASE).then_some(&*self.database);
        self.endpoint.first(number, |address| {
            let resolved = resolve(address).map_err(|source| TargetError::Address { address: address.to_owned(), source })?;
            first_of(&resolved, 0, |resolved| Client::connect(*resolved, &self.settings, database))
        })
    }
}

impl<'a> Link<'a> {
    pub(super) fn new(connector: &'a Connector, number: usize) -> Self {
        Self { connector, number, client: None }
    }

    /// How many partitions the side has.
    pub(super) fn partitions(&mut self) -> Result<i32, ImportError> {
        self.with(|client| Ok(client.partitions as i32))
    }

    /// Sends a statement about what a container of this name has, or may have.
    pub(super) fn ask<T>(
        &mut self,
        what: &str,
        (number, name): (i32, &ContainerName),
        write: impl FnOnce(&mut Vec<u8>),
        read: impl FnOnce(&mut Reader<'_>) -> Result<T, GridError>,
    ) -> Result<T, ImportError> {
        self.with(|client| {
            let partition = client.partition_of(name);
            client.ask(&format!("{what} {name}"), (number, partition), write, read)
        })
    }

    /// Sends a statement about a partition.
    pub(super) fn ask_partition<T>(
        &mut self,
        what: &str,
        place: (i32, i32),
        write: impl FnOnce(&mut Vec<u8>),
        read: impl FnOnce(&mut Reader<'_>) -> Result<T, GridError>,
    ) -> Result<T, ImportError> {
        self.with(|client| client.ask(what, place, write, read))
    }

    /// After anything but a refusal nobody knows what comes next: the connection is left.
    fn with<T>(&mut self, work: impl FnOnce(&mut Client) -> Result<T, TargetError>) -> Result<T, ImportError> {
        let connector = self.connector;
        let connected = self.client.take().map_or_else(|| connector.connect(self.number), Ok);
        let mut client = connected.map_err(|error| connector.failed(error))?;
        let done = work(&mut client);
        if matches!(done, Ok(_) | Err(TargetError::Refused { .. })) {
            self.client = Some(client);
        }
        done.map_err(|error| connector.failed(error))
    }
}
