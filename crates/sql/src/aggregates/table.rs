//! A table as SQLite sees it whose rows are groups: its own columns, and behind them what was computed.
//!
//! `best_index` takes all comparisons that a column of a row has with something that is none, and says so, so that SQLite does not look at them again:
//! `<column><operator>,…` with the values goes to `filter`, which asks the source.
#![allow(unsafe_code, reason = "SQLite's virtual tables are laid out as C wants them")]

use super::writing;
use crate::tables::{Aggregation, ColumnType, Condition, Operator, Scan, Table, Value, ValueRef};
use crate::virtual_table::{OPERATORS, Shared, operator, operator_letter};
use model::aggregate::Function;
use rusqlite::types::{ToSqlOutput, ValueRef as SqlRef};
use rusqlite::vtab::{Context, Filters, IndexInfo, Module, VTab, VTabConnection, VTabCursor};
use rusqlite::{Error, Result, ffi};
use std::borrow::Cow;
use std::ffi::{CStr, CString, c_int};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The table, and what is asked of it.
#[derive(Clone)]
pub(super) struct Groups {
    pub(super) table: Arc<Table>,
    pub(super) shared: Arc<Shared>,
    /// Whether nobody waits for the statement any more.
    pub(super) is_over: Arc<AtomicBool>,
    pub(super) groups: Vec<usize>,
    pub(super) folds: Vec<(Function, usize)>,
}

pub(super) const MODULE: &Module<'static, GroupsTable> = &Module::eponymous_only_module();

/// SQLite's virtual table.
#[repr(C)]
pub(super) struct GroupsTable {
    base: ffi::sqlite3_vtab,
    groups: Groups,
}

/// SQLite's cursor.
#[repr(C)]
pub(super) struct GroupsCursor {
    base: ffi::sqlite3_vtab_cursor,
    groups: Groups,
    /// None at the end.
    scan: Option<Box<dyn Scan>>,
    has_begun: bool,
    row: i64,
}

impl Groups {
    /// The statement is to be run as it was written.
    fn refuse(&self) -> Error {
        self.shared.refuses_aggregates.store(true, Ordering::Relaxed);
        Error::ModuleError("the table cannot aggregate".to_owned())
    }

    /// What a column is compared with, if both compare as SQLite's values do: it would make numbers of texts, and texts of numbers.
    fn value(&self, column: usize, value: SqlRef<'_>) -> Option<Value> {
        let kind = self.table.columns.get(column)?.kind;
        let is_number = kind.is_integral() || matches!(kind, ColumnType::Float | ColumnType::Double);
        Some(match value {
            SqlRef::Null => Value::Null,
            SqlRef::Integer(value) if is_number => Value::Integer(value),
            SqlRef::Real(value) if is_number => Value::Real(value),
            SqlRef::Text(text) if matches!(kind, ColumnType::Text | ColumnType::TimestampText) => {
                Value::Text(std::str::from_utf8(text).ok()?.to_owned())
            }
            SqlRef::Blob(bytes) if kind == ColumnType::Blob => Value::Blob(bytes.to_vec()),
            _ => return None,
        })
    }
}

// SAFETY: `repr(C)`, and the base comes first.
unsafe impl<'vtab> VTab<'vtab> for GroupsTable {
    type Aux = Groups;
    type Cursor = GroupsCursor;

