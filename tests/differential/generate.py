"""Generated cases: a schema, and about sixty statements on it, some of them slightly wrong. The seed decides everything.

Timestamps are written out and few, so that writes meet on equal ones; values are few, so that rows meet. "Now" is the same moment in all
requests, so that what is left of a time to live is the same on both servers.
"""

import dataclasses
import json
import random
import re

from script import Step

STATEMENTS = 56
NOW = 2_000_000_000
TIMESTAMP_MAX = 12
KEYSPACE = "$ks"

# A few literals of each type, with the JSON of the bound value.
LITERALS = {
    "int": [("0", 0), ("1", 1), ("2", 2), ("-1", -1), ("2147483647", 2147483647)],
    "bigint": [("0", 0), ("1", 1), ("-5", -5), ("9223372036854775807", 9223372036854775807)],
    "smallint": [("0", 0), ("7", 7), ("-32768", -32768)],
    "tinyint": [("0", 0), ("3", 3), ("-128", -128), ("127", 127)],
    "varint": [("0", 0), ("-1", -1), ("255", 255), ("100000000000000000000", 100000000000000000000)],
    "decimal": [("0", 0), ("1.5", "1.5"), ("-2.25", "-2.25"), ("1.50", "1.50"), ("1e3", "1E+3")],
    "float": [("0", 0.0), ("1.5", 1.5), ("-3.25", -3.25), ("NaN", {"hex": "7fc00000"})],
    "double": [("0", 0.0), ("2.5", 2.5), ("-1e100", -1e100), ("Infinity", {"hex": "7ff0000000000000"})],
    "text": [("''", ""), ("'a'", "a"), ("'b'", "b"), ("'ab'", "ab"), ("'é'", "é")],
    "ascii": [("'a'", "a"), ("'b'", "b"), ("'Z z'", "Z z")],
    "blob": [("0x", "0x"), ("0x00", "0x00"), ("0xff01", "0xff01")],
    "boolean": [("true", True), ("false", False)],
    "timestamp": [("0", 0), ("'2020-02-29T12:34:56.789Z'", 1582979696789), ("-1000", -1000)],
    "date": [("'2020-02-29'", {"hex": "80004794"}), ("'1969-12-31'", {"hex": "7fffffff"})],
    "time": [("'00:00:00'", 0), ("'12:34:56.789'", 45296789000000)],
    "uuid": [("123e4567-e89b-12d3-a456-426614174000",) * 2, ("123e4567-e89b-42d3-a456-426614174000",) * 2],
    "timeuuid": [("50554d6e-29bb-11e5-b345-feff819cdc9f",) * 2, ("123e4567-e89b-12d3-a456-426614174000",) * 2],
    "inet": [("'127.0.0.1'", "127.0.0.1"), ("'::1'", "::1")],
    "duration": [("1d", {"hex": "000200"}), ("2mo3h", None), ("-5s", None)],
}  # fmt: skip
KEY_SCALARS = [name for name in LITERALS if name != "duration"]
CASTABLE = [name for name in LITERALS if name not in ("blob", "duration", "float", "double")]
NUMERIC = ("int", "bigint", "smallint", "tinyint", "varint", "decimal", "float", "double")
MARK = re.compile("\x01(\\d+)\x01")


@dataclasses.dataclass(frozen=True)
class Type:
    """A CQL type: a scalar's name, or list, set, map, tuple, udt, vector with parts; `frozen` as it is written."""

    name: str
    parts: tuple = ()
    frozen: bool = False

    def __str__(self):
        match self.name:
            case "udt":
                text = "u"
            case "vector":
                return f"vector<{self.parts[0]}, 2>"
            case _:
                text = f"{self.name}<{', '.join(map(str, self.parts))}>" if self.parts else self.name
        return f"frozen<{text}>" if self.frozen and self.name != "tuple" else text

    @property
    def multicell(self):
        return self.name in ("list", "set", "map", "udt") and not self.frozen


@dataclasses.dataclass
class Table:
    name: str
    partition: dict
    clustering: dict
    orders: dict
    static: dict
    regular: dict
    counter: bool

    @property
    def columns(self):
        return {**self.partition, **self.clustering, **self.static, **self.regular}


