//! What can go wrong, by who has to act: the caller (fetch, wait, smaller), the operator (full, poisoned), a replica (damaged).

use crate::key::CachePolicy;
use crate::location::{Location, SegmentId};
use base::{TableId, format_size};
use io::DiskError;
use std::fmt;

/// Records that must come from the device before the operation can be done. Give it to `Engine::fetch` and run the operation again
/// when its waiter is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    pub(crate) records: Missing,
    pub(crate) policy: CachePolicy,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    One(Location),
    Many(Box<[Location]>),
}

impl Miss {
    pub(crate) fn one(location: Location, policy: CachePolicy) -> Self {
        Self { records: Missing::One(location), policy }
    }

    pub(crate) fn many(locations: Vec<Location>, policy: CachePolicy) -> Self {
        Self { records: Missing::Many(locations.into_boxed_slice()), policy }
    }

    pub(crate) fn locations(&self) -> &[Location] {
        match &self.records {
            Missing::One(location) => std::slice::from_ref(location),
            Missing::Many(locations) => locations,
        }
    }

    /// The same records for one who will write them anew: they are not worth keeping.
    #[must_use]
    pub fn in_passing(self) -> Self {
        Self { policy: CachePolicy::Bypass, ..self }
    }

    /// Only the first of them, those that take `bytes_max` together; one at least.
    #[must_use]
    pub fn within(self, bytes_max: usize) -> Self {
        let Missing::Many(locations) = self.records else { return self };
        let mut bytes = 0;
        let fits = |location: &&Location| {
            bytes += location.padded();
            bytes <= bytes_max
        };
        let count = locations.iter().take_while(fits).count().max(1);
        Self::many(locations.into_iter().take(count).collect(), self.policy)
    }

    /// How much of the device they take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.locations().iter().map(|location| location.padded()).sum()
    }

    /// How many records are missing.
    #[must_use]
    pub fn count(&self) -> usize {
        self.locations().len()
    }
}

/// How a stored record turned out to be unreadable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The bytes are not what was written there.
    #[error("the checksum does not match")]
    Checksum,
    /// The device would not give the bytes.
    #[error("the device failed with operating system error {code}")]
    Device {
        /// The positive errno value, 0 if there is none.
        code: i32,
    },
    /// The record is as it was written, but the rows of the page in it make no sense.
    #[error("the rows of the page cannot be read")]
    Page,
}

/// Why a read has no answer yet, or none at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Recovery is still running.
    #[error("the shard is still recovering")]
    NotReady,
    /// No such table was created or given at start-up.
    #[error("table {} is not known to the shard", table.0)]
    UnknownTable {
        /// The id asked for.
        table: TableId,
    },
    /// Records have to be fetched first.
    #[error("{} records are on the device only: fetch them and run the operation again", .0.count())]
    Miss(Miss),
    /// A record is damaged; other records are not affected.
    #[error("the record at segment {} offset {offset} is damaged ({damage}): restore it from a replica", segment.0)]
    Damaged {
        /// Where.
        segment: SegmentId,
        /// Where in the segment, in bytes.
        offset: usize,
        /// How.
        damage: Damage,
    },
}

/// What has no space for writes, and so what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSpace {
    /// The data has taken all that the shard may have.
    Capacity {
        /// What it may have.
        bytes: u64,
        /// Bytes of records that are not overwritten or deleted.
        live_bytes: u64,
    },
    /// The file system does not let the file grow to what the shard may have.
    FileSystem {
        /// How long the file is.
        bytes: u64,
        /// What the shard may have.
        capacity_bytes: u64,
    },
}

impl fmt::Display for NoSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Capacity { bytes, live_bytes } => write!(
                f,
                "the capacity of this core, {}, is in use, {} of it by live rows; delete rows or raise the capacity",
                format_size(bytes),
                format_size(live_bytes)
            ),
            Self::FileSystem { bytes, capacity_bytes } => write!(
                f,
                "the file system has no space for more than {} of the {} that this core may use; free space on it",
                format_size(bytes),
                format_size(capacity_bytes)
            ),
        }
    }
}

