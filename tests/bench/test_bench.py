"""Every command of `tarndb bench`, on a good day and on a bad one."""

import contextlib
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest
from cassandra.cluster import Cluster

import server as servers
from conftest import kill, phase_of, report_of
from patient import patient

PEERS = pathlib.Path(__file__).resolve().parents[2] / "peers"
STUDIES = ["aerospike-cassandra", "griddb-scaleout", "scylla-power", *(f"ycsb-{letter}" for letter in "abcdef"), "resilience", "scale-out", "connections", "indexed"]
READS = '{ operations = { read = 0.5, update = 0.5 }, keys = { distribution = "uniform" } }'
ALL = READS.replace("update = 0.5", "update = 0.3, insert = 0.1, read-modify-write = 0.1")
VERIFIED = READS.replace(" }, keys", " }, verify = true, keys")
LOAD = {"kind": '"load"'}
# What goes on just now, on a terminal and in a line.
LIVE = r"[\d,]+ ops/s, p50 [\d.]+ [µm]?s, p99 [\d.]+ [µm]?s, max [\d.]+ [µm]?s, 0 errors"


def run_phase(**more):
    return {"kind": '"run"', "mix": READS, **more}


def wait_for_seconds(out, count):
    """Until the histogram log of phase `run` has the figures of some seconds."""
    while sum(line.startswith("Tag=") for log in out.glob("*-run.hlog") for line in log.read_text().splitlines()) < 2 * count:
        pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_every_study_is_listed_and_shown(bench):
    listed = bench("list").end()
    assert listed.code == 0 and [line.split()[0] for line in listed.out.splitlines()] == STUDIES
    for name in STUDIES:
        shown = bench("show", name).end()
        assert shown.code == 0 and f'name = "{name}"' in shown.out


def test_a_study_on_a_private_node_is_measured_whole(bench, study, tmp_path):
    validate = {"kind": '"validate"', "rows": 200, "operations": 3000, "mix": READS}
    path = study([{"kind": '"check"'}, validate, LOAD, {"kind": '"settle"'}, {"kind": '"drop-caches"'}, run_phase(seconds=3)])
    run = bench("run", path, "--out", "out").end()
    assert run.code == 0, run.err
    report = report_of(tmp_path / "out")
    assert report["complete"] and [phase["kind"] for phase in report["targets"][0]["phases"]] == [
        "check", "validate", "load", "settle", "drop-caches", "run",
    ]  # fmt: skip
    load, measured = phase_of(report, "load"), phase_of(report, "run")
    assert load["operations"][0]["operation"] == "insert" and load["operations"][0]["replies"] == 2000
    assert phase_of(report, "validate")["verified"]["compared"] > 1000
    assert {operation["operation"] for operation in measured["operations"]} == {"read", "update"}
    assert all(operation["errors"] == 0 and operation["replies"] > 0 for operation in measured["operations"])
    # Longer where this machine stalls at the end.
    assert measured["seconds"] > 2 and abs(len(measured["timeline"]) - measured["seconds"]) < 1.5
    seconds = sum(one["replies"] for second in measured["timeline"] for one in second["operations"].values())
    assert seconds == sum(operation["replies"] for operation in measured["operations"])
    assert measured["resources"]["target_memory_peak"] > 0 and measured["resources"]["target_cpu_s"] > 0
    assert (tmp_path / "out" / measured["histogram_log"]).read_text().startswith("#")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<html" in page and not (tmp_path / "out" / "work").exists()
    again = bench("report", "out").end()
    assert again.code == 0 and "run" in again.out
    # A finished run is neither repeated nor overwritten.
    before = (tmp_path / "out" / "report.json").read_bytes()
    repeated = bench("run", path, "--out", "out").end()
    assert repeated.code == 2 and "finished" in repeated.err and (tmp_path / "out" / "report.json").read_bytes() == before


def test_a_study_runs_in_aerospikes_protocol(bench, study, private_server, tmp_path):
    validate = {"kind": '"validate"', "rows": 200, "operations": 3000, "mix": ALL}
    path = study([{"kind": '"check"'}, validate, LOAD, {"kind": '"drop-caches"'}, run_phase(name='"run"', seconds=2, mix=VERIFIED)])
    state = private_server.state()
    other = f"other=aerospike://{state['aerospike']}/test?pid={state['pid']}"
    run = bench("run", path, "--target", "tarndb?protocol=aerospike", "--target", other, "--out", "out").end()
    assert run.code == 0, run.err
    report = report_of(tmp_path / "out")
    assert [target["name"] for target in report["targets"]] == ["tarndb-aerospike", "other"]
    for at, target in enumerate(report["targets"]):
        assert target["protocol"] == "aerospike" and target["server"].startswith("TarnDB")
        load, measured = phase_of(report, "load", at), phase_of(report, "run", at)
        assert load["operations"][0]["replies"] == 2000 and not load["errors"]
        for phase in (phase_of(report, "validate", at), measured):
            assert phase["verified"]["compared"] > 500 and not phase["errors"]
            assert [phase["verified"][what] for what in ("lost", "stale", "wrong")] == [0, 0, 0]
        # The protocol has one request in flight on a connection.
        assert measured["settings"]["connections"] == "16" and measured["settings"]["in flight on each connection"] == "1"
        assert measured["resources"]["target_cpu_s"] > 0
    assert {operation["operation"] for operation in phase_of(report, "validate")["operations"]} == {"read", "update", "insert", "read-modify-write"}


# Whole rows are written, so that a batch of them is one request.
WHOLE = ALL.replace("insert = 0.1,", "insert = 0.1, scan = 0.1,").replace(" }, keys", " }, update_all_fields = true, keys")


@pytest.mark.parametrize("batch", [1, 100])
def test_a_study_runs_in_griddbs_protocol(bench, study, private_server, tmp_path, batch):
    mix = ALL.replace("insert = 0.1,", "insert = 0.1, scan = 0.1,") if batch == 1 else WHOLE
    validate = {"kind": '"validate"', "rows": 500, "operations": 5000, "mix": mix}
    phases = [{"kind": '"check"'}, validate, LOAD, {"kind": '"drop-caches"'}, run_phase(seconds=2, mix=VERIFIED), {"kind": '"verify"'}]
    state = private_server.state()
    other = f"other=griddb://any:one@{state['griddb']}/TarnDB?pid={state['pid']}"
    run = bench("run", study(phases, batch=batch), "--target", "tarndb?protocol=griddb", "--target", other, "--out", "out").end()
    assert run.code == 0, run.err
    report = report_of(tmp_path / "out")
    assert [target["name"] for target in report["targets"]] == ["tarndb-griddb", "other"]
    for at, target in enumerate(report["targets"]):
        assert target["protocol"] == "griddb" and target["server"].startswith("TarnDB 0.")
        assert target["settings"]["client: rows of a request"] == str(batch)
        load, validated, measured = (phase_of(report, name, at) for name in ("load", "validate", "run"))
        assert load["operations"][0]["replies"] == 2000 and not load["errors"]
        for phase in (validated, measured):
            assert phase["verified"]["compared"] > 500 and not phase["errors"]
            assert [phase["verified"][what] for what in ("lost", "stale", "wrong")] == [0, 0, 0]
        assert phase_of(report, "verify", at)["verified"]["compared"] == 2000
        # A request for each row on as many connections as there are to be requests in flight, or for all rows of a connection.
        connections, in_flight = ("16", "1") if batch == 1 else ("4", str(batch))
        assert (measured["settings"]["connections"], measured["settings"]["in flight on each connection"]) == (connections, in_flight)
        assert measured["resources"]["target_cpu_s"] > 0
    kinds = {operation["operation"] for operation in phase_of(report, "validate")["operations"]}
    assert kinds == {"read", "update", "insert", "read-modify-write", "scan"}
    assert row_counts(private_server, "public") == {"usertable": 2000}


