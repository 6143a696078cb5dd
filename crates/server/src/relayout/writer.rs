//! Writes the rows of one new core.

use super::error::RelayoutError;
use super::reader::Rows;
use super::store::Store;
use engine::WriteBatch;
use io_linux::BlockingDisk;
use shard::{Receipt, ShardError};
use std::sync::mpsc::Receiver;

/// The receiver's number at the shard.
const RECEIVER: u32 = 1;

/// Writes what readers give until they are done, and ends the shard in order. Returns up to which sequence all replicas have the rows, 0 if that is
/// not known.
pub(super) fn write(store: &mut Store, core: u16, rows: &Receiver<Rows>) -> Result<u64, RelayoutError> {
    let (mut late, mut is_known) = (Vec::new(), true);
    for rows in rows {
        match rows {
            Rows::All(bytes) => apply(store, core, &bytes)?,
            Rows::Late(bytes) => late.push(bytes),
            Rows::AllMayBeLate => is_known = false,
        }
    }
    let committed = store.shard.engine().last_sequence().0;
    if is_known {
        late.iter().try_for_each(|bytes| apply(store, core, bytes))?;
    }
    store.shard.flush();
    store.turn_until(|shard| shard.is_flushed());
    check(store, core)?;
    Ok(if is_known { committed } else { 0 })
}

fn apply(store: &mut Store, core: u16, bytes: &[u8]) -> Result<(), RelayoutError> {
    let mut batch = WriteBatch::new();
    batch.append_received(bytes).expect("rows of a batch are rows");
    loop {
        let receipt = store.shard.apply_received(BlockingDisk::now(), RECEIVER, &batch);
        match receipt.map_err(|error| unwritable(core, error))? {
            Receipt::Applied(_) => return Ok(()),
            Receipt::Waits => {
                // What has been written goes to the device now, which makes room.
                store.shard.safe_sequence();
                store.turn_until(|shard| shard.take_received_ready().any(|number| number == RECEIVER));
                check(store, core)?;
            }
        }
    }
}

/// The device has not failed.
fn check(store: &Store, core: u16) -> Result<(), RelayoutError> {
    if store.shard.engine().poisoned().is_some() { Err(unwritable(core, ShardError::Poisoned)) } else { Ok(()) }
}

fn unwritable(core: u16, error: ShardError) -> RelayoutError {
    RelayoutError::Shard { core, done: "written", error }
}
