#![allow(clippy::unwrap_used)]

use super::*;

/// A number that follows from the others.
fn random(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

const FOLDS: [Fold; 8] = [
    Fold { function: Function::Rows, column: 0 },
    Fold { function: Function::Count, column: 1 },
    Fold { function: Function::Sum, column: 1 },
    Fold { function: Function::Average, column: 1 },
    Fold { function: Function::Sum, column: 2 },
    Fold { function: Function::Average, column: 2 },
    Fold { function: Function::Least, column: 3 },
    Fold { function: Function::Greatest, column: 2 },
];

fn row(state: &mut u64) -> [OwnedValue; 4] {
    let null = |some: OwnedValue, dice: u64| if dice == 0 { OwnedValue::Null } else { some };
    let number = random(state, 2_000) as i64 - 1_000;
    [
        null(OwnedValue::Integer(number % 5), random(state, 6)),
        null(OwnedValue::Integer(number), random(state, 6)),
        null(OwnedValue::Real(number as f64 / 8.0), random(state, 6)),
        null(OwnedValue::Bytes(number.to_string().into_bytes()), random(state, 6)),
    ]
}

#[test]
fn parts_give_what_all_rows_give() {
    let mut state = 11;
    for groups in [vec![], vec![0], vec![3, 0]] {
        let spec = Spec {
            groups,
            folds: FOLDS.to_vec(),
            conditions: vec![Condition { column: 1, comparison: Comparison::Greater, value: OwnedValue::Real(-700.5) }],
        };
        let (mut whole, mut merged) = (Partials::new(&spec), Partials::new(&spec));
        for _ in 0..20 {
            let mut part = Partials::new(&spec);
            for _ in 0..random(&mut state, 60) {
                let row = row(&mut state);
                whole.add(&spec, |column| row[usize::from(column)].borrowed());
                part.add(&spec, |column| row[usize::from(column)].borrowed());
            }
            let mut encoded = Vec::new();
            part.encode(&spec, &mut encoded);
            merged.merge(&spec, &encoded).unwrap();
            assert_eq!(Partials::new(&spec).merge(&spec, &encoded[..encoded.len() - 1]), Err(Damaged), "cut");
        }
        assert_eq!(merged.finish(&spec), whole.finish(&spec));
    }
}

#[test]
fn no_rows_are_one_group_only_without_groups() {
    let mut spec = Spec { folds: FOLDS.to_vec(), ..Spec::default() };
    let rows = Partials::new(&spec).finish(&spec);
    let is_count = |fold: &Fold| matches!(fold.function, Function::Rows | Function::Count);
    let expected = FOLDS.iter().map(|fold| if is_count(fold) { OwnedValue::Integer(0) } else { OwnedValue::Null });
    assert_eq!(rows, vec![expected.collect::<Vec<_>>()]);
    spec.groups = vec![0];
    assert_eq!(Partials::new(&spec).finish(&spec), Vec::<Vec<OwnedValue>>::new());
}

#[test]
fn what_overflows_cannot_be_told() {
    let spec = Spec { folds: vec![FOLDS[2]], ..Spec::default() };
    let mut one = Partials::new(&spec);
    one.add(&spec, |_| Value::Integer(i64::MAX));
    assert!(!one.is_lost());
    let mut encoded = Vec::new();
    one.encode(&spec, &mut encoded);
    one.merge(&spec, &encoded).unwrap();
    assert!(one.is_lost());
    encoded.clear();
    one.encode(&spec, &mut encoded);
    let mut other = Partials::new(&spec);
    other.merge(&spec, &encoded).unwrap();
    assert!(other.is_lost(), "which goes on to whoever merges it");
}

#[test]
fn sums_are_compensated_and_not_beyond_infinity() {
    let spec = Spec { folds: vec![FOLDS[4], FOLDS[5]], ..Spec::default() };
    let sum = |values: &[f64]| {
        let mut partials = Partials::new(&spec);
        values.iter().for_each(|value| partials.add(&spec, |_| Value::real(*value)));
        partials.finish(&spec).remove(0).remove(0)
    };
    assert_eq!(sum(&[1e100, 1.0, -1e100]), OwnedValue::Real(1.0));
    assert_eq!(sum(&[f64::INFINITY, 1.0]), OwnedValue::Real(f64::INFINITY));
    assert_eq!(sum(&[f64::INFINITY, f64::NEG_INFINITY]), OwnedValue::Null);
    assert_eq!(sum(&[f64::NAN]), OwnedValue::Null);
}

#[test]
fn numbers_compare_exactly() {
    let order = |one: Value<'_>, other: Value<'_>| (one.order(other), other.order(one));
    let whole = 1_i64 << 53;
    assert_eq!(order(Value::Integer(whole + 1), Value::Real(whole as f64)), (Ordering::Greater, Ordering::Less));
    assert_eq!(order(Value::Integer(i64::MAX), Value::Real(9_223_372_036_854_775_808.0)), (Ordering::Less, Ordering::Greater));
    assert_eq!(order(Value::Integer(i64::MIN), Value::Real(-9_223_372_036_854_775_808.0)), (Ordering::Equal, Ordering::Equal));
    assert_eq!(order(Value::Integer(-1), Value::Real(-1.5)), (Ordering::Greater, Ordering::Less));
    assert_eq!(order(Value::Real(1e300), Value::Bytes(b"")), (Ordering::Less, Ordering::Greater));
    assert_eq!(order(Value::Null, Value::Real(f64::NEG_INFINITY)), (Ordering::Less, Ordering::Greater));
}

#[test]
fn specs_are_read_as_they_were_written() {
    let spec = Spec {
        groups: vec![0, 3],
        folds: FOLDS.to_vec(),
        conditions: vec![Condition { column: 3, comparison: Comparison::LessEqual, value: OwnedValue::Bytes(b"x".to_vec()) }],
    };
    let mut bytes = Vec::new();
    spec.encode(&mut bytes);
    let whole = bytes.len();
    bytes.push(7);
    assert_eq!(Spec::decode(&bytes, 4), Ok((spec, &[7][..])));
    assert_eq!(Spec::decode(&bytes, 3), Err(Damaged), "there is no such column");
    (0..whole).for_each(|end| assert_eq!(Spec::decode(&bytes[..end], 4), Err(Damaged), "{end}"));
}

#[test]
fn what_they_take_is_known() {
    let spec = Spec { groups: vec![0], folds: vec![FOLDS[6]], ..Spec::default() };
    let mut partials = Partials::new(&spec);
    let long = vec![7; 10_000];
    for group in 0..10 {
        partials.add(&spec, |column| if column == 0 { Value::Integer(group) } else { Value::Bytes(&long) });
    }
    assert_eq!(partials.groups(), 10);
    assert!((100_000..110_000).contains(&partials.bytes()), "{}", partials.bytes());
    let mut encoded = Vec::new();
    partials.encode(&spec, &mut encoded);
    let mut merged = Partials::new(&spec);
    merged.merge(&spec, &encoded).unwrap();
    assert!((100_000..110_000).contains(&merged.bytes()), "{}", merged.bytes());
}

#[test]
fn specs_that_repeat_or_have_too_much_are_not_read() {
    let condition = Condition { column: 0, comparison: Comparison::Equal, value: OwnedValue::Null };
    let is_read = |spec: &Spec| {
        let mut bytes = Vec::new();
        spec.encode(&mut bytes);
        Spec::decode(&bytes, 300).is_ok()
    };
    let groups = |groups: Vec<u16>| Spec { groups, ..Spec::default() };
    let folds = |folds: Vec<Fold>| Spec { folds, ..Spec::default() };
    let counts = |count: u16| folds((0..count).map(|column| Fold { function: Function::Count, column }).collect());
    let conditions = |count: usize| Spec { conditions: vec![condition.clone(); count], ..Spec::default() };
    for (spec, is_bounded) in [
        (groups((0..64).collect()), true),
        (groups((0..65).collect()), false),
        (groups(vec![1, 2, 1]), false),
        (groups(vec![0; usize::from(u16::MAX)]), false),
        (counts(256), true),
        (counts(257), false),
        (folds(vec![FOLDS[1], FOLDS[2], FOLDS[1]]), false),
        (folds(vec![FOLDS[0], Fold { column: 7, ..FOLDS[0] }]), false),
        (conditions(64), true),
        (conditions(65), false),
    ] {
        assert_eq!((spec.is_bounded(), is_read(&spec)), (is_bounded, is_bounded), "{spec:?}");
    }
}

#[test]
fn what_would_take_too_much_cannot_be_told() {
    let long = vec![7; BYTES_MAX / 2 + 1];
    let texts = |spec: &Spec, values: &[Value<'_>]| {
        let mut partials = Partials::new(spec);
        values.iter().for_each(|one| partials.add(spec, |_| *one));
        assert!(partials.bytes() <= BYTES_MAX);
        partials
    };
    let by = |groups: &[u16], folds: &[Fold]| Spec { groups: groups.to_vec(), folds: folds.to_vec(), ..Spec::default() };
    let two = by(&[1, 2], &[]);
    assert!(texts(&two, &[Value::Bytes(&long)]).is_lost(), "one group that is too long");
    let (half, one) = (long.as_slice(), by(&[1], &[]));
    assert!(!texts(&one, &[Value::Bytes(half), Value::Bytes(half)]).is_lost());
    let other = vec![8; half.len()];
    assert!(texts(&one, &[Value::Bytes(half), Value::Bytes(&other)]).is_lost(), "too many");
    let ends = [Fold { function: Function::Least, column: 1 }, Fold { function: Function::Greatest, column: 1 }];
    assert!(!texts(&by(&[], &ends[..1]), &[Value::Bytes(half), Value::Bytes(b""), Value::Bytes(half)]).is_lost());
    assert!(texts(&by(&[], &ends), &[Value::Bytes(half)]).is_lost(), "two values that are too long");
    let (mut merged, mut encoded) = (Partials::new(&one), Vec::new());
    texts(&one, &[Value::Bytes(half)]).encode(&one, &mut encoded);
    merged.merge(&one, &encoded).unwrap();
    assert!(!merged.is_lost());
    encoded.clear();
    texts(&one, &[Value::Bytes(&other)]).encode(&one, &mut encoded);
    merged.merge(&one, &encoded).unwrap();
    assert!(merged.is_lost(), "merged, too");
    assert!(merged.bytes() <= BYTES_MAX);
}
