//! Graphs of vectors: whatever is written, by whomever, candidates are of the rows that there are.

use super::*;
use crate::{VectorFigures, VectorIndex};
use model::operation::{NearestQuery, RowVector, VectorColumn, VectorMetric};
use std::sync::Arc;

const INDEX: TableId = TableId(21);
const ROWS: u64 = 4500;
const MEMORY: usize = 64 << 20;

/// Two numbers in a cell of the row.
struct Pairs;

impl VectorColumn for Pairs {
    fn metric(&self) -> VectorMetric {
        VectorMetric::Euclidean
    }

    fn dimensions(&self) -> usize {
        2
    }

    fn of_row<'a>(&self, _: &'a [u8], row: &'a [u8]) -> RowVector<'a> {
        match RowView::new(row).cells().find(|cell| cell.column == ColumnId(3)).map(|cell| (cell.stamp.timestamp, cell.content)) {
            Some((timestamp, Content::Value(bytes))) => RowVector::Vector { bytes, timestamp, expires_at_s: 0 },
            _ => RowVector::Without,
        }
    }
}

/// Rows lie along a line, by their numbers, unless they are somewhere else.
fn place(number: u64) -> Place {
    ((number % 9) as u16, (number / 9) as u16)
}

fn vector(at: f32) -> Vec<u8> {
    [at.to_be_bytes(), 1.0_f32.to_be_bytes()].concat()
}

fn row_at(at: f32) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = RowWriter::new(&mut out, Stamp::at(1), true, None);
    writer.value(ColumnId(3), Stamp::at(1), &vector(at));
    writer.finish();
    out
}

/// Writes rows with vectors, and removes rows.
#[derive(Default)]
struct Put(Vec<(u64, f32)>, Vec<u64>);

impl Operation for Put {
    fn run(&self, context: &Context, _: &dyn RowStore, writes: &mut WriteSet, _: &mut Vec<u8>) -> Result<(), Stop> {
        for (number, at) in &self.0 {
            let key = key_of(place(*number));
            writes.begin(&partition_of(&key), &key.clustering).extend(row_at(*at));
            writes.end(None);
        }
        for number in &self.1 {
            let key = key_of(place(*number));
            writes.begin(&partition_of(&key), &key.clustering).extend(deleted(context.timestamp_us as u64));
            writes.end(Some(PURGE_S));
        }
        Ok(())
    }
}

/// Asks for the candidates of some slots near to a place on the line; replies nothing where there is no graph.
struct Near {
    at: f32,
    count: usize,
    of_all_served: bool,
}

impl Operation for Near {
    fn run(&self, context: &Context, store: &dyn RowStore, _: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let query = NearestQuery {
            table: TABLE,
            index: INDEX,
            vector: &vector(self.at),
            count: self.count,
            first: if self.of_all_served { Slot(1).first_token() } else { Token(i64::MIN) },
            last: if self.of_all_served { Slot(1).last_token() } else { Token(i64::MAX) },
            of_all_served: self.of_all_served,
            now_s: context.now_s(),
        };
        let Some(found) = store.nearest(&query)? else { return Ok(()) };
        for row in found.rows {
            let tail = u16::from_be_bytes(row.partition.try_into().unwrap());
            reply.extend((u64::from(tail) * 9 + u64::from(row.token.slot().0)).to_be_bytes());
        }
        reply.extend(found.slots.iter().flat_map(|slot| (1_000_000 + u64::from(slot.0)).to_be_bytes()));
        Ok(())
    }
}

impl Member {
    fn with_vectors(memory_bytes: usize) -> Self {
        let mut member = Self::new(memory_bytes, Durability::Memory);
        let config = Config { capacity_bytes: 2048 * (16 << 10), ..member.config.clone() };
        member =
            Self::over(config, Disk::new(), Stable::new(member.config.stable_bytes(3)), member.now, Durability::Memory, BTreeMap::new());
        member
    }

    fn index_vectors(&mut self) {
        let index = VectorIndex { table: TABLE, index: INDEX, column: Arc::new(Pairs) };
        self.shard.set_vector_indexes([index].into_iter());
    }

