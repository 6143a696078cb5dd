//! The process's allocator: jemalloc, told to back everything with huge pages and to give memory back at once.
//!
//! An index and frames of gigabytes are read at random: with pages of 4 KiB most of a lookup is waiting for address translation. And memory
//! that a burst of large requests took must not stay with the process, whose limit is one number: keeping it for 100 ms made upserts 3 to 5 %
//! cheaper in process, and took a process with a limit of 256 MiB to 303 under fifty unpaged scans.

/// Make it a program's `#[global_allocator]`.
pub use tikv_jemallocator::Jemalloc as Allocator;

/// What jemalloc reads before `main`.
#[unsafe(export_name = "_rjem_malloc_conf")]
#[expect(unreachable_pub, reason = "jemalloc finds it by its exported name")]
pub static CONFIGURATION: Option<&'static std::ffi::c_char> =
    // SAFETY: a literal that ends with a zero byte and lives for ever.
    Some(unsafe { &*c"thp:always,metadata_thp:always,dirty_decay_ms:0,muzzy_decay_ms:0".as_ptr() });
