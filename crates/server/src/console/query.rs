//! `POST /api/v1/query`: one statement that reads, sent to the node's own port as the role that has logged in, so that it is planned, permitted, audited
//! and bounded as any client's.

use super::Console;
use super::limits::{ROWS_MAX, TIMEOUT, shortened};
use super::login::Asker;
use super::sql_query;
use crate::http::own_port::refuse;
use crate::http::{BAD_REQUEST, FORBIDDEN, Reply, Request, UNAVAILABLE};
use crate::own_connection;
use crate::tls_stream::TlsStream;
use ::node::{Board, ClientTlsConfig};
use cql::language::{self, Statement};
use cql::value::text::write_plain;
use cql::wire::{ProtocolVersion, ReceivedColumns, Rows};
use load::cql::client::{Client, ClientError};
use load::transport::Transport;
use serde_json::{Value, json};
use std::io::{Error, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tls::Session;

/// Bytes of an answer from the node.
const ANSWER_BYTES_MAX: usize = 16 << 20;
/// So many at once.
const QUERIES_MAX: usize = 4;

impl Console {
    pub(super) fn query(&self, board: &Board, asker: Asker<'_>, request: &Request) -> Reply {
        // A browser names the page that asks: others than ours have nothing to ask.
        if let Some(origin) = request.header("origin")
            && origin.split_once("://").map(|(_, host)| host) != request.header("host")
        {
            return Reply::text(FORBIDDEN, "statements come from the console's own page, or from no web page");
        }
        let body = serde_json::from_str::<Value>(&request.body).unwrap_or_default();
        let (Some(query), language) = (body["query"].as_str(), &body["language"]) else {
            return Reply::text(BAD_REQUEST, "the body is to be {\"query\": \"SELECT …\"}, and may say {\"language\": \"sql\"}");
        };
        let is_sql = match language.as_str() {
            Some("sql") => true,
            None | Some("cql") => false,
            Some(_) => return Reply::text(BAD_REQUEST, "`language` is to be `cql` or `sql`"),
        };
        if let Err(refusal) = if is_sql { Ok(()) } else { check(query) } {
            return refusal;
        }
        if let Some(refusal) = refuse(self, asker, "the query box is not there") {
            return refusal;
        }
        let Some(cql) = self.cql.get() else { return Reply::text(UNAVAILABLE, "this node is starting") };
        let reply = if self.queries.fetch_add(1, Ordering::AcqRel) < QUERIES_MAX {
            if is_sql { sql_query::run(self, board, asker, query) } else { run(board, *cql, self.tls.as_ref(), asker, query) }
        } else {
            Reply::text(UNAVAILABLE, format!("{QUERIES_MAX} statements of consoles run already: again when one has ended"))
        };
        self.queries.fetch_sub(1, Ordering::AcqRel);
        reply
    }
}

/// Lets through what only reads.
fn check(query: &str) -> Result<(), Reply> {
    match language::parse(query) {
        Ok(parsed) => match parsed.statement {
            Statement::Select(_) | Statement::Describe(_) => Ok(()),
            _ => {
                Err(Reply::text(FORBIDDEN, "the console only reads: SELECT and DESCRIBE. For other statements there are cqlsh and drivers"))
            }
        },
        Err(error) => Err(Reply::text(BAD_REQUEST, error.to_string())),
    }
}

fn run(board: &Board, cql: SocketAddr, tls: Option<&ClientTlsConfig>, asker: Asker<'_>, query: &str) -> Reply {
    let began = Instant::now();
    let session = match tls.map(|config| Session::to_itself(&config.tls)).transpose() {
        Ok(session) => session,
        Err(error) => return Reply::text(UNAVAILABLE, error.to_string()),
    };
    let rows =
        own_connection::connect(board, cql, asker.address, asker.certificate()).map_err(ClientError::from).and_then(|(stream, _client)| {
            stream.set_nodelay(true)?;
            let connection = Connection::new(&stream, session, began + TIMEOUT);
            let mut client = Client::start_as(connection, ProtocolVersion::V4, asker.credentials())?;
            client.first_rows(query, ROWS_MAX, result)
        });
    match rows {
        Ok(mut shown) => {
            shown["took_ms"] = json!(began.elapsed().as_secs_f64() * 1e3);
            Reply::json(&shown)
        }
        Err(ClientError::Refused { code: UNAUTHORIZED_CODE, message, .. }) => Reply::text(FORBIDDEN, message),
        Err(ClientError::Refused { message, .. }) => Reply::text(BAD_REQUEST, message),
        Err(ClientError::Unexpected { .. }) => Reply::text(BAD_REQUEST, "this statement gives no rows"),
        Err(error) => Reply::text(UNAVAILABLE, error.to_string()),
    }
}

/// CQL's code of "not permitted".
const UNAUTHORIZED_CODE: i32 = 0x2100;

/// Columns and rows, every value as text.
fn result(rows: &Rows<'_>) -> Value {
    let columns: Vec<_> = rows.metadata.columns.iter().flat_map(ReceivedColumns::iter).collect();
    let types: Vec<_> = columns.iter().map(|column| column.data_type.to_data_type()).collect();
    let shown = rows.iter().map(|row| {
        let cells = row.zip(&types).map(|(cell, data_type)| {
            cell.map(|wire| {
                let mut text = String::new();
                write_plain(data_type, wire, &mut text);
                shortened(text)
            })
        });
        cells.collect::<Vec<_>>()
    });
    let rows_shown: Vec<_> = shown.collect();
    let columns: Vec<_> =
        columns.iter().zip(&types).map(|(column, data_type)| json!({"name": column.name, "type": data_type.to_string()})).collect();
    json!({"columns": columns, "rows": rows_shown, "has_more": rows.metadata.paging_state.is_some()})
}

/// What is said over it. It ends after a while, and when too much comes.
struct Connection<'a> {
    stream: &'a TcpStream,
    tls: Option<TlsStream<&'a TcpStream>>,
    deadline: Instant,
    left: usize,
}

