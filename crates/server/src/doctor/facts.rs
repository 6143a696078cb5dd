//! What the machine says of itself, as it says it.

use io_linux::{ClockState, Memory};
use std::fs;
use std::path::{Path, PathBuf};

/// A machine. Texts are the kernel's own; what it does not tell is none.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// `/proc/sys/kernel/osrelease`.
    pub(super) kernel: String,
    /// Why io_uring cannot be used.
    pub(super) io_uring_refusal: Option<String>,
    /// `/proc/sys/kernel/io_uring_disabled`.
    pub(super) io_uring_disabled: Option<String>,
    /// `/proc/self/limits`.
    pub(super) limits: String,
    /// Where data is to be, or the directory above that is there.
    pub(super) directory: PathBuf,
    /// `/proc/self/mountinfo`.
    pub(super) mounts: String,
    /// Whether there is direct I/O, or why no file can be made.
    pub(super) direct_io: Result<bool, String>,
    pub(super) free_bytes: Option<u64>,
    /// `queue/discard_max_bytes` of the device below.
    pub(super) discard_max_bytes: Option<String>,
    /// `queue/rotational` of it.
    pub(super) rotational: Option<String>,
    pub(super) clock: Option<ClockState>,
    /// `/sys/kernel/mm/transparent_hugepage/enabled`.
    pub(super) huge_pages: Option<String>,
    /// `scaling_governor` of each CPU that has one.
    pub(super) governors: Vec<String>,
    /// CPUs that this process may run on.
    pub(super) cpus: usize,
    pub(super) cpu_quota: Option<f64>,
    pub(super) memory: Memory,
    /// `/proc/swaps`.
    pub(super) swaps: String,
}

impl Facts {
    pub(super) fn read(data_dir: &Path) -> Self {
        let text = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        let directory = existing(data_dir);
        let mounts = text("/proc/self/mountinfo").unwrap_or_default();
        let queue = |name: &str| {
            let device = Mount::of(&mounts, &directory)?.device;
            // Of a partition the queue is its disk's.
            let places = ["queue", "../queue"].map(|place| format!("/sys/dev/block/{device}/{place}/{name}"));
            places.iter().find_map(|place| text(place))
        };
        Self {
            kernel: text("/proc/sys/kernel/osrelease").unwrap_or_default(),
            io_uring_refusal: io_linux::io_uring_refusal().map(|refusal| refusal.to_string()),
            io_uring_disabled: text("/proc/sys/kernel/io_uring_disabled"),
            limits: text("/proc/self/limits").unwrap_or_default(),
            direct_io: io_linux::has_direct_io(&directory).map_err(|error| error.to_string()),
            free_bytes: io_linux::free_bytes(&directory).ok(),
            discard_max_bytes: queue("discard_max_bytes"),
            rotational: queue("rotational"),
            clock: io_linux::clock_state(),
            huge_pages: text("/sys/kernel/mm/transparent_hugepage/enabled"),
            governors: governors(),
            cpus: io_linux::available_cpus().len(),
            cpu_quota: io_linux::cpu_quota(),
            memory: io_linux::memory(),
            swaps: text("/proc/swaps").unwrap_or_default(),
            directory,
            mounts,
        }
    }
}

/// The directory, or the nearest one above it that is there.
fn existing(directory: &Path) -> PathBuf {
    let whole = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let found = whole.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("/"));
    found.canonicalize().unwrap_or_else(|_| found.to_owned())
}

fn governors() -> Vec<String> {
    let entries = fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    let read = entries.filter_map(|entry| fs::read_to_string(entry.path().join("cpufreq/scaling_governor")).ok());
    read.map(|governor| governor.trim().to_owned()).collect()
}

/// A line of `mountinfo`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// Major and minor number.
    pub(super) device: String,
    pub(super) place: PathBuf,
    pub(super) filesystem: String,
}

impl Mount {
    /// What a directory is on: of the mounts above it the deepest, and of those in one place the last.
    pub(super) fn of(mounts: &str, directory: &Path) -> Option<Self> {
        let above = mounts.lines().filter_map(Self::parse).filter(|mount| directory.starts_with(&mount.place));
        above.max_by_key(|mount| mount.place.components().count())
    }

    fn parse(line: &str) -> Option<Self> {
        let (mount, filesystem) = line.split_once(" - ")?;
        let mut fields = mount.split(' ');
        let (device, place) = (fields.nth(2)?.to_owned(), fields.nth(1)?.replace("\\040", " "));
        Some(Self { device, place: place.into(), filesystem: filesystem.split(' ').next()?.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_on_the_deepest_mount_above_it() {
        let mounts = "22 27 0:21 / /proc rw - proc proc rw\n27 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n\
                      30 27 259:0 / /var/lib/big\\040data rw shared:1 master:2 - xfs /dev/nvme0n1 rw\nrubbish\n";
        let on = |directory: &str| Mount::of(mounts, Path::new(directory)).map(|mount| (mount.device, mount.filesystem));
        let pair = |device: &str, filesystem: &str| Some((device.to_owned(), filesystem.to_owned()));
        assert_eq!(on("/var/lib/big data/x"), pair("259:0", "xfs"));
        assert_eq!(on("/var/lib/big data2"), pair("8:1", "ext4"));
        assert_eq!(Mount::of("", Path::new("/")), None);
    }
}
