//! Which masking function a call means.

use super::argument::Argument;
use super::error::{FunctionError, Signature};
use super::mask::Mask;
use super::spec::{FunctionSpec, Operation};
use crate::value::literal::Fit;
use model::DataType;

/// Finds the masking function `name`; none if there is none of that name.
///
/// # Errors
/// When it does not take these arguments.
pub(super) fn resolve(name: &str, arguments: &[Argument<'_>]) -> Result<Option<FunctionSpec>, FunctionError> {
    let (mask, counts, parameters) = match name {
        "mask_null" => (Mask::Null, 1..=1, "any"),
        "mask_default" => (Mask::Default, 1..=1, "any"),
        "mask_replace" => (Mask::Replace, 2..=2, "any, any"),
        "mask_hash" => (Mask::Hash, 1..=2, "any, [text]"),
        "mask_inner" => (Mask::Inner, 3..=4, "[text|varchar|ascii], int, int, [text]"),
        "mask_outer" => (Mask::Outer, 3..=4, "[text|varchar|ascii], int, int, [text]"),
        _ => return Ok(None),
    };
    if !counts.contains(&arguments.len()) {
        return Err(FunctionError::GenericArgumentCount { name: name.into(), parameters });
    }
    let Some(own) = arguments[0].own_type() else {
        let argument = arguments[0].shown();
        return Err(FunctionError::CannotInfer { argument, name: format!("{name}({parameters})").into() });
    };
    let mut types = vec![own.clone()];
    match mask {
        Mask::Null | Mask::Default => {}
        Mask::Replace => {
            if arguments[1].fit(&own) == Fit::None {
                let argument = arguments[1].shown();
                return Err(FunctionError::ArgumentType { argument, position: 1, name: format!("system.{name}").into(), expected: own });
            }
            types.push(own.clone());
        }
        Mask::Hash => {
            if let Some(algorithm) = arguments.get(1) {
                if algorithm.fit(&DataType::Text) == Fit::None {
                    return Err(requires(name, "text", algorithm));
                }
                types.push(DataType::Text);
            }
        }
        Mask::Inner | Mask::Outer => {
            if !matches!(own, DataType::Text | DataType::Ascii) {
                return Err(requires(name, "[text|varchar|ascii]", &arguments[0]));
            }
            for (argument, (ty, required)) in
                arguments[1..].iter().zip([(DataType::Int, "int"), (DataType::Int, "int"), (DataType::Text, "text")])
            {
                if argument.fit(&ty) == Fit::None {
                    return Err(requires(name, required, argument));
                }
                types.push(ty);
            }
        }
    }
    let signature = Signature {
        keyspace: "system".into(),
        name: name.into(),
        arguments: types,
        result: if mask == Mask::Hash { DataType::Blob } else { own },
    };
    Ok(Some(FunctionSpec { signature, operation: Operation::Mask(mask), user: None }))
}

fn requires(name: &str, required: &'static str, argument: &Argument<'_>) -> FunctionError {
    let found = argument.own_type().unwrap_or(DataType::Blob);
    FunctionError::RequiresType { name: name.into(), required, argument: argument.shown(), found }
}
