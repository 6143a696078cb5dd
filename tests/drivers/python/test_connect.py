"""Connections: protocol versions, compression, USE, downgrade, names that the driver reads at connect."""

import pytest
from cassandra import InvalidRequest, ProtocolVersion
from cassandra.cluster import Cluster, NoHostAvailable

from conftest import PEER
from patient import patient
from waiting import wait_until

VERSIONS = [3, 4, 5]


def negotiated(session):
    connection = session.cluster.control_connection._connection
    return connection.protocol_version, connection._compressor


@pytest.mark.parametrize("version", VERSIONS)
def test_session_opens_on_every_protocol_version(connect, version):
    with connect(protocol_version=version) as session:
        assert session.cluster.protocol_version == version
        assert len(session.execute("SELECT key FROM system.local WHERE key = 'local'").all()) == 1


@pytest.mark.parametrize("compression", [False, "lz4", "snappy"])
@pytest.mark.parametrize("version", [3, 4])
def test_large_values_pass_through_every_compression(connect, keyspace, version, compression):
    text = "a tarn is a small mountain lake " * 4000
    with connect(keyspace, protocol_version=version, compression=compression) as session:
        assert (negotiated(session)[1] is not None) == bool(compression)
        session.execute("CREATE TABLE IF NOT EXISTS squeezed (k int PRIMARY KEY, v text)")
        session.execute("INSERT INTO squeezed (k, v) VALUES (%s, %s)", (version, text))
        assert session.execute("SELECT v FROM squeezed WHERE k = %s", (version,)).one().v == text


@pytest.mark.parametrize("compression", [False, "lz4"])
def test_values_larger_than_a_v5_segment_survive(connect, keyspace, compression):
    # A v5 segment carries at most 128 KiB - 1: these frames are cut and joined in both directions.
    blob = bytes(range(256)) * 4096
    with connect(keyspace, protocol_version=5, compression=compression) as session:
        session.execute("CREATE TABLE IF NOT EXISTS segmented (k int PRIMARY KEY, v blob)")
        insert = session.prepare("INSERT INTO segmented (k, v) VALUES (?, ?)")
        for key, length in enumerate([0, 1, 131_000, 131_071, 131_072, 262_144, 1_048_576]):
            session.execute(insert, (key, blob[:length]))
            assert session.execute("SELECT v FROM segmented WHERE k = %s", (key,)).one().v == blob[:length]


def test_unsupported_version_is_answered_so_that_the_driver_downgrades(endpoint):
    # Without a version the driver starts with its newest and goes down until the server agrees.
    cluster = Cluster([endpoint[0]], port=endpoint[1], **patient())
    try:
        session = cluster.connect()
        assert cluster.protocol_version in (4, 5)
        assert session.execute("SELECT key FROM system.local").one().key == "local"
    finally:
        cluster.shutdown()


def test_version_that_no_server_speaks_is_refused_cleanly(endpoint):
    cluster = Cluster([endpoint[0]], port=endpoint[1], **patient(protocol_version=ProtocolVersion.DSE_V2))
    try:
        with pytest.raises(NoHostAvailable) as failure:
            cluster.connect()
        assert "protocol" in str(failure.value).lower()
    finally:
        cluster.shutdown()


def test_use_changes_the_keyspace_of_the_connection(connect, keyspace):
    with connect() as session:
        session.execute("CREATE TABLE %s.used (k int PRIMARY KEY)" % keyspace)
        with pytest.raises(InvalidRequest):
            session.execute("SELECT * FROM used")
        session.execute(f"USE {keyspace}")
        assert session.keyspace == keyspace
        assert session.execute("SELECT * FROM used").all() == []


def test_use_of_an_unknown_keyspace_is_invalid(connect):
    with connect() as session, pytest.raises(InvalidRequest):
        session.execute("USE no_such_keyspace")


def test_set_keyspace_applies_to_all_connections(connect, keyspace):
    with connect() as session:
        session.execute(f"CREATE TABLE {keyspace}.spread (k int PRIMARY KEY)")
        session.set_keyspace(keyspace)
        futures = [session.execute_async("SELECT * FROM spread") for _ in range(50)]
        assert all(future.result().all() == [] for future in futures)


def test_local_node_describes_itself(shared_session):
    host = next(iter(shared_session.cluster.metadata.all_hosts()))
    assert host.is_up
    assert host.release_version
    assert host.datacenter and host.rack and host.host_id
    assert shared_session.cluster.metadata.cluster_name
    assert shared_session.cluster.metadata.partitioner.endswith("Murmur3Partitioner")
    assert shared_session.cluster.metadata.token_map.ring


def test_peers_of_a_single_node_are_empty(shared_session):
    assert shared_session.execute("SELECT peer FROM system.peers").all() == []
    assert shared_session.execute("SELECT peer FROM system.peers_v2").all() == []


def test_many_sessions_open_and_close(connect):
    for _ in range(20):
        with connect() as session:
            assert session.execute("SELECT key FROM system.local").one().key == "local"


@pytest.mark.skipif(bool(PEER), reason="Cassandra's table has other clients' connections, too")
def test_clients_are_seen_while_they_are_connected(shared_session, connect, keyspace):
    def connections():
        return {(row.address, row.port): row for row in shared_session.execute("SELECT * FROM system_views.clients")}

    before = connections()
    assert before, "this session's own connections are there"
    with connect(keyspace) as session:
        for _ in range(20):
            session.execute("SELECT key FROM system.local WHERE key = 'local'")
        new = {}

        def all_are_ready():
            # The driver may open some beside this.
            new.update({client: row for client, row in connections().items() if client not in before})
            return new and all(row.connection_stage == "ready" for row in new.values())

        wait_until(all_are_ready)
        seen = new.values()
        assert all(row.protocol_version == 4 and not row.ssl_enabled for row in seen)
        assert all(row.driver_name == row.client_options["DRIVER_NAME"] and row.driver_version for row in seen)
        assert keyspace in {row.keyspace_name for row in seen}
        # The driver's own questions count as well.
        assert sum(row.request_count for row in seen) >= 20
        assert {row.username for row in seen} == {"anonymous"}
    wait_until(lambda: not new.keys() & connections().keys())


@pytest.mark.skipif(bool(PEER), reason="settings have names of their own")
def test_settings_are_shown(shared_session, endpoint):
    settings = {row.name: row.value for row in shared_session.execute("SELECT * FROM system_views.settings")}
    assert settings["cql_port"] == str(endpoint[1])
    assert settings["superuser_password_file"] == ""
