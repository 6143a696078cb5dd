//! What follows from the facts of a machine.

use super::facts::{Facts, Mount};
use base::format_size;
use io_linux::Memory;
use std::path::Path;

/// The oldest kernel that has all that is asked of it.
const KERNEL_LEAST: (u32, u32) = (5, 11);
/// From this one on io_uring's memory does not count as locked.
const KERNEL_WITHOUT_MEMLOCK: (u32, u32) = (5, 12);
const MEMLOCK_LEAST: u64 = 8 << 20;
/// A node works with fewer descriptors, for few clients.
const DESCRIPTORS_LEAST: u64 = 256;
const DESCRIPTORS_GOOD: u64 = 65_536;
const FREE_BYTES_LEAST: u64 = 1 << 30;
const MEMORY_LEAST: u64 = 256 << 20;
/// Beyond this, clocks that are kept are not kept well.
const CLOCK_ERROR_US_MOST: u64 = 500_000;

/// How it is with one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Good,
    /// A node works, and could do better.
    Advice,
    /// A node does not work here, or not as it should.
    Bad,
}

impl Verdict {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Advice => "advice",
            Self::Bad => "bad",
        }
    }
}

/// What was looked at, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) what: &'static str,
    pub(super) verdict: Verdict,
    pub(super) says: String,
    /// What to do.
    pub(super) advice: Option<String>,
}

impl Finding {
    pub(super) fn good(what: &'static str, says: impl Into<String>) -> Self {
        Self { what, verdict: Verdict::Good, says: says.into(), advice: None }
    }

    pub(super) fn advice(what: &'static str, says: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what, verdict: Verdict::Advice, says: says.into(), advice: Some(advice.into()) }
    }

    pub(super) fn bad(what: &'static str, says: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what, verdict: Verdict::Bad, says: says.into(), advice: Some(advice.into()) }
    }
}

/// Everything, in the order in which it matters.
pub(super) fn all(facts: &Facts) -> Vec<Finding> {
    vec![
        kernel(&facts.kernel),
        io_uring(facts),
        descriptors(&facts.limits),
        locked_memory(facts),
        memory(facts.memory),
        swap(&facts.swaps),
        cpus(facts.cpus, facts.cpu_quota),
        governor(&facts.governors),
        huge_pages(facts.huge_pages.as_deref()),
        data_directory(facts),
        filesystem(&facts.mounts, &facts.directory),
        disk(facts),
        clock(facts.clock),
    ]
}

