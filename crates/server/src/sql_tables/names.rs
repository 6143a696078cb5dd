//! Which keyspace or table a name of a statement means: one with these capitals, else one in small letters, as CQL has it, else the only one.

use super::error::TablesError;
use std::collections::BTreeSet;

/// The one of `known` that `written` means. `named`: all names that the statement has.
pub(super) fn meant<'k>(
    known: impl Iterator<Item = &'k String>,
    written: &str,
    named: &BTreeSet<String>,
) -> Result<Option<&'k String>, TablesError> {
    let alike: Vec<&String> = known.filter(|name| name.eq_ignore_ascii_case(written)).collect();
    if let [] | [_] = alike[..] {
        return Ok(alike.first().copied());
    }
    let small = written.to_ascii_lowercase();
    let one = alike.iter().find(|name| **name == written).or_else(|| alike.iter().find(|name| **name == &small));
    // To SQLite they are the same: one statement cannot have both.
    let others = alike.iter().filter(|name| named.contains(**name)).count();
    match one {
        Some(name) if others <= 1 => Ok(Some(name)),
        _ => Err(TablesError::Capitals { names: alike.into_iter().cloned().collect() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(written: &str, statement: &[&str]) -> Option<String> {
        let known = ["t", "T", "Only", "UPPER", "Upper"].map(str::to_owned);
        let named = statement.iter().map(|name| (*name).to_owned()).collect();
        meant(known.iter(), written, &named).map_or_else(|_| Some("several".to_owned()), |name| name.cloned())
    }

    #[test]
    fn capitals_count_where_there_are_several() {
        let is = |written, statement: &[&str], meant: &str| assert_eq!(of(written, statement).as_deref(), Some(meant), "{written}");
        is("t", &["t"], "t");
        is("T", &["T"], "T");
        is("only", &["only"], "Only");
        is("ONLY", &["ONLY"], "Only");
        is("T", &["T", "t"], "several");
        is("upper", &["upper"], "several");
        is("UPPER", &["UPPER", "x"], "UPPER");
        assert_eq!(of("none", &["none"]), None);
    }
}
