//! Rights on the files of a data directory: they hold rows and hashes of passwords, and are their owner's alone.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What others and the group may do.
const OF_OTHERS: u32 = 0o077;

/// How names begin of what a node keeps in its data directory. Other files, and the directory itself, may serve others.
const OWN: [&str; 7] = ["blobs", "encryption", "layout", "lock", "shard-", "sql-spill", "superuser-password"];

/// Takes the rights of others away from the node's files: programs of before gave some.
pub(crate) fn take_from_others(directory: &Path) {
    for_each_entry(directory, |path| {
        let is_own = path.file_name().is_some_and(|name| OWN.iter().any(|own| name.to_string_lossy().starts_with(own)));
        if is_own && path.is_dir() {
            for_each_entry(path, take);
        }
        if is_own {
            take(path);
        }
    });
}

fn for_each_entry(directory: &Path, act: impl Fn(&Path)) {
    if let Ok(entries) = fs::read_dir(directory) {
        entries.filter_map(Result::ok).for_each(|entry| act(&entry.path()));
    }
}

/// Of a file or directory; links are left alone.
fn take(path: &Path) {
    let Ok(found) = fs::symlink_metadata(path) else { return };
    let mode = found.permissions().mode();
    if found.file_type().is_symlink() || mode & OF_OTHERS == 0 {
        return;
    }
    if let Err(error) = fs::set_permissions(path, Permissions::from_mode(mode & !OF_OTHERS & 0o7777)) {
        tracing::warn!(path = %path.display(), %error, "others may read a file of the data directory, and that could not be changed");
    }
}
