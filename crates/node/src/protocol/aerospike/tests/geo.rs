//! Queries of places and regions: by an index, complete or not, by a filter that looks at every record, and by a model on a sphere.

use super::*;
use model::DataType;
use model::record_set::NewBin;
use model::row::{Cell, Content, RowView};

const GEOJSON: u8 = ParticleType::GeoJson as u8;
const RADIUS_M: f64 = 6_371_000.0;

type Degrees = (f64, f64);

/// What a record has in its bin, or a query asks for.
#[derive(Clone, Debug)]
enum Shape {
    Point(Degrees),
    Circle(Degrees, f64),
    /// A polygon, which the model leaves to the two ways that the server has.
    Polygon(String),
}

fn fraction(rng: &mut Rng) -> f64 {
    rng.below(1 << 53) as f64 / (1_u64 << 53) as f64
}

/// One of few places, so that some are near each other: many at poles and at the 180th meridian.
fn place(rng: &mut Rng) -> Degrees {
    let off = |rng: &mut Rng| rng.below(5) as f64 / 10.0 * (fraction(rng) - 0.5);
    match rng.below(4) {
        0 => (fraction(rng) * 360.0 - 180.0, if rng.below(2) == 0 { 90.0 - off(rng).abs() } else { off(rng).abs() - 90.0 }),
        1 => {
            let off = off(rng);
            (if off < 0.0 { 180.0 + off } else { off - 180.0 }, rng.below(3) as f64 * 10.0)
        }
        2 => (8.5 + off(rng), 47.4 + off(rng)),
        _ => (rng.below(36) as f64 * 10.0 - 180.0, rng.below(19) as f64 * 10.0 - 90.0),
    }
}

fn shape(rng: &mut Rng) -> Shape {
    match rng.below(6) {
        0 | 1 => Shape::Circle(place(rng), 10_f64.powf(1.0 + 6.0 * fraction(rng))),
        2 => {
            let (longitude, latitude) = place(rng);
            let (size, latitude) = (10_f64.powf(-2.0 + 3.0 * fraction(rng)), latitude.clamp(-79.0, 79.0));
            let wrapped = |longitude: f64| (longitude + 540.0).rem_euclid(360.0) - 180.0;
            let corner = |x: f64, y: f64| format!("[{}, {}]", wrapped(longitude + x * size), latitude + y * size);
            Shape::Polygon(format!(
                "[[{0}, {1}, {2}, {3}, {0}]]",
                corner(-1.0, -1.0),
                corner(1.0, -0.8),
                corner(0.9, 1.0),
                corner(-1.0, 0.9)
            ))
        }
        _ => Shape::Point(place(rng)),
    }
}