def generate(seed: int) -> list:
    return Generator(seed).case()


class Generator:
    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.values = []
        # In unlogged batches: nothing that is only found to be wrong while it is done.
        self.careful = False
        self.fields = {"x": Type("int"), "y": Type("text")}
        self.table = None

    def chance(self, part: float) -> bool:
        return self.random.random() < part

    def some(self, things, least=1, most=None) -> list:
        """Some of the things, in their order."""
        things = list(things)
        most = min(len(things), most or len(things))
        chosen = set(self.random.sample(range(len(things)), self.random.randint(min(least, most), most)))
        return [thing for index, thing in enumerate(things) if index in chosen]

    # --- Schema ----------------------------------------------------------------------------------------------------------------------

    def scalar(self, key=False) -> Type:
        if self.chance(0.45):
            return Type(self.random.choice(("int", "text")))
        return Type(self.random.choice(KEY_SCALARS if key else list(LITERALS)))

    def type(self, key=False, depth=0, frozen=False) -> Type:
        if depth >= 2 or self.chance(0.75 if key else 0.5):
            return self.scalar(key)
        frozen = frozen or key or depth > 0 or self.chance(0.3)
        match self.random.choice(("list", "set", "map", "tuple", "udt", "vector")):
            case "set":
                return Type("set", (self.type(True, depth + 1),), frozen)
            case "map":
                return Type("map", (self.type(True, depth + 1), self.type(key, depth + 1)), frozen)
            case "list":
                return Type("list", (self.type(key, depth + 1),), frozen)
            case "tuple":
                return Type("tuple", (self.type(key, depth + 1), self.scalar(key)), True)
            case "vector":
                return Type("vector", (Type(self.random.choice(("int", "float", "text"))),), True)
        return Type("udt", (), frozen)

    def make_table(self, number: int) -> str:
        counter = self.chance(0.08)
        partition = {f"p{index}": self.type(key=True) for index in range(self.random.choice((1, 1, 2)))}
        clustering = {f"c{index}": self.type(key=True) for index in range(self.random.choice((0, 1, 1, 2, 2, 3)))}
        of_value = (lambda: Type("counter")) if counter else self.type
        static = {f"s{index}": of_value() for index in range(self.random.choice((0, 0, 1, 2)))} if clustering else {}
        regular = {f"r{index}": of_value() for index in range(self.random.randint(1, 4))}
        orders = {name: self.random.choice(("ASC", "DESC")) for name in clustering}
        self.table = Table(f"{KEYSPACE}.t{number}", partition, clustering, orders, static, regular, counter)
        columns = ", ".join(f"{name} {kind}{' static' if name in static else ''}" for name, kind in self.table.columns.items())
        key = ", ".join([f"({', '.join(partition)})", *clustering])
        order = f" WITH CLUSTERING ORDER BY ({', '.join(map(' '.join, orders.items()))})" if clustering else ""
        return f"CREATE TABLE {self.table.name} ({columns}, PRIMARY KEY ({key})){order}"

    def case(self) -> list:
        steps = [Step(f"CREATE TYPE {KEYSPACE}.u ({', '.join(f'{name} {kind}' for name, kind in self.fields.items())})")]
        steps.append(Step(self.make_table(0)))
        while len(steps) < STATEMENTS:
            share = len(steps) / STATEMENTS
            if self.chance(0.015):
                steps.append(self.step(self.alter()))
            elif self.chance(0.75 if share < 0.35 else 0.3):
                steps.append(self.step(self.write()))
            else:
                steps.append(self.step(self.select(), read=True))
        return steps

    # --- From texts with marks to steps ----------------------------------------------------------------------------------------------

    def mark(self, kind: Type) -> str:
        """Stands for a value until the statement is whole: a literal, or a bind marker."""
        self.values.append(self.value(kind))
        return f"\x01{len(self.values) - 1}\x01"

    def step(self, text: str, read=False) -> Step:
        chosen = [self.values[int(number)] for number in MARK.findall(text)]
        page = self.random.randint(1, 5) if read and self.chance(0.25) else None
        # For what has no USING TIMESTAMP: the servers' clocks differ.
        timestamp = None if read else self.random.randint(1, TIMESTAMP_MAX)
        options = {"page": page, "now": NOW, "timestamp": timestamp, "protocol": 4 if read and self.chance(0.04) else 5}
        if chosen and all(bound is not ... for _, bound in chosen) and self.chance(0.3):
            step = Step(MARK.sub("?", text), binds=[[bound for _, bound in chosen]], **options)
        else:
            step = Step(MARK.sub(lambda mark: self.values[int(mark[1])][0], text), **options)
        self.values.clear()
        self.careful = False
        return step

    def value(self, kind: Type) -> tuple:
        """A literal and its JSON; `...` for JSON that cannot be."""
        if not self.careful and self.chance(0.02):
            return "null", None
        return self.wrong() if self.chance(0.008) else self.literal(kind)

    def wrong(self) -> tuple:
        return self.random.choice(("'nope'", "1.5", "[1]", "{1}", "{'a': 1}", "(1, 2)", "true", "0x0g", "99999999999999999999")), ...

    def literal(self, kind: Type) -> tuple:
        match kind.name:
            case "counter":
                return self.random.choice((("1", 1), ("-2", -2), ("5", 5)))
            case "list" | "vector":
                parts = [self.literal(kind.parts[0]) for _ in range(2 if kind.name == "vector" else self.random.randint(0, 3))]
                return f"[{', '.join(text for text, _ in parts)}]", whole(parts) if kind.name == "list" else ...
            case "set":
                parts = [self.literal(kind.parts[0]) for _ in range(self.random.randint(0, 3))]
                # Bound sets must be sorted and without doubles.
                return f"{{{', '.join(text for text, _ in parts)}}}", whole(parts) if len(parts) < 2 else ...
            case "map":
                pairs = [(self.literal(kind.parts[0]), self.literal(kind.parts[1])) for _ in range(self.random.randint(0, 2))]
                # A key that comes twice has a script of its own.
                pairs = list({key[0]: (key, one) for key, one in pairs}.values())
                bound = [[key[1], one[1]] for key, one in pairs]
                return f"{{{', '.join(f'{key[0]}: {one[0]}' for key, one in pairs)}}}", bound if len(pairs) < 2 and ... not in sum(bound, []) else ...
            case "tuple":
                parts = [self.literal(part) for part in kind.parts]
                return f"({', '.join(text for text, _ in parts)})", whole(parts)
            case "udt":
                parts = {name: self.literal(part) for name, part in self.fields.items() if name == "x" or self.chance(0.8)}
                return f"{{{', '.join(f'{name}: {text}' for name, (text, _) in parts.items())}}}", ...
        literals = LITERALS[kind.name]
        # The first ones are the likely ones.
        text, bound = literals[int(len(literals) * self.random.random() ** 2.5)]
        return text, ... if bound is None else bound

    # --- Writes ----------------------------------------------------------------------------------------------------------------------

    def using(self, ttl=True) -> str:
        parts = [f"TIMESTAMP {self.random.randint(1, TIMESTAMP_MAX)}"]
        if ttl and self.chance(0.15):
            parts.append(f"TTL {self.random.choice((1000, 50000, 0))}")
        return f" USING {' AND '.join(parts)}"

    def write(self) -> str:
        if self.chance(0.08):
            return self.batch()
        if self.chance(0.01):
            return f"TRUNCATE {self.table.name}"
        return self.modification()

    def modification(self, conditional=True, using=True) -> str:
        if self.table.counter:
            # What a deleted counter counts afterwards is left open by Cassandra.
            return self.random.choice((self.update, self.update, self.insert) if self.chance(0.05) else (self.update,))(conditional, using)
        return self.random.choice((self.insert, self.insert, self.update, self.update, self.delete))(conditional, using)

    def batch(self) -> str:
        kind = "COUNTER " if self.table.counter != self.chance(0.05) else self.random.choice(("", "UNLOGGED "))
        conditional, shared = self.chance(0.15), self.chance(0.2)
        self.careful = kind == "UNLOGGED "
        parts = [self.modification(conditional and self.chance(0.5), not conditional and not shared) for _ in range(self.random.randint(1, 4))]
        return f"BEGIN {kind}BATCH{self.using(ttl=False) if shared and not conditional else ''} {'; '.join(parts)}; APPLY BATCH"

    def insert(self, conditional=True, using=True) -> str:
        table = self.table
        names = [*table.partition, *table.clustering, *self.some({**table.static, **table.regular}, least=0)]
        if self.chance(0.03):
            names.remove(self.random.choice(names))
        if table.static and self.chance(0.1):
            names = [*table.partition, *self.some(table.static)]
        if self.chance(0.006):
            names.append("nope")
        condition = conditional and self.chance(0.06)
        values = ", ".join(self.mark(table.columns.get(name, Type("int"))) for name in names)
        ending = " IF NOT EXISTS" if condition else self.using() if using else ""
        return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({values}){ending}"

    def update(self, conditional=True, using=True) -> str:
        table = self.table
        if table.static and self.chance(0.2):
            names, where = self.some(table.static, most=2), self.key_where(clustering=False)
        else:
            names, where = self.some(table.regular, most=3), self.key_where()
            if table.static and self.chance(0.15):
                names.append(next(iter(table.static)))
        assignments = ", ".join(self.assignment(name, table.columns[name]) for name in names)
        condition = conditional and not table.counter and self.chance(0.06)
        ending = f" IF {self.condition()}" if condition else ""
        start = self.using() if using and not condition and (not table.counter or self.chance(0.03)) else ""
        return f"UPDATE {table.name}{start} SET {assignments} WHERE {where}{ending}"

    def condition(self) -> str:
        if self.chance(0.3):
            return "EXISTS"
        table = self.table
        parts = []
        for name in self.some({**table.static, **table.regular}, most=2):
            kind = table.columns[name]
            if kind.name == "map" and self.chance(0.5):
                parts.append(f"{name}[{self.mark(kind.parts[0])}] = {self.mark(kind.parts[1])}")
            elif kind.name == "list" and self.chance(0.5):
                parts.append(f"{name}[{self.random.randint(0, 2)}] = {self.mark(kind.parts[0])}")
            elif self.chance(0.15):
                parts.append(f"{name} IN ({self.mark(kind)}, {self.mark(kind)})")
            else:
                parts.append(f"{name} {self.random.choice(('=', '=', '!=', '<', '>='))} {self.mark(kind)}")
        return " AND ".join(parts)

    def assignment(self, name: str, kind: Type) -> str:
        if kind.name == "counter":
            return f"{name} = {name} {self.random.choice('+-')} {self.mark(kind)}"
        if kind.multicell and self.chance(0.6) and not (self.careful and kind.name == "list"):
            match kind.name:
                case "list":
                    return self.random.choice(
                        (
                            lambda: f"{name} = {name} + {self.mark(kind)}",
                            lambda: f"{name} = {self.mark(kind)} + {name}",
                            lambda: f"{name} = {name} - {self.mark(kind)}",
                            lambda: f"{name}[{self.random.randint(0, 2)}] = {self.mark(kind.parts[0])}",
                        )
                    )()
                case "set":
                    return f"{name} = {name} {self.random.choice('+-')} {self.mark(kind)}"
                case "map":
                    return self.random.choice(
                        (
                            lambda: f"{name} = {name} + {self.mark(kind)}",
                            lambda: f"{name} = {name} - {self.mark(Type('set', kind.parts[:1], True))}",
                            lambda: f"{name}[{self.mark(kind.parts[0])}] = {self.mark(kind.parts[1])}",
                        )
                    )()
                case "udt":
                    field = self.random.choice(list(self.fields))
                    return f"{name}.{field} = {self.mark(self.fields[field])}"
        return f"{name} = {self.mark(kind)}"

    def delete(self, conditional=True, using=True) -> str:
        table = self.table
        names, where = "", self.key_where()
        match self.random.random():
            case part if part < 0.35:
                name = self.random.choice([*table.static, *table.regular])
                kind, names = table.columns[name], f" {name}"
                if kind.name == "map" and kind.multicell and self.chance(0.5):
                    names = f" {name}[{self.mark(kind.parts[0])}]"
                elif kind.name == "list" and kind.multicell and not self.careful and self.chance(0.5):
                    names = f" {name}[{self.random.randint(0, 2)}]"
                elif kind.name == "udt" and kind.multicell and self.chance(0.5):
                    names = f" {name}.x"
                if name in table.static and self.chance(0.95):
                    where = self.key_where(clustering=False)
            case part if part < 0.6 and table.clustering:
                where = f"{self.key_where(clustering=False)} AND {self.slice()}"
            case part if part < 0.7:
                where = self.key_where(clustering=False)
        condition = conditional and not table.counter and self.chance(0.05)
        start = self.using(ttl=False) if using and not condition and not table.counter else ""
        return f"DELETE{names} FROM {table.name}{start} WHERE {where}{f' IF {self.condition()}' if condition else ''}"

    def key_where(self, clustering=True) -> str:
        table = self.table
        names = [*table.partition, *(table.clustering if clustering else ())]
        if self.chance(0.03):
            names.remove(self.random.choice(names))
        parts = []
        for name in names:
            kind = table.columns[name]
            few = self.random.randint(1, 3)
            parts.append(f"{name} IN ({', '.join(self.mark(kind) for _ in range(few))})" if self.chance(0.05) else f"{name} = {self.mark(kind)}")
        return " AND ".join(parts) or f"{next(iter(table.regular))} = {self.mark(next(iter(table.regular.values())))}"

    def alter(self) -> str:
        table = self.table
        if self.chance(0.6) or len(table.regular) < 2:
            name = f"r{len(table.regular) + self.random.randint(0, 3)}"
            if name in table.regular:
                return f"ALTER TABLE {table.name} ADD {name} int"
            table.regular[name] = Type("counter") if table.counter else self.type()
            return f"ALTER TABLE {table.name} ADD {name} {table.regular[name]}"
        name = self.random.choice(list(table.regular))
        del table.regular[name]
        return f"ALTER TABLE {table.name} DROP {name}"

    # --- Reads -----------------------------------------------------------------------------------------------------------------------

    def slice(self) -> str:
        """A restriction of some first clustering columns: equal ones, then a range, or tuples."""
        names = list(self.table.clustering)
        columns = self.table.clustering
        if len(names) > 1 and self.chance(0.25):
            chosen = names[: self.random.randint(1, len(names))]

            def values():
                return f"({', '.join(self.mark(columns[name]) for name in chosen)})"

            if self.chance(0.3):
                return f"({', '.join(chosen)}) IN ({values()}, {values()})"
            return f"({', '.join(chosen)}) {self.random.choice(('<', '<=', '>', '>=', '='))} {values()}"
        end = self.random.randrange(len(names))
        parts = [f"{name} = {self.mark(columns[name])}" for name in names[:end]]
        name = names[end]
        match self.random.random():
            case part if part < 0.15:
                parts.append(f"{name} IN ({self.mark(columns[name])}, {self.mark(columns[name])})")
            case part if part < 0.4:
                parts.append(f"{name} {self.random.choice(('>', '>='))} {self.mark(columns[name])}")
                parts.append(f"{name} {self.random.choice(('<', '<='))} {self.mark(columns[name])}")
            case _:
                parts.append(f"{name} {self.random.choice(('<', '<=', '>', '>=', '='))} {self.mark(columns[name])}")
        return " AND ".join(parts)

    def filter(self) -> str:
        """A restriction of any column."""
        table = self.table
        name = self.random.choice(list(table.columns))
        kind = table.columns[name]
        if kind.name in ("list", "set", "map") and self.chance(0.6):
            if kind.name == "map":
                return self.random.choice(
                    (
                        lambda: f"{name} CONTAINS {self.mark(kind.parts[1])}",
                        lambda: f"{name} CONTAINS KEY {self.mark(kind.parts[0])}",
                        lambda: f"{name}[{self.mark(kind.parts[0])}] = {self.mark(kind.parts[1])}",
                    )
                )()
            return f"{name} CONTAINS {self.mark(kind.parts[0])}"
        if self.chance(0.1):
            return f"{name} IN ({self.mark(kind)}, {self.mark(kind)})"
        operator = "!=" if self.chance(0.02) else self.random.choice(("=", "=", "<", "<=", ">", ">="))
        return f"{name} {operator} {self.mark(kind)}"

    def where(self) -> tuple:
        """A WHERE clause without the word, and whether it is of partitions by their keys."""
        table = self.table
        whole_partition = " AND ".join(
            f"{name} IN ({self.mark(kind)}, {self.mark(kind)})" if self.chance(0.12) else f"{name} = {self.mark(kind)}"
            for name, kind in table.partition.items()
        )
        match self.random.random():
            case part if part < 0.2:
                return "", False
            case part if part < 0.4:
                return whole_partition, True
            case part if part < 0.65 and table.clustering:
                return f"{whole_partition} AND {self.slice()}", True
            case part if part < 0.7:
                token = f"token({', '.join(table.partition)})"
                return f"{token} {self.random.choice(('>', '>=', '<', '<='))} {self.random.choice((0, -4611686018427387904, 4611686018427387904))}", False
            case part if part < 0.8:
                return f"{whole_partition} AND {self.filter()}", True
        return " AND ".join(self.filter() for _ in range(self.random.choice((1, 1, 2)))), False

    def selector(self) -> str:
        name = self.random.choice(list(self.table.columns))
        kind = self.table.columns[name]
        choices = [name, name, f"count({name})", f"max({name})", f"min({name})", f"toJson({name})"]
        if kind.name in CASTABLE:
            choices.append(f"CAST({name} AS text)")
        if name not in self.table.partition and name not in self.table.clustering and not self.table.counter:
            choices += [f"writetime({name})", f"ttl({name})", f"writetime({name})"]
        if kind.name in NUMERIC:
            choices += [f"sum({name})", f"avg({name})", f"{name} + 1", f"-{name}", f"{name} * 2", f"{name} / 2", f"CAST({name} AS double)", f"abs({name})"]
        if kind.name == "udt":
            choices += [f"{name}.x", f"{name}.y"]
        if kind.name in ("list", "set", "map"):
            choices.append(f"collection_count({name})")
        if kind.name == "map":
            choices += [f"{name}[{self.mark(kind.parts[0])}]", f"map_keys({name})"]
        return self.random.choice(choices)

    def select(self) -> str:
        table = self.table
        where, by_key = self.where()
        group = ""
        match self.random.random():
            case part if part < 0.4:
                what = "*"
            case part if part < 0.45:
                what = "JSON *"
            case part if part < 0.52:
                what = f"DISTINCT {', '.join([*table.partition, *self.some(table.static, least=0)])}"
            case part if part < 0.62:
                keys = [*table.partition, *table.clustering]
                keys = keys[: self.random.randint(1, len(keys))]
                what, group = ", ".join([*keys, self.selector(), "count(*)"]), f" GROUP BY {', '.join(keys)}"
            case _:
                what = ", ".join(self.selector() for _ in range(self.random.randint(1, 4)))
        text = f"SELECT {what} FROM {table.name}"
        if where:
            text += f" WHERE {where}"
        text += group
        if table.clustering and self.chance(0.25 if by_key else 0.03):
            names = list(table.clustering)
            names = names[: self.random.randint(1, len(names))]
            turned = self.chance(0.5)
            opposite = {"ASC": "DESC", "DESC": "ASC"}
            orders = [table.orders[name] if not turned else opposite[table.orders[name]] for name in names]
            if self.chance(0.05):
                orders[0] = opposite[orders[0]]
            text += f" ORDER BY {', '.join(f'{name} {order}' for name, order in zip(names, orders))}"
        if self.chance(0.12):
            text += f" PER PARTITION LIMIT {self.random.randint(1, 3)}"
        if self.chance(0.2):
            text += f" LIMIT {self.random.randint(1, 5)}"
        if self.chance(0.6 if not by_key else 0.3):
            text += " ALLOW FILTERING"
        return text


def whole(parts: list):
    bound = [one for _, one in parts]
    return ... if any(one is ... for one in bound) else bound


if __name__ == "__main__":
    import sys

    import script

    print(script.text_of(generate(int(sys.argv[1]))), end="")
