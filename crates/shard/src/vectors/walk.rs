//! A walk over the rows of a table that are there already: slot by slot, a chunk a turn.

use super::follow::follow;
use super::state::Phase;
use crate::{Chunk, RowKey, Shard, SlotScan};
use base::Now;
use engine::WriteBatch;

/// A walk reads so many bytes of rows a turn.
const WALKED_BYTES_A_TURN: usize = 32 << 10;
/// Nodes that are looked at in a turn for those that no row stands for.
const SWEPT_A_TURN: u32 = 8192;
/// The number by which the shard knows the scan of a walk: see [`Shard::scan_slot`].
pub const VECTORS_SCAN: u32 = u32::MAX - 17;

impl Shard {
    /// Shows a graph that is not complete the next rows of its table. All walks have one number, so one that waits is the one that goes on.
    pub(super) fn walk_vectors(&mut self, now: Now) {
        let built = &self.vectors.built;
        let waits = built.iter().position(|built| matches!(&built.phase, Phase::Walking(walk) if walk.waits));
        let goes_on = || built.iter().position(|built| matches!(&built.phase, Phase::Walking(walk) if !walk.is_paused));
        let Some(at) = waits.or_else(goes_on) else {
            // What a walk has waited for whose graph is gone.
            return self.forget_scan(VECTORS_SCAN);
        };
        let is_ready = self.take_scan_ready(VECTORS_SCAN);
        let built = &mut self.vectors.built[at];
        let (table, Phase::Walking(walk)) = (built.spec.table, &mut built.phase) else { return };
        walk.waits &= !is_ready;
        if walk.waits {
            return;
        }
        let Some((slot, after)) = walk.place.take() else {
            let next = self.engine.table_slots(table).find(|slot| slot.0 >= walk.next_slot);
            match next {
                Some(slot) => {
                    walk.next_slot = slot.0 + 1;
                    walk.place = Some((slot, None));
                }
                // What an image has had and no row has.
                None => match built.graph.as_mut().and_then(|graph| graph.remove_unseen(walk.swept, SWEPT_A_TURN)) {
                    Some(next) => walk.swept = next,
                    None => built.phase = Phase::Ready,
                },
            }
            return;
        };
        let mut scan = match after {
            None => SlotScan::new([table], slot),
            Some((token, partition, clustering)) => SlotScan::after([table], slot, RowKey { table, token, partition, clustering }),
        };
        let mut rows = WriteBatch::new();
        let outcome = self.scan_slot(now, VECTORS_SCAN, &mut scan, WALKED_BYTES_A_TURN, &mut rows);
        let built = &mut self.vectors.built[at];
        let (column, Phase::Walking(walk), Some(graph)) = (&built.spec.column, &mut built.phase, &mut built.graph) else { return };
        for row in rows.rows() {
            follow(graph, &**column, &row.key, row.row);
        }
        walk.seen += rows.len() as u64;
        let after = scan.position().map(|row| (row.token, row.partition.clone(), row.clustering.clone()));
        match outcome {
            Ok(Chunk::More) => walk.place = Some((slot, after)),
            Ok(Chunk::End) => {}
            Ok(Chunk::Waits) => (walk.place, walk.waits) = (Some((slot, after)), true),
            // Its rows cannot be read now: all rows are compared until they can.
            Err(_) => (walk.place, walk.is_paused) = (Some((slot, after)), true),
        }
    }
}
