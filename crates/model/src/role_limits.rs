//! How much the clients of a role may ask a node for.

use std::collections::BTreeMap;

/// Something that a role may have so much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// Connections at a time.
    Connections,
    /// Requests in a second.
    Requests,
    /// Those of them that read rows.
    Reads,
    /// Those of them that write rows.
    Writes,
    /// Bytes of requests and replies in a second.
    Bytes,
}

impl Limit {
    /// All.
    pub const ALL: [Self; 5] = [Self::Connections, Self::Requests, Self::Reads, Self::Writes, Self::Bytes];

    /// Its name, as an option of a role.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connections => "max_connections",
            Self::Requests => "requests_per_second",
            Self::Reads => "reads_per_second",
            Self::Writes => "writes_per_second",
            Self::Bytes => "bytes_per_second",
        }
    }

    /// The limit of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|limit| limit.name() == name)
    }
}

/// A limit may be as large.
pub const ROLE_LIMIT_MAX: u64 = 1_000_000_000_000;

/// The limits of a role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleLimits(BTreeMap<Limit, u64>);

impl RoleLimits {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How much of it is allowed, if that is limited.
    #[must_use]
    pub fn get(&self, limit: Limit) -> Option<u64> {
        self.0.get(&limit).copied()
    }

    /// Allows so much of it; 0 is any amount.
    pub fn set(&mut self, limit: Limit, value: u64) {
        match value {
            0 => drop(self.0.remove(&limit)),
            value => drop(self.0.insert(limit, value.min(ROLE_LIMIT_MAX))),
        }
    }

    /// All that there are.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Limit, u64)> {
        self.0.iter().map(|(limit, value)| (*limit, *value))
    }

    /// Of each the smaller one.
    pub fn tighten(&mut self, other: &Self) {
        for (limit, value) in other.iter() {
            let own = self.0.entry(limit).or_insert(value);
            *own = value.min(*own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_limit_counts() {
        let limits = |all: &[(Limit, u64)]| {
            let mut limits = RoleLimits::default();
            all.iter().for_each(|(limit, value)| limits.set(*limit, *value));
            limits
        };
        let mut own = limits(&[(Limit::Connections, 5), (Limit::Requests, 100), (Limit::Bytes, 7)]);
        own.tighten(&limits(&[(Limit::Requests, 10), (Limit::Bytes, 8), (Limit::Writes, 3)]));
        assert_eq!(own, limits(&[(Limit::Connections, 5), (Limit::Requests, 10), (Limit::Writes, 3), (Limit::Bytes, 7)]));
        own.set(Limit::Requests, 0);
        assert_eq!((own.get(Limit::Requests), own.get(Limit::Writes)), (None, Some(3)));
        assert!(Limit::ALL.into_iter().all(|limit| Limit::from_name(limit.name()) == Some(limit)));
    }
}
