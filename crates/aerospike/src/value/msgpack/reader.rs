//! Takes values from bytes, one head at a time.

/// The bytes are not MessagePack as Aerospike writes it, or they end early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// What one value begins with; of a list or map, how many values follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Head<'a> {
    /// Nothing.
    Nil,
    /// A truth value.
    Bool(bool),
    /// A number that fits.
    Integer(i64),
    /// A number above `i64::MAX`.
    Unsigned(u64),
    /// A floating-point number.
    Double(f64),
    /// A particle type and a value's bytes; empty if the client wrote no type.
    Raw(&'a [u8]),
    /// That many values follow.
    List(usize),
    /// That many pairs follow.
    Map(usize),
    /// A flag or a marker.
    Extension(u8, &'a [u8]),
}

/// Bits of the extension in front of a container's elements.
pub mod flags {
    /// An ordered list; a map ordered by its keys.
    pub const ORDERED: u8 = 0x01;
    /// A map ordered by keys and values; always with [`ORDERED`].
    pub const VALUE_ORDERED: u8 = 0x02;
    /// The order of the pairs is part of the answer.
    pub const PRESERVE_ORDER: u8 = 0x08;
    /// The extension that is no flag but infinity or the wildcard.
    pub const MARKER: u8 = 0xff;
}

/// A position in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// At the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Whether all is read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next value's head; of a list or map, its elements come next.
    ///
    /// # Errors
    /// The bytes end, or the first is none that a value begins with.
    pub fn head(&mut self) -> Result<Head<'a>, Malformed> {
        let first = self.take(1)?[0];
        Ok(match first {
            0x00..=0x7f => Head::Integer(first.into()),
            0x80..=0x8f => Head::Map(self.count(usize::from(first & 0x0f), 2)?),
            0x90..=0x9f => Head::List(self.count(usize::from(first & 0x0f), 1)?),
            0xa0..=0xbf => Head::Raw(self.take(usize::from(first & 0x1f))?),
            0xc0 => Head::Nil,
            0xc2 => Head::Bool(false),
            0xc3 => Head::Bool(true),
            0xc4 | 0xd9 => self.raw(1)?,
            0xc5 | 0xda => self.raw(2)?,
            0xc6 | 0xdb => self.raw(4)?,
            0xc7 => self.extension(1)?,
            0xc8 => self.extension(2)?,
            0xc9 => self.extension(4)?,
            0xca => {
                let bits = self.number(4)? as u32;
                Head::Double(f32::from_bits(bits).into())
            }
            0xcb => Head::Double(f64::from_bits(self.number(8)?)),
            0xcc => Head::Integer(self.number(1)? as i64),
            0xcd => Head::Integer(self.number(2)? as i64),
            0xce => Head::Integer(self.number(4)? as i64),
            0xcf => {
                let number = self.number(8)?;
                i64::try_from(number).map_or(Head::Unsigned(number), Head::Integer)
            }
            0xd0 => Head::Integer((self.number(1)? as i8).into()),
            0xd1 => Head::Integer((self.number(2)? as i16).into()),
            0xd2 => Head::Integer((self.number(4)? as i32).into()),
            0xd3 => Head::Integer(self.number(8)? as i64),
            0xd4..=0xd8 => {
                let kind = self.take(1)?[0];
                Head::Extension(kind, self.take(1 << (first - 0xd4))?)
            }
            0xdc => {
                let count = self.number(2)?;
                Head::List(self.count(count as usize, 1)?)
            }
            0xdd => {
                let count = self.number(4)?;
                Head::List(self.count(count as usize, 1)?)
            }
            0xde => {
                let count = self.number(2)?;
                Head::Map(self.count(count as usize, 2)?)
            }
            0xdf => {
                let count = self.number(4)?;
                Head::Map(self.count(count as usize, 2)?)
            }
            0xe0..=0xff => Head::Integer((first as i8).into()),
            0xc1 => return Err(Malformed),
        })
    }

    /// The next value with all that is in it, as bytes.
    ///
    /// # Errors
    /// As [`Reader::head`].
    pub fn value(&mut self) -> Result<&'a [u8], Malformed> {
        let start = self.rest;
        let mut pending = 1u64;
        while pending > 0 {
            pending -= 1;
            pending += match self.head()? {
                Head::List(count) => count as u64,
                Head::Map(count) => 2 * count as u64,
                _ => 0,
            };
        }
        Ok(&start[..start.len() - self.rest.len()])
    }

    /// The flags in front of a list's elements, if there are any: then one element fewer follows.
    ///
    /// # Errors
    /// As [`Reader::head`].
    pub fn list_flags(&mut self, count: &mut usize) -> Result<u8, Malformed> {
        let mut ahead = *self;
        match if *count > 0 { ahead.head()? } else { Head::Nil } {
            Head::Extension(flags, _) if flags != flags::MARKER => {
                *self = ahead;
                *count -= 1;
                Ok(flags)
            }
            _ => Ok(0),
        }
    }

    /// The flags in front of a map's pairs, if there are any: then one pair fewer follows.
    ///
    /// # Errors
    /// As [`Reader::head`].
    pub fn map_flags(&mut self, count: &mut usize) -> Result<u8, Malformed> {
        let mut ahead = *self;
        match if *count > 0 { ahead.head()? } else { Head::Nil } {
            Head::Extension(flags, _) if flags != flags::MARKER => {
                ahead.value()?;
                *self = ahead;
                *count -= 1;
                Ok(flags)
            }
            _ => Ok(0),
        }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    /// A big-endian number of one, two, four or eight bytes.
    fn number(&mut self, width: usize) -> Result<u64, Malformed> {
        Ok(self.take(width)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn raw(&mut self, width: usize) -> Result<Head<'a>, Malformed> {
        let length = self.number(width)? as usize;
        Ok(Head::Raw(self.take(length)?))
    }

    fn extension(&mut self, width: usize) -> Result<Head<'a>, Malformed> {
        let length = self.number(width)? as usize;
        let kind = self.take(1)?[0];
        Ok(Head::Extension(kind, self.take(length)?))
    }

    /// A count of elements of which each takes `bytes_min` bytes at least: no more than there can be.
    fn count(&self, count: usize, bytes_min: usize) -> Result<usize, Malformed> {
        if count <= self.rest.len() / bytes_min { Ok(count) } else { Err(Malformed) }
    }
}
