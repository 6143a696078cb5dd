//! Records that are written to the target: as batches, whole, by their digests.

use super::super::differences::Differences;
use super::super::error::ImportError;
use super::super::jobs::Jobs;
use super::connector::{Connection, Connector};
use super::record::{Record, TTL_NEVER, now_s};
use super::state;
use crate::at_rest::to_hex;
use crate::throttle::Throttle;
use aerospike::ResultCode;
use aerospike::operate::code;
use aerospike::wire::{Attributes, BatchEntries, BatchWriter, Kind, MessageWriter, Operation, Proto, field, info1, info2, info3};
use load::aerospike::client::ClientError;

/// What a failure is said of.
const WRITES: &str = "writes";
/// Bytes of a batch.
const BYTES_MAX: usize = 256 << 10;
/// What a record may be that the target does not take, and that it does not take at another time either.
const REFUSALS: [ResultCode; 5] =
    [ResultCode::PARAMETER, ResultCode::RECORD_TOO_BIG, ResultCode::BIN_NAME, ResultCode::BIN_TYPE, ResultCode::KEY_MISMATCH];

/// How a job writes.
#[derive(Clone, Copy)]
pub(super) struct Writing<'a> {
    pub(super) connector: &'a Connector,
    /// Which of its nodes.
    pub(super) number: usize,
    pub(super) namespace: &'a str,
    pub(super) jobs: &'a Jobs<'a>,
    pub(super) throttle: &'a Throttle,
    /// Records that the target does not take.
    pub(super) refused: &'a Differences<'a>,
    pub(super) records_max: usize,
    pub(super) only_missing: bool,
}

/// One job's.
pub(super) struct Writer<'a> {
    writing: Writing<'a>,
    connection: Option<Connection>,
    batch: BatchWriter,
    request: Vec<u8>,
    has_refused: bool,
}

/// What has become of a batch.
#[derive(Default)]
struct Written {
    records: usize,
    /// The records that the target never takes, by their places in it.
    refused: Vec<(u32, ResultCode)>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(writing: Writing<'a>) -> Self {
        Self { writing, connection: None, batch: BatchWriter::default(), request: Vec::new(), has_refused: false }
    }

    /// Forgets what was not sent, and what was refused.
    pub(super) fn clear(&mut self) {
        self.batch.clear();
        self.has_refused = false;
    }

    /// Whether the target has not taken some record since then.
    pub(super) fn has_refused(&self) -> bool {
        self.has_refused
    }

    /// Adds a record, and sends what there is if it is much. What has expired meanwhile is left.
    pub(super) fn push(&mut self, record: &Record<'_>) -> Result<(), ImportError> {
        let Some(ttl) = ttl(record.void_time, now_s()) else { return Ok(()) };
        if record.bins.is_empty() {
            return Ok(());
        }
        let Writing { namespace, only_missing, records_max, .. } = self.writing;
        let (create, replace) = if only_missing { (info2::CREATE_ONLY, 0) } else { (0, info3::CREATE_OR_REPLACE) };
        let attributes = Attributes { info2: info2::WRITE | create, info3: replace, ttl, ..Attributes::default() };
        let names = [(field::NAMESPACE, namespace.as_bytes()), (field::SET, record.set), (field::KEY, record.key.unwrap_or_default())];
        let fields = if record.key.is_some() { &names[..] } else { &names[..2] };
        let bins = record.bins.iter().map(|bin| Operation { code: code::WRITE, ..bin });
        self.batch.push(record.digest, attributes, fields, bins);
        if self.batch.len() >= records_max || self.batch.data().len() >= BYTES_MAX { self.finish() } else { Ok(()) }
    }

    /// Sends what is left, and waits until all is answered. What fails has been tried for as long as there is patience.
    pub(super) fn finish(&mut self) -> Result<(), ImportError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let Writing { jobs, throttle, .. } = self.writing;
        self.write_request();
        let Written { records, refused } = jobs.patiently(|| self.send()).map_err(|error| ImportError::GaveUp(Box::new(error)))?;
        self.has_refused |= !refused.is_empty();
        refused.into_iter().for_each(|(index, code)| self.tell(index, code));
        jobs.meter.add(records);
        throttle.pass(self.batch.len());
        self.batch.clear();
        Ok(())
    }

    /// Stores in the target that something is done.
    pub(super) fn store(&mut self, key: &str, time_ms: i64) -> Result<(), ImportError> {
        let Writing { jobs, namespace, connector, .. } = self.writing;
        jobs.patiently(|| {
            let mut connection = self.connected()?;
            state::store(&mut connection, namespace, key, time_ms).map_err(|error| connector.failed(error))?;
            self.connection = Some(connection);
            Ok(())
        })
    }

    fn connected(&mut self) -> Result<Connection, ImportError> {
        self.connection.take().map_or_else(|| self.writing.connector.connect(self.writing.number), Ok)
    }

    fn write_request(&mut self) {
        self.request.clear();
        let proto = Proto::begin(&mut self.request, Kind::Message);
        let mut message = MessageWriter::begin(&mut self.request);
        message.attributes.info1 = info1::READ | info1::BATCH;
        message.field(&mut self.request, field::BATCH_WITH_SET, self.batch.data(), &[]);
        message.end(&mut self.request, ResultCode::OK);
        proto.end(&mut self.request);
    }

    /// Sends the batch.
    fn send(&mut self) -> Result<Written, ImportError> {
        let Writing { connector, only_missing, .. } = self.writing;
        let (mut connection, mut written, mut failed) = (self.connected()?, Written::default(), None);
        let sent = connection.many(WRITES, &self.request, |message| {
            match message.result {
                ResultCode::OK => written.records += 1,
                ResultCode::KEY_EXISTS if only_missing => {}
                code if REFUSALS.contains(&code) => written.refused.push((message.number, code)),
                code => failed = Some(code),
            }
            Ok::<(), ClientError>(())
        });
        sent.map_err(|error| connector.failed(error))?;
        self.connection = Some(connection);
        match failed {
            None => Ok(written),
            Some(code) => Err(connector.failed(ClientError::Refused { what: WRITES, code })),
        }
    }

    /// Says of a record that the target does not take it.
    fn tell(&self, index: u32, code: ResultCode) {
        let entry = BatchEntries::read(self.batch.data()).ok().and_then(|mut entries| entries.nth(index as usize)?.ok());
        let name = entry.map(|entry| {
            let set = String::from_utf8_lossy(entry.fields.set.unwrap_or_default()).into_owned();
            format!("the record of digest {} of set {set}", to_hex(entry.digest))
        });
        let name = name.unwrap_or_else(|| format!("a record that the target names by number {index} of a batch"));
        self.writing.refused.add("left out", &format!("{name}: the target does not take it: {code}"));
    }
}

/// How long a record has still; none if it is over.
fn ttl(void_time: u32, now_s: u32) -> Option<u32> {
    match void_time {
        0 => Some(TTL_NEVER),
        // The last second counts.
        void_time => void_time.checked_sub(now_s).filter(|left| *left > 0),
    }
}

#[cfg(test)]
mod tests;
