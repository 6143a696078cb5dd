"""An application on the Java driver while a node dies, hangs or is cut off, and comes back: `java/tarndb/Failover.java`."""

import re
import time

import pytest
from cassandra.policies import RetryPolicy
from cassandra.query import SimpleStatement

import server as servers
from application import Application
from nodes import FAILURES, until

CLASSES = servers.ROOT / ".cache" / "cluster" / "java"
JARS = servers.ROOT / ".cache" / "java" / "lib"


class JavaDriver(Application):
    """The application of this driver."""

    def __init__(self, cluster):
        super().__init__(CLASSES, JARS, "tarndb.Failover", str(cluster.ports["cql"]), *(node.address for node in cluster.nodes))

    def progress(self, session, by: int):
        """Until it has written so many more times a key of its own."""
        goal = None

        def is_there() -> bool:
            nonlocal goal
            try:
                count = written(session)
            except FAILURES:
                # While others take a node's slots over, nobody answers for them.
                return False
            goal = goal or count + by
            return count >= goal

        until("the application goes on", is_there, 120, 0.1)


def written(session) -> int:
    row = session.execute(SimpleStatement("SELECT b FROM k.t WHERE a = 1000001", is_idempotent=True)).one()
    return row.b if row else 0


def kill_and_start(cluster, victim, go_on):
    victim.kill()
    go_on()
    victim.start()


def stop_and_go(cluster, victim, go_on):
    """It hangs until the others have taken over; what was sent to it is answered when it goes on."""
    victim.pause()
    time.sleep(5)
    victim.resume()


def cut_off(cluster, victim, go_on):
    """The application reaches it, and the other members do not."""
    others = [node for node in cluster.nodes if node is not victim]
    cluster.network.cut(victim, others)
    go_on()
    cluster.network.heal(victim, others)


@pytest.mark.parametrize("fault", [kill_and_start, *(pytest.param(fault, marks=pytest.mark.long) for fault in (stop_and_go, cut_off))])
def test_an_application_on_the_java_driver_sees_a_node_go_and_come(request, fault):
    """When it is killed, the driver's own retry policy tells the application of writes whose outcome nobody knows, and of nothing else. What is read is never stale."""
    cluster = request.getfixturevalue("cut_cluster" if fault is cut_off else "cluster")
    victim = cluster.nodes[1]
    others = [node for node in cluster.nodes if node is not victim]
    with JavaDriver(cluster) as application, cluster.session(others, only=True, retries=RetryPolicy) as session:
        application.wait_ready()
        application.progress(session, 200)
        fault(cluster, victim, lambda: application.progress(session, 300))
        cluster.settle()
        application.progress(session, 300)
        lines = application.end()
    said = "\n".join(lines)
    assert not re.search("^error", said, re.MULTILINE), said
    counted = application.counted()
    assert counted["wrong"] == 0 and counted["coordinators"] == 3 and counted["unknown"] < 50, said
    if fault is kill_and_start:
        end = f"{victim.address}:{cluster.ports['cql']}"
        assert f"event down:/{end}" in said and f"event up:/{end}" in said, said
        assert counted["timeouts"] == 0, said
