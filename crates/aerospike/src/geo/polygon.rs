//! Polygons, whose edges are the shortest ways on the sphere.
//!
//! A ring parts the sphere in two: its inside is the smaller part, whichever way it goes around. What is on a ring is of the polygon, also on that of a hole.

use super::place::{self, Place, Unit};

/// A ring, which goes counterclockwise around its inside.
#[derive(Clone, Debug)]
struct Ring(Vec<Place>);

/// A ring without holes in it, and what surely is around it.
#[derive(Clone, Debug)]
pub(crate) struct Polygon {
    outer: Ring,
    holes: Vec<Ring>,
    middle: Unit,
    /// The angle within which all of it is.
    radius: f64,
}

/// Angles are computed this well, with room to spare: half a millimetre on Earth.
pub(super) const SLACK: f64 = 1e-10;

/// Of a polygon with more edges only the circle around it is compared with a cell: all edges would take too long.
const COMPARED_EDGES_MAX: usize = 1_024;

impl Ring {
    /// The ring of places of which the last is the first again; none if it has no inside or an edge that goes halfway around.
    fn new(mut places: Vec<Place>) -> Option<Self> {
        if places.len() < 4 || places.first() != places.last() {
            return None;
        }
        places.dedup();
        places.pop();
        if places.len() < 3 {
            return None;
        }
        let ring = Self(places);
        if ring.edges().any(|(from, to)| from.between(to).is_none()) {
            return None;
        }
        // All turns together are 360 degrees less the area to the left.
        let turns: f64 = ring.edges().zip(ring.edges().skip(1).chain(ring.edges().next())).map(|((a, b), (_, c))| turn(a, b, c)).sum();
        if turns >= -1e-9 { Some(ring) } else { Some(Self(ring.0.into_iter().rev().collect())) }
    }

    fn edges(&self) -> impl Iterator<Item = (Place, Place)> {
        self.0.iter().copied().zip(self.0.iter().copied().skip(1).chain(self.0.first().copied()))
    }

    fn has_on_edge(&self, place: Place) -> bool {
        self.edges().any(|(from, to)| place.is_on_edge(from, to))
    }

    /// Whether a place that is on no edge is inside: from the middle of an edge one goes to its inside or away, and then in and out with each edge on the way.
    fn has_within(&self, place: Place) -> bool {
        let Some((first, from, to)) =
            self.edges().enumerate().map(|(n, (from, to))| (n, from, to)).find(|(_, from, to)| place.side(*from, *to) != 0)
        else {
            return false;
        };
        let Some(middle) = from.between(to) else { return false };
        let way = middle.cross(place);
        let mut is_inside = place.side(from, to) > 0;
        for (n, (from, to)) in self.edges().enumerate() {
            // A corner on the way is to its left: so it counts once, or twice.
            let is_left = place::dot(way, from) >= 0;
            if n == first || is_left == (place::dot(way, to) >= 0) {
                continue;
            }
            let (end, start) = (place.side(from, to), middle.side(from, to));
            let crosses = if is_left { end > 0 && start < 0 } else { end < 0 && start > 0 };
            is_inside ^= crosses;
        }
        is_inside
    }
}

/// The angle by which one turns to the left at `b`, on the way from `a` to `c`.
fn turn(a: Place, b: Place, c: Place) -> f64 {
    let [before, after] = [a.cross(b), b.cross(c)].map(|normal| normal.map(|number| number as f64));
    let length = b.numbers().iter().map(|number| (*number as f64).powi(2)).sum::<f64>().sqrt();
    (c.side(a, b) as f64 * length).atan2(place::product(before, after))
}

impl Polygon {
    /// The polygon of a ring and those of its holes; none if one of them is none.
    pub(super) fn new(rings: Vec<Vec<Place>>) -> Option<Self> {
        let mut rings = rings.into_iter().map(Ring::new);
        let outer = rings.next()??;
        let holes = rings.collect::<Option<_>>()?;
        let sum = outer.0.iter().map(|place| place.unit()).fold([0.0; 3], |sum, unit| [0, 1, 2].map(|axis| sum[axis] + unit[axis]));
        let has_middle = place::product(sum, sum) > 1e-12;
        let middle = if has_middle { place::normalized(sum) } else { outer.0[0].unit() };
        let radius = outer.0.iter().map(|place| place::angle(place.unit(), middle)).fold(0.0, f64::max);
        // The inside of a ring in less than half of the sphere is there, too.
        let is_in_half = has_middle && radius < std::f64::consts::FRAC_PI_2 - SLACK;
        Some(Self { outer, holes, middle, radius: if is_in_half { radius } else { std::f64::consts::PI } })
    }

    /// How many edges it has.
    pub(super) fn edges(&self) -> usize {
        self.outer.0.len() + self.holes.iter().map(|hole| hole.0.len()).sum::<usize>()
    }

    pub(super) fn has(&self, place: Place) -> bool {
        if place::angle(place.unit(), self.middle) > self.radius + SLACK {
            return false;
        }
        if !self.outer.has_on_edge(place) && !self.outer.has_within(place) {
            return false;
        }
        self.holes.iter().all(|hole| hole.has_on_edge(place) || !hole.has_within(place))
    }

    /// An angle that is not larger than the one between a direction and the nearest of the polygon, if that is at most `wanted`.
    pub(super) fn angle_at_least(&self, unit: Unit, wanted: f64) -> f64 {
        let to_circle = place::angle(unit, self.middle) - self.radius;
        if to_circle > wanted + SLACK || self.outer.0.len() > COMPARED_EDGES_MAX {
            return to_circle;
        }
        let to_edges = self.outer.edges().map(|(from, to)| place::angle_to_edge(unit, from, to)).fold(f64::MAX, f64::min);
        if to_edges > wanted && self.outer.has_within(Place::of_unit(unit)) { 0.0 } else { to_edges }
    }
}
