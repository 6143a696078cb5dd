"""Figures as Prometheus reads them: by the parsers of its own client library, in both formats, and what is in them after requests of each kind."""

import socket
import tempfile
import time
import urllib.request

import pytest
from cassandra import InvalidRequest
from cassandra.cluster import Cluster
from cassandra.protocol import SyntaxException
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as text_format

import certificates
import server
from conftest import PEER, run_directory
from patient import patient
from waiting import SECONDS_MAX

pytestmark = pytest.mark.skipif(bool(PEER), reason="the server under test is not TarnDB")

OPENMETRICS = "application/openmetrics-text"
# What Prometheus 3 sends.
PROMETHEUS = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,"
    "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
)


@pytest.fixture(scope="module")
def private():
    directory = tempfile.mkdtemp(prefix="metrics-", dir=run_directory())
    flags = [*server.offered_tls(directory), "--aerospike-namespaces", "test"]
    private = server.Server(directory, flags)
    private.start()
    yield private
    private.stop()


@pytest.fixture(scope="module")
def session(private):
    host, port = private.state()["cql"].rsplit(":", 1)
    cluster = Cluster([host], port=int(port), **patient(protocol_version=4))
    yield cluster.connect()
    cluster.shutdown()


def scrape(private, accept=None):
    """The format, and the text."""
    headers = {} if accept is None else {"Accept": accept}
    request = urllib.request.Request(f"http://{private.state()['http']}/metrics", headers=headers)
    with urllib.request.urlopen(request, timeout=SECONDS_MAX) as reply:
        return reply.headers["Content-Type"], reply.read().decode()


def samples(private):
    kind, text = scrape(private, OPENMETRICS)
    return [sample for family in openmetrics(text) for sample in family.samples]


def value(private, name, **labels):
    """The sum of the samples that have these labels."""
    return sum(sample.value for sample in samples(private) if sample.name == name and labels.items() <= sample.labels.items())


def until(what, condition):
    """A core writes its figures about once a second."""
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {SECONDS_MAX} s"
        time.sleep(0.05)


@pytest.mark.parametrize("accept", [OPENMETRICS, PROMETHEUS])
def test_openmetrics_is_what_its_parser_takes(private, session, accept):
    kind, text = scrape(private, accept)
    assert kind == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert text.endswith("\n# EOF\n")
    families = {family.name: family for family in openmetrics(text)}
    assert len(families) > 60
    assert families["tarndb_engine_user_bytes"].type == "counter" and families["tarndb_engine_user_bytes"].unit == "bytes"
    assert families["tarndb_request_duration_seconds"].type == "histogram" and families["tarndb_request_duration_seconds"].unit == "seconds"
    assert families["tarndb_connections"].unit == ""


@pytest.mark.parametrize("accept", [None, "text/plain", "*/*", "text/plain;q=1, application/openmetrics-text;q=0.5"])
def test_the_text_format_is_there_for_everybody_else(private, accept):
    kind, text = scrape(private, accept)
    assert kind == "text/plain; version=0.0.4; charset=utf-8" and "# EOF" not in text
    names = {family.name for family in text_format(text)}
    assert {"tarndb_connections", "tarndb_engine_user_bytes", "tarndb_request_duration_seconds"} <= names


def test_both_formats_have_the_same_samples(private):
    def names(families):
        return {(sample.name, *sorted((key, text) for key, text in sample.labels.items() if key != "le")) for family in families for sample in family.samples}

    assert names(openmetrics(scrape(private, OPENMETRICS)[1])) == names(text_format(scrape(private)[1]))


def test_errors_are_counted_by_their_numbers(private, session):
    def errors(code, protocol="cql"):
        return value(private, "tarndb_request_errors_total", protocol=protocol, code=code)

    before = {code: errors(code) for code in ("0x2000", "0x2200")}
    for _ in range(3):
        with pytest.raises(SyntaxException):
            session.execute("SELEC 1")
        with pytest.raises(InvalidRequest):
            session.execute("SELECT * FROM nowhere.t")
    until("three of each", lambda: all(errors(code) == before[code] + 3 for code in before))
    # A read in a namespace that there is not: 20.
    host, port = private.state()["aerospike"].rsplit(":", 1)
    body = bytes([22, 1 | 2, 0, 0, 0, 0]) + bytes(4) + bytes(4) + bytes(4) + (2).to_bytes(2, "big") + (0).to_bytes(2, "big")
    for number, field in ((0, b"nowhere"), (4, bytes(20))):
        body += (len(field) + 1).to_bytes(4, "big") + bytes([number]) + field
    with socket.create_connection((host, int(port)), timeout=SECONDS_MAX) as client:
        client.sendall(bytes([2, 3]) + len(body).to_bytes(6, "big") + body)
        assert client.recv(64)[13] == 20
    until("Aerospike's", lambda: errors("20", "aerospike") == 1)


def test_the_device_has_latencies_and_requests_are_in_flight_or_not(private, session):
    session.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    session.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v blob)")
    for key in range(50):
        session.execute("INSERT INTO ks.t (k, v) VALUES (%s, %s)", (key, bytes(10_000)))
    name = "tarndb_device_operation_duration_seconds_count"
    until("writes of the device", lambda: value(private, name, operation="write") > 0 and value(private, name, operation="sync") > 0)
    assert value(private, "tarndb_requests_in_flight") >= 0


@pytest.mark.skipif(bool(certificates.why_not()), reason=str(certificates.why_not()))
def test_a_certificate_has_an_end(private):
    left = value(private, "tarndb_tls_certificate_not_after_timestamp_seconds", setting="tls_certificate") - time.time()
    assert 364 * 86_400 < left <= 365 * 86_400
