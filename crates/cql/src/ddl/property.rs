//! The options after WITH, taken one by one: what is left at the end is unknown.

use super::DdlError;
use crate::language::ast::{Property, PropertyValue};
use std::collections::BTreeMap;

/// The options of one statement that have not been taken yet.
pub(super) struct Properties<'a> {
    left: Vec<&'a Property>,
}

impl<'a> Properties<'a> {
    pub(super) fn new(properties: &'a [Property]) -> Self {
        Self { left: properties.iter().collect() }
    }

    fn take(&mut self, name: &str) -> Option<&'a PropertyValue> {
        let position = self.left.iter().position(|property| property.name == name)?;
        Some(&self.left.remove(position).value)
    }

    /// Whether the option `name` is there and a map.
    pub(super) fn is_map(&self, name: &str) -> bool {
        self.left.iter().any(|property| property.name == name && matches!(property.value, PropertyValue::Map(_)))
    }

    /// The option `name` as text without quotes.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, DdlError> {
        match self.take(name) {
            None => Ok(None),
            Some(PropertyValue::Literal(literal)) => Ok(Some(literal.raw_text().into_owned())),
            Some(PropertyValue::Word(word)) => Ok(Some(word.as_str().to_owned())),
            Some(PropertyValue::Map(_)) => Err(DdlError::NotAString(name.to_owned())),
        }
    }

    pub(super) fn boolean(&mut self, name: &str) -> Result<Option<bool>, DdlError> {
        let Some(value) = self.text(name)? else { return Ok(None) };
        match value.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" => Ok(Some(true)),
            "0" | "false" | "no" => Ok(Some(false)),
            _ => Err(DdlError::NotABoolean { name: name.to_owned(), value }),
        }
    }

    pub(super) fn integer(&mut self, name: &str) -> Result<Option<i32>, DdlError> {
        let Some(value) = self.text(name)? else { return Ok(None) };
        value.parse().map(Some).map_err(|_| DdlError::NotAnInteger { name: name.to_owned(), value })
    }

    pub(super) fn double(&mut self, name: &str) -> Result<Option<f64>, DdlError> {
        let Some(value) = self.text(name)? else { return Ok(None) };
        value.trim().parse().map(Some).map_err(|_| DdlError::NotADouble { name: name.to_owned(), value })
    }

    /// The option `name` as a map of texts without quotes.
    pub(super) fn map(&mut self, name: &str) -> Result<Option<BTreeMap<String, String>>, DdlError> {
        match self.take(name) {
            None => Ok(None),
            Some(PropertyValue::Map(entries)) => {
                let text = entries.iter().map(|(key, value)| (key.raw_text().into_owned(), value.raw_text().into_owned()));
                Ok(Some(text.collect()))
            }
            Some(_) => Err(DdlError::NotAMap(name.to_owned())),
        }
    }

    /// Refuses what nobody took.
    pub(super) fn finish(self) -> Result<(), DdlError> {
        match self.left.first() {
            Some(property) => Err(DdlError::UnknownProperty(property.name.as_str().to_owned())),
            None => Ok(()),
        }
    }
}
