//! Polygons, whose edges are the shortest ways on the sphere.
//!
//! A ring parts the sphere in two: its inside is the smaller part, whichever way it goes around. What is on a ring is of the polygon, also on that of a hole.

use super::place::{self, Place, Unit};
use std::f64::consts::{FRAC_PI_2, PI};

/// A ring, and what surely is around it and its inside.
#[derive(Clone, Debug)]
struct Ring {
    /// Counterclockwise around the inside, unless it is in half of the sphere.
    places: Vec<Place>,
    middle: Unit,
    /// The angle within which all of it is.
    radius: f64,
    /// It is in less than half of the sphere: what is not is outside of it.
    is_in_half: bool,
}

/// A ring without holes in it.
#[derive(Clone, Debug)]
pub(crate) struct Polygon {
    outer: Ring,
    holes: Vec<Ring>,
}

/// Angles are computed this well, with room to spare: half a millimetre on Earth.
pub(super) const SLACK: f64 = 1e-10;

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
        let sum = places.iter().map(|place| place.unit()).fold([0.0; 3], |sum, unit| [0, 1, 2].map(|axis| sum[axis] + unit[axis]));
        let has_middle = place::product(sum, sum) > 1e-12;
        let middle = if has_middle { place::normalized(sum) } else { places[0].unit() };
        let radius = places.iter().map(|place| place::angle(place.unit(), middle)).fold(0.0, f64::max);
        let is_in_half = has_middle && radius < FRAC_PI_2 - SLACK;
        let mut ring = Self { places, middle, radius: if is_in_half { radius } else { PI }, is_in_half };
        if ring.edges().any(|(from, to)| from.between(to).is_none()) {
            return None;
        }
        if !is_in_half && ring.turns() < -1e-9 {
            ring.places.reverse();
        }
        Some(ring)
    }

    fn edges(&self) -> impl Iterator<Item = (Place, Place)> {
        let places = &self.places;
        places.iter().copied().zip(places.iter().copied().skip(1).chain(places.first().copied()))
    }

    /// All turns to the left together: 360 degrees less the area to the left. Of a ring that crosses itself, or goes back on its way, they say nothing.
    fn turns(&self) -> f64 {
        self.edges().zip(self.edges().skip(1).chain(self.edges().next())).map(|((a, b), (_, c))| turn(a, b, c)).sum()
    }

    /// An angle that is not larger than the one between a direction and the nearest of the inside.
    fn angle_to_circle(&self, unit: Unit) -> f64 {
        place::angle(unit, self.middle) - self.radius
    }

    fn has_on_edge(&self, place: Place) -> bool {
        self.edges().any(|(from, to)| place.is_on_edge(from, to))
    }

    /// Whether a place that is on no edge is inside: one goes in and out with each edge on the way from where that is known.
    fn has_within(&self, place: Place) -> bool {
        if self.is_in_half {
            // What is opposite of a corner is outside. To the corner itself there is no one way, but that is on an edge.
            return self.crossings(self.places[0].opposite(), place, None) % 2 == 1;
        }
        let Some((first, (from, to))) = self.edges().enumerate().find(|(_, (from, to))| place.side(*from, *to) != 0) else {
            return false;
        };
        let Some(middle) = from.between(to) else { return false };
        // From the middle of an edge one goes to its inside or away: if no other edge goes there, too.
        (place.side(from, to) > 0) != (self.crossings(middle, place, Some(first)) % 2 == 1)
    }

    /// How many edges, all but one, are on the way from a place to another.
    fn crossings(&self, from: Place, place: Place, but: Option<usize>) -> usize {
        let way = from.cross(place);
        let crosses = |(number, (first, last)): (usize, (Place, Place))| {
            // A corner on the way is to its left: so it counts once, or twice.
            let is_left = place::dot(way, first) >= 0;
            if Some(number) == but || is_left == (place::dot(way, last) >= 0) {
                return false;
            }
            let (end, start) = (place.side(first, last), from.side(first, last));
            if is_left { end > 0 && start < 0 } else { end < 0 && start > 0 }
        };
        self.edges().enumerate().filter(|edge| crosses(*edge)).count()
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
        Some(Self { outer, holes })
    }

    /// How many edges it has.
    pub(super) fn edges(&self) -> usize {
        self.outer.places.len() + self.holes.iter().map(|hole| hole.places.len()).sum::<usize>()
    }

    pub(super) fn has(&self, place: Place) -> bool {
        if self.outer.angle_to_circle(place.unit()) > SLACK || !self.outer.has_on_edge(place) && !self.outer.has_within(place) {
            return false;
        }
        self.holes.iter().all(|hole| hole.has_on_edge(place) || !hole.has_within(place))
    }

    /// An angle that is not larger than the one between a direction and the nearest of the circle around the polygon.
    pub(super) fn angle_to_circle(&self, unit: Unit) -> f64 {
        self.outer.angle_to_circle(unit)
    }

    /// An angle that is not larger than the one between a direction and the nearest of the polygon, if that is at most `wanted`.
    pub(super) fn angle_to_edges(&self, unit: Unit, wanted: f64) -> f64 {
        let to_circle = self.angle_to_circle(unit);
        if to_circle > wanted + SLACK {
            return to_circle;
        }
        let to_edges = self.outer.edges().map(|(from, to)| place::angle_to_edge(unit, from, to)).fold(f64::MAX, f64::min);
        if to_edges > wanted && self.outer.has_within(Place::of_unit(unit)) { 0.0 } else { to_edges }
    }
}
