//! Starts of the engine: whatever recovery finds, damaged checkpoints among it.

use super::*;

impl World {
    /// Starts an engine that recovers what is there.
    pub(super) fn start(&mut self) {
        let config = Config {
            segment_bytes: self.setup.segment_bytes,
            flush_interval_us: 10_000,
            checkpoint_bytes_min: self.setup.checkpoint_bytes,
            leaf_rows_max: self.setup.leaf_rows,
            page_rows_max: self.setup.page_rows,
            page_bytes_max: self.setup.page_bytes,
            page_row_bytes_max: self.setup.page_row_bytes,
            boot: self.boot,
            log_key: self.setup.encrypted.then(|| LogKey::new([7; 32])),
            ..Config::new(
                99,
                0,
                self.disk.len(),
                self.setup.capacity_segments * u64::from(self.setup.segment_bytes),
                self.setup.memory_bytes,
            )
        };
        self.now.wall_us += 1000;
        let mut engine = Engine::open(config, Box::new(self.stable.clone()), &self.tables, self.now).unwrap();
        engine.planted = self.planted;
        self.engine = Some(engine);
    }

    /// Starts an engine and stops it in the middle of recovery.
    pub(super) fn start_and_stop(&mut self) {
        self.start();
        for _ in 0..self.rng.below(60) {
            self.disk_step();
        }
        self.engine = None;
    }

    pub(super) fn open(&mut self) {
        self.start();
        for _ in 0..100_000 {
            if self.engine().is_ready() {
                let progress = self.engine().recovery_progress();
                self.warm_starts += u64::from(progress.checkpoint_rows.is_some());
                self.trace.push(format!("{progress:?}"));
                if let Some(floor) = self.floor {
                    self.engine().set_purge_floor(Some(floor));
                    self.engine().restore_purged(floor);
                }
                self.check_index();
                return;
            }
            self.disk_step();
        }
        panic!("recovery does not end: {:?}", self.engine().recovery_error());
    }

    /// Now and then a bit of a checkpoint turns wrong: that costs time at the next start, and no row.
    pub(super) fn spoil_checkpoint(&mut self) {
        let segment_bytes = self.setup.segment_bytes as usize;
        let of_checkpoint = |bytes: &&[u8]| {
            let block = SegmentHeader::read_block(&bytes[..BLOCK_BYTES]);
            matches!(block, HeaderBlock::Valid(header) if header.state == HeaderState::Checkpoint)
        };
        let segments = self.disk.bytes().chunks(segment_bytes).enumerate();
        let parts: Vec<usize> = segments.filter(|(_, bytes)| of_checkpoint(bytes)).map(|(segment, _)| segment).collect();
        if parts.is_empty() || self.rng.below(3) > 0 {
            return;
        }
        self.spoilt += 1;
        let segment = parts[self.rng.below(parts.len() as u64) as usize];
        // Of the header block only the first copies: two bad sectors would cost the segment.
        let offset = if self.rng.below(4) == 0 { self.rng.below(128) } else { 4096 + self.rng.below(2000) };
        self.disk.damage(segment * segment_bytes + offset as usize, 1 << self.rng.below(8));
    }

    /// The accounts of the index and of the segments agree with the rows that are there.
    pub(super) fn check_index(&mut self) {
        let engine = self.engine.as_ref().unwrap();
        let (mut rows, mut live) = (0, 0);
        for table in engine.index.table_ids() {
            let table = engine.index.table(table).unwrap();
            let mut at = 0;
            while let Some((number, slot)) = table.next_slot(at) {
                let mut position = 0;
                while let Some((cell, entry)) = slot.next_from(position) {
                    let mut count = |location: Location, more: u32| {
                        rows += u64::from(more);
                        live += engine.memory.device_location(location).padded() as u64;
                    };
                    match entry.location.target() {
                        Target::Partition(number) => {
                            let rows = &engine.index.partitions.get(number).rows;
                            rows.range(Bound::Unbounded, Bound::Unbounded).for_each(|(_, location)| count(location, 1));
                            let pages = rows.page_range(Bound::Unbounded, Bound::Unbounded);
                            pages.for_each(|(_, page)| count(page.location, page.rows));
                        }
                        _ => count(entry.location, 1),
                    }
                    position = cell + 1;
                }
                at = number + 1;
            }
        }
        assert_eq!((engine.stats().rows, engine.stats().live_bytes), (rows, live), "seed {}: {:?}", self.seed, self.trace);
    }
}
