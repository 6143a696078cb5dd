//! Scans of partitions and tables, compared with the model row by row.

use super::*;
use std::ops::RangeBounds;

impl World {
    pub(super) fn check_partition_scan(&mut self) {
        let (table, token, partition, _) = self.random_key();
        let bound = |rng: &mut Rng| rng.below(200).to_be_bytes()[6..].to_vec();
        let (low, high) = (bound(&mut self.rng), bound(&mut self.rng));
        let from = [Bound::Unbounded, Bound::Included(&low[..]), Bound::Excluded(&low[..])][self.rng.below(3) as usize];
        let to = [Bound::Unbounded, Bound::Included(&high[..]), Bound::Excluded(&high[..])][self.rng.below(3) as usize];
        let direction = if self.rng.below(2) == 0 { Direction::Forward } else { Direction::Backward };
        let read_ahead = 1 + self.rng.below(64) as usize;
        let scan = PartitionScan {
            table: TableId(table),
            token: Token(token),
            partition: &partition,
            from,
            to,
            direction,
            policy: CachePolicy::Bypass,
            read_ahead,
        };
        let found = self.read(|engine| {
            let mut cursor = engine.scan_partition(&scan)?;
            let mut found = Vec::new();
            while let Some((clustering, row)) = cursor.next()? {
                let version = Version { sequence: row.sequence.0, kind: row.kind, row: row.bytes.to_vec(), batch: 0, purged: false };
                found.push(((table, token, scan.partition.to_vec(), clustering.to_vec()), version));
            }
            Ok(found)
        });
        let mut keys: Vec<&RowKey> = found.iter().map(|(key, _)| key).collect();
        if direction == Direction::Backward {
            keys.reverse();
        }
        assert!(keys.is_sorted_by(|left, right| left < right), "seed {}: rows out of order", self.seed);
        if (from, to) == (Bound::Unbounded, Bound::Unbounded) {
            let rows = self.read(|engine| engine.partition_rows(TableId(table), Token(token), &partition, CachePolicy::Bypass));
            // Between the two reads rows may have been purged.
            assert!(rows <= found.len(), "seed {}: {rows} rows counted, {} read", self.seed, found.len());
            let lasting = found.iter().filter(|(_, version)| version.kind == Kind::Live).count();
            assert!(rows >= lasting, "seed {}: {rows} rows counted, {lasting} are live", self.seed);
        }
        let found: BTreeMap<RowKey, Version> = found.into_iter().collect();
        let of_partition = |key: &&RowKey| key.0 == table && key.1 == token && key.2 == partition && (from, to).contains(&key.3[..]);
        for key in self.versions.keys().filter(of_partition) {
            self.assert_agrees(key, found.get(key));
        }
        for (key, version) in &found {
            self.assert_agrees(key, Some(version));
        }
    }

    /// Reads a whole table in pages, with work between them that does not change rows.
    pub(super) fn check_table_scan(&mut self) {
        let table = *self.tables.keys().nth(self.rng.below(self.tables.len() as u64) as usize).unwrap();
        let mut found: Vec<(RowKey, Version)> = Vec::new();
        loop {
            let last = found.last().map(|(key, _)| key.clone());
            let page = 1 + self.rng.below(100) as usize;
            let read_ahead = 1 + self.rng.below(32) as usize;
            let rows = self.read(|engine| {
                let from = match &last {
                    None => TablePosition::Token(Token(i64::MIN)),
                    Some((_, token, partition, clustering)) => TablePosition::After { token: Token(*token), partition, clustering },
                };
                let mut cursor =
                    engine.scan_table(&TableScan { table, from, to: Token(i64::MAX), policy: CachePolicy::Bypass, read_ahead })?;
                let mut rows = Vec::new();
                while rows.len() < page
                    && let Some(row) = cursor.next()?
                {
                    let key = (table.0, row.token.0, row.partition.to_vec(), row.clustering.to_vec());
                    rows.push((
                        key,
                        Version { sequence: row.row.sequence.0, kind: row.row.kind, row: row.row.bytes.to_vec(), batch: 0, purged: false },
                    ));
                }
                Ok(rows)
            });
            let end = rows.len() < page;
            found.extend(rows);
            if end {
                break;
            }
            self.turn();
        }
        assert!(found.is_sorted_by(|(left, _), (right, _)| left < right), "seed {}: table out of order", self.seed);
        let found: BTreeMap<RowKey, Version> = found.into_iter().collect();
        for key in self.versions.keys().filter(|key| key.0 == table.0) {
            self.assert_agrees(key, found.get(key));
        }
        for (key, version) in &found {
            self.assert_agrees(key, Some(version));
        }
    }
}
