//! TLS on one connection.

use crate::clients::{ClientTls, Trust};
use crate::config::{Clock, Config};
use crate::error::LinkError;
use crate::identity::{ClientCertificate, IdentityKind};
use base::Now;
use rustls::pki_types::ServerName;
use rustls::{CipherSuite, ClientConnection, Connection, ProtocolVersion, ServerConnection};
use std::fmt;
use std::io::{BufRead, Write};
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A buffer that has grown beyond this is not kept.
const BUFFER_BYTES_MAX: usize = 512 << 10;

/// What the first byte of a record may be.
const RECORDS: RangeInclusive<u8> = 0x14..=0x17;

/// Both directions of one connection. An error ends it.
pub struct Session {
    connection: Connection,
    clock: Arc<Clock>,
    /// The first bytes that arrived, and how many: they tell what a peer speaks that does not speak TLS.
    begins: ([u8; 4], usize),
    /// Where what is to be sent is put together.
    plaintext: Vec<u8>,
}

impl Session {
    /// On a connection to `to`, which the peer's certificate must name. There is something to send at once.
    ///
    /// # Errors
    /// When the operating system gives no entropy.
    pub fn connecting(config: &Config, to: IpAddr) -> Result<Self, LinkError> {
        let connection = ClientConnection::new(Arc::clone(&config.client), ServerName::IpAddress(to.into()))?;
        Ok(Self::new(&config.clock, connection.into()))
    }

    /// On a connection that was accepted.
    ///
    /// # Errors
    /// When the operating system gives no entropy.
    pub fn accepted(config: &Config) -> Result<Self, LinkError> {
        let connection = ServerConnection::new(Arc::clone(&config.server))?;
        Ok(Self::new(&config.clock, connection.into()))
    }

    /// On a connection that a client has made.
    ///
    /// # Errors
    /// When the operating system gives no entropy.
    pub fn with_client(tls: &ClientTls) -> Result<Self, LinkError> {
        let connection = ServerConnection::new(tls.current())?;
        Ok(Self::new(&tls.clock, connection.into()))
    }

    /// On a connection that an operator has made: a certificate may be shown where there are authorities for clients', and is not asked for elsewhere.
    ///
    /// # Errors
    /// When the operating system gives no entropy.
    pub fn with_operator(tls: &ClientTls) -> Result<Self, LinkError> {
        let connection = ServerConnection::new(tls.for_operators())?;
        Ok(Self::new(&tls.clock, connection.into()))
    }

    /// On a connection that this very node has made, by [`Session::to_itself`]; whoever does not show its certificate is refused.
    ///
    /// # Errors
    /// When the operating system gives no entropy.
    pub fn with_itself(tls: &ClientTls) -> Result<Self, LinkError> {
        let connection = ServerConnection::new(tls.with_itself())?;
        Ok(Self::new(&tls.clock, connection.into()))
    }

    /// On a connection to a node, whose certificate must be for `name`, a DNS name or an IP address. There is something to send at once.
    ///
    /// # Errors
    /// When it is no such name, or the operating system gives no entropy.
    pub fn to_server(trust: &Trust, name: &str) -> Result<Self, LinkError> {
        let name = ServerName::try_from(name.to_owned()).map_err(|error| LinkError::Certificate { why: format!("`{name}`: {error}") })?;
        let connection = ClientConnection::new(Arc::clone(&trust.client), name)?;
        Ok(Self::new(&trust.clock, connection.into()))
    }

    /// On a connection of the node to its own port for clients: the other end is [`Session::with_itself`]. There is something to send at once.
    ///
    /// # Errors
    /// When the operating system gives no entropy.
    pub fn to_itself(tls: &ClientTls) -> Result<Self, LinkError> {
        // The name is not looked at.
        let connection = ClientConnection::new(tls.to_itself(), ServerName::IpAddress(IpAddr::from([127, 0, 0, 1]).into()))?;
        Ok(Self::new(&tls.clock, connection.into()))
    }

