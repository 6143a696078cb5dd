//! Operations on the bits of a blob: bit 0 is the highest bit of the first byte.
//!
//! An operation takes the bits that it is about out of the blob ([`extract`]), works on whole bytes, and puts them back ([`deposit`]). What
//! is taken out stands at the highest bits; behind it are zeros.

use super::effect::{Change, Effect};
use crate::ResultCode;
use crate::value::msgpack::{Head, Reader};
use crate::value::{Particle, ParticleType};
use smallvec::SmallVec;

/// The operations, by their codes on the wire.
mod code {
    pub(super) const RESIZE: i64 = 0;
    pub(super) const INSERT: i64 = 1;
    pub(super) const REMOVE: i64 = 2;
    pub(super) const SET: i64 = 3;
    pub(super) const OR: i64 = 4;
    pub(super) const XOR: i64 = 5;
    pub(super) const AND: i64 = 6;
    pub(super) const NOT: i64 = 7;
    pub(super) const LSHIFT: i64 = 8;
    pub(super) const RSHIFT: i64 = 9;
    pub(super) const ADD: i64 = 10;
    pub(super) const SUBTRACT: i64 = 11;
    pub(super) const SET_INT: i64 = 12;
    pub(super) const GET: i64 = 50;
    pub(super) const COUNT: i64 = 51;
    pub(super) const LSCAN: i64 = 52;
    pub(super) const RSCAN: i64 = 53;
    pub(super) const GET_INT: i64 = 54;
}

/// What the client wants of a change.
mod write_flags {
    pub(super) const CREATE_ONLY: u64 = 1;
    pub(super) const UPDATE_ONLY: u64 = 2;
    pub(super) const NO_FAIL: u64 = 4;
    pub(super) const PARTIAL: u64 = 8;
}

mod resize_flags {
    pub(super) const FROM_FRONT: u64 = 1;
    pub(super) const GROW_ONLY: u64 = 2;
    pub(super) const SHRINK_ONLY: u64 = 4;
}

mod integer_flags {
    pub(super) const SIGNED: u64 = 1;
    pub(super) const SATURATE: u64 = 2;
    pub(super) const WRAP: u64 = 4;
}

/// No operation makes a blob larger than this.
const BLOB_BYTES_MAX: usize = 8 << 20;

/// Reads bits of a blob.
pub(super) fn read<'a>(bin: Option<&Particle<'a>>, operand: &Particle<'a>) -> Result<Effect<'a>, ResultCode> {
    let call = Call::parse(&operand.bytes)?;
    let arguments = match call.code {
        code::GET | code::COUNT => 2..=2,
        code::LSCAN | code::RSCAN => 3..=3,
        code::GET_INT => 2..=3,
        _ => return Err(ResultCode::PARAMETER),
    };
    if !arguments.contains(&call.arguments.len()) {
        return Err(ResultCode::PARAMETER);
    }
    let Some(bin) = bin else { return Ok(Effect::answer(None)) };
    let bytes = blob(bin)?;
    let (offset, size) = call.region(bytes.len(), false)?;
    if call.code == code::GET_INT && size > 64 {
        return Err(ResultCode::PARAMETER);
    }
    let bits = extract(bytes, offset, size);
    let number = match call.code {
        code::GET => return Ok(Effect::answer(Some(Particle::owned(ParticleType::Blob, bits)))),
        code::COUNT => bits.iter().map(|byte| i64::from(byte.count_ones())).sum(),
        code::GET_INT if call.optional_flags(2)? & integer_flags::SIGNED != 0 => signed(to_number(&bits, size), size),
        code::GET_INT => to_number(&bits, size) as i64,
        _ => scan(&bits, size, call.truth(2)?, call.code == code::LSCAN),
    };
    Ok(Effect::answer(Some(Particle::owned(ParticleType::Integer, number.to_be_bytes().to_vec()))))
}

