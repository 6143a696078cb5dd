//! Buffers that connections borrow only while they have something to send, or have received a part of a request.
//!
//! Idle connections own none, so ten thousand of them cost no buffers; the buffer used last is lent first, so it is still in the cache.
//! The allocator gives freed memory back at once, so a large message in a new buffer costs a page fault for each 4 KiB: large buffers are kept, too, as far as all idle
//! ones together stay within a bound.

/// A buffer that grew larger than this is freed instead of kept.
const BUFFER_BYTES_MAX: usize = 1 << 20;
/// Messages that come in pieces have buffers of a pool from this size on.
const MESSAGE_BYTES_MIN: usize = 32 << 10;
/// So much memory is made ready for a message of which the first bytes have come, and not more than so many times those: what is announced costs nothing.
const RESERVED_BYTES_MAX: usize = 1 << 20;
const RESERVED_TIMES_MAX: usize = 16;
/// A buffer for a message holds a multiple of this, so that it fits the next message, too.
const ROUNDED_BYTES: usize = 64 << 10;
/// How many idle buffers are kept.
const BUFFERS_MAX: usize = 64;

/// Idle buffers of one core.
#[derive(Debug, Default)]
pub struct BufferPool {
    idle: Vec<Vec<u8>>,
    idle_bytes: usize,
    idle_bytes_max: usize,
}

impl BufferPool {
    /// One whose idle buffers hold at most so much.
    #[must_use]
    pub const fn new(idle_bytes_max: usize) -> Self {
        Self { idle: Vec::new(), idle_bytes: 0, idle_bytes_max }
    }

    /// An empty buffer; a new one holds `bytes_first` before it grows.
    pub fn take(&mut self, bytes_first: usize) -> Vec<u8> {
        let Some(buffer) = self.idle.pop() else { return Vec::with_capacity(bytes_first) };
        self.idle_bytes -= buffer.capacity();
        buffer
    }

    /// A buffer with the first bytes of a message that is to have `bytes` in all.
    pub fn begin_message(&mut self, first: &[u8], bytes: usize) -> Vec<u8> {
        let expected = bytes.min(RESERVED_BYTES_MAX);
        let is_pooled = (MESSAGE_BYTES_MIN..=RESERVED_TIMES_MAX * first.len()).contains(&expected);
        let mut buffer = if is_pooled { self.take_for(expected) } else { Vec::new() };
        buffer.extend_from_slice(first);
        buffer
    }

    /// Takes the buffer of a message back.
    pub fn end_message(&mut self, buffer: Vec<u8>) {
        if buffer.capacity() >= MESSAGE_BYTES_MIN {
            self.give(buffer);
        }
    }

    /// An empty buffer for so many bytes, not much larger than that.
    fn take_for(&mut self, bytes: usize) -> Vec<u8> {
        let fits = bytes..=(2 * bytes).max(ROUNDED_BYTES);
        let Some(place) = self.idle.iter().rposition(|buffer| fits.contains(&buffer.capacity())) else {
            return Vec::with_capacity(bytes.next_multiple_of(ROUNDED_BYTES));
        };
        let buffer = self.idle.remove(place);
        self.idle_bytes -= buffer.capacity();
        buffer
    }

    /// Takes a buffer back.
    pub fn give(&mut self, mut buffer: Vec<u8>) {
        let bytes = buffer.capacity();
        let has_room = self.idle.len() < BUFFERS_MAX && self.idle_bytes + bytes <= self.idle_bytes_max;
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
        const IDLE_BYTES_MAX: usize = 8 << 20;
        let mut pool = BufferPool::new(IDLE_BYTES_MAX);
        pool.give(Vec::with_capacity(BUFFER_BYTES_MAX + 1));
        assert!(pool.idle.is_empty());
        for _ in 0..2 * BUFFERS_MAX {
            pool.give(vec![1; 10]);
        }
        assert_eq!((pool.idle.len(), pool.idle_bytes), (BUFFERS_MAX, 10 * BUFFERS_MAX));
        while !pool.idle.is_empty() {
            assert!(pool.take(1).is_empty());
        }
        for _ in 0..2 * IDLE_BYTES_MAX / BUFFER_BYTES_MAX {
            pool.give(Vec::with_capacity(BUFFER_BYTES_MAX));
        }
        assert_eq!((pool.idle.len(), pool.idle_bytes), (IDLE_BYTES_MAX / BUFFER_BYTES_MAX, IDLE_BYTES_MAX));
    }

    #[test]
    fn a_message_gets_a_buffer_of_its_size() {
        let mut pool = BufferPool::new(1 << 20);
        let large = pool.take_for(300_000);
        assert_eq!(large.capacity(), 5 * ROUNDED_BYTES);
        pool.give(large);
        assert_eq!(pool.take_for(70_000).capacity(), 2 * ROUNDED_BYTES, "the idle one is too large");
        assert_eq!(pool.idle.len(), 1);
        assert_eq!(pool.take_for(320_000).capacity(), 5 * ROUNDED_BYTES);
        assert_eq!((pool.idle.len(), pool.idle_bytes), (0, 0));
    }
}
