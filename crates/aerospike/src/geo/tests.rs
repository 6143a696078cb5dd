#![allow(clippy::unwrap_used)]

mod rings;

use super::place::{self, Place, Unit};
use super::*;
use base::Rng;
use std::f64::consts::{PI, TAU};

fn shape(text: &str) -> Option<Shape> {
    Shape::parse(text.replace('\'', "\"").as_bytes())
}

fn of_type(kind: &str, coordinates: &str) -> Option<Shape> {
    shape(&format!("{{'type': '{kind}', 'coordinates': {coordinates}}}"))
}

fn point(longitude: f64, latitude: f64) -> Shape {
    of_type("Point", &format!("[{longitude}, {latitude}]")).unwrap()
}

const SQUARE: &str = "[[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]";

#[test]
fn texts_of_all_kinds_are_read() {
    let good = [
        "{'type': 'Point', 'coordinates': [8.5, 47.4]}".to_owned(),
        "\n{\t'coordinates':[ -180 , 9e1 ,4.5e2], 'type':'Point' }\r\n".to_owned(),
        "{'type': 'Point', 'bbox': [1, {'a': [null, true, false, '\\u00e9\\n']}], 'coordinates': [-0.0, 0]}".to_owned(),
        "{'type': 'AeroCircle', 'coordinates': [[0, 0], 0]}".to_owned(),
        "{'type': 'AeroCircle', 'coordinates': [[0, 0], 1e300]}".to_owned(),
        format!("{{'type': 'Polygon', 'coordinates': [{SQUARE}]}}"),
        format!("{{'type': 'Polygon', 'coordinates': [{SQUARE}, [[1, 1], [2, 1], [2, 2], [1, 1]]]}}"),
        format!("{{'type': 'MultiPolygon', 'coordinates': [[{SQUARE}], [{SQUARE}]]}}"),
        format!("{{'type': 'Feature', 'properties': {{}}, 'geometry': {{'type': 'Polygon', 'coordinates': [{SQUARE}]}}}}"),
        "{'type': 'Line', 'coordinates': 0, 'type': 'Point', 'coordinates': [1, 2]}".to_owned(),
    ];
    good.iter().for_each(|text| assert!(shape(text).is_some(), "{text}"));
}

