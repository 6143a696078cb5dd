//! Row sets that come in parts: what a query tells of the parts after its first, for [`super::fetch`]. Nothing of a row set is kept here: its
//! connection keeps where it goes on, as bytes, and gives them to the statement that asks for the next part (`session::row_sets`).
//! `docs/decisions/0064-griddb-row-sets-in-parts.md` says why.
//!
//! | bytes | what a row set goes on with |
//! |---|---|
//! | 8 | the container's number |
//! | 8 | how many rows are left |
//! | 4 | the version of the container's schema |
//! | 8 | the time of the query, in milliseconds |
//! | 1 | whether LIMIT has ended it, and not the last row |
//! | 4 + … | the key of its last row; empty if LIMIT has ended it, or rows are sorted |
//! | 4 + … | the query: the statement's number and what says what is asked for |
//! | 4 + … | the [`Position`] of the last row that was given; empty if none was |

use crate::tql::{Cut, Position, Rest, Select};
use crate::wire::{Reader, put_i32, put_i64};
use crate::{Container, ErrorCode, GridError};

/// Each part of sorted rows, and of others that do not come as they are scanned, looks at all of the container's rows: it has so many bytes
/// of rows however few were asked for.
const SORTED_BYTES_MAX: usize = 4 << 20;

/// A result of no more bytes is given as a whole, however few rows were asked for: a row set whose rows others change is lost.
const WHOLE_BYTES_MAX: usize = 1 << 20;

/// What clients send who have no size in mind.
const NO_SIZE: u64 = i64::MAX as u64;

/// Where a row set goes on.
pub(super) struct Resume<'a> {
    pub(super) container: i64,
    pub(super) left: u64,
    pub(super) version: i32,
    pub(super) now_ms: i64,
    pub(super) is_limited: bool,
    pub(super) end: &'a [u8],
    pub(super) query: &'a [u8],
    pub(super) position: &'a [u8],
}

/// The first part of what a selection gives: so many rows, if the client has said so.
pub(super) fn first_cut(select: &Select, rows_max: u64, bytes_max: usize) -> Option<Cut> {
    // Rows are all locked at once, and clients forget the number of a part's last row, by which they would update it.
    let is_whole = rows_max == 0 || !select.for_rows() || select.locks_rows();
    (!is_whole).then(|| Cut { whole_bytes_max: WHOLE_BYTES_MAX.min(bytes_max), ..cut(select, None, rows_max, bytes_max) })
}

pub(super) fn cut(select: &Select, after: Option<Position>, rows_max: u64, bytes_max: usize) -> Cut {
    let (rows_max, bytes_max) = match rows_max {
        NO_SIZE.. => (u64::MAX, bytes_max),
        _ if select.is_divisible() => (rows_max, bytes_max),
        _ => (u64::MAX, bytes_max.min(SORTED_BYTES_MAX)),
    };
    Cut { after, rows_max, bytes_max, whole_bytes_max: 0, left: None }
}

/// A query whose first part is given.
#[derive(Clone, Copy)]
pub(super) struct Begun {
    limit: Option<u64>,
    is_divisible: bool,
    now_ms: i64,
}

impl Begun {
    /// Begins what was selected at a time.
    pub(super) fn new(select: &Select, now_ms: i64) -> Self {
        Self { limit: select.limit(), is_divisible: select.is_divisible(), now_ms }
    }
}

/// What a row set of a container goes on with after its first part, which has `rows`; none if that was all. The query is its statement's
/// number, and what of it says what is asked for.
pub(super) fn resume_after(
    container: &Container,
    (number, arguments): (i32, &[u8]),
    begun: &Begun,
    rows: u64,
    rest: &Rest,
) -> Option<Vec<u8>> {
    let Begun { limit, is_divisible, now_ms } = *begun;
    let is_limited = limit.is_some_and(|limit| rows + rest.rows >= limit);
    let mut asked = number.to_le_bytes().to_vec();
    asked.extend_from_slice(arguments);
    let end: &[u8] = if is_limited || !is_divisible { &[] } else { &rest.end };
    let version = container.definition.version;
    let resume = Resume { container: container.id(), left: rest.rows, version, now_ms, is_limited, end, query: &asked, position: &[] };
    (rest.rows > 0).then(|| resume.write(rest.position.as_ref()))
}

impl<'a> Resume<'a> {
    pub(super) fn read(mut reader: Reader<'a>) -> Result<Self, GridError> {
        let number = |number: i64| u64::try_from(number).map_err(|_| GridError::malformed("a negative number of rows"));
        Ok(Self {
            container: reader.i64()?,
            left: number(reader.i64()?)?,
            version: reader.i32()?,
            now_ms: reader.i64()?,
            is_limited: reader.bool()?,
            end: reader.bytes()?,
            query: reader.bytes()?,
            position: reader.bytes()?,
        })
    }

    pub(super) fn write(&self, position: Option<&Position>) -> Vec<u8> {
        let mut out = Vec::new();
        put_i64(&mut out, self.container);
        put_i64(&mut out, self.left as i64);
        put_i32(&mut out, self.version);
        put_i64(&mut out, self.now_ms);
        out.push(u8::from(self.is_limited));
        let mut place = Vec::new();
        if let Some(position) = position {
            position.write(&mut place);
        }
        for bytes in [self.end, self.query, &place] {
            put_i32(&mut out, bytes.len() as i32);
            out.extend_from_slice(bytes);
        }
        out
    }

    /// Refuses a container that is another one, or has changed.
    pub(super) fn check(&self, container: &Container) -> Result<(), GridError> {
        if container.id() != self.container {
            return Err(GridError::new(ErrorCode::DS_DS_RESULT_ID_INVALID, "the row set is of another container"));
        }
        if container.definition.version != self.version {
            let message = format!("the columns of {} have changed since the query: query again", container.definition.name);
            return Err(GridError::new(ErrorCode::TXN_CONTAINER_SCHEMA_UNMATCH, message));
        }
        Ok(())
    }
}

impl Resume<'_> {
    /// Whether the rows that are left can be those that the query has counted.
    pub(super) fn check_rest(&self, rows: u64, rest: &Rest, is_divisible: bool) -> Result<(), GridError> {
        let fits = if is_divisible {
            // Those after this part have not been counted.
            rest.rows == 0 && (rows == self.left || (rest.is_full && rows > 0))
        } else {
            rows + rest.rows == self.left && rows > 0
        };
        if fits {
            return Ok(());
        }
        let message = "rows have come to the row set or left it since its query: query again, or in parts (FetchOption.PARTIAL_EXECUTION)";
        Err(GridError::new(ErrorCode::DS_DS_RESULT_ID_INVALID, message))
    }
}
