//! Operations on HyperLogLog sketches: how many distinct elements were added, and how much sets of them have in common, nearly.
//!
//! [`sketch`] is what a bin holds, [`estimate`] what it tells. A sketch that others have made, or that is damaged, is kept as it is, and
//! no operation but one that begins anew applies to it.

mod estimate;
mod hash;
mod sketch;

use super::effect::{Change, Effect};
use crate::ResultCode;
use crate::value::msgpack::{self, Head, Reader, write};
use crate::value::{Particle, ParticleType};
use estimate::Overlap;
use sketch::{Shape, Sketch};

/// The operations, by their codes on the wire.
mod code {
    pub(super) const INIT: i64 = 0;
    pub(super) const ADD: i64 = 1;
    pub(super) const SET_UNION: i64 = 2;
    pub(super) const REFRESH_COUNT: i64 = 3;
    pub(super) const FOLD: i64 = 4;
    pub(super) const COUNT: i64 = 50;
    pub(super) const UNION: i64 = 51;
    pub(super) const UNION_COUNT: i64 = 52;
    pub(super) const INTERSECT_COUNT: i64 = 53;
    pub(super) const SIMILARITY: i64 = 54;
    pub(super) const DESCRIBE: i64 = 55;
    pub(super) const MAY_CONTAIN: i64 = 56;
}

/// What the client wants of a change.
mod flags {
    pub(super) const CREATE_ONLY: i64 = 1;
    pub(super) const UPDATE_ONLY: i64 = 2;
    pub(super) const NO_FAIL: i64 = 4;
    pub(super) const ALLOW_FOLD: i64 = 8;
}

/// How many sketches without minhash bits a bin's can be compared with.
const COMPARED_MAX: usize = 2;

/// Reads a sketch.
pub(super) fn read<'a>(bin: Option<&Particle<'a>>, operand: &Particle<'a>) -> Result<Effect<'a>, ResultCode> {
    let mut call = Call::parse(&operand.bytes)?;
    let answer: Answer<'_> = match call.code {
        code::COUNT => Answer::Count,
        code::DESCRIBE => Answer::Describe,
        code::UNION | code::UNION_COUNT | code::INTERSECT_COUNT | code::SIMILARITY => Answer::Of(call.code, call.sketches()?),
        code::MAY_CONTAIN => Answer::MayContain(call.elements()?),
        _ => return Err(ResultCode::PARAMETER),
    };
    call.end()?;
    match bin {
        Some(bin) => answer.of(stored(bin)?).map(|answer| Effect::answer(Some(answer))),
        None => Ok(Effect::answer(None)),
    }
}

