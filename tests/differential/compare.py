"""Compares TarnDB's answers with Cassandra's, and tells differences that are known from those that are not.

A difference has one of KINDS. Rows are compared in the order in which they come: both servers hash partition keys alike, so that rows of many
partitions come in the order of the ring. What `known.toml` explains does not fail a run.
"""

import collections
import dataclasses
import operator
import pathlib
import re
import tomllib

import values

KINDS = ("outcome", "code", "message", "rows", "metadata", "warnings", "paging", "change")
# Remaining times to live are read at different moments.
TTL_COLUMN = re.compile(r"(?i)ttl\(")
TTL_SECONDS_APART = 120
# Timestamps of conditional statements are the server's; those that scripts write out are smaller.
WRITETIME_COLUMN = re.compile(r"(?i)(max)?writetime\(")
SERVER_TIMESTAMP_MIN = 10**15
CODES = {0x0000: "server error", 0x000A: "protocol", 0x1000: "unavailable", 0x1100: "write timeout", 0x1200: "read timeout", 0x1300: "read failure",
         0x1400: "function failure", 0x1500: "write failure", 0x2000: "syntax", 0x2100: "unauthorized", 0x2200: "invalid", 0x2300: "configuration",
         0x2400: "already exists", 0x2500: "unprepared"}  # fmt: skip
SCHEMA = re.compile(
    r"(?is)\s*(?:CREATE|ALTER|DROP)\s+(?:OR\s+REPLACE\s+)?(?:CUSTOM\s+)?(?:KEYSPACE|TABLE|COLUMNFAMILY|TYPE|INDEX|MATERIALIZED\s+VIEW|FUNCTION|AGGREGATE)\s+"
    r"(?:IF\s+(?:NOT\s+)?EXISTS\s+)?(?:[\w$]+\.)?(\w+)"
)
WRITE = re.compile(r"(?is)\s*\b(?:INSERT\s+INTO|UPDATE|DELETE\b.*?\bFROM|TRUNCATE(?:\s+TABLE)?)\s+(?:[\w$]+\.)?(\w+)")


@dataclasses.dataclass
class Difference:
    """What differs in one answer of one step. `cause` is an entry of known.toml, or None."""

    kind: str
    script: str
    step: int
    statement: str
    ours: str
    theirs: str
    cause: object = None
    follows: bool = False

    def __str__(self):
        return f"{self.kind}, step {self.step + 1} of {self.script}: {self.statement}\n  TarnDB:    {self.ours}\n  Cassandra: {self.theirs}"

    def signature(self) -> tuple:
        """What differences of one cause have in common: their texts without names, literals and numbers; of rows only what they are about."""
        ours, theirs = ((text.partition(":")[0] if self.kind == "rows" else text) for text in (self.ours, self.theirs))
        return self.kind, vague(ours), vague(theirs)


def vague(text: str) -> str:
    text = re.sub(r"'[^']*'|\"[^\"]*\"|\b0x[0-9a-f]+|\b[0-9a-f]{8}-[0-9a-f-]+|-?\b\d[\w.]*", "_", text)
    text = re.sub(r"\b(?:ks_000000|t\d*|u\d*|[pcrsk]\d+)\b", "_", text)
    return re.sub(r"\[[^\]]*\]|\{[^}]*\}|\([^)]*\)|<[^>]*>", "_", text)[:160]


# --- Two answers ---------------------------------------------------------------------------------------------------------------------


def kind_of(answer: dict) -> str:
    return next(name for name in ("error", "closed", "unfit", "rows", "prepared", "change", "keyspace", "void") if name in answer)


def failed(answer: dict) -> bool:
    return kind_of(answer) in ("error", "closed", "unfit")


def brief(answer: dict) -> str:
    """One line for people."""
    match kind_of(answer):
        case "error":
            return f"error {answer['error']:04x} ({CODES.get(answer['error'], 'unknown')}): {answer['message']}"
        case "rows":
            return f"{len(answer['rows'])} rows: {shown_rows(answer, answer['rows'])}"
        case "void":
            return "void"
        case kind:
            return f"{kind} {answer[kind]}"


