//! ERROR: a code, a text, and for some codes what drivers decide a retry by.
//!
//! Versions differ: v3 has no failures, only timeouts; v5 says which replica failed why, and has an answer for conditional writes of unknown
//! outcome. [`ErrorResponse::write`] gives older versions what Cassandra gives them.

use std::net::IpAddr;

use super::writer::{
    write_byte, write_consistency, write_inet_address, write_int, write_short, write_short_bytes, write_string, write_string_list,
};
use super::{Consistency, Notation, ProtocolVersion, Reader, WireError};

/// An ERROR message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorResponse<'a> {
    /// Text for humans.
    pub message: &'a str,
    /// Its code and what comes with that.
    pub kind: ErrorKind<'a>,
}

/// What was being written when a write failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in the protocol's section 9")]
pub enum WriteType {
    Simple,
    Batch,
    UnloggedBatch,
    Counter,
    BatchLog,
    Cas,
    View,
    Cdc,
}

impl WriteType {
    /// All of them.
    pub const ALL: [Self; 8] =
        [Self::Simple, Self::Batch, Self::UnloggedBatch, Self::Counter, Self::BatchLog, Self::Cas, Self::View, Self::Cdc];

    /// Its name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Simple => "SIMPLE",
            Self::Batch => "BATCH",
            Self::UnloggedBatch => "UNLOGGED_BATCH",
            Self::Counter => "COUNTER",
            Self::BatchLog => "BATCH_LOG",
            Self::Cas => "CAS",
            Self::View => "VIEW",
            Self::Cdc => "CDC",
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let name = reader.string()?;
        let known = Self::ALL.into_iter().find(|known| known.name() == name);
        known.ok_or(WireError::UnknownWord { notation: Notation::WriteType })
    }
}

/// How many replicas answered of how many that had to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The level asked for.
    pub consistency: Consistency,
    /// Replicas that answered.
    pub received: i32,
    /// Replicas that had to.
    pub required: i32,
}

/// Which replicas failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    /// How many.
    pub count: i32,
    /// Each with a code for the reason (v5).
    pub reasons: Vec<(IpAddr, u16)>,
}

/// Whether the replica that was asked for the data itself answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum DataPresent {
    Yes,
    No,
}

/// The kind of an error, with the code in its description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorKind<'a> {
    /// 0x0000: a bug or a fault of the server.
    Server,
    /// 0x000A: a violation of the protocol by the client.
    Protocol,
    /// 0x0100: wrong name or password.
    BadCredentials,
    /// 0x1000: too few replicas alive.
    Unavailable {
        /// The level asked for.
        consistency: Consistency,
        /// Replicas that it needs.
        required: i32,
        /// Replicas alive.
        alive: i32,
    },
    /// 0x1001: no room for the request.
    Overloaded,
    /// 0x1002: not ready yet.
    IsBootstrapping,
    /// 0x1003: TRUNCATE failed.
    Truncate,
    /// 0x1100: a write was not acknowledged in time; its outcome is unknown.
    WriteTimeout {
        /// Who answered.
        progress: Progress,
        /// What was written.
        write_type: WriteType,
        /// How often a conditional write met another (v5, for [`WriteType::Cas`]).
        contentions: u16,
    },
    /// 0x1200: a read was not answered in time.
    ReadTimeout {
        /// Who answered.
        progress: Progress,
        /// Whether the data had come.
        data_present: DataPresent,
    },
    /// 0x1300: a read failed on replicas.
    ReadFailure {
        /// Who answered.
        progress: Progress,
        /// Who failed.
        failures: Failures,
        /// Whether the data had come.
        data_present: DataPresent,
    },
    /// 0x1400: a user-defined function failed.
    FunctionFailure {
        /// Its keyspace.
        keyspace: &'a str,
        /// Its name.
        function: &'a str,
        /// The types of its arguments.
        argument_types: Vec<&'a str>,
    },
    /// 0x1500: a write failed on replicas.
    WriteFailure {
        /// Who answered.
        progress: Progress,
        /// Who failed.
        failures: Failures,
        /// What was written.
        write_type: WriteType,
    },
    /// 0x1600: no room for change data capture.
    CdcWriteFailure,
    /// 0x1700: the outcome of a conditional write is unknown.
    CasWriteUnknown {
        /// Who answered.
        progress: Progress,
    },
    /// 0x2000: not CQL.
    Syntax,
    /// 0x2100: not allowed.
    Unauthorized,
    /// 0x2200: CQL, but makes no sense here.
    Invalid,
    /// 0x2300: makes no sense with this configuration.
    Config,
    /// 0x2400: what shall be created exists.
    AlreadyExists {
        /// Its keyspace, or the keyspace itself.
        keyspace: &'a str,
        /// The table, empty if it is about the keyspace.
        table: &'a str,
    },
    /// 0x2500: no statement is prepared under this id; drivers prepare it again.
    Unprepared {
        /// The id.
        id: &'a [u8],
    },
    /// A code that is not listed here, received from another server.
    Other {
        /// The code.
        code: i32,
    },
}