    fn new(clock: &Arc<Clock>, mut connection: Connection) -> Self {
        // What is sent before the handshake is over is kept; nobody sends more than a hello then.
        connection.set_buffer_limit(None);
        Self { connection, clock: Arc::clone(clock), begins: ([0; 4], 0), plaintext: Vec::new() }
    }

    /// Whether both sides have not agreed yet.
    #[must_use]
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Whether the client has shown a certificate, once the handshake is over.
    #[must_use]
    pub fn has_client_certificate(&self) -> bool {
        self.connection.peer_certificates().is_some()
    }

    /// The version of TLS and the cipher suite that both sides have agreed on, once the handshake is over: by the names of OpenSSL and of IANA.
    #[must_use]
    pub fn agreed(&self) -> Option<(&'static str, &'static str)> {
        let version = match self.connection.protocol_version()? {
            ProtocolVersion::TLSv1_2 => "TLSv1.2",
            ProtocolVersion::TLSv1_3 => "TLSv1.3",
            _ => return None,
        };
        let suite = match self.connection.negotiated_cipher_suite()?.suite() {
            CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
            CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
            CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
            suite => suite.as_str()?,
        };
        Some((version, suite))
    }

    /// What the client has shown of itself, once the handshake is over.
    #[must_use]
    pub fn client_certificate(&self, kind: IdentityKind) -> ClientCertificate {
        ClientCertificate::new(self.connection.peer_certificates(), kind)
    }

    /// Takes bytes that have arrived; gives what they say, piece by piece.
    ///
    /// # Errors
    /// When the peer is not who it should be, or speaks no TLS. What [`Session::take_output`] then gives tells it so.
    pub fn receive(&mut self, now: Now, mut bytes: &[u8], mut said: impl FnMut(&[u8])) -> Result<(), LinkError> {
        let (begins, seen) = &mut self.begins;
        let more = bytes.len().min(begins.len() - *seen);
        begins[*seen..*seen + more].copy_from_slice(&bytes[..more]);
        *seen += more;
        if *seen > 0 && !RECORDS.contains(&begins[0]) {
            return if *seen == begins.len() { Err(LinkError::NoTls { begins: *begins }) } else { Ok(()) };
        }
        if self.connection.is_handshaking() {
            self.clock.set(now);
        }
        while !bytes.is_empty() {
            // Plaintext is taken at once, so there is room.
            let taken = self.connection.read_tls(&mut bytes);
            assert!(matches!(taken, Ok(1..)));
            let state = self.connection.process_new_packets()?;
            let mut reader = self.connection.reader();
            while let Ok(plaintext @ [_, ..]) = reader.fill_buf() {
                said(plaintext);
                let taken = plaintext.len();
                reader.consume(taken);
            }
            if state.peer_has_closed() || taken.is_err() {
                return Err(LinkError::Closed);
            }
        }
        Ok(())
    }

    /// Encrypts what `write` appends.
    pub fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut plaintext = std::mem::take(&mut self.plaintext);
        write(&mut plaintext);
        self.send_bytes(&plaintext);
        if plaintext.capacity() <= BUFFER_BYTES_MAX {
            plaintext.clear();
            self.plaintext = plaintext;
        }
    }

    /// Encrypts these bytes.
    pub fn send_bytes(&mut self, plaintext: &[u8]) {
        // Without a limit all is taken.
        let taken = self.connection.writer().write_all(plaintext);
        assert!(taken.is_ok());
    }

    /// Says that nothing more comes.
    pub fn close(&mut self) {
        self.connection.send_close_notify();
    }

    /// Whether there are bytes for the peer.
    #[must_use]
    pub fn has_output(&self) -> bool {
        self.connection.wants_write()
    }

    /// Appends the bytes for the peer.
    pub fn take_output(&mut self, out: &mut Vec<u8>) {
        while self.connection.wants_write() && matches!(self.connection.write_tls(out), Ok(1..)) {}
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("is_handshaking", &self.is_handshaking()).finish_non_exhaustive()
    }
}
