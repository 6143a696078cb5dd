"""cqlengine, the object mapper of Cassandra's Python driver: models, tables made of them, queries, updates, conditions."""

import datetime
import decimal
import time
import uuid

import pytest
from cassandra.cqlengine import ValidationError, columns, connection, functions, management, models, query, usertype

COUNT = 250


class Address(usertype.UserType):
    street = columns.Text()
    number = columns.Integer()


class Person(models.Model):
    id = columns.UUID(primary_key=True, default=uuid.uuid4)
    name = columns.Text(required=True, index=True)
    age = columns.Integer(index=True)
    address = columns.UserDefinedType(Address)
    tags = columns.Set(columns.Text)
    marks = columns.List(columns.Integer)
    limits = columns.Map(columns.Text, columns.Decimal)
    born = columns.Date()
    seen = columns.DateTime()
    score = columns.Double(default=0.5)


class Reading(models.Model):
    __options__ = {"compaction": {"class": "LeveledCompactionStrategy", "sstable_size_in_mb": "64"}, "gc_grace_seconds": 3600, "comment": "of sensors"}
    sensor = columns.Text(partition_key=True)
    day = columns.Integer(partition_key=True)
    at = columns.Integer(primary_key=True, clustering_order="DESC")
    place = columns.Text(static=True)
    value = columns.BigInt()


class Visits(models.Model):
    page = columns.Text(primary_key=True)
    count = columns.Counter()


class Account(models.Model):
    id = columns.Integer(primary_key=True)
    balance = columns.Integer()
    owner = columns.Text()


class Animal(models.Model):
    __table_name__ = "animals"
    id = columns.Integer(primary_key=True)
    kind = columns.Text(discriminator_column=True)


class Cat(Animal):
    __discriminator_value__ = "cat"
    lives = columns.Integer()


class Dog(Animal):
    __discriminator_value__ = "dog"
    trick = columns.Text()


MODELS = [Person, Reading, Visits, Account, Animal, Cat, Dog]


@pytest.fixture(scope="module", autouse=True)
def tables(session, keyspace):
    connection.register_connection("applications", session=session, default=True)
    connection.set_session(session)
    for model in MODELS:
        model.__keyspace__ = keyspace
        management.sync_table(model)


def test_tables_are_as_the_models_say_and_sync_again_changes_nothing(session, keyspace):
    for model in MODELS:
        management.sync_table(model)
    session.cluster.refresh_keyspace_metadata(keyspace)
    found = session.cluster.metadata.keyspaces[keyspace].tables
    assert set(found) == {"person", "reading", "visits", "account", "animals"}
    reading = found["reading"]
    assert [column.name for column in reading.partition_key] == ["sensor", "day"]
    assert reading.clustering_key[0].is_reversed and reading.columns["place"].is_static
    assert reading.options["comment"] == "of sensors" and reading.options["gc_grace_seconds"] == 3600
    assert reading.options["compaction"]["class"].endswith("LeveledCompactionStrategy")
    assert set(found["person"].indexes) == {"person_name_idx", "person_age_idx"}


def test_an_object_comes_back_with_every_type():
    born, seen = datetime.date(1969, 7, 20), datetime.datetime(2024, 2, 29, 12, 30, 1, 5000)
    made = Person.create(name="Ada", age=36, address=Address(street="Lane", number=7), tags={"a", "\u00e9"}, marks=[3, 1, 2],
                         limits={"x": decimal.Decimal("1.50")}, born=born, seen=seen)
    found = Person.get(id=made.id)
    assert (found.name, found.age, found.score) == ("Ada", 36, 0.5)
    assert (found.address.street, found.address.number) == ("Lane", 7)
    assert (found.tags, found.marks, found.limits) == ({"a", "\u00e9"}, [3, 1, 2], {"x": decimal.Decimal("1.50")})
    assert found.born.date() == born and found.seen == seen


def test_a_model_is_validated_before_it_is_sent_and_what_is_absent_is_told():
    with pytest.raises(ValidationError):
        Person.create(age=3)
    with pytest.raises(Person.DoesNotExist):
        Person.get(id=uuid.uuid4())


