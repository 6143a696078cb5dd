//! Rows that are written, as they are on the wire: `griddb::row` draws them.

use griddb::instant::Instant;
use griddb::row::RowsWriter;
use griddb::schema::ColumnDefinition;
use griddb::wire::put_var_bytes;
use griddb::{ElementType, ErrorCode, GridError};
use sql::ValueRef;
use sql::time::Moment;

/// What each column of a row holds, as on the wire; none where it is null.
pub(crate) type Cells = Vec<Option<Vec<u8>>>;

/// What the rows of a statement take at most.
const STATEMENT_BYTES_MAX: usize = 64 << 20;

/// Appends rows: all their fixed parts, then all their variable parts.
pub(crate) fn put_rows(columns: &[ColumnDefinition], rows: &[Cells], out: &mut Vec<u8>) {
    let mut writer = RowsWriter::new(columns);
    for row in rows {
        writer.begin();
        columns.iter().zip(row).for_each(|(column, cell)| writer.put(column, cell.as_deref()));
    }
    writer.write(out);
}

/// Appends a row key.
pub(crate) fn put_key(columns: &[ColumnDefinition], key: &[Option<Vec<u8>>], out: &mut Vec<u8>) {
    match (columns, key) {
        ([column], [cell]) => {
            let bytes = cell.as_deref().unwrap_or_default();
            if column.fixed_bytes().is_some() { out.extend_from_slice(bytes) } else { put_var_bytes(out, bytes) }
        }
        _ => put_rows(columns, &[key.to_vec()], out),
    }
}

/// A time as GridDB has it.
pub(crate) fn instant(moment: Moment) -> Instant {
    let us = moment.ms.saturating_mul(1_000).saturating_add(i64::from(moment.ns / 1_000));
    Instant { us, ns: (moment.ns % 1_000) as u16 }
}

/// A time as SQL has it.
pub(crate) fn moment(instant: Instant) -> Moment {
    Moment { ms: instant.ms(), ns: instant.us.rem_euclid(1_000) as u32 * 1_000 + u32::from(instant.ns) }
}

/// A value as a column holds it.
///
/// # Errors
/// It cannot hold it.
pub(crate) fn cell(column: &ColumnDefinition, value: ValueRef<'_>) -> Result<Option<Vec<u8>>, GridError> {
    let invalid = |what: &str| {
        let message = format!("the column {} is {} and cannot hold {what}", column.name, column.element.name());
        GridError::new(ErrorCode::DS_COL_ROWDATA_INVALID, message)
    };
    if value == ValueRef::Null {
        return if column.is_not_null { Err(invalid("NULL: it is NOT NULL")) } else { Ok(None) };
    }
    if column.is_beyond_sql() {
        return Err(invalid("what SQL has"));
    }
    let integer = || match value {
        ValueRef::Integer(value) => Ok(value),
        // Exact up to here.
        ValueRef::Real(value) if value.fract() == 0.0 && value.abs() < (1_i64 << 53) as f64 => Ok(value as i64),
        ValueRef::Real(value) => Err(invalid(&value.to_string())),
        ValueRef::Text(text) => text.trim().parse().map_err(|_| invalid("this text")),
        _ => Err(invalid("bytes")),
    };
    let real = || match value {
        ValueRef::Real(value) => Ok(value),
        ValueRef::Integer(value) => Ok(value as f64),
        ValueRef::Text(text) => text.trim().parse().map_err(|_| invalid("this text")),
        _ => Err(invalid("bytes")),
    };
    let too_large = |value: i64| invalid(&value.to_string());
    let bytes = match column.element {
        ElementType::Bool => match value {
            ValueRef::Text(text) if text.eq_ignore_ascii_case("true") => vec![1],
            ValueRef::Text(text) if text.eq_ignore_ascii_case("false") => vec![0],
            _ => vec![u8::from(integer()? != 0)],
        },
        ElementType::Byte => integer().and_then(|value| i8::try_from(value).map_err(|_| too_large(value)))?.to_le_bytes().to_vec(),
        ElementType::Short => integer().and_then(|value| i16::try_from(value).map_err(|_| too_large(value)))?.to_le_bytes().to_vec(),
        ElementType::Integer => integer().and_then(|value| i32::try_from(value).map_err(|_| too_large(value)))?.to_le_bytes().to_vec(),
        ElementType::Long => integer()?.to_le_bytes().to_vec(),
        ElementType::Float => (real()? as f32).to_le_bytes().to_vec(),
        ElementType::Double => real()?.to_le_bytes().to_vec(),
        ElementType::Timestamp | ElementType::MicroTimestamp | ElementType::NanoTimestamp => {
            let moment = match value {
                ValueRef::Text(text) => Moment::parse(text).ok_or_else(|| invalid("this text, which is no time"))?,
                ValueRef::Time(moment) => moment,
                _ => Moment::of_ms(integer()?),
            };
            let time = instant(moment);
            match column.element {
                ElementType::Timestamp => moment.ms.to_le_bytes().to_vec(),
                _ if !time.is_valid() => return Err(invalid("a time that is not between the years 1970 and 9999")),
                ElementType::MicroTimestamp => time.us.to_le_bytes().to_vec(),
                _ => time.nano_wire().to_vec(),
            }
        }
        ElementType::String => match value {
            ValueRef::Text(text) => text.as_bytes().to_vec(),
            ValueRef::Integer(value) => value.to_string().into_bytes(),
            _ => return Err(invalid("what is no text: use CAST")),
        },
        ElementType::Blob => match value {
            ValueRef::Blob(bytes) => bytes.to_vec(),
            _ => return Err(invalid("what is no bytes: X'…' is")),
        },
        ElementType::Geometry => return Err(invalid("what SQL has")),
    };
    Ok(Some(bytes))
}

/// What a row takes, about.
pub(crate) fn bytes_of(row: &Cells) -> usize {
    row.iter().map(|cell| 16 + cell.as_ref().map_or(0, Vec::len)).sum()
}

/// Refuses more than the rows of a statement may take.
pub(crate) fn check_bytes(bytes: usize) -> Result<(), GridError> {
    if bytes <= STATEMENT_BYTES_MAX {
        return Ok(());
    }
    let message = format!("the rows that a statement writes take at most {STATEMENT_BYTES_MAX} bytes: write fewer at a time");
    Err(GridError::new(ErrorCode::CM_LIMITS_EXCEEDED, message))
}
