//! Which partitions this node holds: a bit for each, the first in the highest bit of the first byte, in base 64.

use super::text::{list, number};
use super::view::{NodeView, PartitionSet, Partitions};
use base::SLOT_COUNT;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

fn bitmap(held: Option<&PartitionSet>) -> String {
    STANDARD.encode(held.unwrap_or(&[0; SLOT_COUNT as usize / 8]))
}

pub(super) fn generation(view: &NodeView<'_>) -> u64 {
    view.cluster.as_ref().map_or(1, |cluster| number(cluster.partition_generation()))
}

/// A line of namespaces, each with what its partitions come to.
fn namespaces(view: &NodeView<'_>, value: impl Fn(Partitions) -> String) -> String {
    list(view.namespaces.iter().map(|namespace| format!("{}:{}", namespace.name, value(view.partitions(&namespace.name)))))
}

fn bitmaps(partitions: &Partitions) -> String {
    partitions.held.iter().map(|held| format!(",{}", bitmap(Some(held)))).collect()
}

/// By namespace: regime, number of replicas, and a bitmap for each. Any regime but 0 says that a record has one history: clients then ask
/// its primary, and know that reads are linearizable.
pub(super) fn replicas(view: &NodeView<'_>) -> String {
    namespaces(view, |partitions| format!("{},{}{}", number(partitions.regime), partitions.held.len(), bitmaps(&partitions)))
}

/// As clients before 2018 want it.
pub(super) fn replicas_all(view: &NodeView<'_>) -> String {
    namespaces(view, |partitions| format!("{}{}", partitions.held.len(), bitmaps(&partitions)))
}

/// As clients before 2016 want it: one bitmap, of primaries or of the first replicas after them.
pub(super) fn replicas_master(view: &NodeView<'_>, is_master: bool) -> String {
    namespaces(view, |partitions| bitmap(partitions.held.get(usize::from(!is_master))))
}
