"""Guardrails: what clients are warned of and refused, who is exempt, and that nothing holds until it is set; on servers of their own."""

import base64
import contextlib
import itertools
import re
import tempfile
import urllib.error
import urllib.request

import pytest
from cassandra import ConsistencyLevel, InvalidRequest
from cassandra.cluster import Cluster
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.query import BatchStatement, SimpleStatement

import server
from conftest import PEER, run_directory
from patient import patient
from roles import KEYSPACE, boss, login
from waiting import SECONDS_MAX, wait_until

pytestmark = pytest.mark.skipif(bool(PEER), reason="the server under test is not TarnDB")

VIEW = "CREATE MATERIALIZED VIEW ks.{} AS SELECT * FROM ks.wide WHERE k IS NOT NULL AND a IS NOT NULL PRIMARY KEY (a, k)"
REPLICATED = "CREATE KEYSPACE {} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {}}}"
ELEMENTS = "[1, 2, 3{}]"

# Guardrail, thresholds, a statement that keeps to them, one that is warned of and one that is refused, each with what is said.
# Those about the schema begin with keyspace `ks` alone, and in it tables `t`, `one` and `wide`; a statement that was refused has done nothing.
LIMITS = [
    (
        "keyspaces", 2, 3,
        KEYSPACE.format("k2"),
        KEYSPACE.format("k3"), "Creating keyspace k3, current number of keyspaces 3 exceeds warning threshold of 2.",
        KEYSPACE.format("k4"), "Cannot have more than 3 keyspaces, aborting the creation of keyspace k4",
    ),
    (
        "tables", 4, 5,
        "CREATE TABLE ks.t4 (k int PRIMARY KEY)",
        "CREATE TABLE ks.t5 (k int PRIMARY KEY)", "Creating table t5, current number of tables 5 exceeds warning threshold of 4.",
        "CREATE TABLE ks.t6 (k int PRIMARY KEY)", "Cannot have more than 5 tables, aborting the creation of table t6",
    ),
    (
        "columns_per_table", 3, 4,
        "CREATE TABLE ks.c3 (k int PRIMARY KEY, a int, b int)",
        "ALTER TABLE ks.c3 ADD c int", "The table c3 has 4 columns, this exceeds the warning threshold of 3.",
        "CREATE TABLE ks.c5 (k int PRIMARY KEY, a int, b int, c int, d int)",
        "Tables cannot have more than 4 columns, but 5 provided for table c5",
    ),
    (
        "secondary_indexes_per_table", 1, 2,
        "CREATE INDEX ON ks.wide (a)",
        "CREATE INDEX by_b ON ks.wide (b) USING 'sai'",
        "Creating secondary index by_b on table wide, current number of indexes 2 exceeds warning threshold of 1.",
        "CREATE INDEX ON ks.wide (c)", "Tables cannot have more than 2 secondary indexes, aborting the creation of secondary index on table wide",
    ),
    (
        "materialized_views_per_table", 1, 2,
        VIEW.format("v1"),
        VIEW.format("v2"), "Creating materialized view v2 on table wide, current number of views 2 exceeds warning threshold of 1.",
        VIEW.format("v3"),
        "Tables cannot have more than 2 materialized views, aborting the creation of materialized view v3 on table wide",
    ),
    (
        "fields_per_udt", 1, 2,
        "CREATE TYPE ks.u (a int)",
        "ALTER TYPE ks.u ADD b int", "The user type u has 2 columns, this exceeds the warning threshold of 1.",
        "ALTER TYPE ks.u ADD c int", "User types cannot have more than 2 columns, but 3 provided for user type u.",
    ),
    (
        "vector_dimensions", 2, 4,
        "ALTER TABLE ks.wide ADD v2 vector<float, 2>",
        "ALTER TABLE ks.wide ADD v4 list<frozen<vector<float, 4>>>",
        "Column v4 has a vector of 4 dimensions, this exceeds the warning threshold of 2.",
        "CREATE TYPE ks.v5 (f vector<float, 5>)", "Field f has a vector of 5 dimensions, this exceeds the failure threshold of 4.",
    ),
    (
        "page_size", 5, 10,
        SimpleStatement("SELECT * FROM ks.one", fetch_size=5),
        SimpleStatement("SELECT * FROM ks.one", fetch_size=10), "Query for table one with page size 10 exceeds warning threshold of 5.",
        SimpleStatement("SELECT * FROM ks.one", fetch_size=11), "Aborting query for table one, page size 11 exceeds fail threshold of 10.",
    ),
    (
        "partition_keys_in_select", 2, 3,
        "SELECT * FROM ks.one WHERE k IN (1, 2, 2)",
        "SELECT * FROM ks.one WHERE k IN (1, 2, 3)",
        "Query with partition keys in IN clause on table one, with number of partition keys 3 exceeds warning threshold of 2.",
        "SELECT * FROM ks.one WHERE k IN (1, 2, 3, 4)",
        "Aborting query with partition keys in IN clause on table one, number of partition keys 4 exceeds fail threshold of 3.",
    ),
    (
        "in_select_cartesian_product", 3, 4,
        "SELECT * FROM ks.t WHERE k = 1 AND c IN (1, 2, 3)",
        "SELECT * FROM ks.t WHERE k = 1 AND c IN (1, 2) AND d IN (1, 2)",
        "The cartesian product of the IN restrictions on clustering key produces 4 values, this exceeds warning threshold of 3.",
        "SELECT * FROM ks.t WHERE k IN (1, 2, 3, 4, 5)",
        "Aborting query because the cartesian product of the IN restrictions on partition key produces 5 values, this exceeds fail threshold of 4.",
    ),
    (
        "items_per_collection", 3, 4,
        f"INSERT INTO ks.one (k, l) VALUES (1, {ELEMENTS.format('')})",
        f"UPDATE ks.one SET l = l + {ELEMENTS.format(', 4')} WHERE k = 1",
        "Detected collection l with 4 items, this exceeds the warning threshold of 3.",
        f"BEGIN BATCH INSERT INTO ks.one (k, l) VALUES (2, {ELEMENTS.format(', 4, 5')}) APPLY BATCH",
        "Detected collection l with 5 items, this exceeds the failure threshold of 4.",
    ),
    (
        "column_value_size", 4, 8,
        "INSERT INTO ks.one (k, l) VALUES (1, [1])",
        "UPDATE ks.one SET m['abcdef'] = '' WHERE k = 1",
        "Value of column 'm' has size 6, this exceeds the warning threshold of 4.",
        "UPDATE ks.one SET m['a'] = 'bcdefghij' WHERE k = 1",
        "Value of column 'm' has size 9, this exceeds the failure threshold of 8.",
    ),
    (
        "minimum_replication_factor", 3, 2,
        REPLICATED.format("k3", 3),
        REPLICATED.format("k2", 2), "The keyspace k2 has a replication factor of 2, below the warning threshold of 3.",
        REPLICATED.format("k1", 1), "The keyspace k1 has a replication factor of 1, below the failure threshold of 2.",
    ),
    (
        "maximum_replication_factor", 1, 2,
        REPLICATED.format("k1", 1),
        REPLICATED.format("k2", 2), "The keyspace k2 has a replication factor of 2, above the warning threshold of 1.",
        REPLICATED.format("k3", 3), "The keyspace k3 has a replication factor of 3, above the failure threshold of 2.",
    ),
    (
        # 4 bytes an element, and 36 for its cell.
        "collection_size", 120, 160,
        f"INSERT INTO ks.one (k, l) VALUES (1, {ELEMENTS.format('')})",
        f"INSERT INTO ks.one (k, l) VALUES (1, {ELEMENTS.format(', 4')})",
        "Detected collection l of size 160, this exceeds the warning threshold of 120.",
        f"INSERT INTO ks.one (k, l) VALUES (1, {ELEMENTS.format(', 4, 5')})",
        "Detected collection l of size 200, this exceeds the failure threshold of 160.",
    ),
]

