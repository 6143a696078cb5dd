"""Runs the steps of a script on one server, in a keyspace of its own, and records the answers."""

import json
import struct

import values
from script import NAME, Step
from wire import Closed, Connection

PAGES_MAX = 200
# What stands for the keyspace's name in answers. All names of keyspaces have this length, so that sizes of values are equal.
CANONICAL = "ks_000000"
REPLICATION = "{'class': 'SimpleStrategy', 'replication_factor': 1}"


class Failed(Exception):
    """The server cannot be judged: it does not let us in, or does not make a keyspace."""


class Unfit(Exception):
    """A bound value does not fit the type that the server gives its marker."""


class Runner:
    """Connections to one server, one for each version of the protocol, all using the same keyspace."""

    def __init__(self, endpoint: str, keyspace: str):
        assert len(keyspace) == len(CANONICAL), keyspace
        host, port = endpoint.rsplit(":", 1)
        self.endpoint, self.keyspace = (host, int(port)), keyspace
        self.connections = {}

    def run(self, steps: list) -> list:
        """A list of answers for each step: of PREPARE and of each execution, or of the one query."""
        try:
            # Outside the keyspace: one that is dropped stays in use.
            self.must(f"DROP KEYSPACE IF EXISTS {self.keyspace}", used=False)
            self.must(f"CREATE KEYSPACE {self.keyspace} WITH replication = {REPLICATION} AND durable_writes = false", used=False)
            answers = [self.step(step) for step in steps]
            self.must(f"DROP KEYSPACE IF EXISTS {self.keyspace}", used=False)
            return canonical(answers, self.keyspace)
        except (OSError, Closed) as failure:
            raise Failed(f"{self.endpoint[0]}:{self.endpoint[1]}: {failure}") from failure
        finally:
            for connection in self.connections.values():
                connection.close()
            self.connections.clear()

    def must(self, statement: str, used=True):
        answer = self.connection(5, used).query(statement)
        if "error" in answer:
            raise Failed(f"{statement}: {answer['message']}")

    def connection(self, version: int, used=True) -> Connection:
        if (version, used) not in self.connections:
            connection = self.connections[version, used] = Connection(self.endpoint, version)
            if used:
                connection.query(f"USE {self.keyspace}")
        return self.connections[version, used]

    def step(self, step: Step) -> list:
        try:
            connection = self.connection(step.protocol)
            statement = step.statement.replace(NAME, self.keyspace)
            parameters = {"consistency": step.consistency, "serial": step.serial, "timestamp": step.timestamp}
            if step.now is not None and step.protocol >= 5:
                parameters["now"] = step.now
            if step.binds is None:
                return [self.pages(step, lambda **page: connection.query(statement, **parameters, **page))]
            prepared = connection.prepare(statement)
            shown = {name: part for name, part in prepared.items() if name not in ("id", "metadata_id")}
            answers = [shown]
            if "prepared" in prepared:
                for bound in step.binds:
                    encoded = bound_values(prepared["prepared"]["bind"], bound)
                    answers.append(self.pages(step, lambda **page: connection.execute(prepared, encoded, **parameters, **page)))
            return answers
        except Unfit as failure:
            return [{"unfit": str(failure)}]
        except Closed as failure:
            self.connections.pop((step.protocol, True)).close()
            return [{"closed": str(failure)}]

    def pages(self, step: Step, ask) -> dict:
        """The whole answer, and with `page` how many rows each page has."""
        answer = ask(page=step.page)
        if "rows" not in answer:
            return answer
        state, sizes = answer.pop("state"), [len(answer["rows"])]
        while state is not None and len(sizes) < PAGES_MAX:
            page = ask(page=step.page, state=state)
            if "rows" not in page:
                return page
            state = page["state"]
            sizes.append(len(page["rows"]))
            answer["rows"] += page["rows"]
        if step.page is not None:
            answer["pages"] = sizes
        return answer


def bound_values(markers: list, given: list) -> list:
    """The encoded values. What has no marker is sent as text: the server has to refuse it."""
    kinds = [marker[3] for marker in markers] + ["text"] * len(given)
    try:
        return [values.encode(kind, one) for kind, one in zip(kinds, given)]
    except (ValueError, TypeError, AttributeError, struct.error) as failure:
        raise Unfit(f"{json.dumps(given)} for {[marker[2:] for marker in markers]}: {failure}") from failure


def canonical(answers: list, keyspace: str) -> list:
    """The answers with CANONICAL in place of the keyspace's name, in texts and in values."""
    text = json.dumps(answers)
    return json.loads(text.replace(keyspace, CANONICAL).replace(keyspace.encode().hex(), CANONICAL.encode().hex()))
