//! Columns by their names, which capitals do not tell apart.

/// Columns' names in lower case and in order, with the columns' positions. A statement may name 1,024 columns for each of many containers: they are not compared
/// one with each other.
#[derive(Clone, Debug)]
pub(crate) struct ByName(Vec<(String, usize)>);

impl ByName {
    /// Of columns of these names.
    pub(crate) fn new<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let mut names: Vec<(String, usize)> = names.map(str::to_ascii_lowercase).zip(0..).collect();
        names.sort_unstable();
        Self(names)
    }

    /// Whether two of them have one name.
    pub(super) fn has_one_twice(&self) -> bool {
        self.0.windows(2).any(|two| two[0].0 == two[1].0)
    }

    /// The position of the column of a name.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        let name = name.to_ascii_lowercase();
        self.0.binary_search_by(|(known, _)| known.cmp(&name)).ok().map(|at| self.0[at].1)
    }
}
