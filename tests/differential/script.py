"""Scripts: statements ended by `;`, with directives in comments before the statement that they are about.

    -- bind [1, "a", null]        prepare the statement and execute it with these values (JSON, see values.py); may be repeated
    -- prepare                    prepare the statement only
    -- page 2                     ask for pages of two rows, and read them all
    -- protocol 4                 from here on; 5 unless said
    -- consistency QUORUM         of this statement; ONE unless said
    -- serial LOCAL_SERIAL        the serial consistency of this statement
    -- timestamp 1000             the default timestamp, in microseconds, that goes with the request
    -- now 1700000000             the request's "now in seconds"
    -- ignore rows message        these kinds of difference say nothing here: time, random numbers

`$ks` is the keyspace, which is made anew for each script and in use on its connections. Any other comment is for people.
"""

import dataclasses
import json
import pathlib
import re

from compare import KINDS
from wire import CONSISTENCIES

NAME = "$ks"
# Strings, quoted names, $$ bodies $$, comments, and what ends a statement.
PIECE = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$\$.*?\$\$|--[^\n]*|//[^\n]*|/\*.*?\*/|;|[^;'\"$/-]+|.", re.S)
BATCH = re.compile(r"\s*BEGIN\b", re.I)
BATCH_END = re.compile(r"\bAPPLY\s+BATCH\s*$", re.I)


class BadScript(Exception):
    """A script that cannot be read."""


@dataclasses.dataclass
class Step:
    """One statement and how it is sent. `binds` is None for one that is not prepared."""

    statement: str
    binds: list | None = None
    page: int | None = None
    protocol: int = 5
    consistency: str = "ONE"
    serial: str | None = None
    timestamp: int | None = None
    now: int | None = None
    ignore: tuple = ()

    def text(self) -> str:
        """The step as a script has it, but for the protocol."""
        lines = []
        if self.binds is not None:
            lines += [f"-- bind {json.dumps(values)}" for values in self.binds] or ["-- prepare"]
        for name in ("page", "serial", "timestamp", "now"):
            if getattr(self, name) is not None:
                lines.append(f"-- {name} {getattr(self, name)}")
        if self.consistency != "ONE":
            lines.append(f"-- consistency {self.consistency}")
        if self.ignore:
            lines.append(f"-- ignore {' '.join(self.ignore)}")
        return "\n".join([*lines, self.statement + ";"])


def text_of(steps: list) -> str:
    """A script that has these steps."""
    lines, protocol = [], 5
    for step in steps:
        if step.protocol != protocol:
            protocol = step.protocol
            lines.append(f"-- protocol {protocol}")
        lines.append(step.text())
    return "\n".join(lines) + "\n"


def read(path: pathlib.Path) -> list:
    return parse(path.read_text(), path.name)


def parse(text: str, name: str = "script") -> list:
    """The steps of a script."""
    steps, directives, statement, protocol = [], {}, "", 5
    for piece in PIECE.findall(text):
        if piece.startswith(("--", "//", "/*")):
            if piece.startswith("--") and not statement.strip():
                protocol = directive(name, piece[2:].strip(), directives, protocol)
            continue
        if piece == ";" and not (BATCH.match(statement) and not BATCH_END.search(statement)):
            if statement.strip():
                steps.append(Step(statement.strip(), protocol=protocol, **directives))
            directives, statement = {}, ""
        else:
            statement += piece
    if statement.strip():
        raise BadScript(f"{name}: the last statement does not end with `;`: {statement.strip()[:80]}")
    return steps


def directive(name: str, text: str, directives: dict, protocol: int) -> int:
    """Adds what a comment says to `directives`; returns the protocol version from here on."""
    word, _, rest = text.partition(" ")
    match word:
        case "bind":
            directives.setdefault("binds", []).append(json.loads(rest))
        case "prepare" if not rest:
            directives["binds"] = []
        case "page" | "timestamp" | "now" if re.fullmatch(r"-?\d+", rest):
            directives[word] = int(rest)
        case "protocol" if rest in ("3", "4", "5"):
            return int(rest)
        case "consistency" | "serial" if rest in CONSISTENCIES:
            directives[word] = rest
        case "ignore" if rest:
            if unknown := set(rest.split()) - set(KINDS):
                raise BadScript(f"{name}: ignore {' '.join(sorted(unknown))}: the kinds are {', '.join(KINDS)}")
            directives["ignore"] = tuple(rest.split())
    return protocol
