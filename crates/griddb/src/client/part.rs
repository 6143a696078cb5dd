//! A query that is executed in parts: what each answer has.

use crate::GridError;
use crate::wire::{Reader, put_i64, put_string};

/// What a result of a query is: rows, where the next part begins, what was made of rows, how they were found.
const ROWS: u8 = 0;
const STATE: u8 = 4;
const PARTIALS: u8 = 5;
pub(crate) const FIGURES: u8 = 6;

/// By what rows were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Access {
    /// All were looked at.
    Scan = 0,
    /// A range of row keys.
    Keys = 1,
    /// The entries of an index.
    Index = 2,
}

/// How rows were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures<'a> {
    /// By what.
    pub access: Access,
    /// The index, by its name, or by its columns where it has none; empty without.
    pub index: &'a str,
    /// How many rows were looked at.
    pub rows: u64,
}

impl<'a> Figures<'a> {
    /// Appends them.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.push(self.access as u8);
        put_string(out, self.index);
        put_i64(out, self.rows as i64);
    }

    fn read(content: &'a [u8]) -> Result<Self, GridError> {
        let mut reader = Reader::new(content);
        let number = reader.u8()?;
        let access = [Access::Scan, Access::Keys, Access::Index].into_iter().find(|access| *access as u8 == number);
        let access = access.ok_or(GridError::malformed("a way to find rows that is not known"))?;
        let (index, rows) = (reader.string()?, reader.i64()?);
        Ok(Self { access, index, rows: u64::try_from(rows).map_err(|_| GridError::malformed("a negative number of rows"))? })
    }
}

/// A part of what a query has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// How many rows (8 bytes), and these; or what was made of them.
    pub rows: &'a [u8],
    /// With what to ask for the next part; none after the last one.
    pub state: Option<&'a [u8]>,
    /// How they were found, if it was asked for.
    pub figures: Option<Figures<'a>>,
}

/// The answer to it.
///
/// # Errors
/// It ends too early, or has no rows in it.
pub fn read_part<'a>(reader: &mut Reader<'a>) -> Result<Part<'a>, GridError> {
    let (mut rows, mut state, mut figures) = (None, None, None);
    for _ in 0..reader.count()? {
        match (reader.u8()?, reader.bytes()?) {
            (ROWS, content) => rows = Some(content),
            (STATE, content) => state = Some(content),
            (FIGURES, content) => figures = Some(Figures::read(content)?),
            _ => return Err(GridError::malformed("a result that is not known")),
        }
    }
    Ok(Part { rows: rows.ok_or(GridError::malformed("a result without rows"))?, state, figures })
}

/// The answer to a part whose rows were to be aggregated: what was made of them, in place of them. None of one that has rows, because whoever answers does not
/// know what was asked for.
///
/// # Errors
/// It ends too early.
pub fn read_aggregated_part<'a>(reader: &mut Reader<'a>) -> Result<Option<Part<'a>>, GridError> {
    let (mut partials, mut state, mut figures) = (None, None, None);
    for _ in 0..reader.count()? {
        match (reader.u8()?, reader.bytes()?) {
            (PARTIALS, content) => partials = Some(content),
            (STATE, content) => state = Some(content),
            (FIGURES, content) => figures = Some(Figures::read(content)?),
            _ => {}
        }
    }
    Ok(partials.map(|rows| Part { rows, state, figures }))
}
