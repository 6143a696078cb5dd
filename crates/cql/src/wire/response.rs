//! Responses: writers of the simple ones for the server, and a decoder of all for clients.
//!
//! ERROR is in [`ErrorResponse`], EVENT in [`Event`], rows in [`super::begin_rows`].

use super::metadata::{Described, ReceivedMetadata};
use super::rows::RESULT_ROWS;
use super::writer::{write_bytes, write_int, write_short_bytes, write_string, write_string_multimap};
use super::{
    ErrorResponse, Event, Frame, Opcode, ProtocolVersion, Reader, ResponseEnvelope, ResultMetadata, Rows, SchemaChange, StringMultimap,
    WireError,
};

const RESULT_VOID: i32 = 1;

const RESULT_SET_KEYSPACE: i32 = 3;
const RESULT_PREPARED: i32 = 4;
const RESULT_SCHEMA_CHANGE: i32 = 5;

/// Appends AUTHENTICATE: the class name of the authenticator that drivers choose their plug-in by.
pub fn write_authenticate(out: &mut Vec<u8>, authenticator: &str) {
    write_string(out, authenticator);
}

/// Appends AUTH_CHALLENGE or AUTH_SUCCESS.
pub fn write_auth_token(out: &mut Vec<u8>, token: Option<&[u8]>) {
    write_bytes(out, token);
}

/// Appends SUPPORTED.
pub fn write_supported<'a, V>(out: &mut Vec<u8>, options: impl IntoIterator<Item = (&'a str, V)>)
where
    V: IntoIterator<Item = &'a str>,
{
    write_string_multimap(out, options);
}

/// Appends a RESULT without content.
pub fn write_void(out: &mut Vec<u8>) {
    write_int(out, RESULT_VOID);
}

/// Appends the RESULT of USE.
pub fn write_set_keyspace(out: &mut Vec<u8>, keyspace: &str) {
    write_int(out, RESULT_SET_KEYSPACE);
    write_string(out, keyspace);
}

/// Appends the RESULT of a statement that changed the schema.
pub fn write_schema_change(out: &mut Vec<u8>, change: &SchemaChange<'_>, version: ProtocolVersion) {
    write_int(out, RESULT_SCHEMA_CHANGE);
    change.write(out, version);
}

/// The RESULT of PREPARE.
#[derive(Clone, Copy, Debug)]
pub struct Prepared<'a> {
    /// The id to execute it by.
    pub id: &'a [u8],
    /// The id of the result's columns (sent in v5).
    pub result_metadata_id: &'a [u8],
    /// The statement's markers.
    pub markers: &'a ResultMetadata,
    /// Positions of the partition key's columns among the markers, empty if they are not all there (sent from v4).
    pub key_indexes: &'a [u16],
    /// The result's columns.
    pub result: &'a ResultMetadata,
    /// Flags of extensions that STARTUP agreed on, such as Scylla's mark of conditional statements; 0 for none.
    pub extra_flags: u32,
}

impl Prepared<'_> {
    /// Appends it.
    ///
    /// # Panics
    /// If an id is longer than 65,535 bytes.
    pub fn write(&self, out: &mut Vec<u8>, version: ProtocolVersion) {
        write_int(out, RESULT_PREPARED);
        write_short_bytes(out, self.id);
        if version >= ProtocolVersion::V5 {
            write_short_bytes(out, self.result_metadata_id);
        }
        self.markers.write_for_markers(out, version, self.key_indexes, self.extra_flags);
        self.result.write_for_result(out);
    }
}

/// A response that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response<'a> {
    /// The request failed.
    Error(ErrorResponse<'a>),
    /// The connection is ready.
    Ready,
    /// The server wants to know who this is; its authenticator's class.
    Authenticate(&'a str),
    /// What STARTUP can choose from.
    Supported(StringMultimap<'a>),
    /// The result of a statement.
    Result(ResultResponse<'a>),
    /// Something happened.
    Event(Event<'a>),
    /// The server wants to know more.
    AuthChallenge(Option<&'a [u8]>),
    /// The server knows who this is.
    AuthSuccess(Option<&'a [u8]>),
}

/// A RESULT that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultResponse<'a> {
    /// Done, nothing to tell.
    Void,
    /// Rows.
    Rows(Rows<'a>),
    /// The keyspace that USE has set.
    SetKeyspace(&'a str),
    /// A prepared statement.
    Prepared(ReceivedPrepared<'a>),
    /// What the statement changed in the schema.
    SchemaChange(SchemaChange<'a>),
}

/// The RESULT of PREPARE, received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedPrepared<'a> {
    /// The id to execute it by.
    pub id: &'a [u8],
    /// The id of the result's columns (v5, empty before).
    pub result_metadata_id: &'a [u8],
    /// The statement's markers.
    pub markers: ReceivedMetadata<'a>,
    /// The result's columns.
    pub result: ReceivedMetadata<'a>,
}

impl<'a> Response<'a> {
    /// Decodes the response of a frame.
    ///
    /// # Errors
    /// [`WireError::UnknownOpcode`], [`WireError::UnexpectedOpcode`] for a request, and all errors of the fields.
    pub fn decode(frame: &Frame<'a>) -> Result<(ResponseEnvelope<'a>, Self), WireError> {
        let opcode = frame.header.opcode()?;
        let (envelope, mut reader) = ResponseEnvelope::read(frame)?;
        Ok((envelope, Self::read(&mut reader, opcode, frame.header.version)?))
    }

    fn read(reader: &mut Reader<'a>, opcode: Opcode, version: ProtocolVersion) -> Result<Self, WireError> {
        Ok(match opcode {
            Opcode::Result => Self::Result(ResultResponse::read(reader, version)?),
            Opcode::Error => Self::Error(ErrorResponse::read(reader, version)?),
            Opcode::Ready => Self::Ready,
            Opcode::Authenticate => Self::Authenticate(reader.string()?),
            Opcode::Supported => Self::Supported(reader.string_multimap()?),
            Opcode::Event => Self::Event(Event::read(reader)?),
            Opcode::AuthChallenge => Self::AuthChallenge(reader.bytes()?),
            Opcode::AuthSuccess => Self::AuthSuccess(reader.bytes()?),
            request => return Err(WireError::UnexpectedOpcode { opcode: request as u8 }),
        })
    }
}

impl<'a> ResultResponse<'a> {
    fn read(reader: &mut Reader<'a>, version: ProtocolVersion) -> Result<Self, WireError> {
        Ok(match reader.int()? {
            RESULT_VOID => Self::Void,
            RESULT_ROWS => Self::Rows(Rows::read(reader)?),
            RESULT_SET_KEYSPACE => Self::SetKeyspace(reader.string()?),
            RESULT_PREPARED => Self::Prepared(ReceivedPrepared {
                id: reader.short_bytes()?,
                result_metadata_id: if version >= ProtocolVersion::V5 { reader.short_bytes()? } else { &[] },
                markers: ReceivedMetadata::read(reader, Described::Markers(version))?,
                result: ReceivedMetadata::read(reader, Described::Rows)?,
            }),
            RESULT_SCHEMA_CHANGE => Self::SchemaChange(SchemaChange::read(reader)?),
            kind => return Err(WireError::UnknownResultKind { kind }),
        })
    }
}
