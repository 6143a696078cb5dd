//! The machine as its handlers and clients see it, over real sockets, files and threads.
#![allow(clippy::unwrap_used, missing_docs)]

mod bound_stream;
mod closing;
mod disk;
mod ending;
mod messages;
mod outgoing;
mod placement;
mod scripted;
mod stable_memory;
mod starting;
mod streams;
