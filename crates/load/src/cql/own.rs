//! Statements that a study brings itself, instead of those that a load has.
//!
//! Their markers have names: `:key`, `:field0` and so on, `:limit`. A server is sent `?` for each, so that the order is all it has to know.

use serde::{Deserialize, Serialize};

/// Stands for the table in every statement.
const TABLE: &str = "{table}";

/// A study's own statements.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OwnStatements {
    /// Run for each table once it is made, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schema: Vec<String>,
    /// What reads a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<String>,
    /// What reads rows from a key on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scan: Option<String>,
    /// What writes a row that is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insert: Option<String>,
    /// What writes a row that is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update: Option<String>,
}

/// An operation that a study can have a statement for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnPart {
    Read,
    Scan,
    Insert,
    Update,
}

impl OwnPart {
    pub(super) const ALL: [Self; 4] = [Self::Read, Self::Scan, Self::Insert, Self::Update];

    /// Its key in the study.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Scan => "scan",
            Self::Insert => "insert",
            Self::Update => "update",
        }
    }
}

/// What a marker stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parameter {
    /// The row's key.
    Key,
    /// The value of a field: of a write the one that it writes, of a read the one that the row was loaded with.
    Field(u32),
    /// How many rows are wanted.
    Limit,
}

/// A statement with its markers by their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Marked {
    /// With `?` for each marker.
    pub(super) text: String,
    /// What they stand for.
    pub(super) parameters: Vec<Parameter>,
}

impl OwnStatements {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether operations have the load's usual statements, so that it knows what rows look like.
    #[must_use]
    pub fn leaves_operations(&self) -> bool {
        OwnPart::ALL.into_iter().all(|part| self.operation(part).is_none())
    }

    /// Whether every read says which row it wants by its key, so that the node that serves it can be told.
    #[must_use]
    pub fn reads_by_key(&self) -> bool {
        [OwnPart::Read, OwnPart::Scan]
            .into_iter()
            .filter_map(|part| mark(self.operation(part)?).ok())
            .all(|marked| marked.parameters.contains(&Parameter::Key))
    }

