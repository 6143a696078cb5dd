"""Places and regions: values, indexes, queries and expressions give what a model on a sphere gives, at poles and the 180th meridian as elsewhere."""

import json
import math
import random

import aerospike
import pytest
from aerospike import GeoJSON, exception, predicates
from aerospike_helpers import cdt_ctx
from aerospike_helpers.expressions import CmpGeo, GeoBin
from aerospike_helpers.operations import expression_operations

from waiting import wait_until, while_it_lives

RADIUS_M = 6_371_000
LIST, KEYS, VALUES = aerospike.INDEX_TYPE_LIST, aerospike.INDEX_TYPE_MAPKEYS, aerospike.INDEX_TYPE_MAPVALUES
EVALUATION_NO_FAIL = 16


def point(longitude, latitude):
    return GeoJSON({"type": "Point", "coordinates": [longitude, latitude]})


def circle(longitude, latitude, radius_m):
    return GeoJSON({"type": "AeroCircle", "coordinates": [[longitude, latitude], radius_m]})


def polygon(*rings):
    return GeoJSON({"type": "Polygon", "coordinates": list(rings)})


SQUARE = [[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]


def distance_m(one, other):
    """By the haversine."""
    (a, b), (c, d) = (map(math.radians, place) for place in (one, other))
    half = math.sin((d - b) / 2) ** 2 + math.cos(b) * math.cos(d) * math.sin((c - a) / 2) ** 2
    return 2 * RADIUS_M * math.asin(min(1, math.sqrt(half)))


def is_clear(one, other, radius_m):
    return abs(distance_m(one, other) - radius_m) > 0.01


def ids(client, new_set, *where, policy=None):
    query = client.query("test", new_set)
    if where:
        query.where(*where)
    found = [bins["id"] for _, _, bins in query.results(policy or {})]
    assert len(found) == len(set(found)), "a record comes once"
    return set(found)


def built(client, name):
    wait_until(lambda: "load_pct=100" in client.info_random_node(f"sindex/test/{name}"))


def any_place(chance):
    where = chance.random()
    if where < 0.2:
        return chance.uniform(-180, 180), chance.choice([1, -1]) * (90 - 10 ** chance.uniform(-5, 1))
    if where < 0.4:
        return chance.choice([1, -1]) * (180 - 10 ** chance.uniform(-5, 1)), chance.uniform(-60, 60)
    return chance.uniform(-180, 180), math.degrees(math.asin(chance.uniform(-1, 1)))


def test_values_come_back_as_they_were(client, key):
    texts = [
        '{"type": "Point", "coordinates": [-180.0, 90]}',
        '{ "coordinates" : [[[0,0],[1,0],[1,1],[0,0]]], "type": "Polygon", "name": "\\u00e9" }',
        '{"type": "MultiPolygon", "coordinates": [[[[0,0],[1,0],[1,1],[0,0]]], [[[5,0],[6,0],[6,1],[5,0]]]]}',
        '{"type": "AeroCircle", "coordinates": [[0.0, 0.0], 1.5]}',
        '{"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [1, 2]}}',
    ]
    for text in texts:
        value = aerospike.geojson(text)
        client.put(key, {"g": value, "l": [value, 1], "m": {"k": value}})
        _, _, bins = client.get(key)
        assert all(json.loads(found.dumps()) == json.loads(text) for found in (bins["g"], bins["l"][0], bins["m"]["k"]))


@pytest.mark.parametrize(
    "text",
    [
        {"type": "Point", "coordinates": [181, 0]},
        {"type": "Point", "coordinates": [0, 91]},
        {"type": "Point", "coordinates": []},
        {"type": "LineString", "coordinates": [[0, 0], [1, 1]]},
        {"type": "AeroCircle", "coordinates": [[0, 0], -1]},
        {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1]]]},
        {},
    ],
)
def test_what_is_no_place_is_refused(client, key, new_set, refused, text):
    with refused(160):
        client.put(key, {"g": GeoJSON(text)})
    with refused(2):
        client.get(key)
    client.index_geo2dsphere_create("test", new_set, "g", f"{new_set}_g")
    with refused(160):
        ids(client, new_set, predicates.geo_within_geojson_region("g", json.dumps(text)))
    with refused(4):
        ids(client, new_set, policy={"expressions": CmpGeo(GeoBin("g"), GeoJSON(text)).compile()})
    client.index_remove("test", f"{new_set}_g")