# Setting, what is refused without it, and what is said.
SWITCHES = [
    (
        "allow_filtering_enabled", "SELECT * FROM ks.one WHERE v = 1 ALLOW FILTERING",
        "Guardrail allow_filtering violated: Querying with ALLOW FILTERING is not allowed. "
        "ALLOW FILTERING can potentially visit all the data in the table and have unpredictable performance.",
    ),
    ("alter_table_enabled", "ALTER TABLE ks.wide DROP c", "Guardrail alter_table violated: ALTER TABLE changing columns is not allowed"),
    (
        "compact_tables_enabled", "CREATE TABLE ks.packed (k int PRIMARY KEY, v int) WITH COMPACT STORAGE",
        "Guardrail compact_tables violated: Creation of new COMPACT STORAGE tables is not allowed",
    ),
    ("drop_keyspace_enabled", "DROP KEYSPACE ks", "Guardrail drop_keyspace_enabled violated: DROP KEYSPACE functionality is not allowed"),
    (
        "drop_truncate_table_enabled", "TRUNCATE ks.one",
        "Guardrail drop_truncate_table_enabled violated: DROP and TRUNCATE TABLE functionality is not allowed",
    ),
    (
        "drop_truncate_table_enabled", "DROP TABLE ks.wide",
        "Guardrail drop_truncate_table_enabled violated: DROP and TRUNCATE TABLE functionality is not allowed",
    ),
    ("group_by_enabled", "SELECT k, count(*) FROM ks.t GROUP BY k", "Guardrail group_by violated: GROUP BY functionality is not allowed"),
    (
        "read_before_write_list_operations_enabled", "UPDATE ks.one SET l = l - [1] WHERE k = 1",
        "Guardrail read_before_write_list_operations violated: Removal of list items requiring read before write is not allowed",
    ),
    (
        "uncompressed_tables_enabled", "ALTER TABLE ks.one WITH compression = {'enabled': false}",
        "Guardrail uncompressed_tables_enabled violated: Uncompressed table is not allowed",
    ),
    (
        "secondary_indexes_enabled", "CREATE INDEX ON ks.wide (a)",
        "Guardrail secondary_indexes violated: Creating secondary indexes is not allowed",
    ),
    ("simplestrategy_enabled", KEYSPACE.format("k2"), "Guardrail simplestrategy violated: SimpleStrategy is not allowed"),
    (
        "user_timestamps_enabled", "INSERT INTO ks.one (k, v) VALUES (1, 1) USING TIMESTAMP 1",
        "Guardrail user_timestamps violated: User provided timestamps (USING TIMESTAMP) is not allowed",
    ),
]