    fn do_now(&mut self, operation: &dyn Operation) -> Vec<u64> {
        for _ in 0..100 {
            let (context, mut reply) = (self.shard.context(self.now), Vec::new());
            match self.shard.run(&context, operation, &mut reply) {
                Outcome::Done | Outcome::Unsynced(_) => return values(&reply),
                Outcome::Waits => self.turn(),
                Outcome::Failed(error) => panic!("{error}"),
            }
        }
        panic!("it is done some day")
    }

    fn put_line(&mut self, numbers: std::ops::Range<u64>) {
        let numbers: Vec<u64> = numbers.collect();
        for some in numbers.chunks(50) {
            self.do_now(&Put(some.iter().map(|number| (*number, *number as f32)).collect(), Vec::new()));
            self.turn();
        }
    }

    fn near(&mut self, at: f32, count: usize) -> Vec<u64> {
        self.do_now(&Near { at, count, of_all_served: false })
    }

    /// Until no vector is left to be linked.
    fn settle_vectors(&mut self) -> VectorFigures {
        for _ in 0..200_000 {
            self.turn();
            let figures = self.shard.vector_figures();
            if !self.shard.builds_vectors(INDEX) && figures.left == 0 {
                return figures;
            }
        }
        panic!("graphs come to an end: {:?}", self.shard.vector_figures());
    }
}

#[test]
fn a_graph_has_rows_from_before_and_after_the_index() {
    let mut member = Member::with_vectors(MEMORY);
    member.put_line(0..4000);
    member.index_vectors();
    assert_eq!(member.settle_vectors(), VectorFigures::default(), "few rows are compared one by one");
    assert!(member.near(5.0, 3).is_empty());
    member.put_line(4000..ROWS);
    // From the moment that it is large enough it is told to be in the making.
    assert!(member.shard.builds_vectors(INDEX));
    let figures = member.settle_vectors();
    assert_eq!((figures.linked, figures.refused), (ROWS, 0));
    assert!(member.shard.engine().stats().memory_bytes >= figures.bytes && figures.bytes > ROWS * 100);
    assert_eq!(member.near(5.0, 1), [5]);
    assert_eq!(BTreeSet::from_iter(member.near(4321.0, 3)), BTreeSet::from([4320, 4321, 4322]));

    // What is written is a candidate at once, and what is gone is none.
    member.do_now(&Put(vec![(5, -100.0), (ROWS, 5.25)], vec![4321]));
    assert_eq!(member.near(5.0, 1), [ROWS]);
    assert_eq!(member.near(-90.0, 1), [5]);
    assert_eq!(BTreeSet::from_iter(member.near(4321.0, 2)), BTreeSet::from([4320, 4322]));

    // A restart begins anew, and rows are compared one by one until it is over.
    let mut member = member.restart();
    member.index_vectors();
    assert!(member.shard.builds_vectors(INDEX) && member.near(5.0, 1).is_empty());
    assert_eq!(member.settle_vectors().linked, ROWS);
    assert_eq!(member.near(-90.0, 1), [5]);

    member.shard.truncate(TABLE);
    member.turn();
    assert!(member.near(5.0, 1).is_empty());
    assert_eq!(member.settle_vectors(), VectorFigures::default());
    member.shard.set_vector_indexes(std::iter::empty());
    assert_eq!(member.shard.vector_figures(), VectorFigures::default());
}