/// Why a batch was not written. Nothing of it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// Recovery is still running.
    #[error("the shard is still recovering")]
    NotReady,
    /// No such table was created or given at start-up.
    #[error("table {} is not known to the shard", table.0)]
    UnknownTable {
        /// The id in the batch.
        table: TableId,
    },
    /// A record must be fetched to see whether it has the batch's key.
    #[error("{} records are on the device only: fetch them and run the operation again", .0.count())]
    Miss(Miss),
    /// The device is behind, or space is being reclaimed. Try again when `Engine::writable` says so.
    #[error("the device is behind the writers: try again in a moment")]
    Busy,
    /// The device is full. Deletes are accepted a little longer; space freed makes writes work again.
    #[error("device full: {space}")]
    Full {
        /// What has no more space.
        space: NoSpace,
    },
    /// A new row would let the index outgrow the memory limit. Rows that are there can be overwritten.
    #[error("the index takes {index_bytes} bytes and leaves too little of the memory limit: delete data or raise the limit")]
    IndexFull {
        /// Bytes of index.
        index_bytes: usize,
    },
    /// A batch has to fit in one segment.
    #[error("a batch of {bytes} bytes exceeds the limit of {bytes_max}: split it")]
    TooLarge {
        /// Bytes the batch takes in the log.
        bytes: usize,
        /// Bytes a batch may take.
        bytes_max: usize,
    },
    /// A partition or clustering key is longer than 65,535 bytes.
    #[error("a key of {bytes} bytes exceeds the limit of 65535")]
    KeyTooLong {
        /// Its length.
        bytes: usize,
    },
    /// A write or sync of the device failed: what it has is not known any more.
    #[error("the device failed earlier ({error}): restart the node once the device is healthy")]
    Poisoned {
        /// The first failure.
        error: DiskError,
    },
    /// `Engine::shutdown` was called.
    #[error("the shard is shutting down")]
    ShuttingDown,
}

/// Bytes from another shard are no rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what stands at byte {offset} of the rows received is no row")]
pub struct ReceivedError {
    /// Where.
    pub offset: usize,
}

/// What a data file lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataLoss {
    /// How long it is.
    pub file_bytes: u64,
    /// How long it was, at least.
    pub known_bytes: u64,
    /// Segments in use that other segments or the stable memory know of and that lie beyond its end.
    pub segments: u64,
    /// Records beyond its end that the last checkpoint names; `None` if that is gone, too.
    pub records: Option<u64>,
    /// So many writes of those that the device had, the last ones, may be gone at most, those included that others have overwritten.
    pub writes: u64,
    /// The latest generation of a segment in it.
    pub generation: u64,
    /// The latest generation of a segment that it had, for certain.
    pub known_generation: u64,
}

impl fmt::Display for DataLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file_bytes, known_bytes, segments, records, writes, generation, known_generation } = self;
        match (*file_bytes, file_bytes < known_bytes) {
            (0, false) => write!(f, "the data file is missing or empty, and the shard has run before")?,
            (0, true) => write!(f, "the data file is missing or empty; it was at least {known_bytes} bytes long")?,
            (_, true) => write!(f, "the data file is {file_bytes} bytes long; it was at least {known_bytes}")?,
            (_, false) => write!(f, "the data file is older than what was written last, or has lost writes")?,
        }
        write!(f, ": its newest segment is of generation {generation}")?;
        if known_generation > generation {
            write!(f, ", and it had one of {known_generation}")?;
        }
        if *segments > 0 {
            write!(f, "; {segments} segments with records are known to be gone")?;
        }
        match records {
            Some(records) => write!(f, "; {records} of the records that the last checkpoint names are gone")?,
            None => write!(f, "; no checkpoint says how many records are gone")?,
        }
        match writes {
            0 => Ok(()),
            _ => write!(f, "; of the last writes up to {writes} are gone"),
        }
    }
}

