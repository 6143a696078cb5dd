//! The masking functions of Cassandra 5: what stands in place of a value that is not to be seen.
//!
//! They are called with null arguments, too: a masked null looks like any other masked value.

use super::error::FunctionError;
use super::time;
use crate::value::build;
use md5::{Digest, Md5};
use model::DataType;
use ring::digest;

/// What a mask shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mask {
    /// Null.
    Null,
    /// A fixed value of the type.
    Default,
    /// The second argument.
    Replace,
    /// A hash of the value, by the algorithm that the second argument names.
    Hash,
    /// The first and last characters.
    Inner,
    /// All but the first and last characters.
    Outer,
}

/// How values are hashed unless the call names an algorithm.
const HASH: &str = "SHA-256";
/// What stands for a text.
const MASKED_TEXT: &[u8] = b"****";
/// The character that stands for another, unless the call names one.
const PADDING: &str = "*";
/// Day 0 of dates, which are unsigned with 1970-01-01 in the middle.
const EPOCH_DAY: u32 = 1 << 31;
/// The longest default of a type: nested vectors and user types multiply.
const DEFAULT_BYTES_MAX: usize = 1 << 20;

impl Mask {
    /// Appends what the mask shows of the first of `arguments`, a value of `ty`; false is null.
    ///
    /// # Errors
    /// When a padding is not one character, or the default of a type is too long.
    pub(super) fn apply(self, name: &str, ty: &DataType, arguments: &[Option<&[u8]>], out: &mut Vec<u8>) -> Result<bool, FunctionError> {
        let argument = |position: usize| arguments.get(position).copied().flatten();
        match self {
            Self::Null => Ok(false),
            Self::Default => {
                default_of(ty, out)?;
                Ok(true)
            }
            Self::Replace => Ok(argument(1).map(|value| out.extend_from_slice(value)).is_some()),
            Self::Hash => match argument(0) {
                Some(value) => hash(value, argument(1), out).map(|()| true),
                None => Ok(false),
            },
            Self::Inner | Self::Outer => {
                let padding = padding(name, argument(3))?;
                let Some(value) = argument(0) else { return Ok(false) };
                let text = std::str::from_utf8(value).map_err(|_| FunctionError::NotAValue)?;
                self.partial(text, count(argument(1)), count(argument(2)), padding, out);
                Ok(true)
            }
        }
    }

    /// Appends `text` with a padding for each character between its ends, or at its ends. Characters are UTF-16's units, as Java counts them.
    fn partial(self, text: &str, begin: usize, end: usize, padding: &str, out: &mut Vec<u8>) {
        let length: usize = text.chars().map(char::len_utf16).sum();
        let mut position = 0;
        for character in text.chars() {
            let (first, last) = (position, position + character.len_utf16());
            position = last;
            let is_at_an_end = |unit: usize| unit < begin || length - unit <= end;
            let shown = (first..last).all(|unit| is_at_an_end(unit) == (self == Self::Inner));
            if shown {
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                (first..last).for_each(|_| out.extend_from_slice(padding.as_bytes()));
            }
        }
    }
}

/// Appends the hash of a value. Algorithms have the names that Java gives them, in any case of letters.
fn hash(value: &[u8], algorithm: Option<&[u8]>, out: &mut Vec<u8>) -> Result<(), FunctionError> {
    let named = algorithm.map_or(Ok(HASH), std::str::from_utf8).map_err(|_| FunctionError::NotAValue)?;
    let algorithm = match named.to_ascii_uppercase().as_str() {
        "MD5" => {
            out.extend_from_slice(&Md5::digest(value));
            return Ok(());
        }
        "SHA" | "SHA1" | "SHA-1" => &digest::SHA1_FOR_LEGACY_USE_ONLY,
        "SHA-256" => &digest::SHA256,
        "SHA-384" => &digest::SHA384,
        "SHA-512" => &digest::SHA512,
        "SHA-512/256" => &digest::SHA512_256,
        _ => return Err(FunctionError::HashAlgorithm { name: named.chars().take(64).collect() }),
    };
    out.extend_from_slice(digest::digest(algorithm, value).as_ref());
    Ok(())
}

/// How many characters; null and negative numbers are none.
fn count(bytes: Option<&[u8]>) -> usize {
    let number = bytes.and_then(|bytes| <[u8; 4]>::try_from(bytes).ok()).map_or(0, i32::from_be_bytes);
    usize::try_from(number).unwrap_or(0)
}

fn padding<'a>(name: &str, given: Option<&'a [u8]>) -> Result<&'a str, FunctionError> {
    let Some(bytes) = given else { return Ok(PADDING) };
    let text = std::str::from_utf8(bytes).map_err(|_| FunctionError::NotAValue)?;
    match text.chars().map(char::len_utf16).sum() {
        1 => Ok(text),
        characters => Err(FunctionError::Padding { name: name.into(), padding: text.chars().take(64).collect(), characters }),
    }
}

/// Appends what `mask_default` shows of every value of `ty`.
fn default_of(ty: &DataType, out: &mut Vec<u8>) -> Result<(), FunctionError> {
    match ty {
        DataType::Text | DataType::Ascii => out.extend_from_slice(MASKED_TEXT),
        DataType::Blob | DataType::Custom(_) => {}
        DataType::Boolean | DataType::TinyInt | DataType::Varint => out.push(0),
        DataType::SmallInt => out.extend_from_slice(&[0; 2]),
        DataType::Duration => out.extend_from_slice(&[0; 3]),
        DataType::Int | DataType::Float | DataType::Inet => out.extend_from_slice(&[0; 4]),
        DataType::Date => out.extend_from_slice(&EPOCH_DAY.to_be_bytes()),
        // A scale of four bytes and a varint.
        DataType::Decimal => out.extend_from_slice(&[0; 5]),
        DataType::BigInt | DataType::Counter | DataType::Double | DataType::Time | DataType::Timestamp => out.extend_from_slice(&[0; 8]),
        DataType::Uuid => out.extend_from_slice(&[0; 16]),
        DataType::TimeUuid => out.extend_from_slice(&time::min_timeuuid(0)),
        DataType::List(..) | DataType::Set(..) | DataType::Map(..) => out.extend_from_slice(&[0; 4]),
        DataType::Tuple(types) => fields(types.iter(), out)?,
        DataType::Udt(user, _) => fields(user.fields.iter().map(|(_, ty)| ty), out)?,
        DataType::Vector(element, dimension) => {
            let mut part = Vec::new();
            default_of(element, &mut part)?;
            for _ in 0..*dimension {
                build::vector_element(element, &part, out);
                bounded(out)?;
            }
        }
    }
    Ok(())
}

fn fields<'a>(types: impl Iterator<Item = &'a DataType>, out: &mut Vec<u8>) -> Result<(), FunctionError> {
    for ty in types {
        let mut part = Vec::new();
        default_of(ty, &mut part)?;
        build::field(Some(&part), out);
        bounded(out)?;
    }
    Ok(())
}

fn bounded(out: &[u8]) -> Result<(), FunctionError> {
    if out.len() > DEFAULT_BYTES_MAX {
        return Err(FunctionError::DefaultTooLong { limit: DEFAULT_BYTES_MAX });
    }
    Ok(())
}
