//! Values that were sent, as cells have them.

use super::put_reversed;
use crate::geometry::{Geometry, Kind};
use crate::instant::Instant;
use crate::schema::ElementType;
use crate::{ErrorCode, GridError};

/// The largest timestamp: the end of the year 9999.
const TIMESTAMP_MAX_MS: i64 = 253_402_300_799_999;

/// Appends the cell of a value that was sent.
#[inline]
pub(crate) fn put_cell(element: ElementType, sent: &[u8], out: &mut Vec<u8>) -> Result<(), GridError> {
    let invalid = |message: &'static str| Err(GridError::new(ErrorCode::DS_COL_ROWDATA_INVALID, message));
    match element {
        ElementType::Blob => out.extend_from_slice(sent),
        ElementType::Geometry => put_geometry(sent, out)?,
        ElementType::String if std::str::from_utf8(sent).is_err() => return invalid("a STRING is not UTF-8"),
        ElementType::String => out.extend_from_slice(sent),
        ElementType::Bool => out.push(u8::from(sent.first().is_some_and(|byte| *byte != 0))),
        ElementType::Timestamp => {
            let time_ms = sent.first_chunk().map_or(-1, |bytes| i64::from_le_bytes(*bytes));
            if !(0..=TIMESTAMP_MAX_MS).contains(&time_ms) {
                return invalid("a TIMESTAMP is not between the years 1970 and 9999");
            }
            out.extend_from_slice(&time_ms.to_be_bytes());
        }
        ElementType::MicroTimestamp => match Instant::of_micro_wire(sent) {
            Some(time) => out.extend_from_slice(&time.us.to_be_bytes()),
            None => return invalid("a TIMESTAMP(6) is not between the years 1970 and 9999"),
        },
        ElementType::NanoTimestamp => match Instant::of_nano_wire(sent) {
            Some(time) => time.put_nano_cell(out),
            None => return invalid("a TIMESTAMP(9) is not between the years 1970 and 9999, or has no such nanoseconds"),
        },
        _ => put_reversed(sent, out),
    }
    Ok(())
}

/// Appends the text of a geometry that was sent.
fn put_geometry(sent: &[u8], out: &mut Vec<u8>) -> Result<(), GridError> {
    let geometry = Geometry::of_wire(sent).map_err(|error| GridError::new(ErrorCode::DS_COL_ROWDATA_INVALID, error.to_string()))?;
    if geometry.kind() == Kind::QuadraticSurface {
        let message = "a QUADRATICSURFACE is for conditions, and cannot be stored in a row";
        return Err(GridError::new(ErrorCode::DS_COL_ROWDATA_INVALID, message));
    }
    out.extend_from_slice(geometry.to_string().as_bytes());
    Ok(())
}
