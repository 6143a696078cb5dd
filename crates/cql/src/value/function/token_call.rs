//! `token(…)` as a value: of the partition key of the statement's table.

use super::argument::Argument;
use super::error::{FunctionError, Signature};
use super::resolve::check;
use super::spec::{FunctionSpec, Operation};
use model::DataType;

/// The function for a partition key of these types.
///
/// # Errors
/// When the arguments are not of them.
pub fn token(types: &[DataType], arguments: &[Argument<'_>]) -> Result<FunctionSpec, FunctionError> {
    let signature = Signature { keyspace: "system".into(), name: "token".into(), arguments: types.to_vec(), result: DataType::BigInt };
    check(FunctionSpec { signature, operation: Operation::Token, user: None }, arguments)
}
