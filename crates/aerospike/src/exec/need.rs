//! What a set must have before a request can run: the set itself, and a column for each bin and kind of value that it may write.
//!
//! A need may be larger than what is written in the end, never smaller: an operation never makes a value of a kind that is not here or in
//! the record already.

use super::options::Namespace;
use crate::ResultCode;
use crate::expression;
use crate::operate::code;
use crate::record::new_bin;
use crate::value::ParticleType;
use crate::wire::{BIN_NAME_BYTES_MAX, Operation, Operations};
use model::record_set::{NewBin, RecordSet, RecordSetError};

/// A set and bins to be declared (`model::Schema::declare_bins`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The namespace.
    pub namespace: String,
    /// The set; empty for none.
    pub set: String,
    /// Bins and kinds of value that it lacks.
    pub bins: Vec<NewBin>,
    /// Whether deletions in it are to be remembered for transactions (`model::Schema::remember_deletions`).
    pub remembers: bool,
}

impl Need {
    pub(super) fn new(namespace: &Namespace, set: &str, bins: Vec<NewBin>) -> Self {
        Self { namespace: namespace.name.clone(), set: set.to_owned(), bins, remembers: false }
    }
}

/// The bins and kinds that operations may write and `known` lacks.
///
/// # Errors
/// Names that no bin can have.
pub(super) fn missing_bins(operations: &Operations<'_>, known: Option<&RecordSet>) -> Result<Vec<NewBin>, ResultCode> {
    let mut missing: Vec<NewBin> = Vec::new();
    let mut last = None;
    for operation in operations.iter() {
        let Some(kind) = written_kind(&operation)? else { continue };
        if let Some(column) = known.and_then(|set| set.column_after(last, operation.name, kind as u8)) {
            last = Some(column);
            continue;
        }
        if operation.name.is_empty() {
            return Err(ResultCode::PARAMETER);
        }
        if operation.name.len() > BIN_NAME_BYTES_MAX {
            return Err(ResultCode::BIN_NAME);
        }
        let bin = new_bin(operation.name, kind)?;
        if !missing.contains(&bin) {
            missing.push(bin);
        }
    }
    Ok(missing)
}

/// The kind of value that an operation leaves in a bin that was missing.
fn written_kind(operation: &Operation<'_>) -> Result<Option<ParticleType>, ResultCode> {
    match operation.code {
        code::WRITE | code::ADD | code::APPEND | code::PREPEND => {
            let kind = ParticleType::from_wire(operation.particle).ok_or(ResultCode::PARAMETER)?;
            Ok((kind != ParticleType::Null).then_some(kind))
        }
        code::CDT_MODIFY => Ok(collection_kind(operation.value)),
        code::BITS_MODIFY => Ok(Some(ParticleType::Blob)),
        code::EXPRESSION_MODIFY => expression::written_kind(operation.value),
        code::HLL_MODIFY => Ok(Some(ParticleType::HyperLogLog)),
        _ => Ok(None),
    }
}

/// The code that says that a context precedes the operation.
const CONTEXT: u64 = 0xFF;

/// Operations on maps start here; those on lists are below.
const MAP_CODES_FROM: u64 = 64;

/// Whether an operation makes a list or a map: `[code, …]`, or `[255, [kind of the first step, …], [code, …]]`; of clients before 2020 the
/// code in two bytes, then its arguments.
fn collection_kind(payload: &[u8]) -> Option<ParticleType> {
    let kind = |is_map| if is_map { ParticleType::Map } else { ParticleType::List };
    if let [0, code, ..] = payload {
        return Some(kind(u64::from(*code) >= MAP_CODES_FROM));
    }
    let (number, rest) = unsigned(array(payload)?)?;
    if number != CONTEXT {
        return Some(kind(number >= MAP_CODES_FROM));
    }
    let (step, _) = unsigned(array(rest)?)?;
    Some(kind(step & 0x30 == 0x20))
}

/// What follows the head of an array.
fn array(bytes: &[u8]) -> Option<&[u8]> {
    match bytes {
        [0x90..=0x9F, rest @ ..] | [0xDC, _, _, rest @ ..] | [0xDD, _, _, _, _, rest @ ..] => Some(rest),
        _ => None,
    }
}

/// An unsigned number and what follows it.
fn unsigned(bytes: &[u8]) -> Option<(u64, &[u8])> {
    match bytes {
        [number @ 0..=0x7F, rest @ ..] | [0xCC, number, rest @ ..] => Some((u64::from(*number), rest)),
        [0xCD, a, b, rest @ ..] => Some((u64::from(u16::from_be_bytes([*a, *b])), rest)),
        [0xCE, a, b, c, d, rest @ ..] => Some((u64::from(u32::from_be_bytes([*a, *b, *c, *d])), rest)),
        _ => None,
    }
}

/// What a client is told when a [`Need`] cannot be met.
#[must_use]
pub fn declaration_failure(error: &RecordSetError) -> ResultCode {
    match error {
        RecordSetError::SetName(_) => ResultCode::PARAMETER,
        RecordSetError::BinName(_) | RecordSetError::TooManyBins => ResultCode::BIN_NAME,
        RecordSetError::NotARecordSet { .. } | RecordSetError::TooManySets => ResultCode::FORBIDDEN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operate::{self, Change};
    use crate::value::Particle;

    /// What an operation makes of a missing bin is what it was expected to make.
    #[test]
    fn the_kind_that_is_expected_is_the_kind_that_is_made() {
        let cases: [(&str, u8, u8, &[u8]); 10] = [
            ("write", code::WRITE, 3, b"x"),
            ("add", code::ADD, 2, &[0; 8]),
            ("append", code::APPEND, 4, b"x"),
            ("prepend", code::PREPEND, 3, b"x"),
            ("append to a list", code::CDT_MODIFY, 4, &[0x92, 1, 7]),
            ("put into a map", code::CDT_MODIFY, 4, &[0x94, 67, 1, 7, 0]),
            ("append to a list, as it was", code::CDT_MODIFY, 4, &[0, 1, 0x91, 7]),
            ("put into a map, as it was", code::CDT_MODIFY, 4, &[0, 67, 0x93, 1, 7, 0]),
            // By key "k", made if missing, append; by index 0, made if missing, put.
            ("append within a map", code::CDT_MODIFY, 4, &[0x93, 0xCC, 0xFF, 0x92, 0xCC, 0x40 | 0x22, 0xA2, 3, b'k', 0x92, 1, 7]),
            ("put within a list", code::CDT_MODIFY, 4, &[0x93, 0xCC, 0xFF, 0x92, 0xCC, 0x40 | 0x10, 0, 0x94, 67, 1, 7, 0]),
        ];
        let mut made = 0;
        for (name, code, particle, value) in cases {
            let operation = Operation { code, particle, name: b"b", value };
            let expected = written_kind(&operation).expect("it has a kind").expect("it makes a value");
            let operand = Particle::new(ParticleType::from_wire(particle).expect("a type"), value);
            if let Ok(effect) = operate::apply(code, None, &operand) {
                let Change::Set(value) = effect.bin else { panic!("{name} makes nothing") };
                assert_eq!(value.kind, expected, "{name}");
                made += 1;
            }
        }
        assert_eq!(made, 10);
    }
}
