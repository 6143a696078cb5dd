//! Outputs from sources: one row of a chunk becomes one row of the result.

use crate::CqlError;
use crate::exec::fetch::Gathered;
use crate::exec::function::failure;
use crate::exec::{Bound, Environment, keys};
use crate::plan::{Expression, Select, Stamps, Term};
use crate::value::function::FunctionSpec;
use crate::value::script::Meter;
use crate::value::{self, build, function, json, layout};
use crate::wire::writer::write_bytes;
use crate::wire::{Reader, WireError};
use base::Rng;
use model::DataType;
use script::limits::CALL_INSTRUCTIONS_MAX;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cell::RefCell;

/// What expressions need besides a row.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    /// Bound values, and the time.
    pub(super) environment: &'a Environment<'a>,
    /// For `uuid()` and `now()`, of which each call is another.
    pub(super) random: &'a RefCell<Rng>,
}

impl<'a> Surroundings<'a> {
    /// What functions of users have cost in this step.
    pub(super) fn meter(self) -> &'a Meter {
        self.environment.bindings.meter()
    }

    /// Whether the step has taken long enough: the rest of the rows is for another one.
    pub(super) fn is_over(self) -> bool {
        self.meter().spent() >= STEP_INSTRUCTIONS
    }
}

/// What functions of users may take before a step ends with the row that it is at: about 5 ms.
const STEP_INSTRUCTIONS: u64 = CALL_INSTRUCTIONS_MAX / 2;

/// How far into a chunk's rows a step has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    bytes: usize,
    left: u32,
}

/// A row of a chunk: the values of the sources.
pub(super) struct Row<'a> {
    /// By source.
    pub(super) values: SmallVec<[Option<&'a [u8]>; 16]>,
    /// All of them as they were encoded.
    pub(super) bytes: &'a [u8],
    /// How near it is, if the nearest are asked for.
    pub(super) score: f32,
    /// Its partition, if the chunk is keyed.
    pub(super) partition: &'a [u8],
    /// Its clustering key likewise; empty for static columns alone.
    pub(super) clustering: &'a [u8],
}

/// The rows of a chunk.
pub(super) struct Rows<'a> {
    reader: Reader<'a>,
    left: u32,
    sources: usize,
    keyed: bool,
    scored: bool,
}

fn damaged(_: WireError) -> CqlError {
    CqlError::Server("a shard's reply cannot be read".to_owned())
}

impl<'a> Rows<'a> {
    /// The rows of `chunk`.
    pub(super) fn new(plan: &Select, chunk: &Gathered<'a>) -> Self {
        let (keyed, scored) = (plan.group_by.is_some(), plan.nearest.is_some());
        Self { reader: Reader::new(chunk.rows), left: chunk.row_count, sources: plan.sources.len(), keyed, scored }
    }

    /// The rows of `chunk` that are left.
    pub(super) fn go_on(plan: &Select, chunk: &Gathered<'a>, from: Option<Progress>) -> Self {
        let mut rows = Self::new(plan, chunk);
        if let Some(Progress { bytes, left }) = from {
            rows.reader = Reader::new(chunk.rows.get(bytes..).unwrap_or_default());
            rows.left = left;
        }
        rows
    }

    /// How far they have been taken; none at their end.
    pub(super) fn progress(&self, chunk: &Gathered<'_>) -> Option<Progress> {
        (self.left > 0).then(|| Progress { bytes: chunk.rows.len() - self.reader.rest().len(), left: self.left })
    }

    /// The next one.
    pub(super) fn next_row(&mut self) -> Result<Option<Row<'a>>, CqlError> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        let (mut partition, mut clustering): (&[u8], &[u8]) = (&[], &[]);
        let score = if self.scored { f32::from_bits(self.reader.int().map_err(damaged)?.cast_unsigned()) } else { 0.0 };
        if self.keyed {
            partition = self.reader.short_bytes().map_err(damaged)?;
            clustering = self.reader.short_bytes().map_err(damaged)?;
        }
        let mut row = Row::read(&mut self.reader, self.sources)?;
        (row.score, row.partition, row.clustering) = (score, partition, clustering);
        Ok(Some(row))
    }
}

impl<'a> Row<'a> {
    /// A row from the encoded values of all sources.
    pub(super) fn parse(plan: &Select, bytes: &'a [u8]) -> Result<Self, CqlError> {
        Self::read(&mut Reader::new(bytes), plan.sources.len())
    }

    fn read(reader: &mut Reader<'a>, sources: usize) -> Result<Self, CqlError> {
        let rest = reader.rest();
        let mut values = SmallVec::with_capacity(sources);
        for _ in 0..sources {
            values.push(reader.bytes().map_err(damaged)?);
        }
        let bytes = &rest[..rest.len() - reader.rest().len()];
        Ok(Self { values, bytes, score: 0.0, partition: &[], clustering: &[] })
    }
}

