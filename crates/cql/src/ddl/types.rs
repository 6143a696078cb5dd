//! Types as written to types as they are: user types are looked up, what is nested is frozen, and what cannot be nested is refused.

use super::DdlError;
use super::error::TypeError;
use crate::language::ast::{NativeType, TypeName};
use crate::wire::parse_marshal_class;
use model::{DataType, Frozen, Schema, UserType};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// The type that `type_name` is for a statement in `keyspace`, the session's if the statement names none.
///
/// # Errors
/// Unknown types, user types of other keyspaces, and types that cannot be built.
pub fn resolve_type(type_name: &TypeName, keyspace: Option<&str>, schema: &Schema) -> Result<DataType, DdlError> {
    let types = keyspace.and_then(|name| schema.keyspaces.get(name)).map(|keyspace| &keyspace.types);
    TypeResolver { keyspace, types }.resolve(type_name)
}

/// Resolves the types of one statement.
#[derive(Clone, Copy)]
pub(super) struct TypeResolver<'a> {
    /// The keyspace that the statement is about.
    pub(super) keyspace: Option<&'a str>,
    /// Its user types.
    pub(super) types: Option<&'a BTreeMap<String, Arc<UserType>>>,
}

impl TypeResolver<'_> {
    pub(super) fn resolve(self, type_name: &TypeName) -> Result<DataType, DdlError> {
        let data_type = match type_name {
            TypeName::Frozen(inner) => self.frozen(inner, type_name)?,
            other => self.part(other, Frozen::No, other)?,
        };
        if data_type.is_within_bounds() { Ok(data_type) } else { Err(DdlError::TypeTooLarge { data_type: shortened(type_name) }) }
    }

    /// The type of a column: a user type that is not frozen has no such collections in it.
    pub(super) fn column_type(self, type_name: &TypeName) -> Result<DataType, DdlError> {
        let data_type = self.resolve(type_name)?;
        match &data_type {
            DataType::Udt(user, Frozen::No) if user.fields.iter().any(|(_, field)| field.is_multi_cell()) => {
                Err(DdlError::Type(TypeError::NestedCollection))
            }
            _ => Ok(data_type),
        }
    }

    fn frozen(self, inner: &TypeName, whole: &TypeName) -> Result<DataType, DdlError> {
        match inner {
            TypeName::Native(_) | TypeName::Custom(_) => Err(DdlError::NotFreezable(inner.clone())),
            TypeName::Frozen(inner) => self.frozen(inner, whole),
            other => self.part(other, Frozen::Yes, whole),
        }
    }

    /// The type `type_name`, whose whole, with `frozen<>` around it if that is there, is `whole`.
    fn part(self, type_name: &TypeName, frozen: Frozen, whole: &TypeName) -> Result<DataType, DdlError> {
        match type_name {
            TypeName::Native(native) => Ok(native_type(*native)),
            TypeName::Frozen(inner) => self.frozen(inner, type_name),
            TypeName::List(element) => Ok(DataType::List(self.element(element, frozen, whole)?, frozen)),
            TypeName::Set(element) => {
                if is_native(element, NativeType::Duration) {
                    return Err(TypeError::DurationInSet(whole.clone()).into());
                }
                Ok(DataType::Set(self.element(element, frozen, whole)?, frozen))
            }
            TypeName::Map(key, value) => {
                if is_native(key, NativeType::Duration) {
                    return Err(TypeError::DurationAsKey(whole.clone()).into());
                }
                Ok(DataType::Map(self.element(key, frozen, whole)?, self.element(value, frozen, whole)?, frozen))
            }
            TypeName::Tuple(fields) => {
                let fields =
                    fields.iter().map(|field| self.field(field, DdlError::Type(TypeError::CounterInTuple))).collect::<Result<_, _>>()?;
                Ok(DataType::Tuple(fields))
            }
            TypeName::Vector { element, dimension } => {
                let element = self.field(element, DdlError::Type(TypeError::CounterInVector))?;
                match u32::try_from(*dimension) {
                    Ok(dimension @ 1..) => Ok(DataType::Vector(Arc::new(element), dimension)),
                    _ => Err(DdlError::Type(TypeError::VectorWithoutDimension(*dimension))),
                }
            }
            TypeName::User(name) => {
                let keyspace = self.keyspace.or(name.keyspace.as_deref()).ok_or(DdlError::NoKeyspace)?;
                if let Some(other) = name.keyspace.as_deref().filter(|other| *other != keyspace) {
                    return Err(TypeError::ForeignType { keyspace: keyspace.to_owned(), other: other.to_owned() }.into());
                }
                let unknown = || DdlError::UnknownType { keyspace: keyspace.to_owned(), name: name.name.as_str().to_owned() };
                let user = self.types.and_then(|types| types.get(name.name.as_str())).ok_or_else(unknown)?;
                Ok(DataType::Udt(Arc::clone(user), frozen))
            }
            TypeName::Custom(class) => custom_type(class),
        }
    }

    /// A part of a collection: what could be multi-cell must say that it is not, unless the collection does.
    fn element(self, element: &TypeName, frozen: Frozen, whole: &TypeName) -> Result<Arc<DataType>, DdlError> {
        if is_native(element, NativeType::Counter) {
            return Err(TypeError::CounterInCollection(whole.clone()).into());
        }
        if frozen == Frozen::No {
            match element {
                TypeName::List(_) | TypeName::Set(_) | TypeName::Map(..) => {
                    return Err(TypeError::CollectionInCollection(whole.clone()).into());
                }
                TypeName::User(_) => return Err(TypeError::UserTypeInCollection(whole.clone()).into()),
                _ => {}
            }
        }
        self.part(element, Frozen::Yes, element).map(Arc::new)
    }

    /// A part of a tuple or vector, which are frozen always.
    fn field(self, field: &TypeName, counter: DdlError) -> Result<DataType, DdlError> {
        if is_native(field, NativeType::Counter) {
            return Err(counter);
        }
        self.part(field, Frozen::Yes, field)
    }
}