#[test]
fn what_is_no_geojson_is_refused() {
    let bad = [
        "",
        "{}",
        "[]",
        "null",
        "{",
        "text",
        "{'type': 'Point'}",
        "{'coordinates': [1, 2]}",
        "{'type': 'Feature', 'geometry': null}",
        "{'type': 'Feature', 'geometry': {'type': 'Feature', 'geometry': {'type': 'Point', 'coordinates': [1, 2]}}}",
        "{'type': 'Point', 'coordinates': [1, 2]} {}",
        "{'type': 'Point', 'coordinates': [1, 2],}",
        "{'type' 'Point', 'coordinates': [1, 2]}",
        "{'type': 'Point', 'a': '\\x', 'coordinates': [1, 2]}",
        "{'type': 'Point', 'a': '\n', 'coordinates': [1, 2]}",
        "{'type': 'Point', 'a': '",
        "{'type': 'Point', 'a': '\\u12g4', 'coordinates': [1, 2]}",
        "{'type': 'Point', 'coordinates': [1, 2]",
        "{type: 'Point', 'coordinates': [1, 2]}",
    ];
    bad.iter().for_each(|text| assert!(shape(text).is_none(), "{text}"));
    let numbers = ["01", "+1", ".5", "1.", "1e", "1e+", "0x1", "NaN", "inf", "-", "1e999", "--1", "1-", "true", "''", "[1]"];
    numbers.iter().for_each(|number| assert!(of_type("Point", &format!("[{number}, 2]")).is_none(), "{number}"));
    let of_types = [
        ("Point", "[]"),
        ("Point", "[1]"),
        ("Point", "[181, 0]"),
        ("Point", "[-180.0001, 0]"),
        ("Point", "[0, 90.1]"),
        ("Point", "[0, -91]"),
        ("Point", "{'a': 1}"),
        ("point", "[1, 2]"),
        ("LineString", "[[1, 2], [3, 4]]"),
        ("MultiPoint", "[[1, 2]]"),
        ("AeroCircle", "[[1, 2]]"),
        ("AeroCircle", "[[1, 2], -1]"),
        ("AeroCircle", "[[1, 92], 1]"),
        ("AeroCircle", "[[1, 2], 3, 4]"),
        ("AeroCircle", "[1, 2, 3]"),
        ("Polygon", "[]"),
        ("Polygon", "[[]]"),
        ("Polygon", "[[[0, 0], [1, 0], [0, 0]]]"),
        ("Polygon", "[[[0, 0], [1, 0], [1, 1], [0, 1]]]"),
        ("Polygon", "[[[0, 0], [0, 0], [0, 0], [0, 0]]]"),
        ("Polygon", "[[0, 0], [1, 0], [1, 1], [0, 0]]"),
        ("Polygon", "[[[0, 0], [180, 0], [0, 90], [0, 0]]]"),
        ("MultiPolygon", "[]"),
        ("MultiPolygon", "[[]]"),
    ];
    of_types.iter().for_each(|(kind, coordinates)| assert!(of_type(kind, coordinates).is_none(), "{kind} {coordinates}"));
    let deep = |depth: usize| of_type("Point", &format!("[1, 2], 'a': {}{}", "[".repeat(depth), "]".repeat(depth)));
    assert!(deep(64).is_some() && deep(65).is_none() && deep(1_000_000).is_none());
    assert!(Shape::parse(b"{\"type\": \"Point\", \"a\": \"\xFF\", \"coordinates\": [1, 2]}").is_none(), "it is no UTF-8");
}

#[test]
fn particles_have_heads_or_none() {
    assert_eq!(text(b"\0\0\0{}"), Some(&b"{}"[..]));
    assert_eq!(text(b"\x01\0\x01\x01\x02\x03\x04\x05\x06\x07\x08{}"), Some(&b"{}"[..]));
    assert_eq!((text(b" {}"), text(&with_head(b"{}"))), (Some(&b" {}"[..]), Some(&b"{}"[..])));
    assert_eq!((text(b""), text(b"\0\0"), text(b"\0\0\x01{}")), (None, None, None));
}

