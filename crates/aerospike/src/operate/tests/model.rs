//! Selections against a plain model of small numbers, and long runs of any operations.

use std::collections::BTreeMap;

use base::Rng;

use super::{bin, run, show};
use crate::operate::{Change, apply, code};
use crate::value::msgpack::notation::text;
use crate::value::msgpack::{Reader, store};
use crate::value::{Particle, ParticleType};

const COUNT: i64 = 5;
const KEY: i64 = 6;
const VALUE: i64 = 7;
const INVERTED: i64 = 0x1_0000;

/// The part of `sorted` that a start, counted from the end if negative, and a count mean.
fn range(sorted: &[i64], start: i64, count: Option<i64>) -> Vec<i64> {
    let length = sorted.len() as i64;
    let start = if start < 0 { start + length } else { start };
    let end = count.map_or(length, |count| start + count);
    (0..length).filter(|place| (start..end).contains(place)).map(|place| sorted[place as usize]).collect()
}

fn numbers(answer: &str) -> Vec<i64> {
    answer
        .trim_matches(['[', ']', '<'])
        .split(", ")
        .filter(|number| !number.is_empty())
        .map(|number| number.parse().expect("a number"))
        .collect()
}

fn sorted(mut numbers: Vec<i64>) -> Vec<i64> {
    numbers.sort_unstable();
    numbers
}

/// A start, maybe a count, and how they are written behind other arguments.
fn some_range(rng: &mut Rng) -> (i64, Option<i64>, String) {
    let start = rng.below(13) as i64 - 6;
    let count = (rng.below(3) > 0).then(|| rng.below(6) as i64);
    (start, count, count.map_or(format!("{start}"), |count| format!("{start}, {count}")))
}

#[test]
fn selections_of_lists_are_those_of_a_model() {
    for seed in 0..4_000 {
        let rng = &mut Rng::new(seed);
        let ordered = rng.below(2) == 0;
        let values: Vec<i64> = (0..rng.below(8)).map(|_| rng.below(6) as i64).collect();
        let by_rank = sorted(values.clone());
        let values = if ordered { by_rank.clone() } else { values };
        let list = format!("{}{values:?}", if ordered { "<" } else { "" });
        let (start, count, arguments) = some_range(rng);
        let (begin, end) = (rng.below(7) as i64, rng.below(7) as i64);
        let below = by_rank.iter().filter(|value| **value < begin).count() as i64;
        let relative = range(&by_rank, 0, Some((below + start).max(0)));
        let cases = [
            (5, arguments.clone(), range(&values, start, count)),
            (7, arguments.clone(), sorted(range(&by_rank, start, count))),
            (3, format!("{begin}"), values.iter().copied().filter(|value| *value == begin).collect()),
            (6, format!("{begin}, {end}"), values.iter().copied().filter(|value| (begin..end).contains(value)).collect()),
            (4, format!("[{begin}, {end}]"), values.iter().copied().filter(|value| *value == begin || *value == end).collect()),
            (8, format!("{begin}, {start}"), by_rank[relative.len()..].to_vec()),
        ];
        for (place, arguments, expected) in cases {
            let get = |wanted: i64| run(&list, &format!("[{}, {wanted}, {arguments}]", 19 + place)).expect("a read").1;
            let remove = |wanted: i64| run(&list, &format!("[{}, {wanted}, {arguments}]", 32 + place)).expect("a removal");
            let at = format!("seed {seed}: {place} {arguments} of {list}");
            assert_eq!(sorted(numbers(&get(VALUE))), sorted(expected.clone()), "{at}");
            assert_eq!(get(COUNT), expected.len().to_string(), "{at}");
            let (left, removed) = remove(VALUE);
            assert_eq!(removed, get(VALUE), "{at}");
            let (rest, others) = remove(VALUE | INVERTED);
            assert_eq!((sorted(numbers(&left)), sorted(numbers(&rest))), (sorted(numbers(&others)), sorted(numbers(&removed))), "{at}");
            assert_eq!(sorted([numbers(&left), numbers(&removed)].concat()), by_rank, "{at}");
            assert!(is_part(&numbers(&left), &values) && is_part(&numbers(&rest), &values), "{at}: the order is kept");
        }
    }
}

/// Whether `part` is `all` without some.
fn is_part(part: &[i64], all: &[i64]) -> bool {
    let mut all = all.iter();
    part.iter().all(|value| all.any(|other| other == value))
}

