//! The log of the metadata group: in memory, and as the two blobs that a member keeps.
//!
//! | blob | content | written |
//! |---|---|---|
//! | `metadata-snapshot` | the state at some entry, that entry's index and term, the members of the group then | when 64 entries or 256 KiB follow the one before |
//! | `metadata-log` | who this member is, term and vote, the entries after the snapshot's | before anything that depends on it is sent |
//!
//! Each is replaced as a whole. The snapshot is written first; a log that still has entries from before it is read without them.

use crate::codec::{CodecError, Reader, Writer, seal, unseal};
use crate::envelope::Proposal;
use crate::raft_message as wire;
use crate::state::{STATE_BYTES_MAX, State};
use crate::versions::Versions;
use base::NodeId;
use raft::eraftpb::{ConfState, Entry, EntryType, HardState, Snapshot};
use raft::{GetEntriesContext, RaftState, Storage, StorageError};
use std::sync::Arc;

/// The blob with term, vote and entries. It exists on every member, and only there.
pub const LOG_BLOB: &str = "metadata-log";
/// The blob with the state.
pub const SNAPSHOT_BLOB: &str = "metadata-snapshot";

const LOG_MAGIC: [u8; 4] = *b"TNML";
const SNAPSHOT_MAGIC: [u8; 4] = *b"TNMS";
const VERSION: u8 = 1;
const ENTRIES_MAX: usize = 1 << 20;
const SNAPSHOT_ENTRIES: u64 = 64;
const SNAPSHOT_BYTES: usize = 256 << 10;
/// Entries that are kept in memory behind a snapshot, for followers that are a little late.
const KEPT_ENTRIES: u64 = 256;

/// Who a member is: what `metadata-log` begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The cluster's name.
    pub cluster_name: String,
    /// The cluster's id.
    pub cluster_id: u128,
    /// The member's id.
    pub node: NodeId,
    /// The id of its data directory.
    pub host_id: u128,
}

/// The state, and where in the log it stands.
#[derive(Clone, Debug)]
pub(crate) struct Applied {
    pub(crate) state: Arc<State>,
    pub(crate) index: u64,
    pub(crate) term: u64,
    pub(crate) group: ConfState,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) hard_state: HardState,
    pub(crate) applied: Applied,
    /// Index and term of the entry before the first in `entries`.
    before: (u64, u64),
    entries: Vec<Entry>,
    /// The entry of the stored snapshot.
    snapshot_index: u64,
}

impl Log {
    /// The log of a member that stands at `applied`.
    pub(crate) fn new(applied: Applied, hard_state: HardState) -> Self {
        let before = (applied.index, applied.term);
        Self { hard_state, before, entries: Vec::new(), snapshot_index: applied.index, applied }
    }

    /// From the two blobs, by a program that knows the versions `known`.
    pub(crate) fn decode(log: &[u8], snapshot: Option<&[u8]>, known: Versions) -> Result<(Identity, Self), CodecError> {
        let mut reader = Reader::new(unseal(LOG_MAGIC, VERSION, log, LOG_BLOB)?);
        let identity = Identity {
            cluster_name: reader.text("cluster name")?,
            cluster_id: reader.u128("cluster id")?,
            node: reader.node("member")?,
            host_id: reader.u128("host id")?,
        };
        let hard_state = wire::decode_hard_state(&mut reader)?;
        let mut entries = Vec::new();
        for _ in 0..reader.count(ENTRIES_MAX, "entries")? {
            let entry = wire::decode_entry(&mut reader)?;
            check_version(&entry, known)?;
            entries.push(entry);
        }
        reader.end()?;
        let applied = match snapshot {
            Some(bytes) => decode_snapshot(bytes, known)?,
            None => Applied { state: Arc::new(State::empty()), index: 0, term: 0, group: ConfState::default() },
        };
        let mut log = Self::new(applied, hard_state);
        log.take_entries(entries)?;
        Ok((identity, log))
    }

    /// Takes the stored entries that follow the snapshot.
    fn take_entries(&mut self, mut entries: Vec<Entry>) -> Result<(), CodecError> {
        let contradiction = Err(CodecError::Inconsistent { what: LOG_BLOB });
        if entries.windows(2).any(|pair| pair[1].index != pair[0].index + 1 || pair[1].term < pair[0].term) {
            return contradiction;
        }
        let (index, term) = self.before;
        match entries.first().map(|first| first.index) {
            None => {}
            Some(first) if first > index + 1 => return contradiction,
            Some(first) => {
                // A snapshot that came from the leader may stand for another history than the entries that were here before it.
                let same_history = match first <= index {
                    true => entries.get((index - first) as usize).is_some_and(|entry| entry.term == term),
                    false => true,
                };
                if same_history {
                    entries.retain(|entry| entry.index > index);
                } else {
                    entries.clear();
                }
            }
        }
        self.entries = entries;
        self.hard_state.term = self.hard_state.term.max(self.last_term());
        self.hard_state.commit = self.hard_state.commit.clamp(index, self.last());
        Ok(())
    }

