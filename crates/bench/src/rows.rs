//! The rows that benchmarks read and write: a text key and one or more blobs of equal length.
//!
//! Keys are those of redis-benchmark (`key:000000012345`), so that both servers hash and compare the same bytes. The first column of a row
//! starts with its key, the rest is one fixed incompressible pattern: a reply can be checked without remembering what was written.

use base::Rng;
use std::fmt::Write;

/// Length of a key.
pub const KEY_BYTES: usize = 16;
/// The key's part before its number.
const KEY_PREFIX: &[u8; 4] = b"key:";
/// The numbers of keys are below this.
pub const KEY_COUNT_MAX: u64 = 1_000_000_000_000;

/// The number of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyNumber(pub u64);

impl KeyNumber {
    /// The key itself.
    #[must_use]
    #[inline]
    pub fn key(self) -> [u8; KEY_BYTES] {
        let mut key = [0; KEY_BYTES];
        key[..4].copy_from_slice(KEY_PREFIX);
        let mut rest = self.0;
        for digit in key[4..].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        key
    }
}

/// What the rows of a table look like.
#[derive(Clone, Debug)]
pub struct RowShape {
    columns: usize,
    pattern: Vec<u8>,
}

impl RowShape {
    /// Rows of `columns` blobs of `column_bytes` each.
    ///
    /// # Panics
    /// Without a column, or when the first has no room for the key.
    #[must_use]
    pub fn new(columns: usize, column_bytes: usize) -> Self {
        assert!(columns > 0 && column_bytes >= KEY_BYTES, "a row has a column that holds its key");
        let mut pattern = vec![0; column_bytes];
        Rng::new(0x7a5e).fill(&mut pattern);
        Self { columns, pattern }
    }

    /// How many blobs a row has.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Bytes of all blobs of a row.
    #[must_use]
    pub fn value_bytes(&self) -> usize {
        self.columns * self.pattern.len()
    }

    /// The blobs of the row with this key.
    pub fn cells(&self, key: [u8; KEY_BYTES]) -> impl Iterator<Item = Vec<u8>> + '_ {
        (0..self.columns).map(move |column| {
            let mut cell = self.pattern.clone();
            if column == 0 {
                cell[..KEY_BYTES].copy_from_slice(&key);
            }
            cell
        })
    }

    /// Whether `cells` are the blobs of the row with this key.
    #[must_use]
    pub fn matches<'a>(&self, key: [u8; KEY_BYTES], cells: impl Iterator<Item = Option<&'a [u8]>>) -> bool {
        let mut columns = 0;
        for cell in cells {
            let Some(cell) = cell else { return false };
            let checked_before = if columns == 0 { KEY_BYTES } else { 0 };
            if cell.len() != self.pattern.len() || cell[checked_before..] != self.pattern[checked_before..] {
                return false;
            }
            if columns == 0 && cell[..KEY_BYTES] != key {
                return false;
            }
            columns += 1;
        }
        columns == self.columns
    }

    /// `CREATE TABLE` of such rows.
    #[must_use]
    pub fn create_table(&self, table: &str) -> String {
        let columns: String = (0..self.columns).fold(String::new(), |mut text, column| {
            let _ = write!(text, ", c{column} blob");
            text
        });
        format!("CREATE TABLE IF NOT EXISTS {table} (key text PRIMARY KEY{columns})")
    }

    /// A read of all blobs of one row; its marker is the key.
    #[must_use]
    pub fn select(&self, table: &str) -> String {
        format!("SELECT {} FROM {table} WHERE key = ?", self.names())
    }

    /// An index on the first blob, which no two rows share.
    #[must_use]
    pub fn create_index(&self, table: &str) -> String {
        format!("CREATE INDEX ON {table} (c0)")
    }

    /// A read of all blobs of one row; its marker is the first of them.
    #[must_use]
    pub fn select_by_value(&self, table: &str) -> String {
        format!("SELECT {} FROM {table} WHERE c0 = ?", self.names())
    }

    /// An upsert of one row; its markers are the key and the blobs.
    #[must_use]
    pub fn insert(&self, table: &str) -> String {
        format!("INSERT INTO {table} (key, {}) VALUES (?{})", self.names(), ", ?".repeat(self.columns))
    }

    fn names(&self) -> String {
        (0..self.columns).map(|column| format!("c{column}")).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_redis_benchmark() {
        assert_eq!(&KeyNumber(12_345).key(), b"key:000000012345");
        assert_eq!(&KeyNumber(KEY_COUNT_MAX - 1).key(), b"key:999999999999");
    }

    #[test]
    fn a_row_matches_its_own_key_only() {
        let shape = RowShape::new(3, 20);
        let (key, other) = (KeyNumber(7).key(), KeyNumber(8).key());
        let cells: Vec<_> = shape.cells(key).collect();
        let as_read = || cells.iter().map(|cell| Some(cell.as_slice()));
        assert!(shape.matches(key, as_read()));
        assert!(!shape.matches(other, as_read()));
        assert!(!shape.matches(key, as_read().take(2)));
        assert!(!shape.matches(key, as_read().map(|cell| cell.map(|cell| &cell[..19]))));
        assert!(!shape.matches(key, as_read().enumerate().map(|(column, cell)| cell.filter(|_| column != 2))));
    }

    #[test]
    fn statements_name_every_column() {
        let shape = RowShape::new(2, 16);
        assert_eq!(shape.create_table("b.kv"), "CREATE TABLE IF NOT EXISTS b.kv (key text PRIMARY KEY, c0 blob, c1 blob)");
        assert_eq!(shape.select("b.kv"), "SELECT c0, c1 FROM b.kv WHERE key = ?");
        assert_eq!(shape.insert("b.kv"), "INSERT INTO b.kv (key, c0, c1) VALUES (?, ?, ?)");
    }
}
