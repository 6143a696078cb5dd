"""The judge itself: it sees doctored answers, reads its own scripts, and shrinks to what matters."""

import copy

import pytest

import compare
import generate
import recorded
import script
import shrink
import values
from runner import bound_values

STEPS = script.parse("SELECT a, b FROM $ks.t;")
COLUMNS = [["ks_000000", "t", "a", "int"], ["ks_000000", "t", "b", "text"]]
ROWS = {"rows": [["00000001", "78"], ["00000002", None]], "columns": COLUMNS, "pages": [2]}
ERROR = {"error": 0x2200, "message": "no"}


def judged(ours, theirs, known=()):
    return compare.judge("doctored", STEPS, [[ours]], [[theirs]], list(known))


def doctored(change):
    answer = copy.deepcopy(ROWS)
    change(answer)
    return answer


def test_equal_answers_do_not_differ():
    assert judged(ROWS, copy.deepcopy(ROWS)) == []


@pytest.mark.parametrize(
    "kind, ours",
    [
        ("outcome", ERROR),
        ("change", {"void": True}),
        ("rows", doctored(lambda answer: answer["rows"][0].__setitem__(0, "00000003"))),
        ("rows", doctored(lambda answer: answer["rows"].pop())),
        ("rows", doctored(lambda answer: answer["rows"].reverse())),
        ("metadata", doctored(lambda answer: answer["columns"][1].__setitem__(3, "ascii"))),
        ("paging", doctored(lambda answer: answer.update(pages=[1, 1]))),
        ("warnings", doctored(lambda answer: answer.update(warnings=["careful"]))),
    ],
)
def test_doctored_answer_is_found(kind, ours):
    assert [difference.kind for difference in judged(ours, ROWS)] == [kind]


def test_codes_and_messages_are_told_apart():
    assert [difference.kind for difference in judged(ERROR, {**ERROR, "error": 0x2000})] == ["code"]
    assert [difference.kind for difference in judged(ERROR, {**ERROR, "message": "No"})] == ["message"]


def test_known_difference_is_explained_and_what_follows_it_too():
    steps = script.parse("CREATE TABLE $ks.t (k int PRIMARY KEY); SELECT * FROM $ks.t; SELECT * FROM $ks.u;")
    known = [compare.Known(reason="not yet", kind=["outcome"], statement=compare.re.compile("CREATE"))]
    found = compare.judge("x", steps, [[ERROR], [ERROR], [ERROR]], [[{"void": True}], [ROWS], [ROWS]], known)
    assert [(difference.step, difference.cause is None) for difference in found] == [(0, False), (1, False), (2, True)]


def test_remaining_time_to_live_may_differ_a_little():
    columns = [["ks_000000", "t", "ttl(a)", "int"]]
    near, far = ({"rows": [[f"{seconds:08x}"]], "columns": columns} for seconds in (990, 500))
    assert not judged(near, {"rows": [["000003e8"]], "columns": columns})
    assert judged(far, {"rows": [["000003e8"]], "columns": columns})


def test_scripts_keep_their_steps_when_written_and_read():
    for seed in range(20):
        steps = generate.generate(seed)
        assert script.parse(script.text_of(steps)) == steps
    for name, steps in recorded.scripts().items():
        assert [step.statement for step in script.parse(script.text_of(steps), name)] == [step.statement for step in steps]


def test_directives_and_batches():
    steps = script.parse("-- bind [1, \"a;b\"]\n-- page 2\nSELECT 1;\n-- protocol 4\nBEGIN BATCH INSERT 1; INSERT 2; APPLY BATCH; INSERT ';';")
    assert [step.statement for step in steps] == ["SELECT 1", "BEGIN BATCH INSERT 1; INSERT 2; APPLY BATCH", "INSERT ';'"]
    assert (steps[0].binds, steps[0].page, steps[0].protocol, steps[1].protocol) == ([[1, "a;b"]], 2, 5, 4)


def test_values_are_the_same_after_encoding_and_decoding():
    kinds = ["int", "text", ["list", "int"], ["map", "text", "int"], ["tuple", ["int", "text"]], "decimal", "varint", "inet"]
    given = [5, "x", [1, 2], {"a": 1}, [1, "y"], "-1.50", -129, "::1"]
    encoded = bound_values([["", "", "", kind] for kind in kinds], given)
    assert [values.text_of(kind, one) for kind, one in zip(kinds, encoded)] == ["5", "'x'", "[1, 2]", "{'a': 1}", "(1, 'y')", "-1.50", "-129", "::1"]


def test_shrinking_keeps_what_the_difference_needs():
    steps = script.parse("".join(f"INSERT {number};" for number in range(30)) + "SELECT a LIMIT 5 ALLOW FILTERING;")

    def differences(part):
        if any(step.statement == "INSERT 13" for step in part):
            return [compare.Difference("rows", "x", len(part) - 1, part[-1].statement, "1 rows", "2 rows")]
        return []

    smaller, _ = shrink.shrink(steps, differences(steps)[0], differences)
    assert [step.statement for step in smaller] == ["INSERT 13", "SELECT a"]


def test_generator_is_a_function_of_its_seed():
    assert generate.generate(7) == generate.generate(7) != generate.generate(8)
