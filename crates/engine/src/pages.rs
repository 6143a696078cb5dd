//! Pages that were opened lately, and rows copied out of them for point reads.
//!
//! A page is decompressed as a whole. A scan holds the page that it is in; a point read copies its row out, and the copy lives until
//! the turn is over, as rows are borrowed from the engine's memory. Of a page that has a directory both borrow
//! the rows where they lie.
//!
//! Invariants: an opened page is found by its place on the device and the nonce of that segment, so never one of an earlier use;
//! what is kept is bounded and counted against the memory limit.

use crate::engine::Engine;
use crate::error::{Damage, Miss, ReadError};
use crate::format::codec::Decoder;
use crate::format::page::{Decoded, OpenPage, PageView};
use crate::index::Rows;
use crate::key::{CachePolicy, Row};
use crate::location::Location;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::ops::Bound;
use std::rc::Rc;

/// Pages that are kept open.
const OPEN_MAX: usize = 16;
/// Bytes of pages that are kept open, as a part of the memory limit and at most.
const OPEN_PART: usize = 64;
const OPEN_BYTES_MAX: usize = 1 << 20;
/// Larger buffers are not kept.
const SPARE_BYTES_MAX: usize = 64 << 10;
/// Buffers that are kept for the next page.
const SPARE_MAX: usize = 2;
/// Copied rows beyond which they are dropped before the turn is over, at the next write.
const LENT_BYTES_MAX: usize = 1 << 20;

/// A page that was opened.
struct Opened {
    device: Location,
    nonce: u64,
    rows: Rc<Decoded>,
}

/// The pages kept open, the one used last at the end, and buffers.
struct Kept {
    opened: VecDeque<Opened>,
    spare: Vec<Rc<Decoded>>,
    bytes: usize,
    bytes_max: usize,
    decoder: Decoder,
}

/// What is in memory of pages besides their records.
pub(crate) struct Pages {
    kept: RefCell<Kept>,
    lent: Lent,
}

impl Pages {
    pub(crate) fn new(memory_limit_bytes: usize) -> Self {
        let bytes_max = (memory_limit_bytes / OPEN_PART).min(OPEN_BYTES_MAX);
        let kept = Kept { opened: VecDeque::new(), spare: Vec::new(), bytes: 0, bytes_max, decoder: Decoder::default() };
        Self { kept: RefCell::new(kept), lent: Lent::default() }
    }

    /// Memory of opened pages, buffers and copied rows.
    pub(crate) fn bytes(&self) -> usize {
        let kept = self.kept.borrow();
        kept.bytes + kept.decoder.heap_bytes() + self.lent.bytes()
    }

    /// A copy that lives until the turn is over.
    pub(crate) fn lend(&self, row: &[u8]) -> &[u8] {
        self.lent.copy(row)
    }

    /// The turn is over: nobody borrows rows any more.
    pub(crate) fn end_turn(&mut self) {
        self.lent.clear();
    }

    /// As `end_turn`, if it is worth it.
    pub(crate) fn end_operation(&mut self) {
        if self.lent.bytes.get() > LENT_BYTES_MAX {
            self.lent.clear();
        }
    }

    fn find(&self, device: Location, nonce: u64) -> Option<Rc<Decoded>> {
        let opened = &mut self.kept.borrow_mut().opened;
        let place = opened.iter().rposition(|page| page.device == device && page.nonce == nonce)?;
        let page = opened.remove(place)?;
        let rows = Rc::clone(&page.rows);
        opened.push_back(page);
        Some(rows)
    }

    pub(crate) fn buffer(&self) -> Rc<Decoded> {
        let kept = &mut *self.kept.borrow_mut();
        match kept.spare.pop() {
            Some(buffer) => {
                kept.bytes -= buffer.heap_bytes();
                buffer
            }
            None => Rc::default(),
        }
    }

    /// Reads a page into a buffer that nobody else holds; `None` if it makes no sense.
    pub(crate) fn read(&self, page: &PageView<'_>, rows: &mut Rc<Decoded>) -> Option<()> {
        own(rows).read(page, &mut self.kept.borrow_mut().decoder)
    }

