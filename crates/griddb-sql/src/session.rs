//! What a connection's statements do, one after the other, on its thread: they read by a query of its own each, which stays open while its rows are fetched.

use crate::analyze::{self, Analyzed};
use crate::client::lock;
use crate::client::{Client, Refusal};
use crate::define;
use crate::define_view::{self, NewView};
use crate::failures::{refusal, syntax_error};
use crate::node::SqlNode;
use crate::pages::OpenRows;
use crate::request::{Operation, SqlRequest};
use crate::result::{Outcome, write_reply};
use crate::running::Running;
use crate::source::Source;
use crate::transaction::done_in_part;
use crate::write::{self, Writing};
use griddb::wire::{ReplyHeader, Statement, Status, statement};
use griddb::{ErrorCode, GridError};
use sql::syntax;
use sql::{Query, Tables, Value};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Statements that are open at once.
const QUERIES_MAX: usize = 1_000;

/// A statement that is open.
struct Open {
    text: String,
    /// Its rows, while there are any left.
    rows: Option<OpenRows>,
}

/// A connection's state.
pub(crate) struct Session {
    node: SqlNode,
    running: Arc<Running>,
    client: Option<Arc<Mutex<Client>>>,
    /// What it has logged in with, for when the connection to the node is lost.
    login: Vec<u8>,
    queries: BTreeMap<i64, Open>,
}

impl Session {
    pub(crate) fn new(node: SqlNode, running: Arc<Running>) -> Self {
        Self { node, running, client: None, login: Vec::new(), queries: BTreeMap::new() }
    }

    pub(crate) fn has_logged_in(&self) -> bool {
        self.client.is_some()
    }

    /// Appends the whole reply to a statement.
    pub(crate) fn answer(&mut self, statement: &Statement<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        let answered = match statement.number() {
            statement::LOGIN => self.log_in(statement, out),
            statement::LOGOUT => {
                self.log_out();
                statement.reply.write_done(out);
                Ok(())
            }
            crate::request::SQL_EXECUTE => self.execute(statement, out),
            number => Err(GridError::new(ErrorCode::TXN_STATEMENT_TYPE_UNKNOWN, format!("there is no statement {number} of SQL")).into()),
        };
        if let Err(Refusal { status, error, .. }) = answered {
            out.truncate(start);
            statement.reply.write_error(status, &error, out);
        }
    }

    fn log_out(&mut self) {
        self.queries.clear();
        self.client = None;
        self.login.clear();
    }

    /// Logs in to the node with what the client has sent, and tells it what the node says.
    fn log_in(&mut self, statement: &Statement<'_>, out: &mut Vec<u8>) -> Result<(), Refusal> {
        self.log_out();
        let arguments = statement.arguments.rest();
        let (client, answer) = self.connect(arguments)?;
        self.login = arguments.to_vec();
        self.client = Some(Arc::new(Mutex::new(client)));
        let reply = statement.reply.begin(Status::Success, out);
        out.extend_from_slice(&answer);
        reply.end(out);
        Ok(())
    }

    fn connect(&self, login: &[u8]) -> Result<(Client, Vec<u8>), Refusal> {
        let mut client = Client::connect(&self.node, Arc::clone(&self.running.is_cancelled))?;
        let answer = client.log_in(login)?;
        Ok((client, answer))
    }

    /// The node's client: a new one if the connection was lost.
    fn client(&mut self) -> Result<Arc<Mutex<Client>>, Refusal> {
        let required = || GridError::new(ErrorCode::TXN_AUTH_REQUIRED, "log in first");
        let client = self.client.as_ref().ok_or_else(required)?;
        if lock(client).is_broken() {
            let (again, _) = self.connect(&self.login)?;
            self.client = Some(Arc::new(Mutex::new(again)));
        }
        Ok(Arc::clone(self.client.as_ref().ok_or_else(required)?))
    }

    fn execute(&mut self, statement: &Statement<'_>, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let request = SqlRequest::read(statement.arguments)?;
        self.queries.remove(&request.former);
        self.running.begin(&request);
        let executed = self.client().and_then(|client| self.run(statement.reply, &request, client, out));
        self.running.end();
        executed
    }

