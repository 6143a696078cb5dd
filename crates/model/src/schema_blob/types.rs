//! Types in the schema blob, and the user types that a keyspace declares.

use super::Inconsistency;
use crate::types::{DataType, Frozen, TYPE_DEPTH_MAX, UserType, VECTOR_DIMENSIONS_MAX};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypeDeclaration {
    pub(super) name: String,
    pub(super) fields: Vec<(String, TypeDocument)>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TypeDocument {
    Ascii,
    BigInt,
    Blob,
    Boolean,
    Counter,
    Date,
    Decimal,
    Double,
    Duration,
    Float,
    Inet,
    Int,
    SmallInt,
    Text,
    Time,
    Timestamp,
    TimeUuid,
    TinyInt,
    Uuid,
    Varint,
    List { element: Box<TypeDocument>, frozen: bool },
    Set { element: Box<TypeDocument>, frozen: bool },
    Map { key: Box<TypeDocument>, value: Box<TypeDocument>, frozen: bool },
    Tuple(Vec<TypeDocument>),
    Udt { name: String, frozen: bool },
    Vector { element: Box<TypeDocument>, dimension: u32 },
    Custom(String),
}

impl TypeDeclaration {
    pub(super) fn of(user: &UserType) -> Self {
        let fields = user.fields.iter().map(|(name, data_type)| (name.clone(), TypeDocument::of(data_type))).collect();
        Self { name: user.name.clone(), fields }
    }
}

impl TypeDocument {
    pub(super) fn of(data_type: &DataType) -> Self {
        let boxed = |inner: &DataType| Box::new(Self::of(inner));
        let is_frozen = |frozen: &Frozen| *frozen == Frozen::Yes;
        match data_type {
            DataType::Ascii => Self::Ascii,
            DataType::BigInt => Self::BigInt,
            DataType::Blob => Self::Blob,
            DataType::Boolean => Self::Boolean,
            DataType::Counter => Self::Counter,
            DataType::Date => Self::Date,
            DataType::Decimal => Self::Decimal,
            DataType::Double => Self::Double,
            DataType::Duration => Self::Duration,
            DataType::Float => Self::Float,
            DataType::Inet => Self::Inet,
            DataType::Int => Self::Int,
            DataType::SmallInt => Self::SmallInt,
            DataType::Text => Self::Text,
            DataType::Time => Self::Time,
            DataType::Timestamp => Self::Timestamp,
            DataType::TimeUuid => Self::TimeUuid,
            DataType::TinyInt => Self::TinyInt,
            DataType::Uuid => Self::Uuid,
            DataType::Varint => Self::Varint,
            DataType::List(element, frozen) => Self::List { element: boxed(element), frozen: is_frozen(frozen) },
            DataType::Set(element, frozen) => Self::Set { element: boxed(element), frozen: is_frozen(frozen) },
            DataType::Map(key, value, frozen) => Self::Map { key: boxed(key), value: boxed(value), frozen: is_frozen(frozen) },
            DataType::Tuple(fields) => Self::Tuple(fields.iter().map(Self::of).collect()),
            DataType::Udt(user, frozen) => Self::Udt { name: user.name.clone(), frozen: is_frozen(frozen) },
            DataType::Vector(element, dimension) => Self::Vector { element: boxed(element), dimension: *dimension },
            DataType::Custom(class) => Self::Custom(class.to_string()),
        }
    }
}

/// Turns types of the document into data types, user types by name.
pub(super) struct Resolver<'a> {
    pub(super) keyspace: &'a str,
    /// User types that are not resolved yet. One that is being resolved is in neither map, so that a cycle meets an unknown name.
    pub(super) declared: BTreeMap<String, TypeDeclaration>,
    pub(super) types: BTreeMap<String, Arc<UserType>>,
}

impl Resolver<'_> {
    pub(super) fn user_type(&mut self, name: &str, depth: usize) -> Result<Arc<UserType>, Inconsistency> {
        if let Some(user) = self.types.get(name) {
            return Ok(Arc::clone(user));
        }
        let declaration = self.declared.remove(name).ok_or(Inconsistency::UnknownType)?;
        let mut fields = Vec::with_capacity(declaration.fields.len());
        for (field, data_type) in declaration.fields {
            if fields.iter().any(|(other, _)| *other == field) {
                return Err(Inconsistency::NameTwice);
            }
            fields.push((field, self.data_type(data_type, depth + 1)?));
        }
        let user = Arc::new(UserType { keyspace: self.keyspace.to_owned(), name: name.to_owned(), fields });
        if !DataType::Udt(Arc::clone(&user), Frozen::Yes).is_within_bounds() {
            return Err(Inconsistency::TypeBounds);
        }
        self.types.insert(name.to_owned(), Arc::clone(&user));
        Ok(user)
    }

    pub(super) fn data_type(&mut self, document: TypeDocument, depth: usize) -> Result<DataType, Inconsistency> {
        if depth > TYPE_DEPTH_MAX {
            return Err(Inconsistency::TypeBounds);
        }
        let frozen_if = |frozen| if frozen { Frozen::Yes } else { Frozen::No };
        Ok(match document {
            TypeDocument::Ascii => DataType::Ascii,
            TypeDocument::BigInt => DataType::BigInt,
            TypeDocument::Blob => DataType::Blob,
            TypeDocument::Boolean => DataType::Boolean,
            TypeDocument::Counter => DataType::Counter,
            TypeDocument::Date => DataType::Date,
            TypeDocument::Decimal => DataType::Decimal,
            TypeDocument::Double => DataType::Double,
            TypeDocument::Duration => DataType::Duration,
            TypeDocument::Float => DataType::Float,
            TypeDocument::Inet => DataType::Inet,
            TypeDocument::Int => DataType::Int,
            TypeDocument::SmallInt => DataType::SmallInt,
            TypeDocument::Text => DataType::Text,
            TypeDocument::Time => DataType::Time,
            TypeDocument::Timestamp => DataType::Timestamp,
            TypeDocument::TimeUuid => DataType::TimeUuid,
            TypeDocument::TinyInt => DataType::TinyInt,
            TypeDocument::Uuid => DataType::Uuid,
            TypeDocument::Varint => DataType::Varint,
            TypeDocument::List { element, frozen } => DataType::List(self.part(*element, depth)?, frozen_if(frozen)),
            TypeDocument::Set { element, frozen } => DataType::Set(self.part(*element, depth)?, frozen_if(frozen)),
            TypeDocument::Map { key, value, frozen } => {
                DataType::Map(self.part(*key, depth)?, self.part(*value, depth)?, frozen_if(frozen))
            }
            TypeDocument::Tuple(fields) => {
                DataType::Tuple(fields.into_iter().map(|field| self.data_type(field, depth + 1)).collect::<Result<_, _>>()?)
            }
            TypeDocument::Udt { name, frozen } => DataType::Udt(self.user_type(&name, depth)?, frozen_if(frozen)),
            TypeDocument::Vector { dimension, .. } if dimension > VECTOR_DIMENSIONS_MAX => return Err(Inconsistency::TypeBounds),
            TypeDocument::Vector { element, dimension } => DataType::Vector(self.part(*element, depth)?, dimension),
            TypeDocument::Custom(class) => DataType::Custom(class.into()),
        })
    }

    fn part(&mut self, document: TypeDocument, depth: usize) -> Result<Arc<DataType>, Inconsistency> {
        self.data_type(document, depth + 1).map(Arc::new)
    }
}
