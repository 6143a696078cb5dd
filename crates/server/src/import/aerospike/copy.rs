//! Groups of partitions, from the source to the target.

use super::super::clock::now_ms;
use super::super::differences::Differences;
use super::super::error::ImportError;
use super::super::jobs::Jobs;
use super::connector::Connector;
use super::piece::Piece;
use super::reader::{Reader, Wanted};
use super::state::{STATE, group_key};
use super::writer::{Writer, Writing};
use crate::cli::ImportArguments;
use crate::throttle::Throttle;
use aerospike::ResultCode;
use load::aerospike::client::ClientError;

/// Records of a batch.
const RECORDS_MAX: u32 = 256;

/// What all jobs share.
pub(super) struct Copying<'a> {
    pub(super) arguments: &'a ImportArguments,
    pub(super) jobs: &'a Jobs<'a>,
    pub(super) throttle: Throttle,
    /// Records that the target does not take.
    pub(super) refused: Differences<'a>,
}

/// One job.
pub(super) struct Copier<'a> {
    copying: &'a Copying<'a>,
    reader: Reader<'a>,
    writer: Writer<'a>,
}

impl<'a> Copier<'a> {
    pub(super) fn new(copying: &'a Copying<'a>, (source, target): (&'a Connector, &'a Connector), number: usize) -> Self {
        let Copying { arguments, jobs, throttle, refused } = copying;
        let writing = Writing {
            connector: target,
            number,
            namespace: &arguments.keyspace,
            jobs,
            throttle,
            refused,
            records_max: arguments.page_rows.unwrap_or(RECORDS_MAX).min(RECORDS_MAX) as usize,
            only_missing: arguments.only_missing,
        };
        Self { copying, reader: Reader::new(source), writer: Writer::new(writing) }
    }

    /// Copies a group, and stores that it is done, unless the target does not take some of it: that is to be told the next time, too.
    pub(super) fn copy(&mut self, piece: &Piece<'_>) -> Result<(), ImportError> {
        self.copy_since(piece, None)?;
        if self.writer.has_refused() {
            return Ok(());
        }
        self.writer.store(&group_key(&self.copying.arguments.ends.from, piece), now_ms())
    }

    /// Copies what of a group was written since then, in nanoseconds since 1970.
    pub(super) fn copy_changes(&mut self, piece: &Piece<'_>, since_ns: u64) -> Result<(), ImportError> {
        self.copy_since(piece, Some(since_ns)).map_err(|error| match error {
            ImportError::Aerospike { error: ClientError::Refused { code: ResultCode::UNSUPPORTED_FEATURE, .. }, .. } => {
                ImportError::NotByTime
            }
            other => other,
        })
    }

    fn copy_since(&mut self, piece: &Piece<'_>, since_ns: Option<u64>) -> Result<(), ImportError> {
        let Self { copying, reader, writer } = self;
        let wanted = Wanted { namespace: &copying.arguments.keyspace, set: piece.set, since_ns };
        copying.jobs.patiently(|| {
            writer.clear();
            // What the source keeps of an import to it is nobody's.
            reader.scan(&wanted, &piece.partitions, |record| if record.set == STATE.as_bytes() { Ok(()) } else { writer.push(record) })?;
            writer.finish()
        })
    }
}
