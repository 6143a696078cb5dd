"""Clients that never finish the handshake of TLS, or never log in: their time is over, and at the limit they give their places.

With servers of their own, which have few places.
"""

import os
import signal
import socket
import ssl
import struct
import tempfile
import threading

import pytest

import certificates
import server as servers
from test_clients import wait_until
from wire import READY, Wire, frame, startup

# Two cores.
PLACES = 1_000
CLIENTS = 3_000
AUTHENTICATE, AUTH_RESPONSE, AUTH_SUCCESS = 0x03, 0x0F, 0x10
# The first bytes of a ClientHello.
BEGINS = bytes.fromhex("16030100c80100")
# A deadline is looked at when it has come, and the machine may be slow.
HANDSHAKE_SECONDS_MAX, LOGIN_SECONDS_MAX = 120, 180


@pytest.fixture
def make_server(descriptors_max):
    made = []

    def make(*flags):
        runs = servers.ROOT / ".cache" / "run"
        runs.mkdir(parents=True, exist_ok=True)
        private = servers.Server(tempfile.mkdtemp(prefix="pending-", dir=runs), flags=("--connections-per-core", str(PLACES // 2), *flags))
        private.start()
        made.append(private)
        return private

    yield make
    for private in made:
        private.stop()


def address_of(private, port: str):
    host, number = private.state()[port].rsplit(":", 1)
    return host, int(number)


def tls_flags(how: str) -> list[str]:
    if why := certificates.why_not():
        pytest.skip(why)
    return servers.offered_tls(tempfile.mkdtemp(prefix="pending-tls-", dir=servers.ROOT / ".cache/run"), how)


def connected(address, count: int, says: bytes) -> list[socket.socket]:
    clients = []
    for _ in range(count):
        client = socket.create_connection(address, timeout=120)
        clients.append(client)
        try:
            client.sendall(says)
        except OSError:
            # Cut already.
            pass
    return clients


def is_open(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        # After what it was told before.
        while client.recv(1 << 12):
            pass
        return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def open_count(clients) -> int:
    return sum(map(is_open, clients))


def secured(address) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(socket.create_connection(address, timeout=120))


def stall(private):
    """Stops the server for a second: it has to take in at once whoever comes meanwhile."""
    pid = private.state()["pid"]
    os.kill(pid, signal.SIGSTOP)
    threading.Timer(1, os.kill, (pid, signal.SIGCONT)).start()


def close_all(clients):
    for client in clients:
        client.close()


@pytest.mark.parametrize("port", ["cql", pytest.param("aerospike", marks=pytest.mark.long), pytest.param("griddb", marks=pytest.mark.long)])
def test_three_times_as_many_half_handshakes_as_places_keep_nobody_out(make_server, port):
    private = make_server(*tls_flags("required"), "--aerospike-namespaces", "test")
    addresses = address_of(private, port), address_of(private, "cql")
    stall(private)
    clients = connected(addresses[0], CLIENTS, BEGINS)
    try:
        # Before the server has taken in any of the others.
        with secured(addresses[1]) as client:
            client.sendall(startup())
            assert client.recv(9)[4] == READY
            wait_until(lambda: open_count(clients) <= PLACES + 64, "the others are closed")
            wait_until(lambda: open_count(clients) == 0, "all of them are closed in the end", HANDSHAKE_SECONDS_MAX)
            client.sendall(startup())
            assert client.recv(1) != b"", "who has done the handshake stays"
    finally:
        close_all(clients)


@pytest.mark.long
def test_who_begins_tls_where_it_is_optional_has_to_end_it_and_pools_may_idle(make_server):
    private = make_server(*tls_flags("optional"))
    idle = connected(address_of(private, "cql"), 20, b"")
    handshakes = connected(address_of(private, "cql"), 200, BEGINS)
    with secured(address_of(private, "cql")) as silent:
        wait_until(lambda: open_count(handshakes) == 0, "all of them are closed in the end", HANDSHAKE_SECONDS_MAX)
        assert open_count(idle) == len(idle), "who says nothing may be a pool"
        silent.sendall(startup())
        assert silent.recv(9)[4] == READY
    close_all(idle + handshakes)


def log_in(wire: Wire) -> Wire:
    wire.send(startup())
    assert wire.reply().opcode == AUTHENTICATE
    token = b"\0cassandra\0cassandra"
    wire.send(frame(AUTH_RESPONSE, struct.pack(">I", len(token)) + token))
    assert wire.reply().opcode == AUTH_SUCCESS
    return wire


def test_who_does_not_log_in_gives_its_place_and_who_has_keeps_it(make_server):
    private = make_server(*servers.LOGIN_FLAGS)
    address = address_of(private, "cql")
    with log_in(Wire(address)) as before:
        clients = connected(address, CLIENTS, startup())
        try:
            with log_in(Wire(address)) as after:
                wait_until(lambda: open_count(clients) <= PLACES + 64, "the others are closed")
                for wire in (before, after):
                    wire.send(frame(0x05))
                    assert wire.reply().opcode == 0x06, "it is still served"
        finally:
            close_all(clients)


@pytest.mark.long
def test_who_does_not_log_in_is_cut_in_the_end_and_who_has_is_not(make_server):
    private = make_server(*servers.LOGIN_FLAGS)
    address = address_of(private, "cql")
    with log_in(Wire(address)) as wire:
        clients = connected(address, 100, startup())
        wait_until(lambda: open_count(clients) == 0, "all of them are closed in the end", LOGIN_SECONDS_MAX)
        wire.send(frame(0x05))
        assert wire.reply().opcode == 0x06, "it is still served"
        close_all(clients)


def test_clients_of_sql_that_do_not_log_in_give_their_places(make_server):
    private = make_server()
    address = address_of(private, "griddb-sql")
    # At most 256 are served.
    clients = connected(address, 600, b"")
    try:
        wait_until(lambda: open_count(clients) <= 256, "all others are closed")
        # CONNECT, version -9, over IPv4: a frame's header, statement 100, partition, the statement's number, the version.
        request = struct.pack("<i12xiiiii", 65_021_048, 16, 100, 0, 1, -9)
        with socket.create_connection(address, timeout=120) as last:
            last.sendall(request)
            assert last.recv(1 << 10)[20:28] == struct.pack("<ii", 100, 1), "it is served"
    finally:
        close_all(clients)