@pytest.fixture
def places(client, new_set):
    """600 points, of which half are there before the index; by their numbers."""
    chance = random.Random(7)
    found = {n: any_place(chance) for n in range(600)}
    for n, place in found.items():
        if n == 300:
            client.index_geo2dsphere_create("test", new_set, "g", f"{new_set}_g")
        client.put(("test", new_set, n), {"id": n, "g": point(*place)})
    yield found
    client.index_remove("test", f"{new_set}_g")


def check_circles(client, new_set, places, rounds, chance):
    for _ in range(rounds):
        middle, radius_m = chance.choice([any_place(chance), chance.choice(list(places.values()))]), 10 ** chance.uniform(1, 7)
        wanted = {n for n, place in places.items() if distance_m(middle, place) <= radius_m}
        unclear = {n for n, place in places.items() if not is_clear(middle, place, radius_m)}
        by_index = ids(client, new_set, predicates.geo_within_radius("g", *middle, radius_m))
        assert by_index ^ wanted <= unclear, (middle, radius_m)
        assert ids(client, new_set, policy={"expressions": CmpGeo(GeoBin("g"), circle(*middle, radius_m)).compile()}) == by_index


def test_points_within_circles_are_found_with_an_index_and_without(client, new_set, places):
    check_circles(client, new_set, places, 20, random.Random(8))
    built(client, f"{new_set}_g")
    check_circles(client, new_set, places, 60, random.Random(9))


def test_points_within_polygons_are_found(client, new_set, places):
    built(client, f"{new_set}_g")
    band = lambda longitude, latitude: [[longitude, latitude], [-longitude, latitude], [-longitude, -latitude], [longitude, -latitude], [longitude, latitude]]
    regions = [
        polygon(SQUARE),
        polygon(SQUARE, [[4, 4], [6, 4], [6, 6], [4, 6], [4, 4]]),
        polygon(band(170, 30)),
        polygon([[0, 70], [120, 70], [-120, 70], [0, 70]]),
        polygon([[0, -80], [-120, -80], [120, -80], [0, -80]]),
        GeoJSON({"type": "MultiPolygon", "coordinates": [[band(175, 60)], [SQUARE]]}),
    ]
    for region in regions:
        by_index = ids(client, new_set, predicates.geo_within_geojson_region("g", region.dumps()))
        assert by_index == ids(client, new_set, policy={"expressions": CmpGeo(region, GeoBin("g")).compile()})
    around_pole = ids(client, new_set, predicates.geo_within_geojson_region("g", regions[3].dumps()))
    assert around_pole >= {n for n, place in places.items() if place[1] > 80.0} and around_pole <= {n for n, place in places.items() if place[1] > 53}
    across = ids(client, new_set, predicates.geo_within_geojson_region("g", regions[2].dumps()))
    assert across == {n for n, (longitude, latitude) in places.items() if abs(longitude) >= 170 and distance_to_edge(longitude, latitude) >= 0}


def distance_to_edge(longitude, latitude):
    """How far a place is below the great circle between 170° and −170° at 30° of latitude, on either side of the equator."""
    off = math.radians(180 - abs(longitude))
    return math.degrees(math.atan(math.tan(math.radians(30)) / math.cos(math.radians(10)) * math.cos(off))) - abs(latitude)


def test_regions_that_have_a_point_are_found(client, new_set):
    client.index_geo2dsphere_create("test", new_set, "g", f"{new_set}_g")
    chance = random.Random(10)
    circles = {n: (any_place(chance), 10 ** chance.uniform(3, 7)) for n in range(300)}
    for n, (middle, radius_m) in circles.items():
        client.put(("test", new_set, n), {"id": n, "g": circle(*middle, radius_m)})
    client.put(("test", new_set, "point"), {"id": -1, "g": point(0, 0)})
    built(client, f"{new_set}_g")
    for _ in range(60):
        place = any_place(chance)
        wanted = {n for n, (middle, radius_m) in circles.items() if distance_m(middle, place) <= radius_m}
        assert all(is_clear(middle, place, radius_m) for middle, radius_m in circles.values())
        assert ids(client, new_set, predicates.geo_contains_point("g", *place)) == wanted
        assert ids(client, new_set, policy={"expressions": CmpGeo(point(*place), GeoBin("g")).compile()}) == wanted
    client.index_remove("test", f"{new_set}_g")


