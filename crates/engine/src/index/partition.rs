//! Partitions with an ordered map of rows, and the slab that numbers them.

use super::pages::PageMap;
use super::rows::Rows;

/// A partition whose key and row locations are in DRAM.
pub(crate) struct Partition {
    pub(crate) key: Box<[u8]>,
    pub(crate) rows: Rows,
}

impl Partition {
    pub(crate) fn new(key: &[u8]) -> Self {
        Self { key: key.into(), rows: Rows::default() }
    }

    fn heap_bytes(&self) -> usize {
        self.key.len() + self.rows.heap_bytes()
    }
}

const CHUNK: usize = 256;

/// All partitions of a shard by number. Grows in chunks: nothing is ever copied.
pub(crate) struct Partitions {
    chunks: Vec<Box<[Option<Partition>]>>,
    free: Vec<u32>,
    heap_bytes: usize,
    count: usize,
    pages: usize,
    rows_in_pages: usize,
}

/// Pages of a partition and rows in them.
fn paged(rows: &Rows) -> (usize, usize) {
    rows.pages().map_or((0, 0), |pages: &PageMap| (pages.len(), pages.rows()))
}

impl Partitions {
    pub(crate) fn new() -> Self {
        Self { chunks: Vec::new(), free: Vec::new(), heap_bytes: 0, count: 0, pages: 0, rows_in_pages: 0 }
    }

    /// Pages of all partitions, and rows in them.
    pub(crate) fn paged(&self) -> (usize, usize) {
        (self.pages, self.rows_in_pages)
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn bytes(&self) -> usize {
        let free = self.free.capacity() * size_of::<u32>();
        self.heap_bytes + free + self.chunks.len() * CHUNK * size_of::<Option<Partition>>()
    }

    pub(crate) fn insert(&mut self, partition: Partition) -> u32 {
        self.heap_bytes += partition.heap_bytes();
        self.count += 1;
        let (pages, rows) = paged(&partition.rows);
        self.pages += pages;
        self.rows_in_pages += rows;
        if self.free.is_empty() {
            let first = self.chunks.len() * CHUNK;
            self.chunks.push((0..CHUNK).map(|_| None).collect());
            self.free.extend((first..first + CHUNK).rev().map(|number| number as u32));
        }
        let number = self.free.pop().expect("a chunk was added if none was free");
        self.chunks[number as usize / CHUNK][number as usize % CHUNK] = Some(partition);
        number
    }

    pub(crate) fn remove(&mut self, number: u32) -> Partition {
        let cell = &mut self.chunks[number as usize / CHUNK][number as usize % CHUNK];
        let partition = cell.take().expect("a cell of the index names a partition that exists");
        self.heap_bytes -= partition.heap_bytes();
        self.count -= 1;
        let (pages, rows) = paged(&partition.rows);
        self.pages -= pages;
        self.rows_in_pages -= rows;
        self.free.push(number);
        partition
    }

    pub(crate) fn get(&self, number: u32) -> &Partition {
        let cell = &self.chunks[number as usize / CHUNK][number as usize % CHUNK];
        cell.as_ref().expect("a cell of the index names a partition that exists")
    }

    /// The partition with this number, if there still is one.
    pub(crate) fn try_get(&self, number: u32) -> Option<&Partition> {
        self.chunks.get(number as usize / CHUNK)?[number as usize % CHUNK].as_ref()
    }

    /// Changes a partition's rows and keeps the account of bytes.
    pub(crate) fn change<T>(&mut self, number: u32, change: impl FnOnce(&mut Rows) -> T) -> T {
        let cell = &mut self.chunks[number as usize / CHUNK][number as usize % CHUNK];
        let partition = cell.as_mut().expect("a cell of the index names a partition that exists");
        let (before, (pages, rows)) = (partition.rows.heap_bytes(), paged(&partition.rows));
        let result = change(&mut partition.rows);
        self.heap_bytes = self.heap_bytes + partition.rows.heap_bytes() - before;
        let (pages_now, rows_now) = paged(&partition.rows);
        self.pages = self.pages + pages_now - pages;
        self.rows_in_pages = self.rows_in_pages + rows_now - rows;
        result
    }
}
