"""Clients' certificates as logins, with and without passwords beside them, on servers of their own."""

import contextlib
import tempfile

import pytest
from cassandra import InvalidRequest, Unauthorized
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import NoHostAvailable

import certificates
import server
from conftest import PEER, run_directory
from test_tls import serving, session, trusting, until

pytestmark = [
    pytest.mark.skipif(bool(PEER), reason="the server under test is not TarnDB"),
    pytest.mark.skipif(bool(certificates.why_not()), reason=str(certificates.why_not())),
]

SPIFFE = "spiffe://tarndb.test/"
PASSWORD = {"auth_provider": PlainTextAuthProvider("cassandra", "cassandra")}


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return certificates.Authority(tmp_path_factory.mktemp("certificates") / "ours")


def logging_in(how):
    return ["--authentication", how, *server.LOGIN_FLAGS[2:]]


def flags(authority, how, *more):
    given = [*authority.server_flags(), "--tls-client-ca", str(authority.file)]
    return [*given, *logging_in(how), *more]


@pytest.fixture(scope="module")
def either(authority):
    """A server that takes certificates and passwords."""
    with serving(flags(authority, "certificate-or-password")) as private:
        with boss(private, authority) as connected:
            connected.execute("CREATE ROLE app WITH LOGIN = true")
            connected.execute("CREATE ROLE locked WITH LOGIN = false")
            for role in ("app", "locked"):
                connected.execute(f"ADD IDENTITY '{SPIFFE}{role}' TO ROLE '{role}'")
        yield private


@contextlib.contextmanager
def boss(private, authority, **options):
    """The superuser, by password."""
    with session(private, trusting(authority), **PASSWORD, **options) as connected:
        yield connected


def spiffe(authority, name, *options):
    return authority.issue(name, f"DNS:{name},URI:{SPIFFE}{name}", *options)


def refusal(private, context, **options) -> Exception:
    with pytest.raises(NoHostAvailable) as failure, session(private, context, **options):
        pass
    [error] = failure.value.errors.values()
    return error


def not_authenticated(*arguments, **options) -> str:
    error = str(refusal(*arguments, **options))
    assert "code=0100 [Bad credentials]" in error, error
    return error


def assert_role(connected, role: str):
    """The only one besides the superuser's, once the connections of others before are closed."""
    def roles():
        return {row.username for row in connected.execute("SELECT username FROM system_views.clients")} - {"cassandra"}

    until(f"{role} is there alone", lambda: roles() == {role})


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("compression", [False, "lz4"])
def test_a_certificate_logs_in_as_the_role_of_its_identity(either, authority, version, compression):
    options = {"protocol_version": version, "compression": compression}
    with boss(either, authority) as superuser, session(either, trusting(authority, spiffe(authority, "app")), **options) as connected:
        superuser.execute("GRANT SELECT ON system_views.clients TO app")
        assert_role(connected, "app")
        with pytest.raises(Unauthorized, match="User app has no CREATE permission on <all keyspaces>"):
            connected.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        # It changes its own password as one that has given it does.
        connected.execute("ALTER ROLE app WITH PASSWORD = 'known'")


def test_who_has_a_certificate_that_logs_nobody_in_is_not_asked_for_a_password(either, authority):
    """As with Cassandra, also where passwords are asked for."""
    for name, why in (
        ("unknown", f"Certificate identity '{SPIFFE}unknown' not authorized"),
        ("locked", "locked is not permitted to log in"),
    ):
        assert why in not_authenticated(either, trusting(authority, spiffe(authority, name)), **PASSWORD)
    nameless = authority.issue("app", "DNS:app,URI:https://tarndb.test/app")
    assert "Unable to extract client identity" in not_authenticated(either, trusting(authority, nameless), **PASSWORD)


def test_a_certificate_that_is_not_trusted_is_worse_than_none(either, authority, tmp_path):
    theirs = certificates.Authority(tmp_path / "theirs")
    expired = spiffe(authority, "app", "-days", "-1")
    for certificate in (expired, spiffe(theirs, "app"), certificates.self_signed(tmp_path, "app", f"URI:{SPIFFE}app")):
        error = str(refusal(either, trusting(authority, certificate), **PASSWORD))
        assert "Error from server" not in error, "TLS itself refuses it"
    assert "requires authentication" in str(refusal(either, trusting(authority)))
    with boss(either, authority) as superuser:
        assert superuser.execute("LIST ROLES")