#[test]
fn regions_have_what_is_in_them() {
    let polygon = |rings: &str| of_type("Polygon", rings).unwrap();
    let square = polygon(&format!("[{SQUARE}]"));
    let clockwise = polygon("[[[0, 0], [0, 10], [10, 10], [10, 0], [0, 0]]]");
    let with_hole = polygon(&format!("[{SQUARE}, [[4, 4], [6, 4], [6, 6], [4, 6], [4, 4]]]"));
    let across = polygon("[[[170, -10], [-170, -10], [-170, 10], [170, 10], [170, -10]]]");
    let polar = polygon("[[[0, 60], [90, 60], [180, 60], [-90, 60], [0, 60]]]");
    let of_edges = polygon("[[[0, 0], [60, 0], [60, 50], [0, 50], [0, 0]]]");
    let both = of_type("MultiPolygon", &format!("[[{SQUARE}], [[[20, 0], [30, 0], [30, 10], [20, 0]]]]")).unwrap();
    let circle = of_type("AeroCircle", "[[179.999, 0], 1000]").unwrap();
    let at_pole = of_type("AeroCircle", "[[0, -90], 111200]").unwrap();
    let cases = [
        (&square, 5.0, 5.0, true),
        (&square, -5.0, 5.0, false),
        (&square, -175.0, -5.0, false),
        (&square, 0.0, 0.0, true),
        (&square, 5.0, 0.0, true),
        (&clockwise, 5.0, 5.0, true),
        (&clockwise, -5.0, 5.0, false),
        (&with_hole, 5.0, 5.0, false),
        (&with_hole, 3.0, 3.0, true),
        (&with_hole, 4.0, 5.0, true),
        (&with_hole, 4.0, 4.0, true),
        (&across, 180.0, 0.0, true),
        (&across, -180.0, 0.0, true),
        (&across, -179.0, 1.0, true),
        (&across, 0.0, 0.0, false),
        (&across, 169.0, 0.0, false),
        (&polar, 45.0, 90.0, true),
        (&polar, -135.0, 80.0, true),
        (&polar, 0.0, 59.0, false),
        (&polar, 0.0, -90.0, false),
        (&polar, 180.0, 60.0, true),
        (&of_edges, 30.0, 53.0, true),
        (&of_edges, 30.0, 55.0, false),
        (&of_edges, 30.0, 51.0, true),
        (&both, 5.0, 5.0, true),
        (&both, 29.0, 5.0, true),
        (&both, 15.0, 5.0, false),
        (&circle, -179.995, 0.0, true),
        (&circle, 179.9, 0.0, false),
        (&circle, 180.0, 0.0, true),
        (&at_pole, 123.0, -89.5, true),
        (&at_pole, -60.0, -89.0, true),
        (&at_pole, -60.0, -88.9, false),
        (&at_pole, 0.0, 90.0, false),
    ];
    for (region, longitude, latitude, expected) in cases {
        let point = point(longitude, latitude);
        assert_eq!((region.meets(&point), point.meets(region)), (expected, expected), "{region:?} {longitude} {latitude}");
    }
    assert!(!square.meets(&across) && !square.meets(&square) && !point(1.0, 1.0).meets(&point(1.0, 1.0)));
    assert!(of_type("AeroCircle", "[[0, 0], 30000000]").unwrap().meets(&point(180.0, 0.0)), "it is around all of the sphere");
}

fn fraction(random: &mut Rng) -> f64 {
    random.below(1 << 53) as f64 / (1_u64 << 53) as f64
}

/// A place of the kinds that are hard: at poles, at the 180th meridian, where faces of the cube meet, or anywhere.
fn any_place(random: &mut Rng) -> (f64, f64) {
    let anywhere = ((fraction(random) * 2.0 - 1.0) * 180.0, (fraction(random) * 2.0 - 1.0).asin().to_degrees());
    let little = (fraction(random) - 0.5) * 10_f64.powi(-(random.below(8) as i32));
    match random.below(8) {
        0 => (anywhere.0, 90.0 - little.abs()),
        1 => (anywhere.0, little.abs() - 90.0),
        2 => (if little < 0.0 { 180.0 + little } else { little - 180.0 }, anywhere.1),
        3 => (45.0 + little, anywhere.1),
        4 => ([-180.0, -90.0, 0.0, 90.0, 180.0][random.below(5) as usize], [-90.0, -45.0, 0.0, 45.0, 90.0][random.below(5) as usize]),
        _ => anywhere,
    }
}

/// Where one gets from a place by an angle in a direction.
fn gone(from: Unit, bearing: f64, by: f64) -> (f64, f64) {
    let helper = if from[2].abs() < 0.9 { [0.0, 0.0, 1.0] } else { [1.0, 0.0, 0.0] };
    let cross = |one: Unit, other: Unit| {
        [one[1] * other[2] - one[2] * other[1], one[2] * other[0] - one[0] * other[2], one[0] * other[1] - one[1] * other[0]]
    };
    let east = place::normalized(cross(helper, from));
    let north = cross(from, east);
    let to = [0, 1, 2].map(|axis| from[axis] * by.cos() + (east[axis] * bearing.cos() + north[axis] * bearing.sin()) * by.sin());
    (to[1].atan2(to[0]).to_degrees(), to[2].atan2(to[0].hypot(to[1])).to_degrees())
}

