//! Names of containers: what an application writes, what is on the wire, and the table's name.
//!
//! | bytes | a name on the wire, from version 14 on |
//! |---|---|
//! | 1, 4 or 8 | the size of the rest |
//! | 1 | flags: 1 database, 2 part of a partitioned container, 4 affinity by number, 8 affinity by text, 16 and 32 system |
//! | 8 | with flag 1: the database |
//! | … | size and text of the base, in lower case |
//! | … | with flag 4: the number as a size; with flag 8: size and text, in lower case |
//! | … | a bit for each byte of the texts, set where the letter is a capital, lowest bit first |
//!
//! Two names are one container's if they differ in capitals only.

use crate::wire::{Reader, put_var_bytes, put_var_size};
use crate::{ErrorCode, GridError};

const DATABASE: u8 = 1;
const LARGE: u8 = 2;
const AFFINITY_NUMBER: u8 = 4;
const AFFINITY_TEXT: u8 = 8;
const SYSTEM: u8 = 16 | 32;

/// The longest name, affinity included.
const NAME_BYTES_MAX: usize = 1_024;

/// A container's name, as it was first written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerName {
    base: String,
    affinity: Option<Affinity>,
    is_system: bool,
}

/// What follows the `@`: it gives the partition.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Affinity {
    Number(u64),
    Text(String),
}

impl ContainerName {
    /// Reads a name.
    ///
    /// # Errors
    /// Bytes that are none, or a name that is too long or a part of a partitioned container's.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, GridError> {
        let mut body = Reader::new(reader.var_bytes()?);
        let flags = body.u8()?;
        if flags & DATABASE != 0 {
            body.i64()?;
        }
        let base = body.var_bytes()?;
        if flags & LARGE != 0 {
            return Err(GridError::unsupported("partitioned containers are not supported yet"));
        }
        let (mut number, mut text) = (None, None);
        if flags & AFFINITY_NUMBER != 0 {
            number = Some(body.var_size()?);
        } else if flags & AFFINITY_TEXT != 0 {
            text = Some(body.var_bytes()?);
        }
        if base.len() + text.map_or(0, <[u8]>::len) > NAME_BYTES_MAX {
            return Err(GridError::new(ErrorCode::DS_DS_CONTAINER_NAME_INVALID, "the name of the container is too long"));
        }
        if flags & SYSTEM != 0 {
            return Ok(Self { base: String::from_utf8_lossy(base).into_owned(), affinity: None, is_system: true });
        }
        let capitals = body.rest();
        let base = Self::restore(base, capitals, 0)?;
        let text = text.map(|text| Self::restore(text, capitals, base.len())).transpose()?;
        if base.is_empty() {
            return Err(GridError::new(ErrorCode::DS_DS_CONTAINER_NAME_INVALID, "the name of the container is empty"));
        }
        Ok(Self { base, affinity: text.map(Affinity::Text).or(number.map(Affinity::Number)), is_system: false })
    }

    /// Text with its capitals, which are told from bit `from` on.
    fn restore(lower: &[u8], capitals: &[u8], from: usize) -> Result<String, GridError> {
        let mut bytes = lower.to_vec();
        for (index, byte) in bytes.iter_mut().enumerate() {
            let bit = from + index;
            let told = *capitals.get(bit / 8).ok_or(GridError::malformed("a name without its capitals"))?;
            if told >> (bit % 8) & 1 == 1 {
                byte.make_ascii_uppercase();
            }
        }
        String::from_utf8(bytes).map_err(|_| GridError::malformed("a name that is not UTF-8"))
    }

    /// A name as an application writes it: `base`, `base@affinity`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (base, affinity) = match text.split_once('@') {
            None => (text, None),
            Some((base, affinity)) => {
                // Only digits that come back the same are a number.
                let number = affinity.parse::<u64>().ok().filter(|number| number.to_string() == affinity && *number < 1 << 62);
                (base, Some(number.map_or_else(|| Affinity::Text(affinity.to_owned()), Affinity::Number)))
            }
        };
        Self { base: base.to_owned(), affinity, is_system: false }
    }

    /// Whether it is a name of the system's own.
    #[must_use]
    pub fn is_system(&self) -> bool {
        self.is_system
    }

    /// The base without affinity.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The name of the table: in lower case.
    #[must_use]
    pub fn table_name(&self) -> String {
        self.to_string().to_ascii_lowercase()
    }

    /// Appends the name.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut body = vec![match self.affinity {
            None => 0,
            Some(Affinity::Number(_)) => AFFINITY_NUMBER,
            Some(Affinity::Text(_)) => AFFINITY_TEXT,
        }];
        put_var_bytes(&mut body, self.base.to_ascii_lowercase().as_bytes());
        let mut text = self.base.clone();
        match &self.affinity {
            None => {}
            Some(Affinity::Number(number)) => put_var_size(&mut body, *number as usize),
            Some(Affinity::Text(affinity)) => {
                put_var_bytes(&mut body, affinity.to_ascii_lowercase().as_bytes());
                text.push_str(affinity);
            }
        }
        for eight in text.as_bytes().chunks(8) {
            body.push(eight.iter().rev().fold(0, |bits, byte| bits << 1 | u8::from(byte.is_ascii_uppercase())));
        }
        put_var_bytes(out, &body);
    }
}

impl std::fmt::Display for ContainerName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.base)?;
        match &self.affinity {
            None => Ok(()),
            Some(Affinity::Number(number)) => write!(formatter, "@{number}"),
            Some(Affinity::Text(text)) => write!(formatter, "@{text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_comes_back_as_it_was_written() {
        for text in ["a", "Sensors_2024", "ABCDEFGHij", "x@7", "Base@Node_A", "n@007", "größe"] {
            let name = ContainerName::parse(text);
            let mut bytes = Vec::new();
            name.write(&mut bytes);
            let mut reader = Reader::new(&bytes);
            let read = ContainerName::read(&mut reader).expect("it was written here");
            assert_eq!((read.to_string(), reader.rest()), (text.to_owned(), &[][..]));
            assert_eq!(read.table_name(), text.to_ascii_lowercase());
        }
    }
}
