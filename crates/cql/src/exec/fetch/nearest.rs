//! The rows whose vectors are nearest to a given one: each chunk gives the nearest of those that it has visited.

use crate::CqlError;
use crate::exec::rows::RowValues;
use crate::exec::{Bound, Environment};
use crate::plan::{Nearest, Source};
use crate::value::function::Similarity;
use base::TableId;

/// A [`Nearest`] with its values.
pub(in crate::exec) struct BoundNearest {
    source: Source,
    /// The index on the column.
    pub(super) index: TableId,
    similarity: Similarity,
    vector: Vec<u8>,
    /// How many rows are wanted.
    pub(in crate::exec) rows_max: u32,
}

impl BoundNearest {
    /// Evaluates the vector.
    ///
    /// # Errors
    /// Null and unset, and vectors without a direction where that counts.
    pub(in crate::exec) fn new(nearest: &Nearest, rows_max: u32, environment: &Environment<'_>) -> Result<Self, CqlError> {
        let vector = match nearest.vector.evaluate(environment)? {
            Bound::Bytes(vector) => vector.into_owned(),
            Bound::Null => return Err(CqlError::Invalid(format!("Unsupported null value for column {}", nearest.name))),
            Bound::Unset => return Err(CqlError::Invalid(format!("Unsupported unset value for column {}", nearest.name))),
        };
        // What cannot be compared with itself cannot be with anything.
        nearest.similarity.compute(&vector, &vector).map_err(|error| CqlError::Invalid(error.to_string()))?;
        Ok(Self { source: nearest.source, index: nearest.index, similarity: nearest.similarity, vector, rows_max })
    }

    /// What rows are compared with.
    pub(super) fn vector(&self) -> &[u8] {
        &self.vector
    }

    /// How near a row is; `None` for one without a vector that can be compared.
    pub(super) fn score(&self, row: &RowValues<'_>, scratch: &mut Vec<u8>) -> Option<f32> {
        let vector = row.value(self.source, scratch)?;
        self.similarity.compute(&self.vector, vector).ok()
    }
}

/// The rows that a chunk has found.
#[derive(Default)]
pub(super) struct Scored {
    /// Of each row how near it is, and where it starts.
    rows: Vec<(f32, usize)>,
}

impl Scored {
    pub(super) fn push(&mut self, score: f32, start: usize) {
        self.rows.push((score, start));
    }

    /// Leaves the nearest rows in `out`, in the order in which they were found. Returns how many.
    pub(super) fn keep_nearest(&mut self, rows_max: usize, out: &mut Vec<u8>) -> usize {
        let end = out.len();
        // The chunk may have taken rows back.
        self.rows.retain(|(_, start)| *start < end);
        if self.rows.len() <= rows_max {
            return self.rows.len();
        }
        let ends: Vec<usize> = self.rows.iter().skip(1).map(|(_, start)| *start).chain([end]).collect();
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        // The sort is stable: of rows that are equally near the first ones stay.
        order.sort_by(|one, other| self.rows[*other].0.total_cmp(&self.rows[*one].0));
        order.truncate(rows_max);
        order.sort_unstable();
        let mut to = self.rows.first().map_or(end, |(_, start)| *start);
        for row in &order {
            let (from, until) = (self.rows[*row].1, ends[*row]);
            out.copy_within(from..until, to);
            to += until - from;
        }
        out.truncate(to);
        order.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_rows_stay_in_the_order_in_which_they_were_found() {
        let mut scored = Scored::default();
        let mut out = b"head".to_vec();
        for (score, row) in [(0.1, "a"), (0.9, "bbb"), (0.5, "cc"), (0.9, "dddd"), (0.2, "e")] {
            scored.push(score, out.len());
            out.extend_from_slice(row.as_bytes());
        }
        assert_eq!(scored.keep_nearest(3, &mut out), 3);
        assert_eq!(out, b"headbbbccdddd");
    }

    #[test]
    fn rows_that_were_taken_back_do_not_count() {
        let mut scored = Scored::default();
        let mut out = Vec::new();
        for (score, row) in [(0.1, "a"), (0.9, "b")] {
            scored.push(score, out.len());
            out.extend_from_slice(row.as_bytes());
        }
        out.truncate(1);
        assert_eq!(scored.keep_nearest(5, &mut out), 1);
        assert_eq!(out, b"a");
    }
}
