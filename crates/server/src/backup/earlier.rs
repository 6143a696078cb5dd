//! What an incremental backup leaves out: rows that are in the backup before as they are now. And what it adds: keys that are gone since.
//!
//! Rows are compared by their bytes, not by times or sequences. So nothing rests on tombstones, clocks, restarts, or where slots are. The price is a scan of everything, and
//! memory for each row of the backup before.
//!
//! Rows that come after the cut that holds are not in the backup, so they say nothing of it: each key keeps before which cut it was first seen. Once a key was written, all
//! its later images are, for one that is left out would not replace the one before. Entries of logs of batches are never left out: an entry of an
//! earlier backup was done since, and a restore takes those of the newest alone.
//!
//! An attempt at this backup that was interrupted is compared with as a backup before is. It may have an image of a row that came after a void row of its key, for it ends at no cut.
//! So a key with a void row counts as there: it is void in the new attempt once more, or written.

use super::chain::{Chain, Digest, Met, digest, key_digest};
use super::chunks::LayerEnd;
use super::error::BackupError;
use super::interrupt;
use base::TableId;
use engine::{EncodedRow, Key, Kind, ReceivedRows, WriteBatch};
use model::operation::batch_log;
use model::row::{RowWriter, Stamp};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

const SHARDS: usize = 64;
const NEVER: u32 = u32::MAX;

/// What is known of a key of the backup before.
struct Known {
    row: Digest,
    /// The first cut after it came.
    seen_before: u32,
    is_written: bool,
}

/// The rows of the backup before, by digests.
pub(crate) struct Earlier {
    shards: Vec<Mutex<HashMap<Digest, Known>>>,
}

impl Earlier {
    /// Reads a chain.
    pub(super) fn read(chain: &Chain) -> Result<Self, BackupError> {
        let mut shards: Vec<HashMap<Digest, Known>> = (0..SHARDS).map(|_| HashMap::new()).collect();
        each_row(chain, |row, end| {
            let (key, digest) = (key_digest(row), row_digest(row));
            let shard = &mut shards[shard_of(&key)];
            if is_void(row) && end == LayerEnd::Cut {
                shard.remove(&key);
            } else {
                shard.insert(key, Known { row: digest, seen_before: NEVER, is_written: false });
            }
            Ok(())
        })?;
        Ok(Self { shards: shards.into_iter().map(Mutex::new).collect() })
    }

    /// Appends the rows that have to be in the backup, of rows that came after this cut (0 before the first).
    pub(super) fn keep_changed(&self, rows: &[u8], cut: u32, out: &mut Vec<u8>) -> Result<(), BackupError> {
        for row in ReceivedRows::new(rows) {
            let row = row.map_err(|error| BackupError::Ended { why: error.to_string() })?;
            if self.is_changed(&row, cut) {
                out.extend_from_slice(row.encoded);
            }
        }
        Ok(())
    }

    fn is_changed(&self, row: &EncodedRow<'_>, cut: u32) -> bool {
        let key = key_digest(row);
        let mut shard = self.lock(&key);
        let Some(known) = shard.get_mut(&key) else { return true };
        known.seen_before = known.seen_before.min(cut + 1);
        known.is_written |= known.row != row_digest(row);
        known.is_written
    }

    fn lock(&self, key: &Digest) -> MutexGuard<'_, HashMap<Digest, Known>> {
        self.shards[shard_of(key)].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives void rows for keys of these tables that were gone at a cut. The chain is read again if there are any.
    pub(super) fn each_gone(
        self,
        chain: &Chain,
        cut: u32,
        tables: &BTreeSet<TableId>,
        mut take: impl FnMut(&[u8]) -> Result<(), BackupError>,
    ) -> Result<(), BackupError> {
        let shards = self.shards.into_iter().map(|shard| shard.into_inner().unwrap_or_else(PoisonError::into_inner));
        let mut gone: BTreeSet<Digest> = shards.flatten().filter(|(_, known)| known.seen_before > cut).map(|(key, _)| key).collect();
        if gone.is_empty() {
            return Ok(());
        }
        each_row(chain, |row, _| {
            if gone.remove(&key_digest(row)) && tables.contains(&row.key.table) { take(void(&row.key).bytes()) } else { Ok(()) }
        })?;
        if gone.is_empty() { Ok(()) } else { Err(BackupError::Ended { why: "the backup before has changed meanwhile".to_owned() }) }
    }
}

