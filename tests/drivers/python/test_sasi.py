"""SASI indexes that take texts apart: LIKE finds rows by their tokens, before and after the index is made, through changes, time to live, pages and restarts."""

import random
import time

import pytest
from cassandra import InvalidRequest
from cassandra.protocol import ConfigurationException
from cassandra.query import SimpleStatement

from conftest import PEER, when_back
from waiting import SECONDS_MAX

CLASS = "org.apache.cassandra.index.sasi.SASIIndex"
ANALYZERS = "org.apache.cassandra.index.sasi.analyzer."
DELIMITER = "░"
ROWS = 400


def index(name, column, **options):
    given = ", ".join(f"'{option}': '{value}'" for option, value in options.items())
    return f"CREATE CUSTOM INDEX ON {name} ({column}) USING '{CLASS}' WITH OPTIONS = {{{given}}}"


def by_parts(name, column, **options):
    return index(name, column, analyzer_class=ANALYZERS + "DelimiterAnalyzer", delimiter=DELIMITER, **options)


def text_of(chance):
    """As Zipkin writes annotations and tags: each between delimiters, some twice."""
    parts = [chance.choice(["error", "http.path=/1", "http.path=/2", "live", "Error", "%odd", ""]) for _ in range(chance.randrange(5))]
    return DELIMITER + DELIMITER.join(parts) + DELIMITER if parts else ""


def like(session, name, pattern):
    return [tuple(row) for row in session.execute(SimpleStatement(f"SELECT k, c, v FROM {name} WHERE v LIKE %s", fetch_size=17), (pattern,))]


def check(session, name):
    every = [tuple(row) for row in session.execute(f"SELECT k, c, v FROM {name}")]
    for pattern, matches in [
        ("error", lambda parts: "error" in parts),
        ("err%", lambda parts: any(part.startswith("err") for part in parts)),
        ("http%", lambda parts: any(part.startswith("http") for part in parts)),
        ("http.path=/2", lambda parts: "http.path=/2" in parts),
        (f"x%odd{DELIMITER}live", lambda parts: False),
        ("http", lambda parts: False),
        (DELIMITER, lambda parts: False),
        # Cassandra looks for rows with one of them, in partitions that have all.
        *([] if PEER else [(f"live{DELIMITER}{DELIMITER}error", lambda parts: {"live", "error"} <= parts)]),
    ]:
        # Both are in the order of the ring.
        assert like(session, name, pattern) == [row for row in every if matches(set((row[2] or "").split(DELIMITER)) - {""})], pattern


@pytest.fixture(scope="module")
def annotated(shared_session, keyspace):
    """A table with rows from before its index and after."""
    name, chance = f"{keyspace}.annotated", random.Random(3)
    shared_session.execute(f"CREATE TABLE {name} (k int, c int, v text, PRIMARY KEY (k, c))")
    insert = shared_session.prepare(f"INSERT INTO {name} (k, c, v) VALUES (?, ?, ?)")
    for n in range(ROWS):
        shared_session.execute(insert, (n % 70, n, text_of(chance)))
    shared_session.execute(by_parts(name, "v", mode="PREFIX", analyzed="true"))
    for n in range(ROWS, 2 * ROWS):
        shared_session.execute(insert, (n % 70, n, text_of(chance)))
    return name


def test_tokens_of_rows_from_before_and_after_are_found(shared_session, annotated):
    check(shared_session, annotated)


def test_tokens_that_change_are_found_as_they_are(shared_session, annotated):
    chance = random.Random(4)
    for n in range(0, ROWS, 3):
        shared_session.execute(f"UPDATE {annotated} SET v = %s WHERE k = %s AND c = %s", (text_of(chance), n % 70, n))
    for n in range(0, ROWS, 7):
        shared_session.execute(f"DELETE v FROM {annotated} WHERE k = {n % 70} AND c = {n}")
    for n in range(0, ROWS, 11):
        shared_session.execute(f"DELETE FROM {annotated} WHERE k = {n % 70} AND c = {n}")
    shared_session.execute(f"DELETE FROM {annotated} WHERE k = 5")
    shared_session.execute(f"DELETE FROM {annotated} WHERE k = 6 AND c < 300")
    check(shared_session, annotated)


@pytest.mark.restart
@pytest.mark.parametrize("how", ["kill", "term"])
def test_tokens_survive(connect, annotated, restart, how):
    with connect() as session:
        restart(how)
        when_back(session, f"SELECT k FROM {annotated} WHERE k = 1 LIMIT 1")
        check(session, annotated)
        chance = random.Random(how)
        for n in range(0, ROWS, 5):
            session.execute(f"UPDATE {annotated} SET v = %s WHERE k = %s AND c = %s", (text_of(chance), n % 70, n))
        check(session, annotated)


