//! How far an import has come: a set of the target, in the namespace that is imported.
//!
//! | key | what it means |
//! |---|---|
//! | `SOURCE SET began` | since when changes are not copied yet |
//! | `SOURCE SET FIRST+COUNT` | so many partitions from the first on are copied |
//!
//! A record has one bin, a time in milliseconds since 1970. SOURCE is what the command line names, so another source begins anew; SET is `*` for a whole namespace.

use super::super::clock::now_ms;
use super::super::error::ImportError;
use super::connector::{Connection, Connector};
use super::piece::Piece;
use super::reader::{Reader, Wanted};
use super::record::{Digest, TTL_NEVER};
use crate::cli::ImportArguments;
use aerospike::operate::code;
use aerospike::value::ParticleType;
use aerospike::wire::{Attributes, Kind, MessageWriter, Operation, Proto, field, info2, info3};
use aerospike::{ResultCode, digest};
use base::SLOT_COUNT;
use load::aerospike::client::ClientError;
use std::collections::HashMap;

/// Where it is kept.
pub(super) const STATE: &str = "tarndb_import";
const BIN: &str = "at_ms";
/// How the key ends under which it is stored since when changes are not copied.
const BEGAN: &str = "began";
/// Clocks of both sides may differ by so much.
const CLOCKS_MS: i64 = 5 * 60 * 1_000;

/// What is done.
pub(super) struct State<'a> {
    connector: &'a Connector,
    namespace: &'a str,
    source: &'a str,
    /// Times by keys.
    found: HashMap<String, i64>,
    /// When the copy of changes was begun.
    changes_began_ms: i64,
}

impl<'a> State<'a> {
    /// Reads it.
    pub(super) fn open(connector: &'a Connector, arguments: &'a ImportArguments) -> Result<Self, ImportError> {
        let (namespace, source) = (arguments.keyspace.as_str(), arguments.ends.from.as_str());
        let (mut found, wanted) = (HashMap::new(), Wanted { namespace, set: STATE, since_ns: None });
        Reader::new(connector).scan(&wanted, &(0..SLOT_COUNT as u16), |record| {
            let key = record.key.and_then(|key| std::str::from_utf8(key.get(1..)?).ok());
            let time = record.bins.iter().find_map(|bin| bin.value.try_into().ok().map(i64::from_be_bytes));
            found.extend(key.map(str::to_owned).zip(time));
            Ok(())
        })?;
        Ok(Self { connector, namespace, source, found, changes_began_ms: 0 })
    }

    pub(super) fn is_done(&self, piece: &Piece<'_>) -> bool {
        self.found.contains_key(&group_key(self.source, piece))
    }

    /// Nothing of these sets is done.
    pub(super) fn forget(&mut self, sets: &[&str]) -> Result<(), ImportError> {
        let mut connection = self.connector.connect(0)?;
        for key in keys_of(self.found.keys(), self.source, sets) {
            let mut out = Vec::new();
            write(self.namespace, &key, None, &mut out);
            match connection.request("to forget what is copied", &out) {
                Ok(()) | Err(ClientError::Refused { code: ResultCode::NOT_FOUND, .. }) => {}
                Err(error) => return Err(self.connector.failed(error)),
            }
            self.found.remove(&key);
        }
        Ok(())
    }

    /// Stores when sets began to be copied that have not before.
    pub(super) fn begin(&mut self, sets: &[&str]) -> Result<(), ImportError> {
        let new: Vec<&str> = sets.iter().copied().filter(|set| !self.found.contains_key(&began_key(self.source, set))).collect();
        self.set_began(&new, now_ms())
    }

    /// From when on changes are to be copied, in nanoseconds since 1970.
    pub(super) fn begin_changes(&mut self, sets: &[&str]) -> u64 {
        self.changes_began_ms = now_ms();
        let began = sets.iter().filter_map(|set| self.found.get(&began_key(self.source, set))).min();
        let since_ms = began.copied().unwrap_or_default().saturating_sub(CLOCKS_MS).max(0);
        since_ms as u64 * 1_000_000
    }

    /// What was changed until then is copied.
    pub(super) fn end_changes(&mut self, sets: &[&str]) -> Result<(), ImportError> {
        self.set_began(sets, self.changes_began_ms)
    }

