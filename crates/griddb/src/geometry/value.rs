//! A value of GEOMETRY.

use super::bounds::{Bounds, Dimensions, Point};
use super::error::{GEOMETRY_BYTES_MAX, GeometryError};
use super::shape::{Kind, Shape};

/// What a geometry has that says nothing of its spatial reference system.
pub const NO_SRID: i32 = -1;

/// A value of GEOMETRY. It is whole: no number in it is infinite or none.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    pub(super) shape: Shape,
    pub(super) dimensions: Dimensions,
    pub(super) srid: i32,
    pub(super) bounds: Option<Bounds>,
}

impl Geometry {
    /// One that is nowhere.
    pub(crate) fn empty(kind: Kind) -> Self {
        Self { shape: Shape::Empty(kind), dimensions: Dimensions::Two, srid: NO_SRID, bounds: None }
    }

    /// One of this shape.
    pub(crate) fn new(shape: Shape, dimensions: Dimensions, srid: i32) -> Result<Self, GeometryError> {
        shape.check(dimensions)?;
        let bounds = Bounds::of(shape.points(), dimensions);
        let geometry = Self { shape, dimensions, srid, bounds };
        if geometry.wire_bytes() > GEOMETRY_BYTES_MAX { Err(GeometryError::Size) } else { Ok(geometry) }
    }

    /// Its spatial reference system; −1 if it says none.
    #[must_use]
    pub fn srid(&self) -> i32 {
        self.srid
    }

    /// The box around it; none if it is nowhere, or a quadratic surface.
    #[must_use]
    pub fn bounds(&self) -> Option<&Bounds> {
        self.bounds.as_ref()
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.shape {
            Shape::Empty(kind) => kind,
            Shape::Point(_) => Kind::Point,
            Shape::LineString(_) => Kind::LineString,
            Shape::Polygon(_) => Kind::Polygon,
            Shape::PolyhedralSurface(_) => Kind::PolyhedralSurface,
            Shape::QuadraticSurface(_) => Kind::QuadraticSurface,
        }
    }

    /// Whether the boxes around both have something in common.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        self.bounds.zip(other.bounds).is_some_and(|(one, other)| one.meets(&other))
    }

    /// Whether it is a quadratic surface that goes through the box around another one, which has three dimensions.
    #[must_use]
    pub fn cuts(&self, other: &Self) -> bool {
        match (&self.shape, &other.bounds) {
            (Shape::QuadraticSurface(surface), Some(bounds)) if other.dimensions == Dimensions::Three => surface.cuts(bounds),
            _ => false,
        }
    }

    /// The point that it is.
    pub(crate) fn point(&self) -> Option<Point> {
        if let Shape::Point(point) = self.shape { Some(point) } else { None }
    }

    /// Bytes that it has in memory beyond its own size.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of::<Self>() + self.wire_bytes()
    }
}