def shown_rows(answer: dict, rows: list) -> str:
    kinds = [column[3] for column in answer["columns"]]
    shown = ["(" + ", ".join(map(values.text_of, kinds, row)) + ")" for row in rows[:4]]
    return ", ".join(shown)[:600] + (" …" if len(rows) > 4 else "")


def compare(ours: dict, theirs: dict):
    """Yields (kind, text of ours, text of theirs)."""
    if failed(ours) != failed(theirs):
        yield "outcome", brief(ours), brief(theirs)
        return
    if kind_of(ours) != kind_of(theirs):
        yield ("code" if failed(ours) else "change"), brief(ours), brief(theirs)
        return
    match kind_of(ours):
        case "error" if ours["error"] != theirs["error"]:
            yield "code", brief(ours), brief(theirs)
        case "error" if (same_words(ours["message"]), ours.get("fields")) != (same_words(theirs["message"]), theirs.get("fields")):
            yield "message", shown_error(ours), shown_error(theirs)
        case "rows":
            yield from compare_columns(ours["columns"], theirs["columns"])
            yield from compare_rows(ours, theirs)
            if ours.get("pages") != theirs.get("pages"):
                yield "paging", f"pages of {ours.get('pages')} rows", f"pages of {theirs.get('pages')} rows"
        case "prepared":
            for part in ("bind", "columns"):
                yield from compare_columns(ours["prepared"][part], theirs["prepared"][part], f"prepared, {part}: ")
            if ours["prepared"]["keys"] != theirs["prepared"]["keys"]:
                yield "metadata", f"indexes of the key: {ours['prepared']['keys']}", f"indexes of the key: {theirs['prepared']['keys']}"
        case ("change" | "keyspace") as kind if ours[kind] != theirs[kind]:
            yield "change", brief(ours), brief(theirs)
    if ours.get("warnings") != theirs.get("warnings"):
        yield "warnings", *(" | ".join(answer.get("warnings", [])) or "none" for answer in (ours, theirs))


def same_words(message: str) -> str:
    """Signatures of functions are listed in no order."""
    return " ".join(sorted(re.findall(r"[^\s,()]+", message))) if "signatures" in message else message


def shown_error(answer: dict) -> str:
    return f"{answer['message']}{' ' + str(answer['fields']) if 'fields' in answer else ''}"


def compare_columns(ours: list, theirs: list, where=""):
    if ours == theirs:
        return
    if len(ours) != len(theirs):
        yield "metadata", *(f"{where}{len(columns)} columns: {', '.join(column[2] for column in columns)}" for columns in (ours, theirs))
        return
    different = [pair for pair in zip(ours, theirs) if pair[0] != pair[1]]
    yield "metadata", *(
        where + ", ".join(f"{keyspace}.{table}.{name} {values.text_of_type(kind)}" for keyspace, table, name, kind in side) for side in zip(*different)
    )


def compare_rows(ours: dict, theirs: dict):
    if ours["rows"] == theirs["rows"]:
        return
    if len(ours["rows"]) != len(theirs["rows"]):
        yield "rows", *(f"{len(answer['rows'])} rows: {shown_rows(answer, answer['rows'])}" for answer in (ours, theirs))
        return
    loose = [
        equal_seconds if column[3] == "int" and TTL_COLUMN.match(column[2])
        else equal_timestamps if column[3] == "bigint" and WRITETIME_COLUMN.match(column[2])
        else operator.eq
        for column in theirs["columns"]
    ]  # fmt: skip
    different = [
        index
        for index, pair in enumerate(zip(ours["rows"], theirs["rows"]))
        if len(pair[0]) != len(pair[1]) or any(not same(*cells) for same, *cells in zip(loose, *pair))
    ]
    if different:
        if sorted(ours["rows"], key=str) == sorted(theirs["rows"], key=str):
            where = "the same rows in another order: "
        else:
            where = f"row {different[0] + 1} of {len(ours['rows'])}: "
        yield "rows", *(where + shown_rows(answer, [answer["rows"][index] for index in different]) for answer in (ours, theirs))


