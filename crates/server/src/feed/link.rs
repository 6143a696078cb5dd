//! A connection to a port of CQL or of Aerospike's protocol, plain or by TLS.

use crate::tls_stream::TlsStream;
use ::node::Representation;
use load::transport::Transport;
use std::io::{Error, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use tls::Session;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longer than a server takes to give up.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
const READ_BYTES: usize = 64 << 10;

/// A connection.
pub(crate) struct Link {
    /// Whom it is for, if that is somebody else: known until it is closed.
    _client: Option<Representation>,
    stream: Arc<TcpStream>,
    tls: Option<TlsStream<Arc<TcpStream>>>,
    buffer: Vec<u8>,
}

impl Link {
    /// Connects; with a session, by TLS.
    pub(crate) fn connect(address: SocketAddr, session: Option<Session>) -> std::io::Result<Self> {
        Self::over(TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)?, session, None)
    }

    /// Over a connection that is there.
    pub(crate) fn over(stream: TcpStream, session: Option<Session>, client: Option<Representation>) -> std::io::Result<Self> {
        let stream = Arc::new(stream);
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
        let tls = session.map(|session| TlsStream::new(Arc::clone(&stream), session, None));
        Ok(Self { _client: client, stream, tls, buffer: vec![0; READ_BYTES] })
    }
}

impl Transport for Link {
    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match &mut self.tls {
            None => (&*self.stream).write_all(bytes),
            Some(tls) => tls.write_all(bytes).and_then(|()| tls.flush()),
        }
    }

    fn receive(&mut self, bytes: &mut Vec<u8>) -> std::io::Result<()> {
        let read = match &mut self.tls {
            None => (&*self.stream).read(&mut self.buffer),
            Some(tls) => tls.read(&mut self.buffer),
        };
        let count = read.map_err(|error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                Error::new(ErrorKind::TimedOut, format!("no answer in {} s", ANSWER_TIMEOUT.as_secs()))
            }
            _ => error,
        })?;
        if count == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&self.buffer[..count]);
        Ok(())
    }
}
