"""Statements in cqlsh: output, SOURCE, paging, consistency, expanded rows, texts of errors, restarts."""

import os

import pytest


def test_rows_are_printed_as_a_table(cqlsh):
    out = cqlsh(
        "CREATE TABLE pets (k int PRIMARY KEY, name text, legs int);"
        "INSERT INTO pets (k, name, legs) VALUES (1, 'cat', 4); SELECT * FROM pets;"
    )
    # Keys first, the others by name.
    assert out.lines() == ["k | legs | name", "---+------+------", "1 |    4 |  cat", "(1 rows)"]


def test_every_type_is_printed(cqlsh):
    cqlsh(
        "CREATE TABLE shown (k int PRIMARY KEY, bi bigint, bl blob, bo boolean, da date, de decimal, do double, du duration,"
        " ip inet, l list<int>, m map<text, int>, s set<text>, te text, ti time, ts timestamp, u uuid, vi varint);"
        "INSERT INTO shown (k, bi, bl, bo, da, de, do, du, ip, l, m, s, te, ti, ts, u, vi) VALUES (1, -5, 0x00ff, true,"
        " '2024-02-29', 1.50, 0.25, 1h30m, '::1', [1, 2], {'a': 1}, {'x', 'y'}, 'tarn', '08:12:54.123456789',"
        " '2024-02-29 12:00:00+0000', c0ffee00-1234-4abc-8def-0123456789ab, 340282366920938463463374607431768211456);"
    )
    out = cqlsh("EXPAND ON; SELECT * FROM shown;").out
    for text in (
        "-5", "0x00ff", "True", "2024-02-29", "1.50", "0.25", "1h30m", "::1", "[1, 2]", "{'a': 1}", "{'x', 'y'}", "tarn",
        "08:12:54.123456789", "2024-02-29 12:00:00.000000+0000", "c0ffee00-1234-4abc-8def-0123456789ab",
        "340282366920938463463374607431768211456",
    ):
        assert text in out


def test_expand_prints_a_row_over_several_lines(cqlsh):
    cqlsh("CREATE TABLE folded (k int PRIMARY KEY, v text); INSERT INTO folded (k, v) VALUES (1, 'x');")
    out = cqlsh("EXPAND ON; SELECT * FROM folded; EXPAND OFF; SELECT * FROM folded;").lines()
    assert "@ Row 1" in out and "k | v" in out
    assert "v | x" in out


def test_source_runs_a_file(cqlsh, tmp_path):
    script = tmp_path / "script.cql"
    script.write_text(
        "-- a comment\nCREATE TABLE sourced (k int PRIMARY KEY, v text);\n/* another\n one */\n"
        "INSERT INTO sourced (k, v)\n  VALUES (1, 'a;b');\nBEGIN BATCH\n  INSERT INTO sourced (k) VALUES (2);\n"
        "  INSERT INTO sourced (k) VALUES (3);\nAPPLY BATCH;\n"
    )
    out = cqlsh(f"SOURCE '{script}'; SELECT count(*) FROM sourced;")
    assert out.lines()[2] == "3"
    again = cqlsh("", "-f", str(script), fails=True)
    assert "already exists" in again.errors.lower()


def test_execute_option_runs_one_statement(cqlsh):
    assert "local" in cqlsh("", "-e", "SELECT key FROM system.local", keyspace=None).out


def test_output_is_paged_to_its_end(cqlsh):
    cqlsh("CREATE TABLE paged (k int, c int, PRIMARY KEY (k, c));")
    for start in range(0, 1_000, 250):
        rows = "".join(f"INSERT INTO paged (k, c) VALUES (1, {c});" for c in range(start, start + 250))
        cqlsh(f"BEGIN UNLOGGED BATCH {rows} APPLY BATCH;")
    for setting in ("PAGING 7;", "PAGING 100;", "PAGING OFF;"):
        lines = cqlsh(f"{setting} SELECT c FROM paged WHERE k = 1;").lines()
        values = [int(text) for text in lines if text.isdigit()]
        assert values == list(range(1_000))
        assert "(1000 rows)" in lines


def test_tracing_shows_what_happened(cqlsh):
    cqlsh("CREATE TABLE traced (k int PRIMARY KEY, v text); INSERT INTO traced (k, v) VALUES (1, 'x');")
    out = cqlsh("TRACING ON; SELECT v FROM traced WHERE k = 1; TRACING OFF;").out
    assert "Tracing session:" in out and "source_elapsed" in out and "Request complete" in out, out


