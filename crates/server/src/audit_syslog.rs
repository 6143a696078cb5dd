//! The audit log as messages of syslog (RFC 3164): facility `authpriv`, severity `info`, a line each.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

/// Ten is `authpriv`, six is `info`.
const PRIORITY: u8 = 10 << 3 | 6;

/// The socket of syslog.
#[derive(Debug)]
pub(crate) struct Syslog {
    socket: UnixDatagram,
    path: PathBuf,
}

impl Syslog {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.connect(path)?;
        Ok(Self { socket, path: path.to_owned() })
    }

    /// Sends whole lines; takes those from the front of `lines` that it has sent.
    pub(crate) fn write(&mut self, lines: &mut &[u8]) -> io::Result<()> {
        while !lines.is_empty() {
            let end = lines.iter().position(|byte| *byte == b'\n').unwrap_or(lines.len());
            let mut message = format!("<{PRIORITY}>tarndb[{}]: ", std::process::id()).into_bytes();
            message.extend_from_slice(&lines[..end]);
            if self.socket.send(&message).is_err() {
                // Whoever listens may have started anew.
                self.socket.connect(&self.path)?;
                self.socket.send(&message)?;
            }
            *lines = lines.get(end + 1..).unwrap_or_default();
        }
        Ok(())
    }
}
