"""Servers under benchmark: started on one CPU with private data and ports, stopped by their process id."""

import json
import pathlib
import select
import shutil
import subprocess
import sys
import time

from bench_machine import ROOT, BenchError, built, free_port, need, output_of, pinned, process_memory_peak

START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 60


class Certificate:
    """An authority for one run, and the certificate and key of a server on loopback that it has signed: P-256, as every server here shows it."""

    def __init__(self, directory: pathlib.Path):
        need("openssl", "openssl")
        directory.mkdir(parents=True)
        self.ca, self.certificate, self.key = (directory / name for name in ("ca.pem", "server.pem", "server.key"))
        made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        ca_key = directory / "ca.key"
        output_of([*made, "-subj", "/CN=benchmark", "-keyout", ca_key, "-out", self.ca], 60)
        signed = ["-CA", self.ca, "-CAkey", ca_key, "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"]
        output_of([*made, "-subj", "/CN=server", *signed, "-keyout", self.key, "-out", self.certificate], 60)


class Server:
    """A process and its directory, which is removed at the end."""

    name = ""

    def __init__(self, directory: pathlib.Path, cpu: int):
        self.directory, self.cpu = directory, cpu
        self.memory_peak = 0

    def __enter__(self):
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        self.log = open(self.directory / "log", "w", encoding="utf-8")
        self.process = subprocess.Popen(
            pinned(self.cpu, self.command()), stdout=subprocess.PIPE, stderr=self.log, text=True, cwd=self.directory
        )
        try:
            self.wait_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        try:
            self.memory_peak = process_memory_peak(self.pid)
        except (BenchError, FileNotFoundError):
            pass
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def pid(self) -> int:
        """The server's process: taskset replaces itself by it."""
        return self.process.pid

    def first_line(self) -> str:
        """The first line on its standard output."""
        if not select.select([self.process.stdout], [], [], START_SECONDS_MAX)[0]:
            raise BenchError(f"{self.name} was not ready within {START_SECONDS_MAX} s")
        line = self.process.stdout.readline()
        if not line:
            self.log.flush()
            raise BenchError(f"{self.name} did not start: {(self.directory / 'log').read_text()[-800:].strip()}")
        return line

    def command(self) -> list:
        """What to run."""
        raise NotImplementedError

    def wait_ready(self) -> None:
        """Returns when it serves clients."""
        raise NotImplementedError


class Tarndb(Server):
    """A single node with one core."""

    name = "TarnDB"

    def __init__(
        self, directory: pathlib.Path, cpu: int, memory_limit: str, capacity: str, certificate: Certificate | None = None, forbids_io_uring: bool = False
    ):
        super().__init__(directory, cpu)
        self.memory_limit, self.capacity, self.certificate = memory_limit, capacity, certificate
        self.forbids_io_uring = forbids_io_uring

    def command(self) -> list:
        tls = ["--tls-certificate", self.certificate.certificate, "--tls-key", self.certificate.key] if self.certificate else []
        without = [sys.executable, ROOT / "scripts" / "without_io_uring.py"] if self.forbids_io_uring else []
        return [
            *without, built("tarndb"), "start", "--cores", "1", "--data-dir", self.directory / "data", "--log", "warn",
            "--cql-port", "0", "--cql-shard-aware-port", "0", "--aerospike-port", "0", "--http-port", "0",
            "--memory-limit", self.memory_limit, "--capacity", self.capacity, *tls,
        ]  # fmt: skip

    def wait_ready(self) -> None:
        words = self.first_line().split()
        self.address = dict(word.split("=", 1) for word in words if "=" in word)["cql"]

    def load(self, cpu: int, seconds_max: int, **options) -> dict:
        """Runs the load generator; options are its flags."""
        flags = []
        for name, value in options.items():
            flag = "--" + name.replace("_", "-")
            flags += [flag] if value is True else [flag, str(value)]
        command = [built("loadgen"), "--address", self.address, "--seconds-max", seconds_max, *flags]
        if self.certificate:
            command += ["--tls-ca", self.certificate.ca]
        return json.loads(output_of(pinned(cpu, command), seconds_max + 60))


