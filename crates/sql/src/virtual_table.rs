//! A table as SQLite sees it.
//!
//! `best_index` says which of a query's comparisons the scan is told and what it costs then, in a text that SQLite hands to `filter` with the values:
//! `<columns that are used>;<a|d>;<column><operator>,…`. SQLite looks at every comparison again, so a scan that is told less is slower and not wrong.
#![allow(unsafe_code, reason = "SQLite's virtual tables are laid out as C wants them")]

use crate::form::Form;
use crate::kept::KeptRows;
use crate::names::RowNames;
use crate::tables::{ColumnType, Condition, Operator, Order, RowName, Scan, SourceError, Table, Tables, Value, ValueRef};
use crate::time::Moment;
use rusqlite::types::{ToSqlOutput, ValueRef as SqlRef};
use rusqlite::vtab::{
    Context, CreateVTab, Filters, IndexConstraintOp, IndexFlags, IndexInfo, Module, VTab, VTabConnection, VTabCursor, VTabKind,
};
use rusqlite::{Error, Result, ffi};
use std::borrow::Cow;
use std::ffi::{CStr, CString, c_int};
use std::fmt::Write;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// What a query's tables share.
pub(crate) struct Shared {
    pub(crate) tables: Arc<dyn Tables>,
    /// What a source has failed with: SQLite keeps its text alone.
    pub(crate) failure: Mutex<Option<SourceError>>,
    /// What times are.
    pub(crate) form: Arc<Form>,
    /// Whether a table was asked for aggregates that it cannot give.
    pub(crate) refuses_aggregates: AtomicBool,
    /// Whether it has given some.
    pub(crate) gives_aggregates: AtomicBool,
}

impl Shared {
    pub(crate) fn new(tables: &Arc<dyn Tables>, form: Arc<Form>) -> Self {
        let (refuses_aggregates, gives_aggregates) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { tables: Arc::clone(tables), failure: Mutex::default(), form, refuses_aggregates, gives_aggregates }
    }

    pub(crate) fn failed(&self, error: SourceError) -> Error {
        let text = error.to_string();
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        Error::ModuleError(text)
    }
}

/// The table, and how to read it.
pub(crate) type Aux = (Arc<Table>, Arc<Shared>);

/// Tables that are there without having been created.
pub(crate) const MODULE: &Module<'static, VirtualTable> = &Module::eponymous_only_module();

/// Tables that are created in a schema.
pub(crate) const MODULE_OF_SCHEMAS: &Module<'static, VirtualTable> = &Module::read_only_module();

impl CreateVTab<'_> for VirtualTable {
    const KIND: VTabKind = VTabKind::Default;
}

/// SQLite's virtual table.
#[repr(C)]
pub(crate) struct VirtualTable {
    base: ffi::sqlite3_vtab,
    table: Arc<Table>,
    shared: Arc<Shared>,
    names: Arc<Mutex<RowNames>>,
}

// SAFETY: `repr(C)`, and the base comes first.
unsafe impl<'vtab> VTab<'vtab> for VirtualTable {
    type Aux = Aux;
    type Cursor = Cursor;

