//! Versions of what nodes say to each other and agree on.
//!
//! One number stands for all of it: the frames between nodes, the commands of the metadata's group, and the state as a snapshot has it. A program knows
//! all versions from an oldest to a latest one. Two rules make it possible to replace programs one member at a time:
//!
//! - **A link speaks the latest version that both ends know.** What a later one has brought goes only by links that speak it.
//! - **The cluster goes by the latest version that every member knows** ([`crate::State::protocol_version`]): commands and snapshots are written in that one,
//!   as all members read them, those too that come back later. It never falls: who does not know it is not taken in.
//!
//! | version | brought |
//! |---|---|
//! | 4 | the first one that may be mixed with later ones: hellos and members say which versions they know. Before, formats had numbers of their own, up to 3 |
//! | 5 | a replica says that it has no room (frame 69) |
//! | 6 | primaries are even over the members' cores: where slots belong is another result of the same commands |
//! | 7 | the schema may have roles |
//! | 8 | the schema may have indexes |
//! | 9 | roles may have permissions |
//! | 10 | the schema may have materialized views |
//! | 11 | the schema may have functions and aggregates of users |
//! | 12 | roles may have identities of certificates |
//! | 13 | a member tells others where one is that has moved (frame 37) |
//! | 14 | roles may have what clients of Aerospike and GridDB log in by, and whitelists |
//! | 15 | columns may have masks, and forwarded CQL requests say whether who has sent them sees masks in place of values; the schema may have CDC logs |
//! | 16 | roles may have limits |
//! | 17 | members say where GridDB's clients reach them |
//! | 18 | record sets may have indexes, also of values within cells |
//! | 19 | containers may have SPATIAL indexes, and functions of users may be modules of WebAssembly |
//! | 20 | containers may be partitioned tables, and records may be locked by transactions |
//! | 21 | bins of record sets may be texts of GeoJSON, with indexes of places and regions |
//! | 22 | a replica says in which slots it has damaged rows (frame 70) |
//! | 23 | the schema may have vectors of more than 65,535 dimensions |
//! | 24 | the schema may have SASI indexes that take texts apart |

use std::fmt;

/// The versions that a program knows: the oldest, the latest, and all between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    pub(crate) oldest: u16,
    pub(crate) latest: u16,
}

impl Versions {
    /// What this program knows.
    pub const KNOWN: Self = Self::new(4, 24);

    /// From `oldest` to `latest`.
    ///
    /// # Panics
    /// When there is none between them; 0 is no version.
    #[must_use]
    pub const fn new(oldest: u16, latest: u16) -> Self {
        assert!(0 < oldest && oldest <= latest, "versions from an oldest to a latest one");
        Self { oldest, latest }
    }

    /// The oldest.
    #[must_use]
    pub const fn oldest(self) -> u16 {
        self.oldest
    }

    /// The latest.
    #[must_use]
    pub const fn latest(self) -> u16 {
        self.latest
    }

    /// Whether `version` is one of them.
    #[must_use]
    pub fn contains(self, version: u16) -> bool {
        (self.oldest..=self.latest).contains(&version)
    }

    /// The latest that `other` knows, too.
    #[must_use]
    pub fn shared_with(self, other: Self) -> Option<u16> {
        let version = self.latest.min(other.latest);
        (self.contains(version) && other.contains(version)).then_some(version)
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.oldest == self.latest {
            true => write!(out, "{}", self.latest),
            false => write!(out, "{} to {}", self.oldest, self.latest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{CodecError, Reader};

    #[test]
    fn two_programs_speak_the_latest_that_both_know() {
        let shared = |one, other| {
            let shared = Versions::shared_with(one, other);
            assert_eq!(shared, other.shared_with(one));
            shared
        };
        assert_eq!(shared(Versions::new(3, 3), Versions::new(3, 3)), Some(3));
        assert_eq!(shared(Versions::new(3, 4), Versions::new(3, 3)), Some(3));
        assert_eq!(shared(Versions::new(3, 5), Versions::new(4, 6)), Some(5));
        assert_eq!(shared(Versions::new(3, 4), Versions::new(5, 6)), None);
    }

    #[test]
    fn versions_that_contradict_themselves_are_refused() {
        for bytes in [[0, 3], [4, 3], [0, 0]] {
            assert_eq!(Versions::decode(&mut Reader::new(&bytes)), Err(CodecError::Inconsistent { what: "protocol versions" }));
        }
        assert_eq!(Versions::decode(&mut Reader::new(&[3, 5])), Ok(Versions::new(3, 5)));
    }
}
