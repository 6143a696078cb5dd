//! What stops a statement that runs: its time is over, or nobody waits for its rows any more.

use sql::Interrupter;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// From one look at the client to the next.
const LOOK: Duration = Duration::from_millis(100);
/// What a look waits for: nothing.
const NO_TIME: Duration = Duration::from_millis(1);
/// Records of TLS in which a client says that it closes: an alert, or one that is encrypted like data.
const CLOSING: [u8; 2] = [0x15, 0x17];

/// Why a statement was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    Late,
    Gone,
}

/// Who is watched, and until when.
pub(crate) struct Watch<'a> {
    /// Nothing but its end is expected from it.
    pub(crate) client: Option<&'a TcpStream>,
    pub(crate) deadline: Instant,
    pub(crate) interrupter: Interrupter,
}

impl Watch<'_> {
    /// What `work` gives while another thread watches, and why that has interrupted the statement, if it has.
    pub(crate) fn while_it<T>(&self, work: impl FnOnce() -> T) -> std::io::Result<(T, Option<Stopped>)> {
        let (done, is_done) = channel();
        std::thread::scope(|scope| {
            let watcher =
                std::thread::Builder::new().name("tarndb-sql-watch".to_owned()).spawn_scoped(scope, move || self.look(&is_done))?;
            let worked = work();
            drop(done);
            Ok((worked, watcher.join().unwrap_or(None)))
        })
    }

    /// Looks until the other end of `done` is dropped.
    fn look(&self, done: &Receiver<()>) -> Option<Stopped> {
        if let Some(client) = self.client {
            let _ = client.set_read_timeout(Some(NO_TIME));
        }
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if let Ok(()) | Err(RecvTimeoutError::Disconnected) = done.recv_timeout(left.min(LOOK)) {
                return None;
            }
            let stopped = match self.client {
                _ if Instant::now() >= self.deadline => Stopped::Late,
                Some(client) if is_gone(client) => Stopped::Gone,
                _ => continue,
            };
            self.interrupter.interrupt();
            return Some(stopped);
        }
    }
}

/// Whether the client has ended the connection.
fn is_gone(client: &TcpStream) -> bool {
    let mut first = [0];
    match client.peek(&mut first) {
        Ok(0) => true,
        Ok(_) => CLOSING.contains(&first[0]),
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted),
    }
}