def test_consistency_is_set_and_shown(cqlsh):
    out = cqlsh("CONSISTENCY QUORUM; CONSISTENCY; SELECT key FROM system.local; SERIAL CONSISTENCY LOCAL_SERIAL;").out
    assert "Consistency level set to QUORUM." in out and "Current consistency level is QUORUM." in out
    assert "Serial consistency level set to LOCAL_SERIAL." in out


def test_tracing_can_be_off(cqlsh):
    out = cqlsh("TRACING OFF; SELECT key FROM system.local;", fails=True).out
    assert "TRACING is already OFF" in out and "local" in out and "Tracing session" not in out


def test_lightweight_transaction_is_shown(cqlsh):
    out = cqlsh(
        "CREATE TABLE light (k int PRIMARY KEY, v int); INSERT INTO light (k, v) VALUES (1, 1) IF NOT EXISTS;"
        "INSERT INTO light (k, v) VALUES (1, 2) IF NOT EXISTS;"
    ).lines()
    assert out[0] == "[applied]" and out[2] == "True"
    assert out[3].split(" | ") == ["[applied]", "k", "v"] and out[5].split() == ["False", "|", "1", "|", "1"]


@pytest.mark.parametrize("statement, text", [
    ("SELECT * FROM no_such_table;", "InvalidRequest: Error from server: code=2200 [Invalid query]"),
    ("SELEC 1;", "SyntaxException: line 1:0"),
    ("USE no_such_keyspace;", "code=2200"),
    ("CREATE KEYSPACE shell WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};", "AlreadyExists: Keyspace 'shell' already exists"),
    ("CREATE TABLE twice (k int PRIMARY KEY); CREATE TABLE twice (k int PRIMARY KEY);", "AlreadyExists: Table 'shell.twice' already exists"),
])
def test_error_is_shown_with_its_code(cqlsh, statement, text):
    output = cqlsh(statement, fails=True)
    assert text in output.errors and output.status != 0


def test_error_does_not_stop_the_next_statement(cqlsh):
    output = cqlsh("SELECT * FROM no_such_table; SELECT key FROM system.local;", fails=True)
    assert "2200" in output.errors and "local" in output.out


def test_use_changes_the_keyspace(cqlsh):
    out = cqlsh("USE shell; CREATE TABLE used (k int PRIMARY KEY); SELECT * FROM used;", keyspace=None).out
    assert "(0 rows)" in out


@pytest.mark.parametrize("version", ["3", "4", "5"])
def test_every_protocol_version(cqlsh, version):
    out = cqlsh("SHOW VERSION; SELECT key FROM system.local;", "--protocol-version", version, keyspace=None).out
    assert f"Native protocol v{version}" in out and "local" in out


@pytest.mark.skipif("TARNDB_TEST_CA" not in os.environ, reason="the server under test has no certificate")
def test_tls_is_spoken(cqlsh, monkeypatch):
    monkeypatch.setenv("SSL_CERTFILE", os.environ["TARNDB_TEST_CA"])
    assert "(1 rows)" in cqlsh("SELECT key FROM system.local;", "--ssl").out


def test_roles_log_in_with_user_and_password(cqlsh, guarded):
    def ask(commands, user, password, **options):
        return cqlsh(commands, "-u", user, "-p", password, keyspace=None, place=guarded, **options)

    ask("CREATE ROLE jo WITH PASSWORD = 'secret' AND LOGIN = true", "cassandra", "cassandra")
    listed = ask("LIST ROLES", "cassandra", "cassandra")
    assert [line.split("|")[0].strip() for line in listed.lines() if "ALL" in line] == ["cassandra", "jo"], listed.out
    assert "2100" in ask("CREATE ROLE al", "jo", "secret", fails=True).errors
    assert "incorrect" in ask("LIST ROLES", "jo", "Secret", fails=True).errors
    assert "requires authentication" in cqlsh("LIST ROLES", keyspace=None, place=guarded, fails=True).errors


@pytest.mark.parametrize("how", ["kill", "term"])
def test_rows_and_descriptions_survive_a_restart(cqlsh, restart, how):
    cqlsh(f"CREATE TABLE kept_{how} (k int PRIMARY KEY, v text) WITH comment = 'kept';"
          + "".join(f"INSERT INTO kept_{how} (k, v) VALUES ({n}, 'v{n}');" for n in range(50)))
    before = cqlsh(f"DESCRIBE TABLE kept_{how}; SELECT * FROM kept_{how};").out
    restart(how)
    assert cqlsh(f"DESCRIBE TABLE kept_{how}; SELECT * FROM kept_{how};").out == before
    assert "(50 rows)" in before