impl Shape {
    fn text(&self) -> String {
        match self {
            Self::Point((longitude, latitude)) => format!(r#"{{"type": "Point", "coordinates": [{longitude}, {latitude}]}}"#),
            Self::Circle((longitude, latitude), radius_m) => {
                format!(r#"{{"type": "AeroCircle", "coordinates": [[{longitude}, {latitude}], {radius_m}]}}"#)
            }
            Self::Polygon(rings) => format!(r#"{{"type": "Polygon", "coordinates": {rings}}}"#),
        }
    }

    /// Whether one is a circle and the other a point in it; none of polygons, and of what is too near the edge.
    fn meets(&self, other: &Self) -> Option<bool> {
        match (self, other) {
            (Self::Circle(middle, radius_m), Self::Point(point)) | (Self::Point(point), Self::Circle(middle, radius_m)) => {
                let distance_m = distance_m(*middle, *point);
                ((distance_m - radius_m).abs() > 0.01).then_some(distance_m <= *radius_m)
            }
            (Self::Polygon(_), Self::Point(_)) | (Self::Point(_), Self::Polygon(_)) => None,
            _ => Some(false),
        }
    }
}

/// By the haversine.
fn distance_m(one: Degrees, other: Degrees) -> f64 {
    let [(a, b), (c, d)] = [one, other].map(|(longitude, latitude)| (longitude.to_radians(), latitude.to_radians()));
    let half = ((d - b) / 2.0).sin().powi(2) + b.cos() * d.cos() * ((c - a) / 2.0).sin().powi(2);
    2.0 * RADIUS_M * half.sqrt().min(1.0).asin()
}

fn put(node: &mut Node, digest: &Digest, shapes: &[Shape]) {
    let head = |text: String| [&[0, 0, 0], text.as_bytes()].concat();
    let mut list = Vec::new();
    write::list(&mut list, shapes.len(), 0);
    shapes.iter().for_each(|shape| write::typed(&mut list, ParticleType::GeoJson, shape.text().as_bytes()));
    let first = shapes.first().map(|shape| head(shape.text()));
    let mut bins = vec![BinOperation { code: code::WRITE, particle: ParticleType::List as u8, name: b"l", value: &list }];
    bins.extend(first.as_ref().map(|value| BinOperation { code: code::WRITE, particle: GEOJSON, name: b"g", value }));
    let reply = node.serve(&message(&[(field::DIGEST, digest)], &bins, [0, info2::WRITE, info3::CREATE_OR_REPLACE], 0)).unwrap();
    assert_eq!(Message::decode(&reply[HEADER_BYTES..]).map_or(reply[5], |message| message.result.0), 0);
}

/// A query of the bin `g`, or of the elements of the list `l`.
fn query(shape: &Shape, of_list: bool) -> Query {
    let text = shape.text();
    Query::new(if of_list { "l" } else { "g" }, GEOJSON, (text.as_bytes(), text.as_bytes()), of_list.into(), &[], |_| true)
}

/// A scan of the records whose bin `g` meets a shape.
fn filtered(shape: &Shape) -> Query {
    let mut condition = Vec::new();
    write::list(&mut condition, 3, 0);
    write::integer(&mut condition, 8);
    write::list(&mut condition, 3, 0);
    write::integer(&mut condition, 81);
    write::integer(&mut condition, 8);
    write::raw(&mut condition, b"g");
    write::typed(&mut condition, ParticleType::GeoJson, shape.text().as_bytes());
    Query { fields: vec![(field::FILTER, condition)], is_met: Box::new(|_| true) }
}

const CREATE: [(&str, &str); 2] = [
    ("place", "sindex-create:ns=test;set=s;indexname=place;indexdata=g,GEO2DSPHERE"),
    ("places", "sindex-create:ns=test;set=s;indexname=places;indextype=LIST;indexdata=l,geo2dsphere"),
];

#[test]
fn queries_of_places_give_what_a_look_at_all_records_gives() {
    let mut found = 0;
    for seed in 0..8 {
        let rng = &mut Rng::new(seed);
        let (mut node, mut records) = (Node::new(), BTreeMap::<Digest, Vec<Shape>>::new());
        node.change(CREATE[0].1);
        for step in 0..400 {
            let digest = digest(rng);
            if rng.below(6) == 0 {
                node.delete(&digest);
                records.remove(&digest);
            } else {
                let shapes: Vec<Shape> = (0..rng.below(4)).map(|_| shape(rng)).collect();
                put(&mut node, &digest, &shapes);
                records.insert(digest, shapes);
            }
            match step {
                100 => node.change(CREATE[1].1),
                200 => CREATE.iter().for_each(|(name, _)| node.backfill(name, &SLOTS[..3])),
                _ => {}
            }
            if step % 4 == 0 && step > 100 {
                let (asked, page) = (shape(rng), 1 + rng.below(40));
                let by_index = node.query(&query(&asked, false), page).unwrap();
                assert_eq!(by_index, node.query(&filtered(&asked), page).unwrap(), "seed {seed}, step {step}, {asked:?}");
                let of_lists = node.query(&query(&asked, true), page).unwrap();
                for (digest, shapes) in &records {
                    let said: Vec<Option<bool>> = shapes.iter().map(|shape| asked.meets(shape)).collect();
                    if let Some(Some(said)) = said.first() {
                        assert_eq!(by_index.contains(digest), *said, "seed {seed}, step {step}, {asked:?}, {shapes:?}");
                    }
                    if said.iter().all(Option::is_some) || said.contains(&Some(true)) {
                        assert_eq!(
                            of_lists.contains(digest),
                            said.contains(&Some(true)),
                            "seed {seed}, step {step}, {asked:?}, {shapes:?}"
                        );
                    }
                }
                assert!(by_index.is_subset(&of_lists), "the bin's shape is the list's first");
                found += of_lists.len();
            }
        }
    }
    assert!(found > 1_000, "{found}");
}

/// One entry of a point, few of a region; what stays as it is has its entries still.
#[test]
fn a_write_changes_the_entries_of_shapes_that_it_changes() {
    let (mut node, digest) = (Node::new(), digest(&mut Rng::new(1)));
    CREATE.iter().for_each(|(_, create)| node.change(create));
    let point = |longitude| Shape::Point((longitude, 47.4));
    put(&mut node, &digest, &[point(8.5), point(9.5)]);
    assert_eq!(node.entries_changed, 3);
    put(&mut node, &digest, &[point(8.5), point(9.6)]);
    assert_eq!(node.entries_changed, 2);
    put(&mut node, &digest, &[point(8.5), point(9.6)]);
    assert_eq!(node.entries_changed, 0);
    put(&mut node, &digest, &[point(8.5), point(9.6), Shape::Circle((0.0, 0.0), 1e6)]);
    assert!((1..=8).contains(&node.entries_changed), "{}", node.entries_changed);
    assert_eq!(node.query(&query(&point(0.0), true), 3).unwrap().len(), 0, "it is at 47 degrees of latitude");
    assert_eq!(node.query(&query(&Shape::Point((8.9, 0.1)), true), 3).unwrap().len(), 1);
}

/// Entries of places are looked at once the index is complete, wherever they are.
#[test]
fn a_complete_index_of_places_is_used_also_on_the_device() {
    let (mut node, rng) = (Node::new(), &mut Rng::new(2));
    node.change(CREATE[0].1);
    let digests: BTreeSet<Digest> = (0..200).map(|_| digest(rng)).collect();
    for (number, digest) in digests.iter().enumerate() {
        put(&mut node, digest, &[Shape::Point((number as f64 / 10.0, 0.0))]);
    }
    node.backfill("place", &SLOTS);
    node.rows.is_cold = true;
    let runs = node.runs;
    let asked = query(&Shape::Circle((0.0, 0.0), 1e7), false);
    assert_eq!(node.query(&asked, 1_000).unwrap(), digests);
    assert!(node.runs - runs < 1_000, "{} parts", node.runs - runs);
    let entries = node.table().indexes["place"].id;
    node.rows.rows.retain(|key, _| key.0 != entries || key.3.len() == 1);
    assert!(node.query(&asked, 1_000).unwrap().is_empty());
}

/// A polygon of so many edges around 0, 0, one degree wide to each side.
fn polygon(edges: usize) -> Shape {
    let corner = |n: usize| {
        let (y, x) = ((n % edges) as f64 / edges as f64 * std::f64::consts::TAU).sin_cos();
        format!("[{x}, {y}]")
    };
    Shape::Polygon(format!("[[{}]]", (0..=edges).map(corner).collect::<Vec<_>>().join(", ")))
}

/// How many records a query gives without their bins, and how many parts that takes.
fn looked(node: &mut Node, query: &Query) -> (usize, u64) {
    let pids: Vec<u8> = SLOTS.iter().flat_map(|slot| slot.to_le_bytes()).collect();
    let mut fields = vec![(field::PARTITIONS, &pids[..])];
    fields.extend(query.fields.iter().map(|(kind, data)| (*kind, &data[..])));
    let runs = node.runs;
    let reply = node.serve(&message(&fields, &[], [info1::READ | info1::NO_BINS, 0, info3::PARTITION_DONE], 0)).unwrap();
    let (mut rest, mut found) = (&reply[..], 0);
    while let Some(header) = Header::read(rest, 1 << 30).unwrap() {
        let (mut body, next) = rest[HEADER_BYTES..].split_at(header.body_bytes);
        while !body.is_empty() {
            let (said, following) = Message::read(body).unwrap();
            assert_eq!(said.result, ResultCode::OK);
            found += usize::from(said.fields.digest.is_some());
            body = following;
        }
        rest = next;
    }
    (found, node.runs - runs)
}

/// What is read counts, also of records of which only the digest is given.
#[test]
fn a_part_of_a_query_reads_a_bounded_number_of_bytes() {
    let (mut node, rng) = (Node::new(), &mut Rng::new(3));
    node.change(CREATE[0].1);
    let region = polygon(3_000);
    let digests: BTreeSet<Digest> = (0..100).map(|_| digest(rng)).collect();
    digests.iter().for_each(|digest| put(&mut node, digest, std::slice::from_ref(&region)));
    node.backfill("place", &SLOTS);
    let (found, parts) = looked(&mut node, &query(&Shape::Point((0.0, 0.0)), false));
    let least = (digests.len() * region.text().len()) >> 20;
    assert!(found == digests.len() && least > 5 && parts >= least as u64, "{found} in {parts} parts, not {least}");
}

/// Edges count for each value of a list, of records that are looked at by an index or without one.
#[test]
fn a_query_looks_at_fewer_records_the_more_values_they_have() {
    let (mut node, rng) = (Node::new(), &mut Rng::new(5));
    node.change(CREATE[1].1);
    let digests: BTreeSet<Digest> = (0..100).map(|_| digest(rng)).collect();
    let mut shapes = vec![Shape::Point((0.9, 0.9)); 10];
    shapes.push(Shape::Point((0.0, 0.0)));
    digests.iter().for_each(|digest| put(&mut node, digest, &shapes));
    for is_complete in [false, true] {
        let [few, many] = [4, 4_000].map(|edges| {
            let (found, parts) = looked(&mut node, &query(&polygon(edges), true));
            assert_eq!(found, digests.len());
            parts
        });
        // 350 kB a record.
        assert!(many - few >= 15, "{few} and {many} parts");
        if !is_complete {
            node.backfill("places", &SLOTS);
        }
    }
}

#[test]
fn values_of_a_record_are_asked_up_to_a_bound() {
    let (mut node, rng) = (Node::new(), &mut Rng::new(6));
    node.change(CREATE[1].1);
    // 160 kB a value: 16 MiB are 105.
    for outside in [100, 120, 5_000] {
        let mut shapes = vec![Shape::Point((50.0, 0.0)); outside];
        shapes.push(Shape::Point((0.0, 0.0)));
        put(&mut node, &digest(rng), &shapes);
    }
    assert_eq!([20_000, 4].map(|edges| looked(&mut node, &query(&polygon(edges), true)).0), [1, 3]);
}

/// A bin that was there before columns were texts keeps its form; clients see none of that.
#[test]
fn bins_of_former_versions_are_read_written_and_found() {
    for data_type in [DataType::Blob, DataType::Text] {
        let (mut node, rng) = (Node::new(), &mut Rng::new(4));
        let bin = NewBin { name: "g".to_owned(), kind: GEOJSON, kind_name: "geojson", data_type: data_type.clone() };
        node.schema = node.schema.declare_bins("test", "s", &[bin], 1).unwrap().unwrap().schema;
        assert_eq!(node.schema.has_geospatial_bins(), data_type == DataType::Text);
        node.change(CREATE[0].1);
        assert!(node.schema.has_geospatial_bins());
        let (digest, point) = (digest(rng), Shape::Point((8.5, 47.4)));
        put(&mut node, &digest, std::slice::from_ref(&point));
        let head = [&[0, 0, 0], point.text().as_bytes()].concat();
        let is_head = |cell: Cell<'_>| matches!(cell.content, Content::Value(value) if value == head);
        let has_head = node.rows.rows.values().any(|row| RowView::new(row).cells().any(is_head));
        assert_eq!(has_head, data_type == DataType::Blob);
        node.backfill("place", &SLOTS);
        assert_eq!(node.query(&query(&Shape::Circle((8.5, 47.4), 1.0), false), 3).unwrap(), BTreeSet::from([digest]));
        let reply = node.serve(&message(&[(field::DIGEST, &digest)], &[], [info1::READ | info1::GET_ALL, 0, 0], 0)).unwrap();
        assert!(reply.windows(head.len()).any(|window| window == head), "{reply:?}");
    }
}
