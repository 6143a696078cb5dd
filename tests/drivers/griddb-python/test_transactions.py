"""Transactions of one container: seen by others once they are committed."""

import pytest

from client import griddb


@pytest.fixture
def others(connect, things, name):
    """The same container as another client has it."""
    return connect().get_container(name)


def test_a_commit_makes_changes_seen(things, others):
    things.set_auto_commit(False)
    things.put([1, "one"])
    assert (things.get(1), others.get(1)) == ([1, "one"], None)
    things.commit()
    assert others.get(1) == [1, "one"]


def test_an_abort_takes_them_back(things, others):
    things.put([1, "one"])
    things.set_auto_commit(False)
    things.put([1, "two"])
    things.multi_put([[2, "x"], [3, "y"]])
    things.remove(1)
    assert things.get(1) is None
    things.abort()
    assert [others.get(key) for key in (1, 2)] == [[1, "one"], None]


def test_rows_are_changed_as_they_are_read(things, others):
    things.multi_put([[number, "old"] for number in range(4)])
    things.set_auto_commit(False)
    found = things.query("select *").fetch(True)
    while found.has_next():
        row = found.next()
        if row[0] % 2 == 0:
            found.remove()
        else:
            found.update([row[0], "new"])
    assert others.get(1) == [1, "old"]
    things.commit()
    assert list(others.query("select *").fetch()) == [[1, "new"], [3, "new"]]


def test_rows_for_update_take_a_transaction(things):
    things.put([1, "one"])
    with pytest.raises(griddb.GSException):
        things.query("select *").fetch(True)


def test_a_closed_container_leaves_nothing_locked(things, others):
    things.put([1, "one"])
    things.set_auto_commit(False)
    things.put([1, "two"])
    things.close()
    assert others.put([1, "three"])
    assert others.get(1) == [1, "three"]
