//! Which rows of the store a chunk comes to: those of a partition's ranges, or of partitions along the ring.

use super::{Before, Gather};
use crate::exec::fetch::{Cursor, Place};
use crate::exec::keys::KeyRange;
use base::Token;
use model::operation::{Direction, FIRST_ROW_BYTE, PartitionKey, Position, RowStore, ScannedRow, Stop, Visit};

impl Gather<'_> {
    /// Looks through the cursor's partition.
    pub(in crate::exec::fetch) fn partition(&mut self, store: &dyn RowStore) -> Result<(), Stop> {
        let after_only_row = self.plan.table.clustering_len == 0 && self.cursor.place != Place::Start;
        if self.cursor.place == Place::End || after_only_row || self.stop_before_more() {
            return Ok(());
        }
        let (key, token) = (self.cursor.partition.clone(), self.cursor.token);
        let partition = PartitionKey { table: self.plan.table.id, token, bytes: &key };
        if self.plan.table.clustering_len == 0 {
            self.entered = true;
            if let Some(row) = store.get(&partition, &[])?
                && self.row(&[], row) == Visit::Stop
            {
                return Ok(());
            }
            self.leave();
            return Ok(());
        }
        self.enter(store, &partition)?;
        if self.gives_one_static_row() {
            return Ok(());
        }
        let resume = match &self.cursor.place {
            Place::After(clustering) => Some(clustering.clone()),
            _ => None,
        };
        let fetch = self.fetch;
        let count = fetch.ranges.len();
        for index in 0..count {
            let range = &fetch.ranges[if self.plan.reversed { count - 1 - index } else { index }];
            if self.range(store, &partition, range, resume.as_deref())? == Visit::Stop {
                return Ok(());
            }
        }
        self.leave();
        Ok(())
    }

    /// Looks through one range of clustering keys, as far as it lies after `resume`.
    fn range(
        &mut self,
        store: &dyn RowStore,
        partition: &PartitionKey<'_>,
        range: &KeyRange,
        resume: Option<&[u8]>,
    ) -> Result<Visit, Stop> {
        let reversed = self.plan.reversed;
        let (mut from, mut to) = (range.from.as_slice(), range.to.as_deref());
        let after;
        match resume {
            Some(resume) if reversed => to = Some(to.map_or(resume, |to| to.min(resume))),
            Some(resume) => {
                after = [resume, &[0]].concat();
                from = from.max(&after);
            }
            None => {}
        }
        if to.is_some_and(|to| to <= from) {
            return Ok(Visit::Continue);
        }
        if range.single {
            let row = store.get(partition, from)?;
            return Ok(match row {
                Some(row) => self.row(from, row),
                None => self.pass(from, 0),
            });
        }
        let direction = if reversed { Direction::Reverse } else { Direction::Forward };
        let mut last = Visit::Continue;
        store.scan_live(partition, (from, to), direction, self.fetch.now_s, &mut |clustering, row| {
            last = self.row(clustering, row);
            last
        })?;
        Ok(last)
    }

    /// Looks through partitions up to `until`.
    pub(in crate::exec::fetch) fn ring(&mut self, store: &dyn RowStore, until: Token) -> Result<(), Stop> {
        let table = self.plan.table.id;
        if let Place::After(_) = self.cursor.place
            && self.plan.table.clustering_len > 0
        {
            let key = self.cursor.partition.clone();
            self.enter(store, &PartitionKey { table, token: self.cursor.token, bytes: &key })?;
        }
        loop {
            if self.stop_before_more() {
                return Ok(());
            }
            let mut partition = self.cursor.partition.clone();
            let mut clustering = Vec::new();
            match &self.cursor.place {
                Place::Start => {}
                Place::After(key) => {
                    clustering.extend_from_slice(key);
                    clustering.push(0);
                }
                // The next key there can be.
                Place::End => partition.push(0),
            }
            let from = Position { token: self.cursor.token, partition: &partition, clustering: &clustering };
            let mut last = Visit::Continue;
            store.scan_table(table, from, until, &mut |scanned| {
                last = self.scanned(&scanned);
                last
            })?;
            if last != Visit::Stop {
                // The last partition ends with the scan.
                self.leave();
                return Ok(());
            }
            if self.end.is_some() {
                return Ok(());
            }
            // The rest of this partition is of no interest.
            self.cursor.place = Place::End;
            self.before = None;
        }
    }

    fn scanned(&mut self, scanned: &ScannedRow<'_>) -> Visit {
        let PartitionKey { token, bytes, .. } = scanned.partition;
        let same = self.entered && self.cursor.token == token && self.cursor.partition == bytes;
        if !same {
            self.leave();
            if self.end.is_some() || self.stop_before_more() {
                return Visit::Stop;
            }
            let before = std::mem::replace(&mut self.cursor, Cursor::start(token, bytes.to_vec()));
            self.before = (self.plan.table.clustering_len > 0).then_some(Before {
                cursor: before,
                given: self.given,
                visited: self.visited,
                out_bytes: self.out.len(),
                advanced: self.advanced,
            });
            self.entered = true;
            self.cover.clear();
            self.static_row.clear();
        }
        if self.plan.table.clustering_len == 0 {
            return self.row(&[], scanned.row);
        }
        match scanned.clustering.first() {
            Some(first) if *first >= FIRST_ROW_BYTE => self.row(scanned.clustering, scanned.row),
            _ => {
                self.note(scanned.clustering, scanned.row);
                // The deletions of ranges that follow do not matter to static columns.
                if self.gives_one_static_row() { Visit::Stop } else { Visit::Continue }
            }
        }
    }

    /// Goes on at `token`.
    pub(in crate::exec::fetch) fn begin_at(&mut self, token: Token) {
        self.cursor = Cursor::start(token, Vec::new());
        (self.advanced, self.entered, self.before) = (true, false, None);
    }

    /// Goes on with a partition of which only certain rows are looked at.
    pub(in crate::exec::fetch) fn begin_partition(&mut self, store: &dyn RowStore, partition: &PartitionKey<'_>) -> Result<(), Stop> {
        if self.plan.table.clustering_len > 0 {
            self.enter(store, partition)?;
        }
        (self.entered, self.before) = (true, None);
        Ok(())
    }

    /// Looks at all rows of the entered partition that are left.
    pub(in crate::exec::fetch) fn rows_of_partition(&mut self, store: &dyn RowStore, partition: &PartitionKey<'_>) -> Result<Visit, Stop> {
        let from = match &self.cursor.place {
            Place::After(clustering) => [clustering, &[0][..]].concat(),
            _ => vec![FIRST_ROW_BYTE],
        };
        let mut last = Visit::Continue;
        store.scan_live(partition, (&from, None), Direction::Forward, self.fetch.now_s, &mut |clustering, row| {
            last = self.row(clustering, row);
            last
        })?;
        Ok(last)
    }
}
