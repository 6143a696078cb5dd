"""An application on the Java driver while a node dies and comes back: `java/tarndb/Failover.java`."""

import os
import re
import shutil
import subprocess
import threading

import pytest
from cassandra.policies import RetryPolicy
from cassandra.query import SimpleStatement

import server as servers
from nodes import until

CLASSES = servers.ROOT / ".cache" / "cluster" / "java"
JARS = servers.ROOT / ".cache" / "java" / "lib"


class Application:
    """The process, and what it has said."""

    def __init__(self, cluster):
        if shutil.which("java") is None or not CLASSES.is_dir():
            pytest.skip("a JDK or Maven is missing (Debian: openjdk-17-jdk-headless, maven)")
        command = ["java", "-Xmx256m", "-cp", f"{CLASSES}{os.pathsep}{JARS}/*", "tarndb.Failover", str(cluster.ports["cql"])]
        self.process = subprocess.Popen(
            [*command, *(node.address for node in cluster.nodes)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(map(str.rstrip, iter(self.process.stdout.readline, ""))))
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.reader.join()

    def wait_ready(self):
        until("the application is ready", lambda: "ready" in self.lines or self.process.poll() is not None, 60)
        assert self.process.poll() is None, self.lines

    def progress(self, session, by: int):
        """Until it has written so many more times a key of its own."""
        before = written(session)
        until("the application goes on", lambda: written(session) >= before + by, 60, 0.1)

    def counted(self) -> dict:
        """What it has counted, once it has ended."""
        return {name: int(number) for name, number in re.findall(r"(\w+)=(\d+)", self.lines[-1])}

    def end(self) -> list[str]:
        self.process.stdin.close()
        self.process.wait(60)
        self.reader.join()
        return self.lines


def written(session) -> int:
    row = session.execute(SimpleStatement("SELECT b FROM k.t WHERE a = 1000001", is_idempotent=True)).one()
    return row.b if row else 0


def test_an_application_on_the_java_driver_sees_a_node_go_and_come_without_an_error(cluster):
    """Writes whose outcome nobody knows are told to the application by the driver's own retry policy; nothing else is."""
    victim = cluster.nodes[1]
    with Application(cluster) as application, cluster.session(retries=RetryPolicy) as session:
        application.wait_ready()
        application.progress(session, 200)
        victim.kill()
        application.progress(session, 300)
        victim.start()
        cluster.settle()
        application.progress(session, 300)
        lines = application.end()
    end = f"{victim.address}:{cluster.ports['cql']}"
    said = "\n".join(lines)
    assert not re.search("^error", said, re.MULTILINE), said
    assert f"event down:/{end}" in said and f"event up:/{end}" in said, said
    counted = application.counted()
    assert counted["wrong"] == 0 and counted["coordinators"] == 3 and counted["unknown"] < 50, said