/// How much of a type that is too large a message repeats.
const TYPE_CHARACTERS_MAX: usize = 100;

fn shortened(type_name: &TypeName) -> String {
    let text = type_name.to_string();
    match text.char_indices().nth(TYPE_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn is_native(type_name: &TypeName, native: NativeType) -> bool {
    *type_name == TypeName::Native(native)
}

pub(crate) fn native_type(native: NativeType) -> DataType {
    match native {
        NativeType::Ascii => DataType::Ascii,
        NativeType::BigInt => DataType::BigInt,
        NativeType::Blob => DataType::Blob,
        NativeType::Boolean => DataType::Boolean,
        NativeType::Counter => DataType::Counter,
        NativeType::Date => DataType::Date,
        NativeType::Decimal => DataType::Decimal,
        NativeType::Double => DataType::Double,
        NativeType::Duration => DataType::Duration,
        NativeType::Float => DataType::Float,
        NativeType::Inet => DataType::Inet,
        NativeType::Int => DataType::Int,
        NativeType::SmallInt => DataType::SmallInt,
        NativeType::Text | NativeType::VarChar => DataType::Text,
        NativeType::Time => DataType::Time,
        NativeType::Timestamp => DataType::Timestamp,
        NativeType::TimeUuid => DataType::TimeUuid,
        NativeType::TinyInt => DataType::TinyInt,
        NativeType::Uuid => DataType::Uuid,
        NativeType::VarInt => DataType::Varint,
    }
}

/// A class of Cassandra's that is one of CQL's types. Others have an order that is not that of bytes, so they are not taken.
fn custom_type(class: &str) -> Result<DataType, DdlError> {
    let data_type = parse_marshal_class(class);
    if is_plain(&data_type) {
        return Ok(data_type);
    }
    let full = if class.contains('.') { class.to_owned() } else { format!("org.apache.cassandra.db.marshal.{class}") };
    Err(DdlError::UnknownClass { class: class.to_owned(), full })
}

/// Whether nothing in it must be looked up or could be nested wrongly.
fn is_plain(data_type: &DataType) -> bool {
    match data_type {
        DataType::Custom(_) | DataType::Udt(..) | DataType::Counter => false,
        DataType::List(element, _) | DataType::Set(element, _) | DataType::Vector(element, _) => {
            is_plain(element) && !element.is_multi_cell()
        }
        DataType::Map(key, value, _) => is_plain(key) && is_plain(value) && !key.is_multi_cell() && !value.is_multi_cell(),
        DataType::Tuple(fields) => fields.iter().all(|field| is_plain(field) && !field.is_multi_cell()),
        _ => true,
    }
}

/// What in a type makes it unfit for a key.
pub(super) fn contains_duration(data_type: &DataType) -> bool {
    match data_type {
        DataType::Duration => true,
        DataType::List(element, _) | DataType::Set(element, _) | DataType::Vector(element, _) => contains_duration(element),
        DataType::Map(key, value, _) => contains_duration(key) || contains_duration(value),
        DataType::Tuple(fields) => fields.iter().any(contains_duration),
        DataType::Udt(user, _) => user.fields.iter().any(|(_, field)| contains_duration(field)),
        _ => false,
    }
}

/// Whether a value of a column with type `former` is one of `data_type`, so that a dropped column's name may be used for it.
pub(super) fn is_value_compatible(data_type: &DataType, former: &DataType) -> bool {
    if data_type.is_multi_cell() || former.is_multi_cell() {
        return data_type == former;
    }
    data_type == former
        || matches!(
            (data_type, former),
            (DataType::Blob, DataType::Text | DataType::Ascii)
                | (DataType::Text, DataType::Ascii)
                | (DataType::Uuid, DataType::TimeUuid)
                | (DataType::BigInt, DataType::Timestamp)
                | (DataType::Timestamp, DataType::BigInt)
        )
}

/// `data_type` with tuples in place of user types, all but the outermost level as it was.
pub(super) fn without_user_types(data_type: &DataType) -> DataType {
    let part = |part: &DataType| Arc::new(without_user_types(part));
    match data_type {
        DataType::List(element, frozen) => DataType::List(part(element), *frozen),
        DataType::Set(element, frozen) => DataType::Set(part(element), *frozen),
        DataType::Map(key, value, frozen) => DataType::Map(part(key), part(value), *frozen),
        DataType::Vector(element, dimension) => DataType::Vector(part(element), *dimension),
        DataType::Tuple(fields) => DataType::Tuple(fields.iter().map(without_user_types).collect()),
        // A field's collection is one value, whether its type says so or not.
        DataType::Udt(user, _) => DataType::Tuple(user.fields.iter().map(|(_, field)| without_user_types(field).frozen()).collect()),
        other => other.clone(),
    }
}

/// Whether the user type `name` is in `data_type`.
pub(super) fn refers_to(data_type: &DataType, name: &str) -> bool {
    match data_type {
        DataType::List(element, _) | DataType::Set(element, _) | DataType::Vector(element, _) => refers_to(element, name),
        DataType::Map(key, value, _) => refers_to(key, name) || refers_to(value, name),
        DataType::Tuple(fields) => fields.iter().any(|field| refers_to(field, name)),
        DataType::Udt(user, _) => user.name == name || user.fields.iter().any(|(_, field)| refers_to(field, name)),
        _ => false,
    }
}

/// `data_type` as Cassandra's messages about user types have it: with the keyspace before the name of each.
pub(super) fn qualified_text(data_type: &DataType) -> String {
    let frozen = |frozen: Frozen, text: String| if frozen == Frozen::Yes { format!("frozen<{text}>") } else { text };
    match data_type {
        DataType::List(element, is_frozen) => frozen(*is_frozen, format!("list<{}>", qualified_text(element))),
        DataType::Set(element, is_frozen) => frozen(*is_frozen, format!("set<{}>", qualified_text(element))),
        DataType::Map(key, value, is_frozen) => frozen(*is_frozen, format!("map<{}, {}>", qualified_text(key), qualified_text(value))),
        DataType::Tuple(fields) => format!("frozen<tuple<{}>>", fields.iter().map(qualified_text).collect::<Vec<_>>().join(", ")),
        DataType::Udt(user, is_frozen) => frozen(*is_frozen, format!("{}.{}", user.keyspace, user.name)),
        other => other.to_string(),
    }
}

/// Whether `data_type` names one of these user types itself, not through another user type.
pub(super) fn names_any(data_type: &DataType, names: &HashSet<String>) -> bool {
    match data_type {
        DataType::List(element, _) | DataType::Set(element, _) | DataType::Vector(element, _) => names_any(element, names),
        DataType::Map(key, value, _) => names_any(key, names) || names_any(value, names),
        DataType::Tuple(fields) => fields.iter().any(|field| names_any(field, names)),
        DataType::Udt(user, _) => names.contains(&user.name),
        _ => false,
    }
}

/// `data_type` with the keyspace's present user types in place of those of the same names.
pub(super) fn with_user_types(data_type: &DataType, types: &BTreeMap<String, Arc<UserType>>) -> DataType {
    let part = |part: &DataType| Arc::new(with_user_types(part, types));
    match data_type {
        DataType::List(element, frozen) => DataType::List(part(element), *frozen),
        DataType::Set(element, frozen) => DataType::Set(part(element), *frozen),
        DataType::Map(key, value, frozen) => DataType::Map(part(key), part(value), *frozen),
        DataType::Vector(element, dimension) => DataType::Vector(part(element), *dimension),
        DataType::Tuple(fields) => DataType::Tuple(fields.iter().map(|field| with_user_types(field, types)).collect()),
        DataType::Udt(user, frozen) => DataType::Udt(Arc::clone(types.get(&user.name).unwrap_or(user)), *frozen),
        other => other.clone(),
    }
}
