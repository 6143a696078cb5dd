"""What comes to the node port without belonging there: refused, logged, and nothing is disturbed."""

import contextlib
import json
import os
import random
import socket
import struct
import urllib.request
import zlib

import pytest
from cassandra.cluster import NoHostAvailable

from ledger import TRIES, Ledger
from nodes import connect, until

HELLO = 1
# The latest version of the nodes' protocol that the binary knows.
PROTOCOL_VERSION = 24
KNOWN = f"this node 4 to {PROTOCOL_VERSION}"


def frame(kind: int, body: bytes, version: int = 1) -> bytes:
    head = b"TNN1" + struct.pack("<BBHI", kind, version, 0, len(body))
    return head + struct.pack("<I", zlib.crc32(head + body)) + body


def hello(version: int = PROTOCOL_VERSION, oldest: int | None = None, name: bytes = b"TarnDB") -> bytes:
    """Of a node without a cluster, whose program knows the versions from `oldest` to `version`; none is one from before programs knew several."""
    node = bytes(16) + b"\0" + os.urandom(16) + os.urandom(8) + bytes([0, 1, 0])
    return bytes([version, len(name)]) + name + node + (bytes([oldest]) if oldest is not None else b"")


def garbage() -> bytes:
    dice = random.Random(11)
    return dice.randbytes(100_000)


PEERS = {
    "http": (b"GET / HTTP/1.1\r\nHost: tarn\r\n\r\n", "the peer is no TarnDB node"),
    "garbage": (garbage(), "the peer is no TarnDB node"),
    "version": (frame(HELLO, hello(version=99, oldest=98)), f"it speaks version 98 to 99 of the nodes' protocol, {KNOWN}; upgrade this node first"),
    "old-version": (frame(HELLO, hello(version=2)), f"it speaks version 2 of the nodes' protocol, {KNOWN}; upgrade it first"),
    "outdated": (frame(HELLO, hello(version=4)), f"it speaks version 4 of the nodes' protocol, and all members know version {PROTOCOL_VERSION}"),
    "frame-version": (frame(HELLO, hello(), version=9), "frame version 9"),
    "name": (frame(HELLO, hello(name=b"other")), "belongs to cluster 'other'"),
    "length": (b"TNN1" + struct.pack("<BBHI", HELLO, 1, 0, 0xFFFF_FFFF) + bytes(4), "with 4294967295 bytes is more than"),
    "checksum": (frame(HELLO, hello())[:-1] + b"\xff", "where its header says"),
    "no-hello": (frame(6, b"x" * 100), "before hello"),
}


def test_unauthenticated_peers_are_refused_and_nothing_is_disturbed(cluster):
    target = cluster.nodes[0]
    ledger = Ledger()
    with ledger.load(cluster, tries=TRIES):
        ledger.wait_for_writes(50)
        for name, (said, why) in PEERS.items():
            with connect(target.address, cluster.ports["node"]) as peer:
                with contextlib.suppress(OSError):
                    peer.sendall(said)
                assert ends(peer), f"{name} is not refused"
            until(f"the log says of {name}: {why}", lambda why=why: why in target.log(), 120)
        # Many that say nothing, and one that stops within a frame.
        silent = [connect(target.address, cluster.ports["node"]) for _ in range(50)]
        silent[0].sendall(frame(HELLO, hello())[:20])
        ledger.wait_for_writes(100)
        for peer in silent:
            peer.close()
    assert not ledger.errors, ledger.errors[:3]
    ledger.check(cluster)


def test_a_member_that_lies_is_refused(cluster):
    """Somebody with a member's name and data says that it is the primary of everything, and that newer metadata is on its way."""
    victim, other, liar = cluster.nodes
    ledger = Ledger()
    with cluster.session([victim], only=True) as session:
        peers = {row.peer: row.host_id for row in session.execute("SELECT peer, host_id FROM system.peers")}
    liar.kill()
    cluster_id, version = cluster_of(victim)
    name = b"\6TarnDB" + cluster_id.to_bytes(16, "little") + bytes([liar.number]) + peers[liar.address].int.to_bytes(16, "little")
    said = bytes([PROTOCOL_VERSION]) + name + os.urandom(8) + bytes([0, 1, 0, PROTOCOL_VERSION])
    no_version = (1 << 62).to_bytes(8, "little")
    # Of no row, and of each slot of tables of these ids.
    items = b"".join(struct.pack("<QQqIHBBI", 1, 1 << 62, 0, table, slot, 0, 0, 0) for table in range(1, 40) for slot in range(64))
    lies = {
        "a term that there is not": ([frame(32, version.to_bytes(8, "little") + bytes(16) + items)], "it writes as a primary, which it is not"),
        "frames by metadata that there is not": ([frame(35, no_version + bytes(1 << 20))] * 64, "waits for metadata that has not come"),
    }
    with ledger.load(cluster, [victim, other], seconds=20):
        ledger.wait_for_writes(50)
        for lie, (frames, why) in lies.items():
            with connect(victim.address, cluster.ports["node"]) as peer:
                peer.sendall(frame(HELLO, said))
                peer.settimeout(60)
                assert peer.recv(1 << 16), "it is taken for the member"
                with contextlib.suppress(OSError):
                    for one in frames:
                        peer.sendall(one)
                assert ends(peer), f"{lie} is not refused"
            until(f"the log says of {lie}: {why}", lambda why=why: why in victim.log(), 120)
        ledger.wait_for_writes(100)
    liar.start()
    cluster.settle()
    ledger.check(cluster)
    cluster.assert_members_agree(ledger.keys)


def cluster_of(node) -> tuple[int, int]:
    """The cluster's id, and the newest metadata that the node has."""
    with urllib.request.urlopen(f"http://{node.http()}/status", timeout=60) as answer:
        status = json.load(answer)["cluster"]
    return int(status["id"], 16), status["version"]


def ends(peer: socket.socket) -> bool:
    """Whether the node closes the connection; it may say why before."""
    peer.settimeout(60)
    try:
        for _ in range(100):
            if not peer.recv(1 << 16):
                return True
    except ConnectionResetError:
        return True
    except TimeoutError:
        pass
    return False


def test_a_node_of_another_cluster_is_kept_out(cluster):
    """It neither joins nor lets clients in, and says why in its log."""
    peer = cluster.add("--cluster-name", "other", start=False)
    peer.start(wait=False)
    until("it is told why", lambda: "cluster name" in peer.log(), 120)
    assert "tarndb ready" not in peer.log()
    driver = cluster.driver([peer], only=True)
    with pytest.raises(NoHostAvailable, match="has no part in its cluster yet"):
        driver.connect()
    driver.shutdown()
    peer.end()
    ledger = Ledger()
    with ledger.load(cluster, tries=TRIES):
        ledger.wait_for_writes(50)
    assert not ledger.errors, ledger.errors[:3]
