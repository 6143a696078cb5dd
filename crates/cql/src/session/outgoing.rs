//! The sending half of a connection: plain reply frames in, bytes as the connection agreed to them out.

use crate::wire::{Compression, CompressionWorkspace, Direction, FrameEncoder, ProtocolVersion};

/// The sending half.
#[derive(Debug)]
pub(super) struct Outgoing {
    encoder: FrameEncoder,
    /// Whether frames go out as they are: no compression, no segments.
    plain: bool,
    scratch: Vec<u8>,
}

/// Buffers for decompression and compression, shared by a core's sessions.
#[derive(Debug, Default)]
pub struct Workspaces {
    pub(super) incoming: CompressionWorkspace,
    pub(super) outgoing: CompressionWorkspace,
}

impl Workspaces {
    /// Empty buffers.
    #[must_use]
    pub fn new() -> Self {
        Self { incoming: CompressionWorkspace::new(), outgoing: CompressionWorkspace::new() }
    }

    /// Gives back the memory that large frames took.
    pub fn trim(&mut self) {
        self.incoming.trim();
        self.outgoing.trim();
    }
}

impl Outgoing {
    pub(super) fn new() -> Self {
        Self { encoder: FrameEncoder::new(Direction::Response), plain: true, scratch: Vec::new() }
    }

    /// From now on frames go out as STARTUP agreed.
    pub(super) fn startup_agreed(&mut self, version: ProtocolVersion, compression: Option<Compression>) {
        let agreed = self.encoder.startup_agreed(version, compression);
        assert!(agreed.is_ok(), "the decoder agreed to the same");
        self.plain = compression.is_none() && version < ProtocolVersion::V5;
    }

    /// Appends a frame that is written already, and sends what is open.
    #[inline]
    pub(super) fn append(&mut self, frame: &[u8], out: &mut Vec<u8>, workspace: &mut CompressionWorkspace) {
        if self.plain {
            out.extend_from_slice(frame);
        } else {
            self.encoder.append(out, frame, workspace);
            self.encoder.flush(out, workspace);
        }
    }

    #[inline]
    pub(super) fn write(&mut self, out: &mut Vec<u8>, workspace: &mut CompressionWorkspace, write: impl FnOnce(&mut Vec<u8>)) {
        if self.plain {
            return write(out);
        }
        self.scratch.clear();
        write(&mut self.scratch);
        if !self.scratch.is_empty() {
            self.encoder.append(out, &self.scratch, workspace);
        }
        self.scratch.shrink_to(1 << 16);
    }

    #[inline]
    pub(super) fn flush(&mut self, out: &mut Vec<u8>, workspace: &mut CompressionWorkspace) {
        if !self.plain {
            self.encoder.flush(out, workspace);
        }
    }
}
