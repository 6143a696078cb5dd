//! What a client of SQL asks.
//!
//! | bytes | SQL_EXECUTE |
//! |---|---|
//! | 16 | the client's identifier |
//! | 1 | 1: the statement follows; 2: it is the one that the number was given for |
//! | 4 | what to do with it |
//! | 8 | the client's number of the query |
//! | 8 | the number of one that is over; 0 for none |
//! | 1, 1 | whether a transaction is open; whether this is asked again |
//! | 1 | whether rows of parameters follow |
//! | 8, … | with them: how many; size and schema; size and rows, after 8 bytes without meaning |
//! | … | options |
//! | 4, … | how many statements; each |

use crate::cells::moment;
use crate::container::read_options;
use griddb::instant::{Instant, NANO_BYTES};
use griddb::wire::{Reader, put_i32};
use griddb::{ElementType, ErrorCode, GridError};
use sql::Value;
use sql::time::Moment;

/// A statement of SQL, and whatever is done with it.
pub const SQL_EXECUTE: i32 = 400;
/// Ends a statement that runs. It has no reply of its own.
pub const SQL_CANCEL: i32 = 401;

/// The most rows of parameters.
const ROWS_MAX: i64 = 100_000;
/// The type of a value that has none of its own.
const ANY: u8 = 0xFF;

/// What to do with a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Of whatever kind it is.
    Execute,
    /// Say which parameters it has.
    Prepare,
    /// It has to read.
    Query,
    /// It has to write.
    Update,
    /// As `Execute`, of the driver's own.
    Metadata,
    /// Give more of its rows.
    Fetch,
    /// It is over.
    Close,
}

impl Operation {
    const ALL: [Self; 7] = [Self::Execute, Self::Prepare, Self::Query, Self::Update, Self::Metadata, Self::Fetch, Self::Close];

    fn of_wire(number: i32) -> Result<Self, GridError> {
        let known = usize::try_from(number).ok().and_then(|number| Self::ALL.get(number));
        known.copied().ok_or(GridError::malformed("an operation that is not known"))
    }
}

/// What a client asks.
#[derive(Debug)]
pub struct SqlRequest<'a> {
    /// What to do.
    pub operation: Operation,
    /// The client's number of the query.
    pub query: i64,
    /// One that is over.
    pub former: i64,
    /// Rows of parameters; none if the statement came without.
    pub parameters: Option<Vec<Vec<Value>>>,
    /// The statement; none if it is that of the query's number.
    pub text: Option<&'a str>,
    /// 0 if it may take any time.
    pub timeout_ms: u64,
    /// 0 if the result may have any number of rows.
    pub rows_max: u64,
    /// 0 if as many rows may come at once as the server likes.
    pub page_rows: u64,
}

impl<'a> SqlRequest<'a> {
    /// Reads the arguments of SQL_EXECUTE.
    ///
    /// # Errors
    /// They are none.
    pub fn read(mut reader: Reader<'a>) -> Result<Self, GridError> {
        reader.uuid()?;
        let is_new = reader.u8()? != 2;
        let operation = Operation::of_wire(reader.i32()?)?;
        let (query, former) = (reader.i64()?, reader.i64()?);
        reader.take(2)?;
        let parameters = if reader.bool()? { Some(read_parameters(&mut reader)?) } else { None };
        let options = read_options(&mut reader)?;
        let count = reader.count()?;
        let text = match count {
            0 => None,
            1 => Some(reader.string()?),
            _ => return Err(GridError::unsupported("one statement at a time")),
        };
        if is_new && text.is_none() && !matches!(operation, Operation::Close | Operation::Fetch) {
            return Err(GridError::malformed("a query without a statement"));
        }
        let unsigned = |value: Option<i64>| u64::try_from(value.unwrap_or(0)).unwrap_or(0);
        Ok(Self {
            operation,
            query,
            former,
            parameters,
            text,
            timeout_ms: unsigned(options.statement_timeout_ms.filter(|ms| *ms != i32::MAX).map(i64::from)),
            rows_max: unsigned(options.fetch_limit),
            page_rows: unsigned(options.fetch_size),
        })
    }
}

/// Which query a client of SQL_CANCEL means.
///
/// # Errors
/// It names none.
pub fn read_cancel(mut reader: Reader<'_>) -> Result<i64, GridError> {
    reader.uuid()?;
    reader.i64()
}