    fn connect(
        _: &mut VTabConnection,
        aux: Option<&Groups>,
        _: &[u8],
        _: &[u8],
        _: &[u8],
        _: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        let Some(groups) = aux else { return Err(Error::ModuleError("groups without a table".to_owned())) };
        let quoted = crate::schemas::quoted;
        let columns = groups.table.columns.iter().map(|column| format!("{} {}", quoted(&column.name), column.kind.declaration()));
        // Without a type, as what functions give: nothing is converted to be compared with it.
        let computed = (0..groups.folds.len()).map(|fold| quoted(&writing::column(fold)));
        let columns: Vec<String> = columns.chain(computed).collect();
        let declaration = CString::new(format!("CREATE TABLE x({})", columns.join(",")))?;
        Ok((Cow::Owned(declaration), Self { base: ffi::sqlite3_vtab::default(), groups: groups.clone() }))
    }

    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        let columns = self.groups.table.columns.len();
        let mut told: Vec<(usize, usize, Operator)> = Vec::new();
        for (at, constraint) in info.constraints().enumerate() {
            let column = usize::try_from(constraint.column()).ok().filter(|column| *column < columns);
            if let (Some(column), Some(operator), true) = (column, operator(constraint.operator()), constraint.is_usable()) {
                told.push((at, column, operator));
            }
        }
        let mut plan = String::new();
        let mut number = 0;
        for (at, column, operator) in told {
            // The values of a list come one at a time: SQLite looks at them in the groups.
            if info.collation(at)? != "BINARY" || info.is_in_constraint(at)? {
                continue;
            }
            number += 1;
            let mut usage = info.constraint_usage(at);
            usage.set_argv_index(number);
            usage.set_omit(true);
            let _ = write!(plan, "{column}{},", operator_letter(operator));
        }
        info.set_estimated_cost(1_000.0);
        info.set_estimated_rows(1_000);
        info.set_idx_str(&plan);
        Ok(true)
    }

    fn open(&'vtab mut self) -> Result<GroupsCursor> {
        Ok(GroupsCursor { base: ffi::sqlite3_vtab_cursor::default(), groups: self.groups.clone(), scan: None, has_begun: false, row: 0 })
    }
}

/// What `best_index` has written.
fn conditions(plan: &str) -> Option<Vec<(usize, Operator)>> {
    let condition = |text: &str| {
        let letter = text.chars().last()?;
        let operator = OPERATORS.iter().find(|(_, known)| *known == letter)?.0;
        Some((text[..text.len() - 1].parse().ok()?, operator))
    };
    plan.split(',').filter(|text| !text.is_empty()).map(condition).collect()
}

// SAFETY: `repr(C)`, and the base comes first.
unsafe impl VTabCursor for GroupsCursor {
    fn filter(&mut self, _: c_int, plan: Option<&str>, values: &Filters<'_>) -> Result<()> {
        // Its groups are those of one look at all rows.
        if std::mem::replace(&mut self.has_begun, true) {
            return Err(self.groups.refuse());
        }
        let plan = conditions(plan.unwrap_or_default()).ok_or_else(|| self.groups.refuse())?;
        let mut wanted = Aggregation { groups: self.groups.groups.clone(), folds: self.groups.folds.clone(), conditions: Vec::new() };
        for ((column, operator), value) in plan.into_iter().zip(values.iter()) {
            let value = self.groups.value(column, value).ok_or_else(|| self.groups.refuse())?;
            wanted.conditions.push(Condition { column, operator, value });
        }
        let Groups { table, shared, is_over, .. } = &self.groups;
        let is_over = || is_over.load(Ordering::Acquire);
        let scan = shared.tables.aggregate(table, &wanted, &is_over).map_err(|error| shared.failed(error))?;
        if is_over() {
            return Err(Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_INTERRUPT), None));
        }
        self.scan = Some(scan.ok_or_else(|| self.groups.refuse())?);
        shared.gives_aggregates.store(true, Ordering::Relaxed);
        self.next()
    }

    fn next(&mut self) -> Result<()> {
        let Some(scan) = &mut self.scan else { return Ok(()) };
        self.row += 1;
        if !scan.advance().map_err(|error| self.groups.shared.failed(error))? {
            self.scan = None;
        }
        Ok(())
    }

    fn eof(&self) -> bool {
        self.scan.is_none()
    }

    fn column(&self, context: &mut Context, column: c_int) -> Result<()> {
        let (Some(scan), Ok(column)) = (&self.scan, usize::try_from(column)) else { return Ok(()) };
        let Groups { table, groups, .. } = &self.groups;
        let place = match column.checked_sub(table.columns.len()) {
            Some(fold) => Some(groups.len() + fold),
            None => groups.iter().position(|group| *group == column),
        };
        let value = match scan.value(place.ok_or_else(|| self.groups.refuse())?) {
            ValueRef::Null => SqlRef::Null,
            ValueRef::Integer(value) => SqlRef::Integer(value),
            ValueRef::Real(value) => SqlRef::Real(value),
            ValueRef::Text(text) => SqlRef::Text(text.as_bytes()),
            ValueRef::Blob(bytes) => SqlRef::Blob(bytes),
            ValueRef::Time(_) => return Err(self.groups.refuse()),
        };
        context.set_result(ToSqlOutput::Borrowed(value))
    }

    fn rowid(&self) -> Result<i64> {
        Ok(self.row)
    }
}
