#![allow(clippy::unwrap_used)]
use super::super::pages::NewPage;
use super::*;
use crate::location::SegmentId;
use base::Rng;
use std::ops::RangeBounds;

const LIMITS: Limits = Limits { leaf_rows: 128, overlay_rows: 64 };

fn location(number: u64) -> Location {
    Location::record(SegmentId((number >> 18) as u32 & 0xFFFF), (number as usize & 0x3FFFF) * 16, 32)
}

fn number(number: u64) -> Box<[u8]> {
    number.to_be_bytes().into()
}

fn key(rng: &mut Rng, spread: u64) -> Vec<u8> {
    let number = rng.below(spread);
    let mut key = number.to_be_bytes()[5..].to_vec();
    key.extend(std::iter::repeat_n(7, (number % 40) as usize));
    if number == 0 { Vec::new() } else { key }
}

#[test]
fn agrees_with_an_ordered_map_from_both_ends() {
    for seed in 0..12 {
        let mut rng = Rng::new(seed);
        let mut rows = Rows::default();
        let mut model = BTreeMap::new();
        let spread = [50, 1000, 5000][seed as usize % 3];
        for step in 0..6000u64 {
            let key = key(&mut rng, spread);
            match rng.below(if step < 4000 { 8 } else { 2 }) {
                0 => assert_eq!(rows.remove(&key), model.remove(&key)),
                1 => {
                    let known = model.contains_key(&key);
                    assert_eq!(rows.replace(&key, location(step)).is_some(), known);
                    if known {
                        model.insert(key, location(step));
                    }
                }
                _ => assert_eq!(rows.insert(&key, location(step), &LIMITS).before, model.insert(key, location(step))),
            }
            if step % 200 == 0 {
                let (a, b) = (self::key(&mut rng, spread), self::key(&mut rng, spread));
                let from = [Bound::Unbounded, Bound::Included(&a[..]), Bound::Excluded(&a[..])][rng.below(3) as usize];
                let to = [Bound::Unbounded, Bound::Included(&b[..]), Bound::Excluded(&b[..])][rng.below(3) as usize];
                let expected: Vec<_> =
                    model.iter().filter(|(key, _)| (from, to).contains(&key[..])).map(|(key, at)| (&key[..], *at)).collect();
                assert_eq!(rows.range(from, to).collect::<Vec<_>>(), expected, "seed {seed}");
                assert_eq!(rows.range(from, to).rev().collect::<Vec<_>>(), expected.into_iter().rev().collect::<Vec<_>>());
                let (mut iter, mut count) = (rows.range(from, to), 0);
                while if rng.below(2) == 0 { iter.next() } else { iter.next_back() }.is_some() {
                    count += 1;
                }
                assert_eq!(count, rows.range(from, to).count());
            }
        }
        assert_eq!(rows.len(), model.len());
        assert_eq!(rows.range(Bound::Unbounded, Bound::Unbounded).count(), model.len());
        let taken: usize = std::iter::from_fn(|| rows.take_leaf()).map(|leaf| leaf.len()).sum();
        assert_eq!(taken, model.len());
    }
}

#[test]
fn pages_take_the_place_of_rows_in_their_range() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let limits = Limits { leaf_rows: 4 + rng.below(30) as usize, overlay_rows: 3 };
        let mut rows = Rows::default();
        let mut model = BTreeMap::new();
        let mut pages: Vec<(Vec<u8>, Vec<u8>, u32)> = Vec::new();
        for step in 0..3000u64 {
            let (low, high) = (key(&mut rng, 500), key(&mut rng, 500));
            if rng.below(50) > 0 || low >= high {
                rows.insert(&low, location(step), &limits);
                model.insert(low, location(step));
                continue;
            }
            // Only every other row is superseded.
            let even = |at: Location| (at.offset() / 16).is_multiple_of(2);
            let new = NewPage { low: low.clone().into(), high: high.clone().into(), location: location(step), rows: 5 };
            let mut old = rows.replace_pages((&low, &high), [new], even);
            let in_range = |key: &[u8]| key >= &low[..] && key < &high[..];
            let mut expected: Vec<Location> = model.iter().filter(|(key, at)| in_range(key) && even(**at)).map(|(_, at)| *at).collect();
            expected.extend(pages.iter().filter(|(from, to, _)| *from < high && *to > low).map(|page| location(u64::from(page.2))));
            old.sort();
            expected.sort();
            assert_eq!(old, expected, "seed {seed}");
            model.retain(|key, at| !(in_range(key) && even(*at)));
            pages.retain(|(from, to, _)| *from >= high || *to <= low);
            pages.push((low, high, step as u32));
        }
        assert_eq!(rows.len(), model.len() + 5 * pages.len());
        let singles: Vec<_> = rows.range(Bound::Unbounded, Bound::Unbounded).map(|(key, at)| (key.to_vec(), at)).collect();
        assert_eq!(singles, model.clone().into_iter().collect::<Vec<_>>());
        assert_eq!(rows.page_range(Bound::Unbounded, Bound::Unbounded).count(), pages.len());
        for (key, at) in &model {
            assert_eq!(rows.get(key), Some(*at));
        }
        assert!(rows.replace_pages((b"", &[0xFF; 40]), [], |_| true).len() == model.len() + pages.len() && rows.is_empty());
        assert!(rows.heap_bytes() < 1000, "{} bytes left", rows.heap_bytes());
    }
}

