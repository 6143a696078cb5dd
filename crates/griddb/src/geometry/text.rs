//! Geometries as well-known text: `POINT(1 2)`, `POLYGON((0 0,4 0,4 4,0 0),(1 1,2 1,2 2,1 1);4326)`, `LINESTRING(EMPTY)`.
//!
//! Numbers are written so that they are read as the same ones. How deep brackets are is the kind's, so nothing here calls itself.

use super::bounds::{Dimensions, Point};
use super::error::GeometryError;
use super::shape::{Kind, Shape};
use super::surface::Surface;
use super::value::{Geometry, NO_SRID};
use std::fmt::{self, Write};

/// From here on, and below the other one, a number is written with an exponent.
const LARGE: f64 = 1e16;
const SMALL: f64 = 1e-5;

impl Geometry {
    /// Reads a text. Capitals do not matter, and spaces between the parts do not.
    ///
    /// # Errors
    /// It is none, or is no geometry that can be.
    pub fn parse(text: &str) -> Result<Self, GeometryError> {
        let mut parser = Parser { bytes: text.as_bytes(), at: 0, dimensions: None };
        parser.geometry()
    }
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Those of the first point.
    dimensions: Option<Dimensions>,
}

impl Parser<'_> {
    fn geometry(&mut self) -> Result<Geometry, GeometryError> {
        let word = self.word();
        let kind = Kind::ALL.iter().find(|(_, name)| word.eq_ignore_ascii_case(name.as_bytes())).map(|(kind, _)| *kind);
        let kind = kind.ok_or(GeometryError::Text { at: 0 })?;
        self.expect(b'(')?;
        let before = self.at;
        if self.word().eq_ignore_ascii_case(b"EMPTY") {
            self.expect(b')')?;
            self.end()?;
            return Ok(Geometry::empty(kind));
        }
        self.at = before;
        let shape = match kind {
            Kind::Point => Shape::Point(self.point()?),
            Kind::LineString => Shape::LineString(self.list(Self::point)?),
            Kind::Polygon => Shape::Polygon(self.list(Self::ring)?),
            Kind::PolyhedralSurface => Shape::PolyhedralSurface(self.list(Self::polygon)?),
            Kind::QuadraticSurface => Shape::QuadraticSurface(self.surface()?),
        };
        let srid = self.srid()?;
        self.expect(b')')?;
        self.end()?;
        Geometry::new(shape, self.dimensions.unwrap_or(Dimensions::Three), srid)
    }

    fn polygon(&mut self) -> Result<Vec<Vec<Point>>, GeometryError> {
        self.bracketed(Self::ring)
    }

    fn ring(&mut self) -> Result<Vec<Point>, GeometryError> {
        self.bracketed(Self::point)
    }

    fn bracketed<T>(&mut self, item: fn(&mut Self) -> Result<T, GeometryError>) -> Result<Vec<T>, GeometryError> {
        self.expect(b'(')?;
        let items = self.list(item)?;
        self.expect(b')')?;
        Ok(items)
    }

    fn list<T>(&mut self, item: fn(&mut Self) -> Result<T, GeometryError>) -> Result<Vec<T>, GeometryError> {
        let mut items = vec![item(self)?];
        while self.takes(b',') {
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn point(&mut self) -> Result<Point, GeometryError> {
        let mut point = [self.number()?, self.number()?, 0.0];
        let has_third = !matches!(self.peek(), None | Some(b',' | b')' | b';'));
        if has_third {
            point[2] = self.number()?;
        }
        let dimensions = if has_third { Dimensions::Three } else { Dimensions::Two };
        if *self.dimensions.get_or_insert(dimensions) == dimensions { Ok(point) } else { Err(GeometryError::Dimensions) }
    }

    fn surface(&mut self) -> Result<Surface, GeometryError> {
        let mut terms = [0.0; 13];
        for term in &mut terms {
            *term = self.number()?;
        }
        // Three that clients may write after them, and nothing looks at.
        while !matches!(self.peek(), None | Some(b')' | b';')) {
            self.number()?;
        }
        Ok(Surface { terms })
    }

    fn srid(&mut self) -> Result<i32, GeometryError> {
        if !self.takes(b';') {
            return Ok(NO_SRID);
        }
        let at = self.at;
        std::str::from_utf8(self.word()).ok().and_then(|word| word.parse().ok()).ok_or(GeometryError::Text { at })
    }

    fn number(&mut self) -> Result<f64, GeometryError> {
        let at = self.at;
        let number = std::str::from_utf8(self.word()).ok().and_then(|word| word.parse::<f64>().ok());
        let number = number.ok_or(GeometryError::Text { at })?;
        if number.is_finite() { Ok(number) } else { Err(GeometryError::NotFinite) }
    }

    /// What there is up to a space or a sign that parts.
    fn word(&mut self) -> &[u8] {
        self.skip_spaces();
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|byte| byte.is_ascii_whitespace() || b"(),;".contains(byte)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn skip_spaces(&mut self) {
        self.at += self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    }

    fn peek(&mut self) -> Option<u8> {
        self.skip_spaces();
        self.bytes.get(self.at).copied()
    }

    fn takes(&mut self, sign: u8) -> bool {
        let found = self.peek() == Some(sign);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: u8) -> Result<(), GeometryError> {
        if self.takes(sign) { Ok(()) } else { Err(GeometryError::Text { at: self.at }) }
    }

    fn end(&mut self) -> Result<(), GeometryError> {
        if self.peek().is_none() { Ok(()) } else { Err(GeometryError::Text { at: self.at }) }
    }
}

impl fmt::Display for Geometry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(self, out)
    }
}