/// Rows of parameters: their schema, then the rows, as `griddb::row` draws them, where a column may be of any type.
fn read_parameters(reader: &mut Reader<'_>) -> Result<Vec<Vec<Value>>, GridError> {
    let rows = reader.i64()?;
    if !(0..=ROWS_MAX).contains(&rows) {
        return Err(GridError::malformed("a number of rows that cannot be"));
    }
    let mut schema = Reader::new(reader.bytes()?);
    let count = schema.count()?;
    let mut types = Vec::with_capacity(count);
    for _ in 0..count {
        schema.string()?;
        types.push(schema.u8()?);
        if schema.u8()? & 1 != 0 {
            return Err(GridError::unsupported("parameters that are arrays"));
        }
    }
    let mut table = Reader::new(reader.bytes()?);
    table.i64()?;
    let is_variable = |kind: u8| kind == ANY || fixed_bytes(kind).is_none();
    let variable_columns = types.iter().filter(|kind| is_variable(**kind)).count();
    let null_bytes = count.div_ceil(8);
    let fixed: usize = types.iter().map(|kind| if *kind == ANY { 9 } else { fixed_bytes(*kind).unwrap_or(0) }).sum();
    let row_bytes = fixed + null_bytes + if variable_columns > 0 { 8 } else { 0 };
    let all = row_bytes.checked_mul(rows as usize).ok_or(GridError::malformed("more rows than there are"))?;
    let mut parts = Reader::new(table.take(all)?);
    let rest = table.rest();
    // Each row has its own variable part: together they are no more than there is.
    let mut unread = rest.len();
    let mut read = Vec::with_capacity(rows as usize);
    for _ in 0..rows {
        let (mut variable, mut start) = (Reader::new(&[]), 0);
        if variable_columns > 0 {
            let offset = usize::try_from(parts.i64()?).map_err(|_| GridError::malformed("a negative offset"))?;
            variable = Reader::new(rest.get(offset..).ok_or(GridError::malformed("an offset beyond the end"))?);
            start = variable.rest().len();
            variable.var_size()?;
        }
        let nulls = parts.take(null_bytes)?;
        let mut row = Vec::with_capacity(count);
        for (at, kind) in types.iter().enumerate() {
            let value = read_value(*kind, &mut parts, &mut variable)?;
            row.push(if nulls[at / 8] >> (at % 8) & 1 == 1 { Value::Null } else { value });
        }
        let bytes = start - variable.rest().len();
        unread = unread.checked_sub(bytes).ok_or(GridError::malformed("rows that have a variable part together"))?;
        read.push(row);
    }
    Ok(read)
}

fn fixed_bytes(kind: u8) -> Option<usize> {
    match kind {
        1 | 2 => Some(1),
        3 => Some(2),
        4 | 6 => Some(4),
        5 | 7 | 8 | 11 => Some(8),
        12 => Some(NANO_BYTES),
        _ => None,
    }
}

fn read_value(kind: u8, fixed: &mut Reader<'_>, variable: &mut Reader<'_>) -> Result<Value, GridError> {
    if kind == ANY {
        let kind = fixed.u8()?;
        let mut inner = Reader::new(fixed.take(8)?);
        return match kind {
            ANY => Ok(Value::Null),
            // It does not fit there: it is with the variable ones.
            12 => read_nanoseconds(variable),
            kind => read_value(kind, &mut inner, variable),
        };
    }
    let short = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| i32::from_le_bytes(*bytes));
    Ok(match kind {
        0 => {
            let text = std::str::from_utf8(variable.var_bytes()?).map_err(|_| GridError::malformed("a text that is not UTF-8"))?;
            Value::Text(text.to_owned())
        }
        1 => Value::Integer(i64::from(fixed.bool()?)),
        2 => Value::Integer(i64::from(fixed.u8()? as i8)),
        3 => Value::Integer(i64::from(fixed.i16()?)),
        4 => Value::Integer(i64::from(fixed.i32()?)),
        5 => Value::Integer(fixed.i64()?),
        8 => Value::Time(Moment::of_ms(fixed.i64()?)),
        6 => Value::Real(f64::from(f32::from_bits(short(fixed.take(4)?) as u32))),
        7 => Value::Real(f64::from_bits(fixed.i64()? as u64)),
        10 => Value::Blob(variable.var_bytes()?.to_vec()),
        11 => Value::Time(moment(Instant { us: fixed.i64()?, ns: 0 })),
        12 => read_nanoseconds(fixed)?,
        _ => return Err(GridError::unsupported("parameters of type GEOMETRY and arrays are not supported")),
    })
}

fn read_nanoseconds(reader: &mut Reader<'_>) -> Result<Value, GridError> {
    let invalid = || GridError::new(ErrorCode::DS_COL_ROWDATA_INVALID, "a TIMESTAMP(9) has no such nanoseconds: they are 0 to 249");
    // Any time may be compared with: columns look at what is written.
    Ok(Value::Time(moment(Instant::of_any_nano_wire(reader.take(NANO_BYTES)?).ok_or_else(invalid)?)))
}

/// The number of a type on the wire.
pub(crate) fn type_number(kind: Option<ElementType>) -> u8 {
    kind.map_or(ANY, |element| element as u8)
}

/// The number of a value without a type, and what it has in place of one.
pub(crate) fn put_any_null(out: &mut Vec<u8>) {
    out.push(ANY);
    put_i32(out, 0);
    put_i32(out, 0);
}
