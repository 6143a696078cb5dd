//! One call of a function: on one record, or on a stream of some.

use super::modules::Modules;
use super::values;
use crate::value::{Particle, ParticleType};
use script::{Dialect, Invoked, Value};
use std::rc::Rc;

/// What the sandbox is given for functions: of records, and of streams of them.
static DIALECT: Dialect = Dialect {
    name: "aerospike",
    prelude: concat!(include_str!("prelude.lua"), include_str!("calls.lua"), include_str!("streams.lua")),
    unpack: values::unpack,
    pack: values::pack,
};

/// The longest message of a function that has failed.
const MESSAGE_BYTES_MAX: usize = 2_048;

/// A function that is to be called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) modules: &'a Modules,
    /// Its module's name.
    pub(crate) module: &'a [u8],
    pub(crate) name: &'a [u8],
    /// A list in msgpack.
    pub(crate) arguments: &'a [u8],
    /// Milliseconds since 1970.
    pub(crate) now_ms: i64,
}

/// The record as the function finds it.
#[derive(Clone, Debug, Default)]
pub(crate) struct CalledRecord<'a> {
    pub(crate) exists: bool,
    /// Names, types and values.
    pub(crate) bins: Vec<(&'a [u8], u8, &'a [u8])>,
    pub(crate) key: Option<(u8, &'a [u8])>,
    pub(crate) set: &'a str,
    pub(crate) digest: &'a [u8],
    pub(crate) generation: u16,
    /// Seconds that are left; 0 for ever.
    pub(crate) ttl_s: u32,
    /// Milliseconds since the protocol's clock started.
    pub(crate) updated_ms: i64,
    pub(crate) bytes: usize,
}

/// What a function wants of its record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    Keep,
    Remove,
    Put {
        /// Whether the bins that it had before are gone.
        replaces: bool,
        /// Bins to be written; null ones are removed.
        bins: Vec<(Vec<u8>, Particle<'static>)>,
        /// As a request has it.
        ttl: Option<u32>,
        drops_key: bool,
    },
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    /// The result, or the message of what failed.
    pub(crate) result: Result<(Particle<'static>, Action), String>,
    /// What it has logged: levels and lines.
    pub(crate) log: Vec<(i64, String)>,
}

fn text(text: &[u8]) -> Value {
    Value::Bytes(text.to_vec())
}

fn table<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Table(fields.into_iter().filter(|(_, value)| *value != Value::Nil).map(|(name, value)| (text(name.as_bytes()), value)).collect())
}

pub(super) fn stored(kind: u8, bytes: &[u8]) -> Value {
    Value::sequence([Value::Integer(kind.into()), text(bytes)])
}

/// The part of a result with this name.
pub(super) fn field(value: &Value, name: &str) -> Value {
    let Value::Table(entries) = value else { return Value::Nil };
    let found = entries.iter().find(|(key, _)| matches!(key, Value::Bytes(key) if key == name.as_bytes()));
    found.map_or(Value::Nil, |(_, value)| value.clone())
}

fn particle(kind: &Value, bytes: Value) -> Option<Particle<'static>> {
    match (kind, bytes) {
        (Value::Integer(kind), Value::Bytes(bytes)) => {
            Some(Particle::owned(u8::try_from(*kind).ok().and_then(ParticleType::from_wire)?, bytes))
        }
        _ => None,
    }
}

/// A value with its type, as [`stored`] has it.
pub(super) fn particle_of(stored: &Value) -> Option<Particle<'static>> {
    let Value::Table(parts) = stored else { return None };
    let part = |position: i64| parts.iter().find(|(key, _)| *key == Value::Integer(position)).map(|(_, part)| part.clone());
    particle(&part(1)?, part(2)?)
}

impl Call<'_> {
    /// Calls it.
    pub(crate) fn run(&self, record: &CalledRecord<'_>) -> Ended {
        let called = self.invoke([("record", record.value())]);
        let result = match called.result {
            Ok(value) => outcome(&value).ok_or_else(|| "the function's result cannot be read".to_owned()),
            Err(error) => Err(shortened(error.to_string())),
        };
        Ended { result, log: called.log }
    }

    /// Runs the prelude on what the function is applied to.
    pub(super) fn invoke<const N: usize>(&self, subject: [(&str, Value); N]) -> Invoked {
        // No list is sent for no arguments.
        let arguments = if self.arguments.is_empty() { &[0x90][..] } else { self.arguments };
        let call = [
            ("module", text(self.module)),
            ("name", text(self.name)),
            ("arguments", text(arguments)),
            ("now", Value::Integer(self.now_ms)),
        ];
        let fields = call.into_iter().chain(subject).map(|(name, value)| (text(name.as_bytes()), value));
        let modules = self.modules.clone();
        script::invoke(&DIALECT, Rc::new(move |name: &str| modules.program(name)), Value::Table(fields.collect()))
    }
}

impl CalledRecord<'_> {
    pub(super) fn value(&self) -> Value {
        let bins = self.bins.iter().map(|(name, kind, bytes)| (text(name), stored(*kind, bytes))).collect();
        table([
            ("exists", Value::Boolean(self.exists)),
            ("bins", Value::Table(bins)),
            ("key", self.key.map_or(Value::Nil, |(kind, bytes)| stored(kind, bytes))),
            ("set", if self.set.is_empty() { Value::Nil } else { text(self.set.as_bytes()) }),
            ("digest", text(self.digest)),
            ("gen", Value::Integer(self.generation.into())),
            ("ttl", Value::Integer(self.ttl_s.into())),
            ("updated", Value::Integer(self.updated_ms)),
            ("size", Value::Integer(self.bytes as i64)),
        ])
    }
}

pub(super) fn shortened(mut message: String) -> String {
    if message.len() > MESSAGE_BYTES_MAX {
        let end = (0..=MESSAGE_BYTES_MAX).rev().find(|at| message.is_char_boundary(*at)).unwrap_or(0);
        message.truncate(end);
    }
    message
}

/// What the prelude has returned.
fn outcome(value: &Value) -> Option<(Particle<'static>, Action)> {
    let result = particle(&field(value, "kind"), field(value, "data"))?;
    let action = match field(value, "action") {
        Value::Nil => Action::Keep,
        Value::Bytes(action) if action == b"remove" => Action::Remove,
        _ => {
            let Value::Table(written) = field(value, "bins") else { return None };
            let mut bins = Vec::with_capacity(written.len());
            for (name, stored) in written {
                let Value::Bytes(name) = name else { return None };
                bins.push((name, particle_of(&stored)?));
            }
            // Tables have no order.
            bins.sort_by(|one, other| one.0.cmp(&other.0));
            let ttl = if let Value::Integer(ttl) = field(value, "ttl") { Some(ttl as u32) } else { None };
            let is = |name| field(value, name) == Value::Boolean(true);
            Action::Put { replaces: is("replaces"), bins, ttl, drops_key: is("drops_key") }
        }
    };
    Some((result, action))
}
