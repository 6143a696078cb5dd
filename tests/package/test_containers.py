"""The clusters that the files for containers describe: their commands, as processes of one machine whose names are those of the containers."""

import contextlib
import os
import re
import signal
import subprocess
import time

import server as servers

PACKAGING = servers.ROOT / "packaging"
PATIENCE_S = 180
# A cluster of this test is smaller than that of an operator.
SMALL = {"TARNDB_CORES": "1", "TARNDB_PIN": "off", "TARNDB_MEMORY_LIMIT": "192MiB", "TARNDB_CAPACITY": "512MiB"}


def settings_of(flags: list[str]) -> list[str]:
    """Without the sizes, which SMALL sets."""
    sizes = [at for at, flag in enumerate(flags) if flag in ("--memory-limit", "--capacity")]
    return [flag for at, flag in enumerate(flags) if at not in sizes and at - 1 not in sizes]


@contextlib.contextmanager
def members(directory, commands: dict):
    """Processes by name: each with a command, its address by that name, and variables of its own."""
    running = []
    with open(directory / "log", "ab") as log:
        for name, (command, variables) in commands.items():
            environment = {"PATH": f"{directory}:/usr/bin:/bin", "TARNDB_DATA_DIR": str(directory / name), **SMALL, **variables}
            running.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
        try:
            yield
        finally:
            for process in running:
                process.send_signal(signal.SIGKILL)
                process.wait()


def wait_until_healthy(directory, at: str, count: int):
    """As a health check does; then all members have to be there."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        done = subprocess.run([servers.binary(), "status", "--http", at], capture_output=True, text=True)
        if done.returncode == 0 and len(re.findall(r"^ +\d+  up ", done.stdout, re.M)) == count:
            return
        assert time.monotonic() < deadline, done.stdout + done.stderr + (directory / "log").read_text()
        time.sleep(0.1)


def named(root, addresses: dict):
    """Names that this root's and this run's processes know."""
    hosts = root.file("/etc/hosts")
    hosts.write_text("127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in addresses.items()))
    subprocess.run(["mount", "--bind", str(hosts), "/etc/hosts"], check=True)


def test_the_members_of_the_compose_file_become_a_cluster(root, work):
    text = (PACKAGING / "docker" / "compose.yaml").read_text()
    commands = [[word.strip().strip('"') for word in line.split(",")] for line in re.findall(r"^ +command: \[(.*)\]$", text, re.M)]
    names = re.findall(r"^ +hostname: (\S+)$", text, re.M)
    assert len(commands) == len(names) == 3
    directory = work / "compose"
    directory.mkdir()
    named(root, {name: f"127.0.1.{number}" for number, name in enumerate(names, 1)})
    try:
        started = {name: ([servers.binary(), "start", *settings_of(flags)], {}) for name, flags in zip(names, commands, strict=True)}
        with members(directory, started):
            wait_until_healthy(directory, f"{names[0]}:8080", 3)
    finally:
        subprocess.run(["umount", "/etc/hosts"], check=True)


def test_the_pods_of_the_stateful_set_become_a_cluster_and_come_back_elsewhere(root, work):
    text = (PACKAGING / "kubernetes" / "tarndb.yaml").read_text()
    script = re.search(r"args:\n +- \|\n((?: {14,}.*\n)+)", text)[1]
    directory = work / "kubernetes"
    directory.mkdir()
    os.symlink(servers.binary(), directory / "tarndb")

    def pods(block: int) -> dict:
        return {
            f"tarndb-{number}": (["/bin/sh", "-c", script], {"HOSTNAME": f"tarndb-{number}", "POD_IP": f"127.0.{block}.{number + 1}"})
            for number in range(3)
        }

    for block in (2, 3):
        named(root, {"tarndb-0.tarndb-members": f"127.0.{block}.1"})
        try:
            with members(directory, pods(block)):
                wait_until_healthy(directory, f"127.0.{block}.1:8080", 3)
        finally:
            subprocess.run(["umount", "/etc/hosts"], check=True)
