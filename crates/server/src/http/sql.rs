//! `POST /sql`: one statement that reads, its rows as JSON or Arrow: `docs/reference/sql.md`.
//!
//! The statement runs on the thread of this connection, over tables of the node's own CQL port as the role that has logged in sees them. Rows go out as they come: a
//! client that reads slowly holds up its own statement. Another thread stops it when its time is over or its client is gone.

mod arrow;
mod asked;
mod rows;

use super::lasting::{self, Body, LINES, Node};
use super::own_port;
use super::reply::{FORBIDDEN, NOT_ALLOWED, Reply, TOO_LONG, UNAVAILABLE};
use super::request::Request;
use crate::console::{self, Login};
use crate::sql_tables::{SqlError, StatementText, Stopped, Watch, prepare};
use asked::{ARROW, Asked, Format, Layout};
use rows::Rows;
use sql::{Query, QueryError};
use std::io::Write;
use std::net::TcpStream;
use std::time::Instant;

/// Where it is asked.
pub(super) const PATH: &str = "/sql";

/// Whether it is SQL that is asked.
pub(super) fn is_sql(request: &Request) -> bool {
    request.target().0 == PATH
}

type End = lasting::End<SqlError>;

impl From<SqlError> for End {
    fn from(error: SqlError) -> Self {
        Self::Failed(error)
    }
}

/// Answers who has logged in, or need not; `None` once rows have ended.
pub(super) fn answer(node: &Node<'_>, client: &TcpStream, stream: &mut impl Write, request: &Request) -> std::io::Result<Option<Reply>> {
    let asked = match check(node.asker.login, request) {
        Ok(asked) => asked,
        Err(refusal) => return Ok(Some(refusal)),
    };
    let Some(place) = node.places.take() else {
        let text = format!("{} statements of SQL run here already: ask another member, or when one has ended", node.places.most);
        return Ok(Some(Reply::text(UNAVAILABLE, text)));
    };
    let kind = match asked.format {
        Format::Json(Layout::Document) => "application/json",
        Format::Json(Layout::Lines) => LINES,
        Format::Arrow => ARROW,
    };
    let mut body = Body::new(stream, kind, request);
    let ended = run(node, client, &asked, &mut body);
    // Whoever has the end of an answer may ask again.
    drop(place);
    match (ended, asked.format) {
        (Err(End::Failed(error)), Format::Arrow) if body.has_begun() => body.cut(&arrow::failure(&error.to_string())).map(|()| None),
        (ended, format) => body.finish(ended, SqlError::status, |error, code| match format {
            Format::Json(layout) => rows::failure(layout, error, code).into_bytes(),
            Format::Arrow => arrow::failure(error),
        }),
    }
}

fn check(login: Option<&Login>, request: &Request) -> Result<Asked, Reply> {
    if request.is_too_long {
        return Err(Reply::text(TOO_LONG, "the body is longer than 64 KiB, or says no length"));
    }
    if let Some(refusal) = console::refuse_domain(login, request) {
        return Err(refusal);
    }
    if request.method() != "POST" {
        return Err(Reply::text(NOT_ALLOWED, "a statement comes with POST"));
    }
    if request.header("origin").is_some() {
        return Err(Reply::text(FORBIDDEN, "statements do not come from web pages: the console asks in its own way"));
    }
    Asked::of(request)
}

/// Runs the statement, and sends its rows.
fn run(node: &Node<'_>, client: &TcpStream, asked: &Asked, body: &mut Body<'_, impl Write>) -> Result<(), End> {
    if let Some(refusal) = own_port::refuse(node.console, node.asker, "there is no SQL") {
        return Err(End::Refused(refusal));
    }
    let began = Instant::now();
    let tables = own_port::tables(node.console, node.board, node.asker, &asked.statement, asked.keyspace.as_deref())?;
    let mut query = prepare(tables, &StatementText { text: &asked.statement, parameters: &asked.parameters })?;
    let watch = Watch { client: Some(client), deadline: began + asked.time, interrupter: query.interrupter() };
    let watched = watch.while_it(|| match asked.format {
        Format::Arrow => send_arrow(&mut query, asked, body),
        Format::Json(layout) => send_json(&mut query, layout, asked, began, body),
    });
    match watched.map_err(|error| End::Refused(Reply::text(UNAVAILABLE, format!("there is no thread for the statement: {error}"))))? {
        (Err(End::Failed(SqlError::Query(QueryError::Interrupted))), Some(Stopped::Late)) => {
            Err(SqlError::TooLong { time: asked.time }.into())
        }
        (Err(End::Failed(SqlError::Query(QueryError::Interrupted))), Some(Stopped::Gone)) => {
            Err(End::Io(std::io::ErrorKind::ConnectionAborted.into()))
        }
        (told, _) => told,
    }
}

fn send_json(query: &mut Query, layout: Layout, asked: &Asked, began: Instant, body: &mut Body<'_, impl Write>) -> Result<(), End> {
    let mut is_there = query.step().map_err(SqlError::from)?;
    let rows = Rows::of(query, is_there, layout);
    body.write(|out| rows.begin(out))?;
    let mut count = 0;
    while is_there && count < asked.rows_max {
        body.write(|out| rows.row(query, count == 0, out))?;
        count += 1;
        is_there = query.step().map_err(SqlError::from)?;
    }
    body.write(|out| rows.end(count, is_there, began.elapsed(), out))?;
    Ok(())
}

fn send_arrow(query: &mut Query, asked: &Asked, body: &mut Body<'_, impl Write>) -> Result<(), End> {
    let mut is_there = query.step().map_err(SqlError::from)?;
    let mut stream = arrow::Stream::of(query);
    let (mut count, mut out) = (0, Vec::new());
    while is_there && count < asked.rows_max {
        if stream.row(query)? {
            stream.flush(&mut out);
            body.push(&out)?;
            out.clear();
        }
        count += 1;
        is_there = query.step().map_err(SqlError::from)?;
    }
    stream.end(&mut out);
    body.push(&out)?;
    Ok(())
}
