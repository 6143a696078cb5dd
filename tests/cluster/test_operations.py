"""What an operator does with a cluster that is at work: looks at it, drains a member, removes it; and what is refused."""

import json
import subprocess
import urllib.error
import urllib.request

import pytest
from cassandra import ConsistencyLevel

import server as servers
from ledger import Ledger
from nodes import connect, until

SECONDS_MAX = 180


def tarndb(node, *words) -> subprocess.CompletedProcess:
    """A command of the program, which asks `node`."""
    return command(node.http(), *words)


def command(at: str, *words) -> subprocess.CompletedProcess:
    return subprocess.run([servers.binary(), *words, "--http", at], capture_output=True, text=True, timeout=SECONDS_MAX)


def status(node) -> dict:
    done = tarndb(node, "status", "--json")
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def member(node, number: int) -> dict | None:
    return next((member for member in status(node)["cluster"]["members"] if member["id"] == number), None)


def get(node, path: str) -> str:
    with urllib.request.urlopen(f"http://{node.http()}{path}", timeout=60) as answer:
        return answer.read().decode()


def is_healthy(node) -> bool:
    return status(node)["healthy"]


def test_a_member_is_drained_under_load_and_removed(start_cluster):
    cluster = start_cluster()
    cluster.create(factor=2)
    one, two, three = cluster.nodes
    said = []
    # A member that gets no CPU for a while may be missed meanwhile.
    until("it is healthy", lambda: said.append(tarndb(one, "status")) or said[-1].returncode == 0, SECONDS_MAX, 0.2)
    assert said[-1].stdout.splitlines()[-1] == "healthy", said[-1].stdout + said[-1].stderr
    assert member(one, 3)["primaries"] > 0
    ledger = Ledger()
    with ledger.load(cluster):
        ledger.wait_for_writes(200)
        drained = tarndb(one, "drain", "3", "--wait")
        assert drained.returncode == 0, drained.stderr
        assert drained.stdout.splitlines()[-1] == "member 3 holds nothing any more", drained.stdout
        held = lambda: [member(two, 3)[what] for what in ("state", "primaries", "replicas", "learners")]  # noqa: E731
        until("another one knows it", lambda: held() == ["draining", 0, 0, 0], SECONDS_MAX, 0.2)
        ledger.wait_for_writes(100)
        three.terminate()
        ledger.wait_for_writes(100)
        removed = tarndb(two, "remove", "3")
        assert (removed.returncode, removed.stdout) == (0, "member 3 is removed\n"), removed.stderr
        until("the others know it", lambda: member(one, 3) is None and member(two, 3) is None, SECONDS_MAX, 0.2)
        ledger.wait_for_writes(100)
    until("it is healthy", lambda: is_healthy(one) and is_healthy(two), SECONDS_MAX, 0.2)
    ledger.check(cluster, [one, two], consistency=ConsistencyLevel.ALL)


def test_a_member_that_is_removed_while_it_runs_sends_its_clients_away(start_cluster):
    cluster = start_cluster()
    cluster.create(factor=2)
    one, two, three = cluster.nodes
    ledger = Ledger()
    with ledger.load(cluster):
        assert tarndb(one, "drain", "3", "--wait").returncode == 0
        assert tarndb(one, "remove", "3").returncode == 0
        until("it says so", lambda: "has been removed: end it" in tarndb(three, "status").stdout, SECONDS_MAX, 0.2)
        assert tarndb(three, "status").returncode == 1
        with pytest.raises(urllib.error.HTTPError, match="503"):
            get(three, "/health")
        with pytest.raises(OSError):
            connect(three.address, cluster.ports["cql"]).close()
        ledger.wait_for_writes(400)
    ledger.check(cluster, [one, two], consistency=ConsistencyLevel.ALL)


def test_what_cannot_be_done_is_refused_and_changes_nothing(cluster):
    one, two, three = cluster.nodes
    for words, why in [
        (("drain", "9"), "there is no member 9"),
        (("remove", "9", "--force"), "there is no member 9"),
        (("remove", "2"), "member 2 is up and holds"),
        (("remove", "2", "--force"), "member 2 is up and holds"),
    ]:
        done = tarndb(one, *words)
        assert done.returncode == 1 and why in done.stderr, (words, done.returncode, done.stderr)
    assert [member["state"] for member in status(three)["cluster"]["members"]] == ["up"] * 3


def test_a_member_that_is_down_is_shown_and_then_that_it_is_filled_again(cluster):
    one, _, three = cluster.nodes
    until("it is healthy", lambda: is_healthy(one), SECONDS_MAX, 0.2)
    three.kill()
    until("it is missed", lambda: "member 3 is down" in status(one)["problems"], SECONDS_MAX, 0.2)
    shown = tarndb(one, "status")
    assert shown.returncode == 1 and "problem: member 3 is down" in shown.stdout, shown.stdout
    wanted = {'tarndb_cluster_members{state="down"} 1', 'tarndb_cluster_members{state="up"} 2'}
    until("figures say so", lambda: wanted <= set(get(one, "/metrics").splitlines()), SECONDS_MAX, 0.2)
    assert tarndb(one, "remove", "1").returncode == 1
    three.start()
    until("it is healthy again", lambda: is_healthy(one) and is_healthy(three), SECONDS_MAX, 0.2)


def test_a_node_by_itself_shows_itself_and_takes_no_orders(tmp_path):
    alone = servers.Server(tmp_path / "alone", ["--pin", "off"])
    alone.start()
    at = alone.state()["http"]
    try:
        shown = command(at, "status")
        assert shown.returncode == 0 and shown.stdout.startswith("a node by itself"), shown.stdout + shown.stderr
        refused = command(at, "drain", "1")
        assert refused.returncode == 1 and "--node-port" in refused.stderr, refused.stderr
    finally:
        alone.stop()
    gone = command(at, "status")
    assert gone.returncode == 2 and "no answer from" in gone.stderr, gone.stderr