#[test]
fn many_rows_at_once_are_as_one_by_one() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let limits = Limits { leaf_rows: 4 + rng.below(30) as usize, overlay_rows: 3 };
        let (mut many, mut one) = (Rows::default(), Rows::default());
        let (mut end, mut step) = (1000, 0);
        for _ in 0..60 {
            if rng.below(4) == 0 {
                let (low, high) = (rng.below(end + 10), end + rng.below(20));
                if low < high {
                    let page = |at| NewPage { low: number(low), high: number(high), location: at, rows: 5 };
                    let replace = |rows: &mut Rows| rows.replace_pages((&number(low), &number(high)), [page(location(step))], |_| true);
                    assert_eq!(replace(&mut many), replace(&mut one), "seed {seed}");
                }
            }
            // Mostly a series, now and then rows out of order or twice.
            let batch: Vec<(Box<[u8]>, Location)> = (0..rng.below(100))
                .map(|_| {
                    step += 1;
                    end += rng.below(3);
                    (number(if rng.below(20) == 0 { rng.below(end) } else { end }), location(step))
                })
                .collect();
            let mut outcomes = Vec::new();
            many.insert_all(batch.iter().map(|(key, at)| (&**key, *at)), &limits, |inserted| outcomes.push(inserted));
            let expected = batch.iter().map(|(key, at)| one.insert(key, *at, &limits)).collect::<Vec<_>>();
            let telling = |outcomes: Vec<Inserted>| {
                outcomes.into_iter().filter(|inserted| inserted.before.is_some() || inserted.look_at.is_some()).collect::<Vec<_>>()
            };
            assert_eq!(telling(outcomes), telling(expected), "seed {seed}");
            let all = |rows: &Rows| rows.range(Bound::Unbounded, Bound::Unbounded).map(|(key, at)| (key.to_vec(), at)).collect::<Vec<_>>();
            assert_eq!((many.len(), all(&many)), (one.len(), all(&one)), "seed {seed}");
        }
    }
}

#[test]
fn a_gap_ends_at_the_nearest_rows() {
    let mut rng = Rng::new(3);
    for count in [0, 1, 5, 300] {
        let (mut rows, mut model) = (Rows::default(), BTreeMap::new());
        for step in 0..count {
            let key = number(rng.below(500));
            rows.insert(&key, location(step), &LIMITS);
            model.insert(key, ());
        }
        // A leaf in the middle, and the one that every key falls in if there is no other, may be empty.
        rows.replace_pages((&number(100), &number(200)), [], |_| true);
        rows.replace_pages((&number(0), &number(20)), [], |_| true);
        model.retain(|key, ()| !(number(100)..number(200)).contains(key) && !(number(0)..number(20)).contains(key));
        for probe in 0..510 {
            let key = number(probe);
            let before = model.range(..key.clone()).next_back().map(|(key, ())| &**key);
            let after = model.range(key.clone()..).next().map(|(key, ())| &**key);
            let expected = (!model.contains_key(&key)).then_some([before, after]);
            assert_eq!(rows.gap_around(&key), expected, "{count} rows, {probe}");
        }
    }
}

#[test]
fn a_growing_series_fills_its_leaves() {
    let mut rows = Rows::default();
    for first in (0..100_000u64).step_by(1000) {
        let keys: Vec<[u8; 8]> = (first..first + 1000).map(u64::to_be_bytes).collect();
        let batch = keys.iter().zip(first..).map(|(key, step)| (&key[..], location(step)));
        if first.is_multiple_of(2000) {
            rows.insert_all(batch, &LIMITS, |_| {});
        } else {
            batch.for_each(|(key, at)| _ = rows.insert(key, at, &LIMITS));
        }
    }
    let per_row = rows.heap_bytes() as f64 / rows.len() as f64;
    assert!(per_row < 24.0, "{per_row} bytes a row with keys of 8 bytes");
    for number in 0..100_000u64 {
        assert!(rows.remove(&number.to_be_bytes()).is_some());
    }
    assert!(rows.heap_bytes() < 10_000, "{} bytes left", rows.heap_bytes());
}
