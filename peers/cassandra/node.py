#!/usr/bin/env python3
"""Starts, stops and asks one Cassandra node, whose state is a directory: configuration, data, logs and `state.json`.

Invariants: results go to stdout, all else to stderr; a failure is one line and a status that is not 0; only the process that this directory
names is signalled, and only while it is still the one that was started (its start time is kept beside its id); a start returns once CQL answers.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import time

from configuration import DURABILITIES, HERE, MEMORY_MIN, MIB, Configuration

LIMITED = HERE.parents[1] / "scripts" / "limited.sh"
START_SECONDS_MAX = 180
STOP_SECONDS_MAX = 120
OPEN_FILES = 100_000


class Failed(Exception):
    """One line for the person or program that asked."""


def say(text: str) -> None:
    """A line of progress."""
    print(f"cassandra: {text}", file=sys.stderr, flush=True)


# --- The machine ---------------------------------------------------------------------------------------------------------------------


def find_java() -> str:
    """A Java 17, which Cassandra 5.0 is made for: JAVA_HOME's, the path's, or an installed one."""
    candidates = [os.path.join(os.environ["JAVA_HOME"], "bin", "java")] if os.environ.get("JAVA_HOME") else []
    candidates += [shutil.which("java")] if shutil.which("java") else []
    candidates += sorted(str(path) for path in pathlib.Path("/usr/lib/jvm").glob("*17*/bin/java"))
    seen = []
    for java in candidates:
        if not os.access(java, os.X_OK):
            continue
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
        number = re.search(r'version "(\d+)', said)
        if number and number.group(1) == "17":
            return java
        seen.append(f"{java} is {number.group(1) if number else 'unknown'}")
    raise Failed(f"Cassandra 5.0 needs a JDK 17 (Debian: openjdk-17-jdk-headless); found {', '.join(seen) or 'no Java'}")


def memory_bytes(name: str) -> int:
    """A line of /proc/meminfo."""
    return next(int(line.split()[1]) * 1024 for line in open("/proc/meminfo", encoding="ascii") if line.startswith(name + ":"))


def readahead(directory: pathlib.Path):
    """The file that holds the readahead, in KiB, of the device under a directory; None when there is none."""
    while not directory.exists():
        directory = directory.parent
    number = os.stat(directory).st_dev
    device = pathlib.Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    for place in (device / "queue", device.resolve().parent / "queue"):
        if (place / "read_ahead_kb").exists():
            return place / "read_ahead_kb"
    return None


def find_jemalloc():
    """The allocator that Cassandra's start script preloads when it is installed (Debian: libjemalloc2)."""
    return next((str(path) for path in sorted(pathlib.Path("/usr/lib").glob("*/libjemalloc.so*"))), None)


# For rows of a kilobyte or less and more data than memory, as its production advice has it (README.md, "Tables").
TABLE_OPTIONS = "compression = {'class': 'LZ4Compressor', 'chunk_length_in_kb': 4}"

# Of a wait until it has settled, what is no work of the server's: three looks a second apart, and the Java program that looks.
LOOKING_SECONDS = 3.0


def machine_settings(directory: pathlib.Path) -> dict:
    """What the advice says about the machine and what it is."""
    file = readahead(directory)
    return {
        "machine.kernel": os.uname().release,
        "machine.readahead": f"{file.read_text().strip() if file else 'unknown'} KiB (advice for flash: 4)",
        "machine.open_files": f"{min(OPEN_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1])} (advice: {OPEN_FILES})",
        "machine.jemalloc": find_jemalloc() or "not installed (advice: preload it)",
        "machine.swap": f"{memory_bytes('SwapTotal') // MIB} MiB (advice: 0)",
        "machine.max_map_count": pathlib.Path("/proc/sys/vm/max_map_count").read_text().strip() + " (advice: 1048575)",
        "machine.transparent_hugepages": re.search(r"\[(\w+)\]", pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text()).group(1),
    }


