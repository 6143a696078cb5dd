//! A median and its spread: what every figure of a benchmark is reported as.

use serde::Serialize;

/// The middle of several measurements, and the outermost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
}

impl Summary {
    /// Of measurements in any order; `None` if there are none.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (&least, &most) = (values.first()?, values.last()?);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) };
        Some(Self { median, least, most })
    }

    /// How far the outermost lie apart, in per cent of the median.
    #[must_use]
    pub fn spread_percent(&self) -> f64 {
        (self.most - self.least) / self.median * 100.0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_median_does_not_follow_an_outlier() {
        assert_eq!(Summary::of([2.0, 900.0, 1.0, 3.0, 2.5]).unwrap(), Summary { median: 2.5, least: 1.0, most: 900.0 });
        assert_eq!(Summary::of([4.0, 2.0]).unwrap().median, 3.0);
        assert_eq!(Summary::of([]), None);
    }

    #[test]
    fn the_spread_is_relative_to_the_median() {
        assert_eq!(Summary::of([90.0, 100.0, 120.0]).unwrap().spread_percent(), 30.0);
    }
}
