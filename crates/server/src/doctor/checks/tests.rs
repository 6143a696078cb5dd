//! Machines as they were captured, and what one thing that is different comes to.

use super::*;
use io_linux::ClockState;

fn good_machine() -> Facts {
    Facts {
        kernel: "6.1.0-28-amd64".to_owned(),
        io_uring_refusal: None,
        io_uring_disabled: Some("0".to_owned()),
        limits: "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max locked memory         8388608              8388608              bytes     \n\
                 Max open files            1024                 1048576              files     \n"
            .to_owned(),
        directory: "/var/lib/tarndb".into(),
        mounts: "27 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n".to_owned(),
        direct_io: Ok(true),
        free_bytes: Some(100 << 30),
        discard_max_bytes: Some("2147450880".to_owned()),
        rotational: Some("0".to_owned()),
        clock: Some(ClockState { is_synchronized: true, error_us: 1_200 }),
        huge_pages: Some("always [madvise] never".to_owned()),
        governors: vec!["performance".to_owned(); 4],
        cpus: 4,
        cpu_quota: None,
        memory: Memory::OfMachine(16 << 30),
        swaps: "Filename\tType\tSize\tUsed\tPriority".to_owned(),
    }
}

/// What is not good of a machine that differs in one thing.
fn found(change: impl FnOnce(&mut Facts)) -> Vec<(&'static str, Verdict)> {
    let mut machine = good_machine();
    change(&mut machine);
    let findings = all(&machine).into_iter().filter(|finding| finding.verdict != Verdict::Good);
    findings.inspect(|finding| assert!(finding.advice.is_some(), "{finding:?}")).map(|finding| (finding.what, finding.verdict)).collect()
}

#[test]
fn a_good_machine_needs_nothing() {
    assert_eq!(found(|_| {}), []);
}

#[test]
fn what_a_node_cannot_do_without_is_bad() {
    use Verdict::Bad;
    assert_eq!(found(|facts| facts.kernel = "5.10.0-33-amd64".to_owned()), [("kernel", Bad)]);
    assert_eq!(found(|facts| facts.limits = facts.limits.replace("1048576", "64")), [("open files", Bad)]);
    let old = |facts: &mut Facts| {
        facts.kernel = "5.11.22".to_owned();
        facts.limits = facts.limits.replace("8388608", "65536");
    };
    assert_eq!(found(old), [("locked memory", Bad)]);
    assert_eq!(found(|facts| facts.memory = Memory::OfControlGroup(64 << 20)), [("memory", Bad)]);
    assert_eq!(found(|facts| facts.cpu_quota = Some(0.5)), [("CPUs", Bad)]);
    assert_eq!(found(|facts| facts.direct_io = Err("Permission denied".to_owned())), [("data directory", Bad)]);
    assert_eq!(found(|facts| facts.free_bytes = Some(1 << 20)), [("data directory", Bad)]);
    for filesystem in ["tmpfs", "nfs4"] {
        assert_eq!(found(|facts| facts.mounts = facts.mounts.replace("ext4", filesystem)), [("filesystem", Bad)]);
    }
}

#[test]
fn what_a_node_does_better_with_is_advice() {
    use Verdict::Advice;
    assert_eq!(found(|facts| facts.io_uring_refusal = Some("Operation not permitted".to_owned())), [("io_uring", Advice)]);
    assert_eq!(found(|facts| facts.limits = facts.limits.replace("1048576", "4096")), [("open files", Advice)]);
    assert_eq!(found(|facts| facts.swaps += "\n/swapfile file 1 0 -2"), [("swap", Advice)]);
    assert_eq!(found(|facts| facts.cpu_quota = Some(2.5)), [("CPUs", Advice)]);
    assert_eq!(found(|facts| facts.governors[3] = "powersave".to_owned()), [("CPU frequency", Advice)]);
    assert_eq!(found(|facts| facts.huge_pages = Some("always madvise [never]".to_owned())), [("huge pages", Advice)]);
    assert_eq!(found(|facts| facts.direct_io = Ok(false)), [("data directory", Advice)]);
    assert_eq!(found(|facts| facts.mounts = facts.mounts.replace("ext4", "overlay")), [("filesystem", Advice)]);
    assert_eq!(found(|facts| facts.rotational = Some("1".to_owned())), [("disk", Advice)]);
    assert_eq!(found(|facts| facts.discard_max_bytes = Some("0".to_owned())), [("disk", Advice)]);
    assert_eq!(found(|facts| facts.clock = Some(ClockState { is_synchronized: false, error_us: 0 })), [("clock", Advice)]);
    assert_eq!(found(|facts| facts.clock = Some(ClockState { is_synchronized: true, error_us: 900_000 })), [("clock", Advice)]);
}

#[test]
fn a_container_without_anything_is_told_so_and_not_trusted() {
    let bare = |facts: &mut Facts| {
        facts.limits = String::new();
        facts.mounts = String::new();
        facts.kernel = String::new();
        facts.clock = None;
        facts.huge_pages = None;
        (facts.rotational, facts.governors) = (None, Vec::new());
    };
    let found = found(bare);
    assert_eq!(found.iter().map(|(what, _)| *what).collect::<Vec<_>>(), ["kernel", "open files", "huge pages", "filesystem", "clock"]);
}

#[test]
fn why_io_uring_is_refused_decides_what_to_do() {
    let advice = |disabled: Option<&str>| {
        let facts = Facts {
            io_uring_refusal: Some("Operation not permitted".to_owned()),
            io_uring_disabled: disabled.map(str::to_owned),
            ..good_machine()
        };
        io_uring(&facts).advice.expect("advice")
    };
    assert!(advice(Some("2")).starts_with("sysctl"), "{}", advice(Some("2")));
    assert!(advice(Some("1")).contains("io_uring_group"));
    assert!(advice(None).contains("seccomp") && advice(Some("0")).contains("seccomp"));
}

#[test]
fn limits_are_read_as_the_kernel_writes_them() {
    let limits = "Max open files            1024                 unlimited            files     \n";
    assert_eq!(hard_limit(limits, "Max open files"), Some(u64::MAX));
    assert_eq!(hard_limit(limits, "Max locked memory"), None);
    assert_eq!(version("6.18.44-fc-v595"), Some((6, 18)));
    assert_eq!(version("rolling"), None);
}