    /// The blob `metadata-log`.
    pub(crate) fn encode(&self, identity: &Identity) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.text(&identity.cluster_name);
        writer.u128(identity.cluster_id);
        writer.node(identity.node);
        writer.u128(identity.host_id);
        wire::encode_hard_state(&self.hard_state, &mut writer);
        let unsnapshotted = self.entries.iter().filter(|entry| entry.index > self.snapshot_index);
        writer.varint(unsnapshotted.clone().count() as u64);
        for entry in unsnapshotted {
            wire::encode_entry(entry, &mut writer);
        }
        seal(LOG_MAGIC, VERSION, &writer.bytes)
    }

    /// The blob `metadata-snapshot`, and the index of its entry.
    pub(crate) fn encode_snapshot(&self) -> (u64, Vec<u8>) {
        let applied = &self.applied;
        let mut writer = Writer::new();
        writer.varint(applied.index);
        writer.varint(applied.term);
        wire::encode_conf_state(&applied.group, &mut writer);
        writer.bytes(&applied.state.encode());
        (applied.index, seal(SNAPSHOT_MAGIC, VERSION, &writer.bytes))
    }

    /// Whether it is time for a snapshot.
    pub(crate) fn wants_snapshot(&self) -> bool {
        let behind = self.applied.index.saturating_sub(self.snapshot_index);
        let bytes = || self.entries.iter().filter(|entry| entry.index > self.snapshot_index).map(|entry| entry.data.len()).sum::<usize>();
        behind >= SNAPSHOT_ENTRIES || (behind > 0 && bytes() >= SNAPSHOT_BYTES)
    }

    /// The snapshot at `index` is stored: older entries need not be.
    pub(crate) fn snapshot_stored(&mut self, index: u64) {
        self.snapshot_index = self.snapshot_index.max(index);
        let keep_from = self.snapshot_index.saturating_sub(KEPT_ENTRIES);
        let drop = (keep_from.saturating_sub(self.before.0) as usize).min(self.entries.len());
        if drop > 0 {
            let last = &self.entries[drop - 1];
            self.before = (last.index, last.term);
            self.entries.drain(..drop);
        }
    }

    /// A snapshot from the leader takes the place of everything.
    pub(crate) fn restore(&mut self, applied: Applied) {
        let hard_state = std::mem::take(&mut self.hard_state);
        let snapshot_index = self.snapshot_index;
        *self = Self { snapshot_index, ..Self::new(applied, hard_state) };
        self.hard_state.commit = self.hard_state.commit.max(self.before.0);
    }

    /// New entries, which take the place of any from the first one's index on.
    pub(crate) fn append(&mut self, entries: &[Entry]) {
        let Some(first) = entries.first() else { return };
        let keep = first.index.saturating_sub(self.before.0 + 1) as usize;
        self.entries.truncate(keep);
        self.entries.extend_from_slice(entries);
    }

    /// The entries after `index`.
    pub(crate) fn entries_after(&self, index: u64) -> &[Entry] {
        let skipped = index.saturating_sub(self.before.0) as usize;
        self.entries.get(skipped..).unwrap_or_default()
    }

    fn last(&self) -> u64 {
        self.before.0 + self.entries.len() as u64
    }

    fn last_term(&self) -> u64 {
        self.entries.last().map_or(self.before.1, |entry| entry.term)
    }
}

/// Whether this program can read an entry, now or when it is decided.
pub(crate) fn check_version(entry: &Entry, known: Versions) -> Result<(), CodecError> {
    // Who begins to lead says so by an entry that says nothing else.
    if entry.get_entry_type() == EntryType::EntryNormal && !entry.data.is_empty() {
        Proposal::check_version(&entry.data, known)?;
    }
    Ok(())
}

fn decode_snapshot(bytes: &[u8], known: Versions) -> Result<Applied, CodecError> {
    let mut reader = Reader::new(unseal(SNAPSHOT_MAGIC, VERSION, bytes, SNAPSHOT_BLOB)?);
    let index = reader.varint("snapshot's index")?;
    let term = reader.varint("snapshot's term")?;
    let group = wire::decode_conf_state(&mut reader)?;
    let state = Arc::new(State::decode(reader.bytes(STATE_BYTES_MAX, "state")?, known)?);
    reader.end()?;
    Ok(Applied { state, index, term, group })
}

impl Storage for Log {
    fn initial_state(&self) -> raft::Result<RaftState> {
        Ok(RaftState::new(self.hard_state.clone(), self.applied.group.clone()))
    }

    fn entries(&self, low: u64, high: u64, max_size: impl Into<Option<u64>>, _: GetEntriesContext) -> raft::Result<Vec<Entry>> {
        if low <= self.before.0 {
            return Err(raft::Error::Store(StorageError::Compacted));
        }
        if high > self.last() + 1 || low > high {
            return Err(raft::Error::Store(StorageError::Unavailable));
        }
        let first = self.before.0 + 1;
        let mut entries = self.entries[(low - first) as usize..(high - first) as usize].to_vec();
        raft::util::limit_size(&mut entries, max_size.into());
        Ok(entries)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        if index == self.before.0 {
            return Ok(self.before.1);
        }
        if index < self.before.0 {
            return Err(raft::Error::Store(StorageError::Compacted));
        }
        match self.entries.get((index - self.before.0 - 1) as usize) {
            Some(entry) => Ok(entry.term),
            None => Err(raft::Error::Store(StorageError::Unavailable)),
        }
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.before.0 + 1)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.last())
    }

    fn snapshot(&self, request_index: u64, _: u64) -> raft::Result<Snapshot> {
        let applied = &self.applied;
        if request_index > applied.index || applied.index == 0 {
            return Err(raft::Error::Store(StorageError::SnapshotTemporarilyUnavailable));
        }
        let mut snapshot = Snapshot { data: applied.state.encode().into(), ..Snapshot::default() };
        snapshot.mut_metadata().index = applied.index;
        snapshot.mut_metadata().term = applied.term;
        snapshot.mut_metadata().set_conf_state(applied.group.clone());
        Ok(snapshot)
    }
}
