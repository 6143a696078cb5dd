//! What a schema statement gets and gives: the context it runs in, and the schema and event that come of it.

use super::DdlError;
use crate::language::ast::{Identifier, QualifiedName};
use crate::system::is_system_keyspace;
use crate::wire::{ChangeKind, SchemaChange, SchemaTarget};
use base::TableId;
use md5::{Digest, Md5};
use model::{Keyspace, Schema, Table, schema_blob};
use std::sync::Arc;

/// What a schema statement needs of the world around it.
#[derive(Clone, Copy, Debug)]
pub struct Environment<'a> {
    /// A fresh UUID: the id that drivers see of a table that is created.
    pub table_uuid: u128,
    /// The time, in microseconds since the epoch.
    pub now_us: i64,
    /// The one data centre there is.
    pub data_center: &'a str,
    /// How many nodes it has.
    pub nodes: usize,
    /// As whom the client has logged in; none where nobody has to.
    pub role: Option<&'a str>,
    /// Whether a role needs permissions.
    pub checks_permissions: bool,
}

/// What a schema statement came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The new schema; none when the statement changes nothing (`IF NOT EXISTS` of what exists, the same options again): the answer is
    /// void then.
    pub change: Option<Change>,
    /// For the client, beside the result.
    pub warnings: Vec<String>,
}

/// A schema that takes the place of the former.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The new schema.
    pub schema: Arc<Schema>,
    /// The result of the statement, and what registered clients are told; none of roles, whose result is void.
    pub event: Option<SchemaEvent>,
    /// What registered clients are told besides: of tables that follow the one of the statement.
    pub further: Vec<SchemaEvent>,
    /// Tables that are gone: their rows can be forgotten.
    pub dropped: Vec<TableId>,
}

/// A change of the schema as clients are told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaEvent {
    /// What happened.
    pub change: ChangeKind,
    /// To what.
    pub target: SchemaEventTarget,
    /// The keyspace that it is in or is.
    pub keyspace: String,
}

/// What a [`SchemaEvent`] is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaEventTarget {
    /// The keyspace.
    Keyspace,
    /// A table.
    Table(String),
    /// A user type.
    Type(String),
    /// A function.
    Function {
        /// Its name.
        name: String,
        /// The types of its arguments.
        argument_types: Vec<String>,
    },
    /// An aggregate.
    Aggregate {
        /// Its name.
        name: String,
        /// The types of its arguments.
        argument_types: Vec<String>,
    },
}

impl SchemaEvent {
    /// As the protocol's codec takes it.
    #[must_use]
    pub fn as_wire(&self) -> SchemaChange<'_> {
        let target = match &self.target {
            SchemaEventTarget::Keyspace => SchemaTarget::Keyspace,
            SchemaEventTarget::Table(name) => SchemaTarget::Table(name),
            SchemaEventTarget::Type(name) => SchemaTarget::Type(name),
            SchemaEventTarget::Function { name, argument_types } => {
                SchemaTarget::Function { name, argument_types: argument_types.iter().map(String::as_str).collect() }
            }
            SchemaEventTarget::Aggregate { name, argument_types } => {
                SchemaTarget::Aggregate { name, argument_types: argument_types.iter().map(String::as_str).collect() }
            }
        };
        SchemaChange { change: self.change, target, keyspace: &self.keyspace }
    }
}

/// The version of a schema: a UUID (version 3) of its content, so that nodes with the same schema say the same.
#[must_use]
pub fn content_version(schema: &Schema) -> u128 {
    let digest: [u8; 16] = Md5::digest(schema_blob::content(schema)).into();
    let version = u128::from_be_bytes(digest) & !(0xF << 76) & !(0x3 << 62);
    version | 0x3 << 76 | 0x2 << 62
}

impl Outcome {
    /// Nothing changes.
    pub(super) fn unchanged() -> Self {
        Self { change: None, warnings: Vec::new() }
    }
}

/// A table and the keyspace that it is in.
pub(super) type Place<'a> = (&'a Arc<Keyspace>, &'a Arc<Table>);

/// A statement's surroundings.
pub(super) struct Context<'a> {
    pub(super) schema: &'a Schema,
    pub(super) keyspace: Option<&'a str>,
    pub(super) environment: &'a Environment<'a>,
}

impl<'a> Context<'a> {
    /// The keyspace's name of something that a statement names, which is not one of the system's.
    pub(super) fn keyspace_name(&self, given: Option<&'a Identifier>) -> Result<&'a str, DdlError> {
        let name = given.map(Identifier::as_str).or(self.keyspace).ok_or(DdlError::NoKeyspace)?;
        if is_system_keyspace(name) { Err(DdlError::SystemKeyspace(name.to_owned())) } else { Ok(name) }
    }

    /// The keyspace of something to create.
    pub(super) fn existing_keyspace(&self, given: Option<&'a Identifier>) -> Result<&'a Arc<Keyspace>, DdlError> {
        let name = self.keyspace_name(given)?;
        self.schema.keyspaces.get(name).ok_or_else(|| DdlError::UnknownKeyspace(name.to_owned()))
    }

    /// The keyspace and table that a statement names, or none when one of them is not there.
    pub(super) fn table(&self, name: &'a QualifiedName) -> Result<Option<Place<'a>>, DdlError> {
        let keyspace = self.schema.keyspaces.get(self.keyspace_name(name.keyspace.as_ref())?);
        Ok(keyspace.and_then(|keyspace| Some((keyspace, keyspace.tables.get(name.name.as_str())?))))
    }

    /// The outcome in which `keyspace` takes the place of the one of its name.
    pub(super) fn with_keyspace(&self, keyspace: Keyspace, change: ChangeKind, target: SchemaEventTarget) -> Outcome {
        let name = keyspace.name.clone();
        let mut schema = self.schema.clone();
        schema.keyspaces.insert(name.clone(), Arc::new(keyspace));
        self.with_schema(schema, Some(SchemaEvent { change, target, keyspace: name }), Vec::new())
    }

    /// The outcome in which something in a keyspace has changed.
    pub(super) fn table_changed(
        &self,
        schema: Schema,
        change: ChangeKind,
        target: SchemaEventTarget,
        keyspace: &str,
        dropped: Vec<TableId>,
    ) -> Outcome {
        self.with_schema(schema, Some(SchemaEvent { change, target, keyspace: keyspace.to_owned() }), dropped)
    }

    /// The outcome in which `schema` takes the place of the former.
    pub(super) fn with_schema(&self, mut schema: Schema, event: Option<SchemaEvent>, dropped: Vec<TableId>) -> Outcome {
        schema.version = content_version(&schema);
        Outcome { change: Some(Change { schema: Arc::new(schema), event, further: Vec::new(), dropped }), warnings: Vec::new() }
    }
}