    fn set_began(&mut self, sets: &[&str], time_ms: i64) -> Result<(), ImportError> {
        let mut connection = self.connector.connect(0)?;
        for set in sets {
            let key = began_key(self.source, set);
            store(&mut connection, self.namespace, &key, time_ms).map_err(|error| self.connector.failed(error))?;
            self.found.insert(key, time_ms);
        }
        Ok(())
    }
}

fn prefix(source: &str, set: &str) -> String {
    format!("{source} {} ", if set.is_empty() { "*" } else { set })
}

fn began_key(source: &str, set: &str) -> String {
    format!("{}{BEGAN}", prefix(source, set))
}

/// The keys of these sets. Since when changes are not copied comes last: as long as a group is done somebody may ask for them.
fn keys_of<'k>(keys: impl Iterator<Item = &'k String>, source: &str, sets: &[&str]) -> Vec<String> {
    let prefixes: Vec<String> = sets.iter().map(|set| prefix(source, set)).collect();
    let mut keys: Vec<String> = keys.filter(|key| prefixes.iter().any(|prefix| key.starts_with(prefix))).cloned().collect();
    keys.sort_by_key(|key| key.ends_with(BEGAN));
    keys
}

/// That of a group of partitions.
pub(super) fn group_key(source: &str, piece: &Piece<'_>) -> String {
    format!("{}{}+{}", prefix(source, piece.set), piece.partitions.start, piece.partitions.len())
}

/// Stores a time under a key.
pub(super) fn store(connection: &mut Connection, namespace: &str, key: &str, time_ms: i64) -> Result<(), ClientError> {
    let mut out = Vec::new();
    write(namespace, key, Some(time_ms), &mut out);
    connection.request("to store what is copied", &out)
}

/// A request that writes a record, or deletes it.
fn write(namespace: &str, key: &str, time_ms: Option<i64>, out: &mut Vec<u8>) {
    let kind = [ParticleType::String as u8];
    let key_digest: Digest = digest(STATE.as_bytes(), &[&kind[..], key.as_bytes()].concat());
    let proto = Proto::begin(out, Kind::Message);
    let mut message = MessageWriter::begin(out);
    message.field(out, field::NAMESPACE, namespace.as_bytes(), &[]);
    message.field(out, field::SET, STATE.as_bytes(), &[]);
    message.field(out, field::DIGEST, &key_digest, &[]);
    match time_ms {
        Some(time_ms) => {
            message.attributes =
                Attributes { info2: info2::WRITE, info3: info3::CREATE_OR_REPLACE, ttl: TTL_NEVER, ..Attributes::default() };
            message.field(out, field::KEY, &kind, key.as_bytes());
            let (particle, value) = (ParticleType::Integer as u8, time_ms.to_be_bytes());
            message.operation(out, &Operation { code: code::WRITE, particle, name: BIN.as_bytes(), value: &value });
        }
        None => message.attributes.info2 = info2::WRITE | info2::DELETE,
    }
    message.end(out, ResultCode::OK);
    proto.end(out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_sources_sets_and_groups_apart() {
        let of = |set, first| group_key("aerospike://h:3000", &Piece { set, partitions: first..first + 4 });
        assert_eq!(of("", 8), "aerospike://h:3000 * 8+4");
        assert_eq!(of("users", 0), "aerospike://h:3000 users 0+4");
        assert!(of("users", 0).starts_with(&prefix("aerospike://h:3000", "users")));
        assert!(!of("users2", 0).starts_with(&prefix("aerospike://h:3000", "users")));
    }

    #[test]
    fn when_the_copy_was_begun_is_forgotten_last() {
        let keys = ["s a began", "s a 0+4", "s ab 0+4", "s a 4+4", "s b began", "other a 0+4", "s b 0+4"].map(str::to_owned);
        let (groups, began): (Vec<_>, Vec<_>) = (["s a 0+4", "s a 4+4", "s b 0+4"].into(), ["s a began", "s b began"].into());
        assert_eq!(keys_of(keys.iter(), "s", &["a", "b"]), [groups, began].concat());
    }
}
