//! The statement written anew.

use super::clause::Fill;
use super::parts::{Item, Ranges, quoted};
use crate::expressions::Kind;
use std::fmt::Write;

impl Ranges<'_> {
    /// The step that a time falls in.
    fn step_of(&self, time: &str) -> String {
        let Self { step_ms, offset_ms, .. } = self;
        let since = format!("(to_epoch_ms({time}) - {offset_ms})");
        format!("({since} - (({since} % {step_ms}) + {step_ms}) % {step_ms} + {offset_ms})")
    }

    pub(super) fn write(&self) -> String {
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
            let is_number = !item.kind.is_some_and(|kind| kind == Kind::BOOL || kind.is_time());
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
            let value = if item.is_time { "to_timestamp_ms(step)".to_owned() } else { value(number, item) };
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
