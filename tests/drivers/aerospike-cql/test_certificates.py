"""Aerospike's clients that log in by the certificates of roles, which CQL gives their identities."""

import pathlib
import tempfile

import aerospike
import pytest
from aerospike import exception
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster

import certificates
import server
from aerospike_settings import settings
from conftest import NAMESPACE, split
from patient import patient

pytestmark = pytest.mark.skipif(bool(certificates.why_not()), reason=str(certificates.why_not()))

KEY = (NAMESPACE, "certified", 1)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return certificates.Authority(tmp_path_factory.mktemp("authority") / "certificates")


@pytest.fixture(scope="module")
def guarded(authority):
    """A server whose clients log in by certificate, or else by password; CQL clients without TLS are let in."""
    flags = [
        "--authentication", "certificate-or-password", *server.LOGIN_FLAGS[2:], *authority.server_flags(), "--tls", "optional",
        "--tls-client-ca", str(authority.file), "--certificate-identity", "common-name", "--aerospike-namespaces", NAMESPACE,
    ]
    directory = server.ROOT / ".cache" / "run"
    directory.mkdir(parents=True, exist_ok=True)
    private = server.Server(tempfile.mkdtemp(prefix="aerospike-certificates-", dir=directory), flags)
    private.start()
    yield private
    private.stop()


@pytest.fixture(scope="module")
def boss(guarded):
    host, port = split(guarded.state()["cql"])
    connected = Cluster([host], port=port, **patient(auth_provider=PlainTextAuthProvider("cassandra", "cassandra")))
    yield connected.connect()
    connected.shutdown()


def connected(guarded, authority, files: tuple[pathlib.Path, pathlib.Path] | None):
    """A client that shows a certificate, or none, and no name or password."""
    host, port = split(guarded.state()["aerospike"])
    tls = {"enable": True, "cafile": str(authority.file)}
    if files:
        tls |= {"certfile": str(files[0]), "keyfile": str(files[1])}
    return aerospike.client(settings([(host, port, "localhost")], {"auth_mode": aerospike.AUTH_PKI}, tls=tls)).connect()


def test_a_client_is_served_as_the_role_of_its_certificate(guarded, authority, boss):
    boss.execute("CREATE ROLE reader WITH LOGIN = true")
    boss.execute("ADD IDENTITY 'reader.example' TO ROLE 'reader'")
    boss.execute("CREATE ROLE writer WITH LOGIN = true AND SUPERUSER = true")
    boss.execute("ADD IDENTITY 'writer.example' TO ROLE 'writer'")
    writer = connected(guarded, authority, authority.issue("writer.example", "DNS:writer.example"))
    writer.put(KEY, {"n": 1})
    reader = connected(guarded, authority, authority.issue("reader.example", "DNS:reader.example"))
    with pytest.raises(exception.AerospikeError) as refused:
        reader.get(KEY)
    assert refused.value.code == 81
    boss.execute(f'GRANT SELECT ON KEYSPACE "{NAMESPACE}" TO reader')
    assert reader.get(KEY)[2] == {"n": 1}
    with pytest.raises(exception.AerospikeError) as refused:
        reader.put(KEY, {"n": 2})
    assert refused.value.code == 81
    boss.execute("DROP IDENTITY 'reader.example'")
    with pytest.raises(exception.AerospikeError):
        for _ in range(100):
            reader.get(KEY)
    for client in (reader, writer):
        client.close()


@pytest.mark.parametrize("name", ["nobody.example", None])
def test_who_has_no_certificate_of_a_role_is_refused(guarded, authority, boss, name):
    files = authority.issue(name, f"DNS:{name}") if name else None
    with pytest.raises(exception.AerospikeError):
        connected(guarded, authority, files).get(KEY)


def test_a_certificate_of_another_authority_is_refused(guarded, authority, boss, tmp_path):
    other = certificates.Authority(tmp_path / "certificates")
    with pytest.raises(exception.AerospikeError):
        connected(guarded, authority, other.issue("writer.example", "DNS:writer.example")).get(KEY)
