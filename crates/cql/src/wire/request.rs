//! Requests: what a client asks, borrowed from the frame's body.
//!
//! Decoding checks every length and every text once and allocates nothing. Bytes after a message are ignored, as the protocol demands.

use super::parameters::since_v5;
use super::writer::{write_bytes, write_int, write_long_string, write_short_bytes, write_string, write_string_list, write_string_map};
use super::{
    Batch, Frame, Opcode, ProtocolVersion, QueryParameters, Reader, RequestEnvelope, StringList, StringMap, VersionedFeature, WireError,
};

const PREPARE_KEYSPACE: u32 = 0x01;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Opens the connection, with options such as `CQL_VERSION` and `COMPRESSION`.
    Startup(StringMap<'a>),
    /// Asks for SUPPORTED; also a heartbeat.
    Options,
    /// Runs a statement.
    Query(Query<'a>),
    /// Prepares a statement.
    Prepare(Prepare<'a>),
    /// Runs a prepared statement.
    Execute(Execute<'a>),
    /// Runs several statements.
    Batch(Batch<'a>),
    /// Subscribes to kinds of events.
    Register(StringList<'a>),
    /// Answers AUTHENTICATE or AUTH_CHALLENGE.
    AuthResponse(Option<&'a [u8]>),
}

/// A QUERY request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query<'a> {
    /// The statement's text.
    pub text: &'a str,
    /// Its parameters.
    pub parameters: QueryParameters<'a>,
}

/// A PREPARE request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepare<'a> {
    /// The statement's text.
    pub text: &'a str,
    /// Keyspace of unqualified names (v5).
    pub keyspace: Option<&'a str>,
}

/// An EXECUTE request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execute<'a> {
    /// The id that PREPARE gave.
    pub id: &'a [u8],
    /// The id of the result's columns that the client knows (v5, empty before).
    pub result_metadata_id: &'a [u8],
    /// Its parameters.
    pub parameters: QueryParameters<'a>,
}

impl<'a> Request<'a> {
    /// Decodes the request of a frame.
    ///
    /// # Errors
    /// [`WireError::UnknownOpcode`], [`WireError::UnexpectedOpcode`] for a response, and all errors of the fields. The frame's borders are
    /// intact: the connection can go on after the error is answered.
    #[inline]
    pub fn decode(frame: &Frame<'a>) -> Result<(RequestEnvelope<'a>, Self), WireError> {
        let opcode = frame.header.opcode()?;
        let (envelope, mut reader) = RequestEnvelope::read(frame)?;
        Ok((envelope, Self::read(&mut reader, opcode, frame.header.version)?))
    }

    fn read(reader: &mut Reader<'a>, opcode: Opcode, version: ProtocolVersion) -> Result<Self, WireError> {
        Ok(match opcode {
            Opcode::Execute => Self::Execute(Execute {
                id: reader.short_bytes()?,
                result_metadata_id: if version >= ProtocolVersion::V5 { reader.short_bytes()? } else { &[] },
                parameters: QueryParameters::read(reader, version)?,
            }),
            Opcode::Query => Self::Query(Query { text: reader.long_string()?, parameters: QueryParameters::read(reader, version)? }),
            Opcode::Prepare => Self::Prepare(Prepare::read(reader, version)?),
            Opcode::Batch => Self::Batch(Batch::read(reader, version)?),
            Opcode::Startup => Self::Startup(reader.string_map()?),
            Opcode::Options => Self::Options,
            Opcode::Register => Self::Register(reader.string_list()?),
            Opcode::AuthResponse => Self::AuthResponse(reader.bytes()?),
            response => return Err(WireError::UnexpectedOpcode { opcode: response as u8 }),
        })
    }

    /// Its opcode.
    #[must_use]
    pub fn opcode(&self) -> Opcode {
        match self {
            Self::Startup(_) => Opcode::Startup,
            Self::Options => Opcode::Options,
            Self::Query(_) => Opcode::Query,
            Self::Prepare(_) => Opcode::Prepare,
            Self::Execute(_) => Opcode::Execute,
            Self::Batch(_) => Opcode::Batch,
            Self::Register(_) => Opcode::Register,
            Self::AuthResponse(_) => Opcode::AuthResponse,
        }
    }

    /// Appends the message, after the envelope if there is one.
    ///
    /// # Errors
    /// [`WireError::NotInVersion`] for a field that `version` does not have.
    ///
    /// # Panics
    /// If an id is longer than 65,535 bytes; they come from a server, which cannot give such.
    pub fn write(&self, out: &mut Vec<u8>, version: ProtocolVersion) -> Result<(), WireError> {
        match self {
            Self::Startup(options) => options.write(out),
            Self::Options => {}
            Self::Query(query) => {
                write_long_string(out, query.text);
                query.parameters.write(out, version)?;
            }
            Self::Prepare(prepare) => prepare.write(out, version)?,
            Self::Execute(execute) => {
                write_short_bytes(out, execute.id);
                if version >= ProtocolVersion::V5 {
                    write_short_bytes(out, execute.result_metadata_id);
                }
                execute.parameters.write(out, version)?;
            }
            Self::Batch(batch) => batch.write(out, version)?,
            Self::Register(kinds) => kinds.write(out),
            Self::AuthResponse(token) => write_bytes(out, *token),
        }
        Ok(())
    }
}

impl<'a> Prepare<'a> {
    fn read(reader: &mut Reader<'a>, version: ProtocolVersion) -> Result<Self, WireError> {
        let text = reader.long_string()?;
        let flags = if version >= ProtocolVersion::V5 { reader.int()?.cast_unsigned() } else { 0 };
        if flags & !PREPARE_KEYSPACE != 0 {
            return Err(WireError::UnknownFlags { flags: flags & !PREPARE_KEYSPACE });
        }
        let keyspace = if flags & PREPARE_KEYSPACE != 0 { Some(reader.string()?) } else { None };
        Ok(Self { text, keyspace })
    }

    fn write(&self, out: &mut Vec<u8>, version: ProtocolVersion) -> Result<(), WireError> {
        write_long_string(out, self.text);
        if self.keyspace.is_some() {
            since_v5(version, VersionedFeature::Keyspace)?;
        }
        if version >= ProtocolVersion::V5 {
            write_int(out, if self.keyspace.is_some() { PREPARE_KEYSPACE.cast_signed() } else { 0 });
        }
        if let Some(keyspace) = self.keyspace {
            write_string(out, keyspace);
        }
        Ok(())
    }
}

/// Appends a STARTUP message.
pub fn write_startup<'o>(out: &mut Vec<u8>, options: impl IntoIterator<Item = (&'o str, &'o str)>) {
    write_string_map(out, options);
}

/// Appends a REGISTER message.
pub fn write_register<'k>(out: &mut Vec<u8>, kinds: impl IntoIterator<Item = &'k str>) {
    write_string_list(out, kinds);
}