/// Appends a row of the result. Without `row` there was none to aggregate.
pub(super) fn write_row(
    plan: &Select,
    row: Option<&Row<'_>>,
    aggregates: &[Option<Vec<u8>>],
    surroundings: Surroundings<'_>,
    out: &mut Vec<u8>,
) -> Result<(), CqlError> {
    let scope = Scope { values: row.map(|row| row.values.as_slice()), aggregates, surroundings };
    if !plan.json {
        for output in &plan.outputs {
            write_bytes(out, scope.evaluate(&output.expression)?.as_deref());
        }
        return Ok(());
    }
    let mut text = String::from("{");
    for (position, output) in plan.outputs.iter().enumerate() {
        if position > 0 {
            text.push_str(", ");
        }
        write_name(&output.name, &mut text);
        text.push_str(": ");
        json::write_json(&output.data_type, scope.evaluate(&output.expression)?.as_deref(), &mut text);
    }
    text.push('}');
    write_bytes(out, Some(text.as_bytes()));
    Ok(())
}

/// A column's name as a JSON key: Cassandra puts double quotes within the string around names with upper-case letters.
fn write_name(name: &str, out: &mut String) {
    if name.chars().any(char::is_uppercase) {
        json::write_string(&format!("\"{name}\""), out);
    } else {
        json::write_string(name, out);
    }
}

/// The value of an expression that aggregates nothing.
pub(super) fn evaluate<'a>(
    expression: &'a Expression,
    row: &'a Row<'_>,
    surroundings: Surroundings<'a>,
) -> Result<Option<Cow<'a, [u8]>>, CqlError> {
    Scope { values: Some(&row.values), aggregates: &[], surroundings }.evaluate(expression)
}

/// What expressions refer to.
#[derive(Clone, Copy)]
struct Scope<'a> {
    values: Option<&'a [Option<&'a [u8]>]>,
    aggregates: &'a [Option<Vec<u8>>],
    surroundings: Surroundings<'a>,
}

type Values<'a> = SmallVec<[Option<Cow<'a, [u8]>>; 4]>;

type Outcome<'a> = Result<Option<Cow<'a, [u8]>>, CqlError>;

impl<'a> Scope<'a> {
    fn evaluate(self, expression: &'a Expression) -> Outcome<'a> {
        Ok(match expression {
            Expression::Source(index) => self.values.and_then(|values| values.get(*index).copied().flatten()).map(Cow::Borrowed),
            Expression::Aggregate(index) => self.aggregates.get(*index).and_then(Option::as_deref).map(Cow::Borrowed),
            Expression::Term(term) => self.term(term)?,
            Expression::Masked(index, mask) => match self.values {
                Some(values) => self.call(&mask.function, &mask.arguments_for(values.get(*index).copied().flatten()))?,
                None => None,
            },
            Expression::Call(function, arguments) => {
                let arguments = self.all(arguments)?;
                let arguments: SmallVec<[Option<&[u8]>; 4]> = arguments.iter().map(Option::as_deref).collect();
                self.call(function, &arguments)?
            }
            Expression::Token(table, parts) => {
                let parts = self.all(parts)?;
                if parts.iter().any(Option::is_none) {
                    return Ok(None);
                }
                let mut key = Vec::new();
                let parts: Vec<&[u8]> = parts.iter().flatten().map(|part| &**part).collect();
                value::partition_key(parts.into_iter(), &mut key).map_err(|error| CqlError::Invalid(error.to_string()))?;
                Some(Cow::Owned(keys::token(table, &key).0.to_be_bytes().to_vec()))
            }
            Expression::Element(whole, data_type, key) => self.element(whole, data_type, key)?,
            Expression::Slice(whole, data_type, from, to) => self.slice(whole, data_type, from.as_ref(), to.as_ref())?,
            Expression::Field(whole, number) => part(self.evaluate(whole)?, |bytes| layout::fields(bytes).nth(*number).flatten()),
            Expression::Stamps(of, shape) => self.evaluate(of)?.and_then(|bytes| stamps(bytes, *shape)),
            composed => Some(Cow::Owned(self.composed(composed)?)),
        })
    }

    fn call(self, function: &FunctionSpec, arguments: &[Option<&[u8]>]) -> Outcome<'a> {
        let mut random = self.surroundings.random.borrow_mut();
        let now_microseconds = self.surroundings.environment.context.now.wall_us;
        let mut outside = function::Environment { now_microseconds, random: &mut random, meter: self.surroundings.meter() };
        let mut out = Vec::new();
        let there = function.call(arguments, &mut outside, &mut out).map_err(failure)?;
        Ok(there.then_some(Cow::Owned(out)))
    }

