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

use crate::query::QueryError;
use crate::syntax::{Word, words};
use crate::tables::{ColumnType, Tables, Times};
use std::fmt::Write;

/// A statement written anew.
#[derive(Debug)]
pub(crate) struct Rewritten {
    pub(crate) sql: String,
    /// What its columns hold, where that is known.
    pub(crate) kinds: Vec<Option<ColumnType>>,
}

/// What a step without rows gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    Nothing,
    Null,
    Previous,
    Linear,
}

/// A part of the statement's list.
struct Item<'a> {
    /// Without the name that it is given.
    text: &'a str,
    label: String,
    is_time: bool,
    kind: Option<ColumnType>,
}

/// The statement's parts.
struct Ranges<'a> {
    items: Vec<Item<'a>>,
    from: &'a str,
    condition: &'a str,
    /// The column's name, as SQLite shall read it.
    time: String,
    step_ms: i64,
    offset_ms: i64,
    fill: Fill,
    /// From here to there, both included.
    bounds: [Option<String>; 2],
    /// What follows: conditions of groups, then the order and the limit.
    having: &'a str,
    rest: &'a str,
}

fn wrong(message: impl Into<String>) -> QueryError {
    QueryError::Statement(message.into())
}

/// The statement without GROUP BY RANGE; none if it has none.
///
/// # Errors
/// It is wrong, or more than one SELECT of one table.
pub(crate) fn rewrite(sql: &str, tables: &dyn Tables) -> Result<Option<Rewritten>, QueryError> {
    let is_one = |three: &[Word<'_>]| three[0].is("GROUP") && three[1].is("BY") && three[2].is("RANGE");
    let read = |sql| words(sql).map_err(|error| wrong(error.0));
    // What is wrong with other statements SQLite says.
    if !words(sql).is_ok_and(|words| words.windows(3).any(is_one)) {
        return Ok(None);
    }
    if tables.times() != Times::Milliseconds {
        return Err(wrong("GROUP BY RANGE is for GridDB's containers, over their SQL port"));
    }
    let numbered = numbered(sql, &read(sql)?);
    let ranges = parts::parse(&numbered, &read(&numbered)?, tables)?;
    let kinds = ranges.items.iter().map(|item| item.kind).collect();
    Ok(Some(Rewritten { sql: ranges.write(), kinds }))
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

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl Ranges<'_> {
    /// The step that a time falls in.
    fn step_of(&self, time: &str) -> String {
        let Self { step_ms, offset_ms, .. } = self;
        let since = format!("(({time}) - {offset_ms})");
        format!("({since} - (({since} % {step_ms}) + {step_ms}) % {step_ms} + {offset_ms})")
    }

    fn write(&self) -> String {
        let mut sql = format!(
            "WITH RECURSIVE \"#grouped\"(step{}) AS (SELECT {}",
            self.columns(|number| format!(", v{number}")),
            self.step_of(&self.time)
        );
        for item in &self.items {
            let _ = match item.text {
                "" => write!(sql, ", {}", quoted(&item.label)),
                text => write!(sql, ", {text}"),
            };
        }
        let _ = write!(sql, " FROM {} WHERE {} GROUP BY 1 {})", self.from, self.condition, self.having);
        let [Some(first), Some(last)] = &self.bounds else { return self.ungapped(sql) };
        if self.fill == Fill::Nothing {
            return self.ungapped(sql);
        }
        let (first, last, step_ms) = (self.step_of(first), self.step_of(last), self.step_ms);
        let _ = write!(
            sql,
            ", \"#steps\"(step, last) AS (SELECT {first}, bounded_steps({first}, {last}, {step_ms}) WHERE {first} <= {last} \
             UNION ALL SELECT step + {step_ms}, last FROM \"#steps\" WHERE step + {step_ms} <= last)\
             , \"#filled\" AS (SELECT s.step AS step, g.step AS here{}, COUNT(g.step) OVER (ORDER BY s.step) AS n_before, \
             COUNT(g.step) OVER (ORDER BY s.step DESC) AS n_after FROM \"#steps\" s LEFT JOIN \"#grouped\" g ON g.step = s.step) SELECT ",
            self.columns(|number| format!(", g.v{number} AS v{number}")),
        );
        let previous = |value: &str| format!("FIRST_VALUE({value}) OVER (PARTITION BY n_before ORDER BY step)");
        let next = |value: &str| format!("FIRST_VALUE({value}) OVER (PARTITION BY n_after ORDER BY step DESC)");
        let list = self.list(|number, item| {
            let value = format!("v{number}");
            let is_number = !matches!(item.kind, Some(ColumnType::Bool | ColumnType::Timestamp));
            match self.fill {
                Fill::Nothing | Fill::Null => value,
                Fill::Linear if is_number => {
                    let (from, to) = (previous(&value), next(&value));
                    format!("between_steps(step, here, {value}, {}, {from}, {}, {to})", previous("here"), next("here"))
                }
                Fill::Previous | Fill::Linear => previous(&value),
            }
        });
        sql.push_str(&list);
        // What has nothing to be made of is left out. Windows see all steps, so they are computed first.
        let is_there = match self.fill {
            Fill::Previous => " WHERE n_before > 0",
            Fill::Linear => " WHERE n_before > 0 AND n_after > 0",
            Fill::Nothing | Fill::Null => "",
        };
        let _ = write!(sql, " FROM \"#filled\"{is_there}");
        self.end(sql)
    }

    /// Steps with rows alone.
    fn ungapped(&self, sql: String) -> String {
        let list = self.list(|number, _| format!("v{number}"));
        self.end(format!("{sql} SELECT {list} FROM \"#grouped\""))
    }

    /// What the statement shows: the step as the time, and a value of each other item.
    fn list(&self, value: impl Fn(usize, &Item<'_>) -> String) -> String {
        let shown = self.items.iter().enumerate().map(|(number, item)| {
            let value = if item.is_time { "step".to_owned() } else { value(number, item) };
            format!("{value} AS {}", quoted(&item.label))
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    fn columns(&self, column: impl Fn(usize) -> String) -> String {
        (0..self.items.len()).map(column).collect()
    }

    fn end(&self, mut sql: String) -> String {
        let is_ordered = self.rest.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("ORDER"));
        let _ = write!(sql, "{} {}", if is_ordered { "" } else { " ORDER BY step" }, self.rest);
        sql
    }
}

#[cfg(test)]
mod tests;