/// A read whose arguments are known.
enum Answer<'a> {
    Count,
    Describe,
    /// About a bin's sketch and others.
    Of(i64, Vec<Sketch<'a>>),
    MayContain(Elements<'a>),
}

impl<'a> Answer<'a> {
    fn of(self, bin: Sketch<'a>) -> Result<Particle<'static>, ResultCode> {
        let (code, others) = match self {
            Self::Count => return Ok(integer(estimate::count(&bin))),
            Self::Describe => {
                let mut list = Vec::new();
                write::list(&mut list, 2, 0);
                write::unsigned(&mut list, bin.shape.index_bits.into());
                write::unsigned(&mut list, bin.shape.minhash_bits.into());
                return Ok(Particle::owned(ParticleType::List, list));
            }
            Self::MayContain(elements) => {
                let mut contains = true;
                elements.each(|element| contains &= bin.may_contain(element))?;
                return Ok(integer(contains.into()));
            }
            Self::Of(code, others) => (code, others),
        };
        let sketches: Vec<Sketch<'_>> = std::iter::once(bin).chain(others).collect();
        let shape = common_shape(&sketches);
        let has_minhash = sketches.iter().any(|sketch| sketch.shape.minhash_bits != 0);
        let too_many = sketches.len() > 1 + COMPARED_MAX && shape.minhash_bits == 0;
        Ok(match code {
            code::UNION => particle(&estimate::union(&sketches, shape)),
            code::UNION_COUNT => integer(estimate::count(&estimate::union(&sketches, shape))),
            _ if too_many => return Err(if has_minhash { ResultCode::OP_NOT_APPLICABLE } else { ResultCode::PARAMETER }),
            code::INTERSECT_COUNT => integer(estimate::rounded(Overlap::of(&sketches, shape).common)),
            _ => {
                let similarity = Overlap::of(&sketches, shape).similarity();
                Particle::owned(ParticleType::Double, similarity.to_be_bytes().to_vec())
            }
        })
    }
}

/// Changes a sketch; making one, adding with bits given, and a union make it if there is none.
pub(super) fn modify<'a>(bin: Option<&Particle<'a>>, operand: &Particle<'a>) -> Result<Effect<'a>, ResultCode> {
    let mut call = Call::parse(&operand.bytes)?;
    let (change, flags) = match call.code {
        code::INIT => (Modification::Init(call.bits()?), call.flags(flags::CREATE_ONLY | flags::UPDATE_ONLY | flags::NO_FAIL)?),
        code::ADD => {
            let (elements, bits) = (call.elements()?, call.bits()?);
            (Modification::Add(elements, bits), call.flags(flags::CREATE_ONLY | flags::NO_FAIL)?)
        }
        code::SET_UNION => {
            let others = call.sketches()?;
            let flags = call.flags(flags::CREATE_ONLY | flags::UPDATE_ONLY | flags::NO_FAIL | flags::ALLOW_FOLD)?;
            (Modification::Union(others, flags & flags::ALLOW_FOLD != 0), flags)
        }
        code::REFRESH_COUNT => (Modification::Refresh, flags::UPDATE_ONLY),
        code::FOLD => {
            let index_bits = call.integer(None)?;
            let index_bits = u32::try_from(index_bits).ok().filter(|bits| Shape::INDEX_BITS.contains(bits));
            (Modification::Fold(index_bits.ok_or(ResultCode::PARAMETER)?), flags::UPDATE_ONLY)
        }
        _ => return Err(ResultCode::PARAMETER),
    };
    call.end()?;
    if bin.is_some_and(|bin| bin.kind != ParticleType::HyperLogLog) {
        return Err(ResultCode::BIN_TYPE);
    }
    let outcome = match bin {
        None if flags & flags::UPDATE_ONLY != 0 => Err(ResultCode::BIN_NOT_FOUND),
        Some(_) if flags & flags::CREATE_ONLY != 0 => Err(ResultCode::BIN_EXISTS),
        _ => change.apply(bin),
    };
    match outcome {
        Err(code) if flags & flags::NO_FAIL != 0 && code != ResultCode::PARAMETER => Ok(Effect::answer(None)),
        outcome => outcome,
    }
}

/// Bits of a sketch as far as a client says.
#[derive(Clone, Copy)]
struct Bits {
    index: Option<u32>,
    minhash: Option<u32>,
}

impl Bits {
    /// What is not said is as it is; a sketch that there is not has no minhash bits.
    fn shape(self, bin: Option<Shape>) -> Result<Shape, ResultCode> {
        let index = self.index.or(bin.map(|shape| shape.index_bits));
        let minhash = self.minhash.or(bin.map(|shape| shape.minhash_bits)).unwrap_or(0);
        index.and_then(|index| Shape::new(index, minhash)).ok_or(ResultCode::OP_NOT_APPLICABLE)
    }
}

/// A change whose arguments are known.
enum Modification<'a> {
    Init(Bits),
    Add(Elements<'a>, Bits),
    /// Whether the bin's sketch may become less precise.
    Union(Vec<Sketch<'a>>, bool),
    Refresh,
    Fold(u32),
}

impl Modification<'_> {
    fn apply<'b>(self, bin: Option<&Particle<'_>>) -> Result<Effect<'b>, ResultCode> {
        let known = bin.map(stored);
        let (sketch, result) = match self {
            Self::Init(bits) => {
                let is_said = bits.index.is_some() && bits.minhash.is_some();
                let known = if is_said { None } else { known.transpose()? };
                (Sketch::new(bits.shape(known.map(|sketch| sketch.shape))?), None)
            }
            Self::Add(elements, bits) => {
                let mut sketch = match known {
                    Some(sketch) => sketch?,
                    None => Sketch::new(bits.shape(None)?),
                };
                let mut changed = 0;
                elements.each(|element| changed += u64::from(sketch.add(element)))?;
                if changed == 0 && bin.is_some() {
                    return Ok(Effect::answer(Some(integer(0))));
                }
                (sketch, Some(integer(changed)))
            }
            Self::Union(others, allows_fold) => {
                let known = known.transpose()?;
                let own = known.as_ref().map(|sketch| sketch.shape);
                let sketches: Vec<Sketch<'_>> = known.into_iter().chain(others).collect();
                let shape = common_shape(&sketches);
                if own.is_some_and(|own| own != shape) && !allows_fold {
                    return Err(ResultCode::OP_NOT_APPLICABLE);
                }
                (estimate::union(&sketches, shape), None)
            }
            Self::Refresh => {
                let mut sketch = known.ok_or(ResultCode::BIN_NOT_FOUND)??;
                let count = estimate::count(&sketch);
                sketch.counted = Some(count);
                (sketch, Some(integer(count)))
            }
            Self::Fold(index_bits) => {
                let sketch = known.ok_or(ResultCode::BIN_NOT_FOUND)??;
                if sketch.shape.minhash_bits != 0 || index_bits > sketch.shape.index_bits {
                    return Err(ResultCode::OP_NOT_APPLICABLE);
                }
                (sketch.reshaped(Shape { index_bits, minhash_bits: 0 }), None)
            }
        };
        Ok(Effect { bin: Change::Set(particle(&sketch)), result })
    }
}

