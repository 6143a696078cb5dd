//! `SELECT COUNT(*) FROM t`: the node counts, a range of tokens at a time, and no row crosses the socket.
//!
//! SQLite still steps over the rows, which have no values. That a whole table is counted has to be known from the statement: a scan of which no column is looked at may also be
//! one that ends after its first row.

use super::error::TablesError;
use super::port::Port;
use super::table::CqlTable;
use sql::syntax::Word;
use sql::{Scan, SourceError, ValueRef};
use std::sync::Arc;

/// Ranges of tokens that are counted one after the other: between two of them a statement can be stopped.
const RANGES: u32 = 16;

/// Whether a statement does nothing else than to count a table's rows.
pub(super) fn counts_all(statement: &[Word<'_>]) -> bool {
    let ends = |word: &&Word<'_>| word.is_symbol(';');
    let end = statement.len() - statement.iter().rev().take_while(ends).count();
    let [select, count, open, star, close, rest @ ..] = &statement[..end] else { return false };
    let is_count = select.is("SELECT") && count.is("COUNT") && open.is_symbol('(') && star.is_symbol('*') && close.is_symbol(')');
    let is_name = |word: &Word<'_>| word.name().is_some();
    let from = match rest {
        [alias, name, rest @ ..] if alias.is("AS") && is_name(name) => rest,
        [name, rest @ ..] if !name.is("FROM") && is_name(name) => rest,
        rest => rest,
    };
    is_count
        && match from {
            [from, table] => from.is("FROM") && is_name(table),
            [from, keyspace, point, table] => from.is("FROM") && is_name(keyspace) && point.is_symbol('.') && is_name(table),
            _ => false,
        }
}

/// As many rows as a table has, without values.
pub(super) struct CountScan {
    port: Arc<Port>,
    /// `SELECT COUNT(*) FROM ks.t`.
    text: String,
    /// `token(a, b)`.
    token: String,
    /// The range that is counted next.
    range: u32,
    /// Rows of the one before that were not stepped over yet.
    left: u64,
}

impl CountScan {
    pub(super) fn new(port: &Arc<Port>, table: &CqlTable) -> Self {
        let key: Vec<&str> = table.columns[..table.partition_key_len].iter().map(|column| column.name.as_str()).collect();
        let (text, token) = (format!("SELECT COUNT(*) FROM {}", table.name), format!("token({})", key.join(", ")));
        Self { port: Arc::clone(port), text, token, range: 0, left: 0 }
    }

    fn count(&self) -> Result<u64, TablesError> {
        let text = format!("{}{}", self.text, condition(&self.token, self.range));
        let count = self.port.page(&text, &[], None, |rows| {
            let cell = rows.cells().next().flatten()?;
            u64::try_from(i64::from_be_bytes(cell.try_into().ok()?)).ok()
        })?;
        count.ok_or_else(|| TablesError::Changed { message: format!("{text}: its answer is no number") })
    }
}

/// What tells a range of tokens: all ranges together are all tokens, each in one.
fn condition(token: &str, range: u32) -> String {
    let before = |range: u32| i64::MIN.wrapping_add(((u128::from(range) << 64) / u128::from(RANGES)) as i64);
    let (first, last) = (range == 0, range + 1 == RANGES);
    let from = format!("{token} > {}", before(range));
    let to = format!("{token} <= {}", before(range + 1));
    match (first, last) {
        (true, true) => String::new(),
        (true, false) => format!(" WHERE {to}"),
        (false, true) => format!(" WHERE {from}"),
        (false, false) => format!(" WHERE {from} AND {to}"),
    }
}

impl Scan for CountScan {
    fn advance(&mut self) -> Result<bool, SourceError> {
        while self.left == 0 {
            if self.range == RANGES {
                return Ok(false);
            }
            self.left = self.count()?;
            self.range += 1;
        }
        self.left -= 1;
        Ok(true)
    }

    fn value(&self, _: usize) -> ValueRef<'_> {
        ValueRef::Null
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql::syntax::words;

    #[test]
    fn what_counts_all_is_told_from_what_does_not() {
        let counts = |sql| counts_all(&words(sql).expect("words"));
        for sql in [
            "SELECT COUNT(*) FROM t",
            "select count ( * ) from ks.t ;",
            "SELECT COUNT(*) AS n FROM \"k s\".\"T\"; ;",
            "SELECT COUNT(*) n FROM t -- all",
        ] {
            assert!(counts(sql), "{sql}");
        }
        for sql in [
            "",
            "SELECT COUNT(*)",
            "SELECT COUNT(a) FROM t",
            "SELECT COUNT(*), 1 FROM t",
            "SELECT COUNT(*) FROM t WHERE a = 1",
            "SELECT COUNT(*) FROM t LIMIT 1",
            "SELECT COUNT(*) FROM t, u",
            "SELECT COUNT(*) FROM t u",
            "SELECT COUNT(*) FROM (SELECT 1 FROM t)",
            "SELECT COUNT(*) + 1 FROM t",
            "EXPLAIN QUERY PLAN SELECT COUNT(*) FROM t",
            "SELECT 1 FROM t; SELECT COUNT(*) FROM t",
        ] {
            assert!(!counts(sql), "{sql}");
        }
    }

    #[test]
    fn ranges_are_all_tokens() {
        let bounds: Vec<String> = (0..RANGES).map(|range| condition("t", range)).collect();
        assert_eq!(bounds[0], format!(" WHERE t <= {}", i64::MIN + (1 << 60)));
        assert_eq!(bounds[8], format!(" WHERE t > 0 AND t <= {}", 1_i64 << 60));
        assert_eq!(bounds[15], format!(" WHERE t > {}", i64::MAX - (1 << 60) + 1));
        for two in bounds.windows(2) {
            let [before, after] = two else { continue };
            assert_eq!(before.rsplit_once("<= ").map(|end| end.1), after[" WHERE t > ".len()..].split(' ').next());
        }
    }
}
