//! Calls that cannot be resolved, and calls that have no result.

use super::operator::Operator;
use crate::value::json::JsonError;
use model::{DataType, Function};
use std::sync::Arc;

/// A function's name and types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Where it is: `system`, or a user's.
    pub keyspace: Box<str>,
    /// As it was called.
    pub name: Box<str>,
    /// The types of its arguments.
    pub arguments: Vec<DataType>,
    /// The type of its result.
    pub result: DataType,
}

impl std::fmt::Display for Signature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{} : (", self.keyspace, self.name)?;
        separated(f, &self.arguments)?;
        write!(f, ") -> {}", self.result)
    }
}

fn separated(f: &mut std::fmt::Formatter<'_>, parts: &[impl std::fmt::Display]) -> std::fmt::Result {
    for (position, part) in parts.iter().enumerate() {
        if position > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{part}")?;
    }
    Ok(())
}

/// The bytes that a message shows, at most the first 64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown(Box<[u8]>);

impl Shown {
    /// The beginning of `bytes`.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        Self(bytes.iter().copied().take(64).collect())
    }
}

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("0x")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

fn types_text(function: &Function) -> String {
    function.arguments.iter().map(|(_, data_type)| data_type.to_string()).collect::<Vec<_>>().join(", ")
}

impl Signature {
    /// Its name with its keyspace.
    #[must_use]
    pub fn full_name(&self) -> Box<str> {
        format!("{}.{}", self.keyspace, self.name).into()
    }
}

struct Signatures<'a>(&'a [Signature]);

impl std::fmt::Display for Signatures<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        separated(f, self.0)
    }
}

