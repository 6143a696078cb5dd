//! A scan of rows that are on the device only runs few times.

use super::{Heard, Member, WIDE_FROM, key_of, partition_of, value_of, write};
use crate::{Durability, Outcome, Ticket};
use model::operation::{Context, Direction, Operation, RowStore, Stop, Visit, WriteSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const ROWS: u16 = 1_200;

/// Reads all rows of the wide partition of slot 0, and counts how often it runs.
struct Scan(Arc<AtomicU32>);

impl Operation for Scan {
    fn run(&self, _: &Context, store: &dyn RowStore, _: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let key = key_of((0, WIDE_FROM));
        store.scan(&partition_of(&key), &[], None, Direction::Forward, &mut |_, row| {
            reply.extend(value_of(row).to_be_bytes());
            Visit::Continue
        })
    }
}

#[test]
fn a_scan_from_the_device_reads_ever_more_ahead() {
    let mut member = Member::new(2 << 20, Durability::Memory);
    for row in 0..ROWS {
        member.ask(write(&[((0, WIDE_FROM + row), u64::from(row))])).unwrap().unwrap();
    }
    (0..100).for_each(|_| member.turn());
    let mut member = member.restart();
    let runs = Arc::new(AtomicU32::new(0));
    let (scan, context) = (Scan(Arc::clone(&runs)), member.shard.context(member.now));
    let mut reply = Vec::new();
    assert!(matches!(member.shard.run(&context, &scan, &mut reply), Outcome::Waits));
    member.shard.park(Ticket([1, 0]), Box::new(scan));
    (0..100).for_each(|_| member.turn());
    let heard: Option<Heard> = member.heard.remove(&1);
    assert_eq!(heard.unwrap().unwrap(), (0..u64::from(ROWS)).collect::<Vec<_>>());
    let runs = runs.load(Ordering::Relaxed);
    assert!(runs <= 7, "{ROWS} rows took {runs} runs");
}