    fn connect(_: &mut VTabConnection, aux: Option<&Aux>, _: &[u8], _: &[u8], _: &[u8], _: &[&[u8]]) -> Result<(Cow<'static, CStr>, Self)> {
        let Some((table, shared)) = aux else { return Err(Error::ModuleError("a table without a source".to_owned())) };
        let columns: Vec<String> =
            table.columns.iter().map(|column| format!("\"{}\" {}", column.name.replace('"', "\"\""), column.kind.declaration())).collect();
        let declaration = CString::new(format!("CREATE TABLE x({})", columns.join(",")))?;
        let (table, shared, names) = (Arc::clone(table), Arc::clone(shared), Arc::default());
        Ok((Cow::Owned(declaration), Self { base: ffi::sqlite3_vtab::default(), table, shared, names }))
    }

    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        let mut told = Vec::new();
        let candidates: Vec<(usize, usize, Operator)> = info
            .constraints()
            .enumerate()
            .filter_map(|(at, constraint)| {
                let column = usize::try_from(constraint.column()).ok()?;
                let operator = operator(constraint.operator())?;
                let compares = self.table.columns.get(column).is_some_and(|column| column.kind.compares());
                (constraint.is_usable() && compares).then_some((at, column, operator))
            })
            .collect();
        let is_equal = |wanted| candidates.iter().any(|(_, column, operator)| *column == wanted && *operator == Operator::Equal);
        for (at, column, operator) in candidates.iter().copied() {
            let finds = self.table.finds(column, &is_equal);
            // A value of a list at a time: worth it only where rows are found by it.
            if info.collation(at)? == "BINARY" && (finds || !info.is_in_constraint(at)?) {
                told.push((at, column, operator));
            }
        }
        let (order, is_ordered) = self.order(info);
        info.set_order_by_consumed(is_ordered);
        // The key names a row.
        let columns = (0..self.table.key_len).fold(info.col_used(), |columns, key| columns | 1 << key.min(63));
        let mut plan = format!("{columns};{};", if order == Order::Key { 'a' } else { 'd' });
        for (number, (at, column, operator)) in told.iter().enumerate() {
            info.constraint_usage(*at).set_argv_index(number as c_int + 1);
            let _ = write!(plan, "{column}{},", operator_letter(*operator));
        }
        let (cost, rows) = self.cost(&told);
        info.set_estimated_cost(cost);
        info.set_estimated_rows(rows);
        // SQLite takes the first row then: not where a scan may give others, too, because it cannot be told all of its key.
        if rows == 1 && self.table.lookup.is_none() {
            info.set_idx_flags(IndexFlags::SQLITE_INDEX_SCAN_UNIQUE);
        }
        info.set_idx_str(&plan);
        Ok(true)
    }

    fn open(&'vtab mut self) -> Result<Cursor> {
        let (table, shared, names) = (Arc::clone(&self.table), Arc::clone(&self.shared), Arc::clone(&self.names));
        Ok(Cursor {
            base: ffi::sqlite3_vtab_cursor::default(),
            table,
            shared,
            names,
            scan: None,
            row: 0,
            searches: 0,
            kept: Kept::NotYet,
            is_precise: false,
        })
    }
}

impl VirtualTable {
    /// The order of the scan, and whether it is what the query wants.
    fn order(&self, info: &IndexInfo) -> (Order, bool) {
        let wanted: Vec<(c_int, bool)> = info.order_bys().map(|by| (by.column(), by.is_order_by_desc())).collect();
        let by_key =
            |descends| wanted.iter().enumerate().all(|(at, by)| *by == (at as c_int, descends)) && wanted.len() <= self.table.key_len;
        if wanted.is_empty() || by_key(false) {
            (Order::Key, !wanted.is_empty())
        } else if by_key(true) && wanted.len() == self.table.key_len {
            (Order::KeyDescending, true)
        } else {
            (Order::Key, false)
        }
    }

    /// What a scan costs that is told this, and how many rows it may give.
    fn cost(&self, told: &[(usize, usize, Operator)]) -> (f64, i64) {
        let is_equal = |wanted: usize| told.iter().any(|(_, column, operator)| *column == wanted && *operator == Operator::Equal);
        let is_bounded = |wanted: usize| told.iter().any(|(_, column, _)| *column == wanted);
        let key_len = self.table.key_len;
        if let Some(lookup) = self.table.lookup.as_ref().filter(|lookup| lookup.together.iter().copied().all(is_equal)) {
            let equal = lookup.then.iter().copied().take_while(|column| is_equal(*column)).count();
            let is_narrowed = lookup.then.get(equal).copied().is_some_and(is_bounded);
            return match (equal == lookup.then.len(), is_narrowed) {
                (true, _) => (50.0, 1),
                (false, true) => (300.0, 50),
                (false, false) => (500.0 / (equal + 1) as f64, 100),
            };
        }
        if key_len > 0 && (0..key_len).all(is_equal) {
            (50.0, 1)
        } else if key_len > 0 && is_equal(0) {
            (500.0, 100)
        } else if self.table.indexed.iter().any(|column| is_equal(*column)) {
            (1_000.0, 50)
        } else if key_len > 0 && is_bounded(0) {
            (20_000.0, 10_000)
        } else if self.table.indexed.iter().any(|column| is_bounded(*column)) {
            (50_000.0, 20_000)
        } else if told.is_empty() {
            (1_000_000.0, 1_000_000)
        } else {
            (500_000.0, 100_000)
        }
    }
}

