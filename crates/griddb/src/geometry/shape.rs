//! Where a geometry is: its kind, and its points.

use super::bounds::{Dimensions, Point};
use super::error::GeometryError;
use super::surface::Surface;

/// What a geometry is, numbered as in the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i16)]
#[allow(missing_docs, reason = "named as in the well-known text")]
pub enum Kind {
    Point = 0,
    LineString = 1,
    Polygon = 4,
    PolyhedralSurface = 9,
    QuadraticSurface = 10,
}

impl Kind {
    pub(super) const ALL: [(Self, &'static str); 5] = [
        (Self::Point, "POINT"),
        (Self::LineString, "LINESTRING"),
        (Self::Polygon, "POLYGON"),
        (Self::PolyhedralSurface, "POLYHEDRALSURFACE"),
        (Self::QuadraticSurface, "QUADRATICSURFACE"),
    ];

    pub(super) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

/// Where a geometry is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    Empty(Kind),
    Point(Point),
    LineString(Vec<Point>),
    /// The ring around it, then those of its holes.
    Polygon(Vec<Vec<Point>>),
    PolyhedralSurface(Vec<Vec<Vec<Point>>>),
    QuadraticSurface(Surface),
}

impl Shape {
    /// All points of a shape.
    pub(super) fn points(&self) -> Box<dyn Iterator<Item = &Point> + '_> {
        match self {
            Shape::Empty(_) | Shape::QuadraticSurface(_) => Box::new(std::iter::empty()),
            Shape::Point(point) => Box::new(std::iter::once(point)),
            Shape::LineString(points) => Box::new(points.iter()),
            Shape::Polygon(rings) => Box::new(rings.iter().flatten()),
            Shape::PolyhedralSurface(faces) => Box::new(faces.iter().flatten().flatten()),
        }
    }

    /// Refuses what cannot be.
    pub(super) fn check(&self, dimensions: Dimensions) -> Result<(), GeometryError> {
        const COUNT_MAX: usize = i16::MAX as usize;
        let looked_at = if dimensions == Dimensions::Two { 2 } else { 3 };
        if !self.points().all(|point| point[..looked_at].iter().all(|value| value.is_finite())) {
            return Err(GeometryError::NotFinite);
        }
        let is_area = |rings: &Vec<Vec<Point>>| !rings.is_empty() && rings.iter().all(|ring| ring.len() >= 3);
        let is_large = |rings: &Vec<Vec<Point>>| rings.len() > COUNT_MAX || rings.iter().any(|ring| ring.len() > COUNT_MAX);
        let (is_whole, is_too_large) = match self {
            Shape::Empty(_) | Shape::Point(_) => (true, false),
            Shape::LineString(points) => (points.len() >= 2, points.len() > COUNT_MAX),
            Shape::Polygon(rings) => (is_area(rings), is_large(rings)),
            Shape::PolyhedralSurface(faces) => {
                let is_whole = dimensions == Dimensions::Three && !faces.is_empty() && faces.iter().all(is_area);
                (is_whole, faces.len() > COUNT_MAX || faces.iter().any(is_large))
            }
            Shape::QuadraticSurface(surface) if !surface.is_finite() => return Err(GeometryError::NotFinite),
            Shape::QuadraticSurface(_) => (dimensions == Dimensions::Three, false),
        };
        match (is_whole, is_too_large) {
            (false, _) => Err(GeometryError::Points),
            (_, true) => Err(GeometryError::Size),
            _ => Ok(()),
        }
    }
}
