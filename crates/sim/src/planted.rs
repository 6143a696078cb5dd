//! Bugs that the simulator must find, planted where production code meets the machine.

use io::StableMemory;
use sim_disk::Stable;

/// A bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// Writes are acknowledged as durable without a flush: syncs end at once and make nothing durable.
    SkippedFlush,
    /// Writes are acknowledged before the stable memory has them: each arrives there with the next one.
    EarlyAcknowledgement,
    /// Deletions are not durable: the stable memory does not take records that are tombstones.
    ForgottenDeletes,
    /// Truncations are not durable: the mark is not stored before the client hears of it.
    ForgottenTruncations,
    /// Of a blob's two copies the older one counts.
    StaleBlobs,
}

impl Planted {
    /// All.
    pub const ALL: [Self; 5] =
        [Self::SkippedFlush, Self::EarlyAcknowledgement, Self::ForgottenDeletes, Self::ForgottenTruncations, Self::StaleBlobs];

    /// The stable memory as the engine gets it.
    pub(crate) fn stable(planted: Option<Self>, inner: Stable) -> Box<dyn StableMemory> {
        match planted {
            Some(Self::EarlyAcknowledgement) => Box::new(Late { inner, waiting: None }),
            Some(Self::ForgottenDeletes) => Box::new(WithoutDeletes { inner }),
            _ => Box::new(inner),
        }
    }
}

/// Each write arrives with the next one.
struct Late {
    inner: Stable,
    waiting: Option<(usize, Vec<u8>)>,
}

impl StableMemory for Late {
    fn len(&self) -> usize {
        self.inner.len()
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) {
        if let Some((offset, bytes)) = self.waiting.replace((offset, bytes.to_vec())) {
            self.inner.write(offset, &bytes);
        }
    }

    fn read(&self, offset: usize, bytes: &mut [u8]) {
        self.inner.read(offset, bytes);
    }
}

/// Leaves out what is a run of tombstones.
struct WithoutDeletes {
    inner: Stable,
}

/// Where `docs/internals/log-format.md` has a record's length and its flags.
const LENGTH_AT: usize = 4;
const FLAGS_AT: usize = 15;
const TOMBSTONE: u8 = 2;

fn all_tombstones(mut records: &[u8]) -> bool {
    let mut count = 0;
    while records.len() > FLAGS_AT {
        let length = u32::from_le_bytes(records[LENGTH_AT..LENGTH_AT + 4].try_into().unwrap()) as usize;
        if length <= FLAGS_AT || records[FLAGS_AT] & TOMBSTONE == 0 {
            return false;
        }
        count += 1;
        records = records.get(length.next_multiple_of(16)..).unwrap_or(&[]);
    }
    count > 0
}

impl StableMemory for WithoutDeletes {
    fn len(&self) -> usize {
        self.inner.len()
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) {
        if !all_tombstones(bytes) {
            self.inner.write(offset, bytes);
        }
    }

    fn read(&self, offset: usize, bytes: &mut [u8]) {
        self.inner.read(offset, bytes);
    }
}
