"""Rows over HTTP, and commands that copy, where clients need certificates; on servers of their own."""

import http.client
import json
import subprocess

import pytest

import certificates
import server
from conftest import PEER
from test_certificates import SPIFFE, boss, flags, spiffe
from test_sql import as_role
from test_tls import KEYSPACE, serving, session, trusting

pytestmark = [
    pytest.mark.skipif(bool(PEER), reason="the server under test is not TarnDB"),
    pytest.mark.skipif(bool(certificates.why_not()), reason=str(certificates.why_not())),
]

SECONDS_MAX = 120
BOSS = as_role("cassandra")


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return certificates.Authority(tmp_path_factory.mktemp("certificates") / "ours")


@pytest.fixture(scope="module")
def shown(authority):
    return authority.issue("app", "DNS:app")


def in_one(pair):
    """A certificate and its key in one file, as commands want them."""
    certificate, key = pair
    file = certificate.with_suffix(".both")
    file.write_text(certificate.read_text() + key.read_text())
    return str(file)


@pytest.fixture(scope="module")
def needing(authority, shown):
    """A server whose clients need a certificate and nothing else, with rows and a log of changes."""
    with serving([*authority.server_flags(), "--tls-client-ca", str(authority.file)]) as private:
        with session(private, trusting(authority, shown)) as connected:
            connected.execute(KEYSPACE)
            connected.execute("CREATE TABLE ks.t (k int PRIMARY KEY) WITH cdc = {'enabled': true}")
            connected.execute("INSERT INTO ks.t (k) VALUES (7)")
        yield private


def ask(private, context, method, path, body=None, headers=None):
    host, port = private.state()["http"].rsplit(":", 1)
    connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=SECONDS_MAX)
    try:
        connection.request(method, path, body=body, headers=headers or {})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def requests_for_rows(keyspace="ks.t"):
    statement = f"SELECT k FROM {keyspace}"
    return [
        ("POST", "/sql", statement),
        ("GET", "/changes/" + keyspace.replace(".", "/"), None),
        ("POST", "/api/v1/query", json.dumps({"query": statement})),
        ("POST", "/api/v1/query", json.dumps({"query": statement, "language": "sql"})),
    ]


def test_rows_are_for_who_shows_a_certificate(needing, authority, shown, tmp_path):
    nobody, ours = trusting(authority), trusting(authority, shown)
    for method, path, body in requests_for_rows():
        status, text = ask(needing, nobody, method, path, body)
        assert status == 403 and "tls_client_ca" in text, path
        status, text = ask(needing, ours, method, path, body)
        assert status == 200 and "7" in text, f"{path}: {text}"
    # Who watches the node needs none, and who shows one shows a good one.
    for path in ("/health", "/metrics", "/api/v1/overview", "/"):
        assert ask(needing, nobody, "GET", path)[0] == 200
    theirs = certificates.Authority(tmp_path / "theirs").issue("app", "DNS:app")
    for useless in (theirs, authority.issue("old", "DNS:old", "-days", "-1")):
        with pytest.raises(OSError):
            ask(needing, trusting(authority, useless), "GET", "/metrics")


def test_the_shell_shows_one(needing, authority, shown):
    def shell(*words):
        command = [server.binary(), "sql", "--http", f"https://{needing.state()['http']}", "--format", "csv", *words, "SELECT k FROM ks.t"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS_MAX)
        return done.returncode, done.stdout, done.stderr

    secure = ["--http-ca", str(authority.file)]
    code, _, error = shell(*secure)
    assert code != 0 and "without a certificate" in error
    assert shell(*secure, "--http-certificate", in_one(shown)) == (0, "k\n7\n", "")
    code, _, error = shell(*secure, "--http-certificate", str(shown[0]))
    assert code == 2 and "--http-certificate" in error and "holds no private key" in error
    code, _, error = shell("--http-certificate", in_one(shown))
    assert code == 2 and "--http-ca" in error


def test_commands_that_copy_show_one_to_each_side(needing, authority, shown):
    ours = certificates.Authority(authority.directory / "target")
    at_target = ours.issue("copier", "DNS:copier")
    with serving([*ours.server_flags(), "--tls-client-ca", str(ours.file)]) as target:
        ends = ["--from", needing.state()["cql"], "--to", target.state()["cql"], "--from-ca", str(authority.file), "--to-ca", str(ours.file)]

        def run(*words):
            command = [server.binary(), *words[:1], *ends, *words[1:]]
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX)
            return done.returncode, done.stdout + done.stderr

        both = ["--from-certificate", in_one(shown), "--to-certificate", in_one(at_target)]
        code, said = run("import", "ks", *both[:2])
        assert code != 0, said
        code, said = run("import", "ks", *both)
        assert code == 0, said
        with session(target, trusting(ours, at_target)) as connected:
            assert connected.execute("SELECT k FROM ks.t").one().k == 7


def test_passwords_are_enough_where_they_log_in(authority):
    with serving(flags(authority, "certificate-or-password")) as private:
        with boss(private, authority) as connected:
            connected.execute(KEYSPACE)
            connected.execute("CREATE TABLE ks.t (k int PRIMARY KEY) WITH cdc = {'enabled': true}")
            connected.execute("INSERT INTO ks.t (k) VALUES (7)")
        for method, path, body in requests_for_rows():
            status, text = ask(private, trusting(authority), method, path, body, BOSS)
            assert status == 200 and "7" in text, f"{path}: {text}"
            assert ask(private, trusting(authority), method, path, body)[0] == 401