@pytest.mark.parametrize("change", ["DROP IDENTITY '{}'", "DROP ROLE moved", "ALTER ROLE moved WITH LOGIN = false"])
def test_what_ends_a_login_ends_open_connections(either, authority, change):
    identity = f"{SPIFFE}moved"
    with boss(either, authority) as superuser:
        superuser.execute("DROP ROLE IF EXISTS moved")
        superuser.execute("CREATE ROLE moved WITH LOGIN = true")
        superuser.execute(f"ADD IDENTITY '{identity}' TO ROLE 'moved'")
        context = trusting(authority, spiffe(authority, "moved"))
        with session(either, context) as connected:
            assert connected.execute("SELECT key FROM system.local").one()
            superuser.execute(change.format(identity))

            def is_out():
                try:
                    connected.execute("SELECT key FROM system.local")
                except Exception:
                    return True
                return False

            until("the client is cut off", is_out)
        assert not_authenticated(either, context)


def test_an_identity_is_moved_to_another_role(either, authority):
    with boss(either, authority) as superuser:
        for role in ("first", "second"):
            superuser.execute(f"CREATE ROLE {role} WITH LOGIN = true")
            superuser.execute(f"GRANT SELECT ON system_views.clients TO {role}")
        superuser.execute(f"ADD IDENTITY '{SPIFFE}mover' TO ROLE 'first'")
        context = trusting(authority, spiffe(authority, "mover"))
        with session(either, context) as connected:
            assert_role(connected, "first")
            superuser.execute(f"DROP IDENTITY '{SPIFFE}mover'")
            superuser.execute(f"ADD IDENTITY '{SPIFFE}mover' TO ROLE 'second'")
        with session(either, context) as connected:
            assert_role(connected, "second")


def test_identities_are_listed_survive_kill_and_are_refused_as_by_cassandra(either, authority):
    with boss(either, authority) as superuser:
        for statement, why in (
            (f"ADD IDENTITY '{SPIFFE}app' TO ROLE 'locked'", f"{SPIFFE}app already exists"),
            ("ADD IDENTITY 'new' TO ROLE 'nobody'", "Can not add identity for non-existent role 'nobody'"),
            ("DROP IDENTITY 'new'", "identity 'new' doesn't exist"),
        ):
            with pytest.raises(InvalidRequest) as error:
                superuser.execute(statement)
            assert why in str(error.value)
    either.restart("kill")
    with boss(either, authority) as superuser:
        rows = superuser.execute("SELECT identity, role FROM system_auth.identity_to_role")
        assert {"app", "locked"} <= {row.role for row in rows if row.identity == SPIFFE + row.role}
    with session(either, trusting(authority, spiffe(authority, "app"))) as connected:
        assert connected.execute("SELECT key FROM system.local").one()


def test_with_certificates_alone_passwords_open_nothing(authority):
    directory = tempfile.mkdtemp(prefix="certificates-", dir=run_directory())
    private = server.Server(directory, flags(authority, "certificate-or-password", "--certificate-identity", "common-name"))
    private.start()
    try:
        with boss(private, authority) as superuser:
            superuser.execute("CREATE ROLE operator WITH LOGIN = true AND SUPERUSER = true")
            superuser.execute("ADD IDENTITY 'the operator' TO ROLE 'operator'")
        private.flags = flags(authority, "certificate", "--certificate-identity", "common-name")
        private.restart("term")
        assert "Error from server" not in str(refusal(private, trusting(authority), **PASSWORD)), "TLS wants a certificate"
        operator = authority.issue("the operator", "DNS:operator")
        with session(private, trusting(authority, operator)) as connected:
            assert connected.execute("LIST ROLES")
        assert "'app' not authorized" in not_authenticated(private, trusting(authority, spiffe(authority, "app")), **PASSWORD)
    finally:
        private.stop()


def test_settings_that_would_let_nobody_in_are_refused(authority, tmp_path):
    for given, why in (
        (logging_in("certificate"), "authentication = certificate needs tls_certificate, tls_key and tls_client_ca"),
        ([*authority.server_flags(), *logging_in("certificate-or-password")], "needs tls_certificate, tls_key and tls_client_ca"),
        (flags(authority, "certificate", "--tls", "optional"), "authentication = certificate needs tls = required"),
    ):
        with pytest.raises(server.ServerFailed, match="ended with status 2") as failure:
            server.Server(tmp_path / "refused", given).start()
        assert why in str(failure.value)
