"""TLS between nodes: a cluster works as without, nobody without a certificate gets in, and nothing that is written can be read on its way."""

import contextlib
import pathlib
import socket
import ssl
import struct
import threading
import time

import pytest
from cassandra import ConsistencyLevel

import certificates
from certificates import Authority
from ledger import TRIES, Ledger
from nodes import connect, until
from test_unauthenticated import ends, frame, garbage, hello

MARKER = b"TARN-MARKER-THAT-NOBODY-ELSE-WRITES"
MIXED = "one of the two nodes speaks TLS and the other does not"


@pytest.fixture
def authority(tmp_path):
    why_not = certificates.why_not()
    if why_not:
        pytest.skip(why_not)
    return Authority(tmp_path / "authority")


def start_encrypted(start_cluster, authority, count: int):
    """A cluster whose nodes all have certificates."""
    cluster = start_cluster(0)
    for number in range(1, count + 1):
        cluster.add(*authority.flags(f"{cluster.block}.{number}"))
    return cluster


@pytest.fixture
def encrypted(start_cluster, authority):
    """Three nodes with TLS, and keyspace `k` with factor 3."""
    cluster = start_encrypted(start_cluster, authority, 3)
    cluster.create()
    return cluster


def test_a_member_is_killed_and_comes_back(encrypted):
    ledger = Ledger()
    with ledger.load(encrypted):
        ledger.wait_for_writes(100)
        encrypted.nodes[2].kill()
        ledger.wait_for_writes(100)
        encrypted.nodes[2].start()
        ledger.wait_for_writes(100)
    encrypted.settle()
    ledger.check(encrypted, consistency=ConsistencyLevel.ALL)
    encrypted.assert_members_agree(ledger.keys)


def test_who_has_no_certificate_of_the_authority_is_kept_out(encrypted, tmp_path):
    other = Authority(tmp_path / "other")
    target, port = encrypted.nodes[0], encrypted.ports["node"]
    ledger = Ledger()
    with ledger.load(encrypted, tries=TRIES):
        plain = encrypted.add(start=False)
        plain.start(wait=False)
        until("a node without TLS is told why", lambda: MIXED in plain.log(), 120)
        until("the member says so", lambda: any(MIXED in node.log() for node in encrypted.nodes[:3]), 120)
        plain.end()

        refused = encrypted.add(*other.flags(f"{encrypted.block}.5"), start=False)
        refused.start(wait=False)
        until("a node refuses another authority's member", lambda: "signed by none of the authorities that this node trusts" in refused.log(), 120)
        refused.end()

        # It knows the members' authority; they do not know its own.
        both = tmp_path / "both.pem"
        flags = other.flags(f"{encrypted.block}.6")
        both.write_bytes(bytes_of(flags[-1]) + bytes_of(encrypted.nodes[0].flags[-1]))
        refused = encrypted.add(*flags[:-1], str(both), start=False)
        refused.start(wait=False)
        until("it is told why", lambda: "the peer refused TLS" in refused.log(), 120)
        until("members say so", lambda: any("the peer's certificate is refused" in node.log() for node in encrypted.nodes[:3]), 120)
        refused.end()

        for said in (frame(1, hello()), b"GET / HTTP/1.1\r\n\r\n", garbage(), b"\x16\x03\x01\x02\x00" + garbage()[:600]):
            with connect(target.address, port) as connection:
                with contextlib.suppress(OSError):
                    connection.sendall(said)
                assert ends(connection), f"{said[:8]} is not refused"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with connect(target.address, port) as connection, pytest.raises((ssl.SSLError, ConnectionResetError)):
            with context.wrap_socket(connection) as anonymous:
                anonymous.sendall(frame(1, hello()))
                while anonymous.recv(1 << 16):
                    pass
                raise ssl.SSLError("closed")

        # Many that say nothing, or half of a client hello, are ended by the node.
        silent = [connect(target.address, port) for _ in range(300)]
        for connection in silent[:150]:
            connection.sendall(client_hello()[:100])
        for connection in silent:
            assert ends(connection), "a silent peer is kept"
            connection.close()
        ledger.wait_for_writes(100)
    assert not ledger.errors, ledger.errors[:3]
    ledger.check(encrypted)


@pytest.mark.long
def test_the_authority_is_changed_a_node_at_a_time(encrypted, authority, tmp_path):
    """As docs/reference/operations.md says: both are trusted, then certificates are the new one's, then only it is trusted."""
    new, ledger = Authority(tmp_path / "new"), Ledger()
    both = tmp_path / "both.pem"
    both.write_bytes(bytes_of(authority.file) + bytes_of(new.file))
    tls = len(certificates.SETTINGS) * 2
    of_new = {node: new.flags(node.address) for node in encrypted.nodes}
    steps = [
        lambda node: [*node.flags[-tls:-1], str(both)],
        lambda node: [*of_new[node][:-1], str(both)],
        lambda node: of_new[node],
    ]
    with ledger.load(encrypted):
        for step in steps:
            for node in encrypted.nodes:
                node.terminate()
                node.flags[-tls:] = step(node)
                node.start()
                encrypted.settle()
        ledger.wait_for_writes(50)
    ledger.check(encrypted, consistency=ConsistencyLevel.ALL)
    assert all("is refused" not in node.log() for node in encrypted.nodes)
    late = encrypted.add(*authority.flags(f"{encrypted.block}.4"), start=False)
    late.start(wait=False)
    until("the old authority is trusted no more", lambda: "the peer refused TLS" in late.log() or "is refused" in late.log(), 120)