impl<'a> Connection<'a> {
    fn new(stream: &'a TcpStream, session: Option<Session>, deadline: Instant) -> Self {
        let tls = session.map(|session| TlsStream::new(stream, session, Some(deadline)));
        Self { stream, tls, deadline, left: ANSWER_BYTES_MAX }
    }

    fn time_left(&self) -> std::io::Result<Option<Duration>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(late()) } else { Ok(Some(left)) }
    }
}

fn late() -> Error {
    Error::new(ErrorKind::TimedOut, format!("no answer in {} s: ask for less", TIMEOUT.as_secs()))
}

impl Transport for Connection<'_> {
    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.set_write_timeout(self.time_left()?)?;
        match &mut self.tls {
            None => (&*self.stream).write_all(bytes),
            Some(tls) => tls.write_all(bytes).and_then(|()| tls.flush()),
        }
    }

    fn receive(&mut self, bytes: &mut Vec<u8>) -> std::io::Result<()> {
        self.stream.set_read_timeout(self.time_left()?)?;
        let mut buffer = vec![0; 64 << 10];
        let read = match &mut self.tls {
            None => (&*self.stream).read(&mut buffer),
            Some(tls) => tls.read(&mut buffer),
        };
        let count = read.map_err(|error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => late(),
            _ => error,
        })?;
        if count == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.left = self.left.checked_sub(count).ok_or_else(|| {
            Error::other(format!("the answer is longer than {} MiB: name fewer columns, or give a LIMIT", ANSWER_BYTES_MAX >> 20))
        })?;
        bytes.extend_from_slice(&buffer[..count]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_reads_is_let_through() {
        for reads in ["SELECT * FROM k.t", "select json a from t;", "DESCRIBE KEYSPACES", "  -- x\nSELECT a FROM t WHERE b = 'DELETE'"] {
            assert_eq!(check(reads), Ok(()), "{reads}");
        }
        for writes in [
            "INSERT INTO t (a) VALUES (1)",
            "BEGIN BATCH INSERT INTO t (a) VALUES (1) APPLY BATCH",
            "DROP TABLE t",
            "TRUNCATE t",
            "USE k",
            "GRANT SELECT ON t TO r",
            "ALTER ROLE r WITH PASSWORD = 'x'",
            "LIST ROLES",
        ] {
            assert_eq!(check(writes).err().map(|reply| reply.status), Some(FORBIDDEN), "{writes}");
        }
        for wrong in ["", "SELEC * FROM t", "SELECT * FROM t; DROP TABLE t"] {
            assert_eq!(check(wrong).err().map(|reply| reply.status), Some(BAD_REQUEST), "{wrong}");
        }
    }
}
