//! Points and regions in expressions.

use super::*;

const SQUARE: &str = r#"{"type": "Polygon", "coordinates": [[[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]]}"#;
const WITHIN: &str = r#"{"type": "Point", "coordinates": [5, 5]}"#;
const OUTSIDE: &str = r#"{"type": "Point", "coordinates": [15, 5]}"#;

fn geo(text: &str) -> Exp {
    made(|out| pack::typed(out, ParticleType::GeoJson, text.as_bytes()))
}

fn geo_bin(name: &str) -> Exp {
    bin(8, name)
}

/// What an expression gives for a record with a point, a region, one with a head as former versions kept it, and a text that is none.
fn value(expression: &Exp) -> Result<Option<bool>, ResultCode> {
    let particle = |text: &[u8]| Particle::owned(ParticleType::GeoJson, text.to_vec());
    let bins = Bins(vec![
        ("point", particle(WITHIN.as_bytes())),
        ("region", particle(SQUARE.as_bytes())),
        ("former", particle(&[&[0, 0, 0], WITHIN.as_bytes()].concat())),
        ("none", particle(b"{}")),
        ("text", Particle::owned(ParticleType::String, WITHIN.as_bytes().to_vec())),
    ]);
    let operand = [&[0x92][..], &expression.0, &[flags::EVALUATION_NO_FAIL as u8]].concat();
    Ok(read(&operand, &subject(&bins))?.map(|particle| particle.bytes[..] == [1]))
}

#[test]
fn a_point_in_a_region_is_found_from_either_side() {
    let compare = |one: Exp, other: Exp| value(&command(code::GEO, &[one, other]));
    assert_eq!(compare(geo_bin("point"), geo(SQUARE)), Ok(Some(true)));
    assert_eq!(compare(geo(SQUARE), geo_bin("point")), Ok(Some(true)));
    assert_eq!(compare(geo_bin("former"), geo_bin("region")), Ok(Some(true)));
    assert_eq!(compare(geo_bin("region"), geo(OUTSIDE)), Ok(Some(false)));
    assert_eq!(compare(geo_bin("region"), geo(SQUARE)), Ok(Some(false)));
    assert_eq!(compare(geo(WITHIN), geo(WITHIN)), Ok(Some(false)));
    let chosen = command(code::COND, &[truth(false), geo(OUTSIDE), geo(WITHIN)]);
    assert_eq!(compare(chosen, geo_bin("region")), Ok(Some(true)));
    for unknown in ["none", "text", "missing"] {
        assert_eq!(compare(geo_bin(unknown), geo(SQUARE)), Ok(None), "{unknown}");
    }
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let compare = |parts: &[Exp]| value(&command(code::GEO, parts));
    for wrong in [geo("{}"), geo(""), text(SQUARE), int(1), truth(true)] {
        assert_eq!(compare(&[wrong.clone(), geo(SQUARE)]), Err(ResultCode::PARAMETER), "{:?}", wrong.0);
        assert_eq!(compare(&[geo_bin("point"), wrong]), Err(ResultCode::PARAMETER));
    }
    assert_eq!(compare(&[geo(SQUARE)]), Err(ResultCode::PARAMETER));
    assert_eq!(compare(&[geo(SQUARE), geo(WITHIN), geo(WITHIN)]), Err(ResultCode::PARAMETER));
    assert_eq!(value(&geo("{}")), Err(ResultCode::PARAMETER), "nor can it be written");
}

#[test]
fn edges_are_counted_as_bytes_that_were_looked_at() {
    let bins = Bins(vec![("point", Particle::owned(ParticleType::GeoJson, WITHIN.as_bytes().to_vec()))]);
    let in_square = command(code::GEO, &[geo_bin("point"), geo(SQUARE)]);
    let both = command(code::AND, &[in_square.clone(), in_square.clone()]);
    for (expression, times) in [(in_square, 1), (both, 2)] {
        let filter = Filter::parse(&expression.0).expect("a filter");
        assert_eq!(filter.take_spent(), 0);
        for _ in 0..2 {
            assert!(filter.accepts(&subject(&bins)) && filter.accepts(&subject(&bins)));
            assert_eq!((filter.take_spent(), filter.take_spent()), (2 * times * (4 * 8 + WITHIN.len()), 0));
        }
    }
    // 60 times a region of 40,000 edges are more than one evaluation may look at.
    let corner = |n: i32| format!("[{}, {}]", n % 2, f64::from(n % 40_000) / 1_000.0);
    let corners: Vec<String> = (0..=40_000).map(corner).collect();
    let region = geo(&format!(r#"{{"type": "Polygon", "coordinates": [[{}]]}}"#, corners.join(", ")));
    let many = |times| command(code::AND, &vec![command(code::NOT, &[command(code::GEO, &[geo_bin("point"), region.clone()])]); times]);
    let bins = Bins(vec![("point", Particle::owned(ParticleType::GeoJson, OUTSIDE.as_bytes().to_vec()))]);
    for (times, expected) in [(40, true), (60, false)] {
        assert_eq!(Filter::parse(&many(times).0).expect("a filter").accepts(&subject(&bins)), expected, "{times}");
    }
}

#[test]
fn what_a_list_has_is_checked_before_it_is_written() {
    let list = |text: &str| {
        let mut list = Vec::new();
        pack::list(&mut list, 1, 0);
        pack::typed(&mut list, ParticleType::GeoJson, text.as_bytes());
        Bins(vec![("list", Particle::owned(ParticleType::List, list))])
    };
    // The first element, by its index.
    let first = call(0, 8, &[int(19), int(7), int(0)], bin(4, "list"));
    let written = |text: &str, flags: u8| write(&operand(&first, flags.into()), false, &subject(&list(text)));
    assert_eq!(written(WITHIN, 0), Ok(Change::Set(Particle::owned(ParticleType::GeoJson, WITHIN.as_bytes().to_vec()))));
    for wrong in ["{}", "[", r#"{"type": "Point", "coordinates": [200, 5]}"#] {
        assert_eq!(written(wrong, 0), Err(ResultCode::GEO_INVALID_GEOJSON), "{wrong}");
        assert_eq!(written(wrong, flags::POLICY_NO_FAIL as u8), Ok(Change::Keep), "{wrong}");
    }
}