@pytest.fixture(scope="module")
def guarded():
    """A server on which clients have to log in."""
    private = server.Server(tempfile.mkdtemp(prefix="guardrails-", dir=run_directory()), server.LOGIN_FLAGS)
    private.start()
    yield private
    private.stop()


@pytest.fixture
def schema(boss):
    """Keyspace `ks` and its tables, and nothing else of users'."""
    make_schema(boss)
    yield
    for row in boss.execute("SELECT keyspace_name FROM system_schema.keyspaces"):
        if not row.keyspace_name.startswith("system"):
            boss.execute(f"DROP KEYSPACE {row.keyspace_name}")


@pytest.fixture(scope="module")
def everybody(guarded, boss):
    """A session of who may do everything and is no superuser."""
    boss.execute("CREATE ROLE everybody WITH PASSWORD = 'everybody' AND LOGIN = true")
    boss.execute("GRANT ALL PERMISSIONS ON ALL KEYSPACES TO everybody")
    with login(guarded, "everybody") as session:
        yield session


@pytest.fixture
def user(everybody, schema):
    return everybody


def make_schema(session):
    session.execute(KEYSPACE.format("ks"))
    session.execute("CREATE TABLE ks.t (k int, c int, d int, v int, PRIMARY KEY (k, c, d))")
    session.execute("CREATE TABLE ks.one (k int PRIMARY KEY, v int, l list<int>, m map<text, text>)")
    session.execute("CREATE TABLE ks.wide (k int PRIMARY KEY, a int, b int, c int)")


def set_now(guarded, name, value):
    """What the server answers to a setting."""
    login_of = base64.b64encode(b"cassandra:cassandra").decode()
    url = f"http://{guarded.state()['http']}/settings/{name}"
    request = urllib.request.Request(url, str(value).encode(), {"Authorization": f"Basic {login_of}"}, method="POST")
    with urllib.request.urlopen(request, timeout=SECONDS_MAX) as answer:
        return answer.read().decode()


@contextlib.contextmanager
def holding(guarded, **settings):
    """Settings that hold meanwhile."""
    try:
        for name, value in settings.items():
            set_now(guarded, name, value)
        yield
    finally:
        for name in reversed(settings):
            off = {"enabled": "true", "threshold": "-1"}
            set_now(guarded, name, off.get(name.rsplit("_", 1)[1], ""))


