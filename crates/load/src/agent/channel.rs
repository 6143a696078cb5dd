//! Texts between a controller and an agent that nobody else can read, change or make: both know a secret, and neither sends it.
//!
//! ```text
//! controller                                   agent
//! u16 length | handshake, first message  ──►         Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s (the Noise protocol, revision 34);
//!                                        ◄──  u16 length | handshake, second message, or nothing and u16 0: wrong secret
//! then both: u16 length | sealed piece of a text, each text beginning with its length as u32; numbers are big-endian
//! ```
//! The secret is the pre-shared key: who does not know it cannot make the first message, and who listens learns neither the secret nor,
//! should it become known later, what was said.

use serde::Serialize;
use serde::de::DeserializeOwned;
use snow::params::HashChoice;
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::{Builder, HandshakeState, StatelessTransportState};
use std::io::{self, Error, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
/// What is said and in which version: both sides must mean the same.
const PROLOGUE: &[u8] = b"tarndb bench agent 3";
/// A handshake's message: a key of 32 bytes and a seal of 16.
const HANDSHAKE_BYTES: usize = 48;
const PIECE_BYTES_MAX: usize = u16::MAX as usize;
const SEAL_BYTES: usize = 16;
const LENGTH_BYTES: usize = 4;

/// What is said next on the other side's terms: one of the two directions.
#[derive(Debug)]
pub(super) struct Sender {
    socket: TcpStream,
    cipher: Arc<StatelessTransportState>,
    nonce: u64,
}

/// The other direction.
#[derive(Debug)]
pub(super) struct Receiver {
    socket: TcpStream,
    cipher: Arc<StatelessTransportState>,
    nonce: u64,
}

/// Greets an agent.
///
/// # Errors
/// `PermissionDenied` when it knows another secret.
pub(super) fn greet(mut socket: TcpStream, secret: &str) -> io::Result<(Sender, Receiver)> {
    let mut handshake = builder(&key(secret)?).and_then(Builder::build_initiator).map_err(broken)?;
    let mut message = [0; HANDSHAKE_BYTES];
    let length = handshake.write_message(&[], &mut message).map_err(broken)?;
    write_piece(&mut socket, &message[..length])?;
    let answer = read_piece(&mut socket)?;
    if answer.is_empty() {
        return Err(Error::new(ErrorKind::PermissionDenied, "wrong secret"));
    }
    handshake.read_message(&answer, &mut [0; HANDSHAKE_BYTES]).map_err(broken)?;
    halves(socket, handshake)
}

/// Lets a controller greet this agent.
///
/// # Errors
/// `PermissionDenied` when it knows another secret, which it is told.
pub(super) fn welcome(mut socket: TcpStream, secret: &str) -> io::Result<(Sender, Receiver)> {
    let mut handshake = builder(&key(secret)?).and_then(Builder::build_responder).map_err(broken)?;
    let mut length = [0; 2];
    socket.read_exact(&mut length)?;
    // Nothing is said to who does not speak this language.
    if usize::from(u16::from_be_bytes(length)) != HANDSHAKE_BYTES {
        return Err(Error::new(ErrorKind::InvalidData, "no greeting"));
    }
    let mut greeting = [0; HANDSHAKE_BYTES];
    socket.read_exact(&mut greeting)?;
    if handshake.read_message(&greeting, &mut [0; HANDSHAKE_BYTES]).is_err() {
        // It may be gone already: then there is nobody to tell.
        let _ = write_piece(&mut socket, &[]);
        return Err(Error::new(ErrorKind::PermissionDenied, "wrong secret"));
    }
    let mut message = [0; HANDSHAKE_BYTES];
    let length = handshake.write_message(&[], &mut message).map_err(broken)?;
    write_piece(&mut socket, &message[..length])?;
    halves(socket, handshake)
}

fn builder(key: &[u8; 32]) -> Result<Builder<'_>, snow::Error> {
    Builder::new(PATTERN.parse()?).psk(0, key)?.prologue(PROLOGUE)
}

/// The key that a secret of any length is.
fn key(secret: &str) -> io::Result<[u8; 32]> {
    let mut hash = DefaultResolver.resolve_hash(&HashChoice::Blake2s).ok_or(ErrorKind::Unsupported)?;
    let mut key = [0; 32];
    hash.input(secret.trim().as_bytes());
    hash.result(&mut key);
    Ok(key)
}

fn halves(socket: TcpStream, handshake: HandshakeState) -> io::Result<(Sender, Receiver)> {
    let cipher = Arc::new(handshake.into_stateless_transport_mode().map_err(broken)?);
    let sender = Sender { socket: socket.try_clone()?, cipher: Arc::clone(&cipher), nonce: 0 };
    Ok((sender, Receiver { socket, cipher, nonce: 0 }))
}

fn broken(error: snow::Error) -> Error {
    Error::new(ErrorKind::InvalidData, error)
}

impl Sender {
    /// Sends a text.
    pub(super) fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        let mut text = vec![0; LENGTH_BYTES];
        serde_json::to_writer(&mut text, message)?;
        let length = u32::try_from(text.len() - LENGTH_BYTES).map_err(|_| ErrorKind::InvalidInput)?;
        text[..LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
        let mut out = Vec::with_capacity(text.len() + text.len() / PIECE_BYTES_MAX * SEAL_BYTES + SEAL_BYTES + 2);
        let mut sealed = vec![0; PIECE_BYTES_MAX.min(text.len() + SEAL_BYTES)];
        for piece in text.chunks(PIECE_BYTES_MAX - SEAL_BYTES) {
            let length = self.cipher.write_message(self.nonce, piece, &mut sealed).map_err(broken)?;
            self.nonce += 1;
            write_piece(&mut out, &sealed[..length])?;
        }
        self.socket.write_all(&out)
    }

