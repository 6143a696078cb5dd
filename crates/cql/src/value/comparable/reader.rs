//! Reads encodings of components.

/// Bytes that are not the encoding of a component. They come from the log, so this is corruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComparableError {
    /// The bytes end within the component.
    #[error("a key component ends too early")]
    Truncated,
    /// A byte that says what follows has a value that means nothing.
    #[error("a key component has the marker {marker:#04x}")]
    Marker {
        /// The byte, as it would be in an ascending column.
        marker: u8,
    },
    /// A number that no value has.
    #[error("a key component has a number out of range")]
    Number,
}

/// What is left to read of an encoding, and what its bytes are inverted with.
pub(super) struct Reader<'a> {
    pub(super) rest: &'a [u8],
    pub(super) mask: u8,
}

impl Reader<'_> {
    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, ComparableError> {
        let (first, rest) = self.rest.split_first().ok_or(ComparableError::Truncated)?;
        self.rest = rest;
        Ok(*first ^ self.mask)
    }

    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], ComparableError> {
        let (first, rest) = self.rest.split_first_chunk::<N>().ok_or(ComparableError::Truncated)?;
        self.rest = rest;
        let mut bytes = *first;
        if self.mask != 0 {
            bytes.iter_mut().for_each(|byte| *byte = !*byte);
        }
        Ok(bytes)
    }

    /// Appends `length` bytes to `out`.
    pub(super) fn copy(&mut self, length: usize, out: &mut Vec<u8>) -> Result<(), ComparableError> {
        let (first, rest) = self.rest.split_at_checked(length).ok_or(ComparableError::Truncated)?;
        self.rest = rest;
        let start = out.len();
        out.extend_from_slice(first);
        if self.mask != 0 {
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        Ok(())
    }

    /// Appends bytes that [`escaped`] wrote to `out`.
    pub(super) fn unescape(&mut self, out: &mut Vec<u8>) -> Result<(), ComparableError> {
        loop {
            let piece = find(self.rest, self.mask).ok_or(ComparableError::Truncated)?;
            self.copy(piece, out)?;
            match self.array::<2>()? {
                [_, 0] => return Ok(()),
                [_, 0xFF] => out.push(0),
                [_, marker] => return Err(ComparableError::Marker { marker }),
            }
        }
    }
}

/// Where `byte` is first, eight bytes at a time.
#[inline]
pub(super) fn find(bytes: &[u8], byte: u8) -> Option<usize> {
    const LOW_BITS: u64 = 0x0101_0101_0101_0101;
    let pattern = LOW_BITS * u64::from(byte);
    let (words, tail) = bytes.as_chunks::<8>();
    for (position, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word) ^ pattern;
        // A zero byte borrows from its high bit; the first such bit is exact.
        let zeros = word.wrapping_sub(LOW_BITS) & !word & (LOW_BITS << 7);
        if zeros != 0 {
            return Some(8 * position + zeros.trailing_zeros() as usize / 8);
        }
    }
    tail.iter().position(|candidate| *candidate == byte).map(|at| bytes.len() - tail.len() + at)
}
