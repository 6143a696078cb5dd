//! Both sides, compared container by container: by a digest of all rows, and row by row where those differ.

use super::super::differences::Differences;
use super::super::error::ImportError;
use super::super::jobs::Jobs;
use super::containers;
use super::link::Link;
use super::rows::{self, Row};
use crate::throttle::Throttle;
use griddb::client::Description;
use griddb::instant::Instant;
use griddb::{ElementType, GridError};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Rows that are compared one by one: of a larger container it is only said that it differs.
const ROWS_MAX: usize = 1_000_000;

/// One job.
pub(super) struct Verifier<'a> {
    source: Link<'a>,
    target: Link<'a>,
    jobs: &'a Jobs<'a>,
    throttle: &'a Throttle,
    differences: &'a Differences<'a>,
}

/// Of all rows of a container, in whatever order they come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Digest {
    rows: u64,
    sum: u64,
}

impl<'a> Verifier<'a> {
    pub(super) fn new(
        (source, target): (Link<'a>, Link<'a>),
        (jobs, throttle, differences): (&'a Jobs<'a>, &'a Throttle, &'a Differences<'a>),
    ) -> Self {
        Self { source, target, jobs, throttle, differences }
    }

    /// Compares a container.
    pub(super) fn compare(&mut self, database: &str, container: &Description) -> Result<(), ImportError> {
        let (jobs, what) = (self.jobs, format!("{database}.{}", container.name));
        let there = jobs.patiently(|| containers::described(&mut self.target, &container.name))?;
        let Some(there) = there.map_err(ImportError::Told)? else {
            self.differences.add(&what, "missing at the target");
            return Ok(());
        };
        if (there.kind, &there.columns, there.key_len) != (container.kind, &container.columns, container.key_len) {
            self.differences.add(&what, "its columns, or its row key, are not the same");
            return Ok(());
        }
        let mut digests = [Digest::default(); 2];
        let source = (&mut self.source, container, Some(self.throttle));
        for ((side, of_side, throttle), digest) in [source, (&mut self.target, &there, None)].into_iter().zip(&mut digests) {
            scan(jobs, (side, throttle), of_side, |row| {
                *digest = Digest { rows: digest.rows + 1, sum: digest.sum.wrapping_add(hash(row)) };
            })?;
        }
        jobs.meter.add(digests[0].rows as usize);
        if digests[0] == digests[1] {
            return Ok(());
        }
        let most = digests[0].rows.max(digests[1].rows);
        if container.key_len == 0 || most > ROWS_MAX as u64 {
            let [at_source, at_target] = digests.map(|digest| digest.rows);
            self.differences.add(&what, &format!("not the same: {at_source} rows at the source, {at_target} at the target"));
            return Ok(());
        }
        self.compare_rows(&what, container, &there)
    }

    /// Compares the rows of a container in which something differs.
    fn compare_rows(&mut self, what: &str, container: &Description, there: &Description) -> Result<(), ImportError> {
        let (jobs, key_len) = (self.jobs, container.key_len);
        let mut known = HashMap::new();
        scan(jobs, (&mut self.source, Some(self.throttle)), container, |row| known.extend([(key_of(row, key_len), hash(row))]))?;
        let mut found = Vec::new();
        scan(jobs, (&mut self.target, None), there, |row| {
            let key = key_of(row, key_len);
            match known.remove(&key) {
                Some(hashed) if hashed == hash(row) => {}
                Some(_) => found.push(("not the same", key)),
                None => found.push(("only at the target", key)),
            }
        })?;
        found.extend(known.into_keys().map(|key| ("missing at the target", key)));
        for (how, key) in found {
            self.differences.add(what, &format!("{how}: {}", key_text(container, &key)));
        }
        Ok(())
    }
}

/// The cells of a row's key.
type Key = Vec<Vec<u8>>;

fn key_of(row: &Row<'_>, key_len: usize) -> Key {
    row.iter().take(key_len).map(|cell| cell.unwrap_or_default().to_vec()).collect()
}

/// Gives `each` all rows of a container, each once: a part is counted when it has come whole. The source is spared by a throttle.
fn scan(
    jobs: &Jobs<'_>,
    (side, throttle): (&mut Link<'_>, Option<&Throttle>),
    container: &Description,
    mut each: impl FnMut(&Row<'_>),
) -> Result<(), ImportError> {
    let mut state = None::<Vec<u8>>;
    loop {
        let mut count = 0;
        let next = jobs.patiently(|| {
            rows::part(side, container, state.as_deref(), |row| {
                each(row);
                count += 1;
                Ok::<(), GridError>(())
            })
        })?;
        throttle.into_iter().for_each(|throttle| throttle.pass(count));
        state = next.map_err(ImportError::Told)?;
        if state.is_none() {
            return Ok(());
        }
    }
}

fn hash(row: &Row<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    row.hash(&mut hasher);
    hasher.finish()
}

/// A row key as TQL has it.
fn key_text(container: &Description, key: &Key) -> String {
    let columns = container.columns.iter().zip(key).map(|(column, cell)| {
        let number = |bytes: &[u8]| {
            bytes
                .iter()
                .rev()
                .fold(if bytes.last().is_some_and(|high| *high > 127) { -1_i64 } else { 0 }, |number, byte| number << 8 | i64::from(*byte))
        };
        match column.element {
            ElementType::String => format!("{} = '{}'", column.name, String::from_utf8_lossy(cell)),
            ElementType::Timestamp => format!("{} = TO_TIMESTAMP_MS({})", column.name, number(cell)),
            ElementType::MicroTimestamp => format!("{} = {} us since 1970", column.name, number(cell)),
            ElementType::NanoTimestamp => {
                let time_ns = Instant::of_nano_wire(cell).map_or(0, Instant::total_ns);
                format!("{} = {time_ns} ns since 1970", column.name)
            }
            _ => format!("{} = {}", column.name, number(cell)),
        }
    });
    columns.collect::<Vec<_>>().join(" AND ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use griddb::ContainerName;
    use griddb::client::ContainerId;
    use griddb::schema::{ColumnDefinition, Kind};

    #[test]
    fn a_row_is_told_by_its_key() {
        let column = |name: &str, element| ColumnDefinition { name: name.to_owned(), element, is_array: false, is_not_null: true };
        let kinds = [
            ("a", ElementType::String),
            ("b", ElementType::Integer),
            ("c", ElementType::Timestamp),
            ("d", ElementType::MicroTimestamp),
            ("e", ElementType::NanoTimestamp),
        ];
        let columns = kinds.map(|(name, element)| column(name, element)).to_vec();
        let (name, id) = (ContainerName::parse("t"), ContainerId { id: 1, version: 0 });
        let container = Description { id, name, kind: Kind::Collection, columns, key_len: 5, indexes: Vec::new(), partitioning: None };
        let nano = Instant { us: 1, ns: 5 }.nano_wire().to_vec();
        let key =
            vec![b"x".to_vec(), (-5_i32).to_le_bytes().to_vec(), 7_000_i64.to_le_bytes().to_vec(), 8_i64.to_le_bytes().to_vec(), nano];
        let expected = "a = 'x' AND b = -5 AND c = TO_TIMESTAMP_MS(7000) AND d = 8 us since 1970 AND e = 1005 ns since 1970";
        assert_eq!(key_text(&container, &key), expected);
    }
}
