//! Pages with rows that may be purged: defragmentation moves them without these.

use super::work::{Draft, PageFlags, Work, push_page_header};
use crate::engine::Engine;
use crate::format::page::PageView;
use crate::format::record::{self, HEADER_BYTES, Record};
use crate::index::{Candidate, NewPage};
use crate::key::Sequence;
use crate::location::{Location, padded};
use crate::purging::Purged;
use crate::write::Appender;
use io::Now;

impl Engine {
    /// Moves a page of which rows may be purged, without them. False when there is no room now.
    pub(crate) fn move_purged_page(&mut self, now: Now, place: Location, record: &Record<'_>, oldest_base: Sequence) -> bool {
        let key = record.key();
        let Some(view) = PageView::parse(record.row().bytes) else { return true };
        if view.rows == 0 && record.sequence() < oldest_base {
            self.index.remove_page(&key);
            self.release(place);
            return true;
        }
        let mut work = self.paging.take_work(key.table);
        let kept = self.purge_page(now, &view, &mut work);
        let made = kept.and_then(|purged| Some((work.drafts.pop()?, purged)));
        self.paging.work = Some(work);
        // What cannot be read stays where it is, and the segment with it.
        let Some((draft, purged)) = made else { return true };
        let length = HEADER_BYTES + 8 * usize::from(draft.purge_after_s().is_some()) + key.partition.len() + key.clustering.len();
        let length = length + draft.payload.len();
        if self.make_room(now, padded(length), Appender::Defrag).is_err() {
            return false;
        }
        let Some(work) = &mut self.paging.work else { return false };
        let name = Candidate { table: key.table, token: key.token, number: 0, key: Box::default(), purge: false };
        let flags = PageFlags { first: true, last: true };
        push_page_header(&mut work.group, &name, flags, draft.purge_after_s(), (key.partition, key.clustering), length);
        work.group.extend_from_slice(&work.payloads[draft.payload.clone()]);
        work.group.resize(padded(length), 0);
        let Some(open) = &mut self.log.open else { return false };
        let (segment, offset, salt) = (open.segment, open.used, open.salt);
        open.used += padded(length);
        let target = &mut self.memory.frame_mut(segment)[offset..offset + padded(length)];
        target.copy_from_slice(&work.group);
        record::set_sequence(target, record.sequence());
        record::finish(target, length, salt, offset);
        self.log.position += padded(length) as u64;
        self.counters.defrag_bytes += padded(length) as u64;
        self.note_purged(purged);
        let location = Location::record(segment, offset, padded(length));
        self.note_live(segment, location);
        let new = NewPage { low: key.clustering.into(), high: view.high.into(), location, rows: draft.made.rows };
        let old = self.index.replace_page(&key, new);
        old.into_iter().for_each(|old| self.release(old));
        self.flush.due_at(now.monotonic_us.saturating_add(self.config.flush_interval_us / 2));
        true
    }

    /// Drafts a page of the rows of another that may not be purged yet.
    fn purge_page(&self, now: Now, view: &PageView<'_>, work: &mut Work) -> Option<Purged> {
        let mut purged = Purged::default();
        let mut rows = self.pages.buffer();
        let read = self.pages.read(view, &mut rows);
        for number in 0..rows.len() {
            let row = rows.row(number);
            if row.kind.purge_after_s().is_some_and(|after| after < now.wall_s()) && self.purging.allows(row.sequence) {
                purged.note(row.sequence);
            } else {
                work.builder.push(rows.key(number), &row);
            }
        }
        self.pages.close(rows);
        let made = work.builder.finish(view.generation, view.high, &mut work.payloads);
        let payload = 0..work.payloads.len();
        work.drafts.push(Draft { low: Box::default(), high: Box::default(), payload, made });
        read.map(|()| purged)
    }
}
