//! The order of values and the encoding of clustering keys, which must be the same order.

use crate::value_support::*;
use base::Rng;
use cql::value::comparable::{decode, encode};
use cql::value::{compare, normalize, validate};
use model::DataType;
use std::cmp::Ordering;

fn encoded(ty: &DataType, value: &[u8], reversed: bool) -> Vec<u8> {
    let mut out = Vec::new();
    encode(ty, value, reversed, &mut out);
    out
}

#[test]
fn order_is_cassandras() {
    for case in golden("compare.tsv") {
        let [name, one, two, theirs] = case.as_slice() else { panic!("{case:?}") };
        let (ty, one, two) = (ty(name), unhex(one), unhex(two));
        assert_eq!(compare(&ty, &one, &two) as i8, theirs.parse::<i8>().unwrap(), "{case:?}");
        assert_eq!(compare(&ty, &two, &one) as i8, -theirs.parse::<i8>().unwrap(), "{case:?}");
        assert_eq!(encoded(&ty, &one, false).cmp(&encoded(&ty, &two, false)) as i8, theirs.parse::<i8>().unwrap(), "{case:?}");
    }
}

/// A value near `value`: the same, another, or one with a small change that is still valid.
fn neighbour(ty: &DataType, value: &[u8], rng: &mut Rng) -> Vec<u8> {
    for _ in 0..3 {
        let mut changed = value.to_vec();
        damage(&mut changed, rng);
        if validate(ty, &changed).is_ok() {
            return normalize(ty, &changed).unwrap().into_owned();
        }
    }
    if rng.below(4) == 0 { value.to_vec() } else { random_value(ty, rng) }
}

#[test]
fn encodings_sort_like_values_read_back_and_end_themselves() {
    let mut rng = Rng::new(seed());
    let mut counts = [0_u64; 3];
    for round in 0..iterations() {
        let ty = if rng.below(3) == 0 { random_type(&mut rng, 3) } else { SCALARS[rng.below(20) as usize].clone() };
        let one = random_value(&ty, &mut rng);
        let two = neighbour(&ty, &one, &mut rng);
        let context = || format!("seed {} round {round}: {ty} {} {}", seed(), hex(&one), hex(&two));
        let order = compare(&ty, &one, &two);
        counts[(order as i8 + 1) as usize] += 1;
        assert_eq!(compare(&ty, &two, &one), order.reverse(), "{}", context());
        for reversed in [false, true] {
            let (first, second) = (encoded(&ty, &one, reversed), encoded(&ty, &two, reversed));
            let expected = if reversed { order.reverse() } else { order };
            assert_eq!(first.cmp(&second), expected, "{}", context());
            assert!(!(0x00..0x10).contains(&first[0]) && first[0] != 0xFF, "{}", context());
            if order != Ordering::Equal {
                assert!(!first.starts_with(&second) && !second.starts_with(&first), "{}", context());
            }
            let mut back = Vec::new();
            let followed = [first.as_slice(), &[0xAB, 0, 0xFF]].concat();
            let mut input = followed.as_slice();
            decode(&ty, reversed, &mut input, &mut back).unwrap_or_else(|error| panic!("{error}: {}", context()));
            assert_eq!(input, [0xAB, 0, 0xFF], "{}", context());
            assert_eq!(compare(&ty, &one, &back), Ordering::Equal, "{} gives {}", context(), hex(&back));
            assert_eq!(validate(&ty, &back), Ok(()), "{} gives {}", context(), hex(&back));
            assert_eq!(encoded(&ty, &back, reversed), first, "{}", context());
            for cut in 0..first.len() {
                assert!(decode(&ty, reversed, &mut &first[..cut], &mut Vec::new()).is_err(), "{} cut at {cut}", context());
            }
        }
    }
    assert!(counts.iter().all(|count| *count > iterations() / 50), "a one-sided test: {counts:?}");
}

#[test]
fn values_in_normal_form_come_back_byte_for_byte() {
    let mut rng = Rng::new(seed());
    for ty in SCALARS {
        for _ in 0..500 {
            let value = random_value(&ty, &mut rng);
            let mut back = Vec::new();
            decode(&ty, true, &mut encoded(&ty, &value, true).as_slice(), &mut back).unwrap();
            let normal = match ty {
                DataType::Varint | DataType::Decimal => continue,
                DataType::Boolean if value.len() == 1 => vec![u8::from(value[0] != 0)],
                DataType::Float if value.len() == 4 && f32::from_be_bytes(value[..].try_into().unwrap()).is_nan() => unhex("7fc00000"),
                DataType::Double if value.len() == 8 && f64::from_be_bytes(value[..].try_into().unwrap()).is_nan() => {
                    unhex("7ff8000000000000")
                }
                _ => value,
            };
            assert_eq!(back, normal, "{ty}");
        }
    }
}