    fn all(self, expressions: &'a [Expression]) -> Result<Values<'a>, CqlError> {
        expressions.iter().map(|expression| self.evaluate(expression)).collect()
    }

    fn term(self, term: &'a Term) -> Outcome<'a> {
        Ok(match term.evaluate(self.surroundings.environment)? {
            Bound::Bytes(bytes) => Some(bytes),
            Bound::Null | Bound::Unset => None,
        })
    }

    fn element(self, whole: &'a Expression, data_type: &DataType, key: &'a Term) -> Outcome<'a> {
        let Some(whole) = self.evaluate(whole)? else { return Ok(None) };
        let Some(key) = self.term(key)? else { return Ok(None) };
        Ok(match data_type {
            DataType::Map(key_type, _, _) => part(Some(whole), |bytes| {
                layout::entries(bytes).find(|(candidate, _)| value::compare(key_type, candidate, &key).is_eq()).map(|(_, value)| value)
            }),
            DataType::Set(element, _) => {
                part(Some(whole), |bytes| layout::elements(bytes).find(|candidate| value::compare(element, candidate, &key).is_eq()))
            }
            DataType::List(..) => {
                let index = <[u8; 4]>::try_from(&*key).map_or(-1, i32::from_be_bytes);
                part(Some(whole), |bytes| layout::elements(bytes).nth(usize::try_from(index).ok()?))
            }
            _ => None,
        })
    }

    fn slice(self, whole: &'a Expression, data_type: &DataType, from: Option<&'a Term>, to: Option<&'a Term>) -> Outcome<'a> {
        let Some(whole) = self.evaluate(whole)? else { return Ok(None) };
        let from = from.map(|term| self.term(term)).transpose()?.flatten();
        let to = to.map(|term| self.term(term)).transpose()?.flatten();
        let within = |key_type: &DataType, key: &[u8]| {
            from.as_deref().is_none_or(|from| value::compare(key_type, key, from).is_ge())
                && to.as_deref().is_none_or(|to| value::compare(key_type, key, to).is_le())
        };
        let mut out = Vec::new();
        match data_type {
            DataType::Map(key_type, _, _) => {
                let entries: Vec<_> = layout::entries(&whole).filter(|(key, _)| within(key_type, key)).collect();
                build::sorted_map(entries.into_iter(), &mut out);
            }
            DataType::Set(element, _) => {
                let elements: Vec<_> = layout::elements(&whole).filter(|candidate| within(element, candidate)).collect();
                build::list(elements.into_iter(), &mut out);
            }
            _ => return Ok(None),
        }
        // What is not frozen has no empty collections.
        Ok((!data_type.is_multi_cell() || layout::count(&out) > 0).then_some(Cow::Owned(out)))
    }

    /// Collections and tuples with expressions in them.
    fn composed(self, expression: &'a Expression) -> Result<Vec<u8>, CqlError> {
        let null = || CqlError::invalid("null is not supported inside collections");
        let present = |parts: &'a [Expression]| -> Result<Vec<Cow<'a, [u8]>>, CqlError> {
            parts.iter().map(|part| self.evaluate(part)?.ok_or_else(null)).collect()
        };
        let mut out = Vec::new();
        match expression {
            Expression::List(parts) => build::list(present(parts)?.iter().map(|part| &**part), &mut out),
            Expression::Vector(element, parts) => present(parts)?.iter().for_each(|part| build::vector_element(element, part, &mut out)),
            Expression::Set(element, parts) => build::set(element, present(parts)?.iter().map(|part| &**part).collect(), &mut out),
            Expression::Map(key_type, entries) => {
                let mut parts = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    parts.push((self.evaluate(key)?.ok_or_else(null)?, self.evaluate(value)?.ok_or_else(null)?));
                }
                build::map(key_type, parts.iter().map(|(key, value)| (&**key, &**value)).collect(), &mut out);
            }
            Expression::Fields(parts) => {
                let parts = self.all(parts)?;
                build::tuple(parts.iter().map(Option::as_deref), &mut out);
            }
            _ => return Err(CqlError::Server("an expression of a kind that is not composed".to_owned())),
        }
        Ok(out)
    }
}

/// A part of a value, borrowed if the value is.
/// Stamps of a column's parts as they are selected; an empty one is null, and so is a list without any.
fn stamps(bytes: Cow<'_, [u8]>, shape: Stamps) -> Option<Cow<'_, [u8]>> {
    let mut list = Vec::from([0; 4]);
    let mut count = 0u32;
    let mut add = |stamp: Option<&[u8]>| {
        write_bytes(&mut list, stamp.filter(|stamp| !stamp.is_empty()));
        count += 1;
    };
    match shape {
        Stamps::One => return Some(bytes).filter(|bytes| !bytes.is_empty()),
        Stamps::OfList => layout::elements(&bytes).for_each(|stamp| add(Some(stamp))),
        Stamps::OfMap => layout::entries(&bytes).for_each(|(_, stamp)| add(Some(stamp))),
        Stamps::OfFields => layout::fields(&bytes).for_each(add),
    }
    list[..4].copy_from_slice(&count.to_be_bytes());
    (count > 0).then_some(Cow::Owned(list))
}

fn part<'a>(whole: Option<Cow<'a, [u8]>>, find: impl FnOnce(&[u8]) -> Option<&[u8]>) -> Option<Cow<'a, [u8]>> {
    let whole = whole?;
    let range = find(&whole).map(|part| {
        let start = part.as_ptr() as usize - whole.as_ptr() as usize;
        start..start + part.len()
    })?;
    Some(match whole {
        Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[range]),
        Cow::Owned(bytes) => Cow::Owned(bytes[range].to_vec()),
    })
}
