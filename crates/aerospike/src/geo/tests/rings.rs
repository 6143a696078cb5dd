//! Rings that cross or touch themselves, or go back on their way, against the plane: seen from the middle of the sphere, edges are straight lines there.

use super::*;

/// A plane that touches the sphere at a place.
struct Plane {
    axes: [Unit; 3],
}

impl Plane {
    fn at((longitude, latitude): (f64, f64)) -> Self {
        let middle = Place::of_degrees(longitude, latitude).unwrap().unit();
        let helper = if middle[2].abs() < 0.9 { [0.0, 0.0, 1.0] } else { [1.0, 0.0, 0.0] };
        let cross = |one: Unit, other: Unit| {
            [one[1] * other[2] - one[2] * other[1], one[2] * other[0] - one[0] * other[2], one[0] * other[1] - one[1] * other[0]]
        };
        let east = place::normalized(cross(helper, middle));
        Self { axes: [east, cross(middle, east), middle] }
    }

    /// The degrees of a place of the plane.
    fn degrees(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let [east, north, middle] = &self.axes;
        let to = [0, 1, 2].map(|axis| east[axis] * x + north[axis] * y + middle[axis]);
        (to[1].atan2(to[0]).to_degrees(), to[2].atan2(to[0].hypot(to[1])).to_degrees())
    }

    fn seen(&self, (longitude, latitude): (f64, f64)) -> (f64, f64) {
        let unit = Place::of_degrees(longitude, latitude).unwrap().unit();
        let [x, y, z] = self.axes.map(|axis| place::product(axis, unit));
        (x / z, y / z)
    }
}

