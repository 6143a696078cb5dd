//! What a node's cores have done: Cassandra's tables of caches and thread pools, with what stands for these here.

use super::node_view::NodeView;
use super::row::{RowBuilder, bigint, double, int, text};

/// Frames of the log in memory, of all cores. A hit is a read that was not sent to a device.
pub(super) fn caches(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    let all = |figure: fn(&super::CoreFigures) -> u64| view.cores.iter().map(figure).sum::<u64>();
    let (requests, misses) = (all(|core| core.reads), all(|core| core.device_reads));
    let hits = requests.saturating_sub(misses);
    let ratio = if requests == 0 { f64::NAN } else { hits as f64 / requests as f64 };
    rows.row([
        ("name", text("frames")),
        ("hit_count", count(hits)),
        ("hit_ratio", double(ratio)),
        ("request_count", count(requests)),
        ("size_bytes", count(all(|core| core.frame_bytes))),
    ]);
}

/// A core is a pool of one thread that never blocks.
pub(super) fn thread_pools(view: &NodeView<'_>, rows: &mut RowBuilder<'_>) {
    for core in view.cores {
        rows.row([
            ("name", text(format!("core-{}", core.core))),
            ("active_tasks", int(core.requests_waiting.try_into().unwrap_or(i32::MAX))),
            ("blocked_tasks", bigint(0)),
            ("blocked_tasks_all_time", bigint(0)),
            ("completed_tasks", count(core.requests_answered)),
            ("pending_tasks", int(0)),
        ]);
    }
}

fn count(value: u64) -> Option<Vec<u8>> {
    bigint(i64::try_from(value).unwrap_or(i64::MAX))
}
