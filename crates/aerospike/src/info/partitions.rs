//! Which partitions this node holds: a bit for each, the first in the highest bit of the first byte, in base 64.

use super::answer::list;
use super::view::NodeView;
use base::SLOT_COUNT;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Anything but 0 says that a record has one history: clients then ask its master, and know that reads are linearizable.
const REGIME: u32 = 1;

fn bitmap(is_held: bool) -> String {
    STANDARD.encode([if is_held { 0xFF } else { 0 }; SLOT_COUNT as usize / 8])
}

/// By namespace: regime, number of replicas, and a bitmap for each.
pub(super) fn replicas(view: &NodeView<'_>) -> String {
    let all = bitmap(true);
    list(view.namespaces.iter().map(|namespace| format!("{}:{REGIME},1,{all}", namespace.name)))
}

/// As clients before 2018 want it.
pub(super) fn replicas_all(view: &NodeView<'_>) -> String {
    let all = bitmap(true);
    list(view.namespaces.iter().map(|namespace| format!("{}:1,{all}", namespace.name)))
}

/// As clients before 2016 want it: one bitmap, of masters or of the others.
pub(super) fn replicas_master(view: &NodeView<'_>, is_master: bool) -> String {
    let bitmap = bitmap(is_master);
    list(view.namespaces.iter().map(|namespace| format!("{}:{bitmap}", namespace.name)))
}
