"""TLS to clients: the driver's own settings, who is let in, and what arrives that is no TLS, or only half of it; on servers of their own."""

import contextlib
import os
import socket
import ssl
import struct
import tempfile
import time

import pytest
from cassandra import ProtocolVersion
from cassandra.cluster import Cluster, NoHostAvailable
from cassandra.query import SimpleStatement

import certificates
import server
from conftest import PEER, run_directory, when_back
from patient import patient
from waiting import SECONDS_MAX

pytestmark = [
    pytest.mark.skipif(bool(PEER), reason="the server under test is not TarnDB"),
    pytest.mark.skipif(bool(certificates.why_not()), reason=str(certificates.why_not())),
]

KEYSPACE = "CREATE KEYSPACE IF NOT EXISTS ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"
ROWS, VALUE = 500, "x" * 4_000


def until(what, condition):
    """Waits for what takes a moment."""
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {SECONDS_MAX} s"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return certificates.Authority(tmp_path_factory.mktemp("certificates") / "ours")


@contextlib.contextmanager
def serving(flags):
    private = server.Server(tempfile.mkdtemp(prefix="tls-", dir=run_directory()), flags)
    private.start()
    try:
        yield private
    finally:
        private.stop()


@pytest.fixture(scope="module")
def required(authority):
    """A server that speaks TLS and nothing else."""
    with serving(authority.server_flags()) as private:
        yield private


def trusting(authority, certificate=None, **versions):
    """A client's settings: it trusts this authority alone, and shows a certificate if it has one."""
    context = ssl.create_default_context(cafile=authority.file)
    if certificate:
        context.load_cert_chain(*certificate)
    for name, version in versions.items():
        setattr(context, name, version)
    return context


def address(private, name="cql"):
    host, port = private.state()[name].rsplit(":", 1)
    return host, int(port)


@contextlib.contextmanager
def session(private, context, listener="cql", **options):
    host, port = address(private, listener)
    verified = {"ssl_options": {"server_hostname": "localhost"}} if context else {}
    cluster = Cluster([host], port=port, ssl_context=context, **patient(**{"protocol_version": 5, **verified, **options}))
    try:
        yield cluster.connect()
    finally:
        cluster.shutdown()


def refusal(private, context, listener="cql") -> str:
    with pytest.raises(NoHostAvailable) as failure, session(private, context, listener):
        pass
    return " ".join(map(str, failure.value.errors.values()))


@pytest.mark.parametrize("version", [ProtocolVersion.V3, ProtocolVersion.V4, ProtocolVersion.V5])
@pytest.mark.parametrize("compression", [False, "lz4"])
def test_rows_pages_and_errors_pass(required, authority, version, compression):
    with session(required, trusting(authority), protocol_version=version, compression=compression) as connected:
        connected.execute(KEYSPACE)
        connected.execute("CREATE TABLE IF NOT EXISTS ks.t (k int PRIMARY KEY, v text)")
        insert = connected.prepare("INSERT INTO ks.t (k, v) VALUES (?, ?)")
        for future in [connected.execute_async(insert, (key, VALUE)) for key in range(ROWS)]:
            future.result()
        # One result of two megabytes, and the same in pages.
        assert {row.v for row in connected.execute(SimpleStatement("SELECT v FROM ks.t", fetch_size=None))} == {VALUE}
        assert len(list(connected.execute(SimpleStatement("SELECT k FROM ks.t", fetch_size=70)))) == ROWS
        with pytest.raises(Exception, match="nothing does not exist"):
            connected.execute("SELECT * FROM ks.nothing")
        assert {row.ssl_enabled for row in connected.execute("SELECT ssl_enabled FROM system_views.clients")} == {True}
        agreed = {(row.ssl_protocol, row.ssl_cipher_suite) for row in connected.execute("SELECT ssl_protocol, ssl_cipher_suite FROM system_views.clients")}
        assert agreed <= {("TLSv1.3", f"TLS_{suite}") for suite in ("AES_256_GCM_SHA384", "AES_128_GCM_SHA256", "CHACHA20_POLY1305_SHA256")}, agreed


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_both_versions_of_tls_are_spoken_and_rows_survive_kill(required, authority, version):
    with session(required, trusting(authority, minimum_version=version, maximum_version=version)) as connected:
        connected.execute(KEYSPACE)
        connected.execute("CREATE TABLE IF NOT EXISTS ks.kept (k int PRIMARY KEY)")
        connected.execute("INSERT INTO ks.kept (k) VALUES (7)")
        required.restart("kill")
        assert when_back(connected, "SELECT k FROM ks.kept").one().k == 7


def test_a_shard_aware_driver_reaches_every_core(required, authority):
    pytest.importorskip("cassandra.shard_info", reason="this driver is not ScyllaDB's")
    with session(required, trusting(authority)) as connected:

        def stats():
            [found] = connected.cluster.shard_aware_stats().values()
            return found

        until("all shards are connected", lambda: stats()["connected"] == stats()["shards_count"])
        [pool] = connected.cluster.get_all_pools()
        assert pool.host.sharding_info.shard_aware_port_ssl == address(required, "shard-aware")[1]


