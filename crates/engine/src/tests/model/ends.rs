//! The ends of a process and of power, and what has to be there after each.

use super::*;

impl World {
    pub(super) fn all_rows(&mut self) -> BTreeMap<RowKey, Version> {
        let mut all = BTreeMap::new();
        for table in self.tables.keys().copied().collect::<Vec<_>>() {
            let rows = self.read(|engine| {
                let from = TablePosition::Token(Token(i64::MIN));
                let mut cursor =
                    engine.scan_table(&TableScan { table, from, to: Token(i64::MAX), policy: CachePolicy::Bypass, read_ahead: 64 })?;
                let mut rows = Vec::new();
                while let Some(row) = cursor.next()? {
                    let key = (table.0, row.token.0, row.partition.to_vec(), row.clustering.to_vec());
                    rows.push((
                        key,
                        Version { sequence: row.row.sequence.0, kind: row.row.kind, row: row.row.bytes.to_vec(), batch: 0, purged: false },
                    ));
                }
                Ok(rows)
            });
            all.extend(rows);
        }
        all
    }

    /// The process dies, sometimes in the middle of a write. Everything acknowledged is there afterwards.
    pub(in crate::tests) fn kill(&mut self) {
        self.kills += 1;
        let mut unknown: Option<u64> = None;
        if self.rng.below(2) == 0 && !self.engine().closing {
            self.stable.crash_in_write(self.rng.below(400) as usize);
            for _ in 0..20 {
                self.write(false);
                if self.stable.has_crashed() {
                    unknown = Some(self.batches);
                    break;
                }
            }
        }
        self.note(&format!("kill, unknown batch {unknown:?}"));
        self.engine = None;
        self.disk.lose_process(&mut self.rng);
        self.stable.reopen();
        self.pending.clear();
        self.spoil_checkpoint();
        while self.rng.below(4) == 0 {
            self.start_and_stop();
            self.disk.lose_process(&mut self.rng);
        }
        self.open();
        let found = self.all_rows();
        if let Some(batch) = unknown {
            self.settle_unknown(batch, &found);
        }
        self.assert_all(&found);
    }

    /// A batch that was being written when the process died is there as a whole or not at all.
    fn settle_unknown(&mut self, batch: u64, found: &BTreeMap<RowKey, Version>) {
        let mut there = Vec::new();
        for (key, versions) in &self.versions {
            if let Some(version) = versions.iter().rev().find(|version| version.batch == batch) {
                there.push(found.get(key).is_some_and(|found| found.sequence == version.sequence));
            }
        }
        let whole = there.iter().all(|there| *there) || there.iter().all(|there| !*there);
        assert!(whole, "seed {}: a part of batch {batch} is there", self.seed);
        if there.iter().any(|there| !*there) {
            for versions in self.versions.values_mut() {
                versions.retain(|version| version.batch != batch);
            }
        }
    }

    fn assert_all(&self, found: &BTreeMap<RowKey, Version>) {
        for key in self.versions.keys() {
            self.assert_agrees(key, found.get(key));
        }
        for (key, version) in found {
            self.assert_agrees(key, Some(version));
        }
    }

    /// The power goes. What was durable is there, or something newer; batches are whole.
    pub(in crate::tests) fn lose_power(&mut self) {
        self.outages += 1;
        let durable = self.engine().durable_sequence().0;
        self.note("power loss");
        self.engine = None;
        self.disk.lose_power(&mut self.rng);
        self.stable.lose_power(&mut self.rng);
        self.boot += 1;
        self.pending.clear();
        self.spoil_checkpoint();
        while self.rng.below(4) == 0 {
            self.start_and_stop();
            self.disk.lose_power(&mut self.rng);
            self.stable.lose_power(&mut self.rng);
            self.boot += 1;
        }
        self.open();
        let found = self.all_rows();
        let mut survivors: BTreeMap<u64, bool> = BTreeMap::new();
        for (key, versions) in &self.versions {
            let mark = self.mark(key.0);
            let valid: Vec<&Version> = versions.iter().filter(|version| version.sequence >= mark).collect();
            let least = valid.iter().rev().find(|version| version.sequence <= durable);
            match found.get(key) {
                None => assert!(
                    self.may_be_gone(least.copied())
                        || valid.iter().any(|version| version.sequence >= least.unwrap().sequence && self.may_be_gone(Some(version))),
                    "seed {}: {key:?} was durable at {durable} and is gone: {:?}: {:?}",
                    self.seed,
                    least.map(|version| version.sequence),
                    self.trace
                ),
                Some(row) => {
                    // Numbers of writes that were lost are given out again, so a number alone does not name a version.
                    let same = |version: &&&Version| (version.sequence, version.kind, &version.row) == (row.sequence, row.kind, &row.row);
                    let version = valid.iter().find(same).unwrap_or_else(|| {
                        panic!("seed {}: {key:?} has row {} that was never written: {:?}", self.seed, row.sequence, self.trace)
                    });
                    assert!(least.is_none_or(|least| row.sequence >= least.sequence), "seed {}: {key:?} went back", self.seed);
                    survivors.insert(version.batch, true);
                }
            }
        }
        for (key, row) in &found {
            assert!(self.versions.contains_key(key), "seed {}: {key:?} is {row:?} out of nowhere", self.seed);
        }
        // If a row of a batch is there, so are its others, or newer ones.
        for (key, versions) in &self.versions {
            for version in versions.iter().filter(|version| survivors.contains_key(&version.batch) && version.sequence >= self.mark(key.0))
            {
                let newer = found.get(key).is_some_and(|row| row.sequence >= version.sequence);
                let gone = !found.contains_key(key)
                    && versions.iter().any(|later| later.sequence >= version.sequence && self.may_be_gone(Some(later)));
                assert!(newer || gone, "seed {}: a part of batch {} is there", self.seed, version.batch);
            }
        }
        // From here on what was found is what counts. A row that may have been purged may also come back.
        let wall_s = self.now.wall_s();
        for (key, versions) in &mut self.versions {
            match found.get(key) {
                Some(row) => versions.retain(|version| version.sequence == row.sequence && version.row == row.row),
                None => {
                    versions.retain(|version| version.kind.purge_after_s().is_some_and(|after| after < wall_s));
                    versions.iter_mut().for_each(|version| version.purged = true);
                }
            }
        }
    }

    /// The end comes while the shard is being shut down.
    pub(super) fn interrupt_shutdown(&mut self) {
        self.engine().shutdown();
        for _ in 0..self.rng.below(20) {
            self.turn();
        }
        if self.rng.below(3) == 0 { self.kill() } else { self.lose_power() }
    }

    pub(in crate::tests) fn shut_down(&mut self) {
        self.engine().shutdown();
        for _ in 0..20_000 {
            if self.engine().is_clean() {
                break;
            }
            self.turn();
        }
        let (seed, stats, setup) = (self.seed, self.engine().stats(), self.setup);
        assert!(self.engine().is_clean(), "seed {seed}: shutdown does not end: {stats:?} {setup:?}");
        self.engine = None;
        self.disk.lose_power(&mut self.rng);
        self.stable.lose_power(&mut self.rng);
        self.boot += 1;
        self.pending.clear();
        self.open();
        let found = self.all_rows();
        self.assert_all(&found);
    }
}
