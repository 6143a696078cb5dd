//! The only crate with system calls: an io_uring reactor a core, direct I/O, core pinning.