fn write(geometry: &Geometry, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let dimensions = geometry.dimensions;
    out.write_str(geometry.kind().name())?;
    out.write_char('(')?;
    match &geometry.shape {
        Shape::Empty(_) => return out.write_str("EMPTY)"),
        Shape::Point(point) => write_point(point, dimensions, out)?,
        Shape::LineString(points) => write_ring(points, dimensions, out)?,
        Shape::Polygon(rings) => write_polygon(rings, dimensions, out)?,
        Shape::PolyhedralSurface(faces) => write_list(faces, out, |face, out| bracketed(out, |out| write_polygon(face, dimensions, out)))?,
        Shape::QuadraticSurface(surface) => write_numbers(&surface.terms, out)?,
    }
    if geometry.srid != NO_SRID {
        write!(out, ";{}", geometry.srid)?;
    }
    out.write_char(')')
}

fn write_polygon(rings: &[Vec<Point>], dimensions: Dimensions, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    write_list(rings, out, |ring, out| bracketed(out, |out| write_ring(ring, dimensions, out)))
}

fn write_ring(points: &[Point], dimensions: Dimensions, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    write_list(points, out, |point, out| write_point(point, dimensions, out))
}

fn write_list<T>(
    items: &[T],
    out: &mut fmt::Formatter<'_>,
    mut write: impl FnMut(&T, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.write_char(',')?;
        }
        write(item, out)?;
    }
    Ok(())
}

fn bracketed(out: &mut fmt::Formatter<'_>, write: impl FnOnce(&mut fmt::Formatter<'_>) -> fmt::Result) -> fmt::Result {
    out.write_char('(')?;
    write(out)?;
    out.write_char(')')
}

fn write_point(point: &Point, dimensions: Dimensions, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    write_numbers(if dimensions == Dimensions::Two { &point[..2] } else { point }, out)
}

fn write_numbers(numbers: &[f64], out: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (at, number) in numbers.iter().enumerate() {
        if at > 0 {
            out.write_char(' ')?;
        }
        let size = number.abs();
        let has_exponent = size >= LARGE || size > 0.0 && size < SMALL;
        if has_exponent { write!(out, "{number:e}")? } else { write!(out, "{number}")? }
    }
    Ok(())
}
