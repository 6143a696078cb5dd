"""What an operator does about lost files: look, put them back, or start with what is left."""

import json
import os
import re
import signal
import subprocess
import urllib.request

import pytest

import directories
import faults
import server as servers
from directories import Node
from nodes import Cluster, until

DATA = "shard-0.data"


@pytest.fixture(scope="module")
def template(run_directory):
    directory, _ = directories.make(run_directory / "lost", [], signal.SIGTERM)
    return directory


@pytest.fixture
def node(run_directory, request, template):
    directory = run_directory / request.node.name
    directories.copy(template, directory)
    node = Node(directory)
    yield node
    node.end(signal.SIGKILL)


def inspect(node: Node) -> tuple[int, dict, str]:
    """Exit status, the report for programs, and the one for people."""
    command = [servers.binary(), "inspect", "--data-dir", str(node.data_dir)]
    text, report = (subprocess.run([*command, *more], capture_output=True, text=True) for more in ([], ["--json"]))
    assert text.returncode == report.returncode, text.stderr + report.stderr
    return text.returncode, json.loads(report.stdout) if report.stdout else {}, text.stdout


def shorten(node: Node):
    faults.truncated(node.data_dir / DATA, None, None)


def test_inspect_counts_what_a_short_file_lacks(node):
    status, report, text = inspect(node)
    assert (status, report["losses"]) == (0, []), text
    bytes_before = (node.data_dir / DATA).stat().st_size
    shorten(node)
    status, report, text = inspect(node)
    assert status == 1 and not report["clean"]
    [loss] = report["losses"]
    assert loss["what"] == "data" and loss["bytes"] < loss["known_bytes"] == bytes_before
    assert loss["known_sequence"] > loss["sequence"] or loss["segments"] >= 1, text
    assert "damaged" in text.splitlines()[-1] and DATA in text
    os.remove(node.data_dir / DATA)
    status, report, text = inspect(node)
    assert status == 1 and report["losses"][0]["bytes"] is None, text
    assert f"{DATA} is missing" in text


def test_a_node_starts_with_what_is_left_by_order_and_says_so_once(node):
    shorten(node)
    ended = node.start()
    assert ended is not None and ended.code == 4
    began = node.log_path.stat().st_size
    assert node.start("--accept-data-loss") is None
    log = node.log(began)
    assert log.count("the loss of stored data was accepted") == 1, log
    found, failed = directories.read(node)
    expected = directories.all_rows()
    assert failed == 0 and 0 < len(found) < len(expected)
    assert all(expected[key] == value for key, value in found.items())
    # Gone is what it was told to be: another start needs no order, and has no less.
    for how in (signal.SIGKILL, signal.SIGTERM):
        node.end(how)
        began = node.log_path.stat().st_size
        assert node.start() is None, node.log(began)
        assert "was accepted" not in node.log(began)
        assert directories.read(node) == (found, 0)
    node.end(signal.SIGTERM)
    began = node.log_path.stat().st_size
    assert node.start("--accept-data-loss") is None
    assert "was accepted" not in node.log(began), "nothing is lost now"


def test_the_order_is_no_setting(node):
    """It must not stay in a file or in an environment and accept the next loss unseen."""
    shorten(node)
    environment = os.environ | {"TARNDB_ACCEPT_DATA_LOSS": "true"}
    started = subprocess.run(node.command(), env=environment, capture_output=True, text=True, timeout=180)
    assert started.returncode in (2, 4), started.stderr


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_a_member_that_starts_with_a_loss_is_rebuilt_from_its_replicas(how):
    cluster = Cluster(3)
    try:
        cluster.create(3)
        keys = range(2000)
        with cluster.session() as session:
            insert = session.prepare("INSERT INTO k.t (a, b) VALUES (?, ?)")
            for future in [session.execute_async(insert, (key, key * 3)) for key in keys]:
                future.result()
        node = cluster.nodes[1]
        getattr(node, how)()
        os.truncate(node.data_dir / DATA, 0)
        node.start(wait=False)
        assert node.process.wait(180) == 4, node.log_tail()
        node.start("--accept-data-loss")
        with urllib.request.urlopen(f"http://{node.http()}/status", timeout=120) as answer:
            assert sum(core["damaged_records"] for core in json.load(answer)["cores"]) > 0
        assert re.search("rows may be missing here", node.log(since_start=True)), node.log_tail()
        cluster.settle()
        until("the member has all rows again", lambda: len(cluster.rows_at(node, keys)) == len(keys), 180, 0.5)
        cluster.assert_members_agree(keys)
    finally:
        cluster.stop(keep=False)
