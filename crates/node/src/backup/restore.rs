//! Rows of a backup, written as a client's write is: one operation for each chunk, answered when it is as durable and replicated as theirs are.

use super::restores::RESTORER;
use crate::core::Core;
use crate::message::Message;
use engine::{Kind, ReceivedRows};
use io::Reactor;
use model::operation::{Context, Operation, PartitionKey, RowStore, Stop, WriteSet};
use model::row::is_well_formed;
use shard::{Access, Outcome, ShardError, Ticket};
use std::sync::mpsc::Sender;

/// Writes rows whole, in place of what is there.
struct WriteRows {
    rows: Vec<u8>,
}

impl Operation for WriteRows {
    fn run(&self, _: &Context, _: &dyn RowStore, writes: &mut WriteSet, _: &mut Vec<u8>) -> Result<(), Stop> {
        for row in ReceivedRows::new(&self.rows).flatten() {
            let partition = PartitionKey { table: row.key.table, token: row.key.token, bytes: row.key.partition };
            writes.begin(&partition, row.key.clustering).extend_from_slice(row.row);
            writes.end(match row.kind {
                Kind::Live => None,
                Kind::Expiring { purge_after_s } | Kind::Tombstone { purge_after_s } => {
                    Some(purge_after_s.clamp(0, i64::from(u32::MAX)) as u32)
                }
            });
        }
        Ok(())
    }
}

impl Core {
    pub(super) fn restore_rows<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &R,
        rows: Vec<u8>,
        answer: Sender<Result<(), ShardError>>,
    ) {
        let is_good = ReceivedRows::new(&rows).all(|row| row.is_ok_and(|row| is_well_formed(row.row)));
        if !is_good {
            // Who asked may have given up.
            let _ = answer.send(Err(ShardError::Malformed));
            return;
        }
        let operation = WriteRows { rows };
        let (context, mut reply) = (self.context(reactor), Vec::new());
        let restores = &mut self.restores;
        let number = restores.next();
        let outcome = match self.shard.run_with(&context, Access::Primary, &operation, &mut reply) {
            Outcome::Done => Ok(()),
            Outcome::Failed(error) => Err(error),
            Outcome::Unsynced(sequence) => {
                restores.wait(number, answer);
                return self.shard.hold(Ticket([number, RESTORER]), sequence, reply);
            }
            Outcome::Waits => {
                restores.wait(number, answer);
                return self.shard.park(Ticket([number, RESTORER]), Box::new(operation));
            }
        };
        let _ = answer.send(outcome);
    }
}