    /// Ends the connection; who listens to it gets its end.
    pub(super) fn shut_down(&self) {
        // It may have ended already.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

impl Receiver {
    /// Reads a text of at most `bytes_max`. Takes no more memory than what has come.
    pub(super) fn receive<M: DeserializeOwned>(&mut self, bytes_max: u32) -> io::Result<M> {
        let mut text = self.piece()?;
        let length = text.first_chunk().map(|length| u32::from_be_bytes(*length)).ok_or(ErrorKind::InvalidData)?;
        if length > bytes_max {
            return Err(Error::new(ErrorKind::InvalidData, format!("a text of {length} bytes, {bytes_max} are allowed")));
        }
        let whole = LENGTH_BYTES + length as usize;
        while text.len() < whole {
            let piece = self.piece()?;
            if piece.is_empty() {
                return Err(ErrorKind::InvalidData.into());
            }
            text.extend_from_slice(&piece);
        }
        if text.len() > whole {
            return Err(ErrorKind::InvalidData.into());
        }
        Ok(serde_json::from_slice(&text[LENGTH_BYTES..])?)
    }

    fn piece(&mut self) -> io::Result<Vec<u8>> {
        let sealed = read_piece(&mut self.socket)?;
        let mut piece = vec![0; sealed.len()];
        let length = self.cipher.read_message(self.nonce, &sealed, &mut piece).map_err(broken)?;
        self.nonce += 1;
        piece.truncate(length);
        Ok(piece)
    }

    /// How long a read may wait; without a limit for ever.
    pub(super) fn wait_at_most(&self, time: Option<std::time::Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(time)
    }
}

fn write_piece(out: &mut impl Write, piece: &[u8]) -> io::Result<()> {
    let length = u16::try_from(piece.len()).map_err(|_| ErrorKind::InvalidInput)?;
    out.write_all(&[&length.to_be_bytes()[..], piece].concat())
}

fn read_piece(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 2];
    from.read_exact(&mut length)?;
    let mut piece = vec![0; usize::from(u16::from_be_bytes(length))];
    from.read_exact(&mut piece)?;
    Ok(piece)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (one, listener.accept().unwrap().0)
    }

    type Met = io::Result<(Sender, Receiver)>;

    /// What two sides get of each other, with everything that the first one sends.
    fn meet(secret: &str, other: &str) -> (Met, Met) {
        let (one, two) = pair();
        let other = other.to_owned();
        let welcomed = std::thread::spawn(move || welcome(two, &other));
        (greet(one, secret), welcomed.join().unwrap())
    }

    #[test]
    fn texts_of_every_size_come_as_they_were_sent() {
        let (here, there) = meet("between us\n", "between us");
        let ((mut sender, _), (_, mut receiver)) = (here.unwrap(), there.unwrap());
        let edge = PIECE_BYTES_MAX - SEAL_BYTES - LENGTH_BYTES - 2;
        let sizes = [0, 1, edge - 1, edge, edge + 1, 3 * edge, 1 << 20];
        std::thread::spawn(move || sizes.iter().for_each(|size| sender.send(&"x".repeat(*size)).unwrap()));
        for size in sizes {
            assert_eq!(receiver.receive::<String>(2 << 20).unwrap().len(), size);
        }
    }

    #[test]
    fn another_secret_is_refused_on_both_sides() {
        let (here, there) = meet("a guess", "between us");
        assert_eq!(here.unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert_eq!(there.unwrap_err().kind(), ErrorKind::PermissionDenied);
    }

    #[test]
    fn what_was_changed_or_repeated_on_its_way_is_not_taken() {
        for change in [0, 1] {
            let (here, there) = meet("s", "s");
            let ((sender, _), (_, mut receiver)) = (here.unwrap(), there.unwrap());
            let mut sealed = vec![0; 64];
            let length = sender.cipher.write_message(0, b"\0\0\0\x02{}", &mut sealed).unwrap();
            let mut socket = &sender.socket;
            write_piece(&mut socket, &sealed[..length]).unwrap();
            assert!(receiver.receive::<serde_json::Value>(9).is_ok());
            // The same bytes again, and with one bit of them turned.
            sealed[3] ^= change;
            write_piece(&mut socket, &sealed[..length]).unwrap();
            assert_eq!(receiver.receive::<serde_json::Value>(9).unwrap_err().kind(), ErrorKind::InvalidData);
        }
    }

    #[test]
    fn a_text_that_is_longer_than_it_may_be_or_says_is_not_taken() {
        for (text, bytes_max) in [(&b"\0\0\0\x09"[..], 8), (b"\0\0\0\x02{} ", 8), (b"\0\0", 8), (b"\xff\xff\xff\xff", u32::MAX - 1)] {
            let (here, there) = meet("s", "s");
            let ((sender, _), (_, mut receiver)) = (here.unwrap(), there.unwrap());
            let mut sealed = vec![0; 64];
            let length = sender.cipher.write_message(0, text, &mut sealed).unwrap();
            write_piece(&mut &sender.socket, &sealed[..length]).unwrap();
            assert_eq!(receiver.receive::<serde_json::Value>(bytes_max).unwrap_err().kind(), ErrorKind::InvalidData);
        }
    }

    #[test]
    fn a_secret_is_not_seen_on_the_wire() {
        let secret = "between us and nobody else";
        let (one, mut two) = pair();
        std::thread::spawn(move || greet(one, secret));
        let mut greeting = [0; 2 + HANDSHAKE_BYTES];
        two.read_exact(&mut greeting).unwrap();
        assert!(!greeting.windows(7).any(|window| secret.as_bytes().windows(7).any(|part| part == window)));
    }
}
