//! Quadratic surfaces: the points X with ⟨AX, X⟩ + BX + c = 0.
//!
//! One goes through a box if the function is not above zero in all of it, nor below: a box is in one piece, and the function jumps nowhere. Its least and its largest value
//! in a box are at corners, or where its slope along an edge, on a face or within is none. Where that is a whole line or plane, its value is the same up to where
//! the line leaves the box, which is on an edge or a face and looked at there.

use super::bounds::Bounds;

/// What is taken for zero, as a part of the terms whose sum it is.
const ZERO: f64 = 1e-12;

/// A quadratic surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surface {
    /// A by rows, B, c.
    pub terms: [f64; 13],
}

impl Surface {
    pub(super) fn is_finite(&self) -> bool {
        self.terms.iter().all(|term| term.is_finite())
    }

    /// Both of the terms of A with these axes.
    fn twice(&self, one: usize, other: usize) -> f64 {
        self.terms[3 * one + other] + self.terms[3 * other + one]
    }

    /// The function's value at a point, and by how much it may be wrong.
    fn value(&self, at: [f64; 3]) -> (f64, f64) {
        let (mut sum, mut size) = (self.terms[12], self.terms[12].abs());
        let mut add = |term: f64| {
            sum += term;
            size += term.abs();
        };
        for (row, x) in at.iter().enumerate() {
            add(self.terms[9 + row] * x);
            at.iter().enumerate().for_each(|(column, y)| add(self.terms[3 * row + column] * x * y));
        }
        (sum, size * ZERO)
    }

    /// Whether it goes through a box.
    #[must_use]
    pub fn cuts(&self, bounds: &Bounds) -> bool {
        let (mut is_above, mut is_below) = (true, true);
        // Of each axis: at its low end, at its high end, or free.
        for face in 0..27_usize {
            let place = [face % 3, face / 3 % 3, face / 9];
            let mut at = [0, 1, 2].map(|axis| if place[axis] == 0 { bounds.low[axis] } else { bounds.high[axis] });
            let free: Vec<usize> = (0..3).filter(|axis| place[*axis] == 2).collect();
            if !self.settle(&free, bounds, &mut at) {
                continue;
            }
            let (value, wrong) = self.value(at);
            // Too large to be computed is neither above nor below.
            is_above &= value > wrong;
            is_below &= value < -wrong;
        }
        !is_above && !is_below
    }

    /// Moves the free coordinates to where the function has no slope along them; false if that is nowhere in the box, or not at one point.
    fn settle(&self, free: &[usize], bounds: &Bounds, at: &mut [f64; 3]) -> bool {
        let fixed = |axis: &usize| !free.contains(axis);
        let mut rows = [[0.0; 4]; 3];
        for (row, axis) in rows.iter_mut().zip(free) {
            free.iter().enumerate().for_each(|(column, other)| row[column] = self.twice(*axis, *other));
            let known: f64 = (0..3).filter(fixed).map(|other| self.twice(*axis, other) * at[other]).sum();
            row[3] = -self.terms[9 + axis] - known;
        }
        let Some(found) = solve(&mut rows, free.len()) else { return false };
        for (axis, value) in free.iter().zip(found) {
            at[*axis] = value;
        }
        free.iter().all(|axis| at[*axis] >= bounds.low[*axis] && at[*axis] <= bounds.high[*axis])
    }
}

/// Solves so many equations, whose right sides are last; none without one solution.
fn solve(rows: &mut [[f64; 4]; 3], count: usize) -> Option<[f64; 3]> {
    for step in 0..count {
        let pivot = (step..count).max_by(|one, other| rows[*one][step].abs().total_cmp(&rows[*other][step].abs()))?;
        rows.swap(step, pivot);
        let size = rows[..count].iter().flat_map(|row| &row[..count]).fold(0.0_f64, |size, value| size.max(value.abs()));
        if rows[step][step].abs() <= size * ZERO {
            return None;
        }
        for row in (0..count).filter(|row| *row != step) {
            let by = rows[row][step] / rows[step][step];
            let of_step = rows[step];
            rows[row].iter_mut().zip(of_step).for_each(|(value, other)| *value -= by * other);
        }
    }
    let mut found = [0.0; 3];
    (0..count).for_each(|at| found[at] = rows[at][3] / rows[at][at]);
    Some(found)
}