def raise_limits() -> None:
    """Open files and locked memory as production advice wants them, as far as this user may."""
    for what, wanted in ((resource.RLIMIT_NOFILE, OPEN_FILES), (resource.RLIMIT_MEMLOCK, resource.RLIM_INFINITY)):
        hard = resource.getrlimit(what)[1]
        try:
            resource.setrlimit(what, (wanted, wanted if os.geteuid() == 0 else hard))
        except (ValueError, OSError):
            resource.setrlimit(what, (hard, hard))


def start_time(pid: int):
    """When a process started, in the kernel's ticks; None when it runs no more."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])


@contextlib.contextmanager
def signals_wait():
    """SIGINT and SIGTERM take effect at the end of the block; the process that is started in it has their usual effect."""
    came = []
    before = {number: signal.signal(number, lambda which, _: came.append(which)) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            os.kill(os.getpid(), came[0])


def cql_answers(port: int) -> bool:
    """Whether an OPTIONS frame gets SUPPORTED back."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
            connection.sendall(bytes([4, 0, 0, 0, 5, 0, 0, 0, 0]))
            reply = connection.recv(9)
            return len(reply) >= 5 and reply[4] == 6
    except OSError:
        return False


# --- The node ------------------------------------------------------------------------------------------------------------------------


class Node:
    """The node of one directory."""

    def __init__(self, directory: pathlib.Path, jars: pathlib.Path):
        self.directory, self.jars = directory, jars
        self.state_path = directory / "state.json"

    def state(self):
        """What `start` wrote down; None before the first start and after a stop."""
        return json.loads(self.state_path.read_text()) if self.state_path.exists() else None

    def running(self):
        """The state, if its process runs."""
        state = self.state()
        return state if state and start_time(state["pid"]) == state["start_time"] else None

    def must_run(self) -> dict:
        """The state, or a clear failure."""
        state = self.running()
        if not state:
            raise Failed(f"no node runs in {self.directory}: {self.why_ended()}")
        return state

    def start(self, wanted: Configuration, fresh: bool, readahead_kib) -> dict:
        """Starts it, unless it runs with just these settings."""
        settings = {**wanted.settings(), "memory_group": "yes" if wanted.limited else "no"}
        state = self.running()
        if state:
            if state["port"] != wanted.port or state["asked"] != settings:
                raise Failed(f"a node with other settings runs in {self.directory}, pid {state['pid']}: stop it first")
            say(f"already running, pid {state['pid']}")
            return state
        java = find_java()
        for port in range(wanted.port, wanted.port + 3):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    raise Failed(f"port {port} is in use by another process (a node takes three from its --port on)")
        if memory_bytes("MemAvailable") < (wanted.memory if wanted.limited else wanted.heap_mib * MIB * 3 // 2):
            raise Failed(f"not enough free memory: {memory_bytes('MemAvailable') // MIB} MiB are available")
        if fresh:
            shutil.rmtree(self.directory / "data", ignore_errors=True)
        conf = wanted.write()
        for log in (self.directory / "log").glob("*.log"):
            log.unlink()
        # What a node that died had changed is still to be given back.
        before = (self.state() or {}).get("readahead_before")
        # What is changed or started here is in the state before anything can end this: `stop` finds it there.
        with signals_wait():
            before = self.set_readahead(readahead_kib) if before is None else before
            process = None
            try:
                process = self.launch(java, conf, wanted)
                state = {
                    "pid": process.pid, "start_time": start_time(process.pid), "port": wanted.port, "address": f"127.0.0.1:{wanted.port}",
                    "group": self.group(wanted), "asked": settings, "settings": {**settings, **machine_settings(self.directory)}, "readahead_before": before,
                }  # fmt: skip
                self.state_path.write_text(json.dumps(state, indent=1))
            except BaseException:
                if process:
                    process.kill()
                self.restore_readahead(before)
                raise
        self.wait_ready(process, state)
        return state

    @staticmethod
    def group(wanted: Configuration):
        """The name of its memory group; None without a limit."""
        return f"cassandra-{wanted.port}" if wanted.limited else None

    def launch(self, java: str, conf: pathlib.Path, wanted: Configuration):
        """Starts the process; taskset and limited.sh replace themselves by it, so its id is the node's."""
        jamm = next(self.jars.glob("jamm-*.jar"), None)
        if not jamm:
            raise Failed(f"{self.jars} has no jars: run cassandra.sh install")
        log = self.directory / "log"
        command = [str(LIMITED), self.group(wanted), str(wanted.memory)] if wanted.limited else []
        command += ["taskset", "-c", ",".join(str(cpu) for cpu in wanted.cpus), java, f"-javaagent:{jamm}", *wanted.java_options()]
        command += [
            f"-Dcassandra.config=file://{conf}/cassandra.yaml", f"-Dlogback.configurationFile=file://{conf}/logback.xml",
            f"-Dcassandra.storagedir={self.directory}/data", f"-Dcassandra.logdir={log}", f"-Xlog:gc:file={log}/gc.log",
            f"-XX:ErrorFile={log}/java_error.log", "-Dcassandra-foreground=yes",
            # A single node waits for nobody.
            "-Dcassandra.skip_wait_for_gossip_to_settle=0", "-Dcassandra.ring_delay_ms=1",
            # JMX on loopback only, without a password.
            f"-Dcassandra.jmx.local.port={wanted.port + 2}", "-Dcom.sun.management.jmxremote.authenticate=false",
            "-cp", f"{conf}:{self.jars}/*", "org.apache.cassandra.service.CassandraDaemon",
        ]  # fmt: skip
        say(f"starting on 127.0.0.1:{wanted.port}, log in {log}")
        # As cassandra-env.sh does, against fragmented native memory.
        environment = {**os.environ, "MALLOC_ARENA_MAX": "4"}
        if find_jemalloc():
            environment["LD_PRELOAD"] = find_jemalloc()
        with open(log / "stdout.log", "ab") as out:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=self.directory, env=environment,
                start_new_session=True, preexec_fn=raise_limits,
            )  # fmt: skip

    def wait_ready(self, process, state) -> None:
        """Returns when CQL answers. A process that does not come up is ended."""
        deadline = time.monotonic() + START_SECONDS_MAX
        while not cql_answers(state["port"]):
            if process.poll() is not None:
                raise Failed(f"it ended with status {process.returncode} while starting: {self.why_ended()}")
            if time.monotonic() > deadline:
                self.end(state, signal.SIGKILL)
                raise Failed(f"CQL did not answer within {START_SECONDS_MAX} s, see {self.directory}/log/system.log")
            time.sleep(0.2)
        say(f"ready, pid {state['pid']}, cql={state['address']}")

    def stop(self) -> None:
        """Drains and ends it; gives the machine's readahead back."""
        state = self.running()
        if not state:
            say(f"not running in {self.directory}: {self.why_ended()}")
        else:
            if self.admin(state, ["drain"]) != 0:
                say("it could not be drained; the commit log has what was not flushed")
            self.end(state, signal.SIGTERM)
            say(f"stopped, pid {state['pid']}")
        state = self.state()
        self.restore_readahead(state and state["readahead_before"])
        if state and state["group"]:
            subprocess.run([LIMITED, "--remove", state["group"]], check=False)
        self.state_path.unlink(missing_ok=True)

    def end(self, state, how: signal.Signals) -> None:
        """Signals the process, if it is still the one that was started, and waits for its end."""
        descriptor = os.pidfd_open(state["pid"])
        try:
            if start_time(state["pid"]) != state["start_time"]:
                return
            signal.pidfd_send_signal(descriptor, how)
            if not select.select([descriptor], [], [], STOP_SECONDS_MAX)[0]:
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                raise Failed(f"it did not end within {STOP_SECONDS_MAX} s and was killed")
        finally:
            os.close(descriptor)

    def admin(self, state, words) -> int:
        """Runs Admin.java against the node, off the node's CPUs where there are others."""
        others = sorted(os.sched_getaffinity(0) - {int(cpu) for cpu in state["settings"]["cpus"].split(",")})
        command = ["taskset", "-c", ",".join(map(str, others))] if others else []
        command += [find_java(), "-Xmx128m", "-XX:TieredStopAtLevel=1", str(HERE / "Admin.java"), str(state["port"] + 2), *words]
        done = subprocess.run(command, stdout=sys.stderr, stderr=subprocess.PIPE if words == ["drain"] else None, check=False)
        return done.returncode

    def settle(self, seconds_max: int) -> float:
        """Returns when memtables are on disk and no compaction is pending or running, and how long that took."""
        began = time.monotonic()
        status = self.admin(self.must_run(), ["settle", str(seconds_max)])
        if status == 3:
            raise Failed(f"compactions were still pending after {seconds_max} s")
        if status != 0:
            raise Failed(f"its JMX port did not answer: {self.why_ended()}")
        return max(0.0, time.monotonic() - began - LOOKING_SECONDS)

    def drop_caches(self) -> None:
        """Key, row and counter cache. It has no other: the chunk cache is off, as shipped."""
        if self.admin(self.must_run(), ["drop-caches"]) != 0:
            raise Failed(f"its JMX port did not answer: {self.why_ended()}")

    def set_readahead(self, kib):
        """Sets the readahead of the device under the data and returns what to restore."""
        file = readahead(self.directory)
        if kib is None:
            if file and int(file.read_text()) > 64:
                say(f"the device's readahead is {file.read_text().strip()} KiB; Cassandra's advice for flash is 4 (--readahead 4 sets it until stop)")
            return None
        if not file or not os.access(file, os.W_OK):
            raise Failed("--readahead: the readahead of the data's device cannot be written by this user")
        before = {"file": str(file), "kib": file.read_text().strip()}
        file.write_text(str(kib))
        return before

    @staticmethod
    def restore_readahead(before) -> None:
        """Gives back what `set_readahead` returned."""
        if before:
            pathlib.Path(before["file"]).write_text(before["kib"])

    def why_ended(self) -> str:
        """The likely reason, from its group and its logs."""
        state = self.state()
        if state and state["group"]:
            usage = subprocess.run([LIMITED, "--usage", state["group"]], capture_output=True, text=True, check=False).stdout
            if re.search(r"killed=[1-9]", usage):
                return f"the memory limit killed it ({usage.strip()})"
        for name in ("system.log", "stdout.log"):
            path = self.directory / "log" / name
            lines = path.read_text(errors="replace").splitlines() if path.exists() else []
            errors = [line for line in lines if line.startswith(("ERROR", "Exception", "Error", "Caused by", "limited.sh"))]
            if errors:
                return f"{errors[-1][:300]} ({path})"
        return f"see {self.directory}/log" if state else "it was not started"


