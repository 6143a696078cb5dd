//! The rows of data partitions that were dropped: deleted by and by.

use super::rows::{after, stage_deletion};
use crate::container::Container;
use crate::row::live;
use model::operation::{Context, Direction, FIRST_ROW_BYTE, Operation, RowStore, Stop, Visit, WriteSet};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// So many rows are deleted at a time: other requests of the core have their turn then.
const ROWS_AT_ONCE: usize = 1_000;

/// What a core knows of the rows that it deletes.
#[derive(Clone, Debug, Default)]
pub struct Purges(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Whether there were any since it was last asked for.
    has_found: bool,
    /// Where to go on, by the number of the data partition: what was deleted before is not looked at again.
    next: BTreeMap<i64, Vec<u8>>,
}

impl Purges {
    /// Whether rows were found since it was last asked: there may be more.
    #[must_use]
    pub fn take_found(&self) -> bool {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).has_found)
    }

    /// An operation that deletes rows of a data partition that was dropped, some of them.
    #[must_use]
    pub fn purge(&self, container: &Arc<Container>) -> Box<dyn Operation> {
        Box::new(Purge { container: Arc::clone(container), purges: self.clone() })
    }
}

struct Purge {
    container: Arc<Container>,
    purges: Purges,
}

impl Operation for Purge {
    fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, _: &mut Vec<u8>) -> Result<(), Stop> {
        let id = self.container.id();
        let mut state = self.purges.0.lock().unwrap_or_else(PoisonError::into_inner);
        let from = state.next.get(&id).map_or(&[FIRST_ROW_BYTE][..], Vec::as_slice);
        let mut keys = Vec::new();
        store.scan(&self.container.partition(), from, None, Direction::Forward, &mut |clustering, row| {
            keys.extend(live(row).map(|_| clustering.to_vec()));
            if keys.len() < ROWS_AT_ONCE { Visit::Continue } else { Visit::Stop }
        })?;
        keys.iter().for_each(|key| stage_deletion(&self.container, key, context, writes));
        match keys.pop() {
            Some(last) => {
                state.has_found = true;
                state.next.insert(id, after(last));
            }
            // From the beginning next time: a statement that had begun before may have put a row.
            None => drop(state.next.remove(&id)),
        }
        Ok(())
    }
}
