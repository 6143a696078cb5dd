//! BATCH: several statements in one request.
//!
//! ```text
//! kind (byte) | count (short) | count × (0, long string | 1, short bytes; values) | consistency | flags | …
//! ```
//! The statements are checked once while the batch is decoded; iterating over them then cannot fail and allocates nothing.

use super::writer::{write_byte, write_consistency, write_long_string, write_short, write_short_bytes};
use super::{CommonParameters, Consistency, ProtocolVersion, Reader, ValueNames, Values, WireError};

/// What a batch promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum BatchKind {
    /// All or nothing, in the end.
    Logged = 0,
    /// Nothing beyond each partition.
    Unlogged = 1,
    /// Counter updates only.
    Counter = 2,
}

impl TryFrom<u8> for BatchKind {
    type Error = WireError;

    fn try_from(kind: u8) -> Result<Self, WireError> {
        match kind {
            0 => Ok(Self::Logged),
            1 => Ok(Self::Unlogged),
            2 => Ok(Self::Counter),
            _ => Err(WireError::UnknownBatchKind { kind }),
        }
    }
}

/// A BATCH request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch<'a> {
    /// What it promises.
    pub kind: BatchKind,
    /// Its statements.
    pub statements: BatchStatements<'a>,
    /// Consistency level.
    pub consistency: Consistency,
    /// The rest of its parameters.
    pub common: CommonParameters<'a>,
}

/// How a batch names a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchStatement<'a> {
    /// By its text.
    Text(&'a str),
    /// By the id that PREPARE gave.
    Prepared(&'a [u8]),
}

/// The statements of a batch, borrowed and checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchStatements<'a> {
    version: ProtocolVersion,
    count: u16,
    bytes: &'a [u8],
}

impl<'a> Batch<'a> {
    pub(super) fn read(reader: &mut Reader<'a>, version: ProtocolVersion) -> Result<Self, WireError> {
        let kind = BatchKind::try_from(reader.byte()?)?;
        let statements = BatchStatements::read(reader, version)?;
        let consistency = reader.consistency()?;
        let common = CommonParameters::read_after_batch(reader, version)?;
        Ok(Self { kind, statements, consistency, common })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>, version: ProtocolVersion) -> Result<(), WireError> {
        write_byte(out, self.kind as u8);
        write_short(out, self.statements.count);
        out.extend_from_slice(self.statements.bytes);
        write_consistency(out, self.consistency);
        self.common.write_after_batch(out, version)
    }
}

impl<'a> BatchStatements<'a> {
    fn read(reader: &mut Reader<'a>, version: ProtocolVersion) -> Result<Self, WireError> {
        let count = reader.short()?;
        let start = *reader;
        for _ in 0..count {
            read_statement(reader, version)?;
        }
        Ok(Self { version, count, bytes: reader.since(&start) })
    }

    /// Number of statements.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The statements in order, each with its values.
    pub fn iter(&self) -> impl Iterator<Item = (BatchStatement<'a>, Values<'a>)> + use<'a> {
        let mut reader = Reader::new(self.bytes);
        let version = self.version;
        (0..self.count).map_while(move |_| read_statement(&mut reader, version).ok())
    }
}

fn read_statement<'a>(reader: &mut Reader<'a>, version: ProtocolVersion) -> Result<(BatchStatement<'a>, Values<'a>), WireError> {
    let statement = match reader.byte()? {
        0 => BatchStatement::Text(reader.long_string()?),
        1 => BatchStatement::Prepared(reader.short_bytes()?),
        kind => return Err(WireError::UnknownStatementKind { kind }),
    };
    Ok((statement, Values::read(reader, version, ValueNames::Absent)?))
}

/// Statements that a client collects for a batch; kept and cleared, it allocates only once.
#[derive(Clone, Debug, Default)]
pub struct BatchBuffer {
    count: u16,
    bytes: Vec<u8>,
}

impl BatchBuffer {
    /// An empty buffer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets all statements and keeps the memory.
    pub fn clear(&mut self) {
        self.count = 0;
        self.bytes.clear();
    }

    /// Adds a statement with its values, which a batch cannot name.
    ///
    /// # Panics
    /// Beyond 65,535 statements, or if `values` carry names.
    pub fn push(&mut self, statement: BatchStatement<'_>, values: &Values<'_>) {
        assert!(values.names() == ValueNames::Absent, "values of a batch have no names");
        self.count = self.count.checked_add(1).expect("a batch has at most 65,535 statements");
        match statement {
            BatchStatement::Text(text) => {
                write_byte(&mut self.bytes, 0);
                write_long_string(&mut self.bytes, text);
            }
            BatchStatement::Prepared(id) => {
                write_byte(&mut self.bytes, 1);
                write_short_bytes(&mut self.bytes, id);
            }
        }
        values.write(&mut self.bytes);
    }

    /// The statements, to put into a request.
    #[must_use]
    pub fn as_statements(&self, version: ProtocolVersion) -> BatchStatements<'_> {
        BatchStatements { version, count: self.count, bytes: &self.bytes }
    }
}