# --- The command line ----------------------------------------------------------------------------------------------------------------


def size(text: str) -> int:
    """`2GiB`, `512M` or a number of bytes."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(|B|[KMGT]i?B?)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is no size: write 2GiB, 512MiB or a number of bytes")
    return int(float(match.group(1)) * 1024 ** (" KMGT".index(match.group(2)[0]) if match.group(2) not in ("", "B") else 0))


def cpu_list(text: str) -> tuple:
    """`0`, `0,2` or `0-3`, of the CPUs that this process may use."""
    try:
        parts = [part.split("-") for part in text.split(",")]
        cpus = tuple(cpu for part in parts for cpu in range(int(part[0]), int(part[-1]) + 1))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no list of CPUs: write 0 or 0,2 or 0-3") from None
    missing = set(cpus) - os.sched_getaffinity(0)
    if missing:
        raise argparse.ArgumentTypeError(f"there is no CPU {min(missing)} here: there are {sorted(os.sched_getaffinity(0))}")
    return cpus


class Parser(argparse.ArgumentParser):
    """An unknown or wrong flag is one line."""

    def error(self, message):
        self.exit(2, f"cassandra: {message}\n")


def parse(arguments) -> argparse.Namespace:
    """Flags, with variables of the environment as their defaults."""
    environment = os.environ.get
    parser = Parser(prog="cassandra.sh", description="One Apache Cassandra node on loopback.")
    parser.add_argument("--jars", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("command", choices=["start", "stop", "status", "settings", "settle", "drop-caches"])
    parser.add_argument("--dir", type=lambda text: pathlib.Path(text).resolve(), default=environment("CASSANDRA_DIR"), help="data, logs, state")
    parser.add_argument("--port", type=int, default=environment("CASSANDRA_PORT", "9142"), help="of CQL; the two above are taken as well")
    parser.add_argument("--cpus", type=cpu_list, default=environment("CASSANDRA_CPUS"), help="taskset's list; all of them unless given")
    parser.add_argument("--memory", type=size, default=environment("CASSANDRA_MEMORY"), help="limit of all its memory, page cache included")
    parser.add_argument("--durability", choices=list(DURABILITIES), default=environment("CASSANDRA_DURABILITY", "periodic"))
    parser.add_argument("--commitlog-access", choices=["auto", "mmap"], default=environment("CASSANDRA_COMMITLOG_ACCESS", "auto"),
                        help="of --durability periodic: what kill -9 loses is up to 10 s with auto (shipped: direct I/O), 0.1 s with mmap")  # fmt: skip
    parser.add_argument("--compaction-throughput", default=environment("CASSANDRA_COMPACTION_THROUGHPUT", "64MiB/s"), help="0MiB/s: no throttle")
    parser.add_argument("--readahead", type=int, metavar="KIB", help="set the device's readahead until `stop` (system-wide)")
    parser.add_argument("--fresh", action="store_true", help="start with empty data")
    parser.add_argument("--timeout", type=int, default=600, metavar="S", help="of settle")
    return parser.parse_args(arguments)


def configuration(flags) -> Configuration:
    """What the flags ask for. Without writable control groups a memory limit bounds the heap only, and says so."""
    if flags.durability not in DURABILITIES:
        raise Failed(f"durability '{flags.durability}': there are {', '.join(DURABILITIES)}")
    limited = flags.memory is not None
    if limited and flags.memory < MEMORY_MIN:
        raise Failed(f"--memory {flags.memory // MIB}MiB is too little for Cassandra: give {MEMORY_MIN // MIB}MiB or more")
    if limited and subprocess.run([LIMITED, "--check"], capture_output=True, check=False).returncode != 0:
        say("memory control groups cannot be written here: --memory bounds heap and direct memory only, not the page cache")
        limited = False
    return Configuration(
        directory=flags.dir, port=flags.port, cpus=flags.cpus or tuple(sorted(os.sched_getaffinity(0))),
        memory=flags.memory or memory_bytes("MemTotal"), limited=limited, durability=flags.durability,
        commitlog_access=flags.commitlog_access, compaction_throughput=flags.compaction_throughput,
    )  # fmt: skip


def main(arguments) -> int:
    """Runs one command."""
    flags = parse(arguments)
    if flags.command == "settings" and flags.dir is None:
        flags.dir = pathlib.Path.cwd()
    elif flags.dir is None:
        raise Failed(f"{flags.command} needs --dir DIR")
    node = Node(flags.dir, flags.jars)
    match flags.command:
        case "start":
            state = node.start(configuration(flags), flags.fresh, flags.readahead)
            print(json.dumps({**{name: state[name] for name in ("pid", "address", "settings")}, "table": TABLE_OPTIONS}))
        case "stop":
            node.stop()
        case "status":
            state = node.must_run()
            print(f"running pid={state['pid']} cql={state['address']}")
        case "settings":
            state = node.running()
            settings = state["settings"] if state else {**configuration(flags).settings(), **machine_settings(flags.dir)}
            print("\n".join(f"{name}={value}" for name, value in settings.items()))
        case "settle":
            print(json.dumps({"seconds": round(node.settle(flags.timeout), 1)}))
        case "drop-caches":
            node.drop_caches()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failed as failure:
        sys.exit(f"cassandra: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
