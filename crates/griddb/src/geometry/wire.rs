//! Geometries as clients send and get them, little-endian.
//!
//! | bytes | what |
//! |---|---|
//! | 2 | the kind's number |
//! | 4 | the spatial reference system, or −1 |
//! | 1 | dimensions: 0 of one that is nowhere, which ends here; 2; 3 |
//! | 24 a point | x, y, z, where z is no number in two dimensions |
//!
//! A line has the number of its points before them, in 2 bytes, a polygon that of its holes, a polyhedral surface that of its polygons. A quadratic surface
//! has two bytes of zero and 16 numbers, of which the last three say nothing.

use super::bounds::{Dimensions, Point};
use super::error::{GEOMETRY_BYTES_MAX, GeometryError};
use super::shape::{Kind, Shape};
use super::surface::Surface;
use super::value::Geometry;
use crate::wire::{Reader, put_i16, put_i32};

const HEAD_BYTES: usize = 7;
const POINT_BYTES: usize = 24;
const COUNT_BYTES: usize = 2;
/// Numbers at the end of a quadratic surface that say nothing.
const EXTRA_TERMS: usize = 3;
const SURFACE_BYTES: usize = 2 + (13 + EXTRA_TERMS) * 8;

impl Geometry {
    /// Reads one that a client has sent.
    ///
    /// # Errors
    /// The bytes are none, or are no geometry that can be.
    pub fn of_wire(bytes: &[u8]) -> Result<Self, GeometryError> {
        if bytes.len() > GEOMETRY_BYTES_MAX {
            return Err(GeometryError::Size);
        }
        let mut wire = Wire(Reader::new(bytes));
        let number = wire.i16()?;
        let kind = Kind::ALL.iter().find(|(kind, _)| *kind as i16 == number).map(|(kind, _)| *kind).ok_or(GeometryError::Bytes)?;
        let srid = wire.0.i32().map_err(|_| GeometryError::Bytes)?;
        let dimensions = match wire.0.u8() {
            Ok(0) => return if wire.0.rest().is_empty() { Ok(Self::empty(kind)) } else { Err(GeometryError::Bytes) },
            Ok(2) => Dimensions::Two,
            Ok(3) => Dimensions::Three,
            _ => return Err(GeometryError::Bytes),
        };
        let shape = match kind {
            Kind::Point => Shape::Point(wire.point(dimensions)?),
            Kind::LineString => Shape::LineString(wire.line(dimensions)?),
            Kind::Polygon => Shape::Polygon(wire.polygon(dimensions)?),
            Kind::PolyhedralSurface => {
                let count = wire.count(0)?;
                Shape::PolyhedralSurface((0..count).map(|_| wire.polygon(dimensions)).collect::<Result<_, _>>()?)
            }
            Kind::QuadraticSurface => Shape::QuadraticSurface(wire.surface()?),
        };
        if wire.0.rest().is_empty() { Self::new(shape, dimensions, srid) } else { Err(GeometryError::Bytes) }
    }

