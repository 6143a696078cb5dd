//! What a client asks of a list or map, taken from the operand's bytes.

use crate::ResultCode;
use crate::value::msgpack::{Head, Reader};

/// How deep a path may lead.
const STEPS_MAX: usize = 64;
/// More arguments than any operation takes.
const ARGUMENTS_MAX: usize = 8;
/// Stands where an operation's code would and says that a path comes next.
const WITH_PATH: i64 = 0xff;
/// Reads with a path of expressions.
const SELECT: i64 = 0xfe;

/// The operations, by their codes on the wire.
pub(super) mod code {
    pub(in super::super) const LIST_SET_TYPE: u8 = 0;
    pub(in super::super) const LIST_APPEND: u8 = 1;
    pub(in super::super) const LIST_APPEND_ITEMS: u8 = 2;
    pub(in super::super) const LIST_INSERT: u8 = 3;
    pub(in super::super) const LIST_INSERT_ITEMS: u8 = 4;
    pub(in super::super) const LIST_POP: u8 = 5;
    pub(in super::super) const LIST_POP_RANGE: u8 = 6;
    pub(in super::super) const LIST_REMOVE: u8 = 7;
    pub(in super::super) const LIST_REMOVE_RANGE: u8 = 8;
    pub(in super::super) const LIST_SET: u8 = 9;
    pub(in super::super) const LIST_TRIM: u8 = 10;
    pub(in super::super) const LIST_CLEAR: u8 = 11;
    pub(in super::super) const LIST_INCREMENT: u8 = 12;
    pub(in super::super) const LIST_SORT: u8 = 13;
    pub(in super::super) const LIST_SIZE: u8 = 16;
    pub(in super::super) const LIST_GET: u8 = 17;
    pub(in super::super) const LIST_GET_RANGE: u8 = 18;
    /// The first of the operations that select elements to read.
    pub(in super::super) const LIST_GET_BY: u8 = 19;
    /// The first of the operations that select elements to remove: each is so many above its reading twin.
    pub(in super::super) const LIST_REMOVE_BY: u8 = 32;

    pub(in super::super) const MAP_SET_TYPE: u8 = 64;
    pub(in super::super) const MAP_ADD: u8 = 65;
    pub(in super::super) const MAP_ADD_ITEMS: u8 = 66;
    pub(in super::super) const MAP_PUT: u8 = 67;
    pub(in super::super) const MAP_PUT_ITEMS: u8 = 68;
    pub(in super::super) const MAP_REPLACE: u8 = 69;
    pub(in super::super) const MAP_REPLACE_ITEMS: u8 = 70;
    pub(in super::super) const MAP_INCREMENT: u8 = 73;
    pub(in super::super) const MAP_DECREMENT: u8 = 74;
    pub(in super::super) const MAP_CLEAR: u8 = 75;
    pub(in super::super) const MAP_REMOVE_LAST: u8 = 89;
    pub(in super::super) const MAP_SIZE: u8 = 96;
}

/// What an operation works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    List,
    Map,
}

/// Where the next container of a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place<'a> {
    Index(i64),
    Rank(i64),
    Key(&'a [u8]),
    Value(&'a [u8]),
}

/// What to make if a step leads nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Create {
    /// Nothing: it is an error.
    No,
    /// The first kind: a list that has no order and no holes; a map that has no order.
    First,
    /// The second kind: a list that has no order and may get nils in front of the place; a map ordered by keys.
    Second,
    /// The third kind: an ordered list; a map ordered by keys and values.
    Third,
}

/// One step of a path: a place in a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step<'a> {
    pub(super) container: Container,
    pub(super) place: Place<'a>,
    pub(super) create: Create,
}

/// An operation on a list or map.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) path: Vec<Step<'a>>,
    pub(super) container: Container,
    pub(super) code: u8,
    arguments: Vec<&'a [u8]>,
}

