//! Types as `[option]`s: an id, and for those built from others their parts.
//!
//! A type that is newer than the protocol version travels as Cassandra's class name under id 0: date, time, smallint and tinyint in v3, duration
//! before v5, vectors always. The wire does not say what is frozen; decoded types are not.

use std::sync::Arc;

use model::{DataType, Frozen, UserType};

use super::writer::{write_short, write_string};
use super::{ProtocolVersion, Reader, TYPE_DEPTH_MAX, WireError, marshal_class, parse_marshal_class};

const CUSTOM: u16 = 0x0000;
const LIST: u16 = 0x0020;
const MAP: u16 = 0x0021;
const SET: u16 = 0x0022;
const UDT: u16 = 0x0030;
const TUPLE: u16 = 0x0031;

/// Ids of the types without parts, and the first version that knows them.
static SIMPLE: [(u16, DataType, ProtocolVersion); 20] = [
    (0x0001, DataType::Ascii, ProtocolVersion::V3),
    (0x0002, DataType::BigInt, ProtocolVersion::V3),
    (0x0003, DataType::Blob, ProtocolVersion::V3),
    (0x0004, DataType::Boolean, ProtocolVersion::V3),
    (0x0005, DataType::Counter, ProtocolVersion::V3),
    (0x0006, DataType::Decimal, ProtocolVersion::V3),
    (0x0007, DataType::Double, ProtocolVersion::V3),
    (0x0008, DataType::Float, ProtocolVersion::V3),
    (0x0009, DataType::Int, ProtocolVersion::V3),
    (0x000B, DataType::Timestamp, ProtocolVersion::V3),
    (0x000C, DataType::Uuid, ProtocolVersion::V3),
    (0x000D, DataType::Text, ProtocolVersion::V3),
    (0x000E, DataType::Varint, ProtocolVersion::V3),
    (0x000F, DataType::TimeUuid, ProtocolVersion::V3),
    (0x0010, DataType::Inet, ProtocolVersion::V3),
    (0x0011, DataType::Date, ProtocolVersion::V4),
    (0x0012, DataType::Time, ProtocolVersion::V4),
    (0x0013, DataType::SmallInt, ProtocolVersion::V4),
    (0x0014, DataType::TinyInt, ProtocolVersion::V4),
    (0x0015, DataType::Duration, ProtocolVersion::V5),
];

/// Appends a type.
pub fn write_type(out: &mut Vec<u8>, data_type: &DataType, version: ProtocolVersion) {
    match data_type {
        DataType::List(element, _) => {
            write_short(out, LIST);
            write_type(out, element, version);
        }
        DataType::Set(element, _) => {
            write_short(out, SET);
            write_type(out, element, version);
        }
        DataType::Map(key, value, _) => {
            write_short(out, MAP);
            write_type(out, key, version);
            write_type(out, value, version);
        }
        DataType::Tuple(fields) => {
            write_short(out, TUPLE);
            let count = u16::try_from(fields.len()).unwrap_or(u16::MAX);
            write_short(out, count);
            for field in fields.iter().take(usize::from(count)) {
                write_type(out, field, version);
            }
        }
        DataType::Udt(user_type, _) => {
            write_short(out, UDT);
            write_string(out, &user_type.keyspace);
            write_string(out, &user_type.name);
            let count = u16::try_from(user_type.fields.len()).unwrap_or(u16::MAX);
            write_short(out, count);
            for (name, field) in user_type.fields.iter().take(usize::from(count)) {
                write_string(out, name);
                write_type(out, field, version);
            }
        }
        simple => match SIMPLE.iter().find(|(_, known, since)| known == simple && version >= *since) {
            Some((id, _, _)) => write_short(out, *id),
            None => {
                write_short(out, CUSTOM);
                write_string(out, &marshal_class(simple));
            }
        },
    }
}

/// A type that has been checked but not built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodedType<'a> {
    bytes: &'a [u8],
}

impl<'a> EncodedType<'a> {
    /// Reads and checks a type.
    ///
    /// # Errors
    /// [`WireError::UnknownType`], [`WireError::TypeTooDeep`], and all errors of its fields.
    pub fn read(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let start = *reader;
        skip_type(reader, 0)?;
        Ok(Self { bytes: reader.since(&start) })
    }

    /// Builds it.
    #[must_use]
    pub fn to_data_type(&self) -> DataType {
        // Reading checked all that building reads.
        build_type(&mut Reader::new(self.bytes), 0).unwrap_or_else(|_| DataType::Custom(Arc::from("")))
    }
}

fn deeper(depth: u32) -> Result<u32, WireError> {
    if depth < TYPE_DEPTH_MAX { Ok(depth + 1) } else { Err(WireError::TypeTooDeep { limit: TYPE_DEPTH_MAX }) }
}

fn skip_type(reader: &mut Reader<'_>, depth: u32) -> Result<(), WireError> {
    let depth = deeper(depth)?;
    match reader.short()? {
        CUSTOM => reader.string().map(|_| ()),
        LIST | SET => skip_type(reader, depth),
        MAP => {
            skip_type(reader, depth)?;
            skip_type(reader, depth)
        }
        TUPLE => {
            for _ in 0..reader.short()? {
                skip_type(reader, depth)?;
            }
            Ok(())
        }
        UDT => {
            reader.string()?;
            reader.string()?;
            for _ in 0..reader.short()? {
                reader.string()?;
                skip_type(reader, depth)?;
            }
            Ok(())
        }
        id => simple_type(id).map(|_| ()),
    }
}

fn build_type(reader: &mut Reader<'_>, depth: u32) -> Result<DataType, WireError> {
    let depth = deeper(depth)?;
    Ok(match reader.short()? {
        CUSTOM => parse_marshal_class(reader.string()?),
        LIST => DataType::List(Arc::new(build_type(reader, depth)?), Frozen::No),
        SET => DataType::Set(Arc::new(build_type(reader, depth)?), Frozen::No),
        MAP => {
            let key = Arc::new(build_type(reader, depth)?);
            DataType::Map(key, Arc::new(build_type(reader, depth)?), Frozen::No)
        }
        TUPLE => {
            let count = reader.short()?;
            DataType::Tuple((0..count).map(|_| build_type(reader, depth)).collect::<Result<Vec<_>, _>>()?.into())
        }
        UDT => {
            let (keyspace, name) = (reader.string()?.to_owned(), reader.string()?.to_owned());
            let count = reader.short()?;
            let fields =
                (0..count).map(|_| Ok((reader.string()?.to_owned(), build_type(reader, depth)?))).collect::<Result<Vec<_>, WireError>>()?;
            DataType::Udt(Arc::new(UserType { keyspace, name, fields }), Frozen::No)
        }
        id => simple_type(id)?.clone(),
    })
}

/// Peers name a type only if the version has it, but there is no harm in one that is too new.
fn simple_type(id: u16) -> Result<&'static DataType, WireError> {
    SIMPLE.iter().find(|(known, _, _)| *known == id).map(|(_, data_type, _)| data_type).ok_or(WireError::UnknownType { id })
}
