"""Restarts: whatever was acknowledged is there after `kill -9` and after SIGTERM; clients come back by themselves."""

import threading

import pytest
from aerospike import exception

from conftest import connected

pytestmark = pytest.mark.restart


@pytest.mark.parametrize("how", ["kill", "term"])
def test_acknowledged_records_survive(client, restart, new_set, how):
    for n in range(2_000):
        client.put(("test", new_set, n), {"n": n, "s": "x" * (n % 500), "l": [n]}, policy={"key": 1})
    for n in range(0, 2_000, 10):
        client.remove(("test", new_set, n))
    restart(how)
    found = {key[2]: (meta["gen"], bins) for key, meta, bins in client.scan("test", new_set).results()}
    assert found == {n: (1, {"n": n, "s": "x" * (n % 500), "l": [n]}) for n in range(2_000) if n % 10}
    # Bins that were there go on having their columns, and new ones get theirs.
    client.put(("test", new_set, 1), {"n": "text", "new": 1.5})
    assert client.get(("test", new_set, 1))[2] == {"n": "text", "s": "x", "l": [1], "new": 1.5}


@pytest.mark.parametrize("how", ["kill", "term"])
def test_counters_survive_in_the_middle_of_traffic(client, endpoint, restart, new_set, how):
    """Four writers count until the server goes away beneath them: nothing acknowledged is lost, at most one addition each is unknown."""
    acknowledged = [0] * 4
    enough = threading.Event()

    def count(writer):
        own = connected(endpoint)
        try:
            while True:
                own.increment(("test", new_set, writer), "n", 1, policy={"max_retries": 0})
                acknowledged[writer] += 1
                if acknowledged[writer] == 300:
                    enough.set()
        except exception.AerospikeError:
            own.close()

    threads = [threading.Thread(target=count, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    assert enough.wait(60)
    restart(how)
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    for writer, count in enumerate(acknowledged):
        stored = client.get(("test", new_set, writer))[2]["n"]
        assert count <= stored <= count + 1
