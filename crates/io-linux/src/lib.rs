//! The only crate with system calls: one event loop a core, sockets, direct disk I/O, core pinning, stable memory.
//!
//! [`start`] runs one pinned thread a core. Each owns a [`LinuxReactor`], which serves the seams of crate `io`: sockets through
//! edge-triggered epoll with plain `recv` and `send`, disk through io_uring, other cores through bounded rings, all on one wait
//! (`docs/decisions/0002-socket-io.md` says why sockets do not go through the ring).
//!
//! Nothing is shared between cores but the rings between them, a wake-up flag each, and a few node-wide atomics.
#![allow(unsafe_code, reason = "system calls, io_uring and shared mappings; every block says why it is sound")]

mod allocator;
mod backlog;
mod blobs;
mod blocking_disk;
mod bound_stream;
mod child;
mod clock;
mod connection;
mod connections;
mod control;
mod control_groups;
mod core_dumps;
mod cpus;
mod data_dir;
mod descriptors;
mod device;
mod disk;
mod disk_operation;
mod disk_ring;
mod disk_threads;
mod entropy;
mod epoll;
mod errno;
mod event_counter;
mod event_loop;
mod files;
mod helper;
mod host;
mod listener;
mod machine;
mod mailbox;
mod mapped;
mod outgoing;
mod probes;
mod process;
mod reactor;
mod readiness;
mod signals;
mod socket;
mod stripes;
mod terminal;
mod umask;
mod volume;

pub use allocator::Allocator;
pub use blobs::{BlobDirectories, BlobError, BlobStore, ContentCipher, read_blobs, replace_file};
pub use blocking_disk::BlockingDisk;
pub use bound_stream::BoundStream;
pub use child::bind_to_this_process;
pub use control_groups::cpu_quota;
pub use core_dumps::forbid_core_dumps;
pub use cpus::{available_cpus, run_after_others, run_on_cpus};
pub use data_dir::{DataDirError, DataDirLock, lock_data_dir, look_into_data_dir};
pub use descriptors::descriptors_max;
pub use device::{Access, Device, DeviceError};
pub use disk::DiskPath;
pub use entropy::fill_with_entropy;
pub use files::FileError;
pub use host::{Memory, boot_id, free_bytes, is_in_memory, memory, memory_bytes};
pub use listener::ListenerOptions;
pub use machine::{CoreEnv, Machine, OpenFile, Options, Pinning, Signals, StartError, start};
pub use mapped::{MappedMemory, MappedMemoryError};
pub use probes::{ClockState, clock_state, has_direct_io, io_uring_refusal};
pub use process::{ProcessFigures, network_namespace, process_figures, process_open_files, process_start_s};
pub use reactor::LinuxReactor;
pub use readiness::is_writable;
pub use signals::{exit_now, is_interrupted, note_interruptions};
pub use stripes::{Extent, Stripes};
pub use terminal::terminal_size;
pub use umask::make_files_private;
pub use volume::FileLayout;