def test_a_node_with_tls_does_not_join_a_cluster_without(start_cluster, authority):
    cluster = start_cluster(1)
    node = cluster.add(*authority.flags(f"{cluster.block}.2"), start=False)
    node.start(wait=False)
    until("it says why", lambda: MIXED in node.log(), 120)
    until("the member says so", lambda: MIXED in cluster.nodes[0].log(), 120)


def test_files_that_do_not_fit_end_the_start_with_their_names(start_cluster, authority):
    cluster = start_cluster(0)
    right, other = authority.flags(f"{cluster.block}.1"), authority.flags(f"{cluster.block}.9")
    table = [
        ([*right[:3], other[3], *right[4:]], f"--node-key {other[3]} is not the key of the certificate that is given with it"),
        ([*other], f"--node-certificate {other[1]} other nodes would refuse it at {cluster.block}.1: it is not for this address"),
        ([*right[:3], "/nowhere", *right[4:]], "--node-key /nowhere cannot be read"),
        ([*right[:5], right[3]], f"--node-ca {right[3]} holds no certificate"),
        ([*right[:4]], "node_certificate is given without node_ca"),
    ]
    for flags, why in table:
        node = cluster.add(*flags, start=False)
        node.address = f"{cluster.block}.1"
        node.start(wait=False)
        assert node.process.wait(120) == 2, node.log_tail()
        assert why in node.log(), node.log_tail()


@pytest.mark.parametrize("is_encrypted", [False, True], ids=["plaintext", "tls"])
def test_what_is_written_can_be_read_on_its_way_only_without_tls(start_cluster, request, is_encrypted):
    with contextlib.ExitStack() as stack:
        try:
            capture = stack.enter_context(Capture())
        except PermissionError:
            pytest.skip("looking at packets takes root")
        cluster = start_encrypted(start_cluster, request.getfixturevalue("authority"), 2) if is_encrypted else start_cluster(2)
        cluster.create(factor=2)
        capture.watch({"cql": cluster.ports["cql"], "node": cluster.ports["node"]})
        with cluster.session(consistency=ConsistencyLevel.ALL) as session:
            session.execute("CREATE TABLE k.marked (a int PRIMARY KEY, b blob)")
            insert = session.prepare("INSERT INTO k.marked (a, b) VALUES (?, ?)")
            for key in range(200):
                session.execute(insert, (key, MARKER))
            assert session.execute("SELECT b FROM k.marked WHERE a = 7").one().b == MARKER
        until("all packets have been looked at", lambda: capture.is_idle(), 120)
        # What the client says is not encrypted: the capture sees what there is to see.
        assert capture.marked["cql"] >= 200
        assert capture.bytes["node"] > 200 * len(MARKER)
        assert (capture.marked["node"] == 0) == is_encrypted


class Capture:
    """Looks at all that goes over the loopback device, and counts what goes to or from some ports."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.bind(("lo", 0))
        with contextlib.suppress(PermissionError):
            self.socket.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        self.socket.settimeout(0.2)
        self.ports, self.bytes, self.marked, self.ended, self.last_s = {}, {}, {}, threading.Event(), 0.0
        self.thread = threading.Thread(target=self._look)

    def watch(self, ports: dict):
        self.bytes, self.marked = dict.fromkeys(ports, 0), dict.fromkeys(ports, 0)
        self.ports = {port: name for name, port in ports.items()}

    def is_idle(self) -> bool:
        return time.monotonic() - self.last_s > 0.5

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        self.socket.close()

    def _look(self):
        while not self.ended.is_set():
            try:
                packet = self.socket.recv(1 << 17)
            except TimeoutError:
                continue
            # Ethernet, IPv4, TCP.
            if packet[12:14] != b"\x08\x00" or packet[23] != socket.IPPROTO_TCP:
                continue
            tcp = 14 + (packet[14] & 15) * 4
            name = next((self.ports[port] for port in struct.unpack_from(">HH", packet, tcp) if port in self.ports), None)
            if name:
                said = packet[tcp + (packet[tcp + 12] >> 4) * 4:]
                self.bytes[name] += len(said)
                found = said.count(MARKER)
                self.marked[name] += found
                if found:
                    self.last_s = time.monotonic()


def client_hello() -> bytes:
    """What a client of TLS says first."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname="node").do_handshake()
    return outgoing.read()


def bytes_of(path) -> bytes:
    return pathlib.Path(path).read_bytes()