#[test]
fn a_graph_follows_what_other_members_send_and_wipes() {
    let mut member = Member::with_vectors(MEMORY);
    member.index_vectors();
    member.shard.set_replicated([(TABLE, KEYSPACE)].into_iter());
    member.shard.set_lease(u64::MAX);
    for numbers in (0..ROWS).collect::<Vec<_>>().chunks(50) {
        let mut batch = WriteBatch::new();
        for number in numbers {
            batch.put(&key_of(place(*number)).borrow(), engine::Kind::Live, &row_at(*number as f32)).unwrap();
        }
        let bytes = batch.bytes().to_vec();
        member.receive(&bytes);
        member.turn();
    }
    assert_eq!(member.settle_vectors().linked, ROWS);
    // The primary of some slots gives candidates in these, and says which they are.
    [1, 3].into_iter().for_each(|slot| member.shard.serve(KEYSPACE, Slot(slot), Serving::Alone));
    let found = member.do_now(&Near { at: 100.0, count: 2, of_all_served: true });
    assert_eq!(BTreeSet::from_iter(found), BTreeSet::from([100, 102, 1_000_001, 1_000_003]));
    // A slot that has left.
    let mut scan = crate::SlotScan::new([TABLE], Slot(3));
    while member.shard.wipe_slot(member.now, 4, &mut scan, 4096).unwrap() != crate::Chunk::End {
        member.turn();
    }
    let found = member.do_now(&Near { at: 102.0, count: 2, of_all_served: true });
    assert_eq!(BTreeSet::from_iter(found), BTreeSet::from([100, 109, 1_000_001, 1_000_003]));
}

#[test]
fn a_graph_that_has_no_memory_is_given_up_and_comes_back_when_rows_are_fewer() {
    let mut member = Member::with_vectors(4 << 20);
    member.index_vectors();
    member.put_line(0..ROWS);
    let figures = member.settle_vectors();
    assert_eq!((figures.linked, figures.bytes, figures.refused), (0, 0, 1));
    assert!(member.near(5.0, 1).is_empty());
    member.shard.truncate(TABLE);
    assert_eq!(member.settle_vectors().refused, 0);
}

#[test]
fn a_graph_comes_back_from_its_image_and_follows_what_has_changed_since() {
    let mut member = Member::with_vectors(MEMORY);
    member.index_vectors();
    member.put_line(0..ROWS);
    member.settle_vectors();
    let mut images = crate::VectorImages::new();
    while let Some(part) = member.shard.next_vector_part(member.now) {
        let parts = images.entry(part.index).or_default();
        assert_eq!(part.part as usize, parts.len());
        parts.push(part.bytes);
    }
    assert!(images[&INDEX].len() > 1);
    assert!(member.shard.next_vector_part(member.now).is_none(), "it has not changed since");
    member.do_now(&Put(vec![(5, -100.0), (ROWS, 5.25)], vec![4321]));

    let mut member = member.restart();
    images.insert(TableId(99), vec![vec![1], vec![2]]);
    member.shard.set_vector_images(images);
    member.index_vectors();
    member.turn();
    assert!(member.near(5.0, 1).is_empty(), "rows are compared until the walk is over");
    let figures = member.settle_vectors();
    assert_eq!((figures.restored, figures.linked), (ROWS, ROWS));
    assert_eq!(member.near(5.0, 1), [ROWS]);
    assert_eq!(member.near(-90.0, 1), [5]);
    assert_eq!(BTreeSet::from_iter(member.near(4321.0, 2)), BTreeSet::from([4320, 4322]));
    // Parts of an index that is no more are emptied.
    let outdated: Vec<_> =
        std::iter::from_fn(|| member.shard.next_vector_part(member.now)).map(|part| (part.index.0, part.bytes.len())).collect();
    assert_eq!(outdated, [(99, 0), (99, 0)]);
}

#[test]
fn a_walk_that_waits_for_the_device_goes_on_beside_one_that_begins() {
    let mut member = Member::with_vectors(MEMORY);
    member.put_line(0..ROWS);
    let mut member = member.restart();
    let index = |number| VectorIndex { table: TABLE, index: TableId(number), column: Arc::new(Pairs) };
    member.shard.set_vector_indexes([index(INDEX.0 + 1)].into_iter());
    let waits = (0..100_000).any(|_| {
        member.turn();
        member.shard.vectors.waits()
    });
    assert!(waits, "rows are on the device");
    member.shard.set_vector_indexes([index(INDEX.0), index(INDEX.0 + 1)].into_iter());
    assert_eq!(member.settle_vectors().linked, 2 * ROWS);
}
