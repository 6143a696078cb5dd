"""cqlsh's COPY at the size of a real table: every row there and back, across a kill of the server."""

import os
import subprocess

import pytest

from conftest import HOST, PORT

ROWS = 100_000
COLUMNS = "(part, number, name, score, seen, tags)"


def line(number):
    """One row as cqlsh itself writes it, so that files can be compared."""
    name = f"name {number} \u00e4\u6e56" if number % 3 else f"comma, and {number}"
    quoted = f'"{name}"' if "," in name else name
    return f"{number % 997},{number},{quoted},{number * 0.25 + 0.125},{number * 1_000_003},\"['t{number % 7}', 'u']\"\n"


@pytest.fixture(scope="module")
def cqlsh(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    (home / "cqlshrc").touch()

    def run(commands):
        finished = subprocess.run(
            [os.environ["TARNDB_CQLSH"], "--no-color", "--disable-history", "--connect-timeout=120", "--request-timeout=120", "--cqlshrc", str(home / "cqlshrc"), HOST, PORT],
            input=commands, text=True, capture_output=True, timeout=600, cwd=home, env={**os.environ, "HOME": str(home)})
        assert finished.returncode == 0, finished.stderr[-2000:] + finished.stdout[-2000:]
        return finished.stdout

    return run


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("copy") / "source.csv"
    with open(path, "w") as file:
        file.writelines(line(number) for number in range(ROWS))
    return path


@pytest.fixture(scope="module")
def loaded(cqlsh, keyspace, source):
    cqlsh(f"CREATE TABLE {keyspace}.big (part int, number bigint, name text, score double, seen bigint, tags list<text>, PRIMARY KEY (part, number));\n")
    return cqlsh(f"COPY {keyspace}.big {COLUMNS} FROM '{source}' WITH NUMPROCESSES = 2 AND CHUNKSIZE = 5000 AND INGESTRATE = 1000000;\n")


def lines(path):
    """In order: COPY TO writes them as ranges come."""
    return sorted(path.read_text().splitlines())


def test_every_row_is_loaded(loaded, session, keyspace):
    assert f"{ROWS} rows imported from 1 files" in loaded and "Failed" not in loaded
    assert session.execute(f"SELECT count(*) FROM {keyspace}.big").one()[0] == ROWS
    assert session.execute(f"SELECT sum(number), min(number), max(seen) FROM {keyspace}.big").one() == (ROWS * (ROWS - 1) // 2, 0, (ROWS - 1) * 1_000_003)
    assert session.execute(f"SELECT count(*) FROM {keyspace}.big WHERE part = 3").one()[0] == len(range(3, ROWS, 997))
    row = session.execute(f"SELECT name, score, tags FROM {keyspace}.big WHERE part = {54_321 % 997} AND number = 54321").one()
    assert (row.name, row.score, row.tags) == ("comma, and 54321", 54_321 * 0.25 + 0.125, [f"t{54_321 % 7}", "u"])


def test_every_row_comes_back_as_it_was_after_a_kill(loaded, cqlsh, kill, keyspace, source, tmp_path):
    kill()
    saved = cqlsh(f"COPY {keyspace}.big {COLUMNS} TO '{tmp_path / 'saved.csv'}' WITH NUMPROCESSES = 2 AND PAGESIZE = 2000;\n")
    assert f"{ROWS} rows exported to 1 files" in saved
    differing = [pair for pair in zip(lines(tmp_path / "saved.csv"), lines(source), strict=True) if pair[0] != pair[1]]
    assert not differing, differing[:3]


def test_a_range_of_tokens_is_a_part_of_the_rows(loaded, cqlsh, keyspace, tmp_path):
    low = cqlsh(f"COPY {keyspace}.big (part, number) TO '{tmp_path / 'low.csv'}' WITH ENDTOKEN = '1000' AND NUMPROCESSES = 2;\n")
    high = cqlsh(f"COPY {keyspace}.big (part, number) TO '{tmp_path / 'high.csv'}' WITH BEGINTOKEN = '1000' AND NUMPROCESSES = 2;\n")
    rows = [{tuple(text.split(",")) for text in (tmp_path / name).read_text().splitlines()} for name in ("low.csv", "high.csv")]
    assert "exported" in low and "exported" in high and all(rows)
    assert not rows[0] & rows[1] and len(rows[0] | rows[1]) == ROWS