def test_wrong_griddb_targets_are_told_in_a_line(bench, study, private_server, guarded_server):
    path = study([LOAD, run_phase(seconds=1)])
    address, guarded = private_server.state()["griddb"], guarded_server.state()["griddb"]
    for target, says in [
        (f"griddb://{address}/absent", "TXN_CLUSTER_NAME_INVALID: 10053"),
        (f"griddb://cassandra:wr0ng@{guarded}", "does not let the client in"),
        (f"griddb://{private_server.state()['cql']}", "does not speak griddb"),
        (f"griddb://127.0.0.1:{free_port()}", "cannot connect"),
        (f"griddb://{address}?batch=99", ""),
    ]:
        run = bench("run", path, "--target", target, "--out", f"out-{free_port()}").end()
        assert run.code == (1 if says else 0) and says in run.err and "panicked" not in run.err and "wr0ng" not in run.err, run.err


def test_griddbs_clients_log_in(bench, study, guarded_server, tmp_path):
    path = study([{"kind": '"check"'}, LOAD, run_phase(seconds=1)])
    run = bench("run", path, "--target", f"griddb://cassandra:cassandra@{guarded_server.state()['griddb']}", "--out", "out").end()
    assert run.code == 0, run.err
    assert phase_of(report_of(tmp_path / "out"), "load")["operations"][0]["replies"] == 2000
    assert "cassandra:cassandra" not in (tmp_path / "out" / "report.json").read_text()


def test_a_cluster_is_loaded_in_griddbs_protocol_and_in_cql(bench, study, tmp_path):
    phases = [LOAD, run_phase(seconds=2, mix=VERIFIED.replace(" }, verify", " }, update_all_fields = true, verify")), {"kind": '"verify"'}]
    targets = ["tarndb", "tarndb?protocol=griddb"]
    run = bench("run", study(phases, nodes=2, replication=2, tables=4, batch=50, targets=json.dumps(targets)), "--out", "out").end()
    assert run.code == 0, run.err
    report = report_of(tmp_path / "out")
    assert [target["name"] for target in report["targets"]] == ["tarndb-2", "tarndb-griddb-2"]
    for at in range(2):
        assert phase_of(report, "verify", at)["verified"] == {"compared": 2000, "lost": 0, "stale": 0, "wrong": 0, "unknown": 0}
    assert phase_of(report, "run", 1)["settings"]["in flight on each connection"] == "50"


def row_counts(server, keyspace):
    """Of each table of a keyspace, as CQL counts them."""
    host, port = server.state()["cql"].split(":")
    with Cluster([host], port=int(port), **patient()) as cluster, cluster.connect() as session:
        tables = session.execute(f"SELECT table_name FROM system_schema.tables WHERE keyspace_name = '{keyspace}'")
        return {table.table_name: session.execute(f'SELECT count(*) FROM "{keyspace}"."{table.table_name}"').one()[0] for table in tables}


@pytest.mark.parametrize(("protocol", "keyspace"), [("cql", "tarndb_bench"), ("aerospike", "test"), ("griddb", "public")])
def test_rows_are_spread_over_tables(bench, study, private_server, tmp_path, protocol, keyspace):
    mix = ALL.replace(" }, keys", " }, verify = true, keys")
    validate = {"kind": '"validate"', "rows": 200, "operations": 3000, "mix": ALL}
    path = study([{"kind": '"check"'}, validate, LOAD, run_phase(operations=5000, mix=mix), {"kind": '"verify"'}], tables=3)
    target = ["--target", f"{protocol}://{private_server.state()[protocol]}"]
    run = bench("run", path, *target, "--out", "out").end()
    assert run.code == 0, run.err
    report = report_of(tmp_path / "out")
    assert report["targets"][0]["settings"]["tables"] == "3" and '"tables":"3"' in (tmp_path / "out" / "report.html").read_text()
    measured = phase_of(report, "run")
    assert measured["verified"]["compared"] > 1000 and not measured["errors"]
    assert [measured["verified"][what] for what in ("lost", "stale", "wrong")] == [0, 0, 0]
    assert phase_of(report, "verify")["verified"] == {"compared": 2000, "lost": 0, "stale": 0, "wrong": 0, "unknown": 0}
    inserted = next(operation["replies"] for operation in measured["operations"] if operation["operation"] == "insert")
    names = ["usertable", "usertable_1", "usertable_2"]
    assert inserted > 0
    assert row_counts(private_server, keyspace) == {name: len(range(table, 2000 + inserted, 3)) for table, name in enumerate(names)}
    # What is left of it is gone after a run with fewer tables.
    again = bench("run", study([LOAD, run_phase(seconds=1)], name="one"), *target, "--out", "again").end()
    assert again.code == 0 and "tables" not in report_of(tmp_path / "again")["targets"][0]["settings"], again.err
    assert {name: rows for name, rows in row_counts(private_server, keyspace).items() if rows} == {"usertable": 2000}


