//! Which function a call means: by its name, the types of its arguments, and the type of what takes the result.

mod operators;

pub use operators::{negation, operator};

use super::argument::{Argument, assignable, same};
use super::collection::Part;
use super::math::Math;
use super::number::is_numeric;
use super::spec::{FunctionSpec, Operation};
use super::vector::Similarity;
use super::{FunctionError, Signature, mask_call};
use crate::value::aggregate::AggregateKind;
use crate::value::literal::Fit;
use model::{DataType, Frozen};
use std::sync::Arc;

fn spec(name: &str, arguments: &[DataType], result: DataType, operation: Operation) -> FunctionSpec {
    let signature = Signature { keyspace: "system".into(), name: name.into(), arguments: arguments.to_vec(), result };
    FunctionSpec { signature, operation, user: None }
}

/// Finds the function that a call of `name` means; `receiver` is the type of the column or argument that takes the result.
///
/// # Errors
/// When there is none, or more than one.
pub fn resolve(name: &str, arguments: &[Argument<'_>], receiver: Option<&DataType>) -> Result<FunctionSpec, FunctionError> {
    if let Some(found) = generic(name, arguments, receiver)? {
        return Ok(found);
    }
    let overloads = overloads(name);
    match overloads.as_slice() {
        [] => Err(FunctionError::Unknown { name: name.into() }),
        [_] => overloads.into_iter().next().map_or(Err(FunctionError::NotAValue), |only| check(only, arguments)),
        _ => choose(name, overloads, arguments, receiver),
    }
}

/// Whether a native function has this name.
#[must_use]
pub fn is_native(name: &str) -> bool {
    !overloads(name).is_empty() || !matches!(generic(name, &[], None), Ok(None))
}

/// The arguments of the only function of its name.
pub(super) fn check(only: FunctionSpec, arguments: &[Argument<'_>]) -> Result<FunctionSpec, FunctionError> {
    let types = only.arguments();
    let name = || only.signature.full_name();
    if types.len() != arguments.len() {
        return Err(FunctionError::ArgumentCount { name: name(), required: types.len(), provided: arguments.len() });
    }
    match arguments.iter().zip(types).position(|(argument, ty)| argument.fit(ty) == Fit::None) {
        Some(position) => Err(FunctionError::ArgumentType {
            argument: arguments[position].shown(),
            position,
            name: name(),
            expected: types[position].clone(),
        }),
        None => Ok(only),
    }
}

pub(super) fn choose(
    name: &str,
    overloads: Vec<FunctionSpec>,
    arguments: &[Argument<'_>],
    receiver: Option<&DataType>,
) -> Result<FunctionSpec, FunctionError> {
    let signatures = |specs: &[FunctionSpec]| specs.iter().map(|spec| spec.signature.clone()).collect();
    let fits = |spec: &FunctionSpec| {
        let types = spec.arguments();
        if types.len() != arguments.len() || receiver.is_some_and(|receiver| !assignable(spec.result(), receiver)) {
            return Fit::None;
        }
        let each = || arguments.iter().zip(types).map(|(argument, ty)| argument.fit(ty));
        if each().all(|fit| fit == Fit::Exact) {
            Fit::Exact
        } else if each().all(|fit| fit != Fit::None) {
            Fit::Convertible
        } else {
            Fit::None
        }
    };
    if let Some(exact) = overloads.iter().find(|spec| fits(spec) == Fit::Exact) {
        return Ok(exact.clone());
    }
    let mut matching: Vec<FunctionSpec> = overloads.iter().filter(|spec| fits(spec) == Fit::Convertible).cloned().collect();
    // Of those that only take a value of the receiver's type, one that gives exactly it is meant.
    if matching.len() > 1 {
        let exact = |spec: &&FunctionSpec| receiver.is_some_and(|receiver| same(spec.result(), receiver));
        if matching.iter().filter(exact).count() == 1 {
            matching.retain(|spec| exact(&spec));
        }
    }
    match matching.len() {
        0 => Err(FunctionError::NoMatch { name: name.into(), signatures: signatures(&overloads) }),
        1 => Ok(matching.remove(0)),
        _ => Err(FunctionError::Ambiguous { name: name.into(), signatures: signatures(&matching) }),
    }
}

/// The types that have `<type>_as_blob` and `blob_as_<type>`, by the name that stands in these.
const BLOB_TYPES: [(&str, DataType); 20] = [
    ("ascii", DataType::Ascii),
    ("bigint", DataType::BigInt),
    ("boolean", DataType::Boolean),
    ("counter", DataType::Counter),
    ("date", DataType::Date),
    ("decimal", DataType::Decimal),
    ("double", DataType::Double),
    ("duration", DataType::Duration),
    ("float", DataType::Float),
    ("inet", DataType::Inet),
    ("int", DataType::Int),
    ("smallint", DataType::SmallInt),
    ("text", DataType::Text),
    ("time", DataType::Time),
    ("timestamp", DataType::Timestamp),
    ("timeuuid", DataType::TimeUuid),
    ("tinyint", DataType::TinyInt),
    ("uuid", DataType::Uuid),
    ("varchar", DataType::Text),
    ("varint", DataType::Varint),
];

const NUMBERS: [DataType; 9] = [
    DataType::TinyInt,
    DataType::SmallInt,
    DataType::Int,
    DataType::BigInt,
    DataType::Counter,
    DataType::Float,
    DataType::Double,
    DataType::Varint,
    DataType::Decimal,
];

fn blob_function(name: &str) -> Option<FunctionSpec> {
    let named = |word: &str| BLOB_TYPES.iter().find(|(name, _)| *name == word).map(|(_, ty)| ty.clone());
    if let Some(ty) = name.strip_prefix("blob_as_").or_else(|| name.strip_prefix("blobas")).and_then(named) {
        return Some(spec(name, &[DataType::Blob], ty, Operation::FromBlob));
    }
    let ty = name.strip_suffix("_as_blob").or_else(|| name.strip_suffix("asblob")).and_then(named)?;
    Some(spec(name, &[ty], DataType::Blob, Operation::AsBlob))
}

/// All functions of a name whose types are fixed.
pub(super) fn overloads(name: &str) -> Vec<FunctionSpec> {
    use DataType::{BigInt, Blob, Date, Duration, Time, TimeUuid, Timestamp, Uuid};
    let one = |arguments: &[DataType], result, operation| vec![spec(name, arguments, result, operation)];
    let for_each = |types: &[DataType], result: Option<DataType>, operation: Operation| {
        types.iter().map(|ty| spec(name, std::slice::from_ref(ty), result.clone().unwrap_or_else(|| ty.clone()), operation)).collect()
    };
    match name {
        "now" | "current_timeuuid" | "currenttimeuuid" => one(&[], TimeUuid, Operation::Now),
        "uuid" => one(&[], Uuid, Operation::RandomUuid),
        "current_timestamp" | "currenttimestamp" => one(&[], Timestamp, Operation::CurrentTimestamp),
        "current_date" | "currentdate" => one(&[], Date, Operation::CurrentDate),
        "current_time" | "currenttime" => one(&[], Time, Operation::CurrentTime),
        "min_timeuuid" | "mintimeuuid" => one(&[Timestamp], TimeUuid, Operation::MinTimeUuid),
        "max_timeuuid" | "maxtimeuuid" => one(&[Timestamp], TimeUuid, Operation::MaxTimeUuid),
        "to_date" | "todate" => for_each(&[TimeUuid, Timestamp], Some(Date), Operation::ToDate),
        "to_timestamp" | "totimestamp" => for_each(&[TimeUuid, Date], Some(Timestamp), Operation::ToMilliseconds),
        "to_unix_timestamp" | "tounixtimestamp" => for_each(&[TimeUuid, Timestamp, Date], Some(BigInt), Operation::ToMilliseconds),
        // Cassandra has dropped both with version 5.
        "dateof" => one(&[TimeUuid], Timestamp, Operation::ToMilliseconds),
        "unixtimestampof" => one(&[TimeUuid], BigInt, Operation::ToMilliseconds),
        "abs" => for_each(&NUMBERS, None, Operation::Math(Math::Abs)),
        "exp" => for_each(&NUMBERS, None, Operation::Math(Math::Exp)),
        "log" => for_each(&NUMBERS, None, Operation::Math(Math::Log)),
        "log10" => for_each(&NUMBERS, None, Operation::Math(Math::Log10)),
        "round" => for_each(&NUMBERS, None, Operation::Math(Math::Round)),
        "sum" => for_each(&NUMBERS, None, Operation::Aggregate(AggregateKind::Sum)),
        "avg" => for_each(&NUMBERS, None, Operation::Aggregate(AggregateKind::Average)),
        "count" => one(&[Blob], BigInt, Operation::Aggregate(AggregateKind::Count)),
        "count_rows" | "countrows" => one(&[], BigInt, Operation::Aggregate(AggregateKind::CountRows)),
        "floor" => vec![
            spec(name, &[Timestamp, Duration], Timestamp, Operation::Floor),
            spec(name, &[Timestamp, Duration, Timestamp], Timestamp, Operation::Floor),
            spec(name, &[TimeUuid, Duration], Timestamp, Operation::Floor),
            spec(name, &[TimeUuid, Duration, Timestamp], Timestamp, Operation::Floor),
            spec(name, &[Date, Duration], Date, Operation::Floor),
            spec(name, &[Date, Duration, Date], Date, Operation::Floor),
            spec(name, &[Time, Duration], Time, Operation::Floor),
        ],
        _ => blob_function(name).into_iter().collect(),
    }
}

/// The functions that take any type of a kind.
fn generic(name: &str, arguments: &[Argument<'_>], receiver: Option<&DataType>) -> Result<Option<FunctionSpec>, FunctionError> {
    let (count, parameters) = match name {
        "min" | "max" | "to_json" | "tojson" => (1, "any"),
        "map_keys" | "map_values" => (1, "map"),
        "collection_count" => (1, "collection"),
        "collection_min" | "collection_max" | "collection_sum" | "collection_avg" => (1, "numeric_set_or_list"),
        "from_json" | "fromjson" => (1, "text"),
        "similarity_cosine" | "similarity_euclidean" | "similarity_dot_product" => (2, "vector<float, n>, vector<float, n>"),
        _ => return mask_call::resolve(name, arguments),
    };
    if arguments.len() != count {
        return Err(FunctionError::GenericArgumentCount { name: name.into(), parameters });
    }
    if count == 2 {
        return similarity(name, arguments).map(Some);
    }
    let argument = &arguments[0];
    if matches!(name, "from_json" | "fromjson") {
        let receiver = receiver.ok_or(FunctionError::FromJsonWithoutReceiver)?;
        return match argument.fit(&DataType::Text) {
            Fit::None => Err(requires(name, "text", argument)),
            _ => Ok(Some(spec(name, &[DataType::Text], receiver.clone(), Operation::FromJson))),
        };
    }
    let Some(ty) = argument.own_type() else {
        return Err(FunctionError::CannotInfer { argument: argument.shown(), name: name.into() });
    };
    let found = |result: DataType, operation| Ok(Some(spec(name, std::slice::from_ref(&ty), result, operation)));
    match (name, &ty) {
        ("min", _) => found(ty.clone(), Operation::Aggregate(AggregateKind::Min)),
        ("max", _) => found(ty.clone(), Operation::Aggregate(AggregateKind::Max)),
        ("to_json" | "tojson", _) => found(DataType::Text, Operation::ToJson),
        ("map_keys", DataType::Map(key, ..)) => found(DataType::Set(Arc::clone(key), Frozen::Yes), Operation::Part(Part::Keys)),
        ("map_values", DataType::Map(_, value, _)) => found(DataType::List(Arc::clone(value), Frozen::Yes), Operation::Part(Part::Values)),
        ("map_keys" | "map_values", _) => Err(requires(name, "map", argument)),
        ("collection_count", DataType::List(..) | DataType::Set(..) | DataType::Map(..)) => {
            found(DataType::Int, Operation::Part(Part::Count))
        }
        ("collection_count", _) => Err(requires(name, "collection", argument)),
        ("collection_min", DataType::List(element, _) | DataType::Set(element, _)) => {
            found((**element).clone(), Operation::Fold(AggregateKind::Min))
        }
        ("collection_max", DataType::List(element, _) | DataType::Set(element, _)) => {
            found((**element).clone(), Operation::Fold(AggregateKind::Max))
        }
        ("collection_min" | "collection_max", _) => Err(requires(name, "set or list", argument)),
        ("collection_sum", DataType::List(element, _) | DataType::Set(element, _)) if is_numeric(element) => {
            found((**element).clone(), Operation::Fold(AggregateKind::Sum))
        }
        ("collection_avg", DataType::List(element, _) | DataType::Set(element, _)) if is_numeric(element) => {
            found((**element).clone(), Operation::Fold(AggregateKind::Average))
        }
        _ => Err(requires(name, "numeric set/list", argument)),
    }
}

fn requires(name: &str, required: &'static str, argument: &Argument<'_>) -> FunctionError {
    match argument.own_type() {
        Some(found) => FunctionError::Requires { name: name.into(), required, found },
        None => FunctionError::CannotInfer { argument: argument.shown(), name: name.into() },
    }
}

fn similarity(name: &str, arguments: &[Argument<'_>]) -> Result<FunctionSpec, FunctionError> {
    let measure = match name {
        "similarity_cosine" => Similarity::Cosine,
        "similarity_euclidean" => Similarity::Euclidean,
        _ => Similarity::DotProduct,
    };
    let mut vector: Option<DataType> = None;
    for argument in arguments {
        let dimension = match (argument, argument.own_type()) {
            (Argument::Unknown, _) => continue,
            (Argument::List(elements), _) => u32::try_from(*elements).map_err(|_| FunctionError::Dimensions)?,
            (_, Some(DataType::Vector(element, dimension))) if *element == DataType::Float => dimension,
            (Argument::Composed, _) => return Err(FunctionError::RequiresVector { name: name.into() }),
            _ => return Err(requires(name, "float vector", argument)),
        };
        if matches!(vector, Some(DataType::Vector(_, other)) if other != dimension) {
            return Err(FunctionError::Dimensions);
        }
        vector = Some(DataType::Vector(Arc::new(DataType::Float), dimension));
    }
    match vector {
        Some(vector) => Ok(spec(name, &[vector.clone(), vector], DataType::Float, Operation::Similarity(measure))),
        None => {
            let name = format!("{name}(vector<float, n>, vector<float, n>)");
            Err(FunctionError::CannotInfer { argument: arguments[0].shown(), name: name.into() })
        }
    }
}

/// Finds `CAST(… AS to)`.
///
/// Numbers cast to numbers, all native types but blob and duration to text, timestamps and timeuuids to dates, dates and timeuuids to
/// timestamps, and every type to itself.
///
/// # Errors
/// When there is no such cast.
pub fn cast(from: &DataType, to: &DataType) -> Result<FunctionSpec, FunctionError> {
    let name = format!("cast_as_{to}");
    let found = |operation| Ok(spec(&name, std::slice::from_ref(from), to.clone(), operation));
    match (from, to) {
        _ if from == to => found(Operation::Cast),
        (DataType::Text, DataType::Ascii) => Err(FunctionError::Cast { from: from.clone(), to: to.clone() }),
        (
            DataType::Ascii
            | DataType::Boolean
            | DataType::Date
            | DataType::Inet
            | DataType::Time
            | DataType::Timestamp
            | DataType::TimeUuid
            | DataType::Uuid,
            DataType::Text | DataType::Ascii,
        ) => found(Operation::Cast),
        (_, DataType::Text | DataType::Ascii) if is_numeric(from) => found(Operation::Cast),
        (_, DataType::Counter) => Err(FunctionError::Cast { from: from.clone(), to: to.clone() }),
        _ if is_numeric(from) && is_numeric(to) => found(Operation::Cast),
        (DataType::Timestamp | DataType::TimeUuid, DataType::Date) => found(Operation::ToDate),
        (DataType::Date | DataType::TimeUuid, DataType::Timestamp) => found(Operation::ToMilliseconds),
        _ => Err(FunctionError::Cast { from: from.clone(), to: to.clone() }),
    }
}
