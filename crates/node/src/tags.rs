//! Tags of what the node itself asks of the disk.

use io::DiskTag;

/// Disk tags from here up are the node's own; those below are the engine's.
pub(crate) const NODE_TAGS: u64 = 1 << 63;

/// The tag of a blob that the node writes.
pub(crate) fn node_tag(tag: u64) -> DiskTag {
    DiskTag(NODE_TAGS + tag)
}