def test_a_study_has_statements_of_its_own(bench, study, private_server, tmp_path):
    insert = "INSERT INTO {table} (key, field0, field2) VALUES (:key, :field1, 'of :key')"
    statements = {
        "schema": ["CREATE INDEX ON {table} (field0) USING 'sai'"],
        "insert": insert,
        "read": "SELECT key FROM {table} WHERE field0 = :field1",
        "scan": "SELECT key, field0 FROM {table} WHERE token(key) > token(:key) LIMIT :limit",
        "update": "UPDATE {table} SET field1 = :field0 WHERE key = :key",
    }
    # JSON's texts and lists are TOML's, too.
    cql = "{ " + ", ".join(f"{part} = {json.dumps(text)}" for part, text in statements.items()) + " }"
    mix = '{ operations = { read = 0.5, update = 0.3, insert = 0.1, scan = 0.1 }, keys = { distribution = "uniform" } }'
    rows = {"values": '"text"'}
    path = study([LOAD, run_phase(operations=3000, mix=mix)], tables=2, rows_more=rows, cql=cql)
    target = ["--target", f"cql://{private_server.state()['cql']}"]
    run = bench("run", path, *target, "--out", "out").end()
    assert run.code == 0, run.err
    report = report_of(tmp_path / "out")
    assert insert in report["study"]["file"]
    measured = phase_of(report, "run")
    assert {operation["operation"] for operation in measured["operations"]} == {"read", "update", "insert", "scan"}
    # Reads that find nothing are errors: they would, by what the load's own insert writes.
    assert not measured["errors"], measured["errors"]
    host, port = private_server.state()["cql"].rsplit(":", 1)
    with Cluster([host], port=int(port)) as cluster, cluster.connect("tarndb_bench") as session:
        indexes = session.execute("SELECT table_name FROM system_schema.indexes WHERE keyspace_name = 'tarndb_bench'")
        assert {index.table_name for index in indexes} == {"usertable", "usertable_1"}
        read = list(session.execute("SELECT field0, field1, field2 FROM usertable"))
    assert len(read) >= 1000 and all(row.field0 and row.field2 == "of :key" for row in read)
    updated = [row for row in read if row.field1]
    assert 0 < len(updated) < len(read) and all(row.field0 != row.field1 for row in updated)
    refused = bench("run", path, "--target", "tarndb?protocol=aerospike", "--out", "refused").end()
    assert refused.code == 1 and "CQL statements of its own" in refused.err, refused.err


def test_wrong_aerospike_targets_are_told_in_a_line(bench, study, private_server):
    path = study([LOAD, run_phase(seconds=1)])
    address = private_server.state()["aerospike"]
    scans = study([LOAD, run_phase(seconds=1, mix=READS.replace("update", "scan"))], name="scans")
    for which, target, says in [
        (path, f"aerospike://{address}/absent", "no such namespace"),
        (path, f"aerospike://{private_server.state()['cql']}", "does not speak aerospike"),
        (path, f"cql://{address}", "broke"),
        (path, f"aerospike://127.0.0.1:{free_port()}", "cannot connect"),
        (scans, f"aerospike://{address}", "cannot express this load"),
    ]:
        run = bench("run", which, "--target", target, "--out", f"out-{says.split()[-1]}").end()
        assert run.code == 1 and says in run.err and "panicked" not in run.err, run.err


def test_flags_are_in_force_and_in_the_report(bench, study, tmp_path):
    path = study([LOAD, run_phase(operations=100_000_000)])
    for attempt in range(5):
        out = f"out{attempt}"
        run = bench("run", path, "--scale", "0.5", "--duration", "2s", "--rate", "500", "--memory", "300MiB", "--seed", "7", "--out", out).end()
        assert run.code == 0, run.err
        report = report_of(tmp_path / out)
        assert phase_of(report, "load")["operations"][0]["replies"] == 1000
        measured = phase_of(report, "run")
        replies = sum(operation["replies"] for operation in measured["operations"])
        assert replies <= 1100
        # A machine that stalls in these two seconds sends fewer.
        if replies >= 900:
            break
    assert replies >= 900
    assert report["targets"][0]["settings"]["--memory-limit"] == "300MiB" and measured["settings"]["seed"] == "7"
    assert "rate = 500" in report["study"]["file"] and "count = 1000" in report["study"]["file"]


def test_two_targets_have_ratios_and_reports_can_be_compared(bench, study, private_server, tmp_path):
    path = study([LOAD, run_phase(seconds=2)])
    address = private_server.state()["cql"]
    run = bench("run", path, "--target", "tarndb", "--target", f"other=cql://{address}?pid={private_server.state()['pid']}", "--out", "out").end()
    assert run.code == 0, run.err
    report = report_of(tmp_path / "out")
    ratios = {ratio["measure"]: ratio for ratio in report["ratios"]}
    assert ratios["run throughput"]["measured"] > 0 and ratios["run throughput"]["baseline"] == "other"
    assert phase_of(report, "run", 1)["resources"]["target_cpu_s"] > 0
    assert report["targets"][1]["server"].startswith("TarnDB 0."), "its own version, not the one of Cassandra that its tables claim"
    compared = bench("compare", "out", "out").end()
    assert compared.code == 0 and (tmp_path / "compare.html").exists()
    assert "≠" not in compared.out and json.loads((tmp_path / "compare.json").read_text())["alike"]


def test_unlike_runs_are_marked_and_other_studies_are_refused(bench, study, tmp_path):
    """By the terminal, the page and the file for programs."""
    path = study([LOAD, run_phase(seconds=2)])
    for out, flags in [("first", []), ("second", ["--scale", "0.5", "--duration", "1s", "--memory", "300MiB"])]:
        run = bench("run", path, *flags, "--out", out).end()
        assert run.code == 0, run.err
    compared = bench("compare", "first", "second").end()
    assert compared.code == 0, compared.err
    for what in [r"scale ≠ +1 +0\.5", r"duration of run ≠ +2 s +1 s", r"--memory ≠ +the study's +314572800 bytes"]:
        assert re.search(f"^{what}$", compared.out, re.MULTILINE), compared.out
    assert "second: tarndb ≠" in compared.out and "first: tarndb ≠" not in compared.out
    figures = json.loads((tmp_path / "compare.json").read_text())
    assert not figures["alike"] and [run["like_first"] for run in figures["runs"]] == [True, False]
    assert {"scale", "duration of run", "--memory"} <= {difference["what"] for difference in figures["differences"]}
    assert {one["operation"] for one in figures["runs"][1]["figures"]} == {"insert", "read", "update"}
    assert '"what":"scale"' in (tmp_path / "compare.html").read_text()

    other = study([LOAD, run_phase(seconds=1)], name="another")
    assert bench("run", other, "--out", "third").end().code == 0
    (tmp_path / "compare.html").unlink()
    refused = bench("compare", "first", "third").end()
    assert refused.code == 2 and len(refused.err.splitlines()) == 1 and not (tmp_path / "compare.html").exists()
    assert "study: small (first), another (third)" in refused.err and "--force" in refused.err, refused.err
    forced = bench("compare", "first", "third", "--force", "--out", "forced.html").end()
    assert forced.code == 0 and re.search(r"^study ≠ +small +another$", forced.out, re.MULTILINE), forced.out
    assert (tmp_path / "forced.html").exists() and (tmp_path / "forced.json").exists()
    report = bench("report", "second").end()
    assert re.match(r"small: \d+(\.\d+)? s at 50 % of the study's size, one node, \d+ CPUs? .*GiB of memory$", " ".join(report.out.split("small\n")[0].split())), report.out


def interrupted(bench, write, line, out, *flags):
    """Its study and a run of it that is interrupted after a line; one that has ended before, for this machine stalled, is followed by one of more seconds."""
    for seconds in (3, 20, 100):
        shutil.rmtree(out, ignore_errors=True)
        path = write(seconds)
        run = bench("run", path, *flags, "--out", "out")
        run.wait_for_line(line)
        run.interrupt()
        run.end()
        if run.code != 0:
            break
    return path, run


