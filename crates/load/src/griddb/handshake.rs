//! From a new connection to one that can be asked for rows: each step is a statement and what its answer must say.
//!
//! ```text
//! CONNECT ─► LOGIN ─► GET_PARTITION_ADDRESS (how many partitions) ─► GET_CONTAINER, one after the other ─► ready
//! ```

use super::settings::GridDbSettings;
use super::{refused, unexpected, wire};
use crate::target::TargetError;
use ::griddb::client::{self, ContainerId, LoginArguments, Partitions};
use ::griddb::schema::Kind;
use ::griddb::wire::{ReplyBody, ReplyHeader, statement};
use ::griddb::{ContainerName, GridError};
use ring::digest::{SHA256, digest};

/// What the protocol's clients make of a password.
pub(super) fn password_digest(password: &str) -> String {
    use std::fmt::Write;
    let digest = digest(&SHA256, password.as_bytes());
    digest.as_ref().iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Who a connection is.
#[derive(Debug)]
pub(super) struct Identity {
    user: String,
    digest: String,
    cluster: String,
    /// That of who names none without.
    database: Option<String>,
    /// Whether frames have addresses of IPv6.
    pub(super) is_ipv6: bool,
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Connecting,
    LoggingIn,
    AskingForPartitions,
    /// Asks where the container of this number is.
    Finding(usize),
    Ready,
}

/// What the server has told.
#[derive(Debug)]
pub(super) struct Handshake {
    pub(super) stage: Stage,
    /// How many there are.
    pub(super) partitions: u32,
    /// By table.
    pub(super) places: Vec<Place>,
}

/// Where a container is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) container: ContainerId,
    pub(super) partition: i32,
}

impl Identity {
    pub(super) fn new(settings: &GridDbSettings, is_ipv6: bool) -> Self {
        let GridDbSettings { user, password, cluster, .. } = settings;
        Self { user: user.clone(), digest: password_digest(password), cluster: cluster.clone(), database: None, is_ipv6 }
    }

    /// The same in a database.
    pub(super) fn in_database(self, database: Option<&str>) -> Self {
        Self { database: database.map(str::to_owned), ..self }
    }

    /// Appends a statement.
    pub(super) fn request(&self, number: i32, partition: i32, id: i64, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        let header = ReplyHeader { statement: number, id, is_ipv6: self.is_ipv6, is_repeatable: false };
        header.write_request(partition, out, write);
    }
}

impl Handshake {
    pub(super) fn new() -> Self {
        Self { stage: Stage::Connecting, partitions: 1, places: Vec::new() }
    }

    /// Appends the statement of the stage that the connection is in.
    pub(super) fn ask(&self, identity: &Identity, names: &[ContainerName], id: i64, out: &mut Vec<u8>) {
        match self.stage {
            Stage::Connecting => identity.request(statement::CONNECT, 0, id, out, client::connect),
            Stage::LoggingIn => {
                let Identity { user, digest, cluster, database, .. } = identity;
                let arguments = LoginArguments { user, digest, cluster_name: cluster, database: database.as_deref() };
                identity.request(statement::LOGIN, 0, id, out, |out| client::log_in(&arguments, out));
            }
            Stage::AskingForPartitions => identity.request(statement::GET_PARTITION_ADDRESS, 0, id, out, client::find_master),
            Stage::Finding(table) => {
                let name = &names[table];
                let partition = client::partition_of(name, self.partitions);
                identity.request(statement::GET_CONTAINER, partition, id, out, |out| client::name_container(name, Kind::Collection, out));
            }
            Stage::Ready => {}
        }
    }

    /// Takes the answer to it.
    pub(super) fn answered(&mut self, reply: ReplyBody<'_>, names: &[ContainerName]) -> Result<(), TargetError> {
        let what = match self.stage {
            Stage::Finding(table) => format!("container {}", names[table]),
            _ => "the connection".to_owned(),
        };
        let mut results = reply.outcome.map_err(|(_, error)| refused(&what, &error))?;
        let finding = |table: usize| if table < names.len() { Stage::Finding(table) } else { Stage::Ready };
        self.stage = match self.stage {
            Stage::Connecting => {
                check_authentication(client::read_connected(&mut results).map_err(wire)?)?;
                Stage::LoggingIn
            }
            Stage::LoggingIn => Stage::AskingForPartitions,
            Stage::AskingForPartitions => {
                self.partitions = partitions(client::read_master(&mut results))?;
                finding(0)
            }
            Stage::Finding(table) => {
                let absent = || TargetError::Refused { what, kind: "no such container", message: "it was not made, or is gone".to_owned() };
                let container = client::read_container(&mut results).map_err(wire)?.ok_or_else(absent)?;
                self.places.push(Place { container, partition: client::partition_of(&names[table], self.partitions) });
                finding(table + 1)
            }
            Stage::Ready => return Err(unexpected("a reply to nothing")),
        };
        Ok(())
    }
}

fn check_authentication(mode: u8) -> Result<(), TargetError> {
    if mode == client::AUTHENTICATION_MODE {
        return Ok(());
    }
    let message = format!("it asks for authentication mode {mode}, a challenge; only the digest of a password can be sent from here");
    Err(TargetError::Credentials { message })
}

fn partitions(told: Result<Partitions, GridError>) -> Result<u32, TargetError> {
    let told = told.map_err(wire)?;
    if told.is_by_crc { Ok(told.count) } else { Err(unexpected("partitions follow from names by another hash than CRC-32")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_sent_as_its_digest() {
        assert_eq!(password_digest("admin"), "8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918");
    }

    #[test]
    fn a_challenge_is_refused_in_words() {
        assert!(check_authentication(0).is_ok());
        let refused = check_authentication(1).expect_err("nobody could answer it").to_string();
        assert!(refused.contains("mode 1") && refused.contains("does not let the client in"), "{refused}");
    }
}