/// The corners of a ring around a place that does not cross itself.
fn star(random: &mut Rng, middle: Unit, radius: f64) -> Vec<(f64, f64)> {
    let count = 3 + random.below(20);
    let turned = fraction(random) * TAU;
    let corners = (0..count).map(|n| gone(middle, turned + n as f64 / count as f64 * TAU, radius * (0.3 + 0.7 * fraction(random))));
    let mut corners: Vec<_> = corners.collect();
    if random.below(2) == 0 {
        corners.reverse();
    }
    corners.push(corners[0]);
    corners
}

fn written(ring: &[(f64, f64)]) -> String {
    let corners: Vec<String> = ring.iter().map(|(longitude, latitude)| format!("[{longitude}, {latitude}]")).collect();
    format!("[{}]", corners.join(", "))
}

/// How often a ring in less than half of the sphere goes around a place: by the directions in which its corners are seen. None where that is not clear.
fn is_around(ring: &[(f64, f64)], (longitude, latitude): (f64, f64)) -> Option<bool> {
    let [place, units @ ..] = &[&[(longitude, latitude)], ring].concat()[..] else { return None };
    let unit = |(longitude, latitude): &(f64, f64)| Place::of_degrees(*longitude, *latitude).unwrap();
    let seen_from = unit(place);
    if ring.windows(2).any(|edge| place::angle_to_edge(seen_from.unit(), unit(&edge[0]), unit(&edge[1])) < 1e-10) {
        return None;
    }
    let from = seen_from.unit();
    let helper = if from[2].abs() < 0.9 { [0.0, 0.0, 1.0] } else { [1.0, 0.0, 0.0] };
    let cross = |one: Unit, other: Unit| {
        [one[1] * other[2] - one[2] * other[1], one[2] * other[0] - one[0] * other[2], one[0] * other[1] - one[1] * other[0]]
    };
    let east = place::normalized(cross(helper, from));
    let north = cross(from, east);
    let bearings: Vec<f64> =
        units.iter().map(|corner| unit(corner).unit()).map(|to| place::product(to, north).atan2(place::product(to, east))).collect();
    let turned: f64 = bearings.windows(2).map(|pair| (pair[1] - pair[0] + 3.0 * PI).rem_euclid(TAU) - PI).sum();
    Some(turned.abs() > PI)
}

/// 20,000 random regions with a point each, half of them near the edge.
#[test]
fn points_are_in_regions_as_a_model_says() {
    let (mut random, mut inside, mut compared) = (Rng::new(0x6E0), 0, 0);
    for _ in 0..20_000 {
        let at = any_place(&mut random);
        let middle = Place::of_degrees(at.0, at.1).unwrap().unit();
        let radius = (80_f64.to_radians()) * 10_f64.powf(-5.0 * fraction(&mut random));
        let ring = star(&mut random, middle, radius);
        let Some(region) = of_type("Polygon", &format!("[{}]", written(&ring))) else { panic!("{ring:?}") };
        let (bearing, by) = (fraction(&mut random) * TAU, radius * 1.3 * fraction(&mut random));
        let asked = gone(middle, bearing, by);
        let Some(expected) = is_around(&ring, asked) else { continue };
        assert_eq!(region.meets(&point(asked.0, asked.1)), expected, "{ring:?} {asked:?}");
        (inside, compared) = (inside + u32::from(expected), compared + 1);
        let opposite = gone(middle, bearing, PI - by);
        assert!(by > radius || !region.meets(&point(opposite.0, opposite.1)), "{ring:?} {opposite:?}");
    }
    assert!(compared > 19_000 && inside > 5_000 && compared - inside > 5_000, "{inside} of {compared}");
}

fn any_region(random: &mut Rng, middle: Unit, at: (f64, f64), radius: f64) -> Shape {
    match random.below(3) {
        0 => of_type("AeroCircle", &format!("[[{}, {}], {}]", at.0, at.1, radius * 6_371_000.0)),
        1 => of_type("Polygon", &format!("[{}]", written(&star(random, middle, radius.min(1.4))))),
        _ => {
            let other = gone(middle, 1.0, radius);
            let other_middle = Place::of_degrees(other.0, other.1).unwrap().unit();
            let rings = [star(random, middle, radius.min(1.4)), star(random, other_middle, radius.min(1.4))].map(|ring| written(&ring));
            of_type("MultiPolygon", &format!("[[{}], [{}]]", rings[0], rings[1]))
        }
    }
    .unwrap()
}