def equal_seconds(ours, theirs) -> bool:
    return ours == theirs or None not in (ours, theirs) and abs(int(ours, 16) - int(theirs, 16)) <= TTL_SECONDS_APART


def equal_timestamps(ours, theirs) -> bool:
    return ours == theirs or None not in (ours, theirs) and min(int(ours, 16), int(theirs, 16)) > SERVER_TIMESTAMP_MIN


# --- What is known -------------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Known:
    """An entry of known.toml: it explains a difference when all that it has matches."""

    reason: str
    kind: list
    todo: bool = False
    script: re.Pattern | None = None
    statement: re.Pattern | None = None
    ours: re.Pattern | None = None
    theirs: re.Pattern | None = None
    hits: int = 0

    def explains(self, difference: Difference) -> bool:
        return difference.kind in self.kind and all(
            pattern is None or pattern.search(getattr(difference, name))
            for name in ("script", "statement", "ours", "theirs")
            for pattern in (getattr(self, name),)
        )


def read_known(path: pathlib.Path) -> list:
    entries = []
    for entry in tomllib.loads(path.read_text()).get("known", []):
        patterns = {name: re.compile(entry.pop(name), re.S) for name in ("script", "statement", "ours", "theirs") if name in entry}
        kinds = entry.pop("kind")
        kinds = [kinds] if isinstance(kinds, str) else kinds
        assert set(kinds) <= set(KINDS), f"{path.name}: {kinds}: the kinds are {KINDS}"
        entries.append(Known(kind=kinds, **patterns, **entry))
    return entries


def targets(statement: str) -> list:
    """The tables, types, functions or indexes that a statement makes, changes or writes to."""
    if re.match(r"(?i)\s*BEGIN\b", statement):
        return [name.lower() for name in WRITE.findall(statement)]
    match = SCHEMA.match(statement) or WRITE.match(statement)
    return [match[1].lower()] if match else []


def judge(name: str, steps: list, ours: list, theirs: list, known: list) -> list:
    """All differences of a script.

    After a statement that only one server did, what it was about is no longer the same on both: later differences in statements that name it
    have the same cause.
    """
    found, spoilt = [], {}
    for index, (step, mine, peer) in enumerate(zip(steps, ours, theirs, strict=True)):
        pairs = list(zip(mine, peer))
        for kind, our_text, their_text in (difference for pair in pairs for difference in compare(*pair)):
            if kind in step.ignore:
                continue
            difference = Difference(kind, name, index, step.statement, our_text, their_text)
            words = set(re.findall(r"\w+", step.statement.lower()))
            earlier = [cause for word, cause in spoilt.items() if word in words]
            difference.cause = next((entry for entry in known if entry.explains(difference)), None)
            if difference.cause is None and earlier:
                difference.cause, difference.follows = earlier[0], True
            elif difference.cause is not None:
                difference.cause.hits += 1
            if kind == "outcome" and difference.cause is not None:
                for about in targets(step.statement):
                    spoilt.setdefault(about, difference.cause)
            found.append(difference)
    return found


def unexplained(differences: list) -> list:
    return [difference for difference in differences if difference.cause is None]


def table(differences: list) -> str:
    """Differences grouped by kind and cause, most frequent first."""
    groups = collections.Counter()
    for difference in differences:
        cause = difference.cause.reason if difference.cause else f"UNEXPLAINED: {vague(difference.ours)} / {vague(difference.theirs)}"
        state = "todo" if difference.cause and difference.cause.todo else "known" if difference.cause else "new"
        groups[difference.kind, state, cause] += 1
    return "\n".join(f"{count:>7}  {kind:<9} {state:<6} {cause}" for (kind, state, cause), count in groups.most_common())