def test_indexes_find_objects_and_follow_changes():
    made = [Person.create(name=f"indexed{number % 3}", age=100 + number) for number in range(9)]
    assert {person.id for person in Person.objects.filter(name="indexed1")} == {made[1].id, made[4].id, made[7].id}
    assert Person.objects.filter(age=104).get().id == made[4].id
    assert Person.objects.filter(name="indexed1", age=104).allow_filtering().count() == 1
    made[4].update(name="moved")
    assert Person.objects.filter(name="indexed1").count() == 2
    assert Person.objects.filter(name="moved").get().id == made[4].id
    made[1].delete()
    assert [person.id for person in Person.objects.filter(name="indexed1")] == [made[7].id]


def test_collections_are_changed_in_place():
    person = Person.create(name="changes", tags={"a"}, marks=[1], limits={"x": decimal.Decimal(1)})
    objects = Person.objects(id=person.id)
    objects.update(tags__add={"b", "c"})
    objects.update(tags__remove={"a"})
    objects.update(marks__append=[2, 3])
    objects.update(marks__prepend=[0])
    objects.update(limits__update={"y": decimal.Decimal(2)})
    objects.update(limits__remove={"x"})
    found = objects.get()
    assert (found.tags, found.marks, found.limits) == ({"b", "c"}, [0, 1, 2, 3], {"y": decimal.Decimal(2)})
    # An object sends what has changed in it, as additions and removals.
    found.tags.add("d")
    found.tags.remove("b")
    found.marks.append(4)
    found.limits["z"] = decimal.Decimal(3)
    found.address = Address(street="New", number=1)
    found.save()
    found = objects.get()
    assert (found.tags, found.marks, found.limits["z"], found.address.street) == ({"c", "d"}, [0, 1, 2, 3, 4], decimal.Decimal(3), "New")
    found.marks = None
    found.save()
    assert not objects.get().marks


def test_partitions_are_read_in_order_by_ranges_and_in_pages():
    with query.BatchQuery(batch_type=query.BatchType.Unlogged) as batch:
        for at in range(COUNT):
            Reading.batch(batch).create(sensor="s", day=1, at=at, value=at * 10**10)
    rows = Reading.objects.filter(sensor="s", day=1)
    assert [row.at for row in rows.limit(3)] == [COUNT - 1, COUNT - 2, COUNT - 3]
    assert [row.at for row in rows.order_by("at").limit(2)] == [0, 1]
    assert [row.value for row in rows.filter(at__gte=10, at__lt=13)] == [12 * 10**10, 11 * 10**10, 10**11]
    assert [row.at for row in rows.filter(at__in=[7, 200])] == [200, 7]
    assert rows.count() == COUNT
    assert [row.at for row in rows.fetch_size(17).limit(None)] == list(range(COUNT - 1, -1, -1))
    Reading.objects.filter(sensor="s", day=1, at__gt=99).delete()
    assert Reading.objects.filter(sensor="s", day=1).count() == 100


def test_static_columns_distinct_partitions_and_tokens():
    for sensor in "abcde":
        for at in (1, 2):
            Reading.create(sensor=sensor, day=2, at=at, value=at)
        Reading.objects.filter(sensor=sensor, day=2).update(place="hall " + sensor)
    assert [(row.at, row.place) for row in Reading.objects.filter(sensor="c", day=2)] == [(2, "hall c"), (1, "hall c")]
    found = {(row.sensor, row.day) for row in Reading.objects.distinct(["sensor", "day"]).limit(None)}
    assert {(sensor, 2) for sensor in "abcde"} <= found
    # A page after another one, by the token of its last partition key.
    pages, last = [], None
    for _ in range(20):
        rows = Visits.objects.limit(2) if last is None else Visits.objects.filter(pk__token__gt=functions.Token(last.page)).limit(2)
        rows = list(rows)
        if not rows:
            break
        last = rows[-1]
        pages += [row.page for row in rows]
    assert sorted(pages) == sorted(row.page for row in Visits.objects.all())


