//! What the control groups of this process allow, versions 1 and 2 (cgroups(7)): a group is bound by its own limit and by those of all its
//! parents, so the least counts.
//!
//! Inside a container the path in `/proc/self/cgroup` may be the host's, and the mount shows the container's group as its root. The files of
//! the root are read too, so this finds the limit.

use std::fs;
use std::path::{Path, PathBuf};

/// Where groups are mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// The least memory limit, in bytes; `None` without one.
pub(crate) fn memory_bytes_max() -> Option<u64> {
    memory_limit(Path::new(ROOT), &own_groups())
}

/// The least CPU quota, in CPUs: 1.5 is 150 ms of CPU time in each 100 ms. `None` without one.
#[must_use]
pub fn cpu_quota() -> Option<f64> {
    quota(Path::new(ROOT), &own_groups())
}

fn own_groups() -> String {
    fs::read_to_string("/proc/self/cgroup").unwrap_or_default()
}

fn memory_limit(root: &Path, groups: &str) -> Option<u64> {
    let limit = |(version, folder): (Version, PathBuf)| match version {
        Version::One => number(&folder.join("memory.limit_in_bytes")),
        Version::Two => number(&folder.join("memory.max")),
    };
    folders(root, groups, "memory").filter_map(limit).min()
}

fn quota(root: &Path, groups: &str) -> Option<f64> {
    let quota = |(version, folder): (Version, PathBuf)| {
        let (quota_us, period_us): (u64, u64) = match version {
            // -1 is no quota, and no `u64`.
            Version::One => (number(&folder.join("cpu.cfs_quota_us"))?, number(&folder.join("cpu.cfs_period_us"))?),
            Version::Two => {
                let text = fs::read_to_string(folder.join("cpu.max")).ok()?;
                let (quota, period) = text.trim().split_once(' ')?;
                (quota.parse().ok()?, period.parse().ok()?)
            }
        };
        (period_us > 0).then(|| quota_us as f64 / period_us as f64)
    };
    folders(root, groups, "cpu").filter_map(quota).min_by(f64::total_cmp)
}

/// A limit; `max` and -1 are none.
fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[derive(Clone, Copy)]
enum Version {
    One,
    Two,
}

/// The folders of the groups that `/proc/self/cgroup` names, and of their parents, which may limit what `controller` controls.
fn folders<'a>(root: &'a Path, groups: &'a str, controller: &'a str) -> impl Iterator<Item = (Version, PathBuf)> + 'a {
    groups.lines().flat_map(move |line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or(""), parts.next().unwrap_or("/"));
        let is_named = controllers.split(',').any(|name| name == controller);
        let (version, base) = match (controllers.is_empty(), root.join("unified")) {
            (false, _) => (Version::One, root.join(controller)),
            // Both versions are mounted.
            (true, unified) if unified.is_dir() => (Version::Two, unified),
            (true, _) => (Version::Two, root.to_owned()),
        };
        let group = base.join(path.trim_start_matches('/'));
        let is_relevant = controllers.is_empty() || is_named;
        let found =
            group.ancestors().take_while(|folder| is_relevant && folder.starts_with(&base)).map(|folder| (version, folder.to_owned()));
        found.collect::<Vec<_>>()
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A tree of groups with these files.
    fn with_tree(name: &str, files: &[(&str, &str)], test: impl FnOnce(&Path)) {
        let root = std::env::temp_dir().join(format!("tarndb-groups-{name}-{}", std::process::id()));
        for (file, text) in files {
            let file = root.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        test(&root);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn the_least_memory_limit_of_a_group_and_its_parents_counts() {
        let files = [("a/memory.max", "1000\n"), ("a/b/memory.max", "max\n"), ("memory/c/memory.limit_in_bytes", "700\n")];
        with_tree("memory", &files, |root| {
            assert_eq!(memory_limit(root, "0::/a/b\n"), Some(1000));
            assert_eq!(memory_limit(root, "4:memory:/c/d\n0::/a/b\n"), Some(700));
            assert_eq!(memory_limit(root, "3:cpu:/c\n"), None);
            assert_eq!(memory_limit(root, ""), None);
        });
    }

    #[test]
    fn the_least_cpu_quota_of_a_group_and_its_parents_counts() {
        let files = [("a/cpu.max", "150000 100000\n"), ("a/b/cpu.max", "max 100000\n"), ("a/c/cpu.max", "50000 100000\n")];
        with_tree("cpu", &files, |root| {
            assert_eq!(quota(root, "0::/a/b\n"), Some(1.5));
            assert_eq!(quota(root, "0::/a/c\n"), Some(0.5));
            assert_eq!(quota(root, "0::/d\n"), None);
        });
    }

    #[test]
    fn version_one_has_its_quota_in_two_files_and_none_is_minus_one() {
        let of = |quota, period| [("cpu/a/cpu.cfs_quota_us", quota), ("cpu/a/cpu.cfs_period_us", period)];
        with_tree("version-1", &of("300000\n", "100000\n"), |root| {
            assert_eq!(quota(root, "4:cpu,cpuacct:/a\n0::/\n"), Some(3.0));
            assert_eq!(quota(root, "4:cpu:/b\n"), None);
        });
        with_tree("version-1-none", &of("-1\n", "100000\n"), |root| assert_eq!(quota(root, "4:cpu:/a\n"), None));
    }

    #[test]
    fn a_container_that_sees_its_own_group_as_the_root_finds_its_limits() {
        let files = [("cpu.max", "200000 100000\n"), ("memory.max", "4096\n")];
        with_tree("container", &files, |root| {
            let groups = "0::/system.slice/docker-12ab.scope\n";
            assert_eq!((quota(root, groups), memory_limit(root, groups)), (Some(2.0), Some(4096)));
        });
    }
}
