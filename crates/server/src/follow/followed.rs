//! A table that is followed, as the source has it.

use crate::feed::Log;
use std::collections::HashMap;

/// A column whose elements have cells of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Multi {
    List,
    /// Sets, and maps by their keys.
    Keyed,
    /// User types, by their fields.
    Udt,
}

/// A table that is followed.
#[derive(Clone, Debug)]
pub(super) struct Followed {
    pub(super) log: Log,
    /// Columns with a cell for each element.
    pub(super) multi: HashMap<String, Multi>,
    /// Static columns.
    pub(super) statics: Vec<String>,
    /// Clustering columns whose order is reversed.
    pub(super) descending: Vec<String>,
}
