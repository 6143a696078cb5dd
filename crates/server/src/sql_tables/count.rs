//! How many rows a table has: the node counts, a range of tokens at a time, and no row crosses the socket.

use super::error::TablesError;
use super::port::Port;
use super::table::CqlTable;

/// Ranges of tokens that are counted one after the other: between two of them a statement can be stopped.
const RANGES: u32 = 16;

/// Counts them, until it is over: whatever it gives then.
pub(super) fn count(port: &Port, table: &CqlTable, is_over: &dyn Fn() -> bool) -> Result<u64, TablesError> {
    let key: Vec<&str> = table.columns[..table.partition_key_len].iter().map(|column| column.name.as_str()).collect();
    let token = format!("token({})", key.join(", "));
    let mut all = 0_u64;
    for range in (0..RANGES).take_while(|_| !is_over()) {
        let text = format!("SELECT COUNT(*) FROM {}{}", table.name, condition(&token, range));
        let count = port.page(&text, &[], None, |rows| {
            let cell = rows.cells().next().flatten()?;
            u64::try_from(i64::from_be_bytes(cell.try_into().ok()?)).ok()
        })?;
        all += count.ok_or_else(|| TablesError::Changed { message: format!("{text}: its answer is no number") })?;
    }
    Ok(all)
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

#[cfg(test)]
mod tests {
    use super::*;

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
