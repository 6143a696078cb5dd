//! Which lines are wanted. Cassandra's rule: what is excluded is not written, whatever is included; where nothing is included, everything else is.

use super::{Categories, Category};
use std::collections::BTreeSet;

/// Names that are included or excluded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    included: BTreeSet<String>,
    excluded: BTreeSet<String>,
}

impl Names {
    /// Without any that is included, all are that are not excluded.
    #[must_use]
    pub fn new(included: impl IntoIterator<Item = String>, excluded: impl IntoIterator<Item = String>) -> Self {
        Self { included: included.into_iter().collect(), excluded: excluded.into_iter().collect() }
    }

    fn pass(&self, name: &str) -> bool {
        !self.excluded.contains(name) && (self.included.is_empty() || self.included.contains(name))
    }
}

/// Which lines are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditFilter {
    /// By what they are about.
    pub categories: Categories,
    /// By who is meant; clients that have not logged in are `anonymous`.
    pub roles: Names,
    /// By keyspace or namespace. What is about none passes.
    pub keyspaces: Names,
}

impl AuditFilter {
    /// Whether a request of this category may lead to a line, whatever comes of it.
    #[inline]
    pub(crate) fn may_want(&self, category: Category) -> bool {
        [category, Category::Error, Category::Auth].into_iter().any(|category| self.categories.contains(category))
    }

    pub(crate) fn wants(&self, category: Category, role: &str, keyspace: Option<&str>) -> bool {
        self.categories.contains(category) && self.roles.pass(role) && keyspace.is_none_or(|keyspace| self.keyspaces.pass(keyspace))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_is_excluded_stays_out_even_if_it_is_included() {
        let filter = AuditFilter {
            categories: Categories::new(&[Category::Dml, Category::Ddl], &[Category::Ddl]),
            roles: Names::new(names(&[]), names(&["robot"])),
            keyspaces: Names::new(names(&["bank"]), names(&[])),
        };
        assert!(filter.wants(Category::Dml, "ann", Some("bank")) && filter.wants(Category::Dml, "ann", None));
        assert!(!filter.wants(Category::Ddl, "ann", Some("bank")) && !filter.wants(Category::Query, "ann", Some("bank")));
        assert!(!filter.wants(Category::Dml, "robot", Some("bank")) && !filter.wants(Category::Dml, "ann", Some("shop")));
        let all = Categories::new(&[], &[Category::Prepare]);
        assert!(Category::ALL.into_iter().all(|category| all.contains(category) == (category != Category::Prepare)));
        assert_eq!(Category::from_name("dcl"), Some(Category::Dcl));
    }
}
