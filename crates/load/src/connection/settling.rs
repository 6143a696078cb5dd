//! From replies to the requests that they answer: frees streams and tells the traffic.

use super::slots::{Slot, Slots};
use crate::target::Replies;
use crate::traffic::{Next, Pending, Traffic};

/// Hears of replies and settles them.
pub(super) struct Settling<'s, 't, 'a> {
    pub(super) slots: &'s mut Slots,
    pub(super) traffic: &'t mut Traffic<'a>,
    pub(super) now_ns: u64,
    /// A stream that nothing was asked on.
    pub(super) stray: Option<u16>,
}

impl Settling<'_, '_, '_> {
    /// Frees the stream of a reply and gives its request, if anybody still waits for it.
    #[inline]
    fn request(&mut self, stream: u16) -> Option<Pending> {
        let slots = &mut *self.slots;
        let slot = match slots.slots.get_mut(usize::from(stream)) {
            Some(slot) if !matches!(slot, Slot::Free) => slot,
            _ => {
                self.stray = Some(stream);
                return None;
            }
        };
        slots.free.push(stream);
        match std::mem::replace(slot, Slot::Free) {
            Slot::Waiting(pending) => {
                slots.waiting -= 1;
                Some(pending)
            }
            _ => {
                slots.given_up -= 1;
                None
            }
        }
    }
}

impl Replies for Settling<'_, '_, '_> {
    #[inline]
    fn written(&mut self, stream: u16) {
        if let Some(pending) = self.request(stream) {
            self.traffic.written(&pending, self.now_ns);
        }
    }

    #[inline]
    fn rows(&mut self, stream: u16, rows: usize, fields: &mut dyn Iterator<Item = Option<&[u8]>>) {
        let Some(mut pending) = self.request(stream) else { return };
        let next = self.traffic.rows(&mut pending, self.now_ns, rows, fields, self.slots.known(stream));
        if next == Next::SecondHalf {
            // It goes on, on the stream that it has.
            self.slots.free.pop();
            self.slots.slots[usize::from(stream)] = Slot::Waiting(pending);
            self.slots.waiting += 1;
            self.slots.second_halves.push(stream);
        }
    }

    fn refused(&mut self, stream: u16, kind: &'static str, message: &str) {
        if let Some(pending) = self.request(stream) {
            self.traffic.failed(&pending, kind, message);
        }
    }
}
