"""What an operator does with the package, in this order: each test goes on where the one before has ended."""

import configparser
import contextlib
import ctypes
import hashlib
import json
import os
import pathlib
import shlex
import signal
import socket
import subprocess
import tarfile
import tomllib

import pytest
from cassandra.cluster import Cluster

import server as servers
from patient import patient

UNIT = "/usr/lib/systemd/system/tarndb.service"
CONFIG = "/etc/tarndb/tarndb.toml"
OLD, NEW = "0.1.0~old", "0.1.0~old+new"
PATIENCE_S = 180
LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG = 1


class Unit(configparser.RawConfigParser):
    """What a unit file says; a key's last value counts."""

    def __init__(self, path: pathlib.Path):
        super().__init__(strict=False)
        self.optionxform = str
        self.read(path)


class Service:
    """The service as its unit has it started, with this process in the place of the service manager."""

    def __init__(self, root):
        self.root, self.messages = root, []
        service = Unit(root.file(UNIT))["Service"]
        assert service["Type"] == "notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.settimeout(PATIENCE_S)
        path = root.file("/run/notify")
        path.unlink(missing_ok=True)
        self.socket.bind(str(path))
        path.chmod(0o777)
        # Users are those of the root, not of the machine.
        users = {line.split(":")[0]: line.split(":") for line in root.file("/etc/passwd").read_text().splitlines()}
        user, group = int(users[service["User"]][2]), int(users[service["User"]][3])

        def become():
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            os.chroot(root.path)
            os.chdir("/")
            os.umask(int(service["UMask"], 8))
            os.setgroups([])
            os.setgid(group)
            os.setuid(user)

        environment = {"PATH": "/usr/bin:/bin", "NOTIFY_SOCKET": "/run/notify", "WATCHDOG_USEC": "4000000"}
        self.log = open(root.file("/tmp/log"), "ab")
        command = shlex.split(service["ExecStart"]) + ["--cores", "1", "--memory-limit", "192MiB", "--capacity", "512MiB", "--pin", "off"]
        self.process = subprocess.Popen(command, preexec_fn=become, env=environment, stdout=self.log, stderr=self.log)
        self.wait_for("READY=1")

    def wait_for(self, line: str):
        """Until the service says so."""
        while line not in self.messages:
            try:
                self.messages += self.socket.recv(4096).decode().splitlines()
            except TimeoutError:
                raise AssertionError(f"no {line}; the log: {self.root.file('/tmp/log').read_text()}") from None

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE_S) == 0, self.root.file("/tmp/log").read_text()
        self.socket.close()
        self.log.close()


@contextlib.contextmanager
def started(root):
    service = Service(root)
    try:
        yield service
    finally:
        service.stop()


@contextlib.contextmanager
def session():
    cluster = Cluster(["127.0.0.1"], **patient())
    try:
        yield cluster.connect()
    finally:
        cluster.shutdown()


def in_root(root, path: str) -> str:
    """Where a file of the machine is seen in the root: the layer below has it, too, unless it came later."""
    target = root.file("/tmp") / pathlib.Path(path).name
    target.write_bytes(pathlib.Path(path).read_bytes())
    return f"/tmp/{target.name}"


def deb(files) -> str:
    return str(next(file for file in files if file.suffix == ".deb"))


@pytest.mark.long
def test_the_same_binary_gives_the_same_package(make):
    one, two = (make("deb", OLD, name) for name in ("old", "again"))
    assert pathlib.Path(deb(one)).read_bytes() == pathlib.Path(deb(two)).read_bytes()
    sums = dict(reversed(line.split()) for line in (pathlib.Path(deb(one)).parent / "SHA256SUMS").read_text().splitlines())
    assert sums == {pathlib.Path(deb(one)).name: hashlib.sha256(pathlib.Path(deb(one)).read_bytes()).hexdigest()}


def test_it_is_installed(root, make):
    root.run("dpkg", "--install", in_root(root, deb(make("deb", OLD, "old"))))
    assert root.run("tarndb", "--version").stdout.startswith("tarndb 0.1.0")
    passwd = root.file("/etc/passwd").read_text()
    assert "\ntarndb:" in passwd
    shell = next(line for line in passwd.splitlines() if line.startswith("tarndb:")).rsplit(":", 1)[1]
    assert shell.endswith("nologin")
    assert root.file(CONFIG).stat().st_mode & 0o777 == 0o640
    assert root.file("/var/lib/tarndb").stat().st_mode & 0o777 == 0o700
    # Every key of the file is a setting, and so is every one that a comment shows.
    text = root.file(CONFIG).read_text()
    shown = "\n".join(line.removeprefix("#") for line in text.splitlines() if not line.startswith("# "))
    known = {line.split("`")[1] for line in (servers.ROOT / "docs/reference/config.md").read_text().splitlines() if line.startswith("| `")}
    assert set(tomllib.loads(shown)) <= known
    # dpkg does not know of anything that differs from what was packed.
    assert root.run("dpkg", "--verify", "tarndb").stdout == ""


