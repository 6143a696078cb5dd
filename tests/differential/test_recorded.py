"""Every script and every recorded case answers as Cassandra did, but for what known.toml has."""

import pytest

import recorded
import script
from runner import CANONICAL, Runner

SCRIPTS, ANSWERS, CASES = recorded.scripts(), recorded.load(recorded.SCRIPTS), recorded.load(recorded.CASES)


def shown(differences) -> str:
    return "\n".join(map(str, differences))


@pytest.mark.parametrize("name", SCRIPTS)
def test_script(name, endpoint, judged):
    steps, kept = SCRIPTS[name], ANSWERS.get(name)
    assert kept and kept["digest"] == recorded.digest(steps), f"{name}.cql is not what was recorded: make differential ARGS=--record"
    new = judged(name, steps, Runner(endpoint, keyspace(name)).run(steps), kept["answers"])
    assert not new, shown(new)


@pytest.mark.parametrize("name", CASES)
def test_case(name, endpoint, judged):
    steps = script.parse(CASES[name]["script"], name)
    new = judged(name, steps, Runner(endpoint, keyspace(name)).run(steps), CASES[name]["answers"])
    assert not new, shown(new)


def keyspace(name: str) -> str:
    return f"ks_{recorded.short_digest(name)[: len(CANONICAL) - 3]}"
