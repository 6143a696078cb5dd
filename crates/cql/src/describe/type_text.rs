//! Types as a statement must write them.

use crate::language::keyword::{Keyword, KeywordClass};
use crate::language::quote_identifier;
use model::{DataType, Frozen};
use std::borrow::Cow;

/// `data_type` as CQL writes it: as [`DataType`]'s own text, with quotes around the names of user types that need them.
#[must_use]
pub fn type_text(data_type: &DataType) -> String {
    let frozen = |frozen: Frozen, text: String| if frozen == Frozen::Yes { format!("frozen<{text}>") } else { text };
    match data_type {
        DataType::List(element, is_frozen) => frozen(*is_frozen, format!("list<{}>", type_text(element))),
        DataType::Set(element, is_frozen) => frozen(*is_frozen, format!("set<{}>", type_text(element))),
        DataType::Map(key, value, is_frozen) => frozen(*is_frozen, format!("map<{}, {}>", type_text(key), type_text(value))),
        DataType::Tuple(fields) => format!("frozen<tuple<{}>>", fields.iter().map(type_text).collect::<Vec<_>>().join(", ")),
        DataType::Udt(user, is_frozen) => frozen(*is_frozen, quote_type_name(&user.name).into_owned()),
        DataType::Vector(element, dimension) => format!("vector<{}, {dimension}>", type_text(element)),
        other => other.to_string(),
    }
}

/// The name of a user type: quoted also when it is that of a native type or another word that a type cannot have as its name.
pub(super) fn quote_type_name(name: &str) -> Cow<'_, str> {
    let is_word = Keyword::lookup(name.as_bytes()).is_some_and(|keyword| keyword.class() != KeywordClass::Basic);
    let is_reserved = RESERVED_TYPE_NAMES.contains(&name) || TYPE_WORDS.contains(&name);
    if is_word || is_reserved { Cow::Owned(format!("\"{name}\"")) } else { quote_identifier(name) }
}

/// Names that types may have only in quotes.
const RESERVED_TYPE_NAMES: [&str; 8] = ["bitstring", "byte", "complex", "date", "enum", "interval", "macaddr", "smallint"];
/// Words that start another type.
const TYPE_WORDS: [&str; 6] = ["frozen", "list", "map", "set", "tuple", "vector"];
