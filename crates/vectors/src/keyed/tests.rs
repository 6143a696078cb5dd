use super::*;
use base::Rng;

const LASTING: Entry = Entry { timestamp: 1, expires_at_s: 0 };

fn vector(rng: &mut Rng, dimensions: usize) -> Vec<f32> {
    // Sums of several are about as normal.
    (0..dimensions).map(|_| (0..6).map(|_| rng.below(1000) as f32 / 1000.0 - 0.5).sum()).collect()
}

fn found(keyed: &KeyedGraph, vector: &[f32], count: usize) -> Vec<Vec<u8>> {
    keyed.search(vector.iter().copied(), count, 100, &|_| true).unwrap().iter().map(|key| key.to_vec()).collect()
}

fn settle(keyed: &mut KeyedGraph) {
    while keyed.has_work() {
        keyed.step();
    }
}

fn distance(metric: Metric, one: &[f32], other: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    match metric {
        Metric::Cosine => -dot(one, other) / (dot(one, one) * dot(other, other)).sqrt(),
        Metric::DotProduct => -dot(one, other),
        Metric::Euclidean => dot(one, one) + dot(other, other) - 2.0 * dot(one, other),
    }
}

/// How many of the ten nearest are among the candidates, on average, after vectors have come and gone.
fn recall(metric: Metric, dimensions: usize, vectors: usize, rounds: usize) -> f64 {
    let mut rng = Rng::new(vectors as u64);
    let mut keyed = KeyedGraph::new(metric, dimensions, 1);
    let mut all: BTreeMap<Vec<u8>, Vec<f32>> = BTreeMap::new();
    for round in 0..=rounds {
        for _ in 0..if round == 0 { vectors } else { vectors / 4 } {
            let key = rng.below(vectors as u64 * 2).to_be_bytes();
            if round > 0 && rng.below(3) == 0 {
                keyed.remove(&key);
                all.remove(&key[..]);
            } else {
                let vector = vector(&mut rng, dimensions);
                keyed.put(&key, vector.iter().copied(), LASTING);
                all.insert(key.to_vec(), vector);
            }
        }
        settle(&mut keyed);
    }
    assert_eq!((keyed.len(), keyed.unlinked()), (all.len(), 0));
    let (mut hits, queries) = (0, 50);
    for _ in 0..queries {
        let query = vector(&mut rng, dimensions);
        let mut order: Vec<(f64, &Vec<u8>)> = all.iter().map(|(key, vector)| (distance(metric, &query, vector), key)).collect();
        order.sort_by(|one, other| one.0.total_cmp(&other.0));
        let candidates = found(&keyed, &query, 30);
        hits += order.iter().take(10).filter(|(_, key)| candidates.contains(key)).count();
    }
    hits as f64 / (10 * queries) as f64
}

#[test]
fn most_of_the_nearest_are_found() {
    for metric in [Metric::Cosine, Metric::Euclidean, Metric::DotProduct] {
        let recall = recall(metric, 32, 3000, 0);
        assert!(recall >= 0.98, "{metric:?}: {recall}");
    }
}

#[test]
fn most_of_the_nearest_are_found_after_vectors_came_and_went() {
    for metric in [Metric::Cosine, Metric::Euclidean, Metric::DotProduct] {
        let recall = recall(metric, 32, 2000, 6);
        assert!(recall >= 0.98, "{metric:?}: {recall}");
    }
}

#[test]
fn vectors_are_found_before_they_are_linked_and_not_after_they_are_gone() {
    let mut keyed = KeyedGraph::new(Metric::Euclidean, 2, 1);
    for n in 0..10_u8 {
        keyed.put(&[n], [f32::from(n), 0.0].into_iter(), LASTING);
    }
    assert_eq!(keyed.unlinked(), 10);
    assert_eq!(found(&keyed, &[3.1, 0.0], 2), [[3], [4]]);
    settle(&mut keyed);
    keyed.put(&[3], [50.0, 0.0].into_iter(), LASTING);
    keyed.remove(&[4]);
    assert_eq!(found(&keyed, &[3.1, 0.0], 2), [[2], [5]]);
    assert_eq!(found(&keyed, &[50.0, 0.0], 1), [[3]]);
    // What says the same as before changes nothing.
    let changes = keyed.changes();
    keyed.put(&[5], [5.0, 0.0].into_iter(), LASTING);
    assert_eq!(keyed.changes(), changes);
    // Of another length, or without direction: it has no vector.
    keyed.put(&[5], [5.0].into_iter(), LASTING);
    assert_eq!(keyed.len(), 8);
    assert!(keyed.search([1.0].into_iter(), 1, 100, &|_| true).is_none());
}

