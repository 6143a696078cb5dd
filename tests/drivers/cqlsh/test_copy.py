"""COPY TO and COPY FROM: thousands of rows of every common type there and back, by several worker processes."""

import csv

import pytest

ROWS = 3_000
# cqlsh's own dialect.
DIALECT = {"doublequote": False, "escapechar": "\\"}
# cqlsh orders columns by name unless it is told.
NAMES = "(k, c, t, i, d, f, b, bl, u, ts, da, ti, ip, l, s, m)"
COLUMNS = "k int, c timeuuid, t text, i bigint, d decimal, f double, b boolean, bl blob, u uuid, ts timestamp, da date, ti time, ip inet, l list<int>, s set<text>, m map<text, int>, PRIMARY KEY (k, c)"


def line(number):
    """One row as CSV has it; texts with separators and quotes among them.

    No tabs (they come back escaped) and no line ends: with them cqlsh's own import waits for rows that never come, on Cassandra as well.
    """
    texts = ["plain", 'with "quotes"', "comma, semicolon; and 'tick'", "back and  double  spaces", "\u00e4\u6e56\U0001f3d4"]
    return [
        number % 100, f"{number:08x}-2b5c-11ee-8c90-0242ac120002", texts[number % 5] + f" {number}", number * 10**12,
        f"{number}.{number:05}", number / 8, "True" if number % 2 else "False", "0x" + number.to_bytes(4, "big").hex(),
        f"c0ffee00-1234-4abc-8def-{number:012x}", f"2024-02-29 12:{number % 60:02}:00.{number % 1000:03}+0000",
        f"20{number % 90 + 10:02}-03-04", f"08:12:{number % 60:02}.{number:09}", f"10.0.{number // 256}.{number % 256}",
        f"[{number}, {number + 1}]", f"{{'a{number}', 'b'}}", f"{{'n': {number}}}",
    ]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("copy") / "source.csv"
    with open(path, "w", newline="") as file:
        csv.writer(file, **DIALECT).writerows(line(number) for number in range(ROWS))
    return path


def read(path):
    with open(path, newline="") as file:
        return sorted(csv.reader(file, **DIALECT))


def test_copy_from_and_to_round_trip(cqlsh, source, tmp_path):
    cqlsh(f"CREATE TABLE one ({COLUMNS}); CREATE TABLE two ({COLUMNS});")
    loaded = cqlsh(f"COPY one {NAMES} FROM '{source}' WITH NUMPROCESSES = 2;")
    assert f"{ROWS} rows imported from 1 files" in loaded.out
    assert cqlsh("SELECT count(*) FROM one;").lines()[2] == str(ROWS)
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    saved = cqlsh(f"COPY one {NAMES} TO '{first}' WITH NUMPROCESSES = 2 AND PAGESIZE = 100;")
    assert f"{ROWS} rows exported to 1 files" in saved.out
    assert len(read(first)) == ROWS
    assert f"{ROWS} rows imported" in cqlsh(f"COPY two {NAMES} FROM '{first}' WITH NUMPROCESSES = 2;").out
    cqlsh(f"COPY two {NAMES} TO '{second}' WITH NUMPROCESSES = 2;")
    assert read(second) == read(first)
    by_key = {row[1]: row for row in read(first)}
    for number in (0, 1, 3, 4, ROWS - 1):
        expected = [str(part) for part in line(number)]
        stored = by_key[expected[1]]
        # Texts, numbers, keys and collections are written as they were read.
        for column in (0, 1, 2, 3, 4, 6, 7, 8, 10, 12, 13, 15):
            assert stored[column] == expected[column]


def test_copy_of_chosen_columns_with_a_header(cqlsh, tmp_path):
    path = tmp_path / "chosen.csv"
    cqlsh("CREATE TABLE chosen (k int PRIMARY KEY, a text, b int);")
    cqlsh("".join(f"INSERT INTO chosen (k, a, b) VALUES ({n}, 'a{n}', {n});" for n in range(20)))
    cqlsh(f"COPY chosen (b, k) TO '{path}' WITH HEADER = TRUE;")
    rows = path.read_text().splitlines()
    assert rows[0] == "b,k" and sorted(rows[1:]) == sorted(f"{n},{n}" for n in range(20))
    cqlsh("TRUNCATE chosen;")
    cqlsh(f"COPY chosen (b, k) FROM '{path}' WITH HEADER = TRUE AND NUMPROCESSES = 1;")
    assert cqlsh("SELECT k, a, b FROM chosen WHERE k = 7;").lines()[2].split() == ["7", "|", "null", "|", "7"]


def test_copy_counts_rows_that_do_not_fit(cqlsh, tmp_path):
    path = tmp_path / "broken.csv"
    path.write_text("1,2\nx,3\n4,5\n")
    cqlsh("CREATE TABLE strict (k int PRIMARY KEY, v int);")
    output = cqlsh(
        f"COPY strict FROM '{path}' WITH NUMPROCESSES = 1 AND ERRFILE = '{tmp_path / 'errors.csv'}';", fails=True
    )
    assert "Failed to import 1 rows" in output.errors + output.out
    assert cqlsh("SELECT count(*) FROM strict;").lines()[2] == "2"
