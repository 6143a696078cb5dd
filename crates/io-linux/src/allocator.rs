//! The process's allocator: jemalloc, told to back everything with huge pages and to give memory back at once.
//!
//! An index and frames of gigabytes are read at random: with pages of 4 KiB most of a lookup is waiting for address translation. And memory
//! that a burst of large requests took must not stay with the process, whose limit is one number: keeping it for 100 ms made upserts 3 to 5 %
//! cheaper in process, and took a process with a limit of 256 MiB to 303 under fifty unpaged scans.
//!
//! Each thread keeps a few freed pieces of up to [`CACHED_BYTES_MAX`]. jemalloc takes the place that a large piece grows into from elsewhere, though: memory that
//! was given back, and is mapped, cleared and given back again each time. A buffer of records of TLS grows so with every full record, for which faults of pages
//! were a quarter of an upsert's CPU time. So such pieces grow here, by what the thread has kept.

use std::alloc::{GlobalAlloc, Layout};
use tikv_jemallocator::Jemalloc;

/// Make it a program's `#[global_allocator]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator;

/// From this size on jemalloc's pieces are large: `SC_LARGE_MINCLASS` with pages of 4 KiB.
const LARGE_BYTES_MIN: usize = 16 << 10;
/// The largest piece that threads keep: jemalloc's `tcache_max`.
const CACHED_BYTES_MAX: usize = 32 << 10;

// SAFETY: all memory is jemalloc's, which keeps the contract; `realloc` moves by it as the trait's own does.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        unsafe { Jemalloc.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        unsafe { Jemalloc.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { Jemalloc.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let is_kept = layout.size() >= LARGE_BYTES_MIN && new_size > layout.size() && new_size <= CACHED_BYTES_MAX;
        if !is_kept {
            // SAFETY: the caller's.
            return unsafe { Jemalloc.realloc(pointer, layout, new_size) };
        }
        // SAFETY: the caller vouches for size and alignment, and that `pointer` is valid for the old size, which is the smaller one; the new piece is another.
        unsafe {
            let moved = Jemalloc.alloc(Layout::from_size_align_unchecked(new_size, layout.align()));
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(pointer, layout.size());
                Jemalloc.dealloc(pointer, layout);
            }
            moved
        }
    }
}

/// What jemalloc reads before `main`.
#[unsafe(export_name = "_rjem_malloc_conf")]
#[expect(unreachable_pub, reason = "jemalloc finds it by its exported name")]
pub static CONFIGURATION: Option<&'static std::ffi::c_char> =
    // SAFETY: a literal that ends with a zero byte and lives for ever.
    Some(unsafe { &*c"thp:always,metadata_thp:always,dirty_decay_ms:0,muzzy_decay_ms:0".as_ptr() });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_or_shrinks_keeps_its_bytes() {
        let sizes = [4_096, LARGE_BYTES_MIN - 1, LARGE_BYTES_MIN, LARGE_BYTES_MIN + 1, CACHED_BYTES_MAX, CACHED_BYTES_MAX + 1, 1 << 20];
        for (old, new) in sizes.iter().flat_map(|old| sizes.iter().map(move |new| (*old, *new))) {
            let [before, after] = [old, new].map(|size| Layout::from_size_align(size, 8).expect("a size and an alignment"));
            // SAFETY: each piece is written within its size, and given back with its own layout.
            unsafe {
                let first = Allocator.alloc(before);
                first.write_bytes(7, old);
                let second = Allocator.realloc(first, before, new);
                let kept = std::slice::from_raw_parts(second, old.min(new));
                assert!(kept.iter().all(|byte| *byte == 7), "{old} to {new}");
                Allocator.dealloc(second, after);
            }
        }
    }
}