/// Changes bits of a blob; resizing and inserting make the blob if there is none.
pub(super) fn modify<'a>(bin: Option<&Particle<'a>>, operand: &Particle<'a>) -> Result<Effect<'a>, ResultCode> {
    let call = Call::parse(&operand.bytes)?;
    let creates = matches!(call.code, code::RESIZE | code::INSERT);
    let flags = call.write_flags()?;
    if flags & write_flags::CREATE_ONLY != 0 && (!creates || flags & write_flags::UPDATE_ONLY != 0) {
        return Err(ResultCode::PARAMETER);
    }
    let mut bytes = match bin {
        Some(bin) => blob(bin)?.to_vec(),
        None => Vec::new(),
    };
    let refused = match bin {
        None if !creates || flags & write_flags::UPDATE_ONLY != 0 => Some(ResultCode::BIN_NOT_FOUND),
        Some(_) if flags & write_flags::CREATE_ONLY != 0 => Some(ResultCode::BIN_EXISTS),
        _ => None,
    };
    let outcome = refused.map_or_else(|| change(&call, flags, &mut bytes), Err);
    match outcome {
        Ok(()) => Ok(Effect::change(Change::Set(Particle::owned(ParticleType::Blob, bytes)))),
        Err(code) if flags & write_flags::NO_FAIL != 0 && code != ResultCode::PARAMETER => Ok(Effect::answer(None)),
        Err(code) => Err(code),
    }
}

fn blob<'p>(bin: &'p Particle<'_>) -> Result<&'p [u8], ResultCode> {
    if bin.kind == ParticleType::Blob { Ok(&bin.bytes) } else { Err(ResultCode::BIN_TYPE) }
}

fn change(call: &Call<'_>, flags: u64, bytes: &mut Vec<u8>) -> Result<(), ResultCode> {
    let is_partial = flags & write_flags::PARTIAL != 0;
    match call.code {
        code::RESIZE => return resize(bytes, call.size(0)?, call.optional_flags(2)?),
        code::INSERT => return insert(bytes, call.integer(0)?, call.bytes(1)?),
        code::REMOVE => return remove(bytes, call.integer(0)?, call.integer(1)?, is_partial),
        _ => {}
    }
    let (offset, size) = call.region(bytes.len(), is_partial)?;
    let mut bits = extract(bytes, offset, size);
    match call.code {
        code::SET | code::OR | code::XOR | code::AND => {
            let value = call.bytes(2)?.get(..bits.len()).ok_or(ResultCode::PARAMETER)?;
            for (bit, value) in bits.iter_mut().zip(value) {
                *bit = match call.code {
                    code::SET => *value,
                    code::OR => *bit | value,
                    code::XOR => *bit ^ value,
                    _ => *bit & value,
                };
            }
        }
        code::NOT => bits.iter_mut().for_each(|byte| *byte = !*byte),
        code::LSHIFT | code::RSHIFT => {
            let shift = usize::try_from(call.integer(2)?).map_err(|_| ResultCode::PARAMETER)?;
            bits = shifted(&bits, size, shift, call.code == code::LSHIFT);
        }
        code::SET_INT if size <= 64 => bits = of_number(call.integer(2)? as u64, size),
        code::ADD | code::SUBTRACT if size <= 64 => {
            let sum = add(to_number(&bits, size), call.integer(2)? as u64, size, call.code == code::SUBTRACT, call.optional_flags(4)?)?;
            bits = of_number(sum, size);
        }
        _ => return Err(ResultCode::PARAMETER),
    }
    deposit(bytes, offset, size, &bits);
    Ok(())
}

fn resize(bytes: &mut Vec<u8>, size: usize, flags: u64) -> Result<(), ResultCode> {
    let (grows, shrinks) = (size > bytes.len(), size < bytes.len());
    if grows && flags & resize_flags::SHRINK_ONLY != 0 || shrinks && flags & resize_flags::GROW_ONLY != 0 {
        return Err(ResultCode::OP_NOT_APPLICABLE);
    }
    if flags & resize_flags::FROM_FRONT == 0 {
        bytes.resize(size, 0);
    } else if grows {
        let zeros = size - bytes.len();
        bytes.splice(0..0, std::iter::repeat_n(0, zeros));
    } else {
        bytes.drain(..bytes.len() - size);
    }
    Ok(())
}

/// Zeros fill what is between the blob's end and a place behind it.
fn insert(bytes: &mut Vec<u8>, offset: i64, value: &[u8]) -> Result<(), ResultCode> {
    let offset = if offset < 0 { offset.saturating_add(bytes.len() as i64) } else { offset };
    let offset = usize::try_from(offset).map_err(|_| ResultCode::OP_NOT_APPLICABLE)?;
    let size = bytes.len().max(offset).saturating_add(value.len());
    if value.is_empty() || size > BLOB_BYTES_MAX {
        return Err(ResultCode::PARAMETER);
    }
    if offset > bytes.len() {
        bytes.resize(offset, 0);
    }
    bytes.splice(offset..offset, value.iter().copied());
    Ok(())
}