class Redis(Server):
    """Debian's redis-server, with or without its log."""

    def __init__(self, directory: pathlib.Path, cpu: int, appendonly: bool, certificate: Certificate | None = None):
        super().__init__(directory, cpu)
        self.appendonly, self.certificate = appendonly, certificate
        self.name = ("Redis, appendonly everysec" if appendonly else "Redis, no log") + (", TLS" if certificate else "")
        self.port = free_port()
        # Of redis-cli and redis-benchmark alike.
        self.reached_by = ["-p", self.port, *(["--tls", "--cacert", certificate.ca] if certificate else [])]

    def command(self) -> list:
        port = ["--port", self.port]
        if self.certificate:
            port = [
                "--port", 0, "--tls-port", self.port, "--tls-cert-file", self.certificate.certificate, "--tls-key-file", self.certificate.key,
                "--tls-ca-cert-file", self.certificate.ca, "--tls-auth-clients", "no",
            ]  # fmt: skip
        # No snapshots and no rewriting of the log: both would run in a child process beside the measurement.
        return [
            "redis-server", *port, "--bind", "127.0.0.1", "--dir", self.directory, "--save", "",
            "--appendonly", "yes" if self.appendonly else "no", "--appendfsync", "everysec",
            "--auto-aof-rewrite-percentage", "0", "--daemonize", "no", "--logfile", self.directory / "redis.log",
        ]  # fmt: skip

    def wait_ready(self) -> None:
        started = time.monotonic()
        while time.monotonic() - started < START_SECONDS_MAX:
            if self.process.poll() is not None:
                raise BenchError(f"{self.name} did not start: {(self.directory / 'redis.log').read_text()[-800:]}")
            done = subprocess.run(self.cli("ping"), check=False, capture_output=True, text=True)
            if done.stdout.strip() == "PONG":
                return
            time.sleep(0.05)
        raise BenchError(f"{self.name} was not ready within {START_SECONDS_MAX} s")

    def fill(self, keys: int, value_bytes: int) -> None:
        """Writes each key once."""
        value = b"x" * value_bytes
        head, tail = b"*3\r\n$3\r\nSET\r\n$16\r\n", b"\r\n$%d\r\n%s\r\n" % (value_bytes, value)
        client = subprocess.Popen(
            self.cli("--pipe"), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for first in range(0, keys, 1000):
            client.stdin.write(b"".join(head + b"key:%012d" % key + tail for key in range(first, min(first + 1000, keys))))
        client.stdin.close()
        if client.wait(120) != 0 or int(self.ask("dbsize")) != keys:
            raise BenchError(f"{self.name} did not take the rows")

    def cli(self, *words: str) -> list:
        """A command of redis-cli."""
        return ["redis-cli", *map(str, self.reached_by), *words]

    def ask(self, *words: str) -> str:
        """A reply of redis-cli."""
        return output_of(self.cli(*words), 30).strip()

    def missed(self) -> int:
        """Reads that found no key."""
        line = next(line for line in self.ask("info", "stats").splitlines() if line.startswith("keyspace_misses:"))
        return int(line.split(":")[1])

    def load(self, cpu: int, seconds_max: int, test: str, requests: int, keys: int, connections: int, depth: int, value_bytes: int) -> dict:
        """Runs redis-benchmark."""
        return redis_benchmark(self.reached_by, cpu, seconds_max, test, requests, keys, connections, depth, value_bytes)


class BareLoop(Server):
    """One thread that counts requests and sends a fixed reply for each: what the kernel's sockets cost alone."""

    name = "bare epoll loop"

    def command(self) -> list:
        return [built("examples/socket_io"), "epoll"]

    def wait_ready(self) -> None:
        self.reached_by = ["-p", int(self.first_line().strip())]

    load = Redis.load


def redis_benchmark(reached_by, cpu, seconds_max, test, requests, keys, connections, depth, value_bytes) -> dict:
    """One run of redis-benchmark."""
    command = [
        "redis-benchmark", *reached_by, "-t", test, "-n", requests, "-r", keys, "-c", connections, "-P", depth, "-d", value_bytes, "--csv",
    ]  # fmt: skip
    lines = output_of(pinned(cpu, command), seconds_max + 60).strip().splitlines()
    if len(lines) != 2:
        raise BenchError(f"redis-benchmark gave {len(lines)} lines instead of two")
    fields = dict(zip(*([field.strip('"') for field in line.split(",")] for line in lines)))
    return {"requests": requests, "requests_per_second": float(fields["rps"]), "latency_us": {
        "p50": float(fields["p50_latency_ms"]) * 1000, "p99": float(fields["p99_latency_ms"]) * 1000,
    }}  # fmt: skip
