#![allow(clippy::unwrap_used)]

use super::*;
use base::Rng;

mod grids;
mod surfaces;

fn parse(text: &str) -> Geometry {
    Geometry::parse(text).unwrap()
}

fn wire(geometry: &Geometry) -> Vec<u8> {
    geometry.to_wire()
}

/// Texts, and how they are stored.
const TEXTS: [(&str, &str); 17] = [
    ("POINT(2 3)", "POINT(2 3)"),
    ("  point ( -0.5\t+3e2 )  ", "POINT(-0.5 300)"),
    ("POINT(0 10 10)", "POINT(0 10 10)"),
    ("POINT(1 2;4326)", "POINT(1 2;4326)"),
    ("POINT(1 2; -1 )", "POINT(1 2)"),
    ("POINT(EMPTY)", "POINT(EMPTY)"),
    ("Polygon( empty )", "POLYGON(EMPTY)"),
    ("POINT(-0 0.1)", "POINT(-0 0.1)"),
    ("POINT(1e300 1e-300)", "POINT(1e300 1e-300)"),
    ("POINT(0.1000000000000000055 12345678.9)", "POINT(0.1 12345678.9)"),
    ("LINESTRING(0 10 10, 10 10 10, 10 10 0)", "LINESTRING(0 10 10,10 10 10,10 10 0)"),
    ("LINESTRING(EMPTY)", "LINESTRING(EMPTY)"),
    ("POLYGON((0 0,10 0,10 10,0 10,0 0))", "POLYGON((0 0,10 0,10 10,0 10,0 0))"),
    (
        "POLYGON((35 10, 45 45, 15 40, 10 20, 35 10),(20 30, 35 35, 30 20, 20 30);7)",
        "POLYGON((35 10,45 45,15 40,10 20,35 10),(20 30,35 35,30 20,20 30);7)",
    ),
    (
        "POLYHEDRALSURFACE(((0 0 0, 0 1 0, 1 1 0, 0 0 0)), ((0 0 0, 0 1 0, 0 1 1, 0 0 0),(0 0 0,0 .5 .5,0 .5 .2)))",
        "POLYHEDRALSURFACE(((0 0 0,0 1 0,1 1 0,0 0 0)),((0 0 0,0 1 0,0 1 1,0 0 0),(0 0 0,0 0.5 0.5,0 0.5 0.2)))",
    ),
    ("QUADRATICSURFACE(1 0 0 0 1 0 0 0 1 0 0 0 -4)", "QUADRATICSURFACE(1 0 0 0 1 0 0 0 1 0 0 0 -4)"),
    ("QUADRATICSURFACE(1 0 0 0 1 0 0 0 1 0 0 0 -4 7 8 9;3)", "QUADRATICSURFACE(1 0 0 0 1 0 0 0 1 0 0 0 -4;3)"),
];

#[test]
fn a_text_is_stored_and_goes_over_the_wire_as_the_same_geometry() {
    for (text, stored) in TEXTS {
        let geometry = parse(text);
        assert_eq!(geometry.to_string(), stored);
        assert_eq!(parse(stored), geometry, "{stored}");
        let bytes = wire(&geometry);
        assert_eq!(bytes.len(), geometry.wire_bytes(), "{stored}");
        assert_eq!(Geometry::of_wire(&bytes).unwrap(), geometry, "{stored}");
    }
}

#[test]
fn bytes_are_those_of_the_java_client() {
    let head = |kind: u8, srid: i32, dimensions: u8| [&[kind, 0][..], &srid.to_le_bytes(), &[dimensions]].concat();
    let numbers = |numbers: &[f64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let point = [head(0, 4326, 2), numbers(&[2.0, 3.0, f64::NAN])].concat();
    assert_eq!(wire(&parse("POINT(2 3;4326)")), point);
    let line = [head(1, -1, 3), vec![2, 0], numbers(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])].concat();
    assert_eq!(wire(&parse("LINESTRING(0 1 2,3 4 5)")), line);
    let ring = |size: f64| [vec![3, 0], numbers(&[0.0, 0.0, f64::NAN, size, 0.0, f64::NAN, 0.0, size, f64::NAN])].concat();
    let polygon = [head(4, -1, 2), vec![1, 0], ring(9.0), ring(1.0)].concat();
    assert_eq!(wire(&parse("POLYGON((0 0,9 0,0 9),(0 0,1 0,0 1))")), polygon, "the number is that of its holes");
    let face = [vec![0, 0, 3, 0], numbers(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0])].concat();
    let surface = [head(9, -1, 3), vec![1, 0], face].concat();
    assert_eq!(wire(&parse("POLYHEDRALSURFACE(((0 0 0,1 0 0,0 1 0)))")), surface);
    let terms: Vec<f64> = (0..16).map(|term| if term < 13 { f64::from(term) } else { 0.0 }).collect();
    let quadratic = [head(10, -1, 3), vec![0, 0], numbers(&terms)].concat();
    assert_eq!(wire(&parse("QUADRATICSURFACE(0 1 2 3 4 5 6 7 8 9 10 11 12)")), quadratic);
    assert_eq!(wire(&parse("LINESTRING(EMPTY)")), head(1, -1, 0));
}

