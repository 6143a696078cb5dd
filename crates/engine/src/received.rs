//! Rows on their way from one shard to another: records back to back as a batch has them, without sequence and checksum, which are each
//! shard's own.
//!
//! | in the record | here |
//! |---|---|
//! | checksum, sequence | zero |
//! | flags 4 and 8 (groups) | mean nothing: what is received together becomes one group |
//! | flags 16, 32, 64, tables that stay in memory | refused |
//! | padding to a multiple of 16 | zero |
//!
//! The bytes come from outside: [`ReceivedRows`] checks them as it goes, and nothing of a record is looked at before its lengths are known to fit.

use crate::batch::WriteBatch;
use crate::error::ReceivedError;
use crate::format::record::{FLAG_CONTINUES, FLAG_PURGE, FLAG_STARTS, FLAG_TOMBSTONE, Record};
use crate::key::{Key, Kind};
use crate::location::padded;
use crate::resident::is_resident;

/// Flags that a received row may have.
const FLAGS_ALLOWED: u8 = FLAG_PURGE | FLAG_TOMBSTONE | FLAG_CONTINUES | FLAG_STARTS;

/// A row as a batch has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodedRow<'a> {
    /// What names it.
    pub key: Key<'a>,
    /// What the engine may do with it.
    pub kind: Kind,
    /// Its bytes.
    pub row: &'a [u8],
    /// All of it, as it was sent and can be sent on, padding included.
    pub encoded: &'a [u8],
}

impl<'a> EncodedRow<'a> {
    fn new(record: &Record<'a>, encoded: &'a [u8]) -> Self {
        let row = record.row();
        Self { key: record.key(), kind: row.kind, row: row.bytes, encoded }
    }
}

impl WriteBatch {
    /// The rows, in the order in which they were added.
    pub fn rows(&self) -> impl Iterator<Item = EncodedRow<'_>> {
        let mut rest = self.bytes();
        std::iter::from_fn(move || {
            let record = (!rest.is_empty()).then(|| Record::trusted(rest))?;
            let (encoded, after) = rest.split_at(padded(record.length()));
            rest = after;
            Some(EncodedRow::new(&record, encoded))
        })
    }
}

/// The rows in bytes from outside, one by one; after an error it ends.
#[derive(Clone, Debug)]
pub struct ReceivedRows<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ReceivedRows<'a> {
    /// Rows that lie back to back.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn read(&self) -> Option<EncodedRow<'a>> {
        let record = Record::plausible(&self.bytes[self.at..])?;
        let flags = record.flags();
        let is_known = flags & !FLAGS_ALLOWED == 0 && (flags & FLAG_TOMBSTONE == 0 || flags & FLAG_PURGE != 0);
        if !is_known || is_resident(record.table()) {
            return None;
        }
        let encoded = self.bytes.get(self.at..self.at + padded(record.length()))?;
        let is_blank = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
        if !is_blank(&encoded[..4]) || !is_blank(&encoded[8..15]) || !is_blank(&encoded[record.length()..]) {
            return None;
        }
        Some(EncodedRow::new(&record, encoded))
    }
}