/// The shape of a union of some sketches.
fn common_shape(sketches: &[Sketch<'_>]) -> Shape {
    sketches[1..].iter().fold(sketches[0].shape, |shape, other| shape.common(other.shape))
}

/// A bin's sketch.
fn stored<'p>(bin: &'p Particle<'_>) -> Result<Sketch<'p>, ResultCode> {
    if bin.kind != ParticleType::HyperLogLog {
        return Err(ResultCode::BIN_TYPE);
    }
    Sketch::parse(&bin.bytes).ok_or(ResultCode::OP_NOT_APPLICABLE)
}

fn particle(sketch: &Sketch<'_>) -> Particle<'static> {
    Particle::owned(ParticleType::HyperLogLog, sketch.to_bytes())
}

fn integer(number: u64) -> Particle<'static> {
    Particle::owned(ParticleType::Integer, number.to_be_bytes().to_vec())
}

/// Elements to add or to look for, in MessagePack.
struct Elements<'a> {
    reader: Reader<'a>,
    count: usize,
}

impl Elements<'_> {
    /// Each as it would be stored: equal values are one element, however they were written.
    fn each(mut self, mut take: impl FnMut(&[u8])) -> Result<(), ResultCode> {
        let mut element = Vec::new();
        for _ in 0..self.count {
            element.clear();
            msgpack::store(&mut self.reader, &mut element, 0)?;
            take(&element);
        }
        Ok(())
    }
}

/// An operation on a sketch: `[code, argument, …]`; takes one argument after the other.
struct Call<'a> {
    code: i64,
    left: usize,
    reader: Reader<'a>,
}

impl<'a> Call<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, ResultCode> {
        let mut reader = Reader::new(bytes);
        let (Head::List(count @ 1..), Head::Integer(code)) = (reader.head()?, reader.head()?) else { return Err(ResultCode::PARAMETER) };
        Ok(Self { code, left: count - 1, reader })
    }

    /// Nothing comes after the arguments that were taken.
    fn end(self) -> Result<(), ResultCode> {
        if self.left == 0 && self.reader.is_empty() { Ok(()) } else { Err(ResultCode::PARAMETER) }
    }

    fn argument(&mut self) -> Result<&'a [u8], ResultCode> {
        self.left = self.left.checked_sub(1).ok_or(ResultCode::PARAMETER)?;
        Ok(self.reader.value()?)
    }

    fn integer(&mut self, default: Option<i64>) -> Result<i64, ResultCode> {
        match default {
            Some(default) if self.left == 0 => Ok(default),
            _ => match Reader::new(self.argument()?).head()? {
                Head::Integer(number) => Ok(number),
                _ => Err(ResultCode::PARAMETER),
            },
        }
    }

    /// Index bits and minhash bits; -1 says nothing.
    fn bits(&mut self) -> Result<Bits, ResultCode> {
        let mut given = || match self.integer(Some(-1))? {
            -1 => Ok(None),
            bits => u32::try_from(bits).map(Some).map_err(|_| ResultCode::PARAMETER),
        };
        let bits = Bits { index: given()?, minhash: given()? };
        // Each for itself, and both together, with the smallest that the other may be.
        let fits = Shape::new(bits.index.unwrap_or(*Shape::INDEX_BITS.start()), bits.minhash.unwrap_or(0)).is_some();
        if fits { Ok(bits) } else { Err(ResultCode::PARAMETER) }
    }

    /// The client's flags, of those that the operation takes.
    fn flags(&mut self, known: i64) -> Result<i64, ResultCode> {
        let flags = self.integer(Some(0))?;
        let exclusive = flags::CREATE_ONLY | flags::UPDATE_ONLY;
        if flags & !known == 0 && flags & exclusive != exclusive { Ok(flags) } else { Err(ResultCode::PARAMETER) }
    }

    /// Values of a list.
    fn elements(&mut self) -> Result<Elements<'a>, ResultCode> {
        let mut reader = Reader::new(self.argument()?);
        let Head::List(mut count) = reader.head()? else { return Err(ResultCode::PARAMETER) };
        reader.list_flags(&mut count)?;
        Ok(Elements { reader, count })
    }

    /// A sketch, or a list of some. Older clients send sketches as the bytes that they got.
    fn sketches(&mut self) -> Result<Vec<Sketch<'a>>, ResultCode> {
        let sketch = |head| match head {
            Head::Raw([kind, bytes @ ..]) if *kind == ParticleType::HyperLogLog as u8 || *kind == ParticleType::Blob as u8 => {
                Sketch::parse(bytes).ok_or(ResultCode::PARAMETER)
            }
            _ => Err(ResultCode::PARAMETER),
        };
        let mut reader = Reader::new(self.argument()?);
        match reader.head()? {
            Head::List(mut count) => {
                reader.list_flags(&mut count)?;
                let sketches: Vec<_> = (0..count).map(|_| sketch(reader.head()?)).collect::<Result<_, ResultCode>>()?;
                if sketches.is_empty() { Err(ResultCode::PARAMETER) } else { Ok(sketches) }
            }
            head => sketch(head).map(|sketch| vec![sketch]),
        }
    }
}
