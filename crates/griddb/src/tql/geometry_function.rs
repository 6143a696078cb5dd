//! Functions of geometries: `ST_…`.

use super::refusals::{out_of_range, wrong_type};
use super::value::Value;
use crate::GridError;
use crate::geometry::{self, Geometry, GeometryError, Kind};
use std::ops::RangeInclusive;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GeometryFunction {
    FromText,
    MakeRectangle,
    MakeBox,
    MakePlane,
    MakeCone,
    MakeSphere,
    MakeCylinder,
    MakeSurface,
    /// Whether the boxes around two geometries have something in common.
    BoundsMeet,
    /// Whether a quadratic surface goes through the box around a geometry.
    SurfaceCuts,
    Srid,
}

type Made = Result<Geometry, GeometryError>;

impl GeometryFunction {
    /// The function of a name, with how many arguments it takes.
    pub(super) fn of_name(name: &str) -> Option<(Self, RangeInclusive<usize>)> {
        Some(match name {
            "ST_GEOMFROMTEXT" => (Self::FromText, 1..=1),
            "ST_MAKERECT" => (Self::MakeRectangle, 2..=4),
            "ST_MAKEBOX" => (Self::MakeBox, 2..=6),
            "ST_MAKEPLANE" => (Self::MakePlane, 6..=6),
            "ST_MAKECONE" => (Self::MakeCone, 7..=7),
            "ST_MAKESPHERE" => (Self::MakeSphere, 4..=4),
            "ST_MAKECYLINDER" => (Self::MakeCylinder, 7..=7),
            "ST_MAKEQSF" => (Self::MakeSurface, 13..=13),
            "ST_MBRINTERSECTS" => (Self::BoundsMeet, 2..=2),
            "ST_QSFMBRINTERSECTS" => (Self::SurfaceCuts, 2..=2),
            "ST_GETSRID" => (Self::Srid, 1..=1),
            _ => return None,
        })
    }

    /// The value for these arguments, none of which is null.
    pub(super) fn apply<'a>(self, arguments: &[Value<'a>]) -> Result<Value<'a>, GridError> {
        match (self, arguments) {
            (Self::FromText, [Value::Text(text)]) => made(Geometry::parse(text)),
            (Self::FromText, _) => Err(wrong_type("ST_GeomFromText needs a STRING")),
            (Self::Srid, [Value::Geometry(geometry)]) => Ok(Value::Long(i64::from(geometry.srid()))),
            (Self::BoundsMeet, [Value::Geometry(one), Value::Geometry(other)]) => {
                if [one, other].iter().any(|geometry| geometry.kind() == Kind::QuadraticSurface) {
                    return Err(wrong_type("ST_MBRIntersects takes no QUADRATICSURFACE: ST_QSFMBRIntersects does"));
                }
                Ok(Value::Bool(one.meets(other)))
            }
            (Self::SurfaceCuts, [Value::Geometry(one), Value::Geometry(other)]) => {
                let kinds = (one.kind() == Kind::QuadraticSurface, other.kind() == Kind::QuadraticSurface);
                if kinds != (true, false) {
                    return Err(wrong_type("ST_QSFMBRIntersects takes a QUADRATICSURFACE, then a geometry that is none"));
                }
                Ok(Value::Bool(one.cuts(other)))
            }
            (Self::Srid | Self::BoundsMeet | Self::SurfaceCuts, _) => Err(wrong_type("a function of geometries needs GEOMETRY")),
            (Self::MakeRectangle, [Value::Geometry(one), Value::Geometry(other)]) => {
                let (one, other) = (point(one)?, point(other)?);
                made(geometry::rectangle([one[0], one[1]], [other[0], other[1]]))
            }
            (Self::MakeBox, [Value::Geometry(one), Value::Geometry(other)]) => made(geometry::cuboid(point(one)?, point(other)?)),
            _ => {
                let numbers = arguments.iter().map(number).collect::<Result<Vec<_>, _>>()?;
                made(self.of_numbers(&numbers).ok_or_else(|| wrong_type("the function takes two points, or the numbers that these have"))?)
            }
        }
    }

    /// What is made of numbers; none if it takes another number of them.
    fn of_numbers(self, numbers: &[f64]) -> Option<Made> {
        Some(match (self, numbers) {
            (Self::MakeRectangle, &[x1, y1, x2, y2]) => geometry::rectangle([x1, y1], [x2, y2]),
            (Self::MakeBox, &[x1, y1, z1, x2, y2, z2]) => geometry::cuboid([x1, y1, z1], [x2, y2, z2]),
            (Self::MakePlane, &[x, y, z, to_x, to_y, to_z]) => geometry::plane([x, y, z], [to_x, to_y, to_z]),
            (Self::MakeCone, &[x, y, z, to_x, to_y, to_z, degrees]) => geometry::cone([x, y, z], [to_x, to_y, to_z], degrees),
            (Self::MakeSphere, &[x, y, z, radius]) => geometry::sphere([x, y, z], radius),
            (Self::MakeCylinder, &[x, y, z, to_x, to_y, to_z, radius]) => geometry::cylinder([x, y, z], [to_x, to_y, to_z], radius),
            (Self::MakeSurface, terms) => geometry::surface(*terms.first_chunk()?),
            _ => return None,
        })
    }
}

fn made(geometry: Made) -> Result<Value<'static>, GridError> {
    geometry.map(|geometry| Value::Geometry(Arc::new(geometry))).map_err(|error| out_of_range(error.to_string()))
}

fn number(value: &Value<'_>) -> Result<f64, GridError> {
    match value {
        Value::Long(value) => Ok(*value as f64),
        Value::Double(value) if value.is_finite() => Ok(*value),
        Value::Double(_) => Err(out_of_range(GeometryError::NotFinite.to_string())),
        _ => Err(wrong_type("a function that makes a geometry takes numbers")),
    }
}

fn point(geometry: &Geometry) -> Result<geometry::Point, GridError> {
    geometry.point().ok_or_else(|| wrong_type("ST_MakeRect and ST_MakeBox take points"))
}