def test_its_parts_are_what_others_read(root):
    for page in ("tarndb.1", "tarndb-start.1", "tarndb-bench-run.1"):
        manual = root.run("zcat", f"/usr/share/man/man1/{page}.gz").stdout
        assert ".SH NAME" in manual and ".SH OPTIONS" in manual, page
    assert "memory\\-limit" in root.run("zcat", "/usr/share/man/man1/tarndb-start.1.gz").stdout
    completed = 'source /usr/share/bash-completion/completions/tarndb; COMP_WORDS=(tarndb sta); COMP_CWORD=1; _tarndb tarndb sta tarndb; echo "${COMPREPLY[@]}"'
    assert root.run("bash", "-c", completed).stdout.split() == ["start", "status"]
    if root.run("which", "systemd-analyze", check=False).returncode == 0:
        verified = root.run("systemd-analyze", "verify", UNIT, check=False)
        assert "tarndb.service" not in verified.stdout + verified.stderr, verified.stderr


def test_it_runs_as_its_unit_says_and_keeps_rows_through_an_upgrade(root, make):
    with started(root) as service:
        with session() as cql:
            cql.execute("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
            cql.execute("CREATE TABLE k.t (a int PRIMARY KEY)")
            for row in range(100):
                cql.execute("INSERT INTO k.t (a) VALUES (%s)", (row,))
        service.wait_for("WATCHDOG=1")
        service.messages.clear()
        service.wait_for("WATCHDOG=1")
        files = [path for path in root.file("/var/lib/tarndb").rglob("*") if path.is_file()]
        assert files and all(path.stat().st_mode & 0o077 == 0 for path in files)
        # The new package comes while the old binary runs. A setting of the operator's stays.
        with open(root.file(CONFIG), "a") as config:
            config.write('cluster_name = "mine"\n')
        upgraded = root.run("dpkg", "--install", in_root(root, deb(make("deb", NEW, "new"))))
        assert f"Unpacking tarndb ({NEW}) over ({OLD})" in upgraded.stdout
    with started(root), session() as cql:
        assert cql.execute("SELECT count(*) FROM k.t").one().count == 100
        assert cql.execute("SELECT cluster_name FROM system.local").one().cluster_name == "mine"


def test_it_is_removed_and_purged_and_leaves_the_rows(root):
    root.run("dpkg", "--remove", "tarndb")
    assert not root.file("/usr/bin/tarndb").exists() and root.file(CONFIG).exists()
    purged = root.run("dpkg", "--purge", "tarndb")
    assert not root.file("/etc/tarndb").exists() and not root.file("/etc/logrotate.d/tarndb").exists()
    assert "/var/lib/tarndb is left" in purged.stderr
    assert any(root.file("/var/lib/tarndb").iterdir())


@pytest.mark.long
def test_an_archive_has_the_same_files_and_a_bill_of_materials(make):
    files = {file.name: file for file in make("archive", NEW, "archive")}
    archive = next(file for name, file in files.items() if name.endswith(".tar.gz"))
    again = next(file for file in make("archive", NEW, "archive-again") if file.name == archive.name)
    assert archive.read_bytes() == again.read_bytes()
    with tarfile.open(archive) as tar:
        names = {name.split("/", 1)[1] for name in tar.getnames() if "/" in name}
        assert {member.uid for member in tar.getmembers()} == {0}
    assert {"usr/bin/tarndb", "usr/share/man/man1/tarndb-start.1.gz", "usr/lib/systemd/system/tarndb.service", "etc/tarndb/tarndb.toml"} <= names
    bill = json.loads(next(file for name, file in files.items() if name.endswith(".cdx.json")).read_text())
    listed = {(component["name"], component["version"]) for component in bill["components"]}
    locked = {(package["name"], package["version"]) for package in tomllib.loads((servers.ROOT / "Cargo.lock").read_text())["package"]}
    assert listed <= locked and {"rustls", "raft", "io-uring", "tarndb-engine"} <= {name for name, _ in listed}
    assert all(component.get("licenses") for component in bill["components"])
    # Crates that only tests or builds need are not in the binary.
    assert "tempfile" not in {name for name, _ in listed}
