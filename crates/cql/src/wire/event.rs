//! EVENT: what the server tells those who asked with REGISTER, on stream -1; and the schema change that is also a RESULT.

use std::net::SocketAddr;

use super::writer::{write_inet, write_string, write_string_list};
use super::{Notation, ProtocolVersion, Reader, WireError};

/// A kind of event to register for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// Nodes come and go.
    TopologyChange,
    /// Nodes go up and down.
    StatusChange,
    /// Keyspaces, tables and the like change.
    SchemaChange,
}

impl EventKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::TopologyChange, Self::StatusChange, Self::SchemaChange];

    /// Its name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TopologyChange => "TOPOLOGY_CHANGE",
            Self::StatusChange => "STATUS_CHANGE",
            Self::SchemaChange => "SCHEMA_CHANGE",
        }
    }

    /// The kind of this name.
    ///
    /// # Errors
    /// [`WireError::UnknownWord`].
    pub fn from_name(name: &str) -> Result<Self, WireError> {
        let known = Self::ALL.into_iter().find(|kind| kind.name() == name);
        known.ok_or(WireError::UnknownWord { notation: Notation::Event })
    }
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A node has joined.
    NewNode(SocketAddr),
    /// A node has left.
    RemovedNode(SocketAddr),
    /// A node answers again.
    Up(SocketAddr),
    /// A node does not answer.
    Down(SocketAddr),
    /// The schema has changed.
    SchemaChange(SchemaChange<'a>),
}

/// What happened to something in the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ChangeKind {
    Created,
    Updated,
    Dropped,
}

/// A change of the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaChange<'a> {
    /// What happened.
    pub change: ChangeKind,
    /// To what.
    pub target: SchemaTarget<'a>,
    /// The keyspace that it is in or is.
    pub keyspace: &'a str,
}

/// What a change of the schema is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaTarget<'a> {
    /// The keyspace.
    Keyspace,
    /// A table or view.
    Table(&'a str),
    /// A user type.
    Type(&'a str),
    /// A function (v4 and later; before, its keyspace counts as updated).
    Function {
        /// Its name.
        name: &'a str,
        /// The types of its arguments.
        argument_types: Vec<&'a str>,
    },
    /// An aggregate, likewise.
    Aggregate {
        /// Its name.
        name: &'a str,
        /// The types of its arguments.
        argument_types: Vec<&'a str>,
    },
}

impl<'a> Event<'a> {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> EventKind {
        match self {
            Self::NewNode(_) | Self::RemovedNode(_) => EventKind::TopologyChange,
            Self::Up(_) | Self::Down(_) => EventKind::StatusChange,
            Self::SchemaChange(_) => EventKind::SchemaChange,
        }
    }

    /// Appends it as the body of an EVENT.
    pub fn write(&self, out: &mut Vec<u8>, version: ProtocolVersion) {
        write_string(out, self.kind().name());
        let (word, node) = match self {
            Self::NewNode(node) => ("NEW_NODE", node),
            Self::RemovedNode(node) => ("REMOVED_NODE", node),
            Self::Up(node) => ("UP", node),
            Self::Down(node) => ("DOWN", node),
            Self::SchemaChange(change) => return change.write(out, version),
        };
        write_string(out, word);
        write_inet(out, *node);
    }

    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let kind = EventKind::from_name(reader.string()?)?;
        if kind == EventKind::SchemaChange {
            return Ok(Self::SchemaChange(SchemaChange::read(reader)?));
        }
        let word = reader.string()?;
        let node = reader.inet()?;
        match (kind, word) {
            (EventKind::TopologyChange, "NEW_NODE") => Ok(Self::NewNode(node)),
            (EventKind::TopologyChange, "REMOVED_NODE") => Ok(Self::RemovedNode(node)),
            (EventKind::StatusChange, "UP") => Ok(Self::Up(node)),
            (EventKind::StatusChange, "DOWN") => Ok(Self::Down(node)),
            _ => Err(WireError::UnknownWord { notation: Notation::Event }),
        }
    }
}

impl<'a> SchemaChange<'a> {
    /// Appends it, as in an EVENT or a RESULT.
    pub fn write(&self, out: &mut Vec<u8>, version: ProtocolVersion) {
        let (mut change, mut target, name, arguments) = match &self.target {
            SchemaTarget::Keyspace => (self.change, "KEYSPACE", None, None),
            SchemaTarget::Table(name) => (self.change, "TABLE", Some(*name), None),
            SchemaTarget::Type(name) => (self.change, "TYPE", Some(*name), None),
            SchemaTarget::Function { name, argument_types } => (self.change, "FUNCTION", Some(*name), Some(argument_types)),
            SchemaTarget::Aggregate { name, argument_types } => (self.change, "AGGREGATE", Some(*name), Some(argument_types)),
        };
        let unknown = version < ProtocolVersion::V4 && arguments.is_some();
        if unknown {
            (change, target) = (ChangeKind::Updated, "KEYSPACE");
        }
        write_string(out, change.name());
        write_string(out, target);
        write_string(out, self.keyspace);
        if unknown {
            return;
        }
        if let Some(name) = name {
            write_string(out, name);
        }
        if let Some(arguments) = arguments {
            write_string_list(out, arguments.iter().copied());
        }
    }

    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let change = ChangeKind::from_name(reader.string()?)?;
        let target = reader.string()?;
        let keyspace = reader.string()?;
        let target = match target {
            "KEYSPACE" => SchemaTarget::Keyspace,
            "TABLE" => SchemaTarget::Table(reader.string()?),
            "TYPE" => SchemaTarget::Type(reader.string()?),
            "FUNCTION" => SchemaTarget::Function { name: reader.string()?, argument_types: reader.string_list()?.iter().collect() },
            "AGGREGATE" => SchemaTarget::Aggregate { name: reader.string()?, argument_types: reader.string_list()?.iter().collect() },
            _ => return Err(WireError::UnknownWord { notation: Notation::SchemaChange }),
        };
        Ok(Self { change, target, keyspace })
    }
}

impl ChangeKind {
    fn name(self) -> &'static str {
        match self {
            Self::Created => "CREATED",
            Self::Updated => "UPDATED",
            Self::Dropped => "DROPPED",
        }
    }

    fn from_name(name: &str) -> Result<Self, WireError> {
        let known = [Self::Created, Self::Updated, Self::Dropped].into_iter().find(|kind| kind.name() == name);
        known.ok_or(WireError::UnknownWord { notation: Notation::SchemaChange })
    }
}
