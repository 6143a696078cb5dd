//! What regions with many edges cost: parts of scans and batches look at fewer records for them.

use super::Ask;
use super::database::Database;
use super::many::{Batch, by_index, scan};
use crate::operate::code;
use crate::value::ParticleType;
use crate::value::msgpack::write;
use crate::wire::{field, info2};

const GEOJSON: u8 = ParticleType::GeoJson as u8;
const RECORDS: u8 = 100;

/// A polygon of so many edges around 0, 0.
fn polygon(edges: usize) -> Vec<u8> {
    let corner = |n: usize| {
        let (y, x) = ((n % edges) as f64 / edges as f64 * std::f64::consts::TAU).sin_cos();
        format!("[{x}, {y}]")
    };
    let corners: Vec<String> = (0..=edges).map(corner).collect();
    format!(r#"{{"type": "Polygon", "coordinates": [[{}]]}}"#, corners.join(", ")).into_bytes()
}

fn point(longitude: u8) -> Vec<u8> {
    format!(r#"{{"type": "Point", "coordinates": [{longitude}, 0]}}"#).into_bytes()
}

/// Records with a point, of which two are in the polygons.
fn database() -> Database {
    let mut database = Database::new();
    for key in 0..RECORDS {
        let put = Ask::of(key).info(0, info2::WRITE, 0).operation(code::WRITE, GEOJSON, "g", &point(key));
        assert_eq!(database.one(&put).result, 0);
    }
    database
}

/// A filter: the bin `g` is in a region, either written where it is compared or as a variable.
fn condition(region: &[u8], is_variable: bool) -> Vec<u8> {
    let mut out = Vec::new();
    if is_variable {
        write::list(&mut out, 4, 0);
        write::integer(&mut out, 125);
        write::raw(&mut out, b"x");
        write::typed(&mut out, ParticleType::GeoJson, region);
    }
    write::list(&mut out, 3, 0);
    write::integer(&mut out, 8);
    write::list(&mut out, 3, 0);
    [81, 8].into_iter().for_each(|number| write::integer(&mut out, number));
    write::raw(&mut out, b"g");
    if is_variable {
        write::list(&mut out, 2, 0);
        write::integer(&mut out, 124);
        write::raw(&mut out, b"x");
    } else {
        write::typed(&mut out, ParticleType::GeoJson, region);
    }
    out
}

/// How many parts a request takes, of which each record that is found is given.
fn parts(database: &mut Database, ask: &Ask, found: usize) -> i64 {
    let before = database.runs;
    let said = database.ask(ask);
    assert_eq!(said.iter().filter(|said| said.digest.is_some() || !said.bins.is_empty()).count(), found);
    database.runs - before
}

#[test]
fn a_scan_looks_at_fewer_records_the_more_edges_its_filter_has() {
    let mut database = database();
    database.cores = 1;
    for is_variable in [false, true] {
        let [few, many] = [4, 20_000].map(|edges| {
            let ask = scan(b"s").field(field::FILTER, &condition(&polygon(edges), is_variable));
            parts(&mut database, &ask, 2)
        });
        // 160 kB a record.
        assert!(many - few >= 10, "{few} and {many} parts");
    }
}

#[test]
fn a_part_of_a_batch_ends_where_its_filter_has_looked_at_much() {
    let mut database = database();
    let batch = |edges: usize| {
        let mut batch = Batch::default().read(0, 0, b"test");
        for key in 1..RECORDS {
            batch = batch.repeat(u32::from(key), key);
        }
        batch.ask().field(field::FILTER, &condition(&polygon(edges), false))
    };
    let [few, many] = [4, 20_000].map(|edges| parts(&mut database, &batch(edges), 2));
    assert!(many - few >= 10, "{few} and {many} parts");
    // Each record has a filter of its own, one of which is none.
    let own = (0..6).fold(Batch::default(), |batch, key| batch.filtered(u32::from(key), key, &condition(&polygon(20_000), key % 2 == 0)));
    let results: Vec<u8> = by_index(database.ask(&own.filtered(6, 0, b"\x93").ask())).iter().map(|said| said.result).collect();
    assert_eq!(results, [0, 0, 27, 27, 27, 27, 4]);
}