def test_who_trusts_another_authority_does_not_come_in(required, authority, tmp_path):
    other = certificates.Authority(tmp_path / "other")
    assert "certificate verify failed" in refusal(required, trusting(other)).lower()
    with session(required, trusting(authority)) as connected:
        assert connected.execute("SELECT key FROM system.local").one()


def test_who_does_not_speak_tls_is_told_so(required):
    assert "this server is to be spoken to by TLS" in refusal(required, None)
    with socket.create_connection(address(required), SECONDS_MAX) as plain:
        plain.sendall(struct.pack(">BBhBi", 4, 0, 77, 5, 0))
        version, _, stream, opcode, length = struct.unpack(">BBhBi", plain.recv(9, socket.MSG_WAITALL))
        assert (version, stream, opcode) == (0x84, 77, 0), "an ERROR for that request"
        plain.recv(length, socket.MSG_WAITALL)
        assert plain.recv(1) == b""


def test_both_are_served_where_tls_is_optional(authority):
    with serving([*authority.server_flags(), "--tls", "optional"]) as private:
        with session(private, trusting(authority)) as encrypted, session(private, None) as plain:
            encrypted.execute(KEYSPACE)
            plain.execute("CREATE TABLE ks.t (k int PRIMARY KEY)")
            encrypted.execute("INSERT INTO ks.t (k) VALUES (1)")
            assert plain.execute("SELECT k FROM ks.t").one().k == 1


def test_a_port_for_tls_serves_tls_alone(authority):
    """Where the port of everybody serves both."""
    with serving([*authority.server_flags(), "--tls", "optional", "--cql-tls-port", "0"]) as private:
        with session(private, trusting(authority), "cql-tls") as encrypted, session(private, None) as plain:
            encrypted.execute(KEYSPACE)
            plain.execute("CREATE TABLE ks.t (k int PRIMARY KEY)")
            encrypted.execute("INSERT INTO ks.t (k) VALUES (1)")
            assert plain.execute("SELECT k FROM ks.t").one().k == 1
        assert "this server is to be spoken to by TLS" in refusal(private, None, "cql-tls")


def test_clients_may_have_to_have_certificates(authority, tmp_path):
    other = certificates.Authority(tmp_path / "other")
    ours, theirs = authority.issue("app", "DNS:app"), other.issue("app", "DNS:app")
    expired = authority.issue("old", "DNS:old", "-days", "-1")
    with serving([*authority.server_flags(), "--tls-client-ca", str(authority.file)]) as private:
        for refused in (None, theirs, expired):
            assert refusal(private, trusting(authority, refused))
        with session(private, trusting(authority, ours)) as connected:
            assert connected.execute("SELECT key FROM system.local").one()


def test_a_certificate_is_replaced_while_the_server_runs(authority):
    def serial(private):
        with socket.create_connection(address(private), SECONDS_MAX) as raw, trusting(authority).wrap_socket(raw, server_hostname="localhost") as wrapped:
            return wrapped.getpeercert()["serialNumber"]

    with serving(authority.server_flags()) as private, session(private, trusting(authority)) as connected:
        former = serial(private)
        authority.issue("server", "IP:127.0.0.1,DNS:localhost")
        until("new connections have the new certificate", lambda: serial(private) != former)
        assert connected.execute("SELECT key FROM system.local").one(), "who is in stays in"
        now = serial(private)
        (authority.directory / "server.key").write_text("no key")
        until("the log tells of the useless file", lambda: "holds no private key" in private.log_tail())
        assert serial(private) == now, "what is of no use is not taken"
    authority.issue("server", "IP:127.0.0.1,DNS:localhost")


def test_half_handshakes_and_garbage_hurt_nobody(required, authority):
    with session(required, trusting(authority)) as connected, contextlib.ExitStack() as open_sockets:
        for number in range(300):
            raw = open_sockets.enter_context(socket.create_connection(address(required), SECONDS_MAX))
            # A record of a handshake that is cut off, or whose rest is no handshake.
            raw.sendall(b"\x16\x03\x01\x02\x00\x01" if number % 2 else b"\x16\x03\x01\x00\x40" + os.urandom(64))
        for _ in range(50):
            assert connected.execute("SELECT key FROM system.local").one()


def test_files_of_no_use_are_named_at_the_start(authority, tmp_path):
    certificate, key = authority.issue("alone", "IP:127.0.0.1")
    other_key = authority.issue("other", "IP:127.0.0.1")[1]
    for flags, why in (
        (["--tls-certificate", str(certificate)], "tls_certificate is given without tls_key"),
        (["--tls-certificate", str(certificate), "--tls-key", str(other_key)], "is not the key of the certificate that is given with it"),
        (["--tls-certificate", str(key), "--tls-key", str(key)], f"--tls-certificate {key} holds no certificate"),
        (["--tls-certificate", str(certificate), "--tls-key", str(key), "--tls-client-ca", str(tmp_path / "gone")], "cannot be read"),
    ):
        with pytest.raises(server.ServerFailed, match="ended with status 2") as failure:
            server.Server(tmp_path / "refused", flags).start()
        assert why in str(failure.value)
