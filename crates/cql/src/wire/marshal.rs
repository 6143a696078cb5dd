//! Cassandra's class names of types: what the wire has instead of an id for types that a protocol version does not know.
//!
//! For instance `org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType , 3)`.

use std::fmt::Write;
use std::sync::Arc;

use model::{DataType, Frozen, UserType, VECTOR_DIMENSIONS_MAX};

/// The deepest nesting of types that is read.
pub const TYPE_DEPTH_MAX: u32 = 64;

const PACKAGE: &str = "org.apache.cassandra.db.marshal.";

/// Classes of types without parameters.
static SIMPLE: [(&str, DataType); 20] = [
    ("AsciiType", DataType::Ascii),
    ("LongType", DataType::BigInt),
    ("BytesType", DataType::Blob),
    ("BooleanType", DataType::Boolean),
    ("CounterColumnType", DataType::Counter),
    ("SimpleDateType", DataType::Date),
    ("DecimalType", DataType::Decimal),
    ("DoubleType", DataType::Double),
    ("DurationType", DataType::Duration),
    ("FloatType", DataType::Float),
    ("InetAddressType", DataType::Inet),
    ("Int32Type", DataType::Int),
    ("ShortType", DataType::SmallInt),
    ("UTF8Type", DataType::Text),
    ("TimeType", DataType::Time),
    ("TimestampType", DataType::Timestamp),
    ("TimeUUIDType", DataType::TimeUuid),
    ("ByteType", DataType::TinyInt),
    ("UUIDType", DataType::Uuid),
    ("IntegerType", DataType::Varint),
];

/// Whether a frozen type says so: inside one that does, and inside a tuple, none does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Freezing {
    Named,
    Implied,
}

/// The class name of `data_type`.
#[must_use]
pub fn marshal_class(data_type: &DataType) -> String {
    let mut name = String::new();
    write_class(&mut name, data_type, Freezing::Named);
    name
}

fn write_class(name: &mut String, data_type: &DataType, freezing: Freezing) {
    let frozen = matches!(
        data_type,
        DataType::List(_, Frozen::Yes) | DataType::Set(_, Frozen::Yes) | DataType::Map(_, _, Frozen::Yes) | DataType::Udt(_, Frozen::Yes)
    );
    if frozen && freezing == Freezing::Named {
        name.push_str(PACKAGE);
        name.push_str("FrozenType(");
        write_class(name, data_type, Freezing::Implied);
        name.push(')');
        return;
    }
    match data_type {
        DataType::List(element, _) => write_parameters(name, "ListType", [&**element], freezing),
        DataType::Set(element, _) => write_parameters(name, "SetType", [&**element], freezing),
        DataType::Map(key, value, _) => write_parameters(name, "MapType", [&**key, &**value], freezing),
        DataType::Tuple(fields) => write_parameters(name, "TupleType", fields.iter(), Freezing::Implied),
        DataType::Udt(user_type, _) => {
            let _ = write!(name, "{PACKAGE}UserType({},", user_type.keyspace);
            write_hex(name, &user_type.name);
            for (field, field_type) in &user_type.fields {
                name.push(',');
                write_hex(name, field);
                name.push(':');
                write_class(name, field_type, freezing);
            }
            name.push(')');
        }
        DataType::Vector(element, dimension) => {
            name.push_str(PACKAGE);
            name.push_str("VectorType(");
            write_class(name, element, freezing);
            let _ = write!(name, " , {dimension})");
        }
        DataType::Custom(class) => name.push_str(class),
        simple => {
            if let Some((class, _)) = SIMPLE.iter().find(|(_, known)| known == simple) {
                name.push_str(PACKAGE);
                name.push_str(class);
            }
        }
    }
}

fn write_parameters<'a>(name: &mut String, class: &str, parameters: impl IntoIterator<Item = &'a DataType>, freezing: Freezing) {
    name.push_str(PACKAGE);
    name.push_str(class);
    let mut separator = '(';
    for parameter in parameters {
        name.push(separator);
        write_class(name, parameter, freezing);
        separator = ',';
    }
    name.push(')');
}

fn write_hex(name: &mut String, text: &str) {
    for byte in text.bytes() {
        let _ = write!(name, "{byte:02x}");
    }
}

/// The type of a class name, [`DataType::Custom`] if it is not one of the known.
#[must_use]
pub fn parse_marshal_class(class: &str) -> DataType {
    let mut parser = Parser { rest: class };
    match parser.class(0) {
        Some(data_type) if parser.rest.trim().is_empty() => data_type,
        _ => DataType::Custom(Arc::from(class)),
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn class(&mut self, depth: u32) -> Option<DataType> {
        if depth >= TYPE_DEPTH_MAX {
            return None;
        }
        let word = self.word();
        let name = word.strip_prefix(PACKAGE).unwrap_or(word);
        if let Some((_, simple)) = SIMPLE.iter().find(|(class, _)| *class == name) {
            return Some(simple.clone());
        }
        self.expect('(')?;
        let parsed = match name {
            "FrozenType" => self.class(depth + 1)?.frozen(),
            "ListType" => DataType::List(Arc::new(self.class(depth + 1)?), Frozen::No),
            "SetType" => DataType::Set(Arc::new(self.class(depth + 1)?), Frozen::No),
            "MapType" => {
                let key = Arc::new(self.class(depth + 1)?);
                self.expect(',')?;
                DataType::Map(key, Arc::new(self.class(depth + 1)?), Frozen::No)
            }
            "TupleType" => DataType::Tuple(self.fields(depth)?.into()),
            "VectorType" => {
                let element = Arc::new(self.class(depth + 1)?);
                self.expect(',')?;
                let dimension = self.word().parse().ok().filter(|dimension| (1..=VECTOR_DIMENSIONS_MAX).contains(dimension))?;
                DataType::Vector(element, dimension)
            }
            "UserType" => DataType::Udt(Arc::new(self.user_type(depth)?), Frozen::No),
            _ => return None,
        };
        self.expect(')')?;
        Some(parsed)
    }

    fn fields(&mut self, depth: u32) -> Option<Vec<DataType>> {
        let mut fields = vec![self.class(depth + 1)?];
        while self.accept(',') {
            fields.push(self.class(depth + 1)?);
        }
        Some(fields)
    }

    fn user_type(&mut self, depth: u32) -> Option<UserType> {
        let keyspace = self.word().to_owned();
        self.expect(',')?;
        let name = unhex(self.word())?;
        let mut fields = Vec::new();
        while self.accept(',') {
            let field = unhex(self.word())?;
            self.expect(':')?;
            fields.push((field, self.class(depth + 1)?));
        }
        Some(UserType { keyspace, name, fields })
    }

    fn word(&mut self) -> &'a str {
        let rest = self.rest.trim_start();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '_')).unwrap_or(rest.len());
        let (word, rest) = rest.split_at_checked(end).unwrap_or((rest, ""));
        self.rest = rest;
        word
    }

    fn accept(&mut self, wanted: char) -> bool {
        match self.rest.trim_start().strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, wanted: char) -> Option<()> {
        self.accept(wanted).then_some(())
    }
}

fn unhex(digits: &str) -> Option<String> {
    let bytes = digits.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    if digits.len().is_multiple_of(2) { String::from_utf8(bytes.collect::<Option<_>>()?).ok() } else { None }
}
