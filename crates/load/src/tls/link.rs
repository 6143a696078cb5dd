//! A connection that waits: STARTUP, schema, questions before the load.

use super::access::{TlsAccess, now};
use crate::transport::Transport;
use std::io::{Error, ErrorKind, Read, Write};
use std::net::TcpStream;
use tls::LinkError;

const READ_BYTES: usize = 16 << 10;

/// A connection that waits, plain or by TLS.
pub(crate) struct Link {
    socket: TcpStream,
    tls: Option<tls::Session>,
    records: Vec<u8>,
}

impl Link {
    pub(crate) fn new(socket: TcpStream, access: Option<&TlsAccess>) -> Result<Self, LinkError> {
        Ok(Self { socket, tls: access.map(TlsAccess::session).transpose()?, records: Vec::new() })
    }

    fn send_records(&mut self) -> std::io::Result<()> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        self.records.clear();
        tls.take_output(&mut self.records);
        self.socket.write_all(&self.records)
    }
}

impl Transport for Link {
    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match &mut self.tls {
            None => self.socket.write_all(bytes),
            Some(tls) => {
                tls.send_bytes(bytes);
                self.send_records()
            }
        }
    }

    fn receive(&mut self, bytes: &mut Vec<u8>) -> std::io::Result<()> {
        let mut buffer = [0; READ_BYTES];
        let before = bytes.len();
        while bytes.len() == before {
            let Some(tls) = &mut self.tls else { return self.socket.receive(bytes) };
            let count = self.socket.read(&mut buffer)?;
            if count == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            let outcome = tls.receive(now(), &buffer[..count], |said| bytes.extend_from_slice(said));
            self.send_records()?;
            outcome.map_err(Error::other)?;
        }
        Ok(())
    }
}
