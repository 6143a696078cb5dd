"""The change feed as a file of Avro (`GET /changes/KEYSPACE/TABLE?format=avro`), read by fastavro."""

import datetime
import io
import json
import threading
import uuid

import fastavro
from cassandra.concurrent import execute_concurrent_with_args

from test_changes import CDC, EACH_KIND, SECONDS_MAX, feed, http_address, lines, refused, without

assert http_address  # pytest finds it by its name
IMAGES = "cdc = {'enabled': true, 'preimage': true, 'postimage': true}"
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def read(response):
    """The reader of an answer's file."""
    assert response.status == 200, response.read()
    assert response.headers["Content-Type"] == "application/avro"
    return fastavro.reader(io.BytesIO(response.read()))


def records(address, name, **parameters):
    """Changes of a feed that ends, and the position of the mark after them."""
    with feed(address, name, format="avro", **parameters) as response:
        told = list(read(response))
    assert told[-1]["operation"] == "mark" and all(record["operation"] != "mark" for record in told[:-1])
    return told[:-1], told[-1]["position"]


def there(record):
    """What a record has that is not null."""
    return {key: there(value) if isinstance(value, dict) else value for key, value in record.items() if value is not None}


def test_records_say_what_lines_say(shared_session, table, http_address):
    name = table("p int, c int, v int, w text, m map<text, int>, s int static, PRIMARY KEY (p, c)", IMAGES)
    for text in EACH_KIND:
        shared_session.execute(text.format(t=name))

    def as_line(record):
        """A record as the line of JSON says it."""
        line = there(record)
        line["time"] = line["time"].strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        for part in ("columns", "preimage", "postimage"):
            if "m" in line.get(part, {}):
                line[part]["m"] = {entry["key"]: entry["value"] for entry in line[part]["m"]}
        for empty in ("deleted", "removed"):
            if not line.get(empty):
                line.pop(empty, None)
        return line

    told, _ = records(http_address(), name)
    expected, _ = lines(http_address(), name)
    assert [record["operation"] for record in told] == [line["operation"] for line in expected] and len(told) == 8
    # Positions tell of the time, too, at which they were made.
    assert [without(as_line(record), "position") for record in told] == [without(line, "position") for line in expected]


def test_values_of_all_types(shared_session, table, http_address, keyspace):
    shared_session.execute(f"CREATE TYPE {keyspace}.place (street text, number int)")
    columns = {
        "a": ("ascii", "'ascii'", "ascii"),
        "b": ("bigint", "-9223372036854775808", -(2**63)),
        "c": ("blob", "0x00ff", b"\x00\xff"),
        "d": ("boolean", "true", True),
        "e": ("date", "'1969-12-31'", datetime.date(1969, 12, 31)),
        "f": ("decimal", "123456789012345678901234567890.5", "123456789012345678901234567890.5"),
        "g": ("double", "-1.5", -1.5),
        "h": ("duration", "1mo2d3ns", "1mo2d3ns"),
        "i": ("float", "0.25", 0.25),
        "j": ("inet", "'127.0.0.1'", "127.0.0.1"),
        "k": ("smallint", "-2", -2),
        "l": ("time", "'00:00:00.000000001'", 1),
        "m": ("timestamp", "-1", EPOCH - datetime.timedelta(milliseconds=1)),
        "n": ("timeuuid", "50554d6e-29bb-11e5-b345-feff819cdc9f", uuid.UUID("50554d6e-29bb-11e5-b345-feff819cdc9f")),
        "o": ("tinyint", "-128", -128),
        "p": ("varint", "-1" + "0" * 40, "-1" + "0" * 40),
        "q": ("frozen<list<int>>", "[1, 2]", [1, 2]),
        "r": ("set<text>", "{'x', 'y'}", ["x", "y"]),
        "s": ("map<int, frozen<set<int>>>", "{1: {2, 3}}", [{"key": 1, "value": [2, 3]}]),
        "t": ("tuple<int, text>", "(7, null)", {"field_0": 7, "field_1": None}),
        "u": (f"frozen<{keyspace}.place>", "{street: 'x'}", {"street": "x", "number": None}),
        "v": ("vector<float, 2>", "[0.5, 2]", [0.5, 2.0]),
        "w": ("text", "''", ""),
        "x": ("int", "blobAsInt(0x)", None),
        "y": (f"list<frozen<{keyspace}.place>>", "[{street: 'a', number: 1}]", None),
    }
    declared = ", ".join(f"{column} {data_type}" for column, (data_type, _, _) in columns.items())
    name = table(f"id uuid PRIMARY KEY, {declared}", CDC)
    values = ", ".join(value for _, value, _ in columns.values())
    key = uuid.uuid4()
    shared_session.execute(f"INSERT INTO {name} (id, {', '.join(columns)}) VALUES ({key}, {values})")
    shared_session.execute(f"INSERT INTO {name} (id) VALUES ({key})")
    (full, empty), _ = records(http_address(), name)
    assert full["key"] == {"id": key} and empty["key"] == {"id": key}
    (element,) = full["columns"].pop("y")
    assert element["value"] == {"street": "a", "number": 1} and uuid.UUID(str(element["key"])).version == 1
    columns.pop("y")
    assert full["columns"] == {column: expected for column, (_, _, expected) in columns.items()}
    assert set(empty["columns"].values()) == {None}


