//! Frames between nodes.
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 4 | `TNN1` |
//! | 4 | 1 | kind |
//! | 5 | 1 | version, 1 |
//! | 6 | 2 | flags, the kind's own |
//! | 8 | 4 | length of the body |
//! | 12 | 4 | CRC-32 of the bytes 0 to 11 and the body |
//! | 16 | … | body |
//!
//! Numbers are little endian. A reader that meets anything else has lost the stream, and says so until it is dropped.

use std::ops::RangeInclusive;

/// The length of a header.
pub const HEADER_BYTES: usize = 16;
/// The most that any frame's body has.
pub const BODY_BYTES_MAX: usize = 16 << 20;
/// The kinds that carry what replicas say to each other: their bodies are not this crate's.
pub const DATA_KINDS: RangeInclusive<u8> = 32..=127;

/// What every frame begins with.
pub const MAGIC: [u8; 4] = *b"TNN1";
const VERSION: u8 = 1;
/// The first bytes of a connection on which somebody wants TLS.
const TLS_HANDSHAKE: u8 = 22;
const TLS_MAJOR: u8 = 3;

/// What a frame's body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind(pub u8);

impl Kind {
    /// A [`super::Hello`] of who connects.
    pub const HELLO: Self = Self(1);
    /// A [`super::Hello`] of who listens.
    pub const WELCOME: Self = Self(2);
    /// A [`super::RefusalMessage`].
    pub const REFUSAL: Self = Self(3);
    /// A [`super::Join`].
    pub const JOIN: Self = Self(4);
    /// A [`super::JoinReply`].
    pub const JOIN_REPLY: Self = Self(5);
    /// A message of `Metadata`.
    pub const METADATA: Self = Self(6);

    /// The most that a body of this kind has; none for kinds that there are not.
    #[must_use]
    pub fn body_bytes_max(self) -> Option<usize> {
        match self {
            Self::HELLO | Self::WELCOME | Self::REFUSAL => Some(4 << 10),
            Self::JOIN => Some(16 << 10),
            Self::JOIN_REPLY => Some(8 << 20),
            Self::METADATA => Some(BODY_BYTES_MAX),
            Self(number) if DATA_KINDS.contains(&number) => Some(BODY_BYTES_MAX),
            Self(_) => None,
        }
    }
}

/// Why the bytes of a connection are no frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// They do not begin as a frame does.
    #[error("no frame begins with {found:02x?}: the peer is no TarnDB node")]
    Magic {
        /// What was found.
        found: [u8; 4],
    },
    /// They begin as TLS does.
    #[error(
        "one of the two nodes speaks TLS and the other does not: give --node-certificate, --node-key and --node-ca to all nodes of a cluster, or to none"
    )]
    Tls,
    /// The frame is of another version.
    #[error("frame version {found}; this node knows {VERSION}")]
    Version {
        /// What was found.
        found: u8,
    },
    /// There is no such kind.
    #[error("frame kind {found} is unknown")]
    Kind {
        /// What was found.
        found: u8,
    },
    /// The body is too long.
    #[error("a frame of kind {kind} with {bytes} bytes is more than {limit}")]
    TooLong {
        /// Its kind.
        kind: u8,
        /// Its length.
        bytes: u32,
        /// The most that is allowed.
        limit: u32,
    },
    /// The bytes were damaged on their way.
    #[error("a frame of kind {kind} has checksum {computed:08x} where its header says {stored:08x}")]
    Checksum {
        /// Its kind.
        kind: u8,
        /// In the header.
        stored: u32,
        /// Of the bytes.
        computed: u32,
    },
}

/// A frame that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What its body is.
    pub kind: Kind,
    /// The kind's own.
    pub flags: u16,
    /// The body.
    pub body: &'a [u8],
}

