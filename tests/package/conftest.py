"""A root for the package: this machine's files with a layer of memory over them, so that nothing of the machine is changed.

It runs in namespaces of its own (run.sh): mounts, network, processes.
"""

import os
import pathlib
import subprocess
import tempfile

import pytest

import server as servers
from sizes import pytest_collection_modifyitems, pytest_configure  # noqa: F401

PACKAGE = servers.ROOT / "scripts" / "package.sh"


class Root:
    """A root directory in which commands run."""

    def __init__(self, path: pathlib.Path):
        self.path = path

    def run(self, *words, check: bool = True) -> subprocess.CompletedProcess:
        # Nothing of the caller's decides how the package behaves.
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(["chroot", str(self.path), *words], capture_output=True, text=True, timeout=60, env=environment)
        assert not check or done.returncode == 0, f"{words} ended with {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def file(self, path: str) -> pathlib.Path:
        return self.path / path.removeprefix("/")


def mount(*words):
    subprocess.run(["mount", *words], check=True)


@pytest.fixture(scope="session")
def work():
    """A directory that is seen in the root, too, on the machine's own disk: the server wants files that bypass the page cache."""
    runs = servers.ROOT / ".cache" / "run"
    runs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="package-", dir=runs) as directory:
        yield pathlib.Path(directory)


@pytest.fixture(scope="session")
def root(work):
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    mount("--make-rprivate", "/")
    layer, merged = work / "layer", work / "root"
    for directory in (layer, merged, work / "lib"):
        directory.mkdir()
    mount("-t", "tmpfs", "tmpfs", str(layer))
    (layer / "upper").mkdir()
    (layer / "work").mkdir()
    mount("-t", "overlay", "overlay", "-o", f"lowerdir=/,upperdir={layer}/upper,workdir={layer}/work", str(merged))
    for directory in ("proc", "sys", "dev"):
        mount("--rbind", f"/{directory}", str(merged / directory))
    mount("-t", "tmpfs", "tmpfs", str(merged / "tmp"))
    # No service manager is there, whatever the machine has.
    mount("-t", "tmpfs", "tmpfs", str(merged / "run"))
    (merged / "var/lib/tarndb").mkdir(parents=True, exist_ok=True)
    mount("--bind", str(work / "lib"), str(merged / "var/lib/tarndb"))
    yield Root(merged)
    mounts = [line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
    for place in reversed([place for place in mounts if place.startswith(str(work))]):
        subprocess.run(["umount", "--lazy", place], check=True)


@pytest.fixture(scope="session")
def make(work):
    """Makes a package or an archive of the binary that is tested, in a directory of its own."""

    binary = work / "tarndb"
    subprocess.run(["strip", "--strip-debug", "-o", str(binary), servers.binary()], check=True)

    def make(kind: str, version: str, out: str) -> list[pathlib.Path]:
        directory = work / out
        if not directory.exists():
            command = [PACKAGE, kind, "--binary", str(binary), "--version", version, "--out", str(directory)]
            subprocess.run(command, check=True, capture_output=True, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
        return sorted(directory.iterdir())

    return make
