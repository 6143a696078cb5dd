//! Both sides, compared partition by partition, record by record.

use super::super::differences::Differences;
use super::super::error::ImportError;
use super::super::jobs::Jobs;
use super::connector::Connector;
use super::digest::hash;
use super::piece::Piece;
use super::reader::{Reader, Wanted};
use super::record::{Digest, Record, now_s};
use super::state::STATE;
use crate::at_rest::to_hex;
use crate::throttle::Throttle;
use aerospike::value::ParticleType;
use std::collections::HashMap;

/// Clocks of both sides may differ by so much, and a record take so long to be copied: what expires within is compared by nobody.
const CLOCKS_S: u32 = 5;

/// One job.
pub(super) struct Verifier<'a> {
    namespace: &'a str,
    source: Reader<'a>,
    target: Reader<'a>,
    jobs: &'a Jobs<'a>,
    throttle: &'a Throttle,
    differences: &'a Differences<'a>,
}

/// What the source has of a record.
struct Known {
    hash: u64,
    void_time: u32,
    /// By its place among the names of sets.
    set: u32,
}

/// The source's records of a partition.
#[derive(Default)]
struct Partition {
    records: HashMap<Digest, Known>,
    sets: Vec<Vec<u8>>,
}

impl Partition {
    fn add(&mut self, record: &Record<'_>) {
        let set = self.sets.iter().position(|set| set == record.set).unwrap_or_else(|| {
            self.sets.push(record.set.to_vec());
            self.sets.len() - 1
        });
        self.records.insert(*record.digest, Known { hash: hash(record), void_time: record.void_time, set: set as u32 });
    }
}

impl<'a> Verifier<'a> {
    pub(super) fn new(
        namespace: &'a str,
        (source, target): (&'a Connector, &'a Connector),
        (jobs, throttle, differences): (&'a Jobs<'a>, &'a Throttle, &'a Differences<'a>),
    ) -> Self {
        Self { namespace, source: Reader::new(source), target: Reader::new(target), jobs, throttle, differences }
    }

    /// Compares a partition.
    pub(super) fn compare(&mut self, piece: &Piece<'_>) -> Result<(), ImportError> {
        let Self { namespace, source, target, jobs, throttle, differences } = self;
        let wanted = Wanted { namespace, set: piece.set, since_ns: None };
        let of_partition = jobs.patiently(|| {
            let mut partition = Partition::default();
            source.scan(&wanted, &piece.partitions, |record| {
                if record.set != STATE.as_bytes() {
                    partition.add(record);
                }
                Ok(())
            })?;
            Ok(partition)
        })?;
        let records = of_partition.records.len();
        throttle.pass(records);
        // What differs is told once: a scan of the target may be done again.
        let (mut different, mut left) = (Vec::new(), HashMap::new());
        jobs.patiently(|| {
            different.clear();
            left = of_partition.records.iter().map(|(digest, known)| (*digest, known)).collect();
            target.scan(&wanted, &piece.partitions, |record| {
                if record.set != STATE.as_bytes()
                    && let Some(how) = compared(left.remove(record.digest), record)
                {
                    different.push((record.set.to_vec(), format!("{how}: {}", named(record.digest, record.key))));
                }
                Ok(())
            })
        })?;
        let missing = left.into_iter().filter(|(_, known)| known.void_time == 0 || known.void_time > now_s() + CLOCKS_S);
        different.extend(missing.map(|(digest, known)| {
            (of_partition.sets[known.set as usize].clone(), format!("missing at the target: {}", named(&digest, None)))
        }));
        for (set, text) in different {
            let set = if set.is_empty() { "(no set)".into() } else { String::from_utf8_lossy(&set) };
            differences.add(&format!("{namespace}.{set}"), &text);
        }
        jobs.meter.add(records);
        Ok(())
    }
}

/// How a record of the target differs from the source's, if it does.
fn compared(known: Option<&Known>, record: &Record<'_>) -> Option<&'static str> {
    let Some(known) = known else { return Some("only at the target") };
    let is_same_time = (known.void_time == 0) == (record.void_time == 0) && known.void_time.abs_diff(record.void_time) <= CLOCKS_S;
    match (known.hash == hash(record), is_same_time) {
        (true, true) => None,
        (true, false) => Some("of another time to live"),
        (false, _) => Some("not the same"),
    }
}

/// A record by its digest, and by its key where that is stored.
fn named(digest: &Digest, key: Option<&[u8]>) -> String {
    let key = key.and_then(|key| key.split_first()).map(|(kind, value)| match (ParticleType::from_wire(*kind), value.try_into()) {
        (Some(ParticleType::Integer), Ok(number)) => format!(", key {}", i64::from_be_bytes(number)),
        (Some(ParticleType::String), _) => format!(", key '{}'", String::from_utf8_lossy(value)),
        _ => format!(", key 0x{}", to_hex(value)),
    });
    format!("digest {}{}", to_hex(digest), key.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_told_by_what_is_known_of_it() {
        let digest = [0xAB; 20];
        let hexadecimal = "ab".repeat(20);
        assert_eq!(named(&digest, None), format!("digest {hexadecimal}"));
        assert_eq!(named(&digest, Some(b"\x03me")), format!("digest {hexadecimal}, key 'me'"));
        assert_eq!(named(&digest, Some(&[1, 0, 0, 0, 0, 0, 0, 0, 9])), format!("digest {hexadecimal}, key 9"));
        assert_eq!(named(&digest, Some(&[4, 1, 2])), format!("digest {hexadecimal}, key 0x0102"));
    }

    #[test]
    fn times_to_live_may_differ_by_what_clocks_do() {
        let record = |void_time| Record { digest: &[1; 20], set: b"s", key: None, void_time, bins: Default::default() };
        let known = |void_time| Known { hash: hash(&record(0)), void_time, set: 0 };
        assert_eq!(compared(Some(&known(100)), &record(100 + CLOCKS_S)), None);
        assert_eq!(compared(Some(&known(100)), &record(101 + CLOCKS_S)), Some("of another time to live"));
        assert_eq!(compared(Some(&known(0)), &record(3)), Some("of another time to live"));
        assert_eq!(compared(Some(&Known { hash: 1, ..known(0) }), &record(0)), Some("not the same"));
        assert_eq!(compared(None, &record(0)), Some("only at the target"));
    }
}
