"""TLS by the client's own settings."""

import os

import aerospike
import pytest
from aerospike import exception

from aerospike_settings import patient
from conftest import NAMESPACE

pytestmark = pytest.mark.skipif("TARNDB_TEST_CA" not in os.environ, reason="the server under test has no certificate")


def encrypted(endpoint, name, authority):
    """A client that verifies the certificate for this name."""
    tls = {"enable": True, "cafile": authority}
    return aerospike.client(patient([(*endpoint, name)], tls=tls)).connect()


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