def test_an_index_of_places_follows_its_records(client, new_set, places):
    built(client, f"{new_set}_g")
    near = lambda place: ids(client, new_set, predicates.geo_within_radius("g", *place, 1.0))
    key = lambda n: ("test", new_set, n)
    assert near(places[5]) == {5}
    client.put(key(5), {"g": point(1, 2)})
    assert (near(places[5]), near((1, 2))) == (set(), {5})
    client.put(key(5), {"g": "no place"})
    client.remove(key(6))
    assert (near((1, 2)), near(places[6])) == (set(), set())
    client.put(key(5), {"g": polygon(SQUARE)})
    assert (near((1, 2)), ids(client, new_set, predicates.geo_contains_point("g", 1, 2))) == (set(), {5})

    def found_while_it_lives(seconds):
        client.put(key(7), {"g": point(3, 4)}, meta={"ttl": seconds})
        assert near((3, 4)) == {7}

    while_it_lives(found_while_it_lives, 2)
    wait_until(lambda: client.exists(key(7))[1] is None)
    assert near((3, 4)) == set()


def test_places_in_lists_and_maps_are_found(client, new_set):
    kinds = {"l": LIST, "k": KEYS, "v": VALUES}
    client.index_list_create("test", new_set, "l", aerospike.INDEX_GEO2DSPHERE, f"{new_set}_l")
    client.index_map_keys_create("test", new_set, "k", aerospike.INDEX_GEO2DSPHERE, f"{new_set}_k")
    client.index_map_values_create("test", new_set, "v", aerospike.INDEX_GEO2DSPHERE, f"{new_set}_v")
    for n in range(100):
        ones = [point(n, 10), point(n, 20), circle(n, -20, 10_000)]
        client.put(("test", new_set, n), {"id": n, "l": [*ones, n, "text"], "v": {"a": ones[0], "b": ones[1], "c": ones[2], "d": 1}})
    for name in "lkv":
        built(client, f"{new_set}_{name}")
    for name in "lv":
        kind = kinds[name]
        assert ids(client, new_set, predicates.geo_within_radius(name, 30, 10, 1_000, kind)) == {30}
        assert ids(client, new_set, predicates.geo_within_radius(name, 30.5, 20, 60_000, kind)) == {30, 31}
        assert ids(client, new_set, predicates.geo_contains_point(name, 40.05, -20, kind)) == {40}
        region = polygon([[9.5, 5], [20.5, 5], [20.5, 25], [9.5, 25], [9.5, 5]]).dumps()
        assert ids(client, new_set, predicates.geo_within_geojson_region(name, region, kind)) == set(range(10, 21))
    for name in "lkv":
        client.index_remove("test", f"{new_set}_{name}")


def test_places_at_a_place_in_a_map_are_found(client, new_set):
    context = [cdt_ctx.cdt_ctx_map_key("home")]
    client.index_cdt_create("test", new_set, "m", aerospike.INDEX_TYPE_DEFAULT, aerospike.INDEX_GEO2DSPHERE, f"{new_set}_m", context)
    for n in range(50):
        client.put(("test", new_set, n), {"id": n, "m": {"home": point(n, 10), "work": point(0, 0)}})
    built(client, f"{new_set}_m")
    assert ids(client, new_set, predicates.geo_within_radius("m", 7, 10, 1_000), context) == {7}
    assert ids(client, new_set, predicates.geo_within_radius("m", 0, 0, 1_000), context) == set()
    client.index_remove("test", f"{new_set}_m")


def test_expressions_compare_what_they_can(client, key):
    client.put(key, {"p": point(5, 5), "r": polygon(SQUARE), "n": 1})
    compare = lambda one, other: client.operate(key, [expression_operations.expression_read("x", CmpGeo(one, other).compile(), EVALUATION_NO_FAIL)])[2]["x"]
    assert compare(GeoBin("p"), GeoBin("r")) and compare(GeoBin("r"), GeoBin("p")) and compare(GeoBin("r"), point(10, 5))
    assert not compare(GeoBin("p"), point(5, 5)) and not compare(GeoBin("r"), polygon(SQUARE)) and not compare(GeoBin("r"), point(11, 5))
    assert compare(GeoBin("n"), point(5, 5)) is None and compare(GeoBin("none"), point(5, 5)) is None


def test_places_are_found_after_the_server_was_killed(client, new_set, places, restart):
    built(client, f"{new_set}_g")
    restart("kill")
    check_circles(client, new_set, places, 20, random.Random(11))
    _, _, bins = client.get(("test", new_set, 3))
    assert json.loads(bins["g"].dumps())["coordinates"] == list(places[3])


def test_a_query_of_places_needs_an_index(client, new_set, refused):
    client.put(("test", new_set, 1), {"id": 1, "g": point(1, 2)})
    with refused(201):
        ids(client, new_set, predicates.geo_within_radius("g", 1, 2, 3))
    with pytest.raises(exception.IndexNotFound):
        ids(client, new_set, predicates.geo_contains_point("g", 1, 2))
