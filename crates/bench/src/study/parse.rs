//! Reads a study's file and checks it.

use super::error::StudyError;
use super::file::Study;
use super::validate;

/// So much of a line that is no study's is shown.
const LINE_LETTERS_MAX: usize = 120;

impl Study {
    /// Reads a study; `name` is for messages.
    ///
    /// # Errors
    /// When a key is unknown or missing, or a value makes no sense.
    pub fn parse(name: &str, file: &str) -> Result<Self, StudyError> {
        let study: Self = toml::from_str(file).map_err(|error| {
            let before = error.span().map_or(0, |span| span.start.min(file.len()));
            let line = file.bytes().take(before).filter(|byte| *byte == b'\n').count() + 1;
            let text: String = file.lines().nth(line - 1).unwrap_or_default().trim().chars().take(LINE_LETTERS_MAX).collect();
            StudyError::Syntax { name: name.to_owned(), line, what: format!("{}: {text}", error.message().replace('\n', " ")) }
        })?;
        validate::check(&study).map_err(|what| StudyError::Invalid { name: name.to_owned(), what })?;
        Ok(study)
    }
}
