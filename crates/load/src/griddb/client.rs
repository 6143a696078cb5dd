//! A connection that waits for its answers: who is there, the containers, and their rows.

use super::handshake::{Handshake, Identity, Stage};
use super::session::REPLY_BYTES_MAX;
use super::settings::GridDbSettings;
use super::{is_ipv6, refused, unexpected, wire};
use crate::target::TargetError;
use ::griddb::ContainerName;
use ::griddb::client;
use ::griddb::wire::{FrameHeader, Reader, ReplyBody};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const CONNECT_S: f64 = 5.0;
/// A cluster agrees on containers meanwhile.
const ANSWER_S: f64 = 30.0;
const HEADER_BYTES: usize = 20;
const HEADER_BYTES_V6: usize = 32;

/// A connection that has logged in.
pub struct Client {
    address: SocketAddr,
    socket: TcpStream,
    identity: Identity,
    last_id: i64,
    /// How many the server has.
    pub partitions: u32,
}

impl Client {
    /// Connects, and logs in as the settings say; in a database, or in that of who names none.
    ///
    /// # Errors
    /// When nobody answers, or does not let the client in.
    pub fn connect(address: SocketAddr, settings: &GridDbSettings, database: Option<&str>) -> Result<Self, TargetError> {
        let connect = |source| TargetError::Connect { address, source };
        let socket = TcpStream::connect_timeout(&address, Duration::from_secs_f64(CONNECT_S)).map_err(connect)?;
        socket.set_nodelay(true).map_err(connect)?;
        let answer = Some(Duration::from_secs_f64(ANSWER_S));
        socket.set_read_timeout(answer).and_then(|()| socket.set_write_timeout(answer)).map_err(connect)?;
        let identity = Identity::new(settings, is_ipv6(&address)).in_database(database);
        let mut client = Self { address, socket, identity, last_id: 0, partitions: 1 };
        let mut handshake = Handshake::new();
        while handshake.stage != Stage::Ready {
            let mut out = Vec::new();
            client.last_id += 1;
            handshake.ask(&client.identity, &[], client.last_id, &mut out);
            let body = client.exchange(&out)?;
            handshake.answered(ReplyBody::read(&body).map_err(wire)?, &[])?;
        }
        client.partitions = handshake.partitions;
        Ok(client)
    }

    /// The partition of a container.
    #[must_use]
    pub fn partition_of(&self, name: &ContainerName) -> i32 {
        client::partition_of(name, self.partitions)
    }

    /// Sends a statement about `what`, and has `read` read its results.
    ///
    /// # Errors
    /// When the server refuses it, or its answer cannot be read. After another error than [`TargetError::Refused`] nobody knows what comes next.
    pub fn ask<T>(
        &mut self,
        what: &str,
        (number, partition): (i32, i32),
        write: impl FnOnce(&mut Vec<u8>),
        read: impl FnOnce(&mut Reader<'_>) -> Result<T, ::griddb::GridError>,
    ) -> Result<T, TargetError> {
        self.last_id += 1;
        let mut out = Vec::new();
        self.identity.request(number, partition, self.last_id, &mut out, write);
        let body = self.exchange(&out)?;
        let reply = ReplyBody::read(&body).map_err(wire)?;
        if reply.id != self.last_id {
            return Err(unexpected("a reply to something else"));
        }
        let mut results = reply.outcome.map_err(|(_, error)| refused(what, &error))?;
        read(&mut results).map_err(wire)
    }

    /// A request and the body of its reply.
    fn exchange(&mut self, request: &[u8]) -> Result<Vec<u8>, TargetError> {
        self.socket.write_all(request).map_err(|error| self.broken(error))?;
        let is_ipv6 = self.identity.is_ipv6;
        let mut header = [0; HEADER_BYTES_V6];
        let header = &mut header[..if is_ipv6 { HEADER_BYTES_V6 } else { HEADER_BYTES }];
        self.read(header)?;
        let header = FrameHeader::read(header, is_ipv6, REPLY_BYTES_MAX).map_err(wire)?.expect("all of its bytes are there");
        let mut body = vec![0; header.body_bytes];
        self.read(&mut body)?;
        Ok(body)
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), TargetError> {
        self.socket.read_exact(bytes).map_err(|error| self.broken(error))
    }

    fn broken(&self, source: std::io::Error) -> TargetError {
        let address = self.address;
        match source.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => TargetError::Silent { address, seconds: ANSWER_S },
            _ => TargetError::Broken { address, source },
        }
    }
}