pub(crate) const OPERATORS: [(Operator, char); 5] =
    [(Operator::Equal, '='), (Operator::Less, '<'), (Operator::LessEqual, '['), (Operator::Greater, '>'), (Operator::GreaterEqual, ']')];

pub(crate) fn operator_letter(operator: Operator) -> char {
    OPERATORS.iter().find(|(known, _)| *known == operator).map_or('=', |(_, letter)| *letter)
}

pub(crate) fn operator(operator: IndexConstraintOp) -> Option<Operator> {
    Some(match operator {
        IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ => Operator::Equal,
        IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_LT => Operator::Less,
        IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_LE => Operator::LessEqual,
        IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_GT => Operator::Greater,
        IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_GE => Operator::GreaterEqual,
        _ => return None,
    })
}

/// SQLite's cursor.
#[repr(C)]
pub(crate) struct Cursor {
    base: ffi::sqlite3_vtab_cursor,
    table: Arc<Table>,
    shared: Arc<Shared>,
    names: Arc<Mutex<RowNames>>,
    /// None at the end.
    scan: Option<Box<dyn Scan>>,
    row: i64,
    /// How often all rows were looked through for one value.
    searches: u32,
    kept: Kept,
    /// Whether times are texts with nine digits of a second.
    is_precise: bool,
}

/// Rows that are kept, once they were looked through often enough.
enum Kept {
    NotYet,
    Rows(Arc<KeptRows>),
    /// There is no room for them.
    Never,
}

/// So many times a table is looked through before its rows are kept.
const SEARCHES_BEFORE: u32 = 2;

impl Cursor {
    /// Rows that are kept, if all rows would be looked through once more for one value.
    fn kept_scan(&mut self, conditions: &[Condition], plan: &Plan) -> Result<Option<Box<dyn Scan>>, SourceError> {
        let is_equal = |wanted| conditions.iter().any(|condition| condition.column == wanted && condition.operator == Operator::Equal);
        if conditions.iter().any(|condition| self.table.finds(condition.column, &is_equal)) {
            return Ok(None);
        }
        let Some(wanted) = conditions.iter().find(|condition| condition.operator == Operator::Equal) else { return Ok(None) };
        self.searches = self.searches.saturating_add(1);
        if self.searches > SEARCHES_BEFORE && matches!(self.kept, Kept::NotYet) {
            let scan = self.shared.tables.scan(&self.table, &[], Order::Key, plan.columns | 1 << wanted.column.min(63))?;
            let kept = KeptRows::of(scan, wanted.column, self.table.columns.len(), plan.columns)?;
            self.kept = kept.map_or(Kept::Never, |rows| Kept::Rows(Arc::new(rows)));
        }
        match &self.kept {
            Kept::Rows(rows) if rows.column() == wanted.column => Ok(Some(rows.scan(&wanted.value, plan.order == Order::KeyDescending))),
            _ => Ok(None),
        }
    }
}

/// Below it a real number that is whole is the same as an integer.
const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;

/// What `best_index` has decided.
struct Plan {
    columns: u64,
    order: Order,
    conditions: Vec<(usize, Operator)>,
}

impl Plan {
    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split(';');
        let columns = parts.next()?.parse().ok()?;
        let order = if parts.next()? == "a" { Order::Key } else { Order::KeyDescending };
        let condition = |text: &str| {
            let letter = text.chars().last()?;
            let operator = OPERATORS.iter().find(|(_, known)| *known == letter)?.0;
            Some((text[..text.len() - 1].parse().ok()?, operator))
        };
        let conditions = parts.next()?.split(',').filter(|text| !text.is_empty()).map(condition).collect::<Option<_>>()?;
        Some(Self { columns, order, conditions })
    }
}

/// The time of a text that compares as the time does.
fn time_of(text: &str) -> Option<Moment> {
    Moment::parse(text).filter(|moment| moment.format() == text)
}

