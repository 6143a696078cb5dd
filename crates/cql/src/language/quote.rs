//! Names back to text, for DESCRIBE and for messages.

use std::borrow::Cow;

use super::keyword::Keyword;

/// `name` as a statement must write it: in quotes unless it is lower case, starts with a letter and is not reserved.
///
/// The empty name and names with quotes inside come out such that the parser reads them back.
#[must_use]
pub fn quote_identifier(name: &str) -> Cow<'_, str> {
    let bytes = name.as_bytes();
    let plain = bytes.first().is_some_and(u8::is_ascii_lowercase)
        && bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_')
        && !Keyword::lookup(bytes).is_some_and(Keyword::is_reserved);
    if plain { Cow::Borrowed(name) } else { Cow::Owned(format!("\"{}\"", name.replace('"', "\"\""))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_need_quotes_get_them() {
        for name in ["a", "a1_b", "key", "ttl", "timestamp", "type", "values", "f47ac10b"] {
            assert!(matches!(quote_identifier(name), Cow::Borrowed(text) if text == name), "{name}");
        }
        for (name, quoted) in [
            ("A", "\"A\""),
            ("select", "\"select\""),
            ("true", "\"true\""),
            ("_a", "\"_a\""),
            ("1a", "\"1a\""),
            ("", "\"\""),
            ("a b", "\"a b\""),
            ("a\"b", "\"a\"\"b\""),
            ("é", "\"é\""),
        ] {
            assert_eq!(quote_identifier(name), quoted);
        }
    }
}
