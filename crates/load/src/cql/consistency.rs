//! Consistency levels by their CQL names: in studies, on command lines and in what agents are told.

use ::cql::wire::Consistency;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A consistency level that reads and writes can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ConsistencyLevel(Consistency);

/// What lightweight transactions have is none of reads and writes, and ANY is none of reads.
const LEVELS: [Consistency; 8] = [
    Consistency::One,
    Consistency::LocalOne,
    Consistency::Two,
    Consistency::Three,
    Consistency::Quorum,
    Consistency::LocalQuorum,
    Consistency::EachQuorum,
    Consistency::All,
];

/// A name that is no level's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no consistency level `{name}`: {}", LEVELS.map(|level| level.to_string()).join(", "))]
pub struct UnknownConsistency {
    /// The name.
    pub name: String,
}

impl ConsistencyLevel {
    /// As requests have it.
    #[must_use]
    pub fn on_the_wire(self) -> Consistency {
        self.0
    }
}

impl Default for ConsistencyLevel {
    fn default() -> Self {
        Self(Consistency::LocalOne)
    }
}

impl Display for ConsistencyLevel {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for ConsistencyLevel {
    type Err = UnknownConsistency;

    fn from_str(name: &str) -> Result<Self, UnknownConsistency> {
        let level = LEVELS.into_iter().find(|level| level.to_string() == name);
        level.map(Self).ok_or_else(|| UnknownConsistency { name: name.to_owned() })
    }
}

impl TryFrom<String> for ConsistencyLevel {
    type Error = UnknownConsistency;

    fn try_from(name: String) -> Result<Self, UnknownConsistency> {
        name.parse()
    }
}

impl From<ConsistencyLevel> for String {
    fn from(level: ConsistencyLevel) -> Self {
        level.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_known_by_their_cql_names_alone() {
        for level in LEVELS {
            assert_eq!(level.to_string().parse(), Ok(ConsistencyLevel(level)));
        }
        for name in ["SERIAL", "ANY", "local-one", ""] {
            let error = name.parse::<ConsistencyLevel>().expect_err("it is no level of reads and writes");
            let message =
                format!("there is no consistency level `{name}`: ONE, LOCAL_ONE, TWO, THREE, QUORUM, LOCAL_QUORUM, EACH_QUORUM, ALL");
            assert_eq!(error.to_string(), message);
        }
    }
}
