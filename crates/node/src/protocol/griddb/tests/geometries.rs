//! Queries by geometries: a container with a SPATIAL index gives what one without gives, and both what a look at all geometries gives.

use super::*;
use griddb::geometry::Geometry;
use std::collections::BTreeMap;

const GEOMETRIES: [(&str, ElementType); 2] = [("id", ElementType::Long), ("where", ElementType::Geometry)];

/// A coordinate: whole numbers, so that many touch.
fn coordinate(random: &mut Rng) -> f64 {
    match random.below(30) {
        0 => [1e300, -1e300, 1e15, 5e-324, -0.0][random.below(5) as usize],
        _ => random.below(201) as f64 - 100.0,
    }
}

fn point(random: &mut Rng, dimensions: usize) -> String {
    let numbers: Vec<String> = (0..dimensions).map(|_| format!("{:e}", coordinate(random))).collect();
    numbers.join(" ")
}

/// A point near another one, so that boxes are small.
fn line(random: &mut Rng) -> String {
    let (x, y, size) = (coordinate(random), coordinate(random), [0.5, 3.0, 40.0][random.below(3) as usize]);
    format!("LINESTRING({x} {y},{} {})", x + size, y - size)
}

fn geometry(random: &mut Rng) -> String {
    let dimensions = 2 + random.below(2) as usize;
    match random.below(10) {
        0 => "POINT(EMPTY)".to_owned(),
        1..4 => format!("POINT({})", point(random, dimensions)),
        4..8 => line(random),
        8 => format!("LINESTRING({},{})", point(random, dimensions), point(random, dimensions)),
        _ => format!("POLYGON(({},{},{}))", point(random, dimensions), point(random, dimensions), point(random, dimensions)),
    }
}

fn put_var_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    griddb::wire::put_var_bytes(out, bytes);
}

/// A row with a geometry as a client sends it, or without one.
fn row(id: i64, sent: Option<&[u8]>) -> Vec<u8> {
    let mut row = 0_i64.to_le_bytes().to_vec();
    row.push(if sent.is_none() { 2 } else { 0 });
    row.extend_from_slice(&id.to_le_bytes());
    row.push(1 << 1 | 1);
    put_var_bytes(sent.unwrap_or_default(), &mut row);
    row
}

fn sent(text: &str) -> Vec<u8> {
    Geometry::parse(text).unwrap().to_wire()
}

/// The ids of the rows of a reply: fixed parts of 8 + 8 + 1 + 8 bytes after one result, its kind and size, and the number of rows.
fn ids(reply: &[u8]) -> Vec<i64> {
    let number = |at: usize| i64::from_le_bytes(reply[at..at + 8].try_into().unwrap());
    let rows = number(4 + 1 + 4) as usize;
    (0..rows).map(|row| number(17 + row * 25 + 17)).collect()
}

impl Node {
    fn query_geometries(&mut self, container: i64, meets: &[u8], misses: Option<&[u8]>) -> (Vec<u8>, u32) {
        let mut arguments = head(container);
        arguments.extend_from_slice(&[i64::MAX.to_le_bytes(); 2].concat());
        arguments.extend_from_slice(&[0; 5]);
        arguments.extend_from_slice(&1_i32.to_le_bytes());
        put_var_bytes(meets, &mut arguments);
        let number = match misses {
            None => {
                arguments.push(0);
                statement::QUERY_COLLECTION_GEOMETRY_RELATED
            }
            Some(misses) => {
                put_var_bytes(misses, &mut arguments);
                statement::QUERY_COLLECTION_GEOMETRY_WITH_EXCLUSION
            }
        };
        self.rows.scans.set(0);
        (self.serve(number, &arguments), self.rows.scans.get())
    }
}

#[test]
fn a_query_by_a_spatial_index_gives_what_a_look_at_all_geometries_gives() {
    let mut node = Node { schema: Arc::new(Schema::empty()), catalog: Arc::default(), rows: Rows::default(), now_us: 0 };
    let mut random = Rng::new(17);
    let containers = ["plain", "indexed"].map(|name| node.put_container_of(name, &GEOMETRIES));
    let [plain, indexed] = containers;
    let mut model: BTreeMap<i64, Option<Geometry>> = BTreeMap::new();
    let put = |node: &mut Node, random: &mut Rng, model: &mut BTreeMap<i64, Option<Geometry>>| {
        let id = random.below(400) as i64;
        let text = (random.below(12) > 0).then(|| geometry(random));
        let value = text.as_deref().map(|text| Geometry::parse(text).unwrap());
        for container in containers {
            let sent = text.as_deref().map(sent);
            node.serve(statement::PUT_ROW, &[head(container), row(id, sent.as_deref())].concat());
        }
        model.insert(id, value);
    };
    (0..300).for_each(|_| put(&mut node, &mut random, &mut model));
    node.create_index(indexed, 1);
    assert_eq!(node.query_geometries(indexed, &sent("POINT(1 1)"), None).1, 1, "it is not complete yet");
    node.backfill(indexed);
    (0..300).for_each(|_| put(&mut node, &mut random, &mut model));
    for id in 0..40_i64 {
        for container in containers {
            node.serve(statement::DELETE_ROW, &[head(container), id.to_le_bytes().to_vec()].concat());
        }
        model.remove(&id);
    }
    let (mut unscanned, mut rows) = (0, 0);
    for round in 0..1_500 {
        let (meets, misses) = (geometry(&mut random), geometry(&mut random));
        let (one, other) = (Geometry::parse(&meets).unwrap(), Geometry::parse(&misses).unwrap());
        let with_exclusion = round % 3 == 0;
        let holds = |value: &Geometry| value.meets(&one) && !(with_exclusion && value.meets(&other));
        let expected: Vec<i64> = model.iter().filter(|(_, value)| value.as_ref().is_some_and(holds)).map(|(id, _)| *id).collect();
        let text = match round % 3 {
            0 => format!("SELECT * WHERE ST_MBRIntersects(where, ST_GeomFromText('{meets}')) AND NOT ST_MBRIntersects(ST_GeomFromText('{misses}'), where)"),
            1 => format!("SELECT * WHERE ST_MBRIntersects(ST_GeomFromText('{meets}'), where)"),
            _ => format!("SELECT * WHERE id >= 0 AND ST_MBRIntersects(where, ST_GeomFromText('{meets}'))"),
        }
        .replace("where,", "\"where\",")
        .replace("where)", "\"where\")");
        let exclusion = with_exclusion.then(|| sent(&misses));
        for (reply, scans) in [
            node.query(plain, &text),
            node.query(indexed, &text),
            node.query_geometries(plain, &sent(&meets), exclusion.as_deref()),
            node.query_geometries(indexed, &sent(&meets), exclusion.as_deref()),
        ] {
            assert_eq!(ids(&reply), expected, "{text}");
            unscanned += u32::from(scans == 0);
        }
        rows += expected.len();
    }
    assert_eq!(unscanned, 3_000, "the index answers all of them");
    assert!(rows > 10_000, "{rows}");
    // Rows that are there nevertheless, and a query that is no bound.
    let (found, scans) = node.query(indexed, "SELECT * WHERE NOT ST_MBRIntersects(\"where\", ST_GeomFromText('POINT(EMPTY)'))");
    let has_value = model.iter().filter(|(_, value)| value.is_some()).map(|(id, _)| *id).collect::<Vec<_>>();
    assert_eq!((ids(&found), scans), (has_value, 1), "who is nowhere meets nothing, and null is neither");
}
