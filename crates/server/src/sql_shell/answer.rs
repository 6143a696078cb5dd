//! An answer of `POST /sql`, a line at a time.

use super::output::Output;
use serde_json::Value;
use std::io::{Error, ErrorKind};

/// What has come of it.
#[derive(Default)]
pub(super) struct Answer {
    has_columns: bool,
    /// Whether it is whole, or why it is not.
    end: Option<Result<(), String>>,
}

impl Answer {
    /// Takes the next line.
    pub(super) fn line(&mut self, line: &str, output: &mut dyn Output) -> std::io::Result<()> {
        let strange = || Error::new(ErrorKind::InvalidData, "what it answers is no SQL");
        match serde_json::from_str::<Value>(line).map_err(|_| strange())? {
            Value::Array(values) if self.has_columns && self.end.is_none() => output.row(values),
            Value::Object(mut said) => {
                if let Some(Value::Array(columns)) = said.get_mut("columns") {
                    self.has_columns = true;
                    output.columns(std::mem::take(columns));
                } else if let Some(text) = said.get("error") {
                    output.broken();
                    self.end = Some(Err(text.as_str().unwrap_or_default().to_owned()));
                } else {
                    output.end(&Value::Object(said));
                    self.end = Some(Ok(()));
                }
            }
            _ => return Err(strange()),
        }
        Ok(())
    }

    /// Whether it was whole; else what the node says, if it has said why.
    pub(super) fn ended(self) -> Result<(), Option<String>> {
        match self.end {
            Some(Ok(())) => Ok(()),
            Some(Err(text)) => Err(Some(text)),
            None => Err(None),
        }
    }
}
