//! Native scalar functions, casts and operators on values.
//!
//! A call is resolved once, when the statement is prepared ([`resolve()`], [`operator()`], [`negation()`], [`cast()`]); the
//! [`FunctionSpec`] that comes out knows its argument and result types and is called for each row. Names are as CQL folds them, in lower
//! case, the spellings of Cassandra 4 (`toTimestamp`) and 5 (`to_timestamp`) alike. `token()` takes a table's partition key: [`token()`].
//!
//! Nothing here has a clock or dice: what changes from call to call comes in with the [`Environment`].

mod argument;
mod collection;
mod environment;
mod error;
mod exact;
mod mask;
mod mask_call;
mod math;
mod number;
mod operator;
mod resolve;
mod spec;
mod time;
mod token_call;
mod transcendental;
mod user;
mod vector;

pub use argument::Argument;
pub use environment::Environment;
pub use error::{FunctionError, NumberError, Shown, Signature};
pub use operator::Operator;
pub use resolve::{cast, is_native, negation, operator, resolve};
pub use spec::{FunctionSpec, UserSpec};
pub use token_call::token;
pub use user::{UserFunctions, resolve_with};
pub(super) use {exact::Exact, number::Number};
pub(crate) use {time::timeuuid_at, vector::Similarity};