// SAFETY: `repr(C)`, and the base comes first.
unsafe impl VTabCursor for Cursor {
    fn filter(&mut self, _: c_int, plan: Option<&str>, values: &Filters<'_>) -> Result<()> {
        self.scan = None;
        self.is_precise = self.shared.form.is_precise();
        let plan = plan.and_then(Plan::read).ok_or_else(|| Error::ModuleError("a plan that cannot be read".to_owned()))?;
        let mut conditions = Vec::new();
        for ((column, mut operator), value) in plan.conditions.iter().copied().zip(values.iter()) {
            let kind = self.table.columns[column].kind;
            let is_integral = kind.is_integral();
            let value = match value {
                // Nothing compares with null.
                SqlRef::Null => return Ok(()),
                // A text alone is a time then.
                SqlRef::Text(_) if self.is_precise && kind.is_time() => {
                    let Some((value, is_exact)) = time_of(value.as_str()?).and_then(|moment| kind.cut(moment)) else { continue };
                    operator = match operator {
                        _ if is_exact => operator,
                        // The column has no such time.
                        Operator::Equal => return Ok(()),
                        Operator::Less | Operator::LessEqual => Operator::LessEqual,
                        Operator::Greater | Operator::GreaterEqual => Operator::Greater,
                    };
                    value
                }
                // Integers are below all texts: the answer would be wrong.
                SqlRef::Integer(_) | SqlRef::Real(_) if self.is_precise && kind.is_time() => {
                    let name = &self.table.columns[column].name;
                    return Err(Error::ModuleError(format!(
                        "the column {name} has times, and this statement has some more precise than a millisecond: \
                         compare it with a time, as TO_TIMESTAMP_MS makes one of a number"
                    )));
                }
                _ if self.is_precise && kind.is_time() => continue,
                SqlRef::Integer(value) if is_integral => Value::Integer(value),
                SqlRef::Real(value) if is_integral && value.fract() == 0.0 && value.abs() < EXACT_BELOW => Value::Integer(value as i64),
                SqlRef::Text(_) if matches!(kind, ColumnType::Text | ColumnType::TimestampText) => Value::Text(value.as_str()?.to_owned()),
                SqlRef::Blob(bytes) if kind == ColumnType::Blob => Value::Blob(bytes.to_vec()),
                _ => continue,
            };
            conditions.push(Condition { column, operator, value });
        }
        let scan = match self.kept_scan(&conditions, &plan) {
            Ok(None) => self.shared.tables.scan(&self.table, &conditions, plan.order, plan.columns),
            Ok(Some(scan)) => Ok(scan),
            Err(error) => Err(error),
        };
        self.scan = Some(scan.map_err(|error| self.shared.failed(error))?);
        self.next()
    }

    fn next(&mut self) -> Result<()> {
        let Some(scan) = &mut self.scan else { return Ok(()) };
        self.row += 1;
        match scan.advance() {
            Ok(true) => Ok(()),
            Ok(false) => {
                self.scan = None;
                Ok(())
            }
            Err(error) => {
                self.scan = None;
                Err(self.shared.failed(error))
            }
        }
    }

    fn eof(&self) -> bool {
        self.scan.is_none()
    }

    fn column(&self, context: &mut Context, column: c_int) -> Result<()> {
        let Some(scan) = &self.scan else { return Ok(()) };
        let value = match scan.value(column as usize) {
            ValueRef::Integer(time_ms) if self.is_precise && self.table.columns[column as usize].kind == ColumnType::Timestamp => {
                return context.set_result(ToSqlOutput::from(Moment::of_ms(time_ms).format()));
            }
            ValueRef::Time(moment) => return context.set_result(ToSqlOutput::from(moment.format())),
            ValueRef::Null => SqlRef::Null,
            ValueRef::Integer(value) => SqlRef::Integer(value),
            ValueRef::Real(value) => SqlRef::Real(value),
            ValueRef::Text(text) => SqlRef::Text(text.as_bytes()),
            ValueRef::Blob(bytes) => SqlRef::Blob(bytes),
        };
        context.set_result(ToSqlOutput::Borrowed(value))
    }

    fn rowid(&self) -> Result<i64> {
        let Some(scan) = &self.scan else { return Ok(self.row) };
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let name = match scan.row() {
            RowName::Number(number) => Some(number),
            RowName::Bytes(bytes) => names.name_of_bytes(bytes),
            // Its scans give the same rows each time.
            RowName::Key if self.table.key_len == 0 => Some(self.row),
            RowName::Key => names.name((0..self.table.key_len).map(|column| scan.value(column))),
        };
        name.ok_or_else(|| Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_NOMEM), None))
    }
}
