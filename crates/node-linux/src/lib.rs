//! A node's cores on Linux: the one place that joins `node`, generic over its reactor, to `io-linux`.
//!
//! Invariants: nothing here decides anything, and nothing is generic. What a request runs through is compiled in this crate, optimized in every profile; the binary around it, which is larger, need not be.

use io_linux::{CoreEnv, Machine, Options, StartError};
use node::Core;

/// Makes a core, on its thread.
pub type CoreFactory = Box<dyn FnOnce(&mut CoreEnv) -> Core + Send>;

/// Starts a node with one core for each of `cores`.
///
/// # Errors
/// When a socket, file, ring or thread cannot be had.
pub fn start(options: Options, cores: Vec<CoreFactory>) -> Result<Machine, StartError> {
    io_linux::start(options, cores)
}
