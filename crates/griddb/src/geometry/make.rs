//! The shapes that functions of TQL make from numbers.

use super::bounds::{Dimensions, Point};
use super::error::GeometryError;
use super::shape::{Kind, Shape};
use super::surface::Surface;
use super::value::{Geometry, NO_SRID};

type Made = Result<Geometry, GeometryError>;

/// The rectangle with these corners.
pub(crate) fn rectangle([x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) -> Made {
    if x1 == x2 || y1 == y2 {
        return Err(GeometryError::Degenerate("the corners of a rectangle differ in x and y"));
    }
    let ring = vec![[x1, y1, 0.0], [x2, y1, 0.0], [x2, y2, 0.0], [x1, y2, 0.0], [x1, y1, 0.0]];
    Geometry::new(Shape::Polygon(vec![ring]), Dimensions::Two, NO_SRID)
}

/// The cuboid with these corners.
pub(crate) fn cuboid(one: Point, other: Point) -> Made {
    if (0..3).any(|axis| one[axis] == other[axis]) {
        return Err(GeometryError::Degenerate("the corners of a box differ in x, y and z"));
    }
    let face = |axis: usize, end: &Point| {
        let (next, last) = ((axis + 1) % 3, (axis + 2) % 3);
        let corner = |(by_next, by_last): (&Point, &Point)| {
            let mut point = *end;
            (point[next], point[last]) = (by_next[next], by_last[last]);
            point
        };
        vec![[(&one, &one), (&other, &one), (&other, &other), (&one, &other), (&one, &one)].map(corner).to_vec()]
    };
    let faces = (0..3).flat_map(|axis| [face(axis, &one), face(axis, &other)]).collect();
    Geometry::new(Shape::PolyhedralSurface(faces), Dimensions::Three, NO_SRID)
}

/// The quadratic surface with these terms.
pub(crate) fn surface(terms: [f64; 13]) -> Made {
    Geometry::new(Shape::QuadraticSurface(Surface { terms }), Dimensions::Three, NO_SRID)
}

/// The plane through a point with a normal: without a length it is nowhere.
pub(crate) fn plane(through: Point, normal: Point) -> Made {
    let Some(normal) = unit(normal) else { return Ok(Geometry::empty(Kind::QuadraticSurface)) };
    let mut terms = [0.0; 13];
    terms[9..12].copy_from_slice(&normal);
    terms[12] = -dot(normal, through);
    surface(terms)
}

/// The sphere around a point.
pub(crate) fn sphere(around: Point, radius: f64) -> Made {
    if radius.is_nan() || radius <= 0.0 {
        return Err(GeometryError::Degenerate("the radius of a sphere is above zero"));
    }
    surface(around_point([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], around, -radius * radius))
}

/// The cylinder around the line through a point.
pub(crate) fn cylinder(through: Point, axis: Point, radius: f64) -> Made {
    let axis = unit(axis).ok_or(GeometryError::Degenerate("the axis of a cylinder has a length"))?;
    surface(around_point(matrix(1.0, -1.0, axis), through, -radius * radius))
}

/// The cone, to both sides, whose lines have an angle of so many degrees with its axis.
pub(crate) fn cone(top: Point, axis: Point, degrees: f64) -> Made {
    let axis = unit(axis).ok_or(GeometryError::Degenerate("the axis of a cone has a length"))?;
    let cosine = degrees.rem_euclid(360.0).to_radians().cos();
    surface(around_point(matrix(-cosine * cosine, 1.0, axis), top, 0.0))
}

/// So many times the unit matrix, and so many times that which projects onto an axis.
fn matrix(unit: f64, along: f64, axis: Point) -> [Point; 3] {
    let entry = |row: usize, column: usize| along * axis[row] * axis[column] + if row == column { unit } else { 0.0 };
    [0, 1, 2].map(|row| [0, 1, 2].map(|column| entry(row, column)))
}

/// The terms of ⟨A(X − p), X − p⟩ + c, where A has one half on either side of its diagonal.
fn around_point(matrix: [Point; 3], around: Point, constant: f64) -> [f64; 13] {
    let mut terms = [0.0; 13];
    let moved = matrix.map(|row| dot(row, around));
    for row in 0..3 {
        terms[3 * row..3 * row + 3].copy_from_slice(&matrix[row]);
        terms[9 + row] = -2.0 * moved[row];
    }
    terms[12] = dot(moved, around) + constant;
    terms
}

fn dot(one: Point, other: Point) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// The vector of length 1 in this direction; none of one without a length.
fn unit(vector: Point) -> Option<Point> {
    let largest = vector.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let scaled = vector.map(|value| value / largest);
    let length = dot(scaled, scaled).sqrt();
    (largest > 0.0).then(|| scaled.map(|value| value / length))
}
