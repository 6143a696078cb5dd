//! What files in the making are called.

use std::path::{Path, PathBuf};

/// The file of a new core in the making.
pub(super) fn new_file(directory: &Path, core: u16) -> PathBuf {
    directory.join(format!("relayout-{core}.data"))
}

/// The file behind a new core's stable memory in the making.
pub(super) fn new_buffer(directory: &Path, core: u16) -> PathBuf {
    directory.join(format!("relayout-{core}.buffer"))
}