impl<'a> Call<'a> {
    /// Takes an operation from the operand's bytes: `[code, argument, …]`, `[0xff, [step, place, …], [code, argument, …]]`, or, from old
    /// clients, the code in two bytes and then `[argument, …]`.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, ResultCode> {
        if let [0, code, rest @ ..] = bytes {
            return Self::parse_old(*code, rest);
        }
        let mut reader = Reader::new(bytes);
        let mut count = list_head(&mut reader)?;
        let mut code = integer_head(&mut reader)?;
        let mut path = Vec::new();
        if code == WITH_PATH && count == 3 {
            path = parse_path(&mut reader)?;
            count = list_head(&mut reader)?;
            code = integer_head(&mut reader)?;
        }
        if code == SELECT || code == WITH_PATH {
            return Err(ResultCode::UNSUPPORTED_FEATURE);
        }
        let arguments = parse_arguments(&mut reader, count.saturating_sub(1))?;
        Self::new(path, u8::try_from(code).map_err(|_| ResultCode::PARAMETER)?, arguments)
    }

    fn parse_old(code: u8, rest: &'a [u8]) -> Result<Self, ResultCode> {
        let mut reader = Reader::new(rest);
        let count = if rest.is_empty() { 0 } else { list_head(&mut reader)? };
        Self::new(Vec::new(), code, parse_arguments(&mut reader, count)?)
    }

    fn new(path: Vec<Step<'a>>, code: u8, arguments: Vec<&'a [u8]>) -> Result<Self, ResultCode> {
        let container = match code {
            code::LIST_SET_TYPE..=code::LIST_SORT | code::LIST_SIZE..=code::LIST_GET_BY | 21..=27 | code::LIST_REMOVE_BY | 34..=40 => {
                Container::List
            }
            code::MAP_SET_TYPE..=code::MAP_REPLACE_ITEMS
            | code::MAP_INCREMENT..=77
            | 79
            | 81..=code::MAP_REMOVE_LAST
            | code::MAP_SIZE..=98
            | 100
            | 102..=110 => Container::Map,
            _ => return Err(ResultCode::PARAMETER),
        };
        Ok(Self { path, container, code, arguments })
    }

    /// Whether the operation can change the container.
    pub(super) fn changes(&self) -> bool {
        match self.container {
            Container::List => self.code <= code::LIST_SORT || self.code >= code::LIST_REMOVE_BY,
            Container::Map => self.code <= code::MAP_REMOVE_LAST,
        }
    }

    /// Whether the operation makes the container if it is missing.
    pub(super) fn creates(&self) -> bool {
        matches!(
            self.code,
            code::LIST_SET_TYPE..=code::LIST_INSERT_ITEMS
                | code::LIST_SET
                | code::LIST_INCREMENT
                | code::MAP_SET_TYPE..=code::MAP_PUT_ITEMS
                | code::MAP_INCREMENT
                | code::MAP_DECREMENT
        )
    }

    /// The arguments, if there are no fewer than `least` and no more than `most`.
    pub(super) fn arguments(&self, least: usize, most: usize) -> Result<Arguments<'_, 'a>, ResultCode> {
        if (least..=most).contains(&self.arguments.len()) { Ok(Arguments(&self.arguments)) } else { Err(ResultCode::PARAMETER) }
    }
}

/// The arguments of an operation, by their places.
#[derive(Clone, Copy)]
pub(super) struct Arguments<'c, 'a>(&'c [&'a [u8]]);

