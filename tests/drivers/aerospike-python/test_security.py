"""Users and roles, on a server of their own on which clients have to log in."""

import contextlib
import os
import tempfile
import time

import aerospike
import pytest
from aerospike import exception
from aerospike_helpers.operations import operations

import server
from aerospike_settings import settings
from conftest import EXTERNAL, MODULES, NAMESPACE

pytestmark = pytest.mark.skipif(bool(EXTERNAL) and "TARNDB_TEST_RESTART" not in os.environ, reason="the server under test is not TarnDB")

FLAGS = [*server.LOGIN_FLAGS, "--aerospike-namespaces", NAMESPACE]
BACK_SECONDS_MAX = 30


@pytest.fixture(scope="module")
def guarded():
    directory = server.ROOT / ".cache" / "run"
    directory.mkdir(parents=True, exist_ok=True)
    private = server.Server(tempfile.mkdtemp(prefix="aerospike-security-", dir=directory), FLAGS)
    private.start()
    yield private
    private.stop()


def connected(guarded, user, password, **policies):
    host, port = guarded.state()["aerospike"].rsplit(":", 1)
    config = settings([(host, int(port))], policies, lua={"user_path": MODULES.name}, user=user, password=password)
    return aerospike.client(config).connect()


@contextlib.contextmanager
def login(guarded, user, password, **policies):
    client = connected(guarded, user, password, **policies)
    try:
        yield client
    finally:
        client.close()


@pytest.fixture(scope="module")
def boss(guarded):
    with login(guarded, "cassandra", "cassandra") as client:
        yield client


ADMIN = {"timeout": 20_000}


def roles_of(client, user):
    return sorted(client.admin_query_user_info(user, policy=ADMIN)["roles"])


@pytest.mark.parametrize(("user", "password"), [("cassandra", "wrong"), ("nobody", "cassandra"), ("", "")])
def test_a_wrong_name_or_password_is_refused(guarded, user, password):
    with pytest.raises(exception.AerospikeError):
        connected(guarded, user, password)


def test_a_user_does_what_its_roles_allow(guarded, boss, refused):
    boss.admin_create_user("ann", "pass", ["read"], policy=ADMIN)
    with refused(61):
        boss.admin_create_user("ann", "pass", ["read"], policy=ADMIN)
    boss.put((NAMESPACE, "s", 1), {"n": 1})
    with login(guarded, "ann", "pass") as ann:
        assert ann.get((NAMESPACE, "s", 1))[2] == {"n": 1}
        assert len(ann.scan(NAMESPACE, "s").results()) == 1 and len(ann.query(NAMESPACE).results()) == 1
        for write in [ann.put, lambda key, bins: ann.increment(key, "n", 1)]:
            with refused(81):
                write((NAMESPACE, "s", 1), {"n": 2})
        with refused(81):
            ann.remove((NAMESPACE, "s", 1))
        with refused(81):
            ann.admin_create_user("eve", "pass", ["superuser"], policy=ADMIN)
        assert roles_of(ann, "ann") == ["read"]
        # On its open connections.
        boss.admin_grant_roles("ann", ["read-write"], policy=ADMIN)
        assert roles_of(boss, "ann") == ["read", "read-write"]
        ann.put((NAMESPACE, "s", 1), {"n": 2})
        boss.admin_revoke_roles("ann", ["read", "read-write"], policy=ADMIN)
        for _ in range(20):
            with refused(81):
                ann.get((NAMESPACE, "s", 1))
        with refused(81):
            ann.scan(NAMESPACE, "s").results()
        batch = ann.batch_read([(NAMESPACE, "s", 1)])
        assert batch.result == 81 or batch.batch_records[0].result == 81
    boss.admin_drop_user("ann", policy=ADMIN)
    with pytest.raises(exception.AerospikeError):
        connected(guarded, "ann", "pass")


