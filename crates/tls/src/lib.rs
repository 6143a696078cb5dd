//! TLS between nodes, where each side has a certificate and verifies the other's, and to clients, where only the node need have one.
//!
//! ```text
//! files ─► Config, ClientTls, one a node ─► Session, one a connection
//!                                  arrived bytes ─► receive ─► plaintext
//!                                  plaintext ─► send ─► take_output ─► bytes to send
//! ```
//!
//! TLS 1.3 between nodes, and 1.2 too to clients, by `rustls` with the cryptography of `ring` (decision 0015). Nothing here does I/O or reads a clock: bytes and time come in as values. Keys are drawn from
//! the operating system by the library, so a simulated cluster runs without TLS.
//!
//! Invariants: no plaintext is given out before the peer's certificate, where it has to have one, has been verified against the authority, and on the side that has connected against the address too. What a
//! peer that has not been verified can make a session keep is bounded by the longest handshake message, 64 KiB. No session is ever resumed whose peer may have a certificate, so no certificate goes unlooked at.

mod clients;
mod config;
mod der;
mod error;
mod identity;
mod session;
#[cfg(test)]
mod tests;
mod validity;

pub use clients::{CertificateNeed, ClientAuthority, ClientFiles, ClientTls, Trust};
pub use config::{Config, Files};
pub use error::{LinkError, SetupError};
pub use identity::{ClientCertificate, IdentityKind};
pub use session::Session;
