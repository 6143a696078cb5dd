"""A server with rows, the tool, and the two kinds of S3."""

import json
import os
import pathlib
import random
import subprocess
import time
import urllib.request

import boto3
import pytest
from cassandra.cluster import Cluster

import server as servers
from fake_s3 import BUCKET, FakeS3
from patient import patient

SECONDS_MAX = 180
KEY, SECRET = "AKIATARNDBTEST", "a-secret/of+the=tests"
# More than one part of the least size for each of two cores.
ROWS, ROW_BYTES = 180, 80_000
# The least that S3 takes.
PARTS = ("--s3-part-size", "5MiB")
KEYSPACE = "CREATE KEYSPACE {} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"


class Database:
    """A server with a keyspace of rows that do not get smaller."""

    def __init__(self, server):
        self.server = server
        host, port = server.state()["cql"].rsplit(":", 1)
        self.cluster = Cluster([host], port=int(port), **patient(protocol_version=4))
        self.session = self.cluster.connect()
        self.session.execute("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        self.session.execute("CREATE TABLE k.t (id int PRIMARY KEY, v blob)")
        insert = self.session.prepare("INSERT INTO k.t (id, v) VALUES (?, ?)")
        draw = random.Random(7)
        self.rows = {number: draw.randbytes(ROW_BYTES) for number in range(ROWS)}
        for row in self.rows.items():
            self.session.execute(insert, row)

    def drop(self):
        self.session.execute("DROP TABLE k.t")

    def check(self):
        assert {row.id: row.v for row in self.session.execute("SELECT id, v FROM k.t")} == self.rows

    def http(self) -> str:
        return self.server.state()["http"]


@pytest.fixture(scope="session")
def database(tmp_path_factory):
    server = servers.Server(tmp_path_factory.mktemp("server"))
    server.start()
    found = Database(server)
    yield found
    found.cluster.shutdown()
    server.stop()


class Node:
    """A server of a test's own, and a session on it."""

    def __init__(self, directory, flags=(), provider=None):
        self.server, self.provider = servers.Server(directory, flags=flags, memory="256M"), provider
        self.server.start()
        self._connect()

    def _connect(self):
        host, port = self.server.state()["cql"].rsplit(":", 1)
        self.cluster = Cluster([host], port=int(port), auth_provider=self.provider, **patient(protocol_version=4))
        self.session = self.cluster.connect()
        self.http = self.server.state()["http"]

    def restart(self):
        self.cluster.shutdown()
        self.server.restart("term")
        self._connect()

    def stop(self):
        self.cluster.shutdown()
        self.server.stop()

    def rows(self, tables):
        """Of each table, as text; times to live are as good as equal."""
        found = {}
        for name, columns in tables.items():
            rows = self.session.execute(f"SELECT {columns} FROM {name}")
            found[name] = sorted(str([value if column != "ttl_v" else value is not None for column, value in row._asdict().items()]) for row in rows)
        if "k.narrow" in tables:
            found["index"] = sorted(row.id for row in self.session.execute("SELECT id FROM k.narrow WHERE w = 3"))
        return found


class Tool:
    """`tarndb` against that server, with this S3."""

    def __init__(self, http: str, endpoint: str, directory: pathlib.Path):
        self.http, self.endpoint, self.directory = http, endpoint, directory
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
        self.options = ["--s3-endpoint", endpoint, "--s3-timeout", "60s", "--s3-retry-for", "120s"]

    def start(self, *words) -> subprocess.Popen:
        words = [str(word) for word in words]
        asked = [] if words[:2] == ["backup", "verify"] else ["--http", self.http]
        options = [] if words[:2] == ["backup", "end"] else self.options
        command = [servers.binary(), *words, *options, *asked]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.environment, text=True)

    def end(self, process) -> tuple[int, str]:
        try:
            said, _ = process.communicate(timeout=SECONDS_MAX)
        finally:
            process.kill()
        assert SECRET not in said
        return process.returncode, said

    def run(self, *words) -> tuple[int, str]:
        return self.end(self.start(*words))

    def must(self, *words) -> str:
        code, said = self.run(*words)
        assert code == 0, said
        return said

    def backup(self, place, *more):
        return self.run("backup", "--to", place, *PARTS, *more)

    def restore(self, place, *more):
        return self.must("restore", "--from", place, "--progress", self.directory / "progress", *more)


@pytest.fixture
def node(tmp_path):
    """Starts servers."""
    nodes = []

    def start(*more):
        nodes.append(Node(tmp_path / f"node-{len(nodes)}", *more))
        return nodes[-1]

    yield start
    for one in nodes:
        one.stop()


def of(node, directory, endpoint="http://127.0.0.1:1"):
    directory.mkdir(exist_ok=True)
    return Tool(node.http, endpoint, directory)


def manifest(place):
    return json.loads((place / "manifest.json").read_text().rsplit("crc32", 1)[0])


def rows_in(place):
    return sum(file["rows"] for file in manifest(place)["files"])


@pytest.fixture
def fake():
    with FakeS3({KEY: SECRET}).serving() as found:
        yield found


@pytest.fixture
def tool(database, fake, tmp_path):
    return Tool(database.http(), fake.url, tmp_path)


@pytest.fixture(scope="session")
def moto(tmp_path_factory):
    """The URL of moto's server."""
    port = servers.free_port()
    command = [pathlib.Path(os.sys.executable).with_name("moto_server"), "-H", "127.0.0.1", "-p", str(port)]
    with open(tmp_path_factory.mktemp("moto") / "log", "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        client = s3_client(url)
        wait_until(lambda: answers(client))
        yield url
    finally:
        process.kill()
        process.wait()


def s3_client(url):
    keys = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region_name": "us-east-1"}
    return boto3.client("s3", endpoint_url=url, **keys)


def answers(client) -> bool:
    try:
        client.create_bucket(Bucket=BUCKET)
        return True
    except Exception:  # Whatever it is while it starts.
        return False


def wait_until(condition):
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.02)


def wait_idle(http):
    """Until the node knows that the tool of a backup was killed."""
    wait_until(lambda: "\ntarndb_backup_running 0\n" in urllib.request.urlopen(f"http://{http}/metrics").read().decode())
