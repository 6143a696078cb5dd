//! `GROUP BY RANGE(at) EVERY(20, SECOND) FILL(LINEAR)`, as GridDB's SQL has it: rows in equal steps of time, and what is missing between them.
//!
//! SQLite does not know it, so the statement is written anew:
//!
//! ```text
//! grouped   the statement's list for each step in which there are rows
//! steps     all steps between the bounds that WHERE gives the time: only to fill
//! filled    all steps, with how many there are rows for up to here, and from here on: rows next to each other have the same number
//! ```

mod clause;
mod parts;
mod writing;

pub(crate) use parts::RangesError;

use crate::expressions::Kind;
use crate::syntax::{Word, words};
use crate::tables::{Tables, Times};
use parts::wrong;
use std::fmt::Write;

/// A statement written anew.
#[derive(Debug)]
pub(crate) struct Rewritten {
    pub(crate) sql: String,
    /// What its columns hold, where that is known.
    pub(crate) kinds: Vec<Option<Kind>>,
}

/// The statement without GROUP BY RANGE; none if it has none.
///
/// # Errors
/// It is wrong, or more than one SELECT of one table.
pub(crate) fn rewrite(sql: &str, tables: &dyn Tables) -> Result<Option<Rewritten>, RangesError> {
    let is_one = |three: &[Word<'_>]| three[0].is("GROUP") && three[1].is("BY") && three[2].is("RANGE");
    // What is wrong with other statements SQLite says.
    if !words(sql).is_ok_and(|words| words.windows(3).any(is_one)) {
        return Ok(None);
    }
    if tables.times() == Times::Texts {
        return Err(wrong("GROUP BY RANGE is for GridDB's containers, over their SQL port"));
    }
    // EXPLAIN, EXPLAIN QUERY PLAN: its columns are of the plan.
    let all = words(sql)?;
    let explaining = all.iter().take_while(|word| ["EXPLAIN", "QUERY", "PLAN"].iter().any(|keyword| word.is(keyword))).count();
    let (explain, sql) = sql.split_at(all.get(explaining).map_or(0, |word| word.start));
    let numbered = numbered(sql, &words(sql)?);
    let ranges = parts::parse(&numbered, &words(&numbered)?, tables)?;
    let kinds = if explain.is_empty() { ranges.items.iter().map(|item| item.kind).collect() } else { Vec::new() };
    Ok(Some(Rewritten { sql: format!("{explain}{}", ranges.write()), kinds }))
}

/// The statement with numbers behind its parameters, since it names some twice then.
fn numbered(sql: &str, words: &[Word<'_>]) -> String {
    let (mut numbered, mut taken, mut count) = (String::with_capacity(sql.len() + 16), 0, 0);
    for word in words.iter().filter(|word| word.is_symbol('?')) {
        count += 1;
        let _ = write!(numbered, "{}?{count}", &sql[taken..word.start]);
        taken = word.end();
    }
    numbered.push_str(&sql[taken..]);
    numbered
}

#[cfg(test)]
mod tests;