    /// Whether rows of `fields` fields have what they ask for.
    ///
    /// # Errors
    /// What is wrong, and with which of them.
    pub fn check(&self, fields: u32) -> Result<(), String> {
        for text in &self.schema {
            let wrong = |what: &str| Err(format!("cql.schema, {text:?}: {what}"));
            match mark(text) {
                Err(what) => return wrong(&what),
                Ok(marked) if !marked.parameters.is_empty() => return wrong("statements of the schema have no markers"),
                Ok(_) => {}
            }
        }
        for part in OwnPart::ALL {
            let Some(text) = self.operation(part) else { continue };
            let wrong = |what: String| format!("cql.{}: {what}", part.name());
            let marked = mark(text).map_err(wrong)?;
            if !text.contains(TABLE) {
                return Err(wrong(format!("{TABLE} stands for the table, and is missing")));
            }
            for parameter in marked.parameters {
                match parameter {
                    Parameter::Field(field) if field >= fields => {
                        return Err(wrong(format!(":field{field} is none of the {fields} fields of a row, which begin with field0")));
                    }
                    Parameter::Limit if part != OwnPart::Scan => return Err(wrong(":limit is for scans".to_owned())),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// The statement of an operation, if the study has one.
    pub(super) fn marked(&self, part: OwnPart, table: &str) -> Option<Marked> {
        let marked = mark(self.operation(part)?).ok()?;
        Some(Marked { text: marked.text.replace(TABLE, table), ..marked })
    }

    /// What is run after a table is made.
    pub(super) fn schema_of<'a>(&'a self, table: &'a str) -> impl Iterator<Item = String> + 'a {
        self.schema.iter().map(move |text| text.replace(TABLE, table))
    }

    fn operation(&self, part: OwnPart) -> Option<&str> {
        let text = match part {
            OwnPart::Read => &self.read,
            OwnPart::Scan => &self.scan,
            OwnPart::Insert => &self.insert,
            OwnPart::Update => &self.update,
        };
        text.as_deref()
    }
}

/// Puts `?` in the place of each named marker outside of quotes.
fn mark(text: &str) -> Result<Marked, String> {
    let mut marked = Marked { text: String::with_capacity(text.len()), parameters: Vec::new() };
    let mut quote = None;
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let after = &rest[letter.len_utf8()..];
        let name_bytes = after.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(after.len());
        let is_name = after.starts_with(|letter: char| letter.is_ascii_alphabetic());
        match letter {
            ':' if quote.is_none() && is_name => {
                marked.parameters.push(parameter(&after[..name_bytes])?);
                marked.text.push('?');
                rest = &after[name_bytes..];
                continue;
            }
            '?' if quote.is_none() => return Err("markers have names here: :key, :field0 and so on, :limit".to_owned()),
            // A quote within quotes is doubled: it ends them and begins them again.
            '\'' | '"' if quote.is_none() => quote = Some(letter),
            _ if quote == Some(letter) => quote = None,
            _ => {}
        }
        marked.text.push(letter);
        rest = after;
    }
    if quote.is_some() {
        return Err("a quote is not closed".to_owned());
    }
    Ok(marked)
}

fn parameter(name: &str) -> Result<Parameter, String> {
    let field = || name.strip_prefix("field").and_then(|number| number.parse().ok()).map(Parameter::Field);
    match name {
        "key" => Ok(Parameter::Key),
        "limit" => Ok(Parameter::Limit),
        _ => field().ok_or_else(|| format!("there is no marker :{name}: there are :key, :field0 and so on, and :limit")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_told_by_their_names() {
        let text = "UPDATE {table} SET field1 = :field1, m = {'a:key': ':key', \"x\": 1} WHERE key = :key AND field10 = :field10";
        let marked = mark(text).unwrap();
        assert_eq!(marked.text, "UPDATE {table} SET field1 = ?, m = {'a:key': ':key', \"x\": 1} WHERE key = ? AND field10 = ?");
        assert_eq!(marked.parameters, [Parameter::Field(1), Parameter::Key, Parameter::Field(10)]);
        assert_eq!(mark("SELECT 'it''s :key'").unwrap().parameters, []);
    }

    #[test]
    fn statements_that_make_no_sense_are_refused_with_the_remedy() {
        let read = |text: &str| OwnStatements { read: Some(text.to_owned()), ..OwnStatements::default() };
        read("SELECT field0 FROM {table} WHERE field1 = :field1").check(2).unwrap();
        for (wrong, says) in [
            ("SELECT field0 FROM {table} WHERE key = ?", "markers have names"),
            ("SELECT field0 FROM {table} WHERE key = :id", ":id"),
            ("SELECT field0 FROM {table} WHERE key = :fieldx", ":fieldx"),
            ("SELECT field0 FROM {table} WHERE field2 = :field2", "none of the 2 fields"),
            ("SELECT field0 FROM {table} LIMIT :limit", "for scans"),
            ("SELECT field0 FROM usertable WHERE key = :key", "{table}"),
            ("SELECT field0 FROM {table} WHERE key = ':key", "not closed"),
        ] {
            let error = read(wrong).check(2).unwrap_err();
            assert!(error.starts_with("cql.read: ") && error.contains(says), "{error}");
        }
        let schema = OwnStatements { schema: vec!["CREATE INDEX ON {table} (:field0)".to_owned()], ..OwnStatements::default() };
        assert!(schema.check(1).unwrap_err().contains("no markers"));
    }

    #[test]
    fn a_read_without_the_key_can_go_anywhere() {
        let own = |text: &str| OwnStatements { read: Some(text.to_owned()), ..OwnStatements::default() };
        assert!(own("SELECT field0 FROM {table} WHERE key = :key").reads_by_key());
        assert!(!own("SELECT field0 FROM {table} WHERE field0 = :field0").reads_by_key());
        assert!(OwnStatements::default().reads_by_key() && OwnStatements::default().leaves_operations());
    }
}