def test_privileges_are_of_a_namespace_or_a_set(guarded, boss, refused):
    privileges = [{"code": aerospike.PRIV_READ_WRITE, "ns": NAMESPACE, "set": "mine"}]
    boss.admin_create_role("app", privileges, policy=ADMIN)
    assert boss.admin_get_role("app", policy=ADMIN)["privileges"] == privileges
    boss.admin_create_user("bob", "pass", ["app"], policy=ADMIN)
    with login(guarded, "bob", "pass") as bob:
        bob.put((NAMESPACE, "mine", 1), {"n": 1})
        with refused(81):
            bob.put((NAMESPACE, "other", 1), {"n": 1})
        with refused(81):
            bob.truncate(NAMESPACE, "mine", 0)
        # By its digest alone a record is of no set.
        alone = (NAMESPACE, None, None, aerospike.calc_digest(NAMESPACE, "mine", 1))
        with refused(81):
            bob.get(alone)
        boss.admin_grant_privileges("app", [{"code": aerospike.PRIV_READ, "ns": NAMESPACE, "set": ""}], policy=ADMIN)
        boss.put((NAMESPACE, "other", 1), {"n": 3})
        assert bob.get(alone)[2] == {"n": 1}
        assert bob.get((NAMESPACE, "other", 1))[2] == {"n": 3}
        boss.admin_revoke_privileges("app", privileges, policy=ADMIN)
        with refused(81):
            bob.put((NAMESPACE, "mine", 1), {"n": 1})
    names = set(boss.admin_get_roles(policy=ADMIN))
    assert {"app", "read", "write", "read-write", "read-write-udf", "user-admin", "sys-admin", "data-admin", "truncate"} <= names
    with refused(71):
        boss.admin_create_role("read", privileges, policy=ADMIN)
    boss.admin_set_whitelist("app", ["10.0.0.0/8"], policy=ADMIN)
    with pytest.raises(exception.AerospikeError):
        connected(guarded, "bob", "pass")
    boss.admin_set_whitelist("app", None, policy=ADMIN)
    with login(guarded, "bob", "pass") as bob:
        assert roles_of(bob, "bob") == ["app"]
    boss.admin_drop_role("app", policy=ADMIN)
    with refused(70):
        boss.admin_get_role("app", policy=ADMIN)


def test_functions_are_registered_and_applied_by_those_who_may(guarded, boss, refused, tmp_path):
    path = tmp_path / "mine.lua"
    path.write_text("function put(rec, n) rec.n = n if aerospike:exists(rec) then aerospike:update(rec) else aerospike:create(rec) end return n end function same(stream) return stream end")
    key = (NAMESPACE, "mine", "applied")
    boss.admin_create_user("udo", "pass", ["read-write"], policy=ADMIN)
    with login(guarded, "udo", "pass") as udo:
        with refused(81):
            udo.udf_put(str(path), 0)
        boss.admin_grant_roles("udo", ["udf-admin"], policy=ADMIN)
        udo.udf_put(str(path), 0)
        with refused(81):
            udo.apply(key, "mine", "put", [1])
        assert [record.result for record in udo.batch_apply([key], "mine", "put", [1]).batch_records] != [0]
        boss.admin_grant_roles("udo", ["read-write-udf"], policy=ADMIN)
        assert udo.apply(key, "mine", "put", [2]) == 2
        assert [record.result for record in udo.batch_apply([key], "mine", "put", [3]).batch_records] == [0]
        assert udo.get(key)[2] == {"n": 3}
        jobs = [udo.scan_apply(NAMESPACE, "mine", "mine", "put", [4])]
        boss.admin_revoke_roles("udo", ["udf-admin", "read-write-udf"], policy=ADMIN)
        with refused(81):
            udo.udf_remove("mine.lua")
        with refused(81):
            udo.scan_apply(NAMESPACE, "mine", "mine", "put", [5])
        with refused(81):
            stream = udo.query(NAMESPACE, "mine")
            stream.apply("mine", "same")
            stream.results()
        # Operations take no more than to write.
        scan = udo.scan(NAMESPACE, "mine")
        scan.add_ops([operations.write("m", 6)])
        jobs.append(scan.execute_background())
        for job in jobs:
            while udo.job_info(job, aerospike.JOB_SCAN)["status"] == aerospike.JOB_STATUS_INPROGRESS:
                time.sleep(0.02)
        assert udo.get(key)[2] == {"n": 4, "m": 6}
        node = udo.get_node_names()[0]["node_name"]
        assert f"trid={jobs[0]}:" in udo.info_single_node("query-show", node), "whoever has logged in sees jobs"
        with refused(81):
            udo.info_single_node("query-abort-all:", node)
        boss.admin_grant_roles("udo", ["data-admin"], policy=ADMIN)
        assert "killed: 0" in udo.info_single_node("query-abort-all:", node)
    boss.udf_remove("mine.lua")
    boss.admin_drop_user("udo", policy=ADMIN)