/// How a stable memory turned out not to be the one that the last run had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StableLoss {
    /// There was none, or nothing in it.
    #[error("it is missing or empty")]
    Missing,
    /// It has lost its end.
    #[error("it is {bytes} bytes long and was {known_bytes}")]
    CutShort {
        /// How long it is.
        bytes: u64,
        /// How long it was.
        known_bytes: u64,
    },
    /// The last run, on the same start of the machine, has left no trace in it.
    #[error("it holds nothing of the last run")]
    Blank,
    /// It is of another shard.
    #[error("it belongs to store {store:#x} shard {shard}")]
    Foreign {
        /// That shard's store.
        store: u64,
        /// That shard.
        shard: u32,
    },
    /// It is a copy from before.
    #[error(
        "it is older than the data: of run {run} and generation {generation}, where the data is of run {last_run} and generation {last_generation}"
    )]
    Older {
        /// The run that wrote it.
        run: u32,
        /// The last run that the data knows of.
        last_run: u32,
        /// The latest generation that it knows.
        generation: u64,
        /// The latest generation in the data.
        last_generation: u64,
    },
}

/// Why a shard cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The configuration contradicts itself.
    #[error("{field} is {value}: it must be {requirement}")]
    Config {
        /// The field of `Config`.
        field: &'static str,
        /// Its value.
        value: u64,
        /// What it has to be.
        requirement: &'static str,
    },
    /// A segment was written by another store, shard or segment size.
    #[error("segment {} belongs to store {store:#x} shard {shard} with segments of {segment_bytes} bytes: not ours", segment.0)]
    Foreign {
        /// Which segment.
        segment: SegmentId,
        /// Its store id.
        store: u64,
        /// Its shard.
        shard: u32,
        /// Its segment size.
        segment_bytes: u32,
    },
    /// A segment is encrypted and the shard was opened without a key, or the other way round.
    #[error("segment {} is {}: not as the node is set up", segment.0, if *encrypted { "encrypted" } else { "not encrypted" })]
    Encryption {
        /// Which segment.
        segment: SegmentId,
        /// What it is.
        encrypted: bool,
    },
    /// A segment has a format version that this program does not know.
    #[error("segment {} has format version {version}: use a newer program", segment.0)]
    Version {
        /// Which segment.
        segment: SegmentId,
        /// Its version.
        version: u16,
    },
    /// There are rows of tables that whoever opened the shard does not know, although it knows which ids have been given out.
    #[error(
        "{records} records belong to {} tables that the schema does not know (ids {}): the schema is older than the data. Nothing was \
         changed. Restore the schema that the data was written with (both copies of schema.json), or start with --accept-data-loss to \
         delete these rows",
        tables.len(),
        ids(tables)
    )]
    UnknownTables {
        /// Which.
        tables: Vec<TableId>,
        /// How many records, old versions of rows included.
        records: u64,
    },
    /// The data file lacks something that it had.
    #[error("{loss}")]
    Data {
        /// What.
        loss: DataLoss,
    },
    /// The last run did not end in order, and the stable memory is not the one that it had: what it had acknowledged last may be gone.
    #[error("the last run did not end in order, and the stable memory, which has its last acknowledged writes, is lost: {loss}")]
    Stable {
        /// How.
        loss: StableLoss,
    },
    /// The device failed during recovery where nothing can stand in.
    #[error("the device failed during recovery: {error}")]
    Device {
        /// The failure.
        error: DiskError,
    },
}

/// The first few ids.
fn ids(tables: &[TableId]) -> String {
    let shown: Vec<String> = tables.iter().take(8).map(|table| table.0.to_string()).collect();
    shown.join(", ") + if tables.len() > shown.len() { ", …" } else { "" }
}