#[test]
fn a_deletion_takes_what_is_in_its_range_and_not_newer() {
    let mut keyed = KeyedGraph::new(Metric::Euclidean, 1, 1);
    for n in 0..20_u8 {
        keyed.put(&[n], [f32::from(n)].into_iter(), Entry { timestamp: i64::from(n), expires_at_s: 0 });
    }
    keyed.put(&[5], [f32::NAN].into_iter(), Entry { timestamp: 5, expires_at_s: 0 });
    settle(&mut keyed);
    assert_eq!(found(&keyed, &[0.0], 1), [[5], [0]], "a vector without a code is a candidate always");
    keyed.remove_range(&[3], &[9], 6);
    settle(&mut keyed);
    let left: Vec<u8> = found(&keyed, &[0.0], 20).into_iter().map(|key| key[0]).collect();
    assert_eq!(left, [0, 1, 2, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
    keyed.remove_range(&[9], &[3], i64::MAX);
    assert!(!keyed.has_work());
    // One that is told again takes no work.
    keyed.remove_range(&[3], &[9], 6);
    assert_eq!((keyed.has_work(), keyed.len()), (false, 16));
}

#[test]
fn a_large_range_leaves_in_steps() {
    let mut keyed = KeyedGraph::new(Metric::Euclidean, 1, 1);
    for n in 0..1000_u32 {
        keyed.put(&n.to_be_bytes(), [n as f32].into_iter(), LASTING);
    }
    settle(&mut keyed);
    keyed.remove_range(&10_u32.to_be_bytes(), &900_u32.to_be_bytes(), 1);
    keyed.step();
    assert_eq!(keyed.len(), 1000 - REMOVED_AT_ONCE);
    settle(&mut keyed);
    assert_eq!(keyed.len(), 110);
}

#[test]
fn what_is_left_of_a_region_that_died_is_found() {
    let mut rng = Rng::new(4);
    let mut keyed = KeyedGraph::new(Metric::Euclidean, 8, 1);
    // Far apart, so that all neighbours of one are of its own cluster.
    let of = |rng: &mut Rng, cluster: u32| -> Vec<f32> { (0..8).map(|_| cluster as f32 * 1e4 + rng.below(100) as f32).collect() };
    let mut kept = Vec::new();
    for n in 0..1200_u32 {
        let vector = of(&mut rng, n % 4);
        keyed.put(&n.to_be_bytes(), vector.iter().copied(), LASTING);
        if n % 4 == 1 && n < 8 {
            kept.push((n, vector));
        }
    }
    settle(&mut keyed);
    for n in (0..1200_u32).filter(|n| n % 4 == 1 && !kept.iter().any(|(kept, _)| kept == n)) {
        keyed.remove(&n.to_be_bytes());
    }
    settle(&mut keyed);
    for (n, vector) in kept {
        // Their codes may be the same.
        assert!(found(&keyed, &vector, 2).contains(&n.to_be_bytes().to_vec()), "{n}");
    }
}

#[test]
fn expired_vectors_are_not_found_and_leave() {
    let mut keyed = KeyedGraph::new(Metric::Euclidean, 1, 1);
    for n in 0..100_u8 {
        keyed.put(&[n], [f32::from(n)].into_iter(), Entry { timestamp: 1, expires_at_s: if n % 2 == 0 { 100 } else { 0 } });
    }
    settle(&mut keyed);
    assert_eq!(found(&keyed, &[50.0], 2), [[49], [51]]);
    keyed.expire(99, 200);
    assert_eq!(keyed.len(), 100);
    keyed.expire(100, 200);
    assert_eq!(keyed.len(), 50);
}

#[test]
fn memory_is_counted_and_does_not_grow_with_what_leaves() {
    let mut rng = Rng::new(1);
    let mut keyed = KeyedGraph::new(Metric::Euclidean, 16, 1);
    let mut most = 0;
    for round in 0..20_u32 {
        for n in 0..1000_u32 {
            keyed.put(&n.to_be_bytes(), vector(&mut rng, 16).into_iter(), LASTING);
        }
        settle(&mut keyed);
        assert_eq!(keyed.len(), 1000);
        if round < 3 { most = keyed.bytes() } else { assert!(keyed.bytes() <= 2 * most, "{} after {round} rounds", keyed.bytes()) }
    }
}
