//! Lets the filter of an index know the entries of a slot, a stretch at a time: a query that names a value does not look at the slot then, unless it has
//! that value.

use super::FIRST_VALUE;
use base::{Slot, TableId};
use model::operation::{
    Context, Covering, EntryStretch, INDEX_OVERSIZE_KEY, INDEX_STATE_KEY, Operation, PartitionKey, PrefixOf, RowStore, Stop, WriteSet,
    index_slot_key, index_slot_token, is_index_complete,
};

/// A stretch ends after so many entries: other requests wait for it.
const ROWS_MAX: usize = 256;

/// A stretch of a slot.
pub struct Cover {
    /// The index.
    pub index: TableId,
    /// The slot.
    pub slot: Slot,
    /// The prefixes that queries of the index name.
    pub prefix_of: PrefixOf,
}

impl Cover {
    /// What a stretch has replied; `None` for bytes that are no reply.
    #[must_use]
    pub fn read(reply: &[u8]) -> Option<Covering> {
        match reply {
            [0] => Some(Covering::Refused),
            [1] => Some(Covering::Partly),
            [2] => Some(Covering::Whole),
            _ => None,
        }
    }
}

impl Operation for Cover {
    fn run(&self, _: &Context, store: &dyn RowStore, _: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let bytes = index_slot_key(self.slot);
        let partition = PartitionKey { table: self.index, token: index_slot_token(self.slot), bytes: &bytes };
        let is_complete = is_index_complete(store.get(&partition, INDEX_STATE_KEY)?);
        // A slot with rows that have no entries is read by every query.
        let covering = if is_complete && store.get(&partition, INDEX_OVERSIZE_KEY)?.is_none() {
            store.cover_slot(&EntryStretch {
                partition,
                first: FIRST_VALUE,
                prefix_of: self.prefix_of,
                rows_max: ROWS_MAX,
                fetches: true,
            })?
        } else {
            Covering::Refused
        };
        reply.push(match covering {
            Covering::Refused => 0,
            Covering::Partly => 1,
            Covering::Whole => 2,
        });
        Ok(())
    }
}
