//! As primary: all rows of a slot are read before a replica leaves those in sync for its damaged ones. That replica wipes the slot, so whatever is damaged here,
//! too, and that nobody has read yet, would be gone for good.

use crate::cluster::membership::roles::{Place, Role};
use crate::cluster::rebuild::images::CHUNK_BYTES;
use crate::cluster::rebuild::queue::VERIFY;
use crate::core::Core;
use crate::message::Message;
use base::TableId;
use engine::WriteBatch;
use io::Reactor;
use shard::{Chunk, SlotScan};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// For so long a slot whose rows could all be read counts as whole: the replica says in this time that it has damaged rows, again and again.
const WHOLE_US: u64 = 60_000_000;

/// The slots to be read, and those that were.
#[derive(Default)]
pub(crate) struct Verification {
    slots: VecDeque<(Place, SlotScan)>,
    wanted: BTreeSet<Place>,
    /// Whether the first one waits for the device.
    pub(crate) waits: bool,
    /// Until when these count as whole.
    whole: BTreeMap<Place, u64>,
}

impl Verification {
    pub(crate) fn is_idle(&self) -> bool {
        self.slots.is_empty()
    }

    /// What was read too long ago counts no longer.
    pub(crate) fn forget_old(&mut self, now_us: u64) {
        self.whole.retain(|_, until_us| now_us < *until_us);
    }

    pub(crate) fn is_whole(&self, place: Place) -> bool {
        self.whole.contains_key(&place)
    }

    /// A slot of these tables is to be read, unless it is to be already.
    pub(crate) fn want(&mut self, place: Place, tables: impl IntoIterator<Item = TableId>) {
        if self.wanted.insert(place) {
            self.slots.push_back((place, SlotScan::new(tables, place.1)));
        }
    }

    fn ended(&mut self) {
        if let Some((place, _)) = self.slots.pop_front() {
            self.wanted.remove(&place);
        }
    }
}

impl Core {
    /// Reads a chunk; `None` if there is nothing to do for now.
    pub(crate) fn verify<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<()> {
        let cluster = self.cluster.as_mut()?;
        let verification = &mut cluster.rebuild.verification;
        if verification.waits {
            return None;
        }
        let (place, scan) = verification.slots.front_mut()?;
        let place = *place;
        if cluster.roles.get(place.0, place.1).is_none_or(|local| local.role != Role::Primary) {
            verification.ended();
            return Some(());
        }
        let now = reactor.now();
        match self.shard.scan_slot(now, VERIFY, scan, CHUNK_BYTES, &mut WriteBatch::new()) {
            Ok(Chunk::More) => {}
            Ok(Chunk::Waits) => verification.waits = true,
            // What is damaged the shard has noted.
            Ok(Chunk::End) => {
                if scan.damaged() == 0 {
                    verification.whole.insert(place, now.monotonic_us + WHOLE_US);
                }
                verification.ended();
            }
            Err(error) => {
                tracing::warn!(core = self.core.0, %error, "a slot cannot be read for now: a replica with damaged rows keeps them until it can");
                verification.ended();
            }
        }
        Some(())
    }
}
