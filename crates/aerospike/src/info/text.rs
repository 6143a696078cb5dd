//! The forms of text in commands and values.

use std::fmt::{Display, Write};

/// A parameter of a command: `command:name=value;name=value`.
pub(crate) fn parameter<'a>(parameters: &'a str, name: &str) -> Option<&'a str> {
    parameters.split(';').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// A number as clients read it: they keep 31 bits.
pub(super) fn number(value: u64) -> u64 {
    value & 0x7FFF_FFFF
}

/// Items with a semicolon between them.
pub(super) fn list(items: impl Iterator<Item = impl Display>) -> String {
    let mut text = String::new();
    for item in items {
        let separator = if text.is_empty() { "" } else { ";" };
        write!(text, "{separator}{item}").expect("text takes what is written to it");
    }
    text
}
