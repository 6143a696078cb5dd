//! Reading what a client has sent.

use crate::GridError;

/// A forward reader over bytes that may be anything.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
}

const SHORT: GridError = GridError::fixed(crate::ErrorCode::TXN_DECODE_FAILED, "the request ends before its arguments do");

impl<'a> Reader<'a> {
    /// Reads from the start of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// What has not been read.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// The next `length` bytes.
    ///
    /// # Errors
    /// Fewer are left, here and in all that follows.
    #[inline]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], GridError> {
        let (head, tail) = self.bytes.split_at_checked(length).ok_or(SHORT)?;
        self.bytes = tail;
        Ok(head)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], GridError> {
        let (head, tail) = self.bytes.split_first_chunk::<N>().ok_or(SHORT)?;
        self.bytes = tail;
        Ok(*head)
    }

    /// One byte.
    ///
    /// # Errors
    /// As [`Reader::take`].
    #[inline]
    pub fn u8(&mut self) -> Result<u8, GridError> {
        Ok(self.array::<1>()?[0])
    }

    /// A byte that is zero or not.
    ///
    /// # Errors
    /// As [`Reader::take`].
    #[inline]
    pub fn bool(&mut self) -> Result<bool, GridError> {
        Ok(self.u8()? != 0)
    }

    /// Two bytes.
    ///
    /// # Errors
    /// As [`Reader::take`].
    #[inline]
    pub fn i16(&mut self) -> Result<i16, GridError> {
        Ok(i16::from_le_bytes(self.array()?))
    }

    /// Four bytes.
    ///
    /// # Errors
    /// As [`Reader::take`].
    #[inline]
    pub fn i32(&mut self) -> Result<i32, GridError> {
        Ok(i32::from_le_bytes(self.array()?))
    }

    /// Eight bytes.
    ///
    /// # Errors
    /// As [`Reader::take`].
    #[inline]
    pub fn i64(&mut self) -> Result<i64, GridError> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    /// A client's identifier.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub fn uuid(&mut self) -> Result<[u8; 16], GridError> {
        self.array()
    }

    /// A number of things that come next, each of at least one byte, in four bytes.
    ///
    /// # Errors
    /// It is negative, or there cannot be so many.
    pub fn count(&mut self) -> Result<usize, GridError> {
        let count = usize::try_from(self.i32()?).map_err(|_| GridError::malformed("a negative count"))?;
        if count > self.bytes.len() { Err(GridError::malformed("a count of more than there is")) } else { Ok(count) }
    }

    /// Text after its length in four bytes.
    ///
    /// # Errors
    /// As [`Reader::take`], or it is not UTF-8.
    pub fn string(&mut self) -> Result<&'a str, GridError> {
        let length = self.count()?;
        std::str::from_utf8(self.take(length)?).map_err(|_| GridError::malformed("a text that is not UTF-8"))
    }

    /// Bytes after their length in four bytes.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub fn bytes(&mut self) -> Result<&'a [u8], GridError> {
        let length = self.count()?;
        self.take(length)
    }

    /// A size of 1, 4 or 8 bytes, as its low bits say.
    ///
    /// # Errors
    /// As [`Reader::take`].
    #[inline]
    pub fn var_size(&mut self) -> Result<u64, GridError> {
        let first = *self.bytes.first().ok_or(SHORT)?;
        if first & 1 == 1 {
            self.bytes = &self.bytes[1..];
            return Ok(u64::from(first >> 1));
        }
        if first & 3 == 0 { Ok(u64::from(u32::from_le_bytes(self.array()?) >> 2)) } else { Ok(u64::from_le_bytes(self.array()?) >> 2) }
    }

    /// Bytes after their size.
    ///
    /// # Errors
    /// As [`Reader::take`].
    #[inline]
    pub fn var_bytes(&mut self) -> Result<&'a [u8], GridError> {
        let size = usize::try_from(self.var_size()?).map_err(|_| SHORT)?;
        self.take(size)
    }
}
