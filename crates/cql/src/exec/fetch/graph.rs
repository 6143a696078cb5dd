//! The nearest rows by a graph of their vectors: candidates are read, filtered and compared as all other rows are. Where the graph gives too few that match, and
//! where there is none, the chunk compares all rows.

use super::chunk::Chunk;
use super::cursor::{Cursor, Place};
use super::gather::Gather;
use base::Token;
use model::operation::{NearRow, NearestQuery, PartitionKey, RowStore, Stop};

/// A graph is asked for so many candidates for each row that is wanted: it compares vectors roughly.
const CANDIDATES_A_ROW: usize = 3;
/// And for so many at least.
const CANDIDATES_MIN: usize = 48;
/// If filters leave too few, it is asked for so many times as many.
const MORE_CANDIDATES: usize = 6;
/// Up to so many: they are read in one turn.
const CANDIDATES_MAX: usize = 1024;
/// And so many bytes of them; where rows are that large, all are compared, a chunk at a time.
const CANDIDATE_BYTES_MAX: usize = 16 << 20;

impl Chunk {
    /// Whether it may be answered by a graph: it starts at the beginning, and takes rows of a partition however many there are.
    fn takes_candidates(&self) -> bool {
        self.cursor.place == Place::Start && self.cursor.partition.is_empty() && self.fetch.per_partition == u32::MAX
    }
}

impl Gather<'_> {
    /// Gives the nearest rows up to `until`, or of all slots that are served here, by a graph. Returns whether it could.
    pub(super) fn by_graph(&mut self, store: &dyn RowStore, until: Token) -> Result<bool, Stop> {
        let (chunk, fetch) = (self.chunk, self.fetch);
        // One slot of a cluster's is a small part of what the graph has: to compare all rows of it takes less than to find its own among the others.
        let is_one_slot = !chunk.covers && chunk.cursor.token.slot() == until.slot();
        let Some(nearest) = fetch.nearest.as_ref().filter(|_| chunk.takes_candidates() && !is_one_slot) else { return Ok(false) };
        let wanted = nearest.rows_max as usize;
        let mut count = (CANDIDATES_A_ROW * wanted).clamp(CANDIDATES_MIN, CANDIDATES_MAX.max(wanted));
        loop {
            let query = NearestQuery {
                table: self.plan.table.id,
                index: nearest.index,
                vector: nearest.vector(),
                count,
                first: chunk.cursor.token,
                last: until,
                of_all_served: chunk.covers,
                now_s: fetch.now_s,
            };
            let Some(found) = store.nearest(&query)? else { return Ok(false) };
            let are_few = self.candidates(store, &found.rows)?;
            let given = self.given as usize;
            self.cursor = chunk.cursor.clone();
            if given >= wanted && are_few {
                self.covered = found.slots;
                return Ok(true);
            }
            self.start_again();
            if !are_few || count >= CANDIDATES_MAX || found.rows.len() < count {
                return Ok(false);
            }
            count = (MORE_CANDIDATES * count).min(CANDIDATES_MAX);
        }
    }

    /// Looks at the rows of candidates; those that are not in memory are all asked for at once. Returns whether they are few enough bytes for one turn.
    fn candidates(&mut self, store: &dyn RowStore, rows: &[NearRow]) -> Result<bool, Stop> {
        let mut bytes = 0;
        let is_clustered = self.plan.table.clustering_len > 0;
        let mut has_missed = false;
        for NearRow { token, partition, clustering } in rows {
            let key = PartitionKey { table: self.plan.table.id, token: *token, bytes: partition };
            self.cursor = Cursor::start(*token, partition.clone());
            let entered = if is_clustered { self.enter(store, &key) } else { Ok(()) };
            match entered.and_then(|()| store.get(&key, clustering)) {
                Ok(Some(row)) => {
                    bytes += row.len();
                    if bytes > CANDIDATE_BYTES_MAX {
                        return Ok(false);
                    }
                    self.candidate(clustering, row);
                }
                Ok(None) => {}
                Err(Stop::Miss) => has_missed = true,
                Err(stop) => return Err(stop),
            }
        }
        if has_missed { Err(Stop::Miss) } else { Ok(true) }
    }
}
