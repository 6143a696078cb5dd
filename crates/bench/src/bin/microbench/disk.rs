//! A disk in memory: every request completes at once.
//!
//! A real device fetches what is written by itself; here the copying costs the core time. It is kept out of the figures: the caller
//! times it separately.

use base::{AlignedBuffer, BLOCK_BYTES};
use io::{DiskCompletion, DiskError, DiskRequest, DiskTag, WriteSource};

const CHUNK_BYTES: usize = 1 << 20;

/// One file.
#[derive(Default)]
pub(crate) struct MemoryDisk {
    chunks: Vec<Option<AlignedBuffer>>,
    length: u64,
    waiting: Vec<(DiskTag, DiskRequest)>,
    pub(crate) bytes_written: u64,
}

impl MemoryDisk {
    /// Takes a request.
    pub(crate) fn submit(&mut self, tag: DiskTag, request: DiskRequest) {
        self.waiting.push((tag, request));
    }

    /// Whether nothing waits.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Does what was asked, in order.
    pub(crate) fn perform(&mut self) -> Vec<DiskCompletion> {
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_iter().map(|(tag, request)| self.perform_one(tag, request)).collect()
    }

    fn perform_one(&mut self, tag: DiskTag, request: DiskRequest) -> DiskCompletion {
        let mut buffer = None;
        let result = match request {
            DiskRequest::Read { offset, buffer: mut target, .. } => {
                let result = self.read(offset, &mut target);
                buffer = Some(target);
                result
            }
            DiskRequest::Write { offset, source: WriteSource::Owned(bytes, length), .. } => {
                let result = self.write(offset, &bytes[..length]);
                buffer = Some(bytes);
                result
            }
            DiskRequest::Write { offset, source: WriteSource::Shared(bytes, range), .. } => self.write(offset, &bytes[range]),
            DiskRequest::Extend { length, .. } => {
                self.length = self.length.max(length);
                self.chunks.resize_with((self.length as usize).div_ceil(CHUNK_BYTES), || None);
                Ok(())
            }
            DiskRequest::Populate { buffer: target } => {
                buffer = Some(target);
                Ok(())
            }
            DiskRequest::Compute { work } => {
                work.run();
                Ok(())
            }
            DiskRequest::Sync { .. } | DiskRequest::ReplaceBlob { .. } => Ok(()),
        };
        DiskCompletion { tag, result, buffer }
    }

    fn read(&self, offset: u64, target: &mut [u8]) -> Result<(), DiskError> {
        self.check(offset, target.len())?;
        for (block, bytes) in target.chunks_mut(BLOCK_BYTES).enumerate() {
            let at = offset as usize + block * BLOCK_BYTES;
            match &self.chunks[at / CHUNK_BYTES] {
                Some(chunk) => bytes.copy_from_slice(&chunk[at % CHUNK_BYTES..at % CHUNK_BYTES + bytes.len()]),
                None => bytes.fill(0),
            }
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, source: &[u8]) -> Result<(), DiskError> {
        self.check(offset, source.len())?;
        self.bytes_written += source.len() as u64;
        for (block, bytes) in source.chunks(BLOCK_BYTES).enumerate() {
            let at = offset as usize + block * BLOCK_BYTES;
            let chunk = self.chunks[at / CHUNK_BYTES].get_or_insert_with(|| AlignedBuffer::zeroed(CHUNK_BYTES));
            chunk[at % CHUNK_BYTES..at % CHUNK_BYTES + bytes.len()].copy_from_slice(bytes);
        }
        Ok(())
    }

    fn check(&self, offset: u64, wanted: usize) -> Result<(), DiskError> {
        let there = self.length.saturating_sub(offset) as usize;
        if there < wanted { Err(DiskError::Short { got: there, wanted }) } else { Ok(()) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use io::FileId;

    fn perform(disk: &mut MemoryDisk, request: DiskRequest) -> DiskCompletion {
        disk.submit(DiskTag(7), request);
        disk.perform().pop().unwrap()
    }

    #[test]
    fn what_is_written_across_chunks_is_read_back() {
        let mut disk = MemoryDisk::default();
        let file = FileId(0);
        assert_eq!(perform(&mut disk, DiskRequest::Extend { file, length: 4 << 20 }).result, Ok(()));
        let mut bytes = AlignedBuffer::zeroed(3 * BLOCK_BYTES);
        bytes.iter_mut().enumerate().for_each(|(index, byte)| *byte = (index / 7) as u8);
        let expected = bytes.to_vec();
        let offset = (CHUNK_BYTES - BLOCK_BYTES) as u64;
        let source = WriteSource::Owned(bytes, 3 * BLOCK_BYTES);
        assert_eq!(perform(&mut disk, DiskRequest::Write { file, offset, source }).result, Ok(()));
        let read = perform(&mut disk, DiskRequest::Read { file, offset, buffer: AlignedBuffer::zeroed(3 * BLOCK_BYTES) });
        assert_eq!(read.buffer.unwrap().to_vec(), expected);
        assert_eq!(disk.bytes_written, 3 * BLOCK_BYTES as u64);
    }

    #[test]
    fn reading_past_the_end_is_an_error() {
        let mut disk = MemoryDisk::default();
        let read = perform(&mut disk, DiskRequest::Read { file: FileId(0), offset: 0, buffer: AlignedBuffer::zeroed(1) });
        assert_eq!(read.result, Err(DiskError::Short { got: 0, wanted: BLOCK_BYTES }));
    }
}
