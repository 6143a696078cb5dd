"""What the benchmarks ask of the machine: programs, CPU time, memory, disk counters; and medians."""

import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class BenchError(Exception):
    """A benchmark that cannot be run or that is no measurement."""


def target_dir() -> pathlib.Path:
    """Where cargo builds."""
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def built(name: str) -> str:
    """A release binary of this project."""
    path = target_dir() / "release" / name
    if not path.exists():
        raise BenchError(f"{path} is missing; the shell script of this benchmark builds it")
    return str(path)


def need(package: str, *programs: str) -> None:
    """Fails unless the programs of a Debian package are installed."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise BenchError(f"{', '.join(missing)} is not installed: sudo apt-get install {package}")


def need_room(directory: pathlib.Path, disk_bytes: int, memory_bytes: int) -> None:
    """Fails unless there is enough disk and memory for what a benchmark takes at its peak."""
    free = shutil.disk_usage(directory).free
    if free < disk_bytes:
        raise BenchError(f"{directory} has {free >> 20} MiB free, {disk_bytes >> 20} MiB are needed; --scratch chooses another place")
    available = memory_available()
    if available < memory_bytes:
        raise BenchError(f"{available >> 20} MiB of memory are available, {memory_bytes >> 20} MiB are needed")


def memory_available() -> int:
    """Bytes of memory that can be had without swapping."""
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    raise BenchError("/proc/meminfo has no MemAvailable")


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def process_cpu_seconds(pid: int) -> float:
    """User and system time of all threads of a process, those that ended included."""
    return sum(process_user_and_system_seconds(pid))


def process_user_and_system_seconds(pid: int) -> tuple:
    """The same apart."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) / TICKS_PER_SECOND, int(fields[12]) / TICKS_PER_SECOND


def process_memory_peak(pid: int) -> int:
    """The most memory that a process had resident, in bytes."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    raise BenchError(f"process {pid} has no memory")


def process_io(pid: int) -> dict:
    """Bytes that a process had the device read and write."""
    fields = dict(line.split(": ") for line in pathlib.Path(f"/proc/{pid}/io").read_text().splitlines())
    return {"read_bytes": int(fields["read_bytes"]), "written_bytes": int(fields["write_bytes"])}


def cpu_busy_seconds(cpu: int) -> tuple:
    """How long a CPU was busy with anything, and how long the hypervisor kept it."""
    for line in pathlib.Path("/proc/stat").read_text().splitlines():
        if line.startswith(f"cpu{cpu} "):
            user, nice, system, _idle, _wait, irq, softirq, steal = (int(field) for field in line.split()[1:9])
            return (user + nice + system + irq + softirq) / TICKS_PER_SECOND, steal / TICKS_PER_SECOND
    raise BenchError(f"this machine has no CPU {cpu}")


def device_of(directory: pathlib.Path) -> str:
    """The name of the block device that a directory is on, as /proc/diskstats has it."""
    number = os.stat(directory).st_dev
    for line in pathlib.Path("/proc/diskstats").read_text().splitlines():
        major, minor, name = line.split()[:3]
        if os.makedev(int(major), int(minor)) == number:
            return name
    raise BenchError(f"{directory} is on no block device; --scratch chooses another place")


def device_counters(name: str) -> dict:
    """Reads and writes that a device has completed, and their bytes, since the machine started."""
    for line in pathlib.Path("/proc/diskstats").read_text().splitlines():
        fields = line.split()
        if fields[2] == name:
            return {
                "reads": int(fields[3]),
                "read_bytes": int(fields[5]) * 512,
                "writes": int(fields[7]),
                "written_bytes": int(fields[9]) * 512,
            }
    raise BenchError(f"/proc/diskstats has no device {name}")


def pinned(cpu: int, command: list) -> list:
    """A command that runs on one CPU only."""
    return ["taskset", "-c", str(cpu), *map(str, command)]


def output_of(command: list, seconds_max: float, **options) -> str:
    """What a command prints; it must succeed, in time."""
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=seconds_max, **options)
    except subprocess.TimeoutExpired:
        raise BenchError(f"{' '.join(command)} did not end within {seconds_max} s") from None
    if done.returncode != 0:
        raise BenchError(f"{' '.join(command)} failed with {done.returncode}: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout


class Window:
    """Measures a server while the load runs: its CPU time, and what else kept its CPU busy."""

    def __init__(self, pid: int, cpu: int):
        self.pid, self.cpu = pid, cpu

    def __enter__(self):
        self._before = (time.monotonic(), process_cpu_seconds(self.pid), *cpu_busy_seconds(self.cpu))
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            return
        now = (time.monotonic(), process_cpu_seconds(self.pid), *cpu_busy_seconds(self.cpu))
        self.seconds, self.cpu_seconds, busy, steal = (after - before for after, before in zip(now, self._before))
        self.share = self.cpu_seconds / self.seconds
        # What others ran on the server's CPU, or the hypervisor took: a quiet machine has next to nothing.
        self.foreign_share = max(0.0, busy - self.cpu_seconds + steal) / self.seconds


def summary(values: list) -> dict:
    """Median and spread."""
    return {"median": statistics.median(values), "least": min(values), "most": max(values), "values": values}


def about_this_run() -> dict:
    """Where and on what a run was made."""
    def first_line(command):
        try:
            return subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT).stdout.splitlines()[0]
        except (IndexError, FileNotFoundError):
            return "unknown"

    model = [line.partition(":")[2].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
    changed = subprocess.run(["git", "status", "--porcelain"], check=False, capture_output=True, text=True, cwd=ROOT).stdout.strip()
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "commit": first_line(["git", "rev-parse", "--short=12", "HEAD"]) + (" with changes" if changed else ""),
        "cpu": f"{len(model)} × {model[0] if model else 'unknown'}",
        "kernel": os.uname().release,
        "command": " ".join(["scripts/" + pathlib.Path(sys.argv[0]).name, *sys.argv[1:]]),
    }


def sentence(about: dict) -> str:
    """The same for people."""
    return f"Commit {about['commit']}, {about['date']}, {about['cpu']}, Linux {about['kernel']}, `{about['command']}`"


def run(main) -> None:
    """Runs a benchmark as a program."""
    try:
        sys.exit(main())
    except BenchError as error:
        sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: {error}")


def write_report(name: str, figures: dict, markdown: str) -> None:
    """Writes a report as JSON and Markdown, and prints it."""
    directory = target_dir() / "bench"
    directory.mkdir(parents=True, exist_ok=True)
    import json

    (directory / f"{name}.json").write_text(json.dumps(figures, indent=1) + "\n")
    (directory / f"{name}.md").write_text(markdown)
    print(markdown)
    print(f"written to {directory / name}.json and .md")