def limited(guarded, guardrail, warn, fail):
    return holding(guarded, **{f"{guardrail}_warn_threshold": warn, f"{guardrail}_fail_threshold": fail})


def said(session, statement, values=None, **options):
    """The guardrails that a statement is warned of: views have another warning in any case."""
    warnings = session.execute(statement, values, **options).response_future.warnings or []
    return [warning for warning in warnings if warning.startswith("Guardrail ")]


def refused(session, statement, message):
    with pytest.raises(InvalidRequest) as refusal:
        session.execute(statement)
    assert f'code=2200 [Invalid query] message="{message}"' in str(refusal.value)


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit[0])
def test_a_limit_warns_then_refuses_and_superusers_are_exempt(guarded, boss, user, limit):
    guardrail, warn, fail, passes, warned, warning, too_much, refusal = limit
    with limited(guarded, guardrail, warn, fail):
        assert said(user, passes) == []
        assert said(user, warned) == [f"Guardrail {guardrail} violated: {warning}"]
        refused(user, too_much, f"Guardrail {guardrail} violated: {refusal}")
        assert said(boss, too_much) == []


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit[0])
def test_without_settings_there_is_no_limit(user, limit):
    for statement in (limit[3], limit[4], limit[6]):
        assert said(user, statement) == []


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda switch: switch[0])
def test_what_is_switched_off_is_refused_but_to_superusers(guarded, boss, user, switch):
    setting, statement, message = switch
    with holding(guarded, **{setting: "false"}):
        refused(user, statement, message)
        assert said(boss, statement) == []


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda switch: switch[0])
def test_without_settings_nothing_is_switched_off(user, switch):
    assert said(user, switch[1]) == []


