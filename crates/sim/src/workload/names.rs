//! Names of rows: unlike any other bytes on a disk, so that a row's records can be found there.

use crate::statement::Bound;

/// A table of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Plain,
    Wide,
    Cas,
    Counted,
    Volatile,
    Lived,
}

impl Table {
    /// Its name in the schema.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Wide => "wide",
            Self::Cas => "cas",
            Self::Counted => "counted",
            Self::Volatile => "volatile",
            Self::Lived => "lived",
        }
    }

    /// The partition key of a number. No name is the beginning of another.
    pub(super) fn name(self, number: i32) -> String {
        format!("{}/{number:06}", self.as_str())
    }
}

/// The number in a partition key.
pub(super) fn number_in(name: &Bound) -> i32 {
    let name = text_in(name).unwrap();
    name.rsplit_once('/').unwrap().1.parse().unwrap()
}

pub(super) fn int_in(cell: &Bound) -> Option<i32> {
    cell.as_deref().map(|bytes| i32::from_be_bytes(bytes.try_into().unwrap()))
}

pub(super) fn count_in(cell: &Bound) -> i64 {
    i64::from_be_bytes(cell.as_deref().unwrap().try_into().unwrap())
}

pub(super) fn text_in(cell: &Bound) -> Option<String> {
    cell.as_ref().map(|bytes| String::from_utf8(bytes.clone()).unwrap())
}
