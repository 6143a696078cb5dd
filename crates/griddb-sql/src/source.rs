//! Containers as tables of queries: a scan is a query of TQL, executed in parts, whose conditions are those that it is told.

use crate::client::{Client, Refusal};
use crate::container::{Container, no_options};
use crate::meta;
use crate::rows::{RowFormat, Rows};
use griddb::wire::{COLUMNS_GROUP, COLUMNS_OPTION, put_i16, put_i32, put_i64, put_string, statement};
use sql::{Condition, Operator, Order, RowName, Scan, SourceError, Table, Tables, Times, ValueRef};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The last time that TQL has: that of a year of four digits.
const TIME_MAX: i64 = 253_402_300_799_999;

/// The node's containers, as one client sees them.
pub(crate) struct Source {
    client: Arc<Mutex<Client>>,
    /// Those that the statement names, by their names in lower case.
    containers: Mutex<BTreeMap<String, Arc<Container>>>,
}

impl Source {
    pub(crate) fn new(client: Arc<Mutex<Client>>) -> Self {
        Self { client, containers: Mutex::default() }
    }

    /// The container of a name.
    ///
    /// # Errors
    /// What the node says.
    pub(crate) fn container(&self, name: &str) -> Result<Option<Arc<Container>>, Refusal> {
        let key = name.to_ascii_lowercase();
        if let Some(known) = lock(&self.containers).get(&key) {
            return Ok(Some(Arc::clone(known)));
        }
        let found = Container::find(&mut lock(&self.client), name)?.map(Arc::new);
        if let Some(container) = &found {
            lock(&self.containers).insert(key, Arc::clone(container));
        }
        Ok(found)
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tables for Source {
    fn times(&self) -> Times {
        let is_precise = lock(&self.containers).values().any(|container| container.has_precise_times());
        if is_precise { Times::PreciseTexts } else { Times::Milliseconds }
    }

    fn find(&self, name: &str) -> Result<Option<Arc<Table>>, SourceError> {
        if name.starts_with('#') {
            return Ok(meta::find(name));
        }
        Ok(self.container(name)?.map(|container| Arc::clone(&container.table)))
    }

    fn scan(&self, table: &Arc<Table>, conditions: &[Condition], order: Order, columns: u64) -> Result<Box<dyn Scan>, SourceError> {
        if table.name.starts_with('#') {
            return meta::scan(&mut lock(&self.client), table);
        }
        let container = self.container(&table.name)?.ok_or_else(|| format!("there is no table {}", table.name))?;
        let text = query_text(&container, conditions, order);
        let is_used = |column: usize| columns >> column.min(63) & 1 == 1;
        let reads_variable =
            (0..container.columns.len()).any(|column| container.columns[column].fixed_bytes().is_none() && is_used(column));
        let format = RowFormat::new(&container.columns, container.kind);
        Ok(Box::new(ContainerScan {
            client: Arc::clone(&self.client),
            container,
            text,
            format,
            columns,
            reads_variable,
            rows: Rows::default(),
            state: State::First,
        }))
    }
}

/// The query of a scan.
pub(crate) fn query_text(container: &Container, conditions: &[Condition], order: Order) -> String {
    let mut text = "SELECT *".to_owned();
    for (at, condition) in conditions.iter().enumerate() {
        let name = &container.columns[condition.column].name;
        let Some(value) = literal(condition.value.as_ref(), container.table.columns[condition.column].kind) else { continue };
        let operator = match condition.operator {
            Operator::Equal => "=",
            Operator::Less => "<",
            Operator::LessEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterEqual => ">=",
        };
        let word = if at == 0 || !text.contains(" WHERE ") { "WHERE" } else { "AND" };
        let _ = write!(text, " {word} \"{}\" {operator} {value}", name.replace('"', "\"\""));
    }
    if order == Order::KeyDescending {
        let keys: Vec<String> =
            container.columns[..container.key_len].iter().map(|column| format!("\"{}\" DESC", column.name.replace('"', "\"\""))).collect();
        let _ = write!(text, " ORDER BY {}", keys.join(", "));
    }
    text
}

/// A value as TQL has it; none if it cannot say it.
fn literal(value: ValueRef<'_>, kind: sql::ColumnType) -> Option<String> {
    match (value, kind) {
        (ValueRef::Integer(value), sql::ColumnType::Bool) => match value {
            0 => Some("FALSE".to_owned()),
            1 => Some("TRUE".to_owned()),
            _ => None,
        },
        (ValueRef::Integer(i64::MIN), _) => None,
        (ValueRef::Integer(value), sql::ColumnType::Timestamp) => {
            (0..=TIME_MAX).contains(&value).then(|| format!("TO_TIMESTAMP_MS({value})"))
        }
        // What is beyond the years that TQL has it cannot say.
        (ValueRef::Time(moment), sql::ColumnType::MicroTimestamp | sql::ColumnType::NanoTimestamp) => {
            (0..=TIME_MAX).contains(&moment.ms).then(|| format!("TIMESTAMP_NS('{}')", moment.format()))
        }
        (ValueRef::Integer(value), _) => Some(value.to_string()),
        (ValueRef::Text(text), _) => Some(format!("'{}'", text.replace('\'', "''"))),
        _ => None,
    }
}

/// Where the next part begins.
enum State {
    First,
    /// As the node wrote it.
    After(Vec<u8>),
    Over,
}

/// Rows of a container, a part at a time.
struct ContainerScan {
    client: Arc<Mutex<Client>>,
    container: Arc<Container>,
    text: String,
    format: RowFormat,
    columns: u64,
    reads_variable: bool,
    rows: Rows,
    state: State,
}

impl ContainerScan {
    fn fetch(&mut self) -> Result<bool, Refusal> {
        let state = match std::mem::replace(&mut self.state, State::Over) {
            State::First => vec![1, 0, 0, 0, 0],
            State::After(state) => state,
            State::Over => return Ok(false),
        };
        let container = &self.container;
        let answer = lock(&self.client).ask(statement::QUERY_TQL, 0, |out| {
            head(container, out);
            put_columns(self.columns, out);
            put_i64(out, i64::MAX);
            put_i64(out, 0);
            out.extend_from_slice(&state);
            put_string(out, &self.text);
        })?;
        let mut reader = answer.reader();
        let part = griddb::client::read_part(&mut reader)?;
        let start = part.rows.as_ptr() as usize - answer.bytes().as_ptr() as usize;
        if let Some(state) = part.state {
            self.state = State::After(state.to_vec());
        }
        let (bytes, body) = answer.into_bytes();
        self.rows = Rows::new(bytes, body + start, &self.format)?;
        Ok(true)
    }
}

/// What statements about rows begin with, without a transaction and before options.
fn head(container: &Container, out: &mut Vec<u8>) {
    put_i64(out, container.id);
    put_i64(out, 0);
    out.extend_from_slice(&[0; 16]);
    put_i32(out, container.version);
    out.extend_from_slice(&[0, 0]);
}

/// The same with options, of which there are none.
pub(crate) fn statement_head(container: &Container, out: &mut Vec<u8>) {
    head(container, out);
    no_options(out);
}

/// The option that tells which columns are looked at: in its group, after the sizes of both.
fn put_columns(columns: u64, out: &mut Vec<u8>) {
    put_i32(out, 16);
    put_i16(out, COLUMNS_GROUP);
    put_i32(out, 10);
    put_i16(out, COLUMNS_OPTION);
    put_i64(out, columns as i64);
}

impl Scan for ContainerScan {
    fn advance(&mut self) -> Result<bool, SourceError> {
        loop {
            if self.rows.advance(&self.format, self.reads_variable)? {
                return Ok(true);
            }
            if !self.fetch()? {
                return Ok(false);
            }
        }
    }

    fn value(&self, column: usize) -> ValueRef<'_> {
        self.rows.value(&self.format, column)
    }

    fn row(&self) -> RowName<'_> {
        if self.container.key_len == 0 { RowName::Number(self.rows.number()) } else { RowName::Key }
    }
}