    fn keep(&self, device: Location, nonce: u64, rows: &Rc<Decoded>) {
        let kept = &mut *self.kept.borrow_mut();
        kept.bytes += rows.heap_bytes();
        kept.opened.push_back(Opened { device, nonce, rows: Rc::clone(rows) });
        while kept.opened.len() > OPEN_MAX || (kept.bytes > kept.bytes_max && kept.opened.len() > 1) {
            let Some(oldest) = kept.opened.pop_front() else { return };
            kept.bytes -= oldest.rows.heap_bytes();
            kept.give_back(oldest.rows);
        }
    }

    /// A reader does not need the page any more.
    pub(crate) fn close(&self, rows: Rc<Decoded>) {
        self.kept.borrow_mut().give_back(rows);
    }
}

fn own(rows: &mut Rc<Decoded>) -> &mut Decoded {
    Rc::get_mut(rows).expect("a spare buffer is not shared")
}

impl Kept {
    fn give_back(&mut self, rows: Rc<Decoded>) {
        if Rc::strong_count(&rows) == 1 && self.spare.len() < SPARE_MAX && rows.heap_bytes() < SPARE_BYTES_MAX {
            self.bytes += rows.heap_bytes();
            self.spare.push(rows);
        }
    }
}

/// Cells that are filled one after the other.
type Shelf = Box<[OnceCell<Vec<u8>>]>;

/// Bytes that can be added to while others are borrowed: shelves of cells, each shelf twice as long as the one before. Short shelves and buffers
/// are kept for the next turn, so that most turns allocate nothing.
struct Lent {
    shelves: [OnceCell<Shelf>; Self::SHELVES],
    count: Cell<usize>,
    /// Of what is lent.
    bytes: Cell<usize>,
    spare: RefCell<Vec<Vec<u8>>>,
    /// Of the spare buffers.
    spare_bytes: Cell<usize>,
}

impl Default for Lent {
    fn default() -> Self {
        Self {
            shelves: [const { OnceCell::new() }; Self::SHELVES],
            count: Cell::new(0),
            bytes: Cell::new(0),
            spare: RefCell::default(),
            spare_bytes: Cell::new(0),
        }
    }
}

impl Lent {
    const SHELVES: usize = 48;
    /// Shelves that stay.
    const SHELVES_KEPT: usize = 7;
    /// Buffers that stay, as many as cells of those shelves, and how large they may be.
    const SPARE_MAX: usize = (1 << Self::SHELVES_KEPT) - 1;
    const SPARE_BYTES_MAX: usize = 2 << 10;

    /// What is lent, and what is kept for others.
    fn bytes(&self) -> usize {
        self.bytes.get() + self.spare_bytes.get()
    }

    fn copy(&self, bytes: &[u8]) -> &[u8] {
        let number = self.count.get() + 1;
        self.count.set(number);
        let mut kept = self.spare.borrow_mut().pop().unwrap_or_default();
        self.spare_bytes.set(self.spare_bytes.get() - kept.capacity());
        kept.extend_from_slice(bytes);
        self.bytes.set(self.bytes.get() + kept.capacity() + size_of::<Vec<u8>>());
        let shelf = number.ilog2() as usize;
        let cells = self.shelves[shelf].get_or_init(|| (0..1usize << shelf).map(|_| OnceCell::new()).collect());
        cells[number - (1 << shelf)].get_or_init(|| kept)
    }

    fn clear(&mut self) {
        if self.count.get() == 0 {
            return;
        }
        let (spare, spare_bytes) = (self.spare.get_mut(), self.spare_bytes.get_mut());
        for shelf in &mut self.shelves[..Self::SHELVES_KEPT] {
            for mut bytes in shelf.get_mut().into_iter().flatten().map_while(OnceCell::take) {
                if bytes.capacity() <= Self::SPARE_BYTES_MAX && spare.len() < Self::SPARE_MAX {
                    bytes.clear();
                    *spare_bytes += bytes.capacity();
                    spare.push(bytes);
                }
            }
        }
        self.shelves[Self::SHELVES_KEPT..].iter_mut().for_each(|shelf| drop(shelf.take()));
        (self.count, self.bytes) = (Cell::new(0), Cell::new(0));
    }
}

