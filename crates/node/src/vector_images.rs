//! Images of graphs of vectors as blobs: `vectors-CORE-INDEX-PART`. The shard says what they hold (`shard::VectorPart`); a lost one costs time at the next start.

use crate::core::Core;
use crate::message::Message;
use crate::tags::node_tag;
use base::{CoreId, Now, TableId};
use io::{DISPENSABLE_PREFIX, DiskError, DiskRequest, Reactor};
use shard::{VectorImages, VectorPart};
use std::collections::BTreeMap;

/// The tag of such a blob: one is written at a time.
pub(crate) const VECTORS_TAG: u64 = 5;

fn blob_name(core: CoreId, index: TableId, part: u32) -> String {
    format!("{DISPENSABLE_PREFIX}{}-{}-{part}", core.0, index.0)
}

/// Core, index and part of a blob by its name.
fn place_of(name: &str) -> Option<(CoreId, TableId, u32)> {
    let mut numbers = name.strip_prefix(DISPENSABLE_PREFIX)?.split('-');
    let mut next = || numbers.next();
    let place = (CoreId(next()?.parse().ok()?), TableId(next()?.parse().ok()?), next()?.parse().ok()?);
    next().is_none().then_some(place)
}

/// Takes the images of all cores out of a node's blobs; those of cores that there are no more are dropped.
#[must_use]
pub fn take_vector_images(blobs: &mut BTreeMap<String, Vec<u8>>, cores: u16) -> Vec<VectorImages> {
    let mut by_core: Vec<BTreeMap<TableId, BTreeMap<u32, Vec<u8>>>> = vec![BTreeMap::new(); usize::from(cores)];
    let (images, others) = std::mem::take(blobs).into_iter().partition(|(name, _)| name.starts_with(DISPENSABLE_PREFIX));
    *blobs = others;
    let images: BTreeMap<String, Vec<u8>> = images;
    for (name, bytes) in images {
        // One without bytes has no use any more.
        let Some((core, index, part)) = place_of(&name).filter(|_| !bytes.is_empty()) else { continue };
        if let Some(images) = by_core.get_mut(usize::from(core.0)) {
            images.entry(index).or_default().insert(part, bytes);
        }
    }
    // A part that is missing shows by the number of the next one.
    let in_order = |images: BTreeMap<TableId, BTreeMap<u32, Vec<u8>>>| {
        images.into_iter().map(|(index, parts)| (index, parts.into_values().collect())).collect()
    };
    by_core.into_iter().map(in_order).collect()
}

impl Core {
    /// Stores the next part of an image that is due.
    pub(crate) fn vector_images_turn<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        if self.vector_part_in_flight.is_some() {
            return;
        }
        let Some(VectorPart { index, part, bytes }) = self.shard.next_vector_part(reactor.now()) else { return };
        self.vector_part_in_flight = Some(index);
        reactor.submit(node_tag(VECTORS_TAG), DiskRequest::ReplaceBlob { name: blob_name(self.core, index, part), bytes });
    }

    /// A part is stored, or could not be.
    pub(crate) fn vector_part_written(&mut self, now: Now, result: &Result<(), DiskError>) {
        let Some(index) = self.vector_part_in_flight.take() else { return };
        if let Err(error) = result {
            tracing::warn!(index = index.0, %error, "a graph of vectors could not be stored; unless a later try succeeds, it is built anew at the next start");
            self.shard.vector_part_failed(now, index);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn images_come_back_by_core_and_index_in_the_order_of_their_parts() {
        let mut blobs = BTreeMap::from([("schema.json".to_owned(), vec![1])]);
        for (core, index, part) in [(0, 7, 0), (0, 7, 2), (0, 7, 10), (1, 7, 0), (2, 7, 0)] {
            blobs.insert(blob_name(CoreId(core), TableId(index), part), vec![part as u8]);
        }
        blobs.insert(blob_name(CoreId(0), TableId(8), 0), Vec::new());
        for name in ["vectors-", "vectors-0-7", "vectors-0-7-1-1", "vectors-0-x-1"] {
            blobs.insert(name.to_owned(), vec![9]);
        }
        let images = take_vector_images(&mut blobs, 2);
        assert_eq!(
            images,
            [BTreeMap::from([(TableId(7), vec![vec![0], vec![2], vec![10]])]), BTreeMap::from([(TableId(7), vec![vec![0]])])]
        );
        assert_eq!(blobs.into_keys().collect::<Vec<_>>(), ["schema.json"]);
    }
}
