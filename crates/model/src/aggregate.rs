//! Aggregates of rows, computed where rows are scanned: what SQL asks of a table becomes a few values for each group, and no row leaves the core.
//!
//! | module | what |
//! |---|---|
//! | [`Spec`] | what is asked: groups, folds, conditions, by the columns of the rows that are folded |
//! | [`Partials`] | what some of the rows give; those of several pages are merged |
//! | [`Value`] | a value as SQL compares and adds it; whoever has the rows decodes them into it |
//!
//! Invariants:
//! - What [`Partials`] give is what SQLite's functions give of the same values. Where that is not certain (an integer sum that overflows), they say that they cannot
//!   tell, and the caller reads rows instead.
//! - [`Partials`] never take more than [`BYTES_MAX`], whatever rows hold: before they would, they cannot tell any more. A [`Spec`] that was read has nothing twice, and
//!   no more than it may have, so that a row gives no more bytes than it has, but for a few of each column's functions.
//! - Sums of real numbers are compensated as SQLite's are, so that the order in which rows come changes them as little as there.

mod codec;
mod partials;
mod sum;
#[cfg(test)]
mod tests;
mod value;

pub use codec::Damaged;
pub use partials::{BYTES_MAX, Partials};
pub use value::{OwnedValue, Value};

use std::cmp::Ordering;

/// What is asked of rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spec {
    /// The columns that make a group; without any all rows are one, also where there are none.
    pub groups: Vec<u16>,
    /// What is computed of each group.
    pub folds: Vec<Fold>,
    /// What rows have to fulfil, all of it.
    pub conditions: Vec<Condition>,
}

/// Groups, folds and conditions that a [`Spec`] has at most.
const GROUPS_MAX: usize = 64;
const FOLDS_MAX: usize = 256;
const CONDITIONS_MAX: usize = 64;

impl Spec {
    /// Whether it has no more than it may have, and no group or fold twice: others are not read.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        let is_small = self.groups.len() <= GROUPS_MAX && self.folds.len() <= FOLDS_MAX && self.conditions.len() <= CONDITIONS_MAX;
        let fold = |fold: &Fold| Fold { column: if fold.function == Function::Rows { 0 } else { fold.column }, ..*fold };
        let is_first_group = |(at, group): (usize, &u16)| !self.groups[..at].contains(group);
        let is_first_fold = |(at, one): (usize, &Fold)| !self.folds[..at].iter().any(|other| fold(other) == fold(one));
        is_small && self.groups.iter().enumerate().all(is_first_group) && self.folds.iter().enumerate().all(is_first_fold)
    }

    /// The columns that are looked at, each once.
    #[must_use]
    pub fn columns(&self) -> Vec<u16> {
        let folds = self.folds.iter().filter(|fold| fold.function != Function::Rows).map(|fold| fold.column);
        let conditions = self.conditions.iter().map(|condition| condition.column);
        let mut columns = Vec::new();
        for column in self.groups.iter().copied().chain(folds).chain(conditions) {
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        columns
    }

    /// The same of rows that have these columns alone, in this order.
    #[must_use]
    pub fn over(mut self, columns: &[u16]) -> Self {
        let place = |column: &mut u16| *column = columns.iter().position(|known| known == column).unwrap_or_default() as u16;
        self.groups.iter_mut().for_each(place);
        self.folds.iter_mut().for_each(|fold| place(&mut fold.column));
        self.conditions.iter_mut().for_each(|condition| place(&mut condition.column));
        self
    }
}

/// What is computed of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fold {
    /// How.
    pub function: Function,
    /// Of which; not looked at by [`Function::Rows`].
    pub column: u16,
}

/// How rows become a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// How many there are.
    Rows,
    /// How many have a value.
    Count,
    /// The sum of numbers.
    Sum,
    /// Their mean.
    Average,
    /// The least value.
    Least,
    /// The greatest.
    Greatest,
}

/// What a column is compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Which.
    pub column: u16,
    /// How.
    pub comparison: Comparison,
    /// With what.
    pub value: OwnedValue,
}

/// How values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

impl Comparison {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Less => order.is_lt(),
            Self::LessEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterEqual => order.is_ge(),
        }
    }
}

impl Condition {
    /// Whether a row fulfils it. Null compares with nothing.
    #[inline]
    fn holds(&self, value: Value<'_>) -> bool {
        let wanted = self.value.borrowed();
        value != Value::Null && wanted != Value::Null && self.comparison.holds(value.order(wanted))
    }
}