    fn run(&mut self, reply: ReplyHeader, request: &SqlRequest<'_>, client: Arc<Mutex<Client>>, out: &mut Vec<u8>) -> Result<(), Refusal> {
        match request.operation {
            Operation::Close => {
                self.queries.remove(&request.query);
                write_reply(reply, &[Outcome::Changed(0)], out);
                return Ok(());
            }
            Operation::Fetch => {
                let gone = || GridError::new(ErrorCode::DS_DS_RESULT_ID_INVALID, "there are no rows of this query to fetch");
                let rows = self.queries.get_mut(&request.query).and_then(|open| open.rows.as_mut()).ok_or_else(gone)?;
                self.running.runs(&rows.query)?;
                let is_followed = rows.send(reply, request.page_rows, out)?;
                if !is_followed {
                    self.end_rows(request.query);
                }
                return Ok(());
            }
            _ => {}
        }
        let text = match request.text {
            Some(text) => {
                if self.queries.len() >= QUERIES_MAX {
                    let message = format!("a connection has at most {QUERIES_MAX} open statements: close some");
                    return Err(GridError::new(ErrorCode::CM_LIMITS_EXCEEDED, message).into());
                }
                self.queries.insert(request.query, Open { text: text.to_owned(), rows: None });
                text.to_owned()
            }
            None => {
                let gone = || GridError::new(ErrorCode::DS_DS_RESULT_ID_INVALID, "this statement is not open");
                let open = self.queries.get_mut(&request.query).ok_or_else(gone)?;
                open.rows = None;
                open.text.clone()
            }
        };
        let parsed = syntax::parse(&text).map_err(|error| syntax_error(&error))?;
        if !matches!(parsed, syntax::Statement::Read | syntax::Statement::Analyze(_)) {
            return self.write(reply, request, &client, &parsed, out);
        }
        if request.operation == Operation::Update {
            return Err(GridError::new(ErrorCode::SQL_COMPILE_SYNTAX_ERROR, "this statement reads: execute it as a query").into());
        }
        if let syntax::Statement::Analyze(analyzed) = &parsed {
            return self.analyze(reply, request, &client, analyzed, out);
        }
        let text = syntax::with_units_quoted(&text).map_err(|error| syntax_error(&error))?;
        let source: Arc<dyn Tables> = Arc::new(Source::new(client));
        let mut query = Query::prepare(&source, &text).map_err(refusal)?;
        self.running.runs(&query)?;
        if request.operation == Operation::Prepare {
            write_reply(reply, &[Outcome::Prepared(query.parameters())], out);
            return Ok(());
        }
        let parameters = request.parameters.as_deref().unwrap_or_default();
        query.bind(parameters.first().map_or(&[][..], Vec::as_slice)).map_err(refusal)?;
        let mut rows = OpenRows::new(query, request.rows_max);
        let is_followed = rows.send(reply, request.page_rows, out)?;
        if let Some(open) = self.queries.get_mut(&request.query).filter(|_| is_followed) {
            open.rows = Some(rows);
        }
        Ok(())
    }

    /// EXPLAIN ANALYZE: what is told of a statement that was run comes all at once.
    fn analyze(
        &self,
        reply: ReplyHeader,
        request: &SqlRequest<'_>,
        client: &Arc<Mutex<Client>>,
        text: &str,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let mut analyzed = Analyzed::prepare(client, text)?;
        self.running.runs(&analyzed.query)?;
        if request.operation == Operation::Prepare {
            write_reply(reply, &[Outcome::Prepared(analyzed.query.parameters())], out);
            return Ok(());
        }
        let parameters = request.parameters.as_deref().unwrap_or_default();
        analyzed.query.bind(parameters.first().map_or(&[][..], Vec::as_slice)).map_err(refusal)?;
        let (columns, rows) = (analyze::columns(), analyzed.run(request.rows_max)?);
        write_reply(reply, &[Outcome::Rows(&analyze::page(&columns, &rows)?, false)], out);
        Ok(())
    }

    /// A statement that changes rows, or tables.
    fn write(
        &self,
        reply: ReplyHeader,
        request: &SqlRequest<'_>,
        client: &Arc<Mutex<Client>>,
        parsed: &syntax::Statement,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        match request.operation {
            Operation::Prepare => {
                write_reply(reply, &[Outcome::Prepared(write::parameters(client, parsed)?)], out);
                return Ok(());
            }
            Operation::Query | Operation::Metadata => {
                return Err(GridError::new(ErrorCode::SQL_COMPILE_SYNTAX_ERROR, "this statement writes: execute it as an update").into());
            }
            _ => {}
        }
        let none = [Vec::new()];
        let rows = request.parameters.as_deref().unwrap_or(&none);
        let mut outcomes = Vec::with_capacity(rows.len());
        for parameters in rows {
            let changed = self.write_once(client, parsed, parameters);
            // What was done of a batch is not done again.
            outcomes.push(Outcome::Changed(changed.map_err(|refusal| if outcomes.is_empty() { refusal } else { done_in_part(refusal) })?));
        }
        write_reply(reply, &outcomes, out);
        Ok(())
    }

    fn write_once(&self, client: &Arc<Mutex<Client>>, parsed: &syntax::Statement, parameters: &[Value]) -> Result<i64, Refusal> {
        let writing = Writing { client, running: &self.running, parameters };
        let rows = match parsed {
            syntax::Statement::Insert { table, columns, rows, replaces } => writing.insert(table, columns, rows, *replaces)?,
            syntax::Statement::Update { table, assignments, rest } => writing.change(table, assignments, rest)?,
            syntax::Statement::Delete { table, rest } => writing.change(table, &[], rest)?,
            syntax::Statement::CreateView { name, text, replaces, is_forced } => {
                define_view::create(&writing, &NewView { name, text, replaces: *replaces, is_forced: *is_forced })?;
                0
            }
            syntax::Statement::DropView(name, if_exists) => {
                define_view::drop_view(&writing, name, *if_exists)?;
                0
            }
            other => {
                define_view::refuse_table(&writing, other)?;
                define::define(&mut lock(client), other)?;
                0
            }
        };
        Ok(i64::try_from(rows).unwrap_or(i64::MAX))
    }

    fn end_rows(&mut self, query: i64) {
        if let Some(open) = self.queries.get_mut(&query) {
            open.rows = None;
        }
    }
}