    /// The bytes that clients get.
    #[must_use]
    pub fn to_wire(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.wire_bytes());
        self.put_wire(&mut out);
        out
    }

    /// How many bytes clients get.
    pub(crate) fn wire_bytes(&self) -> usize {
        let line = |points: &Vec<Point>| COUNT_BYTES + points.len() * POINT_BYTES;
        let polygon = |rings: &Vec<Vec<Point>>| COUNT_BYTES + rings.iter().map(line).sum::<usize>();
        HEAD_BYTES
            + match &self.shape {
                Shape::Empty(_) => 0,
                Shape::Point(_) => POINT_BYTES,
                Shape::LineString(points) => line(points),
                Shape::Polygon(rings) => polygon(rings),
                Shape::PolyhedralSurface(faces) => COUNT_BYTES + faces.iter().map(polygon).sum::<usize>(),
                Shape::QuadraticSurface(_) => SURFACE_BYTES,
            }
    }

    /// Appends it as clients get it.
    pub(crate) fn put_wire(&self, out: &mut Vec<u8>) {
        let dimensions = self.dimensions;
        put_i16(out, self.kind() as i16);
        put_i32(out, self.srid);
        out.push(match (&self.shape, dimensions) {
            (Shape::Empty(_), _) => 0,
            (_, Dimensions::Two) => 2,
            (_, Dimensions::Three) => 3,
        });
        match &self.shape {
            Shape::Empty(_) => {}
            Shape::Point(point) => put_point(point, dimensions, out),
            Shape::LineString(points) => put_line(points, dimensions, out),
            Shape::Polygon(rings) => put_polygon(rings, dimensions, out),
            Shape::PolyhedralSurface(faces) => {
                put_i16(out, faces.len() as i16);
                faces.iter().for_each(|face| put_polygon(face, dimensions, out));
            }
            Shape::QuadraticSurface(surface) => {
                put_i16(out, 0);
                surface.terms.iter().chain(&[0.0; EXTRA_TERMS]).for_each(|term| out.extend_from_slice(&term.to_le_bytes()));
            }
        }
    }

    /// Appends what a client gets of a cell: a point that is nowhere if there is none, or it is no geometry.
    pub(crate) fn put_wire_of_cell(cell: Option<&[u8]>, out: &mut Vec<u8>) {
        let geometry = cell.and_then(|cell| std::str::from_utf8(cell).ok()).and_then(|text| Self::parse(text).ok());
        let geometry = geometry.unwrap_or_else(|| Self::empty(Kind::Point));
        crate::wire::put_var_size(out, geometry.wire_bytes());
        geometry.put_wire(out);
    }
}

struct Wire<'a>(Reader<'a>);

impl Wire<'_> {
    fn i16(&mut self) -> Result<i16, GeometryError> {
        self.0.i16().map_err(|_| GeometryError::Bytes)
    }

    fn number(&mut self) -> Result<f64, GeometryError> {
        self.0.i64().map(|bits| f64::from_bits(bits as u64)).map_err(|_| GeometryError::Bytes)
    }

    /// A number of things, and so many more.
    fn count(&mut self, more: usize) -> Result<usize, GeometryError> {
        usize::try_from(self.i16()?).map(|count| count + more).map_err(|_| GeometryError::Bytes)
    }

    fn point(&mut self, dimensions: Dimensions) -> Result<Point, GeometryError> {
        let point = [self.number()?, self.number()?, self.number()?];
        Ok(if dimensions == Dimensions::Two { [point[0], point[1], 0.0] } else { point })
    }

    fn line(&mut self, dimensions: Dimensions) -> Result<Vec<Point>, GeometryError> {
        let count = self.count(0)?;
        (0..count).map(|_| self.point(dimensions)).collect()
    }

    fn polygon(&mut self, dimensions: Dimensions) -> Result<Vec<Vec<Point>>, GeometryError> {
        let count = self.count(1)?;
        (0..count).map(|_| self.line(dimensions)).collect()
    }

    fn surface(&mut self) -> Result<Surface, GeometryError> {
        if self.i16()? != 0 {
            return Err(GeometryError::Bytes);
        }
        let mut terms = [0.0; 13];
        for term in &mut terms {
            *term = self.number()?;
        }
        for _ in 0..EXTRA_TERMS {
            self.number()?;
        }
        Ok(Surface { terms })
    }
}

fn put_point(point: &Point, dimensions: Dimensions, out: &mut Vec<u8>) {
    let z = if dimensions == Dimensions::Two { f64::NAN } else { point[2] };
    [point[0], point[1], z].iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
}

fn put_line(points: &[Point], dimensions: Dimensions, out: &mut Vec<u8>) {
    put_i16(out, points.len() as i16);
    points.iter().for_each(|point| put_point(point, dimensions, out));
}

fn put_polygon(rings: &[Vec<Point>], dimensions: Dimensions, out: &mut Vec<u8>) {
    put_i16(out, rings.len() as i16 - 1);
    rings.iter().for_each(|ring| put_line(ring, dimensions, out));
}
