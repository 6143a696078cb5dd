//! The query box in SQL: over the same tables, as the same role, within the same bounds.

use super::Console;
use super::limits::{ROWS_MAX, TIMEOUT, shortened};
use super::login::Asker;
use crate::http::own_port::tables;
use crate::http::{Reply, UNAVAILABLE};
use crate::sql_tables::{SqlError, StatementText, Stopped, Watch, prepare};
use ::node::Board;
use serde_json::{Value, json};
use sql::{ColumnType, Query, QueryError, ValueRef};
use std::fmt::Write;
use std::time::Instant;

pub(super) fn run(console: &Console, board: &Board, asker: Asker<'_>, text: &str) -> Reply {
    let began = Instant::now();
    let prepared = tables(console, board, asker, text, None).and_then(|tables| prepare(tables, &StatementText { text, parameters: &[] }));
    let mut query = match prepared {
        Ok(query) => query,
        Err(error) => return Reply::text(error.status(), error.to_string()),
    };
    let watch = Watch { client: None, deadline: began + TIMEOUT, interrupter: query.interrupter() };
    match watch.while_it(|| rows(&mut query)) {
        Ok((Ok(mut shown), _)) => {
            shown["took_ms"] = json!(began.elapsed().as_secs_f64() * 1e3);
            Reply::json(&shown)
        }
        Ok((Err(QueryError::Interrupted), Some(Stopped::Late))) => {
            Reply::text(SqlError::TooLong { time: TIMEOUT }.status(), format!("no answer in {} s: ask for less", TIMEOUT.as_secs()))
        }
        Ok((Err(error), _)) => {
            let error = SqlError::Query(error);
            Reply::text(error.status(), error.to_string())
        }
        Err(error) => Reply::text(UNAVAILABLE, format!("there is no thread for the statement: {error}")),
    }
}

/// Columns and rows, every value as text.
fn rows(query: &mut Query) -> Result<Value, QueryError> {
    let kinds = query.columns();
    let mut shown: Vec<Vec<Option<String>>> = Vec::new();
    let mut has_more = false;
    while query.step()? {
        if shown.len() == ROWS_MAX as usize {
            has_more = true;
            break;
        }
        shown.push(kinds.iter().enumerate().map(|(at, column)| text_of(column.kind, query.value(at)).map(shortened)).collect());
    }
    let label = |kind: Option<ColumnType>| kind.map(|kind| kind.declaration().to_ascii_lowercase());
    let columns: Vec<_> = kinds.iter().map(|column| json!({"name": column.name, "type": label(column.kind)})).collect();
    Ok(json!({"columns": columns, "rows": shown, "has_more": has_more}))
}

fn text_of(kind: Option<ColumnType>, value: ValueRef<'_>) -> Option<String> {
    Some(match value {
        ValueRef::Null => return None,
        ValueRef::Integer(truth @ (0 | 1)) if kind == Some(ColumnType::Bool) => (truth == 1).to_string(),
        ValueRef::Integer(value) => value.to_string(),
        ValueRef::Real(value) => format!("{value:?}"),
        ValueRef::Text(text) => text.to_owned(),
        ValueRef::Time(moment) => moment.format(),
        ValueRef::Blob(bytes) => bytes.iter().fold("0x".to_owned(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }),
    })
}
