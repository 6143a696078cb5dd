"""Operations and functions over scans and queries: in the background, told of, ended, beside other requests and amid `kill -9`; stream functions."""

import pathlib
import time

import aerospike
import pytest
from aerospike import exception, predicates
from aerospike_helpers import expressions as exp
from aerospike_helpers.operations import operations

from conftest import MODULES
from test_udf import info, register

MODULE = """
function add(rec, bin, by)
  rec[bin] = (rec[bin] or 0) + by
  aerospike:update(rec)
end

function both(rec, value)
  rec.a = value
  rec.b = value
  aerospike:update(rec)
end

function forever(rec)
  rec.a = -1
  aerospike:update(rec)
  while true do end
end

function odd_fail(rec)
  if rec.n % 2 == 1 then error("odd") end
  rec.a = 1
  aerospike:update(rec)
end

function drop(rec) return aerospike:remove(rec) end
"""

COUNT = 1_000
ENDED_SECONDS_MAX = 120


@pytest.fixture(scope="module")
def module(endpoint):
    assert register(endpoint, "jobs.lua", MODULE) == "ok"
    yield "jobs"
    assert info(endpoint, "udf-remove:filename=jobs.lua") == "ok"


@pytest.fixture
def filled(client, new_set):
    """A set with records."""
    for n in range(COUNT):
        client.put(("test", new_set, n), {"n": n, "even": 1 - n % 2})
    return new_set


def told(endpoint, job):
    """What is told of a job."""
    value = info(endpoint, f"query-show:trid={job}")
    assert not value.startswith("ERROR"), value
    return dict(pair.split("=", 1) for pair in value.split(":"))


def ended(endpoint, job):
    """Waits for a job, and gives what is told of it then."""
    deadline = time.monotonic() + ENDED_SECONDS_MAX
    while (figures := told(endpoint, job))["status"].startswith("active"):
        assert time.monotonic() < deadline, figures
        time.sleep(0.02)
    return figures


def records(client, name):
    return {bins["n"]: bins for _, _, bins in client.scan("test", name).results()}


def test_a_function_is_applied_to_each_record_of_a_scan(client, endpoint, module, filled):
    job = client.scan_apply("test", filled, module, "add", ["sum", 5])
    figures = ended(endpoint, job)
    assert (figures["status"], figures["job-progress"], figures["recs-succeeded"], figures["recs-failed"]) == ("done(ok)", "100.00", str(COUNT), "0")
    assert (figures["job-type"], figures["ns"], figures["set"], figures["udf-filename"]) == ("background-udf", "test", filled, "jobs")
    assert {bins["sum"] for bins in records(client, filled).values()} == {5}
    assert client.get(("test", filled, 1))[1]["gen"] == 2
    assert client.job_info(job, aerospike.JOB_SCAN)["status"] == aerospike.JOB_STATUS_COMPLETED