def test_names_that_avro_does_not_know(shared_session, table, http_address):
    names = ["a b", "a_b", "A_B", "1", "größe", "a\u00a0b"]
    name = table("p int PRIMARY KEY, " + ", ".join(f'"{own}" int' for own in names), CDC)
    values = ", ".join(str(place) for place in range(len(names)))
    shared_session.execute(f"INSERT INTO {name} (p, {', '.join(chr(34) + own + chr(34) for own in names)}) VALUES (1, {values})")
    with feed(http_address(), name, format="avro") as response:
        reader = read(response)
        schema = json.loads(reader.metadata["avro.schema"])
        (told, _) = list(reader)
    fields = next(field for field in schema["fields"] if field["name"] == "columns")["type"][1]["fields"]
    own = {field["name"]: field.get("cql.name", field["name"]) for field in fields}
    assert {own[field]: value for field, value in told["columns"].items()} == {own: place for place, own in enumerate(names)}


def test_a_reader_goes_on_after_any_record(shared_session, table, http_address):
    name = table("p int, c int, v text, PRIMARY KEY (p, c)", CDC)
    statement = shared_session.prepare(f"INSERT INTO {name} (p, c, v) VALUES (?, ?, ?)")
    # Several blocks.
    execute_concurrent_with_args(shared_session, statement, [(i % 7, i, "x" * 500) for i in range(300)])
    told, mark = records(http_address(), name)
    ids = [record["id"] for record in told]
    assert sorted(record["key"]["c"] for record in told) == list(range(300))
    again, _ = records(http_address(), name, since=told[199]["position"])
    assert set(ids[200:]) <= {record["id"] for record in again}
    assert records(http_address(), name, since=mark)[0] == []
    # Lines and records have the same positions.
    assert lines(http_address(), name, since=mark)[0] == []
    some, _ = records(http_address(), name, limit=7)
    assert [record["id"] for record in some] == ids[:7]


def test_blocks_are_compressed_where_that_is_asked_for(shared_session, table, http_address):
    name = table("p int, c int, v text, PRIMARY KEY (p, c)", CDC)
    statement = shared_session.prepare(f"INSERT INTO {name} (p, c, v) VALUES (?, ?, ?)")
    # Several blocks, and one that is longer than 16 KiB by itself.
    execute_concurrent_with_args(shared_session, statement, [(i % 7, i, "x" * 500) for i in range(300)] + [(7, 300, "long " * 20000)])
    told, lengths = {}, {}
    for codec in ("null", "deflate"):
        with feed(http_address(), name, format="avro", codec=codec) as response:
            assert response.status == 200
            body = response.read()
        reader = fastavro.reader(io.BytesIO(body))
        assert reader.metadata["avro.codec"] == codec
        # Positions tell of the time, too, at which they were made.
        told[codec], lengths[codec] = [without(record, "position", "complete_until") for record in reader], len(body)
    assert len(told["null"]) == 302 and told["deflate"] == told["null"]
    assert lengths["deflate"] < lengths["null"] / 5
    status, text = refused(http_address(), name, format="avro", codec="snappy")
    assert status == 400 and "null or deflate" in text
    status, text = refused(http_address(), name, codec="deflate")
    assert status == 400 and "format=avro" in text


def test_a_file_ends_when_the_columns_change(shared_session, table, http_address):
    name = table("p int PRIMARY KEY, v int", CDC)
    shared_session.execute(f"INSERT INTO {name} (p, v) VALUES (1, 1)")
    told, has_begun = [], threading.Event()

    def follow():
        with feed(http_address(), name, format="avro", follow=1, heartbeat=1) as response:
            # The file's head is there, with the columns of now.
            assert response.peek(1)
            has_begun.set()
            told.extend(read(response))

    reader = threading.Thread(target=follow)
    reader.start()
    assert has_begun.wait(SECONDS_MAX)
    shared_session.execute(f"ALTER TABLE {name} ADD w int")
    shared_session.execute(f"INSERT INTO {name} (p, v, w) VALUES (1, 2, 3)")
    reader.join(SECONDS_MAX)
    assert not reader.is_alive(), "the file ends by itself"
    assert told[-1]["operation"] == "mark"
    more, _ = records(http_address(), name, since=told[-1]["position"])
    seen = {record["id"]: there(record)["columns"] for record in told + more if record["operation"] == "insert"}
    assert list(seen.values()) == [{"v": 1}, {"v": 2, "w": 3}]


def test_a_feed_that_fails_says_so_last(shared_session, table, http_address):
    name = table("p int PRIMARY KEY, v int", CDC)
    shared_session.execute(f"INSERT INTO {name} (p, v) VALUES (1, 1)")
    with feed(http_address(), name, format="avro", follow=1) as response:
        # The first block is there: the answer has begun.
        first = response.read1()
        assert first.startswith(b"Obj\x01")
        shared_session.execute(f"DROP TABLE {name}")
        told = list(fastavro.reader(io.BytesIO(first + response.read())))
    assert (told[-1]["operation"], told[-1]["code"]) == ("failure", 404) and "table" in told[-1]["error"]


def test_what_is_refused(shared_session, table, http_address):
    name = table("p int PRIMARY KEY, v int")
    assert refused(http_address(), name, format="avro")[0] == 409
    status, text = refused(http_address(), name, format="xml")
    assert status == 400 and "json or avro" in text
    assert refused(http_address(), "no.table", format="avro")[0] == 404
