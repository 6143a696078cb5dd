//! The slots of one table: 64 pages of 64 slots, made when first used, so that an empty table costs half a kibibyte.

use super::slot::{Entry, SlotIndex};
use base::{SLOT_COUNT, Slot};

const PAGE_SLOTS: usize = 64;
const PAGES: usize = SLOT_COUNT as usize / PAGE_SLOTS;
const _: () = assert!(PAGES * PAGE_SLOTS == SLOT_COUNT as usize);

type Page = [SlotIndex; PAGE_SLOTS];

/// The index of one table.
pub(crate) struct Table {
    pages: Box<[Option<Box<Page>>; PAGES]>,
    rows: u64,
}

impl Table {
    pub(crate) fn new() -> Self {
        Self { pages: Box::new([const { None }; PAGES]), rows: 0 }
    }

    /// What the table's directory and pages take, the cells excluded.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + PAGES * size_of::<Option<Box<Page>>>() + self.pages.iter().flatten().count() * size_of::<Page>()
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    pub(crate) fn add_rows(&mut self, change: i64) {
        self.rows = self.rows.checked_add_signed(change).expect("a table never has less than no rows");
    }

    pub(crate) fn slot(&self, slot: Slot) -> Option<&SlotIndex> {
        let number = usize::from(slot.0);
        self.pages[number / PAGE_SLOTS].as_ref().map(|page| &page[number % PAGE_SLOTS])
    }

    /// The slot if its page exists.
    pub(crate) fn slot_existing(&mut self, slot: Slot) -> Option<&mut SlotIndex> {
        let number = usize::from(slot.0);
        self.pages[number / PAGE_SLOTS].as_mut().map(|page| &mut page[number % PAGE_SLOTS])
    }

    /// The slot, and the bytes that had to be allocated for its page.
    pub(crate) fn slot_mut(&mut self, slot: Slot) -> (&mut SlotIndex, usize) {
        let number = usize::from(slot.0);
        let page = &mut self.pages[number / PAGE_SLOTS];
        let allocated = if page.is_none() { size_of::<Page>() } else { 0 };
        let page = page.get_or_insert_with(|| Box::new([const { None::<SlotIndex> }; PAGE_SLOTS].map(Option::unwrap_or_default)));
        (&mut page[number % PAGE_SLOTS], allocated)
    }

    /// Every slot that has a page.
    pub(crate) fn slots_mut(&mut self) -> impl Iterator<Item = &mut SlotIndex> {
        self.pages.iter_mut().flatten().flat_map(|page| page.iter_mut())
    }

    /// Empties the first slot at or after `from` that has cells: its number, the entries, the bytes freed.
    pub(crate) fn take_slot(&mut self, from: usize) -> Option<(usize, Vec<Entry>, usize)> {
        for number in from..SLOT_COUNT as usize {
            let Some(page) = &mut self.pages[number / PAGE_SLOTS] else { continue };
            let slot = &mut page[number % PAGE_SLOTS];
            if slot.count() > 0 {
                let freed = slot.heap_bytes();
                return Some((number, slot.take(), freed));
            }
        }
        None
    }

    /// The first slot at or after `from` that has cells.
    pub(crate) fn next_slot(&self, from: usize) -> Option<(usize, &SlotIndex)> {
        let mut number = from;
        while number < SLOT_COUNT as usize {
            match &self.pages[number / PAGE_SLOTS] {
                None => number = (number / PAGE_SLOTS + 1) * PAGE_SLOTS,
                Some(page) => {
                    let slot = &page[number % PAGE_SLOTS];
                    if slot.count() > 0 {
                        return Some((number, slot));
                    }
                    number += 1;
                }
            }
        }
        None
    }
}