impl ErrorKind<'_> {
    /// Its code.
    #[must_use]
    pub fn code(&self) -> i32 {
        match self {
            Self::Server => 0x0000,
            Self::Protocol => 0x000A,
            Self::BadCredentials => 0x0100,
            Self::Unavailable { .. } => 0x1000,
            Self::Overloaded => 0x1001,
            Self::IsBootstrapping => 0x1002,
            Self::Truncate => 0x1003,
            Self::WriteTimeout { .. } => 0x1100,
            Self::ReadTimeout { .. } => 0x1200,
            Self::ReadFailure { .. } => 0x1300,
            Self::FunctionFailure { .. } => 0x1400,
            Self::WriteFailure { .. } => 0x1500,
            Self::CdcWriteFailure => 0x1600,
            Self::CasWriteUnknown { .. } => 0x1700,
            Self::Syntax => 0x2000,
            Self::Unauthorized => 0x2100,
            Self::Invalid => 0x2200,
            Self::Config => 0x2300,
            Self::AlreadyExists { .. } => 0x2400,
            Self::Unprepared { .. } => 0x2500,
            Self::Other { code } => *code,
        }
    }

    /// The nearest kind that `version` has.
    fn in_version(&self, version: ProtocolVersion) -> Option<ErrorKind<'static>> {
        match *self {
            Self::ReadFailure { progress, data_present, .. } if version < ProtocolVersion::V4 => {
                Some(ErrorKind::ReadTimeout { progress, data_present })
            }
            Self::WriteFailure { progress, write_type, .. } if version < ProtocolVersion::V4 => {
                Some(ErrorKind::WriteTimeout { progress, write_type, contentions: 0 })
            }
            Self::FunctionFailure { .. } | Self::CdcWriteFailure if version < ProtocolVersion::V4 => Some(ErrorKind::Invalid),
            Self::CasWriteUnknown { progress } if version < ProtocolVersion::V5 => {
                Some(ErrorKind::WriteTimeout { progress, write_type: WriteType::Cas, contentions: 0 })
            }
            _ => None,
        }
    }

    fn write_fields(&self, out: &mut Vec<u8>, version: ProtocolVersion) {
        match self {
            Self::Unavailable { consistency, required, alive } => {
                write_consistency(out, *consistency);
                write_int(out, *required);
                write_int(out, *alive);
            }
            Self::WriteTimeout { progress, write_type, contentions } => {
                progress.write(out);
                write_string(out, write_type.name());
                if version >= ProtocolVersion::V5 && *write_type == WriteType::Cas {
                    write_short(out, *contentions);
                }
            }
            Self::ReadTimeout { progress, data_present } => {
                progress.write(out);
                data_present.write(out);
            }
            Self::ReadFailure { progress, failures, data_present } => {
                progress.write(out);
                failures.write(out, version);
                data_present.write(out);
            }
            Self::FunctionFailure { keyspace, function, argument_types } => {
                write_string(out, keyspace);
                write_string(out, function);
                write_string_list(out, argument_types.iter().copied());
            }
            Self::WriteFailure { progress, failures, write_type } => {
                progress.write(out);
                failures.write(out, version);
                write_string(out, write_type.name());
            }
            Self::CasWriteUnknown { progress } => progress.write(out),
            Self::AlreadyExists { keyspace, table } => {
                write_string(out, keyspace);
                write_string(out, table);
            }
            Self::Unprepared { id } => write_short_bytes(out, id),
            _ => {}
        }
    }
}