/// The first two numbers of a kernel's name.
fn version(kernel: &str) -> Option<(u32, u32)> {
    let mut numbers = kernel.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn kernel(kernel: &str) -> Finding {
    let (major, minor) = KERNEL_LEAST;
    match version(kernel) {
        None => Finding::advice(
            "kernel",
            format!("its name says no version: {kernel:?}"),
            format!("see that it is Linux {major}.{minor} or later"),
        ),
        Some(version) if version < KERNEL_LEAST => {
            Finding::bad("kernel", format!("Linux {kernel} is too old"), format!("install Linux {major}.{minor} or later"))
        }
        Some(_) => Finding::good("kernel", format!("Linux {kernel}")),
    }
}

fn io_uring(facts: &Facts) -> Finding {
    let Some(refusal) = &facts.io_uring_refusal else { return Finding::good("io_uring", "can be used") };
    let says = format!(
        "cannot be used: {refusal}; threads read and write the disk instead: requests that need it take twice the CPU (docs/benchmarks.md), others hardly more"
    );
    let advice = match facts.io_uring_disabled.as_deref() {
        Some("1") => "sysctl kernel.io_uring_disabled=0, or run the node in the group of kernel.io_uring_group",
        Some("2") => "sysctl kernel.io_uring_disabled=0",
        _ => {
            "the container's seccomp profile forbids it, most likely: allow io_uring_setup, io_uring_enter and io_uring_register (docker: --security-opt seccomp=FILE)"
        }
    };
    Finding::advice("io_uring", says, advice)
}

/// The hard limit of a line of `/proc/self/limits`; `unlimited` is the largest number.
fn hard_limit(limits: &str, name: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    match line.split_whitespace().nth(1)? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

fn descriptors(limits: &str) -> Finding {
    let advice = "raise it: LimitNOFILE=1048576 in the unit, --ulimit nofile=1048576 for a container, or /etc/security/limits.conf";
    match hard_limit(limits, "Max open files") {
        None => Finding::advice("open files", "the kernel does not tell the limit", advice),
        Some(max) if max < DESCRIPTORS_LEAST => Finding::bad("open files", format!("at most {max}, connections included"), advice),
        Some(max) if max < DESCRIPTORS_GOOD => Finding::advice("open files", format!("at most {max}, and so fewer clients"), advice),
        Some(u64::MAX) => Finding::good("open files", "without a limit"),
        Some(max) => Finding::good("open files", format!("at most {max}")),
    }
}

fn locked_memory(facts: &Facts) -> Finding {
    let max = hard_limit(&facts.limits, "Max locked memory").unwrap_or(0);
    let counts = version(&facts.kernel).is_some_and(|version| version < KERNEL_WITHOUT_MEMLOCK);
    if counts && max < MEMLOCK_LEAST {
        let says = format!("at most {}, of which this kernel takes io_uring's", format_size(max));
        return Finding::bad("locked memory", says, "raise it: LimitMEMLOCK=infinity in the unit, --ulimit memlock=-1 for a container");
    }
    Finding::good("locked memory", if counts { "enough for io_uring" } else { "nothing is locked" })
}

fn memory(memory: Memory) -> Finding {
    let whose = match memory {
        Memory::OfMachine(_) => "the machine's",
        Memory::OfControlGroup(_) => "the control group's",
    };
    let says = format!("{}, {whose}; memory_limit is half of it unless it is set", format_size(memory.bytes()));
    if memory.bytes() < MEMORY_LEAST {
        return Finding::bad("memory", says, format!("give it {} or more", format_size(MEMORY_LEAST)));
    }
    Finding::good("memory", says)
}

fn swap(swaps: &str) -> Finding {
    // The first line is the table's head.
    match swaps.lines().skip(1).count() {
        0 => Finding::good("swap", "none"),
        _ => Finding::advice(
            "swap",
            "is on: a request may wait for the index to come back from it",
            "swapoff -a, or MemorySwapMax=0 in the unit",
        ),
    }
}

fn cpus(cpus: usize, quota: Option<f64>) -> Finding {
    match quota {
        Some(quota) if quota < 1.0 => Finding::bad(
            "CPUs",
            format!("a quota of {quota} CPUs: the one core is stopped whenever it is used up"),
            "give the container 1 CPU or more, or none of a quota and CPUs of its own",
        ),
        Some(quota) if quota < cpus as f64 => Finding::advice(
            "CPUs",
            format!(
                "{cpus}, with a quota of {quota}: a node has {} cores, and the kernel stops all of them when it is used up",
                quota as u64
            ),
            "CPUs of its own (cpuset) keep latency flat, where a quota cannot",
        ),
        _ => Finding::good("CPUs", format!("{cpus}, without a quota below that")),
    }
}

fn governor(governors: &[String]) -> Finding {
    match governors.iter().find(|governor| *governor != "performance") {
        None if governors.is_empty() => Finding::good("CPU frequency", "is not for this system to choose"),
        None => Finding::good("CPU frequency", "governor performance"),
        Some(other) => Finding::advice(
            "CPU frequency",
            format!("governor {other}: CPUs that have rested are slow at first"),
            "cpupower frequency-set -g performance",
        ),
    }
}

fn huge_pages(enabled: Option<&str>) -> Finding {
    match enabled {
        None => Finding::advice(
            "huge pages",
            "this kernel has no transparent ones: large indexes cost more CPU",
            "a kernel with CONFIG_TRANSPARENT_HUGEPAGE",
        ),
        Some(enabled) if enabled.contains("[never]") => Finding::advice(
            "huge pages",
            "are off: large indexes cost more CPU",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        ),
        Some(_) => Finding::good("huge pages", "a node gets those that it asks for"),
    }
}

fn data_directory(facts: &Facts) -> Finding {
    let place = facts.directory.display();
    match (&facts.direct_io, facts.free_bytes) {
        (Err(error), _) => Finding::bad(
            "data directory",
            format!("no file can be made in {place}: {error}"),
            "make it writable for whom the node runs as, or name another with --data-dir",
        ),
        (Ok(_), Some(free)) if free < FREE_BYTES_LEAST => Finding::bad(
            "data directory",
            format!("{} free at {place}", format_size(free)),
            format!("make room: {} at the least", format_size(FREE_BYTES_LEAST)),
        ),
        (Ok(false), _) => Finding::advice(
            "data directory",
            format!("{place} has no direct I/O: reads and writes go through the kernel's cache, which takes memory and time"),
            "ext4 or XFS on a disk of this machine, or block devices (setting `devices`)",
        ),
        (Ok(true), free) => {
            Finding::good("data directory", format!("{place}, direct I/O, {} free", free.map_or("?".to_owned(), format_size)))
        }
    }
}

fn filesystem(mounts: &str, directory: &Path) -> Finding {
    let Some(Mount { filesystem, .. }) = Mount::of(mounts, directory) else {
        return Finding::advice("filesystem", "the kernel does not tell which it is", "ext4 or XFS are tested");
    };
    match filesystem.as_str() {
        "ext4" | "xfs" => Finding::good("filesystem", filesystem),
        "tmpfs" | "ramfs" => Finding::bad(
            "filesystem",
            format!("{filesystem}: in memory, and gone with the machine's next start"),
            "name a directory on a disk with --data-dir",
        ),
        "nfs" | "nfs4" | "cifs" | "smb3" | "9p" | "ceph" => Finding::bad(
            "filesystem",
            format!("{filesystem}: over the network, where locks and syncs do not mean what they should"),
            "a disk of this machine; other nodes have the copies",
        ),
        "overlay" => {
            Finding::advice("filesystem", "overlay: a container's own, and gone with it", "mount a volume, and name it with --data-dir")
        }
        "btrfs" | "zfs" | "bcachefs" => Finding::advice(
            "filesystem",
            format!("{filesystem} copies what is written over: more writes for the device"),
            "ext4 or XFS, or block devices (setting `devices`)",
        ),
        _ => Finding::advice("filesystem", format!("{filesystem} is not tested"), "ext4 or XFS are"),
    }
}

fn disk(facts: &Facts) -> Finding {
    match (facts.rotational.as_deref(), facts.discard_max_bytes.as_deref()) {
        (None, _) => Finding::good("disk", "the kernel does not tell of it"),
        (Some("1"), _) => Finding::advice(
            "disk",
            "says that it turns: reads of rows that are not in memory take milliseconds each",
            "flash; virtual disks may say so wrongly",
        ),
        (Some(_), Some("0") | None) => Finding::advice(
            "disk",
            "flash without discard: it does not learn which blocks are free",
            "nothing, if it is a virtual disk; else leave a tenth of it unused",
        ),
        (Some(_), Some(_)) => Finding::good("disk", "flash, with discard"),
    }
}

fn clock(clock: Option<io_linux::ClockState>) -> Finding {
    let advice = "run chrony or systemd-timesyncd: of two writes the later timestamp wins, whoever gave it";
    match clock {
        None => Finding::advice("clock", "the kernel does not tell whether it is kept", advice),
        Some(clock) if !clock.is_synchronized => Finding::advice("clock", "nothing keeps it by others'", advice),
        Some(clock) if clock.error_us > CLOCK_ERROR_US_MOST => Finding::advice(
            "clock",
            format!("is kept, and may be wrong by {} ms", clock.error_us / 1000),
            "look at its sources: chronyc sources, timedatectl timesync-status",
        ),
        Some(clock) => Finding::good("clock", format!("is kept, within {} ms", clock.error_us.div_ceil(1000))),
    }
}

#[cfg(test)]
mod tests;
