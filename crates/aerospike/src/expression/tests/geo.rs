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
