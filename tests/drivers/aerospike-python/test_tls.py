"""TLS by the client's own settings."""

import os
import tempfile

import aerospike
import pytest
from aerospike import exception

import certificates
import server
from aerospike_settings import settings
from conftest import NAMESPACE

pytestmark = pytest.mark.skipif("TARNDB_TEST_CA" not in os.environ, reason="the server under test has no certificate")


def encrypted(endpoint, name, authority):
    """A client that verifies the certificate for this name."""
    tls = {"enable": True, "cafile": authority}
    return aerospike.client(settings([(*endpoint, name)], tls=tls)).connect()


def test_records_pass_over_tls(endpoint, client):
    over_tls = encrypted(endpoint, "localhost", os.environ["TARNDB_TEST_CA"])
    keys = [(NAMESPACE, "tls", number) for number in range(100)]
    for key in keys:
        over_tls.put(key, {"value": "x" * 10_000})
    assert all(client.get(key)[2] == {"value": "x" * 10_000} for key in keys), "the same records without TLS"
    found = over_tls.batch_read(keys)
    assert all(record.record[2] == {"value": "x" * 10_000} for record in found.batch_records)
    over_tls.close()


def test_another_name_or_authority_is_not_trusted(endpoint, tmp_path):
    with pytest.raises(exception.AerospikeError):
        encrypted(endpoint, "elsewhere.example.org", os.environ["TARNDB_TEST_CA"])


def test_a_port_for_tls_serves_tls_alone(tmp_path):
    """Where the port of everybody serves both."""
    authority = certificates.Authority(tmp_path / "certificates")
    flags = [*authority.server_flags(), "--tls", "optional", "--aerospike-tls-port", "0"]
    private = server.Server(tempfile.mkdtemp(prefix="aerospike-tls-", dir=server.ROOT / ".cache" / "run"), flags, memory="256M")
    private.start()
    try:

        def address(name):
            host, port = private.state()[name].rsplit(":", 1)
            return host, int(port)

        over_tls = encrypted(address("aerospike-tls"), "localhost", str(authority.file))
        plain = aerospike.client(settings([address("aerospike")])).connect()
        over_tls.put((NAMESPACE, "tls", 1), {"n": 1})
        assert plain.get((NAMESPACE, "tls", 1))[2] == {"n": 1}
        assert private.state()["aerospike-tls"] in over_tls.info_random_node("service-tls-std")
        over_tls.close()
        plain.close()
        with pytest.raises(exception.AerospikeError):
            aerospike.client(settings([address("aerospike-tls")], connect_timeout=2_000)).connect()
    finally:
        private.stop()
