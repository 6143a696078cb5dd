//! What the machine (or the container) has: memory and disk space.

use std::fs::{self, File};
use std::mem::zeroed;
use std::os::fd::AsRawFd;
use std::path::Path;

/// The memory this process may use: the smallest of the machine's and the limits of its control groups, in bytes.
#[must_use]
pub fn memory_bytes() -> u64 {
    // SAFETY: sysconf takes no pointers.
    let (pages, page_bytes) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let machine = u64::try_from(pages).unwrap_or(0).saturating_mul(u64::try_from(page_bytes).unwrap_or(0));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    control_group_limits(Path::new("/sys/fs/cgroup"), &groups).fold(machine, u64::min)
}

/// The memory limits of the groups named in `/proc/self/cgroup` and of their parents, version 2 and version 1.
fn control_group_limits<'a>(root: &'a Path, groups: &'a str) -> impl Iterator<Item = u64> + 'a {
    groups.lines().flat_map(move |line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or(""), parts.next().unwrap_or("/"));
        let (base, file) =
            if controllers.is_empty() { (root.to_owned(), "memory.max") } else { (root.join("memory"), "memory.limit_in_bytes") };
        let relevant = controllers.is_empty() || controllers.split(',').any(|name| name == "memory");
        let group = base.join(path.trim_start_matches('/'));
        let folders: Vec<_> = group.ancestors().take_while(|folder| relevant && folder.starts_with(&base)).map(|f| f.join(file)).collect();
        folders.into_iter().filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok())
    })
}

/// What the kernel calls its start: what processes have left in its memory is there until it has another one. 0 if it does not say.
#[must_use]
pub fn boot_id() -> u128 {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    u128::from_str_radix(&text.trim().replace('-', ""), 16).unwrap_or(0)
}

/// The bytes a new file may take on the filesystem that holds `path`.
///
/// # Errors
/// When the operating system cannot tell, for instance because the path does not exist.
pub fn free_bytes(path: &Path) -> std::io::Result<u64> {
    free_bytes_of(&File::open(path)?)
}

/// The bytes that files may still take on the filesystem of an open file.
pub(crate) fn free_bytes_of(file: &File) -> std::io::Result<u64> {
    // SAFETY: all-zero is a valid statvfs.
    let mut status: libc::statvfs = unsafe { zeroed() };
    // SAFETY: the descriptor is open and the status valid for writing.
    if unsafe { libc::fstatvfs(file.as_raw_fd(), &raw mut status) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(status.f_bavail.saturating_mul(status.f_frsize))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_of_a_group_and_its_parents_counts() {
        let root = std::env::temp_dir().join(format!("tarndb-host-{}", std::process::id()));
        let group = root.join("a/b");
        fs::create_dir_all(&group).unwrap();
        fs::write(root.join("a/memory.max"), "1000\n").unwrap();
        fs::write(group.join("memory.max"), "max\n").unwrap();
        let limits: Vec<u64> = control_group_limits(&root, "0::/a/b\n").collect();
        assert_eq!(limits, [1000]);
        assert_eq!(control_group_limits(&root, "3:cpu:/a\n").count(), 0);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_machine_has_memory_and_the_root_has_a_filesystem() {
        assert!(memory_bytes() > 1 << 20);
        assert!(boot_id() != 0 && boot_id() == boot_id());
        free_bytes(Path::new("/")).unwrap();
        assert!(free_bytes(Path::new("/does/not/exist")).is_err());
    }
}