def test_an_interrupted_run_keeps_what_it_has_and_goes_on(bench, study, tmp_path):
    phases = lambda seconds: [LOAD, run_phase(name='"first"', seconds=2), run_phase(name='"second"', seconds=seconds)]  # noqa: E731
    path, run = interrupted(bench, lambda seconds: study(phases(seconds), tables=3), "· second", tmp_path / "out")
    assert run.code == 130 and "goes on" in run.err
    report = report_of(tmp_path / "out")
    assert not report["complete"] and phase_of(report, "first")["complete"] and not phase_of(report, "second")["complete"]
    assert (tmp_path / "out" / "report.html").exists()
    finished = bench("run", path, "--out", "out").end()
    assert finished.code == 0, finished.err
    after = report_of(tmp_path / "out")
    assert after["complete"] and phase_of(after, "second")["complete"]
    assert phase_of(after, "first") == phase_of(report, "first") and "tarndb · load" not in finished.err
    assert not [error for phase in after["targets"][0]["phases"] for error in phase["errors"]]


def test_a_round_begins_with_a_new_process_and_an_empty_directory(bench, study, tmp_path):
    path = study([LOAD, run_phase(seconds=3)])
    run = bench("run", path, "--repeats", "2", "--out", "out")
    run.wait_for_line("round 1 of 2 · run")
    (first,) = children_of(run.process.pid)
    left = tmp_path / "out" / "work" / "tarndb" / "left"
    left.write_text("by the first round")
    run.wait_for_line("round 2 of 2 · run")
    (second,) = children_of(run.process.pid)
    assert first != second and not is_alive(first) and left.parent.exists() and not left.exists()
    assert run.end().code == 0, run.err


def test_rounds_go_on_after_an_interrupt_and_are_shown_as_one(bench, study, tmp_path):
    out = tmp_path / "out"
    path, run = interrupted(bench, lambda seconds: study([LOAD, run_phase(seconds=seconds)]), "round 2 of 2 · run", out, "--repeats", "2")
    assert run.code == 130 and "tarndb, round 2: interrupted" in report_of(out)["warnings"], run.err
    before = report_of(out)
    assert [(target["name"], target["round"], len(target["phases"])) for target in before["targets"]] == [("tarndb", 1, 2), ("tarndb", 2, 2)]
    assert "2 of 2 rounds" not in run.out and "(1 of 2 rounds)" in run.out, run.out
    other = bench("run", path, "--repeats", "3", "--out", "out").end()
    assert other.code == 2 and "the number of rounds (repeats, --repeats) was 2 and is 3 now" in other.err, other.err

    finished = bench("run", path, "--repeats", "2", "--out", "out").end()
    assert finished.code == 0 and "round 1" not in finished.err and "· load" not in finished.err, finished.err
    after = report_of(out)
    assert after["complete"] and after["repeats"] == 2 and "repeats = 2" in after["study"]["file"] and not after["warnings"]
    first, second = after["targets"]
    assert first == before["targets"][0] and second["phases"][0] == before["targets"][1]["phases"][0]
    for target in (first, second):
        load, measured = target["phases"]
        assert load["operations"][0]["replies"] == 2000 and not load["errors"] and measured["complete"] and not measured["errors"]
        for phase in target["phases"]:
            assert phase["histogram_log"] == f"tarndb-round-{target['round']}-{phase['name']}.hlog"
            assert (out / phase["histogram_log"]).read_text().startswith("#")
    assert not (out / "work").exists()
    low, high = sorted(target["phases"][1]["throughput"] for target in (first, second))
    shown = re.search(r"^  run, .*?  ([\d,.]+) .*\n    lowest +([\d,.]+) .*\n    highest +([\d,.]+) ", finished.out, re.MULTILINE)
    median, lowest, highest = (float(figure.replace(",", "")) for figure in shown.groups())
    assert abs(lowest - low) <= 1 and abs(highest - high) <= 1 and abs(median - (low + high) / 2) <= 1, finished.out
    assert "medians of 2 rounds" in finished.out and '"rounds":{' in (out / "report.html").read_text()


def test_a_round_of_a_target_that_fails_is_tried_again_and_targets_take_turns(bench, study, private_server, tmp_path):
    path = study([LOAD, run_phase(seconds=1)], repeats=2, cost="{ node_hour = 0.5 }")
    ours = f"server=cql://{private_server.state()['cql']}"
    run = bench("run", path, "--target", ours, "--target", f"absent=cql://127.0.0.1:{free_port()}", "--out", "out").end()
    assert run.code == 1, run.err
    report = report_of(tmp_path / "out")
    assert [(target["name"], target["round"]) for target in report["targets"]] == [("server", 1), ("absent", 1), ("server", 2), ("absent", 2)]
    for number in (1, 2):
        (failure,) = [line for line in run.err.splitlines() if line.startswith(f"absent, round {number}: ")]
        assert "cannot connect" in failure and failure in report["warnings"]
    assert [target["phases"][0]["operations"][0]["replies"] for target in report["targets"][::2]] == [2000, 2000]
    assert [len(target["costs"]) for target in report["targets"]] == [2, 0, 2, 0]
    throughput = next(ratio for ratio in report["ratios"] if ratio["measure"] == "run throughput")
    assert throughput["subject_spread"]["rounds"] == 2 and throughput["measured"] is None and "measured_spread" not in throughput
    assert throughput["subject_spread"]["lowest"] <= throughput["subject_value"] <= throughput["subject_spread"]["highest"]


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--memory", "400MiB"], "--memory was 314572800 bytes and is 419430400 bytes now"),
        (["--memory", "300MiB", "--seed", "7"], "--seed was 1 and is 7 now"),
        (["--memory", "300MiB", "--server-cpus", "any", "--load-cpus", "any", "--scale", "0.5"], "--scale was 1 and is 0.5 now"),
        (["--memory", "300MiB", "--target", "tarndb?nodes=2"], "--target was tarndb and is not given now"),
    ],
)
def test_a_run_does_not_go_on_with_other_flags(bench, study, tmp_path, flags, says):
    path = study([LOAD, run_phase(seconds=60)])
    run = bench("run", path, "--memory", "300MiB", "--out", "out")
    run.wait_for_line("· run")
    run.interrupt()
    assert run.end().code == 130
    before = (tmp_path / "out" / "report.json").read_bytes()
    other = bench("run", path, *flags, "--out", "out").end()
    assert other.code == 2 and says in other.err and len(other.err.splitlines()) == 1, other.err
    assert (tmp_path / "out" / "report.json").read_bytes() == before


