//! Buffers for replies, lent to connections only while they have something to send.
//!
//! Idle connections own none, so ten thousand of them cost no buffers; the buffer used last is lent first, so it is still in the cache.
//! The allocator gives freed memory back at once, so a large reply in a new buffer costs a page fault for each 4 KiB: large buffers are kept, too, as far as all idle
//! ones together stay within a bound.

/// A buffer that grew larger than this is freed instead of kept.
const BUFFER_BYTES_MAX: usize = 1 << 20;
/// What all idle buffers hold at most.
const IDLE_BYTES_MAX: usize = 8 << 20;
/// How many idle buffers are kept.
const BUFFERS_MAX: usize = 64;
/// What a new buffer can hold before it grows.
const BUFFER_BYTES_FIRST: usize = 16 * 1024;

/// Idle output buffers of one core.
#[derive(Debug, Default)]
pub(crate) struct OutputPool {
    idle: Vec<Vec<u8>>,
    idle_bytes: usize,
}

impl OutputPool {
    /// An empty buffer with some capacity.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        let Some(buffer) = self.idle.pop() else { return Vec::with_capacity(BUFFER_BYTES_FIRST) };
        self.idle_bytes -= buffer.capacity();
        buffer
    }

    /// Takes a buffer back.
    pub(crate) fn give(&mut self, mut buffer: Vec<u8>) {
        let bytes = buffer.capacity();
        let has_room = self.idle.len() < BUFFERS_MAX && self.idle_bytes + bytes <= IDLE_BYTES_MAX;
        if bytes > 0 && bytes <= BUFFER_BYTES_MAX && has_room {
            buffer.clear();
            self.idle_bytes += bytes;
            self.idle.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grown_buffers_are_freed_and_what_is_kept_is_bounded() {
        let mut pool = OutputPool::default();
        pool.give(Vec::with_capacity(BUFFER_BYTES_MAX + 1));
        assert!(pool.idle.is_empty());
        for _ in 0..2 * BUFFERS_MAX {
            pool.give(vec![1; 10]);
        }
        assert_eq!((pool.idle.len(), pool.idle_bytes), (BUFFERS_MAX, 10 * BUFFERS_MAX));
        while !pool.idle.is_empty() {
            assert!(pool.take().is_empty());
        }
        for _ in 0..2 * IDLE_BYTES_MAX / BUFFER_BYTES_MAX {
            pool.give(Vec::with_capacity(BUFFER_BYTES_MAX));
        }
        assert_eq!((pool.idle.len(), pool.idle_bytes), (IDLE_BYTES_MAX / BUFFER_BYTES_MAX, IDLE_BYTES_MAX));
    }
}
