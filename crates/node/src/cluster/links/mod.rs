//! Connections between cores of nodes, and the frames on them.
//!
//! Owns: sockets to other nodes, TLS sessions, handshakes, what is unsent, frames that wait for newer metadata.
//! Never touches: rows, roles, what a frame means (`dispatch.rs`).
//!
//! A link is one way: the core that connects sends requests and writes, the other side answers on the same connection.
//!
//! | state of a link | next |
//! |---|---|
//! | not connected | its time has come: connect, send `HELLO` → waits for `WELCOME` |
//! | waits for `WELCOME` | `WELCOME` → open · `REFUSAL`, or 2 s without an answer → not connected, again after 100 ms |
//! | open | closed, damaged frame, or 1.5 s without an acknowledgement → not connected; the stream starts again at the first write that is not acknowledged |
//!
//! | state of an incoming connection | next |
//! |---|---|
//! | unauthenticated | `HELLO` of a member → member · `HELLO` of a process that joins → joins · 3 s → closed |
//! | joins | `JOIN_REPLY` or `REFUSAL` → closed · 15 s → closed |
//! | member | a newer connection of the same core, or a damaged frame → closed |

pub(crate) mod channel;
pub(crate) mod connecting;
pub(crate) mod frames;
pub(crate) mod link;
pub(crate) mod moved;
pub(crate) mod pending_frames;
pub(crate) mod receiving;
pub(crate) mod remote_core;
pub(crate) mod sending;
pub(crate) mod unauthenticated;
