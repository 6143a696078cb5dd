//! `GET /health`: whether the node accepts clients, on a thread of its own.
//!
//! One request at a time with a short timeout and a small bound: a health check, not a web server.

use crate::exit::Failure;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(1);
const REQUEST_BYTES_MAX: usize = 4096;

/// The health port of a node.
pub(crate) struct Health {
    pub(crate) address: SocketAddr,
    accepting: Arc<AtomicBool>,
}

impl Health {
    /// Listens; answers 503 until the node accepts.
    pub(crate) fn start(address: SocketAddr) -> Result<Self, Failure> {
        let failed = |source| Failure::Http { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let accepting = Arc::new(AtomicBool::new(false));
        let state = Arc::clone(&accepting);
        let serve = move || listener.incoming().flatten().for_each(|stream| drop(answer(stream, state.load(Ordering::Acquire))));
        std::thread::Builder::new().name("tarndb-http".to_owned()).spawn(serve).map_err(failed)?;
        Ok(Self { address, accepting })
    }

    /// The node accepts clients from now on.
    pub(crate) fn accepting(&self) {
        self.accepting.store(true, Ordering::Release);
    }
}

fn answer(mut stream: TcpStream, accepting: bool) -> std::io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let mut request = [0; REQUEST_BYTES_MAX];
    let mut length = 0;
    while !request[..length].windows(4).any(|window| window == b"\r\n\r\n") {
        match stream.read(&mut request[length..])? {
            0 => return Ok(()),
            count => length += count,
        }
    }
    let (status, body) = match (request.starts_with(b"GET /health "), accepting) {
        (true, true) => ("200 OK", "ok\n"),
        (true, false) => ("503 Service Unavailable", "starting\n"),
        (false, _) => ("404 Not Found", "not found\n"),
    };
    let length = body.len();
    write!(stream, "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}