def test_a_run_that_goes_on_says_nothing_of_what_ended_it_before(bench, study, tmp_path):
    path, run = interrupted(bench, lambda seconds: study([LOAD, run_phase(seconds=seconds)]), "· run", tmp_path / "out")
    assert run.code == 130 and "tarndb: interrupted" in report_of(tmp_path / "out")["warnings"]
    finished = bench("run", path, "--out", "out").end()
    assert finished.code == 0 and "nterrupted" not in finished.out, finished.err
    report = report_of(tmp_path / "out")
    assert report["complete"] and not [warning for warning in report["warnings"] if "nterrupted" in warning]


@contextlib.contextmanager
def refusing_writes(server):
    """The address of a port that passes on Aerospike's protocol to a server, but answers writes with `device overload`."""
    host, port = server.state()["aerospike"].split(":")

    def serve(client):
        with contextlib.suppress(OSError), client, socket.create_connection((host, int(port))) as upstream:
            requests, replies = client.makefile("rb"), upstream.makefile("rb")
            # Version, type (3: a message about records), length in 6 bytes; a message has its result at byte 5, and a bit for writes in byte 2.
            while len(header := requests.read(8)) == 8:
                body = requests.read(int.from_bytes(header[2:], "big"))
                if header[1] == 3 and body[2] & 1:
                    reply = bytes([22, 0, 0, 0, 0, 18]) + bytes(16)
                    client.sendall(header[:2] + len(reply).to_bytes(6, "big") + reply)
                else:
                    upstream.sendall(header + body)
                    header = replies.read(8)
                    client.sendall(header + replies.read(int.from_bytes(header[2:], "big")))

    def accept():
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def test_a_target_that_refuses_writes_fails_and_the_next_one_is_measured(bench, study, private_server, tmp_path):
    path = study([LOAD, run_phase(seconds=1)])
    with refusing_writes(private_server) as address:
        targets = ["--target", f"refusing=aerospike://{address}", "--target", f"other=aerospike://{private_server.state()['aerospike']}"]
        run = bench("run", path, *targets, "--out", "out").end()
    says = "2000 of 2000 operations of load failed (100.0 %, at most 1 % may), most often `DEVICE_OVERLOAD`: 2000 times"
    assert run.code == 1 and run.err.count(says) == 1, run.err
    report = report_of(tmp_path / "out")
    assert not report["complete"] and says in report["targets"][0]["failure"] and f"refusing: {says}" in report["warnings"]
    assert [(phase["name"], phase["complete"]) for phase in report["targets"][0]["phases"]] == [("load", False)]
    assert all(phase["complete"] for phase in report["targets"][1]["phases"]) and report["targets"][1]["failure"] is None


def peer(tmp_path, server, **verbs):
    """A peer whose server is there already, `settle` and `start` as told; `stop` says that it was called."""
    directory = tmp_path / "peers" / "fake"
    directory.mkdir(parents=True)
    started = f'echo \'{{"pid": {server.state()["pid"]}, "address": "{server.state()["cql"]}"}}\''
    scripts = {"start": started, "settle": "echo '{\"seconds\": 0}'", "stop": f"echo stop >> {tmp_path}/calls", **verbs}
    cases = [f"{verb}) {script} ;;" for verb, script in scripts.items()]
    script = directory / "fake.sh"
    script.write_text("\n".join(["#!/usr/bin/env bash", 'case "$1" in', *cases, "esac"]) + "\n")
    script.chmod(0o755)
    return ["--target", "fake", "--peers", tmp_path / "peers"]


def test_ctrl_c_does_not_wait_for_a_target_to_settle(bench, study, private_server, tmp_path):
    # Longer than this test waits.
    path = study([LOAD, {"kind": '"settle"', "timeout_s": 14400}, run_phase(seconds=1)])
    run = bench("run", path, *peer(tmp_path, private_server, settle="sleep 14400"), "--out", "out")
    run.wait_for_line("· settle")
    run.interrupt()
    run.end()
    assert run.code == 130 and "goes on" in run.err, run.err
    report = report_of(tmp_path / "out")
    assert [(phase["name"], phase["complete"]) for phase in report["targets"][0]["phases"]] == [("load", True), ("settle", False)]
    assert report["targets"][0]["failure"] == "interrupted"
    assert (tmp_path / "calls").read_text() == "stop\n"


def test_ctrl_c_while_a_private_node_settles_ends_the_run(bench, study, tmp_path):
    path = study([LOAD, {"kind": '"settle"', "timeout_s": 14400}, run_phase(seconds=1)])
    for out in ("first", "second", "third"):
        run = bench("run", path, "--out", out)
        run.wait_for_line("· settle")
        began = time.monotonic()
        run.interrupt()
        took = time.monotonic() - began
        run.end()
        phases = [(phase["name"], phase["complete"]) for phase in report_of(tmp_path / out)["targets"][0]["phases"]]
        # It is quiet after five seconds, for which this machine may stall: then once more.
        if ("settle", False) in phases or took < 1:
            break
    assert run.code == 130
    assert phases == [("load", True), ("settle", False)]


# What a server that is being started leaves behind: a process in a session of its own, which is no child of the script's for long.
LAUNCH = 'setsid sleep 14400 > /dev/null 2>&1 & echo $! > "$3.pid.partial"; mv "$3.pid.partial" "$3.pid"'
END = 'kill "$(cat "$3.pid")"'


def test_a_peer_whose_start_is_interrupted_is_stopped(bench, study, private_server, tmp_path):
    path = study([LOAD, run_phase(seconds=1)])
    run = bench("run", path, *peer(tmp_path, private_server, start=f"{LAUNCH}; sleep 14400", stop=END), "--out", "out")
    named = tmp_path / "out" / "work" / "fake.pid"
    while not named.exists():
        assert run.process.poll() is None
    pid = int(named.read_text())
    assert is_alive(pid)
    run.interrupt()
    run.end()
    assert run.code == 130 and report_of(tmp_path / "out")["targets"][0]["failure"] == "interrupted", run.err
    while is_alive(pid):
        pass


def test_a_peer_whose_start_fails_is_stopped(bench, study, private_server, tmp_path):
    path = study([LOAD, run_phase(seconds=1)])
    run = bench("run", path, *peer(tmp_path, private_server, start=f"{LAUNCH}; echo it is not well >&2; exit 1", stop=END), "--out", "out").end()
    assert run.code == 1 and "it is not well" in run.err, run.err
    pid = int((tmp_path / "out" / "work" / "fake.pid").read_text())
    while is_alive(pid):
        pass


def test_a_target_that_dies_leaves_what_was_measured(bench, study, private_server, tmp_path):
    path = study([LOAD, run_phase(seconds=100)])
    run = bench("run", path, "--target", f"cql://{private_server.state()['cql']}", "--out", "out")
    run.wait_for_line("· run")
    wait_for_seconds(tmp_path / "out", 2)
    kill(private_server)
    run.end()
    assert run.code == 1 and "died" in run.err
    report = report_of(tmp_path / "out")
    assert not report["complete"] and "died" in report["targets"][0]["failure"]
    assert phase_of(report, "load")["complete"] and not phase_of(report, "run")["complete"]
    assert any("died" in warning for warning in report["warnings"])


