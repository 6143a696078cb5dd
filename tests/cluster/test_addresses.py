"""Members that start again at another address, as pods and leased machines do: the others find them, and they find the others."""

from cassandra import ConsistencyLevel

from nodes import succeeds, until
from test_operations import SECONDS_MAX, is_healthy, member

ROWS = 200


def move(cluster, node, number: int, join):
    """The next start of an ended node is at another address; it looks for `join` first."""
    node.address = f"{cluster.block}.{number}"
    if "--join" in node.flags:
        at = node.flags.index("--join")
        del node.flags[at : at + 2]
    if join:
        node.flags += ["--join", f"{join.address}:{cluster.ports['node']}"]


def settle_at(cluster, node, number: int):
    """The metadata has the member's new address, and everybody is in sync."""
    address = f"{node.address}:{cluster.ports['node']}"
    until(f"member {number} is known at {address}", lambda: member(cluster.nodes[0], number)["address"] == address, SECONDS_MAX, 0.1)
    until("it is healthy", lambda: is_healthy(cluster.nodes[0]), SECONDS_MAX, 0.2)


def at_all(cluster, text: str):
    """What ALL answers: a replica that has restarted may be rebuilt a moment after its member was healthy."""
    found = []
    with cluster.session(consistency=ConsistencyLevel.ALL) as session:
        until(f"ALL answers {text}", lambda: succeeds(lambda: found.append(session.execute(text))), SECONDS_MAX, 0.1)
    return found[0]


def test_members_that_have_moved_are_found_and_nothing_is_lost(cluster):
    one, two, three = cluster.nodes
    with cluster.session() as session:
        insert = session.prepare("INSERT INTO k.t (a, b) VALUES (?, ?)")
        for row in range(ROWS):
            session.execute(insert, (row, row))
    three.kill()
    move(cluster, three, 33, one)
    three.start()
    settle_at(cluster, three, 3)
    assert at_all(cluster, "SELECT count(*) FROM k.t").one().count == ROWS
    # All at once: nobody is where the others know it, and only the first is where `join` says. It has missed an entry of the metadata, so another one leads,
    # and the third has to hear from the first where that one is.
    one.kill()
    until("member 1 is down", lambda: member(two, 1)["state"] == "down", SECONDS_MAX, 0.1)
    for node in (two, three):
        node.kill()
    for node, number, join in ((one, 41, None), (two, 42, one), (three, 43, one)):
        move(cluster, node, number, join)
        node.start(wait=False)
    for number, node in enumerate(cluster.nodes, 1):
        node.wait_ready()
        settle_at(cluster, node, number)
    assert at_all(cluster, "SELECT count(*) FROM k.t").one().count == ROWS
    at_all(cluster, "INSERT INTO k.t (a, b) VALUES (-1, -1)")
