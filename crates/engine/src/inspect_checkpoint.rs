//! What a checkpoint names beyond the end of the data file, read offline from the images of its segments.

use crate::format::checkpoint::{CELL_BYTES, Chunks, Item, Malformed, read_chunk};
use crate::index::{Leaf, PageMap};
use crate::inspect::{Contents, SegmentInfo};
use crate::location::Location;
use std::collections::BTreeSet;

/// Counts what lies beyond the end of a file, by the checkpoint of the index.
pub struct BeyondEnd {
    file_bytes: u64,
    segment_bytes: u32,
    stream_bytes: u64,
    next_chunk: u64,
    /// An entry whose end has not come yet.
    partial: Vec<u8>,
    has_ended: bool,
    records: u64,
    segments: BTreeSet<u32>,
}

impl BeyondEnd {
    /// For a file of so many bytes, in segments of `segment_bytes`, and a checkpoint of `stream_bytes`.
    #[must_use]
    pub fn new(file_bytes: u64, segment_bytes: u32, stream_bytes: u64) -> Self {
        let (next_chunk, partial, has_ended, records, segments) = Default::default();
        Self { file_bytes, segment_bytes, stream_bytes, next_chunk, partial, has_ended, records, segments }
    }

    /// The image of the checkpoint's next segment. What is damaged, or comes out of order, ends the count.
    pub fn add(&mut self, image: &[u8], info: &SegmentInfo) {
        let Contents::Checkpoint { number, .. } = info.contents else { return };
        let chunks = Chunks::new(self.segment_bytes);
        let count = chunks.count(self.stream_bytes);
        let mut last = None;
        while self.next_chunk < count {
            let (ordinal, offset) = chunks.place(self.next_chunk as usize);
            if last.is_some_and(|last| last != ordinal) {
                break;
            }
            last = Some(ordinal);
            let payload = (self.stream_bytes - self.next_chunk * chunks.payload() as u64).min(chunks.payload() as u64) as usize;
            let chunk = image.get(offset..).unwrap_or_default();
            let Some(bytes) = read_chunk(chunk, payload, number, self.next_chunk as usize, info.salt(), offset) else { return };
            self.partial.extend_from_slice(bytes);
            self.next_chunk += 1;
            if self.take_entries().is_err() {
                return;
            }
        }
    }

    fn take_entries(&mut self) -> Result<(), Malformed> {
        let bytes = std::mem::take(&mut self.partial);
        let mut rest = &bytes[..];
        while let Some((item, length)) = Item::decode(rest)? {
            match item {
                Item::Cells { cells, .. } => cells.chunks_exact(CELL_BYTES).for_each(|cell| {
                    let word = cell[8..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
                    self.see(Location::from_word(word));
                }),
                Item::Rows(rows) => {
                    Leaf::decode(rows, |location| {
                        self.see(location);
                        Ok(false)
                    })?;
                }
                Item::Pages(pages) => PageMap::decode(pages)?.iter().for_each(|page| self.see(page.location)),
                Item::End { .. } => self.has_ended = true,
                _ => {}
            }
            rest = &rest[length..];
        }
        self.partial = rest.to_vec();
        Ok(())
    }

    fn see(&mut self, location: Location) {
        if !location.is_record() || location.segment().is_cache() {
            return;
        }
        let end = u64::from(location.segment().0) * u64::from(self.segment_bytes) + (location.offset() + location.padded()) as u64;
        if end > self.file_bytes {
            self.records += 1;
            self.segments.insert(location.segment().0);
        }
    }

    /// Records and segments that the checkpoint names and that lie beyond the end; `None` if it could not be read to its end.
    #[must_use]
    pub fn count(&self) -> Option<(u64, u64)> {
        self.has_ended.then_some((self.records, self.segments.len() as u64))
    }
}
