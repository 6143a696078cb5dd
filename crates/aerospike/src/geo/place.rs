//! Places: directions from the middle of the sphere.
//!
//! A place is rounded to whole numbers, 2⁴⁰ to the sphere's radius (6 µm on Earth). On which side of a great circle it is then needs no floating point: the
//! determinant of three places has less than 128 bits.

/// Whole numbers to the radius.
const NUMBERS_A_RADIUS: f64 = (1_u64 << 40) as f64;

/// A direction of length 1.
pub(super) type Unit = [f64; 3];

/// A place, or twice the middle of two: coordinates are below 2⁴².
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place([i64; 3]);

/// A direction that is at right angles to two places.
type Normal = [i128; 3];

impl Place {
    /// The place at a longitude and latitude in degrees; none out of their range.
    pub(crate) fn of_degrees(longitude: f64, latitude: f64) -> Option<Self> {
        if !(-180.0..=180.0).contains(&longitude) || !(-90.0..=90.0).contains(&latitude) {
            return None;
        }
        let (longitude, latitude) = (longitude.to_radians(), latitude.to_radians());
        let (sine, cosine) = latitude.sin_cos();
        Some(Self::of_unit([cosine * longitude.cos(), cosine * longitude.sin(), sine]))
    }

    pub(super) fn of_unit(unit: Unit) -> Self {
        Self(unit.map(|coordinate| (coordinate * NUMBERS_A_RADIUS).round() as i64))
    }

    pub(super) fn unit(self) -> Unit {
        normalized(self.0.map(|number| number as f64))
    }

    /// The coordinates, of which only the ratio matters.
    pub(super) fn numbers(self) -> [i64; 3] {
        self.0
    }

    /// What is between two places; none of those that are opposite.
    pub(super) fn between(self, other: Self) -> Option<Self> {
        let sum = Self([0, 1, 2].map(|axis| self.0[axis] + other.0[axis]));
        // Opposite places are off by rounding.
        sum.0.iter().any(|number| number.abs() > 8).then_some(sum)
    }

    pub(super) fn opposite(self) -> Self {
        Self(self.0.map(|number| -number))
    }

    pub(super) fn cross(self, other: Self) -> Normal {
        let ([a, b, c], [d, e, f]) = (self.0.map(i128::from), other.0.map(i128::from));
        [b * f - c * e, c * d - a * f, a * e - b * d]
    }

    /// More than 0 to the left of the way from `from` to `to`, 0 on their great circle.
    pub(super) fn side(self, from: Self, to: Self) -> i128 {
        dot(from.cross(to), self)
    }

    /// Whether it is on the shorter way between two places.
    pub(super) fn is_on_edge(self, from: Self, to: Self) -> bool {
        let normal = from.cross(to);
        if dot(normal, self) != 0 {
            return false;
        }
        // All three normals are of one line: one coordinate tells which way they point.
        let axis = (0..3).max_by_key(|axis| normal[*axis].abs()).unwrap_or(0);
        let points_alike = |other: Normal| other[axis] == 0 || other[axis].signum() == normal[axis].signum();
        points_alike(from.cross(self)) && points_alike(self.cross(to)) && self.is_near_side(from, to)
    }

    /// Whether it is not on the far side of the sphere: of a place on a great circle.
    fn is_near_side(self, from: Self, to: Self) -> bool {
        let sum = [0, 1, 2].map(|axis| i128::from(from.0[axis] + to.0[axis]));
        dot(sum, self) > 0
    }
}

pub(super) fn dot(normal: Normal, place: Place) -> i128 {
    (0..3).map(|axis| normal[axis] * i128::from(place.0[axis])).sum()
}

pub(super) fn normalized(vector: [f64; 3]) -> Unit {
    let length = product(vector, vector).sqrt();
    vector.map(|coordinate| coordinate / length)
}

pub(super) fn product(one: [f64; 3], other: [f64; 3]) -> f64 {
    (0..3).map(|axis| one[axis] * other[axis]).sum()
}

/// The angle between two directions, exact also for small ones.
pub(super) fn angle(one: Unit, other: Unit) -> f64 {
    let chord = [0, 1, 2].map(|axis| one[axis] - other[axis]);
    2.0 * (product(chord, chord).sqrt() / 2.0).min(1.0).asin()
}

/// The angle between a direction and the nearest one on the shorter way between two.
pub(super) fn angle_to_edge(unit: Unit, from: Place, to: Place) -> f64 {
    let (first, last) = (from.unit(), to.unit());
    let normal = normalized(from.cross(to).map(|number| number as f64));
    let cross = |one: Unit, other: Unit| {
        [one[1] * other[2] - one[2] * other[1], one[2] * other[0] - one[0] * other[2], one[0] * other[1] - one[1] * other[0]]
    };
    let is_beside = product(cross(normal, first), unit) >= 0.0 && product(cross(last, normal), unit) >= 0.0;
    if is_beside { product(normal, unit).abs().min(1.0).asin() } else { angle(unit, first).min(angle(unit, last)) }
}
