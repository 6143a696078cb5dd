//! The tables that a dataset's rows are spread over.
//!
//! Row *n* lies in table *n* mod *N*: neighbours lie in different tables, so that each has its share of every stretch of rows, whichever part of
//! them a choice of keys prefers, and of the rows that are inserted later.

use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// How many tables there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Tables(NonZeroU32);

/// One of them, by its number from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Table(u32);

/// A number of tables that a dataset cannot have.
#[derive(Debug, thiserror::Error)]
#[error("tables is a number from 1 to {max}, and {count} is not", max = Tables::MAX)]
pub struct TablesError {
    /// It.
    pub count: u32,
}

impl Tables {
    /// All rows in one.
    pub const ONE: Self = Self(NonZeroU32::MIN);
    /// The most: each connection prepares statements for every one of them.
    pub const MAX: u32 = 1_024;

    /// How many.
    #[must_use]
    pub fn count(self) -> u32 {
        self.0.get()
    }

    /// Each of them.
    pub fn each(self) -> impl Iterator<Item = Table> {
        (0..self.count()).map(Table)
    }

    /// Where a row lies.
    #[inline]
    #[must_use]
    pub fn of_row(self, number: u64) -> Table {
        Table((number % u64::from(self.count())) as u32)
    }

    /// A table for each turn, over and over.
    pub(crate) fn in_turn(self, turn: u64) -> Table {
        self.of_row(turn)
    }

    // By reference: serde asks so.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    pub(crate) fn is_one(&self) -> bool {
        *self == Self::ONE
    }
}

impl Default for Tables {
    fn default() -> Self {
        Self::ONE
    }
}

impl TryFrom<u32> for Tables {
    type Error = TablesError;

    fn try_from(count: u32) -> Result<Self, TablesError> {
        NonZeroU32::new(count).filter(|count| count.get() <= Self::MAX).map(Self).ok_or(TablesError { count })
    }
}

impl From<Tables> for u32 {
    fn from(tables: Tables) -> Self {
        tables.count()
    }
}

/// Which rows lie in which table: so many that follow each other in one, then as many in the next, and so on. With one it is as
/// [`Tables::of_row`] has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spread {
    tables: Tables,
    block: u64,
}

impl Spread {
    /// Blocks of so many rows, at least one.
    pub(crate) fn new(tables: Tables, block: u32) -> Self {
        Self { tables, block: u64::from(block.max(1)) }
    }

    /// The tables.
    pub(crate) fn tables(self) -> Tables {
        self.tables
    }

    /// Where a row lies.
    #[inline]
    pub(crate) fn of_row(self, number: u64) -> Table {
        if self.block == 1 { self.tables.of_row(number) } else { self.tables.of_row(number / self.block) }
    }

    /// The row of a table next to a row, up to `last`; the row itself if there is none near it.
    pub(crate) fn nearest(self, number: u64, table: Table, last: u64) -> u64 {
        let round = self.block * u64::from(self.tables.count());
        let own = number - number % round + u64::from(table.0) * self.block + number % self.block;
        if own <= last { own } else { own.checked_sub(round).unwrap_or(number) }
    }
}

impl Table {
    /// Its number.
    #[inline]
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Its name, where the first one is called `first`: `usertable`, `usertable_1`, `usertable_2`, …
    #[must_use]
    pub fn name(self, first: &str) -> String {
        if self.0 == 0 { first.to_owned() } else { format!("{first}_{}", self.0) }
    }

    /// The one with that name.
    #[must_use]
    pub fn named(name: &str, first: &str) -> Option<Self> {
        let table = match name.strip_prefix(first)? {
            "" => Self(0),
            rest => Self(rest.strip_prefix('_')?.parse().ok()?),
        };
        // Numbers that are spelled in another way are somebody else's.
        (table.0 < Tables::MAX && table.name(first) == name).then_some(table)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_its_share_of_every_stretch_of_rows() {
        for count in [1, 3, 16] {
            let tables = Tables::try_from(count).unwrap();
            let mut rows = vec![0; count as usize];
            (7..7 + 10 * u64::from(count)).for_each(|number| rows[tables.of_row(number).index()] += 1);
            assert_eq!(rows, vec![10; count as usize]);
        }
    }

    #[test]
    fn blocks_lie_in_turn_and_each_row_is_near_one_of_every_table() {
        let tables = Tables::try_from(3).unwrap();
        let spread = Spread::new(tables, 10);
        assert_eq!((0..60).map(|row| spread.of_row(row).0).filter(|table| *table == 1).count(), 20);
        assert_eq!([9, 10, 29, 30].map(|row| spread.of_row(row).0), [0, 1, 2, 0]);
        for table in tables.each() {
            let mut near: Vec<u64> = (0..60).map(|row| spread.nearest(row, table, 59)).collect();
            assert!(near.iter().all(|row| spread.of_row(*row) == table && *row < 60));
            // Each of its rows as often as any other: a uniform choice stays uniform.
            near.sort_unstable();
            near.chunk_by(|one, other| one == other).for_each(|same| assert_eq!(same.len(), 3));
        }
        assert_eq!([spread.nearest(31, Table(2), 45), spread.nearest(3, Table(2), 9)], [21, 3], "not beyond the last one");
        assert_eq!(Spread::new(tables, 1).of_row(4), tables.of_row(4));
    }

    #[test]
    fn names_are_those_of_one_table_each() {
        let tables = Tables::try_from(Tables::MAX).unwrap();
        for table in tables.each() {
            assert_eq!(Table::named(&table.name("usertable"), "usertable"), Some(table));
        }
        assert_eq!(tables.each().take(3).map(|table| table.name("t")).collect::<Vec<_>>(), ["t", "t_1", "t_2"]);
        for other in
            ["", "user", "usertables", "usertable_", "usertable_0", "usertable_01", "usertable_+1", "usertable_1024", "usertable_x"]
        {
            assert_eq!(Table::named(other, "usertable"), None, "{other}");
        }
    }

    #[test]
    fn numbers_that_no_dataset_can_have_are_refused() {
        for wrong in [0, Tables::MAX + 1, u32::MAX] {
            assert!(Tables::try_from(wrong).unwrap_err().to_string().contains("from 1 to 1024"));
        }
    }
}