def test_a_password_and_a_certificate_where_both_are_asked_for(authority, shown):
    with serving(flags(authority, "password")) as private:
        for method, path, body in requests_for_rows("system.local")[:1]:
            body = "SELECT key FROM system.local"
            assert ask(private, trusting(authority), method, path, body, BOSS)[0] == 403
            assert ask(private, trusting(authority, shown), method, path, body)[0] == 401
            assert ask(private, trusting(authority, shown), method, path, body, BOSS)[0] == 200


@pytest.fixture(scope="module", params=["certificate", "certificate-or-password", "certificate-or-password --tls optional"])
def certified(request, authority):
    """A server where certificates log in: a superuser's, one of a role that reads one table, and one of a role that may not log in."""
    with serving(flags(authority, "certificate-or-password")) as private:
        with boss(private, authority) as connected:
            connected.execute(KEYSPACE)
            for table in ("t", "hidden"):
                connected.execute(f"CREATE TABLE ks.{table} (k int PRIMARY KEY) WITH cdc = {{'enabled': true}}")
                connected.execute(f"INSERT INTO ks.{table} (k) VALUES (7)")
            for role, options in (("reader", "LOGIN = true"), ("operator", "LOGIN = true AND SUPERUSER = true"), ("locked", "LOGIN = false")):
                connected.execute(f"CREATE ROLE {role} WITH {options}")
                connected.execute(f"ADD IDENTITY '{SPIFFE}{role}' TO ROLE '{role}'")
            for table in ("t", "t_scylla_cdc_log"):
                connected.execute(f"GRANT SELECT ON ks.{table} TO reader")
        private.flags = flags(authority, *request.param.split())
        private.restart("term")
        yield private


def test_a_certificate_reads_rows_as_the_role_of_its_identity(certified, authority):
    reader = trusting(authority, spiffe(authority, "reader"))
    for method, path, body in requests_for_rows():
        status, text = ask(certified, reader, method, path, body)
        assert status == 200 and "7" in text, f"{path}: {text}"
    for method, path, body in requests_for_rows("ks.hidden"):
        status, text = ask(certified, reader, method, path, body)
        assert status == 403 and "7" not in text, f"{path}: {text}"


def test_a_certificate_gives_the_orders_that_its_role_may(certified, authority):
    reader, operator = (trusting(authority, spiffe(authority, role)) for role in ("reader", "operator"))
    setting = ("POST", "/settings/log", "info")
    assert ask(certified, reader, "GET", "/status")[0] == 200
    status, text = ask(certified, reader, *setting)
    assert status == 403 and "superusers" in text
    assert ask(certified, operator, *setting)[0] == 200
    status, text = ask(certified, operator, *setting, {"Authorization": "Bearer x"})
    assert status == 401 and "Basic" in text, "who gives something else does not mean the certificate"


def test_who_has_no_certificate_that_logs_in_reads_nothing(certified, authority):
    """The node's own is one of those: only at the ends of its own connections is it worth anything."""
    own = tuple(authority.directory / f"server.{kind}" for kind in ("pem", "key"))
    for shown in (None, spiffe(authority, "unknown"), spiffe(authority, "locked"), authority.issue("app", "DNS:app"), own):
        for method, path, body in [*requests_for_rows(), ("GET", "/status", None)]:
            status, text = ask(certified, trusting(authority, shown) if shown else trusting(authority), method, path, body)
            assert status == 401, f"{path}: {text}"


def test_what_ends_a_login_ends_it_over_http_too(certified, authority):
    context = trusting(authority, spiffe(authority, "moved"))
    operator = trusting(authority, spiffe(authority, "operator"))
    with session(certified, operator) as superuser:
        superuser.execute("DROP ROLE IF EXISTS moved")
        superuser.execute("CREATE ROLE moved WITH LOGIN = true AND SUPERUSER = true")
        superuser.execute(f"ADD IDENTITY '{SPIFFE}moved' TO ROLE 'moved'")
        statement = ("POST", "/sql", "SELECT k FROM ks.t")
        assert ask(certified, context, *statement)[0] == 200
        superuser.execute(f"DROP IDENTITY '{SPIFFE}moved'")
        assert ask(certified, context, *statement)[0] == 401


def test_the_shell_logs_in_by_certificate(certified, authority):
    shown = ["--http-ca", str(authority.file), "--http-certificate", in_one(spiffe(authority, "reader"))]
    command = [server.binary(), "sql", "--http", f"https://{certified.state()['http']}", *shown, "--format", "csv", "SELECT k FROM ks.t"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS_MAX)
    assert (done.returncode, done.stdout) == (0, "k\n7\n"), done.stderr


def test_nobody_reads_rows_by_password_where_certificates_alone_log_in(authority):
    with serving(flags(authority, "certificate")) as private:
        for context in (trusting(authority), trusting(authority, spiffe(authority, "app"))):
            for method, path, body in requests_for_rows("system.local"):
                status, text = ask(private, context, method, path, body, BOSS)
                assert status == 403 and "certificates alone" in text, f"{path}: {text}"
            assert ask(private, context, "GET", "/status", headers=BOSS)[0] == 200