def test_a_node_that_is_killed_and_started_loses_nothing(bench, study, tmp_path):
    events = '[{ at_s = 2, do = "kill-node" }, { at_s = 4, do = "start-node" }]'
    path = study([LOAD, {"kind": '"run"', "mix": VERIFIED, "seconds": 9, "rate": 2000, "events": events}])
    run = bench("run", path, "--out", "out").end()
    assert run.code == 0, run.err
    measured = phase_of(report_of(tmp_path / "out"), "run")
    assert measured["verified"]["compared"] > 1000
    assert [measured["verified"][what] for what in ("lost", "stale", "wrong")] == [0, 0, 0]
    killed, started = measured["events"]
    assert (killed["what"], started["what"]) == ("kill-node", "start-node")
    assert killed["figures"]["lowest"] == 0 and killed["figures"]["silent_s"] >= 1


@pytest.mark.long
def test_a_cluster_loses_a_node_and_its_leader_and_nothing_else(bench, study, tmp_path):
    # With more time for each where this machine takes longer to start a node than there was.
    for pace in (1, 4):
        events = (
            f'[{{ at_s = {3 * pace}, do = "kill-node" }}, {{ at_s = {8 * pace}, do = "start-node" }}, '
            f'{{ at_s = {16 * pace}, do = "kill-node", node = "leader" }}, {{ at_s = {21 * pace}, do = "start-node" }}]'
        )
        run = {"kind": '"run"', "mix": VERIFIED, "seconds": 29 * pace, "rate": 200, "events": events}
        path = study(
            [{"kind": '"check"'}, LOAD, run, {"kind": '"settle"', "timeout_s": 600}, {"kind": '"verify"'}],
            rows=500, nodes=3, replication=3, consistency='"LOCAL_QUORUM"',
        )  # fmt: skip
        out = f"out{pace}"
        done = bench("run", path, "--out", out).end()
        assert done.code == 0, done.err
        report = report_of(tmp_path / out)
        if all((event["figures"] or {}).get("served_s" if event["what"] == "kill-node" else "whole_s") for event in phase_of(report, "run")["events"]):
            break
    target = report["targets"][0]
    assert (target["name"], target["nodes"], len(target["address"].split(","))) == ("tarndb-3", 3, 3)
    assert "serves the row" in target["settings"]["client: requests go to"]
    measured, verified = phase_of(report, "run"), phase_of(report, "verify")
    assert verified["verified"] == {"compared": 500, "lost": 0, "stale": 0, "wrong": 0, "unknown": 0}
    assert [measured["verified"][what] for what in ("lost", "stale", "wrong")] == [0, 0, 0]
    assert measured["resources"]["target_cpu_s"] > 0
    figures = [event["figures"] for event in measured["events"]]
    for killed in (figures[0], figures[2]):
        assert 0 < killed["noticed_s"] <= killed["served_s"] and killed["longest_us"] > 0
    for started in (figures[1], figures[3]):
        assert 0 < started["ready_s"] <= started["whole_s"]
    # Nodes that share CPUs are the first thing that a reader learns.
    assert any("the nodes share" in warning for warning in report["warnings"])


@pytest.mark.long
def test_a_cluster_grows_and_clients_follow(bench, study, tmp_path):
    join = {"kind": '"run"', "name": '"join"', "mix": VERIFIED, "seconds": 8, "rate": 200, "events": '[{ at_s = 1, do = "add-node" }]'}
    path = study([LOAD, join, {"kind": '"settle"', "timeout_s": 600}, run_phase(seconds=1, mix=VERIFIED), {"kind": '"verify"'}], rows=500, nodes=2, replication=2)
    run = bench("run", path, "--out", "out").end()
    assert run.code == 0, run.err
    report = report_of(tmp_path / "out")
    assert phase_of(report, "join")["events"][0]["figures"]["whole_s"] > 0
    assert phase_of(report, "verify")["verified"] == {"compared": 500, "lost": 0, "stale": 0, "wrong": 0, "unknown": 0}
    assert phase_of(report, "run")["verified"]["compared"] > 0


@pytest.mark.long
def test_sizes_of_a_private_cluster_are_a_target_each(bench, study, tmp_path):
    path = study([LOAD, run_phase(seconds=1)], nodes=[1, 2], replication=2, cost="{ node_hour = 0.42 }")
    run = bench("run", path, "--out", "out").end()
    assert run.code == 0, run.err
    report = report_of(tmp_path / "out")
    assert [(target["name"], target["nodes"]) for target in report["targets"]] == [("tarndb", 1), ("tarndb-2", 2)]
    assert all(target["costs"][1]["per_100m"] > 0 for target in report["targets"]) and not report["ratios"]
    assert report["targets"][1]["settings"]["replication factor"] == "2"


def test_a_cluster_is_loaded_in_aerospikes_protocol(bench, study, tmp_path):
    path = study([LOAD, run_phase(seconds=2, mix=VERIFIED), {"kind": '"verify"'}], nodes=2, replication=2)
    run = bench("run", path, "--target", "tarndb?protocol=aerospike", "--out", "out").end()
    assert run.code == 0, run.err
    report = report_of(tmp_path / "out")
    assert (report["targets"][0]["name"], report["targets"][0]["settings"]["--aerospike-replication-factor"]) == ("tarndb-aerospike-2", "2")
    assert phase_of(report, "verify")["verified"] == {"compared": 2000, "lost": 0, "stale": 0, "wrong": 0, "unknown": 0}


def test_a_node_that_nobody_killed_ends_the_run_with_its_words(bench, study, tmp_path):
    path = study([LOAD, run_phase(seconds=60)], nodes=2)
    run = bench("run", path, "--out", "out")
    run.wait_for_line("· run")
    nodes = children_of(run.process.pid)
    assert len(nodes) == 2
    os.kill(nodes[1], signal.SIGKILL)
    run.end()
    assert run.code == 1 and "the private node at 127.0.0.2 ended" in run.err, run.err
    assert phase_of(report_of(tmp_path / "out"), "load")["complete"]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_no_node_of_a_cluster_is_left_behind(bench, study, tmp_path, end):
    path = study([LOAD, run_phase(seconds=60, events='[{ at_s = 0.2, do = "add-node" }, { at_s = 59, do = "kill-node" }]')], nodes=2)
    run = bench("run", path, "--out", "out")
    run.wait_for_line("· run")
    while len(children_of(run.process.pid)) < 3:
        pass
    nodes = children_of(run.process.pid)
    run.process.send_signal(end)
    run.end()
    assert run.code in (130, -signal.SIGKILL)
    while any(is_alive(pid) for pid in nodes):
        pass


def test_nothing_can_be_started_that_was_not_ended(bench, study, tmp_path):
    path = study([LOAD, run_phase(seconds=20, events='[{ at_s = 0.2, do = "start-node" }]')], nodes=2)
    run = bench("run", path, "--out", "out").end()
    assert run.code == 1 and "none was killed or stopped before" in run.err, run.err