/// The rows of a chain but those of logs of batches, and how their layer has ended: each that is not replaced by a newer layer; of two images in one layer the later one comes later.
fn each_row(chain: &Chain, mut take: impl FnMut(&EncodedRow<'_>, LayerEnd) -> Result<(), BackupError>) -> Result<(), BackupError> {
    let (mut met, layers) = (Met::default(), chain.layers());
    for (number, entry) in chain.files() {
        let (layer, is_oldest) = (layers[number], number == layers.len() - 1);
        let blame = |error| chain.blame(number, error);
        let mut chunks = layer.chunks(&entry).map_err(blame)?;
        while let Some(rows) = chunks.next().map_err(blame)? {
            interrupt::check()?;
            for row in ReceivedRows::new(&rows) {
                let malformed = |_| BackupError::Damaged { file: entry.name.clone(), at: 0, why: "a row is malformed" };
                let row = row.map_err(malformed)?;
                let is_log = batch_log(row.key.table) == row.key.table;
                if !is_log && met.takes(number, is_oldest, &row) {
                    take(&row, layer.end)?;
                }
            }
        }
    }
    Ok(())
}

fn shard_of(key: &Digest) -> usize {
    usize::from(key[0]) % SHARDS
}

fn row_digest(row: &EncodedRow<'_>) -> Digest {
    let (kind, purge_s) = match row.kind {
        Kind::Live => (0, 0),
        Kind::Expiring { purge_after_s } => (1, purge_after_s),
        Kind::Tombstone { purge_after_s } => (2, purge_after_s),
    };
    digest(&[&[kind], &purge_s.to_le_bytes(), row.row])
}

/// A row that says that there is none, and may be purged at once.
pub(super) fn void(key: &Key<'_>) -> WriteBatch {
    let mut batch = WriteBatch::new();
    let put = batch.put(key, Kind::Tombstone { purge_after_s: 0 }, &void_bytes());
    put.expect("a key that was stored is not too long");
    batch
}

fn void_bytes() -> Vec<u8> {
    let mut row = Vec::new();
    RowWriter::new(&mut row, Stamp::at(i64::MIN), false, None).finish();
    row
}

pub(super) fn is_void(row: &EncodedRow<'_>) -> bool {
    row.kind == Kind::Tombstone { purge_after_s: 0 } && row.row == void_bytes()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use super::super::chain::tests::{link, open};
    use super::super::location::Location;
    use super::*;
    use crate::testing::Folder;
    use base::Token;

    pub(in super::super) fn row(key: &[u8], bytes: &[u8]) -> Vec<u8> {
        let mut batch = WriteBatch::new();
        batch.put(&Key { table: TableId(1), token: Token(0), partition: key, clustering: b"" }, Kind::Live, bytes).unwrap();
        batch.bytes().to_vec()
    }

    fn earlier(rows: &[Vec<u8>]) -> Earlier {
        let mut shards: Vec<HashMap<Digest, Known>> = (0..SHARDS).map(|_| HashMap::new()).collect();
        for row in rows {
            let row = ReceivedRows::new(row).next().unwrap().unwrap();
            let key = key_digest(&row);
            shards[shard_of(&key)].insert(key, Known { row: row_digest(&row), seen_before: NEVER, is_written: false });
        }
        Earlier { shards: shards.into_iter().map(Mutex::new).collect() }
    }

    fn kept(earlier: &Earlier, row: &[u8], cut: u32) -> bool {
        let mut out = Vec::new();
        earlier.keep_changed(row, cut, &mut out).unwrap();
        assert!(out.is_empty() || out == row);
        !out.is_empty()
    }

    #[test]
    fn what_is_the_same_is_left_out_until_it_was_once_another() {
        let earlier = earlier(&[row(b"a", b"1"), row(b"b", b"1")]);
        assert!(!kept(&earlier, &row(b"a", b"1"), 0));
        assert!(kept(&earlier, &row(b"a", b"2"), 0));
        assert!(kept(&earlier, &row(b"a", b"1"), 0), "it has to replace the image before");
        assert!(kept(&earlier, &row(b"c", b"1"), 0) && !kept(&earlier, &row(b"b", b"1"), 0));
    }

    #[test]
    fn a_key_that_comes_after_the_cut_was_gone_at_it() {
        let earlier = earlier(&[row(b"a", b"1"), row(b"b", b"1"), row(b"c", b"1")]);
        kept(&earlier, &row(b"a", b"1"), 0);
        kept(&earlier, &row(b"b", b"1"), 1);
        kept(&earlier, &row(b"b", b"1"), 2);
        let gone = |cut: u32| {
            earlier
                .shards
                .iter()
                .flat_map(|shard| shard.lock().unwrap().values().map(|known| known.seen_before > cut).collect::<Vec<_>>())
                .filter(|gone| *gone)
                .count()
        };
        assert_eq!((gone(1), gone(2)), (2, 1));
    }

    #[test]
    fn a_chain_that_changes_while_it_is_used_is_noticed() {
        let folder = Folder::new("earlier-changed");
        let write = |names: &[&[u8]]| link(&folder, &names.iter().flat_map(|name| row(name, b"1")).collect::<Vec<u8>>(), None);
        write(&[b"a", b"b"]);
        let chain = open(&Location::Folder(folder.to_path_buf())).unwrap_or_else(|error| panic!("{error}"));
        let gone = |meanwhile: &[&[u8]]| {
            let (earlier, mut gone) = (Earlier::read(&chain).unwrap_or_else(|error| panic!("{error}")), Vec::new());
            kept(&earlier, &row(b"a", b"1"), 0);
            write(meanwhile);
            let take = |row: &[u8]| {
                gone.extend_from_slice(row);
                Ok(())
            };
            earlier.each_gone(&chain, 1, &BTreeSet::from([TableId(1)]), take).map(|()| gone)
        };
        let key = Key { table: TableId(1), token: Token(0), partition: b"b", clustering: b"" };
        assert_eq!(gone(&[b"a", b"b"]).ok(), Some(void(&key).bytes().to_vec()));
        let error = gone(&[b"a", b"c"]).unwrap_err().to_string();
        assert!(error.contains("the backup before has changed meanwhile"), "{error}");
    }

    #[test]
    fn a_void_row_is_well_formed_and_known_as_such() {
        let key = Key { table: TableId(1), token: Token(0), partition: b"a", clustering: b"" };
        let batch = void(&key);
        let read = ReceivedRows::new(batch.bytes()).next().unwrap().unwrap();
        assert!(is_void(&read) && model::row::is_well_formed(read.row) && read.key == key);
        let other = row(b"a", b"1");
        assert!(!is_void(&ReceivedRows::new(&other).next().unwrap().unwrap()));
    }
}