impl<'a> Arguments<'_, 'a> {
    /// Any value.
    pub(super) fn value(self, at: usize) -> Result<&'a [u8], ResultCode> {
        self.0.get(at).copied().ok_or(ResultCode::PARAMETER)
    }

    /// Any value, or none; nil is none.
    pub(super) fn optional_value(self, at: usize) -> Option<&'a [u8]> {
        self.0.get(at).copied().filter(|bytes| !matches!(Reader::new(bytes).head(), Ok(Head::Nil)))
    }

    /// Any value, or none.
    pub(super) fn end(self, at: usize) -> Option<&'a [u8]> {
        self.0.get(at).copied()
    }

    /// A number.
    pub(super) fn integer(self, at: usize) -> Result<i64, ResultCode> {
        match Reader::new(self.value(at)?).head()? {
            Head::Integer(number) => Ok(number),
            Head::Unsigned(number) => Ok(number as i64),
            _ => Err(ResultCode::PARAMETER),
        }
    }

    /// A count; a negative one is as large as can be.
    pub(super) fn count(self, at: usize) -> Result<u64, ResultCode> {
        Ok(self.integer(at)? as u64)
    }

    /// A count, or none.
    pub(super) fn optional_count(self, at: usize) -> Result<Option<u64>, ResultCode> {
        if at < self.0.len() { self.count(at).map(Some) } else { Ok(None) }
    }

    /// Flags; none are zero.
    pub(super) fn flags(self, at: usize) -> Result<u64, ResultCode> {
        Ok(self.optional_count(at)?.unwrap_or(0))
    }
}

fn list_head(reader: &mut Reader<'_>) -> Result<usize, ResultCode> {
    match reader.head()? {
        Head::List(count) => Ok(count),
        _ => Err(ResultCode::PARAMETER),
    }
}

fn integer_head(reader: &mut Reader<'_>) -> Result<i64, ResultCode> {
    match reader.head()? {
        Head::Integer(number) => Ok(number),
        _ => Err(ResultCode::PARAMETER),
    }
}

fn parse_arguments<'a>(reader: &mut Reader<'a>, count: usize) -> Result<Vec<&'a [u8]>, ResultCode> {
    if count > ARGUMENTS_MAX {
        return Err(ResultCode::PARAMETER);
    }
    let arguments = (0..count).map(|_| reader.value()).collect::<Result<_, _>>()?;
    if reader.is_empty() { Ok(arguments) } else { Err(ResultCode::PARAMETER) }
}

fn parse_path<'a>(reader: &mut Reader<'a>) -> Result<Vec<Step<'a>>, ResultCode> {
    let count = list_head(reader)?;
    if count == 0 || count % 2 != 0 || count > 2 * STEPS_MAX {
        return Err(ResultCode::PARAMETER);
    }
    (0..count / 2).map(|_| parse_step(reader)).collect()
}

/// The steps of a path that is all there is.
pub(super) fn parse_path_alone(path: &[u8]) -> Result<Vec<Step<'_>>, ResultCode> {
    let mut reader = Reader::new(path);
    let steps = parse_path(&mut reader)?;
    if reader.is_empty() { Ok(steps) } else { Err(ResultCode::PARAMETER) }
}

fn parse_step<'a>(reader: &mut Reader<'a>) -> Result<Step<'a>, ResultCode> {
    let kind = integer_head(reader)?;
    let container = match kind & 0x30 {
        0x10 => Container::List,
        0x20 => Container::Map,
        _ => return Err(ResultCode::PARAMETER),
    };
    let place = match kind & 0x0f {
        0 => Place::Index(integer_head(reader)?),
        1 => Place::Rank(integer_head(reader)?),
        2 if container == Container::Map => Place::Key(reader.value()?),
        3 => Place::Value(reader.value()?),
        _ => return Err(ResultCode::UNSUPPORTED_FEATURE),
    };
    let create = match kind & !0x3f {
        0 => Create::No,
        0x40 => Create::First,
        0x80 => Create::Second,
        0xc0 => Create::Third,
        _ => return Err(ResultCode::UNSUPPORTED_FEATURE),
    };
    let creatable = matches!((container, place), (Container::List, Place::Index(_)) | (Container::Map, Place::Key(_)));
    if create != Create::No && !creatable {
        return Err(ResultCode::PARAMETER);
    }
    Ok(Step { container, place, create })
}