impl Engine {
    /// The rows of the page at a location of the index, `None` if it is on the device only.
    pub(crate) fn open_page(&self, location: Location, policy: CachePolicy) -> Result<Option<Rc<Decoded>>, ReadError> {
        if let Some(rows) = self.opened_page(location) {
            return Ok(Some(rows));
        }
        let Some(record) = self.record(location, policy)? else { return Ok(None) };
        let page = PageView::parse(record.row().bytes).ok_or_else(|| self.damaged_page(location))?;
        self.copy_page(location, &page, policy).map(Some)
    }

    /// The rows of a page between two keys, and perhaps others of it; `None` if it is on the device only.
    pub(crate) fn open_page_between(
        &self,
        location: Location,
        (from, to): (Bound<&[u8]>, Bound<&[u8]>),
        policy: CachePolicy,
    ) -> Result<Option<OpenPage<'_>>, ReadError> {
        if let Some(rows) = self.opened_page(location) {
            return Ok(Some(OpenPage { rows, in_place: None }));
        }
        let Some(record) = self.record(location, policy)? else { return Ok(None) };
        let page = PageView::parse(record.row().bytes).ok_or_else(|| self.damaged_page(location))?;
        let Some(in_place) = &page.in_place else {
            return Ok(Some(OpenPage { rows: self.copy_page(location, &page, policy)?, in_place: None }));
        };
        let mut rows = self.pages.buffer();
        let columns = own(&mut rows).locate(in_place, from, to).ok_or_else(|| self.damaged_page(location))?;
        Ok(Some(OpenPage { rows, in_place: Some(columns) }))
    }

    fn opened_page(&self, location: Location) -> Option<Rc<Decoded>> {
        let device = self.memory.device_location(location);
        self.pages.find(device, self.segments.get(device.segment()).nonce)
    }

    /// Copies the rows of the page that is there.
    fn copy_page(&self, location: Location, page: &PageView<'_>, policy: CachePolicy) -> Result<Rc<Decoded>, ReadError> {
        let mut rows = self.pages.buffer();
        self.pages.read(page, &mut rows).ok_or_else(|| self.damaged_page(location))?;
        if policy == CachePolicy::Keep {
            let device = self.memory.device_location(location);
            self.pages.keep(device, self.segments.get(device.segment()).nonce, &rows);
        }
        Ok(rows)
    }

    /// A row that is not among the single ones of its partition.
    pub(crate) fn get_from_page(&self, rows: &Rows, clustering: &[u8], policy: CachePolicy) -> Result<Option<Row<'_>>, ReadError> {
        let Some((_, page)) = rows.pages().and_then(|pages| pages.covering(clustering)).filter(|(_, page)| page.rows > 0) else {
            return Ok(None);
        };
        if let Some(found) = self.get_in_place(page.location, clustering, policy)? {
            return Ok(found);
        }
        let Some(decoded) = self.open_page(page.location, policy)? else {
            return Err(ReadError::Miss(Miss::one(page.location, policy)));
        };
        let found = decoded.search(clustering).ok().map(|number| {
            let row = decoded.row(number);
            Row { kind: row.kind, sequence: row.sequence, bytes: self.pages.lend(row.bytes) }
        });
        self.pages.close(decoded);
        Ok(found)
    }

    /// A row of a page that need not be opened for it, or that there is none; `None` if the page has to be opened.
    #[inline]
    fn get_in_place(&self, location: Location, clustering: &[u8], policy: CachePolicy) -> Result<Option<Option<Row<'_>>>, ReadError> {
        let Some(record) = self.record(location, policy)? else { return Ok(None) };
        let Some(in_place) = PageView::parse(record.row().bytes).and_then(|page| page.in_place) else { return Ok(None) };
        in_place.find(clustering).map(Some).ok_or_else(|| self.damaged_page(location))
    }

    #[cold]
    fn damaged_page(&self, location: Location) -> ReadError {
        let device = self.memory.device_location(location);
        ReadError::Damaged { segment: device.segment(), offset: device.offset(), damage: Damage::Page }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lent_bytes_stay_while_others_come() {
        let mut lent = Lent::default();
        for _ in 0..2 {
            let copies: Vec<&[u8]> = (0..1000u32).map(|number| lent.copy(&number.to_le_bytes())).collect();
            for (number, copy) in copies.iter().enumerate() {
                assert_eq!(*copy, (number as u32).to_le_bytes());
            }
            assert!(lent.bytes.get() > 4000);
            lent.clear();
            assert_eq!(lent.bytes.get(), 0);
        }
    }
}
