//! What a process of this machine has used, from `/proc`. What cannot be read is absent: nothing of a process that is gone, neither
//! device nor namespace of somebody else's.

use std::fs;
use std::path::PathBuf;

/// Figures of a process, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessFigures {
    /// CPU seconds, user and system, since it started.
    pub cpu_s: Option<f64>,
    /// Bytes resident now.
    pub memory: Option<u64>,
    /// The most bytes that were resident.
    pub memory_peak: Option<u64>,
    /// Bytes that it had devices read: what a cache answered is not among them.
    pub device_read: Option<u64>,
    /// Bytes that it had devices write.
    pub device_written: Option<u64>,
    /// Bytes that all interfaces of its network namespace have received, loopback included: Linux does not count them by process.
    pub network_received: Option<u64>,
    /// Bytes that they have sent; what goes over loopback is in both.
    pub network_sent: Option<u64>,
}

impl ProcessFigures {
    /// Both together; what neither has is absent.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        fn both<T: std::ops::Add<Output = T>>(one: Option<T>, other: Option<T>) -> Option<T> {
            match (one, other) {
                (Some(one), Some(other)) => Some(one + other),
                (one, other) => one.or(other),
            }
        }
        Self {
            cpu_s: both(self.cpu_s, other.cpu_s),
            memory: both(self.memory, other.memory),
            memory_peak: both(self.memory_peak, other.memory_peak),
            device_read: both(self.device_read, other.device_read),
            device_written: both(self.device_written, other.device_written),
            network_received: both(self.network_received, other.network_received),
            network_sent: both(self.network_sent, other.network_sent),
        }
    }
}

/// Reads them: four small files.
#[must_use]
pub fn process_figures(pid: u32) -> ProcessFigures {
    let (status, io) = (read(pid, "status"), read(pid, "io"));
    let numbers = stat(pid);
    let cpu_s = numbers.get(USER_TIME).zip(numbers.get(SYSTEM_TIME)).map(|(user, system)| (user + system) / ticks_per_second());
    let network = network_bytes(&read(pid, "net/dev"));
    ProcessFigures {
        cpu_s,
        memory: field(&status, "VmRSS:").map(|kib| kib << 10),
        memory_peak: field(&status, "VmHWM:").map(|kib| kib << 10),
        device_read: field(&io, "read_bytes:"),
        device_written: field(&io, "write_bytes:"),
        network_received: network.map(|(received, _)| received),
        network_sent: network.map(|(_, sent)| sent),
    }
}

/// When a process started, in seconds since 1970.
#[must_use]
pub fn process_start_s(pid: u32) -> Option<f64> {
    let machine = fs::read_to_string("/proc/stat").unwrap_or_default();
    let booted = field(&machine, "btime ")?;
    Some(booted as f64 + stat(pid).get(START_TIME)? / ticks_per_second())
}

/// How many files and sockets a process has open.
#[must_use]
pub fn process_open_files(pid: u32) -> Option<u64> {
    fs::read_dir(format!("/proc/{pid}/fd")).ok().map(|files| files.count() as u64)
}

/// Name of the network namespace of a process: processes of one share their network figures.
#[must_use]
pub fn network_namespace(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/net")).ok()
}

fn read(pid: u32, file: &str) -> String {
    fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default()
}

/// The number after a name at the start of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)).and_then(|rest| rest.split_whitespace().next()?.parse().ok())
}

/// Places among what [`stat`] gives.
const USER_TIME: usize = 10;
const SYSTEM_TIME: usize = 11;
const START_TIME: usize = 18;

/// The numbers of `/proc/PID/stat` from the fourth field on (proc_pid_stat(5)): the name before them may hold anything, the state is a
/// letter.
fn stat(pid: u32) -> Vec<f64> {
    let text = read(pid, "stat");
    text.rsplit(')').next().unwrap_or("").split_whitespace().filter_map(|field| field.parse().ok()).collect()
}

fn ticks_per_second() -> f64 {
    // SAFETY: sysconf takes no pointers.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    if ticks > 0 { ticks as f64 } else { 100.0 }
}

/// Bytes received and sent of `/proc/PID/net/dev`, over all interfaces: after the name the first and the ninth number.
fn network_bytes(text: &str) -> Option<(u64, u64)> {
    let interfaces = text.lines().filter_map(|line| {
        let (_, numbers) = line.rsplit_once(':')?;
        let mut numbers = numbers.split_whitespace().map(str::parse::<u64>);
        Some((numbers.next()?.ok()?, numbers.nth(7)?.ok()?))
    });
    interfaces.reduce(|(received, sent), (more_received, more_sent)| (received + more_received, sent + more_sent))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    #[test]
    fn this_process_has_figures_and_one_that_is_not_there_has_none() {
        let me = std::process::id();
        let started = Instant::now();
        while process_figures(me).cpu_s.unwrap() == 0.0 {
            assert!(started.elapsed() < Duration::from_secs(60), "a loop takes CPU time");
        }
        let figures = process_figures(me);
        assert!(figures.memory.unwrap() > 0 && figures.memory_peak.unwrap() >= figures.memory.unwrap());
        assert!(process_open_files(me).unwrap() >= 3 && network_namespace(me).is_some());
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        let age_s = now_s - process_start_s(me).unwrap();
        assert!((-2.0..3600.0).contains(&age_s), "started {age_s} s ago");
        assert_eq!(process_figures(u32::MAX), ProcessFigures::default());
        assert_eq!((process_start_s(u32::MAX), process_open_files(u32::MAX), network_namespace(u32::MAX)), (None, None, None));
    }

    #[test]
    fn bytes_of_all_interfaces_are_summed() {
        let text = "Inter-|   Receive                                                |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
            lo:     700      7    0    0    0     0          0         0      700      7    0    0    0     0       0          0\n  \
            eth0:1000 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0\n";
        assert_eq!(network_bytes(text), Some((1700, 720)));
        assert_eq!((network_bytes(""), network_bytes("lo: 1 2 x")), (None, None));
    }
}