def test_a_private_node_cannot_grow_and_says_what_could(bench, study, tmp_path):
    path = study([LOAD, run_phase(seconds=5, events='[{ at_s = 0.5, do = "add-node" }]')])
    run = bench("run", path, "--out", "out").end()
    assert run.code == 1 and "--on add-node" in run.err
    assert phase_of(report_of(tmp_path / "out"), "load")["complete"]


def test_a_command_of_the_users_disturbs_a_server(bench, study, private_server, tmp_path):
    path = study([LOAD, run_phase(seconds=2, events='[{ at_s = 0.5, do = "add-node" }]')])
    mark = tmp_path / "added"
    run = bench("run", path, "--target", f"cql://{private_server.state()['cql']}", "--on", f"add-node=touch {mark}", "--out", "out").end()
    assert run.code == 0 and mark.exists(), run.err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["run", "ycsb-g"], 2, "did you mean `ycsb-"),
        (["run", "missing/study.toml"], 3, "missing/study.toml"),
        (["run", "ycsb-a", "--scale", "0"], 2, "scale"),
        (["run", "ycsb-a", "--scale", "1e9"], 3, "--scale"),
        (["run", "ycsb-a", "--rate=-1"], 2, "rate"),
        (["run", "ycsb-a", "--duration", "fast"], 2, "duration"),
        (["run", "ycsb-a", "--repeats", "0"], 2, "from 1 to 99"),
        (["run", "ycsb-a", "--repeats", "100"], 2, "from 1 to 99"),
        (["run", "ycsb-a", "--memory", "much"], 2, "--memory"),
        (["run", "ycsb-a", "--target", "postgres"], 1, "postgres"),
        (["run", "ycsb-a", "--target", "mongodb://x:1"], 2, "mongodb"),
        (["run", "ycsb-a", "--target", "cql://x:1?node=3"], 2, "did you mean `nodes`"),
        (["run", "ycsb-a", "--target", "tarndb?protocol=redis"], 2, "cql, aerospike, griddb"),
        (["run", "ycsb-a", "--target", "tarndb?batch=5"], 2, "protocol=griddb"),
        (["run", "ycsb-a", "--target", "griddb://x:1?bach=3"], 2, "did you mean `batch`"),
        (["run", "ycsb-a", "--target", "tarndb?nodes=none"], 2, "from 1 to 64"),
        (["run", "ycsb-a", "--target", "tarndb", "--target", "tarndb"], 2, "two targets"),
        (["run", "ycsb-a", "--load-cpus", "900"], 2, "CPU 900"),
        (["run", "ycsb-a", "--on", "explode=x"], 2, "kill-node"),
        (["report", "nowhere"], 3, "nowhere"),
        (["compare", "nowhere"], 2, "DIR"),
        (["show", "nothing"], 2, "there is no study"),
    ],
)
def test_wrong_input_is_one_clear_line(bench, arguments, code, says):
    run = bench(*arguments, *(["--out", "out"] if arguments[0] == "run" else [])).end()
    assert run.code == code and says in run.err, (run.code, run.err)
    assert "panicked" not in run.err


