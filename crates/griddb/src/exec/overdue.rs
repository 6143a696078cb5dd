//! Transactions that are over time, and whose clients do not end them.

use crate::container::Container;
use crate::failure::Failure;
use crate::transaction::{self, Scope};
use base::TableId;
use model::operation::{Context, Operation, RowStore, Stop, WriteSet, batch_log};
use std::sync::Arc;

/// An operation that ends a container's overdue transactions, some of them.
#[must_use]
pub fn end_overdue(container: &Arc<Container>) -> Box<dyn Operation> {
    Box::new(EndOverdue(Arc::clone(container)))
}

/// The table that has rows if a container may have transactions.
#[must_use]
pub fn may_have_transactions(container: &Container) -> TableId {
    batch_log(container.table.id)
}

struct EndOverdue(Arc<Container>);

impl Operation for EndOverdue {
    fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, _: &mut Vec<u8>) -> Result<(), Stop> {
        let mut scope = Scope { context, store, writes, timeout_s: 0, received_us: 0 };
        match transaction::end_overdue(&self.0, &mut scope) {
            Err(Failure::Stop(stop)) => Err(stop),
            Err(Failure::Refused(_)) | Ok(()) => Ok(()),
        }
    }
}