impl<'a> Iterator for ReceivedRows<'a> {
    type Item = Result<EncodedRow<'a>, ReceivedError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let Some(row) = self.read() else {
            let offset = self.at;
            self.at = self.bytes.len();
            return Some(Err(ReceivedError { offset }));
        };
        self.at += row.encoded.len();
        Some(Ok(row))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use base::{Rng, TableId, Token};

    fn key(number: u64, partition: &[u8]) -> Key<'_> {
        Key {
            table: TableId(7),
            token: Token(number as i64 - 3),
            partition,
            clustering: if number.is_multiple_of(2) { b"" } else { b"ck" },
        }
    }

    fn batch(rows: u64) -> WriteBatch {
        let mut batch = WriteBatch::new();
        for number in 0..rows {
            let kind = match number % 3 {
                0 => Kind::Live,
                1 => Kind::Expiring { purge_after_s: number as i64 - 2 },
                _ => Kind::Tombstone { purge_after_s: i64::MAX },
            };
            batch.put(&key(number, &[9; 5][..number as usize % 6]), kind, &vec![number as u8 + 1; number as usize * 7 % 50]).unwrap();
        }
        batch
    }

    #[test]
    fn what_one_batch_has_another_gets() {
        for rows in [0, 1, 2, 30] {
            let sent = batch(rows);
            let mut received = WriteBatch::new();
            received.append_received(sent.bytes()).unwrap();
            assert_eq!((received.bytes(), received.len(), received.has_live()), (sent.bytes(), sent.len(), sent.has_live()));
            assert!(sent.rows().map(Ok).eq(ReceivedRows::new(sent.bytes())));
        }
    }

    #[test]
    fn some_rows_of_several_batches_become_one_group() {
        let (first, second) = (batch(9), batch(4));
        let mut some = Vec::new();
        ReceivedRows::new(first.bytes()).step_by(2).for_each(|row| some.extend_from_slice(row.unwrap().encoded));
        let mut received = WriteBatch::new();
        received.append_received(&some).unwrap();
        received.append_received(second.bytes()).unwrap();
        let rows = |bytes| ReceivedRows::new(bytes).map(|row| row.map(|row| (row.key, row.kind, row.row)).unwrap()).collect::<Vec<_>>();
        let expected: Vec<_> = rows(first.bytes()).into_iter().step_by(2).chain(rows(second.bytes())).collect();
        assert_eq!((rows(received.bytes()), received.len()), (expected, 9));
        let flags: Vec<u8> =
            ReceivedRows::new(received.bytes()).map(|row| row.unwrap().encoded[15] & (FLAG_STARTS | FLAG_CONTINUES)).collect();
        assert_eq!((flags[0], flags[8]), (FLAG_STARTS | FLAG_CONTINUES, 0));
        assert!(flags[1..8].iter().all(|flags| *flags == FLAG_CONTINUES));
    }

    #[test]
    fn rows_travel_as_these_bytes() {
        let mut batch = WriteBatch::new();
        let key = Key { table: TableId(0x0102_0304), token: Token(-2), partition: b"pk", clustering: b"c" };
        batch.put(&key, Kind::Tombstone { purge_after_s: 5 }, b"row").unwrap();
        let mut golden = Vec::new();
        golden.extend([0, 0, 0, 0, 46, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11]);
        golden.extend([254, 255, 255, 255, 255, 255, 255, 255, 4, 3, 2, 1, 2, 0, 1, 0]);
        golden.extend([5, 0, 0, 0, 0, 0, 0, 0, b'p', b'k', b'c', b'r', b'o', b'w', 0, 0]);
        assert_eq!(batch.bytes(), golden);
    }

    #[test]
    fn what_no_batch_would_have_is_refused_and_changes_nothing() {
        let good = batch(3);
        let bytes = good.bytes();
        let last = ReceivedRows::new(bytes).last().unwrap().unwrap().encoded.len();
        let spoilt = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = bytes.to_vec();
            change(&mut bytes);
            let mut batch = WriteBatch::new();
            let refused = batch.append_received(&bytes).is_err();
            assert!(batch.is_empty() && batch.bytes().is_empty() || !refused);
            refused
        };
        let start = bytes.len() - last;
        assert!(!spoilt(&|_| {}));
        for flag in [16, 32, 64, 128] {
            assert!(spoilt(&|bytes| bytes[start + 15] |= flag), "flag {flag}");
        }
        assert!(spoilt(&|bytes| bytes[start + 15] = FLAG_TOMBSTONE), "a tombstone without a purge time");
        assert!(spoilt(&|bytes| bytes[start + 27] |= 0x80), "a table that stays in memory");
        assert!(spoilt(&|bytes| bytes[start] = 1), "a checksum");
        assert!(spoilt(&|bytes| bytes[start + 14] = 1), "a sequence");
        assert!(spoilt(&|bytes| bytes[start + 7] = 0xFF), "a length beyond the end");
        assert!(spoilt(&|bytes| bytes[start + 4..start + 8].fill(0)), "no length");
        assert!(spoilt(&|bytes| bytes[start + 29] = 0xFF), "a key beyond the record");
        assert!(spoilt(&|bytes| *bytes.last_mut().unwrap() = 1), "padding");
        for cut in 1..bytes.len() {
            let is_border = [bytes.len() - last].contains(&cut) || ReceivedRows::new(bytes).next().unwrap().unwrap().encoded.len() == cut;
            assert_eq!(spoilt(&|bytes| bytes.truncate(cut)), !is_border, "cut at {cut}");
        }
    }

    #[test]
    fn any_bytes_are_rows_that_fit_or_refused() {
        let mut rng = Rng::new(11);
        let good = batch(12);
        let mut accepted = 0;
        for round in 0..20_000 {
            let mut bytes = good.bytes().to_vec();
            if round % 4 == 0 {
                rng.fill(&mut bytes);
            } else {
                for _ in 0..=rng.below(3) {
                    let at = rng.below(bytes.len() as u64) as usize;
                    bytes[at] = rng.below(256) as u8;
                }
            }
            let mut batch = WriteBatch::new();
            if batch.append_received(&bytes).is_ok() {
                accepted += 1;
                assert_eq!(batch.bytes_in_log(), bytes.len());
                assert_eq!(ReceivedRows::new(batch.bytes()).filter(Result::is_ok).count(), batch.len());
            }
        }
        assert!((2_000..19_000).contains(&accepted), "{accepted}");
    }
}
