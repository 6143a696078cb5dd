//! EXPLAIN ANALYZE: the statement is run, and its rows are counted. What is told are rows: SQLite's plan, each way in which a container was read, and all of it.

use crate::analysis::{Analysis, Read};
use crate::client::{Client, Refusal};
use crate::failures::{refusal, syntax_error};
use crate::result::{Column, Page};
use crate::source::Source;
use griddb::{ElementType, GridError};
use sql::syntax::with_units_quoted;
use sql::{Query, Tables, Value};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What rows of the answer have.
const COLUMNS: [(&str, ElementType); 8] = [
    ("STEP", ElementType::String),
    ("DETAIL", ElementType::String),
    ("TABLE_NAME", ElementType::String),
    ("ACCESS", ElementType::String),
    ("TIMES", ElementType::Long),
    ("ROWS_READ", ElementType::Long),
    ("ROWS_GIVEN", ElementType::Long),
    ("TIME_MS", ElementType::Double),
];

type Row = [Value; COLUMNS.len()];

/// A statement that is to be analyzed.
pub(crate) struct Analyzed {
    pub(crate) query: Query,
    plan: Query,
    analysis: Arc<Analysis>,
}

impl Analyzed {
    /// Prepares it.
    ///
    /// # Errors
    /// It cannot be.
    pub(crate) fn prepare(client: &Arc<Mutex<Client>>, text: &str) -> Result<Self, Refusal> {
        let text = with_units_quoted(text).map_err(|error| syntax_error(&error))?;
        let analysis = Arc::new(Analysis::default());
        let tables: Arc<dyn Tables> = Arc::new(Source::analyzed(Arc::clone(client), Arc::clone(&analysis)));
        let query = Query::prepare(&tables, &text).map_err(refusal)?;
        let plan = Query::prepare(&tables, &format!("EXPLAIN QUERY PLAN {text}")).map_err(refusal)?;
        Ok(Self { query, plan, analysis })
    }

    /// Runs it, up to so many rows if that is not 0: what is told of it.
    ///
    /// # Errors
    /// What it fails with.
    pub(crate) fn run(mut self, rows_max: u64) -> Result<Vec<Row>, Refusal> {
        let mut told = self.plan()?;
        let (began, mut rows) = (Instant::now(), 0);
        while (rows_max == 0 || rows < rows_max) && self.query.step().map_err(refusal)? {
            rows += 1;
        }
        let took = began.elapsed();
        let reads = self.analysis.reads();
        told.extend(reads.iter().map(row_of));
        let rows_read = reads.iter().map(|read| read.access.as_ref().map(|_| read.rows_read)).sum::<Option<u64>>();
        let none = Value::Null;
        told.push([text("TOTAL"), none.clone(), none.clone(), none.clone(), none, count(rows_read), count(Some(rows)), ms(took)]);
        Ok(told)
    }

    /// SQLite's plan, a row for each step, moved to the right by those that it is a part of.
    fn plan(&mut self) -> Result<Vec<Row>, Refusal> {
        let (mut rows, mut depths) = (Vec::new(), BTreeMap::new());
        while self.plan.step().map_err(refusal)? {
            let row = self.plan.row();
            let [Value::Integer(id), Value::Integer(parent), _, Value::Text(detail)] = &row[..] else { continue };
            let depth = depths.get(parent).map_or(0, |depth: &usize| depth + 1);
            depths.insert(*id, depth);
            let mut told = [const { Value::Null }; COLUMNS.len()];
            told[0] = text("PLAN");
            told[1] = Value::Text(format!("{}{detail}", "  ".repeat(depth)));
            rows.push(told);
        }
        Ok(rows)
    }
}

fn row_of(read: &Read) -> Row {
    let step = if read.is_aggregated { "AGGREGATE" } else { "READ" };
    let access = read.access.as_ref();
    [
        text(step),
        if read.conditions.is_empty() { Value::Null } else { text(&read.conditions) },
        text(&read.table),
        access.map_or(Value::Null, |access| text(access)),
        count(Some(read.times)),
        count(access.map(|_| read.rows_read)),
        count(Some(read.rows_given)),
        ms(read.time),
    ]
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn count(rows: Option<u64>) -> Value {
    rows.map_or(Value::Null, |rows| Value::Integer(i64::try_from(rows).unwrap_or(i64::MAX)))
}

/// Of microseconds.
fn ms(time: Duration) -> Value {
    Value::Real(time.as_micros() as f64 / 1_000.0)
}

/// The columns of the answer.
pub(crate) fn columns() -> Vec<Column> {
    COLUMNS.iter().map(|(label, element)| Column { label: (*label).to_owned(), element: Some(*element) }).collect()
}

/// The rows of the answer, whose columns these are.
///
/// # Errors
/// None: each value is of its column's type.
pub(crate) fn page<'c>(columns: &'c [Column], rows: &[Row]) -> Result<Page<'c>, GridError> {
    let mut page = Page::new(columns);
    for row in rows {
        page.begin_row();
        row.iter().enumerate().try_for_each(|(at, value)| page.put(at, value.as_ref()))?;
    }
    Ok(page)
}