def test_tokens_expire_with_their_value(run, table):
    name = table("k int PRIMARY KEY, v text")
    run(by_parts(name, "v"))
    run(f"INSERT INTO {name} (k, v) VALUES (1, 'short{DELIMITER}both') USING TTL 1")
    run(f"INSERT INTO {name} (k, v) VALUES (2, 'long{DELIMITER}both')")
    deadline = time.monotonic() + SECONDS_MAX
    while run(f"SELECT k FROM {name} WHERE v LIKE 'short'"):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert run(f"SELECT k FROM {name} WHERE v LIKE 'both'") == [(2,)]


def test_a_value_may_have_more_tokens_than_entries(run, table):
    name = table("k int PRIMARY KEY, v text")
    run(by_parts(name, "v"))
    many = DELIMITER.join(f"part{number}" for number in range(5000))
    run(f"INSERT INTO {name} (k, v) VALUES (1, %s)", (many,))
    run(f"INSERT INTO {name} (k, v) VALUES (2, %s)", (DELIMITER.join(["same"] * 5000) + f"{DELIMITER}part4999",))
    for part, keys in [("part0", [1]), ("part1023", [1]), ("part4999", [1, 2]), ("same", [2]), ("part5000", [])]:
        assert sorted(key for (key,) in run(f"SELECT k FROM {name} WHERE v LIKE %s", (part,))) == keys, part


def test_words_are_found(run, table):
    name = table("k int PRIMARY KEY, v text")
    run(index(name, "v", mode="CONTAINS", analyzer_class=ANALYZERS + "StandardAnalyzer", tokenization_normalize_lowercase="true"))
    texts = ["The quick, brown FOX!", "foxes don't quit: 3.14", "日本語 テキスト", ""]
    for key, text in enumerate(texts):
        run(f"INSERT INTO {name} (k, v) VALUES (%s, %s)", (key, text))
    for pattern, keys in [("fox", [0]), ("%fox%", [0, 1]), ("%qui%", [0, 1]), ("quick FOX", [0]), ("don't", [1]), ("3", []), ("日本", [2]), ("%ox", [0])]:
        assert sorted(key for (key,) in run(f"SELECT k FROM {name} WHERE v LIKE %s", (pattern,))) == keys, pattern
    with pytest.raises(InvalidRequest, match="v LIKE '<term>%' fo is only supported on properly indexed columns"):
        run(f"SELECT k FROM {name} WHERE v LIKE 'fo%'")


def test_an_index_of_tokens_answers_nothing_else(run, table):
    name = table("k int PRIMARY KEY, v text")
    run(by_parts(name, "v"))
    run(f"INSERT INTO {name} (k, v) VALUES (1, 'a{DELIMITER}b')")
    run(f"INSERT INTO {name} (k, v) VALUES (2, 'a')")
    for condition in ("v = 'a'", "v > 'a'", "v IN ('a')"):
        with pytest.raises(InvalidRequest, match="ALLOW FILTERING"):
            run(f"SELECT k FROM {name} WHERE {condition}")
    assert run(f"SELECT k FROM {name} WHERE v = 'a' ALLOW FILTERING") == [(2,)]
    assert run(f"SELECT k FROM {name} WHERE k = 1 AND v LIKE 'b'") == [(1,)]


def test_what_analyzers_cannot_do_is_refused(run, table):
    name = table("k int PRIMARY KEY, v text, i int")
    with pytest.raises(ConfigurationException, match="Unable to find analyzer class 'other'"):
        run(index(name, "v", analyzer_class="other"))
    with pytest.raises(ConfigurationException, match="DelimiterAnalyzer does not support type int"):
        run(by_parts(name, "i"))
    with pytest.raises(ConfigurationException, match="SPARSE mode is only supported on non-literal columns."):
        run(by_parts(name, "v", mode="SPARSE"))


def test_an_index_of_tokens_is_described_as_it_was_made(connect, run, table):
    name = table("k int PRIMARY KEY, v text")
    run(by_parts(name, "v", mode="PREFIX"))
    with connect() as session:
        keyspace, plain = name.split(".")
        described = session.cluster.metadata.keyspaces[keyspace].tables[plain].export_as_string()
    for part in (f"'delimiter': '{DELIMITER}'", f"'analyzer_class': '{ANALYZERS}DelimiterAnalyzer'", "'mode': 'PREFIX'"):
        assert part in described
