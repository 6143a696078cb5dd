//! Readers of a partition from which rows were deleted: how many of them they look at, and that they see all there is.

use super::{Member, WIDE};
use crate::{Durability, Outcome};
use base::Rng;
use model::operation::{Context, Direction, FIRST_ROW_BYTE, Operation, PartitionKey, RowStore, Stop, Visit, WriteSet};
use model::row::RowView;
use std::collections::BTreeSet;
use std::sync::Mutex;

/// What a reader has met: rows that it was shown, and the numbers of those that were there.
#[derive(Default)]
struct Met {
    rows: usize,
    alive: Vec<u16>,
}

/// Reads numbers of a partition, up to some that are there.
struct Read {
    bounds: (u16, Option<u16>),
    direction: Direction,
    wanted: usize,
    met: Mutex<Met>,
}

fn key(number: u16) -> Vec<u8> {
    [&[FIRST_ROW_BYTE], &number.to_be_bytes()[..]].concat()
}

impl Operation for Read {
    fn run(&self, context: &Context, store: &dyn RowStore, _: &mut WriteSet, _: &mut Vec<u8>) -> Result<(), Stop> {
        let mut met = Met::default();
        let partition = PartitionKey { table: WIDE, token: super::key_of((9, 1000)).token, bytes: b"wide" };
        let (from, to) = (key(self.bounds.0), self.bounds.1.map(key));
        store.scan_live(&partition, (&from, to.as_deref()), self.direction, context.now_s(), &mut |key, row| {
            met.rows += 1;
            if !RowView::new(row).is_live(context.now_s()) {
                return Visit::Dead;
            }
            if met.alive.len() == self.wanted {
                return Visit::Stop;
            }
            met.alive.push(u16::from_be_bytes([key[1], key[2]]));
            Visit::Continue
        })?;
        *self.met.lock().unwrap() = met;
        Ok(())
    }
}

fn read(member: &mut Member, bounds: (u16, Option<u16>), direction: Direction, wanted: usize) -> Met {
    let work = Read { bounds, direction, wanted, met: Mutex::default() };
    let context = member.shard.context(member.now);
    assert!(matches!(member.shard.run(&context, &work, &mut Vec::new()), Outcome::Done));
    work.met.into_inner().unwrap()
}

fn change(member: &mut Member, put: &[u16], remove: &[u16]) {
    for some in put.chunks(8) {
        let writes = some.iter().map(|number| ((9, *number), 1)).collect();
        member.ask(super::Work { writes, ..super::Work::default() }).unwrap().unwrap();
    }
    for some in remove.chunks(8) {
        let removes = some.iter().map(|number| (9, *number)).collect();
        member.ask(super::Work { removes, ..super::Work::default() }).unwrap().unwrap();
    }
}

#[test]
fn a_deleted_row_is_looked_at_once() {
    let mut member = Member::new(8 << 20, Durability::Memory);
    let mut queue = 2000..2000;
    for _ in 0..20 {
        let next = queue.end..queue.end + 40;
        let numbers: Vec<u16> = next.clone().collect();
        change(&mut member, &numbers, &[]);
        let met = read(&mut member, (0, None), Direction::Forward, 3);
        assert_eq!((met.alive, met.rows), (numbers[..3].to_vec(), 4), "the queue's first elements come at once");
        change(&mut member, &[], &numbers);
        queue.end = next.end;
        let met = read(&mut member, (0, None), Direction::Forward, 3);
        let again = read(&mut member, (0, None), Direction::Forward, 3);
        assert_eq!((met.rows, again.rows), (40, 0), "those that were deleted since, then none");
        assert_eq!(read(&mut member, (0, None), Direction::Reverse, 3).rows, 0);
    }
    assert_eq!(read(&mut member, (2100, Some(2200)), Direction::Forward, 3).rows, 0);
    change(&mut member, &[2500], &[]);
    assert_eq!(read(&mut member, (0, None), Direction::Forward, 3).alive, [2500], "a row in the middle is seen");
}

#[test]
fn readers_see_all_there_is() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let mut member = Member::new(8 << 20, Durability::Memory);
        let mut alive: BTreeSet<u16> = BTreeSet::new();
        for step in 0..120 {
            let first = 1000 + rng.below(300) as u16;
            let numbers: Vec<u16> = (first..first + 1 + rng.below(60) as u16).collect();
            match rng.below(5) {
                0 => {
                    change(&mut member, &numbers[..1], &[]);
                    alive.insert(numbers[0]);
                }
                1 | 2 => {
                    change(&mut member, &[], &numbers);
                    alive.retain(|number| !numbers.contains(number));
                }
                _ => {
                    let to = (rng.below(2) == 0).then(|| first + rng.below(200) as u16);
                    let (reverse, wanted) = (rng.below(2) == 0, 1 + rng.below(20) as usize);
                    let direction = if reverse { Direction::Reverse } else { Direction::Forward };
                    let met = read(&mut member, (first, to), direction, wanted);
                    let within = |number: &u16| *number >= first && to.is_none_or(|to| *number < to);
                    let mut expected: Vec<u16> = alive.iter().copied().filter(within).collect();
                    if reverse {
                        expected.reverse();
                    }
                    expected.truncate(wanted);
                    assert_eq!(met.alive, expected, "seed {seed}, step {step}");
                }
            }
        }
    }
}
