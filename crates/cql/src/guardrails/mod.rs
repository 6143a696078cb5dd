//! Guardrails: what operators let clients' statements do, with Cassandra's names, texts and, as these are, off unless they are set.
//!
//! On the path: `statement` looks at statements about rows once their values are bound and before they run, `definition` at what a schema statement has
//! come to and before it is decided. Either gives what the client is warned of, or the refusal. Who is exempt (superusers, requests of the node itself) is
//! for the caller to know.

mod definition;
mod feature;
mod guard;
mod limit;
mod setting;
mod statement;
mod values;

pub use definition::{check_definition, without_ignored};
pub use feature::Feature;
pub use guard::Violation;
pub use limit::Limit;
pub use setting::{GuardrailSetting, Guardrails, THRESHOLD_NONE};
pub use statement::{check_batch, check_statement, large_partition};
pub use values::{ValueSet, Values};
