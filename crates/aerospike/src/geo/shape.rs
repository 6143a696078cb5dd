//! What a GeoJSON text says: a point or a region.

use super::place::{self, Place, Unit};
use super::polygon::Polygon;

/// The radius of the sphere, in metres, by which circles are measured.
const RADIUS_M: f64 = 6_371_000.0;

/// An edge of a region takes as long as so many bytes of a row.
const EDGE_BYTES: usize = 8;

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
    /// As many bytes of a row as take as long to look at as a place that may be in it.
    pub(crate) fn bytes_a_place(&self) -> usize {
        match self {
            Self::Region(region) => region.edges() * EDGE_BYTES,
            Self::Point(_) => 0,
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

/// How closely a region is compared with cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// Edge by edge, or as the circle that it is.
    Edges,
    /// As the circles around its polygons.
    Circles,
    /// Not at all: it may be everywhere.
    Nothing,
}

impl Region {
    fn edges(&self) -> usize {
        match self {
            Self::Circle { .. } => 0,
            Self::Polygons(polygons) => polygons.iter().map(Polygon::edges).sum(),
        }
    }

    /// How closely it is compared where `left` edges or circles may still be, each of which is looked at for each cell. One circle always may.
    pub(super) fn detail(&self, left: &mut usize) -> Detail {
        let Self::Polygons(polygons) = self else { return Detail::Edges };
        let (edges, circles) = (self.edges(), polygons.len());
        let (detail, taken) = if edges <= *left {
            (Detail::Edges, edges)
        } else if circles <= (*left).max(1) {
            (Detail::Circles, circles)
        } else {
            (Detail::Nothing, 0)
        };
        *left = left.saturating_sub(taken);
        detail
    }

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
    pub(super) fn may_be_near(&self, unit: Unit, wanted: f64, detail: Detail) -> bool {
        let nearest = |polygons: &[Polygon], angle: &dyn Fn(&Polygon) -> f64| polygons.iter().map(angle).fold(f64::MAX, f64::min);
        let at_least = match (self, detail) {
            (Self::Circle { middle, angle }, _) => place::angle(*middle, unit) - angle,
            (Self::Polygons(polygons), Detail::Edges) => nearest(polygons, &|polygon| polygon.angle_to_edges(unit, wanted)),
            (Self::Polygons(polygons), Detail::Circles) => nearest(polygons, &|polygon| polygon.angle_to_circle(unit)),
            (Self::Polygons(_), Detail::Nothing) => return true,
        };
        at_least <= wanted + 2.0 * super::polygon::SLACK
    }
}