def test_credentials_are_used_and_not_shown(bench, study, guarded_server, tmp_path):
    address = guarded_server.state()["cql"]
    path = study([{"kind": '"check"'}, LOAD, run_phase(seconds=1)])
    run = bench("run", path, "--target", f"cql://cassandra:cassandra@{address}", "--out", "out").end()
    assert run.code == 0, run.err
    assert phase_of(report_of(tmp_path / "out"), "load")["operations"][0]["replies"] == 2000
    assert "cassandra:cassandra" not in (tmp_path / "out" / "report.json").read_text() + (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(("user", "says"), [("cassandra:wr0ng@", "incorrect"), ("nobody:wr0ng@", "incorrect"), ("", "asks for user and password")])
def test_wrong_credentials_are_one_clear_line(bench, study, guarded_server, tmp_path, user, says):
    run = bench("run", study([LOAD, run_phase(seconds=1)]), "--target", f"cql://{user}{guarded_server.state()['cql']}", "--out", "out").end()
    assert run.code == 1
    (line,) = [line for line in run.err.splitlines() if says in line]
    assert "panicked" not in run.err and "wr0ng" not in run.err + (tmp_path / "out" / "report.json").read_text()
    failure = report_of(tmp_path / "out")["targets"][0]["failure"]
    assert says in failure and failure in line


def on_a_terminal(bench, kind, *arguments):
    """Runs it with a terminal as its standard error; the run, and what the terminal was sent."""
    terminal, ours = pty.openpty()
    run = bench(*arguments, stderr=ours, env={**os.environ, "TERM": kind})
    os.close(ours)
    seen = bytearray()
    # Read while it runs: a terminal holds little. The end of the other side is an error here.
    with contextlib.suppress(OSError):
        while piece := os.read(terminal, 4096):
            seen += piece
    os.close(terminal)
    return run.end(), seen.decode(errors="replace")


def test_a_terminal_sees_bars(bench, study):
    path = study([{"kind": '"check"'}, LOAD, run_phase(seconds=3)])
    run, text = on_a_terminal(bench, "xterm", "run", path, "--out", "out")
    assert run.code == 0
    assert "\x1b[" in text, "a line is drawn over"
    assert re.search(rf"run.*?━+╸?.*?\d+ %.*?left.*?{LIVE}", text, re.DOTALL), text[-3000:]


def test_a_pipe_and_a_dumb_terminal_see_lines(bench, study):
    path = study([LOAD, run_phase(seconds=4)])
    piped = bench("run", path, "--out", "piped").end()
    dumb, text = on_a_terminal(bench, "dumb", "run", path, "--out", "dumb")
    for run, lines in [(piped, piped.err), (dumb, text.replace("\r\n", "\n"))]:
        assert run.code == 0 and "\x1b[" not in lines and "\r" not in lines
        assert re.search(r"^[^:\n]+ · load$", lines, re.MULTILINE), "each phase says that it begins"
        assert re.search(rf"^tarndb · run: [\d,]+ operations, {LIVE}, \d+ seconds? left$", lines, re.MULTILINE), lines


def test_an_unreachable_and_a_silent_target_are_told_apart(bench, study, tmp_path):
    path = study([LOAD, run_phase(seconds=1)])
    refused = bench("run", path, "--target", f"cql://127.0.0.1:{free_port()}", "--out", "refused").end()
    assert refused.code == 1 and "cannot connect" in refused.err
    assert "cannot connect" in report_of(tmp_path / "refused")["targets"][0]["failure"]
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        mute = bench("run", path, "--target", f"cql://127.0.0.1:{silent.getsockname()[1]}", "--out", "mute").end()
    assert mute.code == 1 and "does not answer" in mute.err


def test_a_full_disk_is_said_and_keeps_the_report_that_was_there(bench, study, tmp_path):
    path = study([LOAD, run_phase(seconds=1)])
    (tmp_path / "out").mkdir()
    # What is written there finds the disk full.
    os.symlink("/dev/full", tmp_path / "out" / "report.json.partial")
    run = bench("run", path, "--out", "out").end()
    assert run.code == 3 and "No space left" in run.err, run.err


def test_a_disk_that_fills_up_during_a_run_leaves_the_tables_on_the_terminal(bench, study, private_server, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", out], capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted: {mounted.stderr.strip()}")
    try:
        for seconds in (3, 30):
            path = study([LOAD, run_phase(name='"first"', seconds=seconds), run_phase(name='"second"', seconds=60)])
            run = bench("run", path, "--target", f"cql://{private_server.state()['cql']}", "--out", "out")
            run.wait_for_line("· first")
            began = time.monotonic()
            with open(out / "full", "wb", buffering=0) as full, pytest.raises(OSError, match="No space left"):
                while True:
                    full.write(bytes(4096))
            if time.monotonic() - began < seconds - 1:
                break
            # The phase has ended meanwhile.
            run.process.kill()
            run.process.communicate()
            for path in out.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        run.end()
        assert run.code == 3 and "cannot write" in run.err and "No space left" in run.err and "panicked" not in run.err, run.err
        # The phase that was just measured is not in the report on the disk, so it is told.
        assert [phase["name"] for phase in report_of(out)["targets"][0]["phases"]] == ["load"]
        assert re.search(r"  first, \d", run.out) and "second" not in run.out, run.out
    finally:
        subprocess.run(["umount", out], check=True)


def test_a_report_that_cannot_be_written_any_more_ends_the_run_with_its_tables(bench, study, private_server, tmp_path):
    for seconds in (3, 30):
        path = study([LOAD, run_phase(name='"first"', seconds=seconds), run_phase(name='"second"', seconds=60)])
        run = bench("run", path, "--target", f"cql://{private_server.state()['cql']}", "--out", "out")
        run.wait_for_line("· first")
        began = time.monotonic()
        # Nothing can be written there, whoever tries.
        (tmp_path / "out" / "report.json.partial").mkdir()
        if time.monotonic() - began < seconds - 1:
            break
        # The phase has ended meanwhile.
        run.process.kill()
        run.process.communicate()
        shutil.rmtree(tmp_path / "out")
    run.end()
    assert run.code == 3 and "tarndb: cannot write" in run.err and "· second:" not in run.err, run.err
    assert re.search(r"  first, \d", run.out) and "report:" not in run.out, run.out
    (tmp_path / "out" / "report.json.partial").rmdir()
    assert [phase["name"] for phase in report_of(tmp_path / "out")["targets"][0]["phases"]] == ["load"]


def test_a_histogram_log_that_is_not_whole_is_told_and_no_success(bench, study, private_server, tmp_path):
    path = study([LOAD, run_phase(seconds=2)])
    (tmp_path / "out").mkdir()
    os.symlink("/dev/full", tmp_path / "out" / "server-run.hlog")
    run = bench("run", path, "--target", f"server=cql://{private_server.state()['cql']}", "--out", "out").end()
    told = [line for line in run.err.splitlines() if "histogram log is not whole" in line]
    assert run.code == 1 and len(told) == 1 and "No space left" in told[0], run.err
    report = report_of(tmp_path / "out")
    assert report["complete"] and told[0] in report["warnings"]
    assert "No space left" in phase_of(report, "run")["histogram_log_failure"] and phase_of(report, "load")["histogram_log_failure"] is None


def children_of(pid):
    """Processes that a process has started and not seen end."""
    return [int(child) for child in subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout.split()]


def is_alive(pid):
    """Whether a process, which is not ours to wait for, is still there and no zombie."""
    try:
        return "Z" not in pathlib.Path(f"/proc/{pid}/stat").read_text().split(")")[1][:3]
    except FileNotFoundError:
        return False


def test_no_process_is_left_behind_by_a_tool_that_is_killed(bench, study, tmp_path):
    path = study([LOAD, run_phase(seconds=100)])
    run = bench("run", path, "--out", "out")
    run.wait_for_line("· run")
    children = children_of(run.process.pid)
    assert len(children) == 1
    run.process.kill()
    run.process.communicate()
    # The kernel kills it when its parent is gone.
    while is_alive(children[0]):
        pass


def test_the_binary_is_the_one_under_test(bench):
    assert pathlib.Path(servers.binary()).exists()
    assert bench("--help").end().code == 0


def test_two_load_machines_send_one_load(bench, study, private_server, tmp_path):
    (tmp_path / "secret").write_text("between us\n")
    (tmp_path / "guess").write_text("open sesame\n")
    agents = []
    for _ in range(2):
        agent = bench("agent", "--listen", "127.0.0.1:0", "--secret-file", "secret")
        agents += ["--agent", agent.process.stdout.readline().split()[-1]]
    path = study([LOAD, run_phase(operations=4000)])
    target = ["--target", f"cql://{private_server.state()['cql']}"]
    refused = bench("run", path, *target, *agents, "--secret-file", "guess", "--out", "refused").end()
    assert refused.code == 1 and "refuses" in refused.err
    run = bench("run", path, *target, *agents, "--secret-file", "secret", "--out", "out").end()
    assert run.code == 0, run.err
    report = report_of(tmp_path / "out")
    assert phase_of(report, "load")["operations"][0]["replies"] == 2000
    assert sum(operation["replies"] for operation in phase_of(report, "run")["operations"]) == 4000


@pytest.mark.long
@pytest.mark.skipif(shutil.which("java") is None or shutil.which("mvn") is None, reason="Cassandra needs a JDK and Maven")
def test_a_study_compares_tarndb_with_a_real_cassandra(bench, study, tmp_path):
    validate = {"kind": '"validate"', "rows": 100, "operations": 500, "mix": READS}
    path = study([validate, LOAD, {"kind": '"settle"'}, {"kind": '"drop-caches"'}, run_phase(seconds=5)], compare='["tarndb", "cassandra"]')
    # Two gigabytes: what its own formulas give it in less does not fit.
    run = bench(
        "run", path, "--target", "tarndb", "--target", f"cassandra?port={servers.free_port()}", "--memory", "2GiB", "--peers", PEERS, "--out", "out"
    ).end()  # fmt: skip
    assert run.code == 0, run.err
    report = report_of(tmp_path / "out")
    assert report["complete"] and report["targets"][1]["server"].startswith("Apache Cassandra 5.0")
    assert report["targets"][1]["settings"]["durability"] == "periodic"
    measured = phase_of(report, "run", 1)
    assert measured["resources"]["target_cpu_s"] > 0 and not measured["errors"]
    assert phase_of(report, "validate", 1)["verified"]["compared"] > 0
    assert {ratio["measure"] for ratio in report["ratios"] if ratio["measured"]} >= {"load throughput", "run throughput", "run read p95"}
