//! The machine that a study runs on, as far as it decides what comes out.

use base::format_size;
use std::collections::BTreeMap;
use std::path::Path;

/// Name and value as a person reads them; what cannot be read is left out.
#[must_use]
pub(super) fn environment(out: &Path, server_cpus: &[usize], load_cpus: &[usize]) -> BTreeMap<String, String> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        text.lines().find(|line| line.starts_with(name)).and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
    };
    let mut found = BTreeMap::new();
    let mut note = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            found.insert(name.to_owned(), value);
        }
    };
    note("CPU", field(&read("/proc/cpuinfo"), "model name"));
    note("CPUs of this process", Some(format!("{:?}", io_linux::available_cpus())));
    note("CPUs of the server", Some(cpus(server_cpus)));
    note("CPUs of the load generator", Some(cpus(load_cpus)));
    note("memory", Some(format_size(io_linux::memory_bytes())));
    note("kernel", Some(read("/proc/sys/kernel/osrelease").trim().to_owned()));
    note(
        "operating system",
        read("/etc/os-release").lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).map(|name| name.trim_matches('"').to_owned()),
    );
    let place = out.canonicalize().ok().and_then(|out| file_system(&read("/proc/self/mounts"), &out.to_string_lossy()));
    note("file system of the data", place);
    note("load of the machine before", read("/proc/loadavg").split(' ').next().map(str::to_owned));
    found
}

fn cpus(cpus: &[usize]) -> String {
    if cpus.is_empty() { "any".to_owned() } else { format!("{cpus:?}") }
}

/// Device and type of the file system that a path is on: the mount with the longest path that it begins with.
fn file_system(mounts: &str, path: &str) -> Option<String> {
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>()).filter(|fields| fields.len() > 2);
    let holds = |mount: &str| mount == "/" || path == mount || path.strip_prefix(mount).is_some_and(|rest| rest.starts_with('/'));
    let longest = fields.filter(|fields| holds(fields[1])).max_by_key(|fields| fields[1].len())?;
    Some(format!("{} on {}", longest[2], longest[0]))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_file_system_is_that_of_the_nearest_mount() {
        let mounts = "/dev/a / ext4 rw 0 0\n/dev/b /data xfs rw 0 0\n/dev/c /data2 btrfs rw 0 0\n";
        assert_eq!(file_system(mounts, "/data/x").unwrap(), "xfs on /dev/b");
        assert_eq!(file_system(mounts, "/data2/x").unwrap(), "btrfs on /dev/c");
        assert_eq!(file_system(mounts, "/dat").unwrap(), "ext4 on /dev/a");
        assert_eq!(file_system("", "/"), None);
    }

    #[test]
    fn this_machine_has_memory_and_a_kernel() {
        let found = environment(Path::new("."), &[0], &[]);
        assert_eq!(found["CPUs of the load generator"], "any");
        assert!(found.contains_key("memory") && found.contains_key("kernel"), "{found:?}");
    }
}
