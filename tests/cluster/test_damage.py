"""A member whose device is damaged while it serves: nobody gets a wrong answer, and the member gets its rows anew by itself."""

import os
import random
import re

import pytest
from cassandra import ConsistencyLevel

from nodes import until
from test_operations import get, status, tarndb

ROWS = 12_000
PLACES = 400
SECONDS_MAX = 180


def value(key: int) -> bytes:
    """Nothing that compression makes smaller."""
    return random.Random(key).randbytes(1024)


def cores_sum(node, figure: str) -> int:
    found = [core[figure] for core in status(node)["cores"]]
    return sum(len(value) if isinstance(value, list) else value for value in found)


def flip(path, seed: int):
    """Changes bytes at some places of a file, where there are rows, behind the process's back."""
    chance = random.Random(seed)
    with open(path, "r+b") as file:
        used = [at for at in range(1 << 13, file.seek(0, 2), 4096) if file.seek(at) == at and any(file.read(64))]
        for block in chance.sample(used, PLACES):
            at = block + chance.randrange(4096)
            file.seek(at)
            byte = file.read(1)
            file.seek(at)
            file.write(bytes([byte[0] ^ 0x55]))
        file.flush()
        os.fsync(file.fileno())


def is_cold_after_restart(cluster, node) -> bool:
    """Restarts a member. What was written in the seconds before comes once more, from the others, into its memory."""
    until("nobody keeps anything for another", lambda: not any(cores_sum(member, "absent") for member in cluster.nodes), SECONDS_MAX, 0.2)
    node.terminate()
    node.start()
    cluster.settle()
    written = re.search(r"^tarndb_engine_rows_written_total\S* (\d+)", get(node, "/metrics"), re.MULTILINE)
    return int(written[1]) < ROWS // 4


def read_all(session, consistency):
    select = session.prepare("SELECT b FROM k.big WHERE a = ?")
    select.consistency_level = consistency
    for first in range(0, ROWS, 256):
        keys = range(first, min(first + 256, ROWS))
        for key, future in [(key, session.execute_async(select, (key,))) for key in keys]:
            assert future.result().one().b == value(key), f"row {key}"


@pytest.mark.long  # It waits until the others keep nothing for the member, which takes them half a minute.
def test_damage_is_repaired_while_the_member_serves(cluster):
    damaged, other = cluster.nodes[1], cluster.nodes[0]
    with cluster.session(seconds=30) as session:
        session.execute("CREATE TABLE k.big (a int PRIMARY KEY, b blob)")
        insert = session.prepare("INSERT INTO k.big (a, b) VALUES (?, ?)")
        insert.consistency_level = ConsistencyLevel.ALL
        for first in range(0, ROWS, 256):
            for future in [session.execute_async(insert, (key, value(key))) for key in range(first, min(first + 256, ROWS))]:
                future.result()
    until("its rows are on the device only", lambda: is_cold_after_restart(cluster, damaged), SECONDS_MAX)
    for number, path in enumerate(sorted(damaged.data_dir.glob("shard-*.data"))):
        flip(path, number)
    with cluster.session([damaged], only=True, seconds=30) as session:
        read_all(session, ConsistencyLevel.ONE)
        read_all(session, ConsistencyLevel.LOCAL_QUORUM)
        assert session.execute("SELECT count(*) FROM k.big").one()[0] == ROWS
    until("damaged rows were found", lambda: cores_sum(damaged, "damaged_records") > 0, SECONDS_MAX, 0.2)
    seen = damaged.log(since_start=True)
    assert "stored data is damaged" in seen and "damaged rows were found" in seen, damaged.log_tail()
    until("others say so", lambda: "has damaged rows" in other.log() + cluster.nodes[2].log(), SECONDS_MAX, 0.2)
    until("its slots are repaired", lambda: cores_sum(damaged, "slots_repaired") > 0 and cores_sum(damaged, "slots_to_repair") == 0, SECONDS_MAX, 0.2)
    assert "repaired" in damaged.log(since_start=True)
    for node in cluster.nodes:
        until(f"{node} is healthy", lambda node=node: tarndb(node, "status").returncode == 0, SECONDS_MAX, 0.5)
    with cluster.session(seconds=30) as session:
        read_all(session, ConsistencyLevel.LOCAL_QUORUM)
    # What it has by itself is whole.
    cluster.nodes[0].kill()
    with cluster.session([damaged], only=True, seconds=30) as session:
        read_all(session, ConsistencyLevel.ONE)
