//! `tarndb sql`: statements for `POST /sql` of a node, and their rows as tables, CSV, JSON or Arrow.
//!
//! - [`statements`]: where one ends.
//! - [`answer`]: an answer, a line at a time.
//! - [`arrow`]: an answer of Arrow, passed on as it comes.
//! - [`output`]: how it is printed.
//!
//! Who ends it ends its statement: the node sees that nobody waits any more.

mod answer;
mod arrow;
mod output;
mod statements;

use crate::cli::{SqlArguments, SqlFormat};
use crate::operate::{Asked, OperateError, print};
use answer::Answer;
use arrow::ArrowPassed;
use output::{Csv, JsonDocument, Output, Table};
use statements::split;
use std::io::{BufRead, BufReader, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

/// By how much an answer may be later than the statement's time: the node says that it is over.
const PATIENCE: Duration = Duration::from_secs(30);
const REFUSED: u8 = 1;

/// Runs one statement, or all that come in.
pub(crate) fn run(arguments: &SqlArguments) -> Result<ExitCode, OperateError> {
    let shell = Shell { http: Asked::new(&arguments.node)?, arguments };
    match &arguments.statement {
        Some(statement) => shell.execute(statement).map(|()| ExitCode::SUCCESS),
        None => shell.read(&mut std::io::stdin().lock(), std::io::stdin().is_terminal()),
    }
}

struct Shell<'a> {
    http: Asked,
    arguments: &'a SqlArguments,
}

impl Shell<'_> {
    /// Reads statements to the end. Somebody who types goes on after one that has failed; a file does not.
    fn read(&self, input: &mut dyn BufRead, is_typed: bool) -> Result<ExitCode, OperateError> {
        let mut waiting = String::new();
        loop {
            if is_typed {
                print(if waiting.trim().is_empty() { "sql> " } else { "  -> " });
            }
            let length = input.read_line(&mut waiting).unwrap_or(0);
            if is_typed && matches!(waiting.trim().trim_end_matches(';'), "exit" | "quit" | "\\q") {
                return Ok(ExitCode::SUCCESS);
            }
            // What stands before the end of the input needs no `;`.
            let (statements, rest) = split(&waiting, length == 0);
            for statement in statements {
                match self.execute(statement) {
                    Err(error) if is_typed => eprintln!("tarndb: {error}"),
                    done => done?,
                }
            }
            waiting = rest.to_owned();
            if length == 0 {
                if is_typed {
                    print("\n");
                }
                return if waiting.is_empty() { Ok(ExitCode::SUCCESS) } else { Ok(ExitCode::from(REFUSED)) };
            }
        }
    }

    fn execute(&self, statement: &str) -> Result<(), OperateError> {
        let mut output: Box<dyn Output> = match self.arguments.format {
            SqlFormat::Arrow => return self.pass_arrow(statement),
            SqlFormat::Table => Box::new(Table::new(io_linux::terminal_size().map(|(width, _)| width))),
            SqlFormat::Csv => Box::new(Csv::default()),
            SqlFormat::Json => Box::new(JsonDocument::default()),
        };
        let (target, time) = self.target("ndjson");
        let mut answer = Answer::default();
        self.http.ask_patiently(&target, statement.as_bytes(), time + PATIENCE, &mut |stream| {
            let mut lines = BufReader::new(stream);
            let mut line = String::new();
            while lines.read_line(&mut line)? > 0 {
                answer.line(&line, output.as_mut())?;
                line.clear();
            }
            Ok(())
        })?;
        answer.ended().map_err(|why| match why {
            Some(text) => OperateError::Refused { text },
            None => self.http.strange("its answer has no end".to_owned()),
        })
    }

    /// Passes on an answer of Arrow, which is no text.
    fn pass_arrow(&self, statement: &str) -> Result<(), OperateError> {
        let (target, time) = self.target("arrow");
        let mut passed = ArrowPassed::default();
        self.http.ask_patiently(&target, statement.as_bytes(), time + PATIENCE, &mut |stream| {
            passed.pass(stream, &mut std::io::stdout().lock())
        })?;
        passed.ended().map_err(|why| match why {
            Some(text) => OperateError::Refused { text },
            None => self.http.strange("its answer has no end".to_owned()),
        })
    }

    /// What a statement is sent to, and the time that it has.
    fn target(&self, format: &str) -> (String, Duration) {
        let time = Duration::from_secs(self.arguments.timeout);
        let mut target = format!("/sql?format={format}&timeout_ms={}", time.as_millis());
        if let Some(rows) = self.arguments.max_rows {
            target.push_str(&format!("&max_rows={rows}"));
        }
        if let Some(keyspace) = &self.arguments.keyspace {
            target.push_str(&format!("&keyspace={}", encoded(keyspace)));
        }
        (target, time)
    }
}

/// A value in a query of a URL.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
