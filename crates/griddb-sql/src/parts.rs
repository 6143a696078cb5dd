//! A container, or a data partition, that is read in parts: each answer tells where the next one begins.

use crate::analysis::Reading;
use crate::client::{Client, Refusal};
use crate::container::Container;
use crate::heads::{head, put_columns};
use crate::rows::{RowFormat, Rows};
use griddb::wire::{Reader, put_i64, put_string, statement};
use std::sync::Arc;
use std::time::Instant;

/// What a scan reads of each of its places.
#[derive(Clone)]
pub(crate) struct Wanted {
    /// The query.
    pub(crate) text: Arc<str>,
    /// Which columns are looked at.
    pub(crate) columns: u64,
    pub(crate) format: Arc<RowFormat>,
    /// What notes how they were read, if the statement is analyzed.
    pub(crate) reading: Option<Reading>,
}

/// Where the next part begins.
enum State {
    First,
    /// As the node wrote it.
    After(Vec<u8>),
    Over,
}

/// One place that is read: a container, or a data partition.
pub(crate) struct Place {
    pub(crate) container: Container,
    wanted: Wanted,
    state: State,
}

impl Place {
    pub(crate) fn new(container: Container, wanted: Wanted) -> Self {
        Self { container, wanted, state: State::First }
    }

    /// Whether there is more to read.
    pub(crate) fn has_more(&self) -> bool {
        !matches!(self.state, State::Over)
    }

    /// Reads the next part. After an error it can be read again.
    pub(crate) fn fetch(&mut self, client: &mut Client) -> Result<Option<Rows>, Refusal> {
        let state = match &self.state {
            State::First => &[1, 0, 0, 0, 0][..],
            State::After(state) => state,
            State::Over => return Ok(None),
        };
        let (is_first, began) = (matches!(self.state, State::First), Instant::now());
        let reading = self.wanted.reading.as_ref();
        let answer = client.ask(statement::QUERY_TQL, 0, |out| {
            head(&self.container, out);
            put_columns(self.wanted.columns, reading.is_some(), out);
            put_i64(out, i64::MAX);
            put_i64(out, 0);
            out.extend_from_slice(state);
            put_string(out, &self.wanted.text);
        })?;
        let mut reader = answer.reader();
        let part = griddb::client::read_part(&mut reader)?;
        let start = part.rows.as_ptr() as usize - answer.bytes().as_ptr() as usize;
        self.state = part.state.map_or(State::Over, |state| State::After(state.to_vec()));
        if let Some(reading) = reading {
            let rows = Reader::new(part.rows).i64()?;
            reading.note(is_first, part.figures, u64::try_from(rows).unwrap_or(0), began.elapsed());
        }
        let (bytes, body) = answer.into_bytes();
        Ok(Some(Rows::new(bytes, body + start, &self.wanted.format)?))
    }
}
