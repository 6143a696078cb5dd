//! A connection that waits: how bytes get to a server and back, plain or by TLS.

use std::io::{Read, Write};

/// How bytes get to the server and back.
pub trait Transport {
    /// Sends all of `bytes`.
    ///
    /// # Errors
    /// When the connection is broken.
    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()>;

    /// Waits for bytes and appends them, at least one.
    ///
    /// # Errors
    /// When the connection is broken or has ended.
    fn receive(&mut self, bytes: &mut Vec<u8>) -> std::io::Result<()>;
}

impl Transport for std::net::TcpStream {
    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.write_all(bytes)
    }

    fn receive(&mut self, bytes: &mut Vec<u8>) -> std::io::Result<()> {
        let mut buffer = [0; 16 << 10];
        let length = self.read(&mut buffer)?;
        if length == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&buffer[..length]);
        Ok(())
    }
}