def test_timestamps_far_from_now_are_warned_of_and_refused(guarded, boss, user):
    now_us = user.execute("SELECT toUnixTimestamp(now()) FROM system.local").one()[0] * 1000
    hour_us = 3_600_000_000
    insert = user.prepare("INSERT INTO ks.one (k, v) VALUES (1, 1) USING TIMESTAMP ?")
    for guardrail, direction, place in [("maximum", 1, "after"), ("minimum", -1, "before")]:
        with limited(guarded, f"{guardrail}_timestamp", "1h", "2h"):
            assert said(user, insert, (now_us,)) == []
            (warning,) = said(user, insert, (now_us + direction * 3 * hour_us // 2,))
            assert warning.startswith(
                f"Guardrail {guardrail}_timestamp violated: The modification to table one has a timestamp "
                f"{now_us + direction * 3 * hour_us // 2} {place} the {guardrail} allowable warning threshold "
            )
            with pytest.raises(InvalidRequest, match=f"{place} the {guardrail} allowable failure threshold"):
                user.execute(insert, (now_us + direction * 3 * hour_us,))
            assert said(user, insert, (now_us - direction * 3 * hour_us,)) == []
            assert said(boss, f"INSERT INTO ks.one (k, v) VALUES (1, 1) USING TIMESTAMP {now_us + direction * 3 * hour_us}") == []


def test_levels_are_warned_of_and_refused(guarded, boss, user):
    statements = {
        "read": ["SELECT * FROM ks.one WHERE k = 1"],
        "write": ["INSERT INTO ks.one (k, v) VALUES (1, 1)", "BEGIN BATCH DELETE FROM ks.one WHERE k = 1 APPLY BATCH"],
    }

    def at(level, statement):
        return SimpleStatement(statement, consistency_level=level)

    for kind, ours in statements.items():
        guardrail = f"{kind}_consistency_levels"
        (theirs,) = (others for other, others in statements.items() if other != kind)
        with holding(guarded, **{f"{guardrail}_warned": "one,TWO", f"{guardrail}_disallowed": "ALL"}):
            for statement in ours:
                assert said(user, at(ConsistencyLevel.QUORUM, statement)) == []
                assert said(user, at(ConsistencyLevel.ONE, statement)) == [
                    f"Guardrail {guardrail} violated: Provided values [ONE] are not recommended for {kind} consistency levels "
                    "(warned values are: [ONE, TWO])"
                ]
                refused(
                    user, at(ConsistencyLevel.ALL, statement),
                    f"Guardrail {guardrail} violated: Provided values [ALL] are not allowed for {kind} consistency levels "
                    "(disallowed values are: [ALL])",
                )
                assert said(boss, at(ConsistencyLevel.ALL, statement)) == []
            for statement in theirs:
                assert said(user, at(ConsistencyLevel.ALL, statement)) == []
            assert said(user, at(ConsistencyLevel.ONE, "SELECT key FROM system.local")) == []
    batch = BatchStatement(consistency_level=ConsistencyLevel.ONE, serial_consistency_level=ConsistencyLevel.LOCAL_SERIAL)
    batch.add(SimpleStatement(statements["write"][0]))
    with holding(guarded, write_consistency_levels_disallowed="LOCAL_SERIAL"):
        with pytest.raises(InvalidRequest, match=r"Provided values \[LOCAL_SERIAL\] are not allowed for write consistency levels"):
            user.execute(batch)


def test_properties_of_tables_are_warned_of_refused_and_left_out(guarded, boss, user):
    create = "CREATE TABLE ks.made (k int PRIMARY KEY) WITH {}"
    of = "SELECT comment, gc_grace_seconds FROM system_schema.tables WHERE keyspace_name = 'ks' AND table_name = 'made'"
    settings = {"warned": "caching", "ignored": "gc_grace_seconds", "disallowed": "compaction"}
    with holding(guarded, **{f"table_properties_{which}": names for which, names in settings.items()}):
        refused(
            user, create.format("comment = 'a' AND compaction = {'class': 'SizeTieredCompactionStrategy'}"),
            "Guardrail table_properties violated: Provided values [compaction] are not allowed for Table Properties "
            "(disallowed values are: [compaction])",
        )
        assert said(user, create.format("comment = 'a' AND gc_grace_seconds = 5 AND caching = {'keys': 'NONE'}")) == [
            "Guardrail table_properties violated: Ignoring provided values [gc_grace_seconds] as they are not supported for Table Properties "
            "(ignored values are: [gc_grace_seconds])",
            "Guardrail table_properties violated: Provided values [caching] are not recommended for Table Properties "
            "(warned values are: [caching])",
        ]
        assert tuple(user.execute(of).one()) == ("a", 864000)
        assert said(boss, "ALTER TABLE ks.made WITH gc_grace_seconds = 5") == []
    assert tuple(user.execute(of).one()) == ("a", 5)


def test_prepared_statements_and_batches_are_warned_wherever_their_rows_are(guarded, user):
    insert, select = user.prepare("INSERT INTO ks.one (k, l) VALUES (?, ?)"), user.prepare("SELECT k, l FROM ks.one WHERE k = ?")
    items, pages = limited(guarded, "items_per_collection", 2, 10), limited(guarded, "page_size", 100, 200)
    with items, pages:
        for key in range(20):
            # On every core: this one, and others.
            assert len(said(user, insert, (key, [1, 2, 3]))) == 1
            select.fetch_size = 150
            result = user.execute(select, (key,))
            assert tuple(result.one()) == (key, [1, 2, 3])
            assert result.response_future.warnings == [
                "Guardrail page_size violated: Query for table one with page size 150 exceeds warning threshold of 100."
            ]
            select.fetch_size = 100
            assert said(user, select, (key,)) == []
        batch = BatchStatement()
        for key in range(20):
            batch.add(insert, (key, [4, 5, 6]))
        assert len(said(user, batch)) == 1
        batch.add(insert, (0, list(range(11))))
        with pytest.raises(InvalidRequest, match="Detected collection l with 11 items, this exceeds the failure threshold of 10"):
            user.execute(batch)
    assert sorted(row.l for row in user.execute("SELECT l FROM ks.one")) == [[4, 5, 6]] * 20


def test_warnings_stand_beside_others_and_traces(guarded, user):
    with limited(guarded, "page_size", 100, 1000):
        statement = SimpleStatement("SELECT count(*) FROM ks.one", fetch_size=200)
        result = user.execute(statement, trace=True)
        assert tuple(result.one()) == (0,)
        assert result.response_future.warnings == [
            "Guardrail page_size violated: Query for table one with page size 200 exceeds warning threshold of 100.",
            "Aggregation query used without partition key",
        ]
        assert result.get_query_trace(max_wait_sec=SECONDS_MAX).events


def test_a_statement_that_fails_leaves_no_warning_to_the_next(guarded, user):
    with limited(guarded, "page_size", 100, 1000):
        for _ in range(3):
            with pytest.raises(InvalidRequest):
                user.execute(SimpleStatement("SELECT * FROM ks.one LIMIT 0", fetch_size=200))
            assert said(user, SimpleStatement("SELECT * FROM ks.one WHERE k = 1", fetch_size=100)) == []


def test_system_tables_are_read_by_pages_of_any_size(guarded, user):
    with limited(guarded, "page_size", 1, 2):
        assert said(user, SimpleStatement("SELECT * FROM system_schema.tables", fetch_size=5000)) == []


def test_protocol_3_has_refusals_and_no_warnings(guarded, user):
    with limited(guarded, "page_size", 5, 10), login(guarded, "everybody", protocol_version=3) as session:
        assert said(session, SimpleStatement("SELECT * FROM ks.one", fetch_size=10)) == []
        refused(
            session, SimpleStatement("SELECT * FROM ks.one", fetch_size=11),
            "Guardrail page_size violated: Aborting query for table one, page size 11 exceeds fail threshold of 10.",
        )


def test_violations_are_logged_once_in_a_while(guarded, user):
    with limited(guarded, "partition_keys_in_select", 2, 100):
        for _ in range(20):
            assert len(said(user, "SELECT * FROM ks.one WHERE k IN (1, 2, 3)")) == 1
    told = lambda: re.findall("Guardrail partition_keys_in_select violated: Query with", guarded.log_path.read_text())  # noqa: E731
    wait_until(told)
    assert len(told()) < 20


def test_large_partitions_are_logged_and_nothing_is_refused(guarded, user):
    insert = user.prepare("INSERT INTO ks.t (k, c, d, v) VALUES (7, ?, ?, 1)")
    told = lambda: re.search(r"Guardrail partition_size violated: (.*)", guarded.log_path.read_text())  # noqa: E731

    def grown(page):
        execute_concurrent_with_args(user, insert, [(page, row) for row in range(500)])
        return told()

    with limited(guarded, "partition_size", "16KiB", "1GiB"):
        pages = itertools.count()
        wait_until(lambda: grown(next(pages)))
    assert re.match(
        r"Partition ks\.t:7 has size \d+, this exceeds the warning threshold of 16384\. Too large partitions can cause performance problems\.",
        told().group(1),
    )


def test_settings_are_shown_and_checked(guarded, boss):
    def shown(name):
        return boss.execute("SELECT value FROM system_views.settings WHERE name = %s", (name,)).one().value

    assert (shown("page_size_warn_threshold"), shown("group_by_enabled"), shown("collection_size_fail_threshold")) == ("-1", "true", "-1")
    with holding(guarded, page_size_fail_threshold=7, collection_size_fail_threshold="64KiB", group_by_enabled="false"):
        assert (shown("page_size_fail_threshold"), shown("collection_size_fail_threshold")) == ("7", "64 KiB")
        assert shown("group_by_enabled") == "false"
        for name, value in (("page_size_warn_threshold", 8), ("page_size_warn_threshold", 0), ("group_by_enabled", "perhaps")):
            with pytest.raises(urllib.error.HTTPError) as refusal:
                set_now(guarded, name, value)
            assert refusal.value.code == 400
    assert shown("page_size_fail_threshold") == "-1"


def test_where_nobody_logs_in_they_hold_for_everybody():
    flags = ["--page-size-warn-threshold", "5", "--page-size-fail-threshold", "10", "--group-by-enabled", "false"]
    private = server.Server(tempfile.mkdtemp(prefix="guardrails-", dir=run_directory()), flags)
    host, port = private.start().rsplit(":", 1)
    cluster = Cluster([host], port=int(port), **patient(protocol_version=4))
    try:
        session = cluster.connect()
        make_schema(session)
        assert len(said(session, SimpleStatement("SELECT * FROM ks.one", fetch_size=6))) == 1
        refused(session, "SELECT k, count(*) FROM ks.t GROUP BY k", "Guardrail group_by violated: GROUP BY functionality is not allowed")
    finally:
        cluster.shutdown()
        private.stop()