/// So many of these in `make test-long`, and a sixth of them in `make test`.
fn rounds(most: u32) -> u32 {
    if std::env::var_os("TARNDB_TEST_LONG").is_some() { most } else { most / 6 }
}

/// Regions, of a millimetre to all of the sphere, and points in them.
#[test]
fn entries_are_in_the_ranges_of_what_they_meet() {
    let has = |ranges: &[CellRange], entries: &[u64]| {
        ranges.iter().any(|(first, last)| entries.iter().any(|entry| (first..=last).contains(&entry)))
    };
    let (mut random, mut met, mut found_in_vain, regions) = (Rng::new(0x6E1), 0, 0, rounds(20_000));
    for _ in 0..regions {
        let at = any_place(&mut random);
        let middle = Place::of_degrees(at.0, at.1).unwrap().unit();
        let radius = PI * 10_f64.powf(-10.0 * fraction(&mut random));
        let region = any_region(&mut random, middle, at, radius);
        let asked = gone(middle, fraction(&mut random) * TAU, radius * 1.2 * fraction(&mut random));
        let point = point(asked.0, asked.1);
        let (of_region, of_point) = (region.entries(&mut { COMPARED_MAX }), point.entries(&mut 0));
        assert!((1..=cells::ENTRIES_MAX).contains(&of_region.len()) && of_point.len() == 1, "{region:?}");
        let (by_region, by_point) = (ranges(&region), ranges(&point));
        assert!(by_region.len() <= 32 && by_point.len() <= 16);
        assert!(by_region.windows(2).all(|pair| pair[0].1 < pair[1].0) && by_point.windows(2).all(|pair| pair[0].1 < pair[1].0));
        let is_found = [has(&by_region, &of_point), has(&by_point, &of_region)];
        if region.meets(&point) {
            assert_eq!(is_found, [true; 2], "{region:?} {asked:?}");
            met += 1;
        } else {
            found_in_vain += u32::from(is_found[0]);
        }
    }
    assert!(met > regions / 4 && found_in_vain < regions / 5 * 2, "{met}, {found_in_vain} in vain");
}

const OTHERS: &[u8] = b"{}[]\",:.-+eE0189 \\u\x00\xFFtypePoint";

#[test]
fn changed_texts_are_read_or_refused() {
    let (mut random, mut read) = (Rng::new(0x6E2), 0);
    let texts = [
        format!("{{\"type\": \"Polygon\", \"coordinates\": [{SQUARE}, [[1, 1], [2, 1], [2, 2], [1, 1]]]}}"),
        "{\"type\": \"Feature\", \"geometry\": {\"type\": \"AeroCircle\", \"coordinates\": [[-0.5, 1.5e1], 20]}}".to_owned(),
        "{\"a\": [{\"b\": \"\\u0041\"}], \"type\": \"Point\", \"coordinates\": [1, 2]}".to_owned(),
    ];
    let other = |random: &mut Rng| OTHERS[random.below(OTHERS.len() as u64) as usize];
    for _ in 0..60_000 {
        let mut bytes = texts[random.below(3) as usize].clone().into_bytes();
        for _ in 0..1 + random.below(4) {
            let place = random.below(bytes.len() as u64) as usize;
            match random.below(3) {
                0 => drop(bytes.remove(place)),
                1 => bytes[place] = other(&mut random),
                _ => bytes.insert(place, other(&mut random)),
            }
        }
        if let Some(shape) = Shape::parse(&bytes) {
            read += 1;
            assert!(!shape.entries(&mut { COMPARED_MAX }).is_empty() && !ranges(&shape).is_empty());
            shape.meets(&point(1.5, 1.25));
        }
        text(&bytes);
    }
    assert!(read > 1_000, "{read}");
}
