//! A core's share in backups and restores: what threads ask of it, and when.

use super::create::CreateTables;
use super::frames::{FrameKind, FrameSender};
use super::port::{BackupRequest, PlaceReport};
use super::read_pacing::ReadPace;
use super::roles::CreateRoles;
use super::session::{CoreBackup, Pause, Place};
use crate::cluster::Rest;
use crate::core::Core;
use crate::message::Message;
use base::{SLOT_COUNT, Slot, TableId};
use io::Reactor;
use model::Schema;
use model::operation::batch_log;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A cut that takes longer is undone: clients wait for it.
const PAUSE_US_MAX: u64 = 500_000;
/// While a backup runs a core looks after it this often.
const POLL_US: u64 = 1_000;

impl Core {
    /// The share of backups and restores in a turn. Returns the time at which to be called again.
    pub(crate) fn backup_turn<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        if self.config.board.as_deref()?.backup().has_requests() {
            let config = Arc::clone(&self.config);
            let requests = config.board.as_deref().map(|board| board.backup().take(self.core.0));
            for request in requests.into_iter().flatten() {
                self.take_backup_request(reactor, request);
            }
        }
        self.backup.as_ref()?;
        let now_us = reactor.now().monotonic_us;
        let backup = self.backup.as_mut()?;
        if backup.pause.as_ref().is_some_and(|pause| now_us >= pause.until_us) {
            tracing::warn!(core = self.core.0, "the cut of a backup took too long and is undone");
            backup.pause = None;
            self.shard.resume();
        }
        match self.send_backup(reactor) {
            Some(due_us) => Some(due_us.min(now_us + POLL_US)),
            None => {
                self.end_backup();
                None
            }
        }
    }

    fn take_backup_request<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, request: BackupRequest) {
        let now_us = reactor.now().monotonic_us;
        match request {
            BackupRequest::Start { session, keyspaces, buffer_bytes, frames, answer } => {
                let places = self.backup.is_none().then(|| self.backup_places(&keyspaces));
                // Who asked may have given up.
                let _ = answer.send(places.as_deref().map(|places| reports(&keyspaces, places)));
                if let Some(places) = places {
                    self.begin_backup(session, keyspaces, buffer_bytes, frames, places, now_us);
                }
            }
            BackupRequest::Cut { session, number, answer } => {
                let _ = answer.send(self.cut_backup(reactor, session, number));
            }
            BackupRequest::Release { session, number, answer } => {
                let _ = answer.send(self.release_backup(session, number, now_us));
            }
            BackupRequest::End { session } => {
                if self.backup.as_ref().is_some_and(|backup| backup.session == session) {
                    self.end_backup();
                }
            }
            BackupRequest::Places { keyspaces, answer } => {
                let _ = answer.send(reports(&keyspaces, &self.backup_places(&keyspaces)));
            }
            BackupRequest::Restore { rows, answer } => self.restore_rows(reactor, rows, answer),
            BackupRequest::Create { schema, refused } => self.change_restored(reactor, CreateTables { schema, refused }),
            BackupRequest::CreateRoles { roles, refused } => self.change_restored(reactor, CreateRoles { roles, refused }),
        }
    }

    fn begin_backup(
        &mut self,
        session: u64,
        keyspaces: Vec<String>,
        buffer_bytes: usize,
        frames: FrameSender,
        places: Vec<Place>,
        now_us: u64,
    ) {
        let tables_of = |keyspace| backup_tables(&self.schema, std::slice::from_ref(keyspace)).collect::<Vec<TableId>>();
        let tables: Vec<Vec<TableId>> = keyspaces.iter().map(tables_of).collect();
        let mut by_slot: BTreeMap<u16, Vec<TableId>> = BTreeMap::new();
        for (keyspace, slot, _) in places.iter().filter(|(keyspace, ..)| !tables[*keyspace].is_empty()) {
            by_slot.entry(*slot).or_default().extend(&tables[*keyspace]);
        }
        let slots: Vec<_> = by_slot.into_iter().rev().map(|(slot, tables)| (Slot(slot), tables)).collect();
        self.shard.keep_writes(backup_tables(&self.schema, &keyspaces).collect(), buffer_bytes);
        self.count_backups(|running| running.fetch_add(1, Ordering::AcqRel));
        tracing::info!(core = self.core.0, slots = slots.len(), "a backup begins");
        self.backup = Some(Box::new(CoreBackup {
            session,
            keyspaces,
            frames,
            kept: Vec::new(),
            slots,
            scan: None,
            waits: false,
            rest: Rest::default(),
            reads: ReadPace::default(),
            is_scanned: false,
            places,
            pause: None,
            said_us: now_us,
            begun_us: now_us,
        }));
    }

    fn count_backups(&self, count: impl FnOnce(&AtomicUsize) -> usize) {
        if let Some(board) = self.config.board.as_deref() {
            count(&board.backup().figures().running);
        }
    }

    /// The schema will be this; no statement has used its tables yet.
    pub(crate) fn backup_new_tables(&mut self, schema: &Schema) {
        if let Some(backup) = &self.backup {
            self.shard.keep_new_tables(backup_tables(schema, &backup.keyspaces));
        }
    }

    /// The slots that this core is the primary of, with their terms.
    fn backup_places(&self, keyspaces: &[String]) -> Vec<Place> {
        let mut places = Vec::new();
        let known = keyspaces.iter().enumerate().filter(|(_, keyspace)| self.schema.keyspaces.contains_key(*keyspace));
        for (index, keyspace) in known {
            let number = self.cluster.as_ref().map(|cluster| (cluster, cluster.view.number_of(keyspace)));
            for slot in (0..SLOT_COUNT as u16).map(Slot).filter(|slot| slot.core(self.cores) == self.core) {
                let term = match number {
                    None => Some(0),
                    Some((cluster, number)) => number.and_then(|number| cluster.roles.serving_term(number, slot)),
                };
                places.extend(term.map(|term| (index, slot.0, term)));
            }
        }
        places
    }

    fn cut_backup<R: Reactor<Message = Message>>(&mut self, reactor: &R, session: u64, number: u32) -> bool {
        let now_us = reactor.now().monotonic_us;
        let Some(mut backup) = self.backup.take_if(|backup| backup.session == session) else { return false };
        let is_good = backup.places == self.backup_places(&backup.keyspaces) && self.shard.is_leased(now_us);
        if is_good {
            self.shard.pause();
            backup.pause = Some(Pause { number, until_us: now_us + PAUSE_US_MAX });
        }
        let is_sent = is_good && backup.send_kept(&mut self.shard) && backup.frames.send(FrameKind::Cut, &number.to_le_bytes());
        self.backup = Some(backup);
        is_sent
    }

    fn release_backup(&mut self, session: u64, number: u32, now_us: u64) -> bool {
        let Some(mut backup) = self.backup.take_if(|backup| backup.session == session) else { return false };
        let pause = backup.pause.take();
        let was_paused = pause.is_some_and(|pause| pause.number == number && now_us < pause.until_us);
        let is_good = was_paused && self.shard.is_leased(now_us) && backup.places == self.backup_places(&backup.keyspaces);
        self.shard.resume();
        self.backup = Some(backup);
        is_good
    }

    /// Nothing is kept any more, and nothing waits.
    fn end_backup(&mut self) {
        if self.backup.take().is_some() {
            self.shard.resume();
            self.shard.end_keeping();
            self.shard.end_scan(shard::BACKUP_SCAN);
            self.count_backups(|running| running.fetch_sub(1, Ordering::AcqRel));
            tracing::info!(core = self.core.0, "a backup has ended");
        }
    }
}

/// The engine's tables of keyspaces that are in their backup: rows and logs of batches. Indexes and views follow from rows.
fn backup_tables<'a>(schema: &'a Schema, keyspaces: &'a [String]) -> impl Iterator<Item = TableId> + 'a {
    let keyspaces = keyspaces.iter().filter_map(|name| schema.keyspaces.get(name));
    let tables = keyspaces.flat_map(|keyspace| keyspace.tables.values()).filter(|table| table.view.is_none());
    tables.flat_map(|table| [table.id, batch_log(table.id)])
}

fn reports(keyspaces: &[String], places: &[Place]) -> Vec<PlaceReport> {
    places.iter().map(|(keyspace, slot, _)| PlaceReport { keyspace: keyspaces[*keyspace].clone(), slot: *slot }).collect()
}