fn remove(bytes: &mut Vec<u8>, offset: i64, size: i64, is_partial: bool) -> Result<(), ResultCode> {
    let length = bytes.len();
    let (offset, size) = region(offset, size, length, is_partial).map_err(|_| ResultCode::PARAMETER)?;
    bytes.drain(offset..offset + size);
    Ok(())
}

/// A part of what is `length` long; a negative offset counts from its end.
fn region(offset: i64, size: i64, length: usize, is_partial: bool) -> Result<(usize, usize), ResultCode> {
    let size = usize::try_from(size).ok().filter(|size| *size > 0).ok_or(ResultCode::PARAMETER)?;
    let offset = if offset < 0 { offset.saturating_add(length as i64) } else { offset };
    let offset = usize::try_from(offset).ok().filter(|offset| *offset < length).ok_or(ResultCode::OP_NOT_APPLICABLE)?;
    let left = length - offset;
    match size {
        size if size <= left => Ok((offset, size)),
        _ if is_partial => Ok((offset, left)),
        _ => Err(ResultCode::OP_NOT_APPLICABLE),
    }
}

/// An operation on bits: `[code, argument, …]`.
struct Call<'a> {
    code: i64,
    arguments: SmallVec<[Head<'a>; 6]>,
}

impl<'a> Call<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, ResultCode> {
        let mut reader = Reader::new(bytes);
        let (Head::List(count @ 1..=7), Head::Integer(code)) = (reader.head()?, reader.head()?) else { return Err(ResultCode::PARAMETER) };
        let arguments = (1..count).map(|_| reader.head()).collect::<Result<_, _>>()?;
        if reader.is_empty() { Ok(Self { code, arguments }) } else { Err(ResultCode::PARAMETER) }
    }

    fn integer(&self, at: usize) -> Result<i64, ResultCode> {
        match self.arguments.get(at) {
            Some(Head::Integer(number)) => Ok(*number),
            Some(Head::Unsigned(number)) => Ok(*number as i64),
            _ => Err(ResultCode::PARAMETER),
        }
    }

    fn size(&self, at: usize) -> Result<usize, ResultCode> {
        usize::try_from(self.integer(at)?).ok().filter(|size| *size <= BLOB_BYTES_MAX).ok_or(ResultCode::PARAMETER)
    }

    fn optional_flags(&self, at: usize) -> Result<u64, ResultCode> {
        if at < self.arguments.len() { self.integer(at).map(|flags| flags as u64) } else { Ok(0) }
    }

    fn truth(&self, at: usize) -> Result<bool, ResultCode> {
        match self.arguments.get(at) {
            Some(Head::Bool(value)) => Ok(*value),
            _ => Err(ResultCode::PARAMETER),
        }
    }

    /// A blob, with its type in front.
    fn bytes(&self, at: usize) -> Result<&'a [u8], ResultCode> {
        match self.arguments.get(at) {
            Some(Head::Raw([kind, bytes @ ..])) if *kind == ParticleType::Blob as u8 => Ok(bytes),
            _ => Err(ResultCode::PARAMETER),
        }
    }

    /// The bits that the first two arguments name.
    fn region(&self, bytes: usize, is_partial: bool) -> Result<(usize, usize), ResultCode> {
        region(self.integer(0)?, self.integer(1)?, 8 * bytes, is_partial)
    }

    /// The flags of a change, which come after what it is about.
    fn write_flags(&self) -> Result<u64, ResultCode> {
        let (at, count) = match self.code {
            code::RESIZE => (1, 2..=3),
            code::INSERT | code::REMOVE | code::NOT => (2, 3..=3),
            code::SET | code::OR | code::XOR | code::AND | code::LSHIFT | code::RSHIFT | code::SET_INT => (3, 4..=4),
            code::ADD | code::SUBTRACT => (3, 5..=5),
            _ => return Err(ResultCode::PARAMETER),
        };
        if count.contains(&self.arguments.len()) { self.optional_flags(at) } else { Err(ResultCode::PARAMETER) }
    }
}