/// Appends a frame to `output`; `body` appends its body.
///
/// # Panics
/// When the body is longer than its kind allows.
pub fn append_frame(output: &mut Vec<u8>, kind: Kind, flags: u16, body: impl FnOnce(&mut Vec<u8>)) {
    let start = output.len();
    output.extend_from_slice(&MAGIC);
    output.extend_from_slice(&[kind.0, VERSION]);
    output.extend_from_slice(&flags.to_le_bytes());
    output.extend_from_slice(&[0; 8]);
    body(output);
    let len = output.len() - start - HEADER_BYTES;
    assert!(kind.body_bytes_max().is_some_and(|limit| len <= limit), "a frame of kind {} with {len} bytes", kind.0);
    let (header, body) = output[start..].split_at_mut(HEADER_BYTES);
    header[8..12].copy_from_slice(&(len as u32).to_le_bytes());
    let checksum = base::checksum_parts(&[&header[..12], body]);
    header[12..].copy_from_slice(&checksum.to_le_bytes());
}

/// Finds frames in a stream of bytes.
#[derive(Debug, Default)]
pub struct FrameReader {
    bytes: Vec<u8>,
    /// Where the next frame begins.
    start: usize,
    error: Option<FrameError>,
}

impl FrameReader {
    /// At the beginning of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// More bytes of the stream.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.error.is_some() {
            return;
        }
        if self.start > 0 && self.start >= self.bytes.len() / 2 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole frame; none until more bytes are fed.
    ///
    /// # Errors
    /// When the stream holds something else: from then on, always.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, FrameError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let found = match inspect(&self.bytes[self.start..]) {
            Err(error) => {
                self.error = Some(error);
                self.bytes = Vec::new();
                return Err(error);
            }
            Ok(None) => return Ok(None),
            Ok(Some(found)) => found,
        };
        let body_start = self.start + HEADER_BYTES;
        self.start = body_start + found.len;
        Ok(Some(Frame { kind: found.kind, flags: found.flags, body: &self.bytes[body_start..self.start] }))
    }

    /// The next whole frame of a stream that goes on with `bytes`, which is cut to what follows it. Where nothing waits it is read where it lies; what is not whole
    /// is kept.
    ///
    /// # Errors
    /// Bytes that are no frame: from then on, always.
    pub fn next_of<'a, 'b: 'a>(&'a mut self, bytes: &mut &'b [u8]) -> Result<Option<Frame<'a>>, FrameError> {
        if self.waiting() > 0 || self.error.is_some() {
            self.feed(std::mem::take(bytes));
            return self.next_frame();
        }
        match inspect(bytes) {
            Ok(Some(found)) => {
                let (frame, rest) = bytes.split_at(HEADER_BYTES + found.len);
                *bytes = rest;
                Ok(Some(Frame { kind: found.kind, flags: found.flags, body: &frame[HEADER_BYTES..] }))
            }
            _ => {
                self.feed(std::mem::take(bytes));
                self.next_frame()
            }
        }
    }

    /// How many bytes wait for the rest of their frame.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.bytes.len() - self.start
    }
}

struct Found {
    kind: Kind,
    flags: u16,
    len: usize,
}

/// The whole frame that `bytes` begin with. What is wrong is said as soon as it can be seen.
fn inspect(bytes: &[u8]) -> Result<Option<Found>, FrameError> {
    let seen = bytes.len().min(MAGIC.len());
    if bytes[..seen] != MAGIC[..seen] {
        if let [TLS_HANDSHAKE, TLS_MAJOR, ..] = bytes {
            return Err(FrameError::Tls);
        }
        let mut found = [0; 4];
        found[..seen].copy_from_slice(&bytes[..seen]);
        return Err(FrameError::Magic { found });
    }
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else { return Ok(None) };
    if header[5] != VERSION {
        return Err(FrameError::Version { found: header[5] });
    }
    let kind = Kind(header[4]);
    let limit = kind.body_bytes_max().ok_or(FrameError::Kind { found: kind.0 })?;
    let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (len, stored) = (number(8), number(12));
    if len as usize > limit {
        return Err(FrameError::TooLong { kind: kind.0, bytes: len, limit: limit as u32 });
    }
    let Some(body) = rest.get(..len as usize) else { return Ok(None) };
    let computed = base::checksum_parts(&[&header[..12], body]);
    if stored != computed {
        return Err(FrameError::Checksum { kind: kind.0, stored, computed });
    }
    Ok(Some(Found { kind, flags: u16::from_le_bytes([header[6], header[7]]), len: len as usize }))
}
