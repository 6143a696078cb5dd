//! A connection's bytes, as they are or by TLS: of a client, or to the node's own port.
//!
//! Reading and writing may belong to different threads. They share the session of TLS; what it has to send goes out under the lock of the writing side, so that records leave
//! in their order. A reader takes that lock only when its own bytes have to go out: as it answers a handshake, or changes keys.

use crate::node::lock;
use base::Now;
use std::io::{Error, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tls::{LinkError, Session};

const READ_BYTES: usize = 16 << 10;

/// The side that is read.
pub(crate) struct Input {
    stream: TcpStream,
    output: Arc<Mutex<Output>>,
    secured: Option<Secured>,
}

struct Secured {
    session: Arc<Mutex<Session>>,
    /// What has arrived and was not read yet, from `taken` on.
    arrived: Vec<u8>,
    taken: usize,
    bytes: Box<[u8; READ_BYTES]>,
}

/// The side that is written.
pub(crate) struct Output {
    stream: TcpStream,
    session: Option<Arc<Mutex<Session>>>,
}

/// Both sides of a connection, in plain as yet.
///
/// # Errors
/// There is no descriptor for the second one.
pub(crate) fn split(stream: TcpStream) -> std::io::Result<(Input, Arc<Mutex<Output>>)> {
    let output = Arc::new(Mutex::new(Output { stream: stream.try_clone()?, session: None }));
    Ok((Input { stream, output: Arc::clone(&output), secured: None }, output))
}

impl Input {
    /// All that comes from now on is TLS, and all that is sent.
    ///
    /// # Errors
    /// The peer does not take what is sent first.
    pub(crate) fn begin_tls(&mut self, session: Session) -> std::io::Result<()> {
        let session = Arc::new(Mutex::new(session));
        lock(&self.output).session = Some(Arc::clone(&session));
        self.secured = Some(Secured { session, arrived: Vec::new(), taken: 0, bytes: Box::new([0; READ_BYTES]) });
        lock(&self.output).send(&[])
    }

    pub(crate) fn is_secured(&self) -> bool {
        self.secured.is_some()
    }

    /// Whether the handshake of TLS is under way; none in plaintext.
    pub(crate) fn is_handshaking(&self) -> Option<bool> {
        self.secured.as_ref().map(|secured| lock(&secured.session).is_handshaking())
    }

    pub(crate) fn set_read_timeout(&self, timeout: Duration) -> std::io::Result<()> {
        self.stream.set_read_timeout(Some(timeout))
    }

    /// Ends both sides.
    pub(crate) fn shutdown(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// Reads what there is; 0 at the end. Of TLS that says nothing yet the caller is told as of a socket without bytes, so that it can look at its deadlines.
    ///
    /// # Errors
    /// As of the socket; the peer breaks TLS.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let Some(secured) = &mut self.secured else { return self.stream.read(out) };
        if secured.taken == secured.arrived.len() {
            secured.arrived.clear();
            secured.taken = 0;
            let count = self.stream.read(&mut secured.bytes[..])?;
            if count == 0 || !secured.take(count, &self.output)? {
                return Ok(0);
            }
            if secured.arrived.is_empty() {
                return Err(ErrorKind::WouldBlock.into());
            }
        }
        let waiting = &secured.arrived[secured.taken..];
        let count = waiting.len().min(out.len());
        out[..count].copy_from_slice(&waiting[..count]);
        secured.taken += count;
        Ok(count)
    }
}

impl Secured {
    /// Takes bytes of the socket; false if the peer has ended the session.
    fn take(&mut self, count: usize, output: &Mutex<Output>) -> std::io::Result<bool> {
        let (arrived, mut session) = (&mut self.arrived, lock(&self.session));
        let outcome = session.receive(now(), &self.bytes[..count], |said| arrived.extend_from_slice(said));
        let has_output = session.has_output();
        // Whoever writes takes the two locks in the other order.
        drop(session);
        if has_output {
            lock(output).send(&[])?;
        }
        match outcome {
            Ok(()) => Ok(true),
            Err(LinkError::Closed) => Ok(false),
            Err(error) => Err(Error::new(ErrorKind::InvalidData, error)),
        }
    }
}

impl Output {
    /// Sends bytes, and what the session of TLS has to send.
    ///
    /// # Errors
    /// As of the socket.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let Some(session) = &self.session else { return self.stream.write_all(bytes) };
        let mut records = Vec::new();
        {
            let mut session = lock(session);
            session.send_bytes(bytes);
            session.take_output(&mut records);
        }
        self.stream.write_all(&records)
    }

    /// Ends both sides at once.
    pub(crate) fn cut(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// Says that nothing more comes, and ends both sides.
    pub(crate) fn shutdown(&mut self) {
        if let Some(session) = &self.session {
            lock(session).close();
            let _ = self.send(&[]);
        }
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// The time by which certificates are looked at.
fn now() -> Now {
    let wall_us = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX));
    Now { monotonic_us: 0, wall_us }
}
