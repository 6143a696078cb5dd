//! The box around a geometry.

/// Three coordinates; the third is not looked at in two dimensions.
pub(crate) type Point = [f64; 3];

/// How many coordinates its points have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dimensions {
    Two,
    Three,
}

/// The least and the largest coordinates of a geometry's points. One of two dimensions has all numbers as its third ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The least ones.
    pub low: [f64; 3],
    /// The largest ones.
    pub high: [f64; 3],
}

impl Bounds {
    /// The box around points; none if there are no points.
    pub(super) fn of<'p>(mut points: impl Iterator<Item = &'p Point>, dimensions: Dimensions) -> Option<Self> {
        let first = *points.next()?;
        let mut bounds = Self { low: first, high: first };
        for point in points {
            for (axis, value) in point.iter().enumerate() {
                bounds.low[axis] = bounds.low[axis].min(*value);
                bounds.high[axis] = bounds.high[axis].max(*value);
            }
        }
        if dimensions == Dimensions::Two {
            (bounds.low[2], bounds.high[2]) = (f64::NEG_INFINITY, f64::INFINITY);
        }
        Some(bounds)
    }

    /// Whether two boxes have something in common, be it a point.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        (0..3).all(|axis| self.low[axis] <= other.high[axis] && other.low[axis] <= self.high[axis])
    }
}