impl<'a> ErrorResponse<'a> {
    /// Appends it; a kind that `version` does not have becomes the nearest one that it has.
    ///
    /// # Panics
    /// If the id of [`ErrorKind::Unprepared`] is longer than 65,535 bytes, which no `[short bytes]` of a request is.
    pub fn write(&self, out: &mut Vec<u8>, version: ProtocolVersion) {
        let substitute = self.kind.in_version(version);
        let kind = substitute.as_ref().unwrap_or(&self.kind);
        write_int(out, kind.code());
        write_string(out, self.message);
        kind.write_fields(out, version);
    }

    pub(super) fn read(reader: &mut Reader<'a>, version: ProtocolVersion) -> Result<Self, WireError> {
        let code = reader.int()?;
        let message = reader.string()?;
        Ok(Self { message, kind: read_kind(reader, code, version)? })
    }
}

fn read_kind<'a>(reader: &mut Reader<'a>, code: i32, version: ProtocolVersion) -> Result<ErrorKind<'a>, WireError> {
    Ok(match code {
        0x0000 => ErrorKind::Server,
        0x000A => ErrorKind::Protocol,
        0x0100 => ErrorKind::BadCredentials,
        0x1000 => ErrorKind::Unavailable { consistency: reader.consistency()?, required: reader.int()?, alive: reader.int()? },
        0x1001 => ErrorKind::Overloaded,
        0x1002 => ErrorKind::IsBootstrapping,
        0x1003 => ErrorKind::Truncate,
        0x1100 => {
            let (progress, write_type) = (Progress::read(reader)?, WriteType::read(reader)?);
            let counted = version >= ProtocolVersion::V5 && write_type == WriteType::Cas && !reader.rest().is_empty();
            ErrorKind::WriteTimeout { progress, write_type, contentions: if counted { reader.short()? } else { 0 } }
        }
        0x1200 => ErrorKind::ReadTimeout { progress: Progress::read(reader)?, data_present: DataPresent::read(reader)? },
        0x1300 => ErrorKind::ReadFailure {
            progress: Progress::read(reader)?,
            failures: Failures::read(reader, version)?,
            data_present: DataPresent::read(reader)?,
        },
        0x1400 => ErrorKind::FunctionFailure {
            keyspace: reader.string()?,
            function: reader.string()?,
            argument_types: reader.string_list()?.iter().collect(),
        },
        0x1500 => ErrorKind::WriteFailure {
            progress: Progress::read(reader)?,
            failures: Failures::read(reader, version)?,
            write_type: WriteType::read(reader)?,
        },
        0x1600 => ErrorKind::CdcWriteFailure,
        0x1700 => ErrorKind::CasWriteUnknown { progress: Progress::read(reader)? },
        0x2000 => ErrorKind::Syntax,
        0x2100 => ErrorKind::Unauthorized,
        0x2200 => ErrorKind::Invalid,
        0x2300 => ErrorKind::Config,
        0x2400 => ErrorKind::AlreadyExists { keyspace: reader.string()?, table: reader.string()? },
        0x2500 => ErrorKind::Unprepared { id: reader.short_bytes()? },
        code => ErrorKind::Other { code },
    })
}

impl Progress {
    fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self { consistency: reader.consistency()?, received: reader.int()?, required: reader.int()? })
    }

    fn write(&self, out: &mut Vec<u8>) {
        write_consistency(out, self.consistency);
        write_int(out, self.received);
        write_int(out, self.required);
    }
}

impl Failures {
    fn read(reader: &mut Reader<'_>, version: ProtocolVersion) -> Result<Self, WireError> {
        let count = reader.int()?;
        let mut reasons = Vec::new();
        if version >= ProtocolVersion::V5 {
            for _ in 0..count {
                reasons.push((reader.inet_address()?, reader.short()?));
            }
        }
        Ok(Self { count, reasons })
    }

    fn write(&self, out: &mut Vec<u8>, version: ProtocolVersion) {
        if version < ProtocolVersion::V5 {
            return write_int(out, self.count);
        }
        write_int(out, i32::try_from(self.reasons.len()).unwrap_or(i32::MAX));
        for (address, reason) in &self.reasons {
            write_inet_address(out, *address);
            write_short(out, *reason);
        }
    }
}

impl DataPresent {
    fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(if reader.byte()? == 0 { Self::No } else { Self::Yes })
    }

    fn write(self, out: &mut Vec<u8>) {
        write_byte(out, u8::from(self == Self::Yes));
    }
}
