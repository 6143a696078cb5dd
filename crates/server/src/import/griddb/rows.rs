//! Rows of a container: read a part at a time, put several at a time.

use super::super::error::ImportError;
use super::link::Link;
use griddb::client::{self, ContainerId, Description};
use griddb::row::{RowReader, RowsWriter};
use griddb::schema::Kind;
use griddb::wire::{Reader, statement};
use griddb::{ContainerName, GridError};

/// Bytes of rows that are put at once.
const BYTES_MAX: usize = 1 << 20;

/// What a row's columns hold, as on the wire.
pub(super) type Row<'r> = [Option<&'r [u8]>];

/// Gives `each` the rows of a part; gives with what to ask for the next one.
pub(super) fn part<E: From<GridError>>(
    side: &mut Link<'_>,
    container: &Description,
    state: Option<&[u8]>,
    mut each: impl FnMut(&Row<'_>) -> Result<(), E>,
) -> Result<Result<Option<Vec<u8>>, E>, ImportError> {
    let write = |out: &mut Vec<u8>| client::query_part(container.id, state, "SELECT *", out);
    let read = |reader: &mut Reader<'_>| {
        let part = client::read_part(reader)?;
        let mut body = Reader::new(part.rows);
        let count = body.i64()?;
        let mut rows = match container.kind {
            Kind::Collection => RowReader::of_reply(&container.columns, count, &mut body)?,
            Kind::TimeSeries => RowReader::new(&container.columns, count, &mut body)?,
        };
        let mut row = Vec::with_capacity(container.columns.len());
        while rows.next_into(&mut row)? {
            if let Err(error) = each(&row) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(part.state.map(<[u8]>::to_vec)))
    };
    side.ask("rows of container", (statement::QUERY_TQL, &container.name), write, read)
}

/// Rows on their way into a container.
pub(super) struct Putter<'c> {
    container: &'c Description,
    rows: RowsWriter,
    bytes: usize,
}

impl<'c> Putter<'c> {
    pub(super) fn new(container: &'c Description) -> Self {
        Self { container, rows: RowsWriter::new(&container.columns), bytes: 0 }
    }

    /// Adds a row; says whether there is enough to be sent.
    pub(super) fn push(&mut self, row: &Row<'_>) -> bool {
        self.rows.begin();
        for (column, value) in self.container.columns.iter().zip(row) {
            self.rows.put(column, *value);
            self.bytes += value.map_or(0, <[u8]>::len) + size_of::<u64>();
        }
        self.bytes >= BYTES_MAX
    }

    /// How many rows there are to be sent.
    pub(super) fn len(&self) -> usize {
        self.rows.rows()
    }

    /// Sends them, and waits until they are acknowledged.
    pub(super) fn send(&mut self, target: &mut Link<'_>, id: ContainerId) -> Result<(), ImportError> {
        if self.len() > 0 {
            put(target, &self.container.name, id, &self.rows)?;
            self.rows.clear();
            self.bytes = 0;
        }
        Ok(())
    }
}

/// Puts rows.
pub(super) fn put(target: &mut Link<'_>, name: &ContainerName, id: ContainerId, rows: &RowsWriter) -> Result<(), ImportError> {
    target.ask("rows for container", (statement::PUT_MULTIPLE_ROWS, name), |out| client::put_rows(id, rows, out), |_| Ok(()))
}
