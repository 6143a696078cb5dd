//! How many bytes a piece of work takes from the allocator, on its own thread: what is given back in between counts as well, so a loop is seen, too.
#![allow(unsafe_code, reason = "counting allocations takes an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static TAKEN: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends allocates without its variables.
        let _ = TAKEN.try_with(|taken| taken.set(taken.get() + layout.size()));
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `GlobalAlloc::dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `work` gives, and how many bytes it has taken.
pub(crate) fn allocated<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = TAKEN.get();
    let done = work();
    (done, TAKEN.get() - before)
}