#[test]
fn keys_of_several_columns_sort_column_by_column() {
    let mut rng = Rng::new(seed());
    for round in 0..iterations() / 4 {
        let columns: Vec<(DataType, bool)> = (0..3).map(|_| (random_type(&mut rng, 1), rng.below(2) == 0)).collect();
        let one: Vec<_> = columns.iter().map(|(ty, _)| random_value(ty, &mut rng)).collect();
        let two: Vec<_> = columns.iter().zip(&one).map(|((ty, _), value)| neighbour(ty, value, &mut rng)).collect();
        let key = |row: &[Vec<u8>]| {
            let mut out = Vec::new();
            columns.iter().zip(row).for_each(|((ty, reversed), value)| encode(ty, value, *reversed, &mut out));
            out
        };
        let order = columns.iter().zip(one.iter().zip(&two)).fold(Ordering::Equal, |order, ((ty, reversed), (a, b))| {
            order.then_with(|| if *reversed { compare(ty, b, a) } else { compare(ty, a, b) })
        });
        assert_eq!(key(&one).cmp(&key(&two)), order, "seed {} round {round}", seed());
        // All rows with the same first column lie between its component and its component with FF.
        let mut prefix = encoded(&columns[0].0, &one[0], columns[0].1);
        assert!(key(&one) > prefix);
        prefix.push(0xFF);
        assert!(key(&one) < prefix);
        if compare(&columns[0].0, &one[0], &two[0]) != Ordering::Equal {
            assert_eq!(key(&two).cmp(&prefix), key(&two).cmp(&key(&one)));
        }
    }
}

#[test]
fn decimals_that_are_equal_are_one_key() {
    let (one, padded) = (unhex("000000010a"), unhex("0000000364" /* 0.100 */));
    let hundredth = unhex("0000000264");
    assert_eq!(encoded(&DataType::Decimal, &one, false), encoded(&DataType::Decimal, &hundredth, false));
    assert_ne!(encoded(&DataType::Decimal, &one, false), encoded(&DataType::Decimal, &padded, false));
    for (wire, normal) in
        [("000000010a", "0000000001"), ("0000000064", "0000000064"), ("ffffffd801", "000000002f050b456a78b3ef96fcd8000000000000")]
    {
        let mut back = Vec::new();
        decode(&DataType::Decimal, false, &mut encoded(&DataType::Decimal, &unhex(wire), false).as_slice(), &mut back).unwrap();
        if normal.len() < 20 {
            assert_eq!(hex(&back), normal);
        }
        assert_eq!(compare(&DataType::Decimal, &back, &unhex(wire)), Ordering::Equal);
    }
}

#[test]
fn damaged_keys_never_panic() {
    let mut rng = Rng::new(seed());
    let mut bad = 0;
    for _ in 0..iterations() {
        let ty = random_type(&mut rng, 3);
        let value = random_value(&ty, &mut rng);
        let reversed = rng.below(2) == 0;
        let mut key = encoded(&ty, &value, reversed);
        damage(&mut key, &mut rng);
        let mut out = Vec::new();
        bad += u64::from(decode(&ty, reversed, &mut key.as_slice(), &mut out).is_err());
        // Values that were never validated must have an encoding too, and an order.
        let mut broken = value.clone();
        damage(&mut broken, &mut rng);
        let key = encoded(&ty, &broken, reversed);
        let _ = compare(&ty, &broken, &value);
        assert!(decode(&ty, reversed, &mut key.as_slice(), &mut out).is_ok());
    }
    assert!(bad > 0);
}

#[test]
fn missing_fields_come_back_as_nulls_up_to_sixteen() {
    for fields in [2, 16, 17] {
        let tuple = DataType::Tuple(vec![DataType::Int; fields].into());
        let read = |wire: &[u8]| {
            let mut back = Vec::new();
            decode(&tuple, false, &mut encoded(&tuple, wire, false).as_slice(), &mut back).unwrap();
            assert_eq!(validate(&tuple, &back), Ok(()), "{fields} fields");
            back
        };
        let seven = unhex("0000000400000007");
        let padded = if fields <= 16 { fields } else { 1 };
        assert_eq!(read(&seven).len(), 8 + 4 * (padded - 1));
        assert_eq!(read(&[0xFF; 4]), [0xFF; 4].repeat(padded));
        assert!(read(&[]).is_empty());
    }
}
