"""The change feed of a cluster: any member tells all changes, while members that are asked, and that own rows, are killed and come back."""

import contextlib
import http.client
import json
import threading
import time

import pytest

from ledger import PAUSE_S
from nodes import FAILURES, running, until
from sizes import sized

WRITERS = 4
SECONDS_MAX = 180
SOME = 200


class Follower:
    """Reads a feed wherever a member answers; goes on at the last position."""

    def __init__(self, cluster, table: str):
        self.cluster, self.table, self.stopping = cluster, table, threading.Event()
        self.position, self.ids, self.values, self.out_of_order = "oldest", set(), {}, []
        self.asked = None

    def run(self):
        while not self.stopping.is_set():
            for node in list(self.cluster.running()):
                with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                    self.asked = node
                    self.read(node.http())

    def read(self, address: str):
        host, port = address.rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=10)
        try:
            connection.request("GET", f"/changes/{self.table}?follow=1&heartbeat=1&since={self.position}")
            with connection.getresponse() as response:
                for line in response if response.status == 200 else ():
                    self.take(json.loads(line))
                    if self.stopping.is_set():
                        return
        finally:
            connection.close()

    def take(self, line):
        if "operation" in line and line["id"] not in self.ids:
            self.ids.add(line["id"])
            row, value = line["key"]["p"], line["columns"]["v"]
            if value <= self.values.get(row, 0):
                self.out_of_order.append((row, value, self.values[row]))
            self.values[row] = value
        self.position = line.get("position", self.position)


@pytest.mark.sized
def test_a_follower_misses_nothing_while_members_are_killed(cluster):
    with cluster.session() as session:
        session.execute("CREATE TABLE k.log (p int PRIMARY KEY, v int) WITH cdc = {'enabled': true}")
        update = session.prepare("UPDATE k.log SET v = ? WHERE p = ?")
        acknowledged, stopping = {}, threading.Event()

        def write(writer: int):
            number = 0
            while not stopping.is_set():
                number += 1
                for row in range(writer * 10, writer * 10 + 10):
                    with contextlib.suppress(*FAILURES):
                        session.execute(update, (number, row))
                        acknowledged[row] = number
                    time.sleep(PAUSE_S)

        follower = Follower(cluster, "k/log")
        threads = [threading.Thread(target=write, args=(writer,)) for writer in range(WRITERS)]
        reads = threading.Thread(target=follower.run)
        with running([reads], follower.stopping):
            with running(threads, stopping):
                until("changes are told", lambda: len(follower.ids) > SOME, SECONDS_MAX)
                for _ in range(sized(1, 6)):
                    # Once a member that owns rows, once the one that is asked.
                    others = [node for node in cluster.running() if node is not follower.asked]
                    for victim in (others[0], follower.asked):
                        before = len(follower.ids)
                        victim.kill()
                        until("changes are told without it", lambda: len(follower.ids) > before + SOME, SECONDS_MAX)
                        victim.start()
                        cluster.settle()
            until("everything is told", lambda: all(follower.values.get(row, 0) >= value for row, value in acknowledged.items()), SECONDS_MAX)
        assert follower.out_of_order == []
        stored = {}

        def read():
            # A busy machine may take the member that was started last for dead once more.
            with contextlib.suppress(*FAILURES):
                stored.update((row.p, row.v) for row in session.execute("SELECT p, v FROM k.log"))
                return True

        until("rows are read", read, SECONDS_MAX)
        assert stored == follower.values
