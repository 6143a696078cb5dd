//! Functions of users on records: modules in Lua, registered by information commands, and called on one record, or on streams of them.
//!
//! The way of a call: the private module `call` gives a function's arguments and the record's bins as they are stored to the sandbox (`script`), whose prelude
//! (`prelude.lua`, `calls.lua`, `streams.lua`) has records, lists, maps, bytes and streams as Aerospike's Lua API has them; [`stream`] calls one for a stream; [`values`] turns what the function looks at into values. What comes back is
//! its result and the bins to be written. [`ModuleChange`] is a command that changes modules, [`Modules`] is all of them.

mod call;
mod change;
mod modules;
mod stream;
mod values;

pub use change::{ModuleChange, ModuleRefusal};
pub use modules::{KEYSPACE, Modules};

pub(crate) use call::{Action, Call, CalledRecord};
pub(crate) use change::{get, list};
pub(crate) use stream::{Given, StreamCall, StreamFailure};

#[cfg(test)]
mod tests;