#[test]
fn what_is_no_geometry_is_refused_with_the_place() {
    for (text, error) in [
        ("", GeometryError::Text { at: 0 }),
        ("CIRCLE(1 2)", GeometryError::Text { at: 0 }),
        ("MULTIPOINT(1 2,3 4)", GeometryError::Text { at: 0 }),
        ("POINT", GeometryError::Text { at: 5 }),
        ("POINT(1 2", GeometryError::Text { at: 9 }),
        ("POINT(1)", GeometryError::Text { at: 7 }),
        ("POINT(1 2) 3", GeometryError::Text { at: 11 }),
        ("POINT(1 2 3 4)", GeometryError::Text { at: 12 }),
        ("POINT(1 x)", GeometryError::Text { at: 7 }),
        ("POINT(1 2;x)", GeometryError::Text { at: 10 }),
        ("POINT(1 2;)", GeometryError::Text { at: 10 }),
        ("POINT(1 2;99999999999)", GeometryError::Text { at: 10 }),
        ("POINT(ä 2)", GeometryError::Text { at: 6 }),
        ("POINT(1 NaN)", GeometryError::NotFinite),
        ("POINT(1 1e999)", GeometryError::NotFinite),
        ("POINT(-inf 1)", GeometryError::NotFinite),
        ("LINESTRING(1 2)", GeometryError::Points),
        ("LINESTRING()", GeometryError::Text { at: 11 }),
        ("LINESTRING(1 2,3 4 5)", GeometryError::Dimensions),
        ("LINESTRING(1 2,)", GeometryError::Text { at: 15 }),
        ("POLYGON((0 0,1 1))", GeometryError::Points),
        ("POLYGON(0 0,1 1,2 2)", GeometryError::Text { at: 8 }),
        ("POLYGON(((0 0,1 1,2 2)))", GeometryError::Text { at: 9 }),
        ("POLYGON((0 0,1 1,2 0;1))", GeometryError::Text { at: 20 }),
        ("POLYHEDRALSURFACE(((0 0,1 1,2 0)))", GeometryError::Points),
        ("QUADRATICSURFACE(1 2 3)", GeometryError::Text { at: 22 }),
        ("QUADRATICSURFACE(EMPTY) x", GeometryError::Text { at: 24 }),
    ] {
        assert_eq!(Geometry::parse(text), Err(error), "{text}");
    }
    let deep = format!("POLYGON{}", "(".repeat(1_000_000));
    assert_eq!(Geometry::parse(&deep), Err(GeometryError::Text { at: 9 }));
}

#[test]
fn a_geometry_has_a_largest_size() {
    let line = |points: usize| format!("LINESTRING({})", vec!["1 2"; points].join(","));
    let points_max = (GEOMETRY_BYTES_MAX - 9) / 24;
    assert_eq!(parse(&line(points_max)).wire_bytes(), 9 + 24 * points_max);
    assert_eq!(Geometry::parse(&line(points_max + 1)), Err(GeometryError::Size));
    assert_eq!(Geometry::parse(&line(40_000)), Err(GeometryError::Size));
    let polygon = format!("POLYGON({})", vec!["(0 0,1 0,0 1)"; 1_800].join(","));
    assert_eq!(Geometry::parse(&polygon), Err(GeometryError::Size));
    assert_eq!(Geometry::of_wire(&vec![0; GEOMETRY_BYTES_MAX + 1]), Err(GeometryError::Size));
}

#[test]
fn changed_bytes_are_refused_or_are_a_geometry_that_stays_the_same() {
    let mut random = Rng::new(11);
    for round in 0..40_000 {
        let (text, _) = TEXTS[round % TEXTS.len()];
        let mut bytes = wire(&parse(text));
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.next_u64() as u8;
        }
        if random.below(4) == 0 {
            bytes.truncate(random.below(bytes.len() as u64 + 1) as usize);
        }
        if let Ok(geometry) = Geometry::of_wire(&bytes) {
            assert_eq!(parse(&geometry.to_string()), geometry, "{bytes:?}");
        }
        let mut text: Vec<u8> = text.bytes().collect();
        let at = random.below(text.len() as u64) as usize;
        text[at] = b"(),; 1e-.EN"[random.below(11) as usize];
        if let Ok(geometry) = Geometry::parse(std::str::from_utf8(&text).unwrap()) {
            assert_eq!(parse(&geometry.to_string()), geometry);
        }
    }
}

#[test]
fn boxes_meet_where_they_share_a_point() {
    let square = "POLYGON((0 0,10 0,10 10,0 10,0 0))";
    let cube = "LINESTRING(0 0 0,10 10 10)";
    for (one, other, meets) in [
        ("POINT(5 5)", square, true),
        ("POINT(10 10)", square, true),
        ("POINT(10.0001 10)", square, false),
        ("LINESTRING(-5 -5,15 15)", square, true),
        ("POLYGON((11 11,20 11,20 20,11 11))", square, false),
        ("POINT(5 5)", cube, true),
        ("POINT(5 5 99)", square, true),
        ("POINT(5 5 99)", cube, false),
        ("POINT(5 5 10)", cube, true),
        ("POINT(EMPTY)", square, false),
        ("POLYGON(EMPTY)", "POLYGON(EMPTY)", false),
        // Only the boxes are looked at, not the shapes.
        ("POINT(9 1)", "LINESTRING(0 0,10 10)", true),
        ("POINT(5 5)", "POLYGON((0 0,10 0,10 10,0 10),(1 1,9 1,9 9,1 9))", true),
    ] {
        assert_eq!(parse(one).meets(&parse(other)), meets, "{one} {other}");
        assert_eq!(parse(other).meets(&parse(one)), meets, "{other} {one}");
    }
}