def test_those_that_fail_are_counted_and_stop_nothing(client, endpoint, module, filled):
    figures = ended(endpoint, client.scan_apply("test", filled, module, "odd_fail"))
    assert (figures["recs-succeeded"], figures["recs-failed"]) == (str(COUNT // 2), str(COUNT // 2))
    assert [("a" in bins) for _, bins in sorted(records(client, filled).items())] == [True, False] * (COUNT // 2)


def test_filters_and_indexes_choose(client, endpoint, module, filled):
    policy = {"expressions": exp.And(exp.GE(exp.IntBin("n"), 100), exp.LT(exp.IntBin("n"), 110)).compile()}
    scan = client.scan("test", filled)
    scan.apply(module, "add", ["a", 1])
    assert ended(endpoint, scan.execute_background(policy))["recs-succeeded"] == "10"
    client.index_integer_create("test", filled, "even", f"{filled}_even")
    try:
        query = client.query("test", filled)
        query.where(predicates.equals("even", 1))
        query.apply(module, "add", ["b", 1])
        assert ended(endpoint, query.execute_background())["recs-succeeded"] == str(COUNT // 2)
        query = client.query("test", filled)
        query.where(predicates.equals("even", 0))
        query.add_ops([operations.increment("c", 1), operations.write("d", "x")])
        assert ended(endpoint, query.execute_background(policy))["recs-succeeded"] == "5"
    finally:
        client.index_remove("test", f"{filled}_even")
    for n, bins in records(client, filled).items():
        chosen = 100 <= n < 110
        expected = {"n": n, "even": 1 - n % 2}
        expected |= {"a": 1} if chosen else {}
        expected |= {"b": 1} if n % 2 == 0 else {"c": 1, "d": "x"} if chosen else {}
        assert bins == expected


def test_records_are_deleted(client, endpoint, module, filled):
    scan = client.scan("test", filled)
    scan.add_ops([operations.delete()])
    policy = {"expressions": exp.LT(exp.IntBin("n"), 500).compile()}
    assert ended(endpoint, scan.execute_background(policy))["recs-succeeded"] == "500"
    assert sorted(records(client, filled)) == list(range(500, COUNT))
    assert ended(endpoint, client.scan_apply("test", filled, module, "drop"))["recs-succeeded"] == "500"
    assert records(client, filled) == {}


def test_a_function_that_runs_for_ever_ends_and_others_are_served(client, endpoint, module, new_set, filled):
    job = client.scan_apply("test", filled, module, "forever")
    served = 0
    while told(endpoint, job)["status"].startswith("active") or served < 100:
        client.put(("test", f"{new_set}_other", served % 50), {"n": served})
        served += 1
    figures = told(endpoint, job)
    assert (figures["status"], figures["recs-succeeded"], figures["recs-failed"]) == ("done(ok)", "0", str(COUNT))
    assert all("a" not in bins for bins in records(client, filled).values()), "a function that is ended has done nothing"


def test_jobs_are_listed_paced_and_ended(client, endpoint, module, filled):
    scan = client.scan("test", filled)
    scan.apply(module, "add", ["a", 1])
    job = scan.execute_background({"records_per_second": 50})
    assert any(f"trid={job}:" in one and "status=active" in one for one in info(endpoint, "query-show").split(";"))
    assert told(endpoint, job)["rps"] == "50"
    assert client.job_info(job, aerospike.JOB_SCAN)["status"] == aerospike.JOB_STATUS_INPROGRESS
    # Java clients before 6.0 write numbers with a sign.
    signed = job - 2**64 if job >= 2**63 else job
    assert told(endpoint, signed)["rps"] == "50"
    assert info(endpoint, f"query-abort:trid={signed}") == "OK"
    figures = ended(endpoint, job)
    assert figures["status"] == "done(user-aborted)" and int(figures["recs-succeeded"]) < COUNT
    assert sum("a" in bins for bins in records(client, filled).values()) == int(figures["recs-succeeded"])
    assert info(endpoint, f"query-abort:trid={job}") == "ERROR:2:no such job"
    jobs = []
    for _ in range(3):
        scan = client.scan("test", filled)
        scan.apply(module, "add", ["a", 1])
        jobs.append(scan.execute_background({"records_per_second": 20}))
    assert info(endpoint, "query-abort-all:") == "OK - number of queries killed: 3"
    assert {ended(endpoint, job)["status"] for job in jobs} == {"done(user-aborted)"}


def test_what_cannot_be_is_refused(client, endpoint, module, filled, refused):
    assert info(endpoint, "query-show:trid=1234567") == "ERROR:2:no such job"
    assert info(endpoint, "query-show:trid=x").startswith("ERROR:4:")
    assert info(endpoint, "query-abort:trid=").startswith("ERROR:4:")
    assert info(endpoint, "query-abort").startswith("ERROR:4:")
    assert info(endpoint, "query-abort:trid=1\nnode").startswith("ERROR:4:")
    assert info(endpoint, "scan-abort:trid=9") == "ERROR:2:no such job"
    query = client.query("test", filled)
    query.where(predicates.equals("nothing", 1))
    query.apply(module, "add", ["a", 1])
    with refused(201):
        query.execute_background()
    with refused(20):
        client.scan_apply("none", filled, module, "add", ["a", 1])
    # Each record's call fails, and the job ends.
    assert ended(endpoint, client.scan_apply("test", filled, module, "none"))["recs-failed"] == str(COUNT)
    assert ended(endpoint, client.scan_apply("test", filled, "none", "add"))["recs-failed"] == str(COUNT)
    assert all(set(bins) == {"n", "even"} for bins in records(client, filled).values())


@pytest.mark.restart
def test_records_are_written_wholly_or_not_amid_kill(client, endpoint, module, restart, filled):
    job = client.scan_apply("test", filled, module, "both", [7])
    while int((figures := told(endpoint, job))["recs-succeeded"]) < 50:
        assert figures["status"].startswith("active") or figures["recs-succeeded"] == str(COUNT)
    acknowledged = int(figures["recs-succeeded"])
    restart("kill")
    found = records(client, filled)
    assert sorted(found) == list(range(COUNT))
    written = [bins for bins in found.values() if "a" in bins or "b" in bins]
    assert all((bins.get("a"), bins.get("b")) == (7, 7) for bins in written)
    assert len(written) >= acknowledged, "what was counted is there"
    # A job does not outlive the process; another one does the rest.
    assert info(endpoint, f"query-show:trid={job}") == "ERROR:2:no such job"
    assert ended(endpoint, client.scan_apply("test", filled, module, "both", [8]))["recs-succeeded"] == str(COUNT)
    assert all((bins["a"], bins["b"]) == (8, 8) for bins in records(client, filled).values())


STREAMS = """
function sum(stream, bin)
  return stream : map(function(rec) return rec[bin] or 0 end) : reduce(function(a, b) return a + b end)
end

function chosen(stream, least)
  return stream : filter(function(rec) return rec.n >= least end) : map(function(rec) return map{ n = rec.n, key = record.key(rec) } end)
end

function digits(stream)
  local function add(groups, rec)
    local digit = rec.n % 10
    groups[digit] = (groups[digit] or 0) + 1
    return groups
  end
  local function join(one, other) return map.merge(one, other, function(a, b) return a + b end) end
  return stream : aggregate(map(), add) : reduce(join)
end

function forever(stream) return stream : map(function(rec) while true do end end) end

function fail(stream) return stream : map(function(rec) error("no stream") end) end
"""


@pytest.fixture(scope="module")
def streams(endpoint, client):
    """A client that has the module itself, to join what servers give."""
    (pathlib.Path(MODULES.name) / "streams.lua").write_text(STREAMS)
    assert register(endpoint, "streams.lua", STREAMS) == "ok"
    yield client
    assert info(endpoint, "udf-remove:filename=streams.lua") == "ok"


def joined(client, name, function, arguments=(), where=None, policy=None):
    query = client.query("test", name)
    if where:
        query.where(where)
    query.apply("streams", function, list(arguments))
    return query.results(policy or {})


def test_streams_are_mapped_filtered_and_joined(client, streams, filled):
    assert joined(streams, filled, "sum", ["n"]) == [COUNT * (COUNT - 1) // 2]
    assert joined(streams, filled, "digits") == [{digit: COUNT // 10 for digit in range(10)}]
    found = joined(streams, filled, "chosen", [COUNT - 3])
    assert sorted(value["n"] for value in found) == [COUNT - 3, COUNT - 2, COUNT - 1]
    policy = {"expressions": exp.LT(exp.IntBin("n"), 10).compile()}
    assert joined(streams, filled, "sum", ["n"], policy=policy) == [45]
    client.index_integer_create("test", filled, "even", f"{filled}_even")
    try:
        assert joined(streams, filled, "sum", ["n"], predicates.equals("even", 1)) == [sum(range(0, COUNT, 2))]
    finally:
        client.index_remove("test", f"{filled}_even")
    assert joined(streams, f"{filled}_none", "sum", ["n"]) == []


def test_streams_that_fail_are_told_of_and_others_are_served(client, streams, new_set, filled):
    for function, message in (("forever", "instructions"), ("fail", "no stream")):
        with pytest.raises(exception.AerospikeError) as raised:
            joined(streams, filled, function)
        assert message in raised.value.msg, raised.value.msg
    assert client.put(("test", new_set, 1), {"n": 1, "even": 0}) == 0
    assert all(set(bins) == {"n", "even"} for bins in records(client, filled).values())