/// Whether an odd number of a ring's edges surround a place of the plane; none if it is too near an edge to say.
fn is_surrounded(ring: &[(f64, f64)], (x, y): (f64, f64)) -> Option<bool> {
    let mut is_odd = false;
    for edge in ring.windows(2) {
        let [(a, b), (c, d)] = edge else { return None };
        let (dx, dy) = (c - a, d - b);
        let share = (((x - a) * dx + (y - b) * dy) / (dx * dx + dy * dy).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        if (x - a - share * dx).hypot(y - b - share * dy) < 1e-10 {
            return None;
        }
        is_odd ^= (*b > y) != (*d > y) && x < dx * (y - b) / dy + a;
    }
    Some(is_odd)
}

/// Compares a region with what is expected of a place, and with what an index finds; tells whether the place is inside.
fn compare(region: &Shape, found: &[CellRange], asked: (f64, f64), expected: bool) -> bool {
    let point = point(asked.0, asked.1);
    assert_eq!(region.meets(&point), expected, "{region:?} {asked:?}");
    if expected {
        let entry = point.entries(&mut 0)[0];
        assert!(found.iter().any(|(first, last)| (*first..=*last).contains(&entry)), "a scan finds {asked:?} in {region:?}, but no query");
    }
    expected
}

fn closed(ring: &[(f64, f64)]) -> Vec<(f64, f64)> {
    [ring, &ring[..1]].concat()
}

#[test]
fn spikes_bridges_and_bow_ties_have_an_inside() {
    let rings: [&[(f64, f64)]; 9] = [
        // Spikes: the first edge, on the first edge, elsewhere, and counter to the clock.
        &[(11.0, 12.0), (11.0, 12.5), (11.0, 12.0), (10.0, 12.0), (10.0, 10.0), (12.0, 10.0), (12.0, 12.0)],
        &[(11.0, 12.0), (11.003, 12.5), (11.0, 12.0), (10.0, 12.0), (10.0, 10.0), (12.0, 10.0), (12.0, 12.0)],
        &[(10.0, 10.0), (10.0, 12.0), (11.0, 12.0), (11.0, 12.5), (11.0, 12.0), (12.0, 12.0), (12.0, 10.0)],
        &[(10.0, 10.0), (12.0, 10.0), (12.0, 12.0), (11.0, 12.0), (11.0, 12.5), (11.0, 12.0), (10.0, 12.0)],
        // Bow ties: crossed in the middle of the first edge, with a small lobe, with two of a size.
        &[(-1.0, -1.0), (1.0, 1.0), (1.0, -1.0), (-1.0, 1.0)],
        &[(10.0, 10.0), (13.0, 13.0), (13.0, 10.0), (10.0, 11.0)],
        &[(10.0, 10.0), (12.0, 12.3), (12.0, 10.0), (10.0, 12.0)],
        // Keyholes, which go to a hole and back: from the bridge on, and from elsewhere.
        &[
            (10.0, 10.0),
            (10.5, 10.5),
            (10.5, 11.5),
            (11.5, 11.5),
            (11.5, 10.5),
            (10.5, 10.5),
            (10.0, 10.0),
            (12.0, 10.0),
            (12.0, 12.0),
            (10.0, 12.0),
        ],
        &[
            (12.0, 12.0),
            (10.0, 12.0),
            (10.0, 10.0),
            (10.5, 10.5),
            (10.5, 11.5),
            (11.5, 11.5),
            (11.5, 10.5),
            (10.5, 10.5),
            (10.0, 10.0),
            (12.0, 10.0),
        ],
    ];
    let mut random = Rng::new(0x6E4);
    for ring in rings {
        let plane = Plane::at(ring[0]);
        let drawn: Vec<_> = closed(ring).into_iter().map(|corner| plane.seen(corner)).collect();
        let (mut turned, mut inside) = (closed(ring), 0);
        turned.reverse();
        for ring in [closed(ring), turned] {
            let region = of_type("Polygon", &format!("[{}]", written(&ring))).unwrap();
            let found = ranges(&region);
            for _ in 0..1_000 {
                let asked = (ring[0].0 + 8.0 * (fraction(&mut random) - 0.5), ring[0].1 + 8.0 * (fraction(&mut random) - 0.5));
                let Some(expected) = is_surrounded(&drawn, plane.seen(asked)) else { continue };
                inside += u32::from(compare(&region, &found, asked, expected));
            }
            let (longitude, latitude) = ring[0];
            assert!(
                region.meets(&point(longitude, latitude)) && !region.meets(&point(longitude - 180.0_f64.copysign(longitude), -latitude)),
                "{ring:?}"
            );
        }
        assert!(inside > 30, "{inside} of {ring:?}");
    }
}

/// A ring of corners on a small grid, so that edges meet in corners and middles, with spikes here and there.
fn tangled(random: &mut Rng, size: f64) -> Vec<(f64, f64)> {
    let mut on_grid = || {
        let [x, y] = [(); 2].map(|()| random.below(9) as f64 - 4.0);
        (x * size, y * size)
    };
    let mut ring: Vec<_> = (0..7).map(|_| on_grid()).collect();
    let others = [on_grid(), on_grid()];
    ring.truncate(3 + random.below(5) as usize);
    for other in others.into_iter().take(random.below(3) as usize) {
        let at = random.below(ring.len() as u64) as usize;
        let from = ring[at];
        ring.splice(at..=at, [from, other, from]);
    }
    closed(&ring)
}

/// 6,000 rings, of 1 m to 2,000 km, that mostly cross themselves: each a polygon, or a hole in a square.
#[test]
fn tangled_rings_are_as_in_the_plane() {
    let (mut random, mut inside, mut compared) = (Rng::new(0x6E5), 0, 0);
    let regions = rounds(6_000);
    for _ in 0..regions {
        let plane = Plane::at(if random.below(4) == 0 { (0.0, 0.0) } else { any_place(&mut random) });
        let size = 0.08 * 10_f64.powf(-5.5 * fraction(&mut random));
        let ring = tangled(&mut random, size);
        let is_hole = random.below(3) == 0;
        let around = closed(&[(-5.0, -5.0), (5.0, -5.0), (5.0, 5.0), (-5.0, 5.0)].map(|(x, y)| (x * size, y * size)));
        let text = |ring: &[(f64, f64)]| written(&ring.iter().map(|corner| plane.degrees(*corner)).collect::<Vec<_>>());
        let rings = if is_hole { format!("[{}, {}]", text(&around), text(&ring)) } else { format!("[{}]", text(&ring)) };
        // Some have less than three different corners in turn.
        let Some(region) = of_type("Polygon", &rings) else { continue };
        let found = ranges(&region);
        for _ in 0..8 {
            let asked = [(); 2].map(|()| 9.0 * size * (fraction(&mut random) - 0.5));
            let asked = plane.degrees((asked[0], asked[1]));
            let seen = plane.seen(asked);
            // Corners are rounded: so is what is nearer than some millimetres.
            let is_near = |ring: &[(f64, f64)]| {
                let nudged = [(1e-9, 0.0), (-1e-9, 0.0), (0.0, 1e-9), (0.0, -1e-9)];
                let all: Vec<_> = nudged.map(|(x, y)| is_surrounded(ring, (seen.0 + x, seen.1 + y))).to_vec();
                all.windows(2).any(|pair| pair[0] != pair[1])
            };
            let Some(expected) = is_surrounded(&ring, seen).filter(|_| !is_near(&ring)) else { continue };
            inside += u32::from(compare(&region, &found, asked, expected != is_hole));
            compared += 1;
        }
    }
    assert!(3 * compared > 20 * regions && 3 * inside > 5 * regions && 3 * (compared - inside) > 5 * regions, "{inside} of {compared}");
}

/// A ring of many corners along a line, 10 degrees long and next to nothing wide.
fn thin(edges: usize, latitude: f64) -> String {
    let there = (0..edges / 2).map(|n| (10.0 * n as f64 / edges as f64 * 2.0, latitude));
    let back = (0..edges / 2).rev().map(|n| (10.0 * n as f64 / edges as f64 * 2.0, latitude + 0.01));
    written(&closed(&there.chain(back).collect::<Vec<_>>()))
}

#[test]
fn only_so_many_edges_and_circles_are_compared_with_cells() {
    let covers = |region: &Shape, longitude, latitude| {
        let entry = point(longitude, latitude).entries(&mut 0)[0];
        ranges(region).iter().any(|(first, last)| (*first..=*last).contains(&entry))
    };
    let few = of_type("MultiPolygon", &format!("[[{}], [{}]]", thin(500, 1.0), thin(500, 1.1))).unwrap();
    let many = of_type("MultiPolygon", &format!("[[{}], [{}]]", thin(600, 1.0), thin(600, 1.1))).unwrap();
    assert!(covers(&few, 5.0, 1.0) && !covers(&few, 5.0, 4.5), "edge by edge");
    assert!(covers(&many, 5.0, 1.0) && covers(&many, 5.0, 4.5) && !covers(&many, 50.0, 1.0), "as circles");
    let triangles = |count: usize| {
        let triangles = (0..count).map(|n| format!("[[[{0}, 1], [{0}, 1.001], [1, 1], [{0}, 1]]]", 1.0001 + n as f64 * 1e-7));
        of_type("MultiPolygon", &format!("[{}]", triangles.collect::<Vec<_>>().join(", "))).unwrap()
    };
    let all = Vec::from_iter((0..6).map(|face| face << 61 | 1 << 60));
    assert!(triangles(1_024).entries(&mut { COMPARED_MAX }).iter().all(|cell| !all.contains(cell)));
    assert_eq!(triangles(1_025).entries(&mut { COMPARED_MAX }), all);
    assert!(covers(&triangles(1_025), -170.0, -80.0));
    // What shapes of one cell take is taken together.
    let mut left = COMPARED_MAX;
    let square = of_type("Polygon", &format!("[{SQUARE}]")).unwrap();
    assert_eq!(triangles(200).entries(&mut left), triangles(200).entries(&mut { COMPARED_MAX }));
    assert_eq!(left, COMPARED_MAX - 600);
    triangles(200).entries(&mut left);
    assert_eq!(left, COMPARED_MAX - 800, "200 circles");
    assert_eq!((triangles(225).entries(&mut left), left), (all, 224));
    square.entries(&mut left);
    assert_eq!(left, 220);
}
