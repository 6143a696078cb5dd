//! Changes as their client wants them: lines of JSON, or a file of Avro.

use super::lasting::{Body, End, LINES};
use crate::feed::avro::{Codec, File};
use crate::feed::{Change, FeedError, Log, Mark, Reader, line, mark};
use model::Schema;
use std::io::Write;

const AVRO: &str = "application/avro";

/// How a client wants them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Avro(Codec),
}

/// What is told.
pub(super) enum Told {
    Json,
    /// A file, once the table is known.
    Avro(Codec, Option<Box<File>>),
}

/// How far a feed has come.
pub(super) struct Place {
    mark: Mark,
    complete_until_us: i64,
    is_logged: bool,
}

impl Told {
    pub(super) fn new(format: Format) -> Self {
        match format {
            Format::Json => Self::Json,
            Format::Avro(codec) => Self::Avro(codec, None),
        }
    }

    /// The kind of the answer.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Json => LINES,
            Self::Avro(..) => AVRO,
        }
    }

    /// Begins with a table as it is.
    pub(super) fn begin(&mut self, schema: &Schema, log: &Log) -> Result<(), FeedError> {
        if let Self::Avro(codec, file) = self {
            *file = Some(Box::new(File::new(schema, log, *codec)?));
        }
        Ok(())
    }

    /// Whether changes of the table as it is now can be told.
    pub(super) fn fits(&self, schema: &Schema, log: &Log) -> Result<bool, FeedError> {
        match self {
            Self::Avro(_, Some(file)) => file.fits(schema, log),
            Self::Json | Self::Avro(_, None) => Ok(true),
        }
    }

    /// Where a reader is.
    pub(super) fn end(&self, reader: &Reader<'_>) -> Place {
        Place { mark: reader.mark(), complete_until_us: reader.complete_until_us(), is_logged: reader.log().is_enabled }
    }

    pub(super) fn change(&mut self, log: &Log, change: &Change, body: &mut Body<'_, impl Write>) -> Result<(), End<FeedError>> {
        match self {
            Self::Json => body.push(line(log, change).as_bytes())?,
            Self::Avro(_, Some(file)) => {
                let mut out = Vec::new();
                file.change(change, &mut out)?;
                body.push(&out)?;
            }
            Self::Avro(_, None) => {}
        }
        Ok(())
    }

    /// Tells where the feed is.
    pub(super) fn mark(&mut self, place: &Place, body: &mut Body<'_, impl Write>) -> Result<(), End<FeedError>> {
        let Place { mark: at, complete_until_us, is_logged } = place;
        match self {
            Self::Json => body.push(mark(at, *complete_until_us, *is_logged).as_bytes())?,
            Self::Avro(_, Some(file)) => {
                let mut out = Vec::new();
                file.mark(at, *complete_until_us, *is_logged, &mut out)?;
                body.push(&out)?;
            }
            Self::Avro(_, None) => {}
        }
        Ok(())
    }

    /// Sends what was told.
    pub(super) fn flush(&mut self, body: &mut Body<'_, impl Write>) -> std::io::Result<()> {
        if let Self::Avro(_, Some(file)) = self {
            let mut out = Vec::new();
            file.block(&mut out);
            body.push(&out)?;
        }
        body.flush()
    }

    /// The last words of a feed that has failed.
    pub(super) fn failure(&mut self, error: &str, code: Option<u16>) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Json => out.extend_from_slice(format!("{}\n", serde_json::json!({"error": error, "code": code})).as_bytes()),
            Self::Avro(_, Some(file)) => file.failure(error, code, &mut out),
            Self::Avro(_, None) => {}
        }
        out
    }
}
