//! What a GeoJSON text says: a point or a region.

use super::place::{self, Place, Unit};
use super::polygon::Polygon;

/// The radius of the sphere, in metres, by which circles are measured.
const RADIUS_M: f64 = 6_371_000.0;

/// A point or a region.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Point(Place),
    Region(Region),
}

/// A part of the sphere.
#[derive(Clone, Debug)]
pub(crate) enum Region {
    Circle { middle: Unit, angle: f64 },
    Polygons(Vec<Polygon>),
}

impl Shape {
    /// How many edges it has, each of which is looked at for a place.
    pub(crate) fn edges(&self) -> usize {
        match self {
            Self::Region(Region::Polygons(polygons)) => polygons.iter().map(Polygon::edges).sum(),
            Self::Point(_) | Self::Region(Region::Circle { .. }) => 0,
        }
    }

    /// Whether one is a region, and the other a point in it.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Region(region), Self::Point(place)) | (Self::Point(place), Self::Region(region)) => region.has(*place),
            _ => false,
        }
    }
}

impl Region {
    /// The circle around a place; none if its radius is none.
    pub(super) fn circle(middle: Place, radius_m: f64) -> Option<Self> {
        (radius_m >= 0.0).then(|| Self::Circle { middle: middle.unit(), angle: radius_m / RADIUS_M })
    }

    fn has(&self, place: Place) -> bool {
        match self {
            Self::Circle { middle, angle } => place::angle(*middle, place.unit()) <= *angle,
            Self::Polygons(polygons) => polygons.iter().any(|polygon| polygon.has(place)),
        }
    }

    /// Whether it may have something within an angle of a direction.
    pub(super) fn may_be_near(&self, unit: Unit, wanted: f64) -> bool {
        let at_least = match self {
            Self::Circle { middle, angle } => place::angle(*middle, unit) - angle,
            Self::Polygons(polygons) => polygons.iter().map(|polygon| polygon.angle_at_least(unit, wanted)).fold(f64::MAX, f64::min),
        };
        at_least <= wanted + 2.0 * super::polygon::SLACK
    }
}