def test_counters_count():
    for page in ("one", "two", "three", "four", "five"):
        Visits.objects(page=page).update(count=1)
    Visits.objects(page="one").update(count=41)
    visits = Visits.get(page="one")
    visits.count -= 2
    visits.save()
    assert Visits.get(page="one").count == 40 and Visits.get(page="two").count == 1


def test_conditions_are_applied_or_tell_what_is_there():
    assert Account.if_not_exists().create(id=1, balance=100, owner="a").balance == 100
    with pytest.raises(query.LWTException) as refused:
        Account.if_not_exists().create(id=1, balance=5)
    assert refused.value.existing["balance"] == 100 and refused.value.existing["[applied]"] is False
    Account.objects(id=1).iff(balance=100).update(balance=70)
    with pytest.raises(query.LWTException) as refused:
        Account.objects(id=1).iff(balance=100).update(balance=0)
    assert refused.value.existing == {"[applied]": False, "balance": 70}
    with pytest.raises(query.LWTException):
        Account.objects(id=2).if_exists().update(balance=1)
    Account.objects(id=1).iff(owner="a").delete()
    assert Account.objects(id=1).first() is None


def test_time_to_live_and_timestamps():
    Account.ttl(600).create(id=10, balance=1)
    assert 400 < next(iter(connection.execute(f"SELECT TTL(balance) AS left FROM {Account.column_family_name()} WHERE id = 10")))["left"] <= 600
    now = datetime.datetime.now()
    Account.timestamp(now).create(id=11, balance=2)
    Account.timestamp(now - datetime.timedelta(hours=1)).create(id=11, balance=3)
    assert Account.get(id=11).balance == 2


def test_kinds_of_one_table_are_told_apart():
    Cat.create(id=1, lives=9)
    Dog.create(id=2, trick="roll")
    found = {animal.id: animal for animal in Animal.all()}
    assert isinstance(found[1], Cat) and found[1].lives == 9
    assert isinstance(found[2], Dog) and found[2].trick == "roll"


def test_a_model_that_grows_changes_its_table(session, keyspace):
    class Growing(models.Model):
        __keyspace__ = keyspace
        __table_name__ = "account"
        id = columns.Integer(primary_key=True)
        balance = columns.Integer()
        owner = columns.Text(index=True)
        note = columns.Text()

    Account.create(id=20, balance=5, owner="old")
    management.sync_table(Growing)
    assert Growing.get(id=20).note is None
    Growing.objects(id=20).update(note="added")
    # Cassandra builds an index in the background, and does not answer by it before.
    deadline = time.monotonic() + 120
    while "account_owner_idx" not in {row["index_name"] for row in session.execute('SELECT index_name FROM system."IndexInfo" WHERE table_name = %s', [keyspace])}:
        assert time.monotonic() < deadline, "the index is not built"
        time.sleep(0.05)
    assert Growing.objects.filter(owner="old").get().note == "added"


def test_a_batch_is_written_whole_and_tables_are_dropped(session, keyspace):
    with query.BatchQuery() as batch:
        Account.batch(batch).create(id=40, balance=1)
        Account.batch(batch).create(id=41, balance=2)
        Account.objects(id=20).batch(batch).delete()
    assert [Account.get(id=number).balance for number in (40, 41)] == [1, 2] and Account.objects(id=20).first() is None
    management.drop_table(Visits)
    session.cluster.refresh_keyspace_metadata(keyspace)
    assert "visits" not in session.cluster.metadata.keyspaces[keyspace].tables


def test_objects_survive_a_kill(kill):
    Account.create(id=30, balance=30, owner="kept")
    people = [Person.create(name="kept", age=number).id for number in range(5)]
    kill()
    assert Account.get(id=30).owner == "kept"
    assert {person.id for person in Person.objects.filter(name="kept")} == set(people)
    assert Person.objects.filter(age=3, name="kept").allow_filtering().get().id == people[3]
