//! Where threads leave requests for cores. A core looks at one number in each turn.

use super::frames::FrameSender;
use model::{Role, Schema};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// What a thread asks of a core.
pub enum BackupRequest {
    /// Begin a stream, unless one is under way.
    Start {
        /// Names the backup.
        session: u64,
        /// What is in it.
        keyspaces: Vec<String>,
        /// Rows that change may wait in so many bytes.
        buffer_bytes: usize,
        /// Where the stream goes.
        frames: FrameSender,
        /// Where the slots go that it will be of; nothing if another backup is under way.
        answer: Sender<Option<Vec<PlaceReport>>>,
    },
    /// Pause, and say so in the stream.
    Cut {
        /// Of this backup.
        session: u64,
        /// Which attempt.
        number: u32,
        /// Whether it is paused.
        answer: Sender<bool>,
    },
    /// Go on.
    Release {
        /// Of this backup.
        session: u64,
        /// Which attempt.
        number: u32,
        /// Whether it was paused until now, with the slots that it began with.
        answer: Sender<bool>,
    },
    /// End a backup.
    End {
        /// Which.
        session: u64,
    },
    /// Say of which slots the core is the primary.
    Places {
        /// Of these keyspaces.
        keyspaces: Vec<String>,
        /// Where the answer goes.
        answer: Sender<Vec<PlaceReport>>,
    },
    /// Write rows, all of slots of this core.
    Restore {
        /// As [`engine::ReceivedRows`] reads them.
        rows: Vec<u8>,
        /// How it ended.
        answer: Sender<Result<(), shard::ShardError>>,
    },
    /// Make tables as they are in a backup.
    Create {
        /// What to make; its ids are the backup's, its uuids those that the tables get. A table that is there with its uuid is left as it is.
        schema: Schema,
        /// Where a refusal goes. Success is seen in the schema.
        refused: Sender<String>,
    },
    /// Make roles as they are in a backup, those that do not exist.
    CreateRoles {
        /// By name.
        roles: BTreeMap<String, Arc<Role>>,
        /// Where a refusal goes. Success is seen in the schema.
        refused: Sender<String>,
    },
}

/// Slots of a keyspace that a core is the primary of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceReport {
    /// The keyspace.
    pub keyspace: String,
    /// The slot.
    pub slot: u16,
}

/// Figures of backups and restores since the process has started.
#[derive(Debug, Default)]
pub struct BackupFigures {
    /// Cores with a backup under way.
    pub running: AtomicUsize,
    /// Bytes of rows that tools were sent.
    pub sent_bytes: AtomicU64,
    /// Bytes of rows that restores have written.
    pub restored_bytes: AtomicU64,
    /// When a tool last had a whole backup that this node is in, in seconds since 1970.
    pub last_success_s: AtomicU64,
}

type Waker = Box<dyn Fn() + Send + Sync>;

/// Requests for cores.
#[derive(Default)]
pub struct BackupPort {
    count: AtomicUsize,
    requests: Mutex<VecDeque<(u16, BackupRequest)>>,
    waker: OnceLock<(u16, Waker)>,
    figures: BackupFigures,
}

impl fmt::Debug for BackupPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackupPort").field("count", &self.count).finish_non_exhaustive()
    }
}

impl BackupPort {
    /// How many cores there are, and what wakes them.
    pub fn set_waker(&self, cores: u16, waker: impl Fn() + Send + Sync + 'static) {
        // It is set once, at the start.
        let _ = self.waker.set((cores, Box::new(waker)));
    }

    /// How many cores there are; 0 before they are started.
    #[must_use]
    pub fn cores(&self) -> u16 {
        self.waker.get().map_or(0, |(cores, _)| *cores)
    }

    /// What has become of backups so far.
    #[must_use]
    pub fn figures(&self) -> &BackupFigures {
        &self.figures
    }

    /// Leaves a request for a core.
    pub fn ask(&self, core: u16, request: BackupRequest) {
        let mut requests = self.lock();
        requests.push_back((core, request));
        self.count.store(requests.len(), Ordering::Release);
        drop(requests);
        if let Some((_, waker)) = self.waker.get() {
            waker();
        }
    }

    /// Whether there are requests.
    #[inline]
    pub(crate) fn has_requests(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    /// For cores: the requests for this one.
    pub(crate) fn take(&self, core: u16) -> Vec<BackupRequest> {
        let mut requests = self.lock();
        let mut mine = Vec::new();
        for (to, request) in std::mem::take(&mut *requests) {
            if to == core {
                mine.push(request);
            } else {
                requests.push_back((to, request));
            }
        }
        self.count.store(requests.len(), Ordering::Release);
        mine
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(u16, BackupRequest)>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