#[test]
fn selections_of_maps_are_those_of_a_model() {
    for seed in 0..4_000 {
        let rng = &mut Rng::new(seed);
        let model: BTreeMap<i64, i64> = (0..rng.below(8)).map(|_| (rng.below(12) as i64, rng.below(5) as i64)).collect();
        let mut pairs: Vec<(i64, i64)> = model.iter().map(|(key, value)| (*key, *value)).collect();
        let keys: Vec<i64> = model.keys().copied().collect();
        let mut by_rank = pairs.clone();
        by_rank.sort_by_key(|(key, value)| (*value, *key));
        let by_rank: Vec<i64> = by_rank.into_iter().map(|(key, _)| key).collect();
        let ordered = rng.below(2) == 0;
        if !ordered {
            (1..pairs.len()).for_each(|place| pairs.swap(place, rng.below(place as u64 + 1) as usize));
        }
        let inner: Vec<String> = pairs.iter().map(|(key, value)| format!("{key}: {value}")).collect();
        let map = format!("{}{{{}}}", if ordered { "<" } else { "" }, inner.join(", "));
        let (start, count, arguments) = some_range(rng);
        let (begin, end) = (rng.below(13) as i64, rng.below(13) as i64);
        let of_values = |meant: &dyn Fn(i64) -> bool| by_rank.iter().copied().filter(|key| meant(model[key])).collect::<Vec<i64>>();
        let keys_below = keys.iter().filter(|key| **key < begin).count() as i64;
        let values_below = model.values().filter(|value| **value < begin).count() as i64;
        let behind = |all: &[i64], below: i64| all[((below + start).max(0) as usize).min(all.len())..].to_vec();
        let cases = [
            (104, 85, arguments.clone(), range(&keys, start, count)),
            (106, 87, arguments.clone(), range(&by_rank, start, count)),
            (103, 84, format!("{begin}, {end}"), keys.iter().copied().filter(|key| (begin..end).contains(key)).collect()),
            (109, 88, format!("{begin}, {start}"), behind(&keys, keys_below)),
            (110, 89, format!("{begin}, {start}"), behind(&by_rank, values_below)),
            (102, 82, format!("{begin}"), of_values(&|value| value == begin)),
            (105, 86, format!("{begin}, {end}"), of_values(&|value| (begin..end).contains(&value))),
            (107, 81, "[1, 3, 5, 7]".to_owned(), keys.iter().copied().filter(|key| [1, 3, 5, 7].contains(key)).collect()),
            (108, 83, "[1, 3]".to_owned(), of_values(&|value| value == 1 || value == 3)),
        ];
        for (get, remove, arguments, expected) in cases {
            let at = format!("seed {seed}: {get} {arguments} of {map}");
            let selected = run(&map, &format!("[{get}, {KEY}, {arguments}]")).expect("a read").1;
            assert_eq!(numbers(&selected), expected, "{at}");
            let others = run(&map, &format!("[{get}, {}, {arguments}]", KEY | INVERTED)).expect("a read").1;
            assert_eq!(sorted([numbers(&selected), numbers(&others)].concat()), keys, "{at}");
            let (left, removed) = run(&map, &format!("[{remove}, {KEY}, {arguments}]")).expect("a removal");
            assert_eq!(removed, selected, "{at}");
            let left_keys = run(&left, &format!("[104, {KEY}, 0]")).expect("a read").1;
            assert_eq!(numbers(&left_keys), sorted(numbers(&others)), "{at}");
            assert!(is_part(&pairs_of(&left), &pairs_of(&map)), "{at}: the order is kept");
        }
    }
}

fn pairs_of(map: &str) -> Vec<i64> {
    numbers(&map.trim_matches(['<', '{', '}']).replace(": ", ", "))
}

/// Any argument: a number, a small list or map, a return type, a marker.
fn any_argument(rng: &mut Rng) -> String {
    let number = |rng: &mut Rng| rng.below(9) as i64 - 3;
    match rng.below(12) {
        0 => "\"a\"".to_owned(),
        1 => "null".to_owned(),
        2 => format!("[{}, {}]", number(rng), number(rng)),
        3 => format!("{{{}: {}, \"a\": [1]}}", number(rng), number(rng)),
        4 => "*".to_owned(),
        5 => "inf".to_owned(),
        6 => format!("<[{}]", number(rng)),
        7 => (INVERTED | rng.below(18) as i64).to_string(),
        8 => "1.5".to_owned(),
        9 => "[]".to_owned(),
        _ => number(rng).to_string(),
    }
}

#[test]
fn whatever_is_done_the_bin_stays_a_value_in_its_shortest_form() {
    let mut done = [0u32; 256];
    for seed in 0..400 {
        let rng = &mut Rng::new(seed);
        let mut value: Option<Particle<'static>> =
            bin(["-", "[]", "{}", "<[1, 2]", "<{1: [1], 2: {}}", "[[1], {1: 1}]"][rng.below(6) as usize]);
        for _ in 0..200 {
            let operation = if rng.below(2) == 0 { rng.below(41) } else { 64 + rng.below(47) };
            let arguments: Vec<String> = (0..rng.below(5)).map(|_| any_argument(rng)).collect();
            let mut call = format!("[{}]", [vec![operation.to_string()], arguments].concat().join(", "));
            if rng.below(3) == 0 {
                let step = [16, 17, 19, 32, 33, 34, 35, 80, 144, 208, 98, 162, 226][rng.below(13) as usize];
                call = format!("[255, [{step}, {}], {call}]", any_argument(rng));
            }
            let operand = Particle::owned(ParticleType::Blob, crate::value::msgpack::notation::bytes(&call));
            let wire = if rng.below(2) == 0 { code::CDT_READ } else { code::CDT_MODIFY };
            let at = format!("seed {seed}: {call} of {}", show(value.as_ref()));
            let Ok(effect) = apply(wire, value.as_ref(), &operand) else { continue };
            done[operation as usize] += 1;
            if let Some(result) = &effect.result {
                show(Some(result));
            }
            if let Change::Set(particle) = effect.bin {
                let mut out = Vec::new();
                store(&mut Reader::new(&particle.bytes), &mut out, 0).unwrap_or_else(|_| panic!("{at} gives {}", text(&particle.bytes)));
                assert_eq!(out, *particle.bytes, "{at}");
                value = (out.len() < 400).then_some(particle.into_owned());
            }
        }
    }
    let silent: Vec<usize> = (0..=110).filter(|operation| done[*operation] == 0).collect();
    assert_eq!(
        silent,
        [
            [14, 15, 20].as_slice(),
            &[28, 29, 30, 31, 33],
            &(41..64).collect::<Vec<_>>(),
            &[71, 72, 78, 80],
            &(90..96).collect::<Vec<_>>(),
            &[99, 101],
        ]
        .concat(),
        "operations that are served are all met, and no others"
    );
}