def test_passwords_are_changed_by_their_users_and_by_others(guarded, boss, refused):
    boss.admin_create_user("cid", "one", ["read-write"], policy=ADMIN)
    with login(guarded, "cid", "one") as cid:
        cid.admin_change_password("cid", "two", policy=ADMIN)
        cid.put((NAMESPACE, "s", 2), {"n": 1})
        with refused(81):
            cid.admin_set_password("cassandra", "mine", policy=ADMIN)
    boss.admin_set_password("cid", "three", policy=ADMIN)
    with pytest.raises(exception.AerospikeError):
        connected(guarded, "cid", "two")
    with login(guarded, "cid", "three") as cid:
        assert cid.get((NAMESPACE, "s", 2))[2] == {"n": 1}
    with login(guarded, "cid", "three", auth_mode=aerospike.AUTH_EXTERNAL_INSECURE) as cid:
        assert cid.get((NAMESPACE, "s", 2))[2] == {"n": 1}


@pytest.mark.parametrize("how", ["kill", "term"])
def test_users_outlive_the_server_and_clients_log_in_again(guarded, how):
    user = f"dan-{how}"
    with login(guarded, "cassandra", "cassandra") as boss:
        boss.admin_create_user(user, "pass", ["read-write"], policy=ADMIN)
    with login(guarded, user, "pass") as dan:
        dan.put((NAMESPACE, "s", how), {"n": 1})
        guarded.restart(how)
        deadline = time.monotonic() + BACK_SECONDS_MAX
        while True:
            try:
                assert dan.get((NAMESPACE, "s", how))[2] == {"n": 1}
                break
            except exception.AerospikeError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        dan.put((NAMESPACE, "s", how), {"n": 2})


def test_quotas_hold_on_open_connections(guarded):
    with login(guarded, "cassandra", "cassandra") as boss:
        check_quotas(guarded, boss)


def check_quotas(guarded, boss):
    privileges = [{"code": aerospike.PRIV_READ_WRITE, "ns": NAMESPACE, "set": ""}]
    boss.admin_create_role("metered", privileges, read_quota=5, write_quota=0, policy=ADMIN)
    boss.admin_create_user("cem", "pass", ["metered"], policy=ADMIN)
    quotas = lambda: [boss.admin_get_role("metered", policy=ADMIN)[name] for name in ("read_quota", "write_quota")]
    assert quotas() == [5, 0]

    def served(operation):
        count = 0
        for number in range(200):
            try:
                operation((NAMESPACE, "metered", number))
                count += 1
            except exception.AerospikeError as refusal:
                assert refusal.code == 83, refusal
        return count

    with login(guarded, "cem", "pass") as cem:
        write = lambda key: cem.put(key, {"n": 1})
        assert served(write) == 200 and 1 <= served(cem.get) < 200
        boss.admin_set_quotas("metered", 0, 5, policy=ADMIN)
        assert quotas() == [0, 5]
        assert served(cem.get) == 200 and 1 <= served(write) < 200
        boss.admin_set_quotas("metered", 0, 0, policy=ADMIN)
        assert served(write) == 200
    boss.admin_drop_user("cem", policy=ADMIN)
    boss.admin_drop_role("metered", policy=ADMIN)