/// A call that cannot be resolved or has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FunctionError {
    /// No native function has this name.
    #[error("Unknown function '{name}'")]
    Unknown {
        /// The name.
        name: Box<str>,
    },
    /// The only function of this name, which has its keyspace, takes another number of arguments.
    #[error("Invalid number of arguments in call to function {name}: {required} required but {provided} provided")]
    ArgumentCount {
        /// The name.
        name: Box<str>,
        /// How many it takes.
        required: usize,
        /// How many there are.
        provided: usize,
    },
    /// A function that takes any type of a kind takes another number of arguments.
    #[error("Invalid number of arguments for function system.{name}({parameters})")]
    GenericArgumentCount {
        /// The name.
        name: Box<str>,
        /// The kinds of its arguments.
        parameters: &'static str,
    },
    /// A function of vectors has a literal that is none.
    #[error("Function system.{name} requires a float vector argument, but found a literal of another type")]
    RequiresVector {
        /// The name.
        name: Box<str>,
    },
    /// The only function of this name, which has its keyspace, takes another type.
    #[error("Type error: {argument} cannot be passed as argument {position} of function {name} of type {expected}")]
    ArgumentType {
        /// The argument's type or text.
        argument: Box<str>,
        /// Its position, from 0.
        position: usize,
        /// The name.
        name: Box<str>,
        /// The type it takes.
        expected: DataType,
    },
    /// None of the functions of this name takes these arguments.
    #[error(
        "Invalid call to function {name}, none of its type signatures match (known type signatures: {})",
        Signatures(.signatures)
    )]
    NoMatch {
        /// The name.
        name: Box<str>,
        /// All functions of this name.
        signatures: Vec<Signature>,
    },
    /// More than one function of this name takes these arguments.
    #[error(
        "Ambiguous call to function {name} (can be matched by following signatures: {}): use type casts to disambiguate",
        Signatures(.signatures)
    )]
    Ambiguous {
        /// The name.
        name: Box<str>,
        /// Those that do.
        signatures: Vec<Signature>,
    },
    /// The function takes any type of a kind, and the argument does not say which.
    #[error("Cannot infer type of argument {argument} in call to function system.{name}: use type casts to disambiguate")]
    CannotInfer {
        /// The argument's text.
        argument: Box<str>,
        /// The name.
        name: Box<str>,
    },
    /// The function takes another kind of types.
    #[error("Function system.{name} requires a {required} argument, but found argument of type {found}")]
    Requires {
        /// The name.
        name: Box<str>,
        /// Which kind.
        required: &'static str,
        /// What it got.
        found: DataType,
    },
    /// An argument of a masking function is of another type.
    #[error("Function system.{name} requires an argument of type {required}, but found argument {argument} of type {found}")]
    RequiresType {
        /// The name.
        name: Box<str>,
        /// Which types it takes.
        required: &'static str,
        /// The argument's type or text.
        argument: Box<str>,
        /// Its type.
        found: DataType,
    },
    /// A mask of no character, or of several.
    #[error("The padding argument for function system.{name} should be single-character, but '{padding}' has {characters} characters.")]
    Padding {
        /// The name.
        name: Box<str>,
        /// The beginning of what was given.
        padding: Box<str>,
        /// How many characters it has.
        characters: usize,
    },
    /// A hash of a kind that there is not.
    #[error("Hash algorithm not found: {name}")]
    HashAlgorithm {
        /// The beginning of what was given.
        name: Box<str>,
    },
    /// A type whose default is too long.
    #[error("The default of the type has more than {limit} bytes, the limit of mask_default")]
    DefaultTooLong {
        /// How many bytes it may have.
        limit: usize,
    },
    /// Vectors of different dimensions.
    #[error("All arguments must have the same vector dimensions")]
    Dimensions,
    /// `fromJson` where nothing says the type of its result.
    #[error("fromjson() cannot be used in the selection clause of a SELECT statement")]
    FromJsonWithoutReceiver,
    /// An operator on types that it does not take.
    #[error("the '{operator}' operation is not supported between {left} and {right}")]
    NotSupported {
        /// The operator.
        operator: Operator,
        /// The left operand's type or text.
        left: Box<str>,
        /// The right one's.
        right: Box<str>,
    },
    /// An operator on operands that do not say their types.
    #[error("Ambiguous '{operator}' operation with args {left} and {right}: use type hint to disambiguate, example '(int) ?'")]
    AmbiguousOperation {
        /// The operator.
        operator: Operator,
        /// The left operand's type or text.
        left: Box<str>,
        /// The right one's.
        right: Box<str>,
    },
    /// A minus before something that does not say its type.
    #[error("Ambiguous negation: use type casts to disambiguate")]
    AmbiguousNegation,
    /// A cast between types that have none.
    #[error("{from} cannot be cast to {to}")]
    Cast {
        /// The value's type.
        from: DataType,
        /// The type asked for.
        to: DataType,
    },
    /// An operation has no result.
    #[error("the operation '{left} {operator} {right}' failed: {cause}")]
    Operation {
        /// The left operand's type.
        left: DataType,
        /// The operator.
        operator: Operator,
        /// The right operand's type.
        right: DataType,
        /// Why.
        cause: NumberError,
    },
    /// A function or cast has no result.
    #[error(transparent)]
    Number(#[from] NumberError),
    /// A timestamp with a fraction of a millisecond.
    #[error("the operation 'timestamp {operator} duration' failed: The duration must have a millisecond precision. Was: {duration}")]
    MillisecondPrecision {
        /// The operator.
        operator: Operator,
        /// The duration.
        duration: Box<str>,
    },
    /// A date with a part of a day.
    #[error("the operation 'date {operator} duration' failed: The duration must have a day precision. Was: {duration}")]
    DayPrecision {
        /// The operator.
        operator: Operator,
        /// The duration.
        duration: Box<str>,
    },
    /// A window of negative length.
    #[error("Negative durations are not supported by the floor function")]
    NegativeFloor,
    /// A window of days for a time of day.
    #[error("For time values, the floor can only be computed for durations smaller that a day")]
    FloorOfTime,
    /// A window of less than a day for a date.
    #[error("The floor on date values cannot be computed for the {duration} duration as precision is below 1 day")]
    FloorOfDate {
        /// The duration.
        duration: Box<str>,
    },
    /// A window of less than a millisecond for a timestamp.
    #[error("The floor cannot be computed for the {duration} duration as precision is below 1 millisecond")]
    FloorPrecision {
        /// The duration.
        duration: Box<str>,
    },
    /// Windows that begin after the time.
    #[error("The floor function starting time is greater than the provided time")]
    FloorBeforeStart,
    /// A vector without direction.
    #[error("Function system.similarity_cosine doesn't support all-zero vectors.")]
    ZeroVector,
    /// A blob that is no value of the type it should become.
    #[error("In call to function system.{function}, value {value} is not a valid binary representation for type {ty}")]
    NotBinary {
        /// The function.
        function: Box<str>,
        /// The blob.
        value: Shown,
        /// The type.
        ty: DataType,
    },
    /// A function of a user has failed.
    #[error("execution of '{}.{}[{}]' failed: {detail}", .function.keyspace, .function.name, types_text(.function))]
    Script {
        /// The function.
        function: Arc<Function>,
        /// Why.
        detail: Box<str>,
    },
    /// JSON that says no value.
    #[error("{0}")]
    Json(JsonError),
    /// An argument's bytes are no value of its type, or there is another number of them: the caller has not validated them.
    #[error("an argument is not a value of its type")]
    NotAValue,
}

impl FunctionError {
    /// The error of an operator, with its operands as they are written in a selection.
    #[must_use]
    pub fn with_operands(self, one: &dyn std::fmt::Display, other: &dyn std::fmt::Display) -> Self {
        match self {
            Self::NotSupported { operator, .. } => {
                Self::NotSupported { operator, left: one.to_string().into(), right: other.to_string().into() }
            }
            other => other,
        }
    }
}

/// Why a number could not be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// Division by zero.
    #[error("/ by zero")]
    DivisionByZero,
    /// The remainder of a decimal divided by zero.
    #[error("Division by zero")]
    DecimalModuloZero,
    /// The same, of zero.
    #[error("Division undefined")]
    DecimalModuloUndefined,
    /// Division of a varint or decimal by zero.
    #[error("BigInteger divide by zero")]
    BigDivisionByZero,
    /// A varint or decimal beyond the size that values may have.
    #[error("the result has too many digits")]
    TooLong,
    /// NaN as a decimal.
    #[error("A NaN cannot be converted into a decimal")]
    NotANumber,
    /// Infinity as a decimal.
    #[error("An infinite number cannot be converted into a decimal")]
    Infinite,
    /// The logarithm of zero or less.
    #[error("Logarithm of number zero or less")]
    Logarithm,
}