/// The bits from `offset` on.
fn extract(bytes: &[u8], offset: usize, size: usize) -> Vec<u8> {
    let (first, shift) = (offset / 8, offset % 8);
    let byte = |at: usize| u16::from(bytes.get(at).copied().unwrap_or(0));
    let mut bits: Vec<u8> = (first..first + size.div_ceil(8)).map(|at| ((byte(at) << 8 | byte(at + 1)) << shift >> 8) as u8).collect();
    mask_end(&mut bits, size);
    bits
}

/// Puts bits where they were taken from; what is behind `size` in `bits` is not looked at.
fn deposit(bytes: &mut [u8], offset: usize, size: usize, bits: &[u8]) {
    let (first, shift) = (offset / 8, offset % 8);
    for (at, value) in bits.iter().take(size.div_ceil(8)).enumerate() {
        let count = (size - 8 * at).min(8);
        let mask = (0xff00_u16 >> count & 0xff) << 8 >> shift;
        let value = (u16::from(*value) << 8 >> shift) & mask;
        for (place, half) in [(first + at, 8), (first + at + 1, 0)] {
            if let Some(byte) = bytes.get_mut(place) {
                *byte = *byte & !((mask >> half) as u8) | (value >> half) as u8;
            }
        }
    }
}

/// Clears what is behind `size` in the last byte.
fn mask_end(bits: &mut [u8], size: usize) {
    if let (Some(last), used @ 1..) = (bits.last_mut(), size % 8) {
        *last &= 0xff << (8 - used);
    }
}

fn shifted(bits: &[u8], size: usize, shift: usize, left: bool) -> Vec<u8> {
    if shift >= size {
        return vec![0; bits.len()];
    }
    if left {
        let mut moved = extract(bits, shift, size - shift);
        moved.resize(bits.len(), 0);
        return moved;
    }
    let mut moved = vec![0; bits.len()];
    deposit(&mut moved, shift, size - shift, bits);
    moved
}

/// Where the first or last bit of a value is; -1 if there is none.
fn scan(bits: &[u8], size: usize, value: bool, from_left: bool) -> i64 {
    let found = |(at, byte): (usize, &u8)| {
        let used = (size - 8 * at).min(8) as u32;
        let matching = if value { *byte } else { !*byte } & (0xff00_u16 >> used) as u8;
        let bit = if from_left { matching.leading_zeros() } else { 7 - matching.trailing_zeros().min(7) };
        (matching != 0).then(|| 8 * at as i64 + i64::from(bit))
    };
    let mut bytes = bits.iter().enumerate();
    let place = if from_left { bytes.find_map(found) } else { bytes.rev().find_map(found) };
    place.unwrap_or(-1)
}

/// At most 64 bits as a number.
fn to_number(bits: &[u8], size: usize) -> u64 {
    let number = bits.iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    (number >> (8 * bits.len() - size)) as u64
}

fn of_number(number: u64, size: usize) -> Vec<u8> {
    let wide = u128::from(number & mask(size)) << (128 - size);
    wide.to_be_bytes()[..size.div_ceil(8)].to_vec()
}

fn mask(size: usize) -> u64 {
    u64::MAX >> (64 - size)
}

/// A number of `size` bits whose highest is its sign.
fn signed(number: u64, size: usize) -> i64 {
    (number << (64 - size)) as i64 >> (64 - size)
}

/// The sum or difference of two numbers of `size` bits.
fn add(number: u64, value: u64, size: usize, subtracts: bool, flags: u64) -> Result<u64, ResultCode> {
    let (saturates, wraps) = (flags & integer_flags::SATURATE != 0, flags & integer_flags::WRAP != 0);
    if saturates && wraps {
        return Err(ResultCode::PARAMETER);
    }
    let (range, widen): (_, fn(u64, usize) -> i128) = if flags & integer_flags::SIGNED != 0 {
        (i128::from(signed(1 << (size - 1), size))..=i128::from(mask(size) >> 1), |number, size| signed(number, size).into())
    } else {
        (0..=i128::from(mask(size)), |number, size| (number & mask(size)).into())
    };
    let (number, value) = (widen(number, size), widen(value, size));
    let sum = if subtracts { number - value } else { number + value };
    match sum {
        sum if range.contains(&sum) || wraps => Ok(sum as u64 & mask(size)),
        sum if saturates => Ok(sum.clamp(*range.start(), *range.end()) as u64 & mask(size)),
        _ => Err(ResultCode::OP_NOT_APPLICABLE),
    }
}
