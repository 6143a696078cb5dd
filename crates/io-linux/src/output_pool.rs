//! Buffers for replies, lent to connections only while they have something to send.
//!
//! Idle connections own none, so ten thousand of them cost no buffers; the buffer used last is lent first, so it is still in the cache.

/// A buffer that grew larger than this is freed instead of kept.
const BUFFER_BYTES_MAX: usize = 256 * 1024;
/// How many idle buffers are kept.
const BUFFERS_MAX: usize = 64;
/// What a new buffer can hold before it grows.
const BUFFER_BYTES_FIRST: usize = 16 * 1024;

/// Idle output buffers of one core.
#[derive(Debug, Default)]
pub(crate) struct OutputPool {
    idle: Vec<Vec<u8>>,
}

impl OutputPool {
    /// An empty buffer with some capacity.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.idle.pop().unwrap_or_else(|| Vec::with_capacity(BUFFER_BYTES_FIRST))
    }

    /// Takes a buffer back.
    pub(crate) fn give(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() > 0 && buffer.capacity() <= BUFFER_BYTES_MAX && self.idle.len() < BUFFERS_MAX {
            buffer.clear();
            self.idle.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grown_buffers_are_freed_and_the_number_kept_is_bounded() {
        let mut pool = OutputPool::default();
        pool.give(Vec::with_capacity(BUFFER_BYTES_MAX + 1));
        assert!(pool.idle.is_empty());
        for _ in 0..2 * BUFFERS_MAX {
            pool.give(vec![1; 10]);
        }
        assert_eq!(pool.idle.len(), BUFFERS_MAX);
        assert!(pool.take().is_empty());
    }
}
