//! A connection's streams: which are free, and which request each of the others has in flight.

use crate::traffic::Pending;
use crate::versions::Acknowledged;

/// What a stream is used for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    Free,
    Waiting(Pending),
    GivenUp,
}

/// By stream.
#[derive(Debug)]
pub(super) struct Slots {
    pub(super) slots: Vec<Slot>,
    pub(super) free: Vec<u16>,
    pub(super) waiting: usize,
    pub(super) given_up: usize,
    /// What was known of the fields of each request's row, `fields` a stream; empty unless the load verifies.
    known: Vec<Acknowledged>,
    fields: usize,
    /// Requests whose second half is to be sent now.
    pub(super) second_halves: Vec<u16>,
}

impl Slots {
    pub(super) fn new(fields: usize) -> Self {
        Self { slots: Vec::new(), free: Vec::new(), waiting: 0, given_up: 0, known: Vec::new(), fields, second_halves: Vec::new() }
    }

    #[inline]
    pub(super) fn known(&mut self, stream: u16) -> &mut [Acknowledged] {
        let start = usize::from(stream) * self.fields;
        &mut self.known[start..start + self.fields]
    }

    #[inline]
    pub(super) fn take_stream(&mut self) -> u16 {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::Free);
            self.known.resize(self.slots.len() * self.fields, Acknowledged::default());
            (self.slots.len() - 1) as u16
        })
    }

    /// All streams are free again.
    pub(super) fn reset(&mut self) {
        self.slots.iter_mut().for_each(|slot| *slot = Slot::Free);
        self.free.clear();
        self.free.extend((0..self.slots.len() as u16).rev());
        self.second_halves.clear();
        self.waiting = 0;
        self.given_up = 0;
    }
}
