//! A backup's session on a core: begun, scanned, cut, over.
//!
//! | state | ends when |
//! |---|---|
//! | scan: chunks of its slots, with changes before each | the last slot is scanned |
//! | changes: what is written | the tool ends it, or nobody reads the stream |
//! | paused, during either | it is released, or after [`PAUSE_US_MAX`] |

use super::frames::{FrameKind, FrameSender};
use super::port::{BackupRequest, PlaceReport, Started};
use crate::core::Core;
use crate::message::Message;
use base::{SLOT_COUNT, Slot, TableId};
use io::Reactor;
use model::operation::batch_log;
use shard::SlotScan;
use std::collections::BTreeSet;

/// A cut that takes longer is undone: clients wait for it.
const PAUSE_US_MAX: u64 = 500_000;
/// A stream without anything to say says so this often.
const IDLE_US: u64 = 1_000_000;
/// While a backup runs a core looks after it this often.
const POLL_US: u64 = 1_000;

/// A backup on this core.
pub(crate) struct CoreBackup {
    session: u64,
    keyspaces: Vec<String>,
    pub(super) frames: FrameSender,
    /// What was kept last, to be used again.
    pub(super) kept: Vec<u8>,
    /// The slots that are left, the next one last, each with the tables that this core is primary of.
    pub(super) slots: Vec<(Slot, Vec<TableId>)>,
    pub(super) scan: Option<SlotScan>,
    pub(super) is_scanned: bool,
    places: Vec<(String, u16, u64)>,
    pause: Option<Pause>,
    pub(super) said_us: u64,
}

struct Pause {
    number: u32,
    until_us: u64,
}

impl Core {
    /// The share of backups and restores in a turn. Returns the time at which to be called again.
    pub(crate) fn backup_turn<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let config = std::sync::Arc::clone(&self.config);
        let port = config.board.as_deref()?.backup();
        for request in port.take(self.core.0) {
            self.take_backup_request(reactor, request);
        }
        self.backup.as_ref()?;
        let now_us = reactor.now().monotonic_us;
        let backup = self.backup.as_mut()?;
        if backup.pause.as_ref().is_some_and(|pause| now_us >= pause.until_us) {
            tracing::warn!(core = self.core.0, "the cut of a backup took too long and is undone");
            backup.pause = None;
            self.shard.pause(false);
        }
        if self.cluster.is_none() {
            self.shard.take_scans_ready().for_each(drop);
        }
        if !self.send_backup(reactor) {
            self.end_backup();
            return None;
        }
        Some(now_us + POLL_US)
    }

    fn take_backup_request<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, request: BackupRequest) {
        let now_us = reactor.now().monotonic_us;
        match request {
            BackupRequest::Start { session, keyspaces, buffer_bytes, frames, answer } => {
                self.end_backup();
                let places = self.backup_places(&keyspaces);
                let report = reports(&places);
                self.begin_backup(session, keyspaces, buffer_bytes, frames, places, now_us);
                // Who asked may have given up.
                let _ = answer.send(Started { places: report });
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
                let _ = answer.send(reports(&self.backup_places(&keyspaces)));
            }
            BackupRequest::Restore { rows, answer } => self.restore_rows(reactor, rows, answer),
            BackupRequest::Create(create) => self.create_tables(reactor, create),
        }
    }

    fn begin_backup(
        &mut self,
        session: u64,
        keyspaces: Vec<String>,
        buffer_bytes: usize,
        frames: FrameSender,
        places: Vec<(String, u16, u64)>,
        now_us: u64,
    ) {
        let mut slots = Vec::new();
        for slot in (0..SLOT_COUNT as u16).rev().filter(|slot| Slot(*slot).core(self.cores) == self.core) {
            let of_slot = places.iter().filter(|(_, place, _)| *place == slot).map(|(keyspace, ..)| keyspace);
            let tables: Vec<TableId> = of_slot.flat_map(|keyspace| self.backup_tables(keyspace)).collect();
            if !tables.is_empty() {
                slots.push((Slot(slot), tables));
            }
        }
        let tables: BTreeSet<TableId> = keyspaces.iter().flat_map(|keyspace| self.backup_tables(keyspace)).collect();
        self.shard.keep_writes(tables, buffer_bytes);
        tracing::info!(core = self.core.0, slots = slots.len(), "a backup begins");
        self.backup = Some(Box::new(CoreBackup {
            session,
            keyspaces,
            frames,
            kept: Vec::new(),
            slots,
            scan: None,
            is_scanned: false,
            places,
            pause: None,
            said_us: now_us,
        }));
    }

    /// The engine's tables of a keyspace that are in its backup: rows and logs of batches. Indexes and views follow from rows.
    fn backup_tables(&self, keyspace: &str) -> Vec<TableId> {
        let tables = self.schema.keyspaces.get(keyspace).into_iter().flat_map(|keyspace| keyspace.tables.values());
        tables.filter(|table| table.view.is_none()).flat_map(|table| [table.id, batch_log(table.id)]).collect()
    }

    /// The slots that this core is the primary of, with their terms.
    fn backup_places(&self, keyspaces: &[String]) -> Vec<(String, u16, u64)> {
        let mut places = Vec::new();
        for keyspace in keyspaces.iter().filter(|keyspace| self.schema.keyspaces.contains_key(*keyspace)) {
            for slot in (0..SLOT_COUNT as u16).map(Slot).filter(|slot| slot.core(self.cores) == self.core) {
                let term = match &self.cluster {
                    None => Some(0),
                    Some(cluster) => cluster.view.number_of(keyspace).and_then(|number| cluster.roles.serving_term(number, slot)),
                };
                places.extend(term.map(|term| (keyspace.clone(), slot.0, term)));
            }
        }
        places
    }

    fn cut_backup<R: Reactor<Message = Message>>(&mut self, reactor: &R, session: u64, number: u32) -> bool {
        let now_us = reactor.now().monotonic_us;
        let Some(mut backup) = self.backup.take_if(|backup| backup.session == session) else { return false };
        let is_good = backup.places == self.backup_places(&backup.keyspaces) && self.shard.is_leased(now_us);
        if is_good {
            self.shard.pause(true);
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
        self.shard.pause(false);
        self.backup = Some(backup);
        is_good
    }

    /// Nothing is kept any more, and nothing waits.
    fn end_backup(&mut self) {
        if self.backup.take().is_some() {
            self.shard.pause(false);
            self.shard.end_keeping();
            self.shard.end_scan(shard::BACKUP_SCAN);
            tracing::info!(core = self.core.0, "a backup has ended");
        }
    }
}

fn reports(places: &[(String, u16, u64)]) -> Vec<PlaceReport> {
    places.iter().map(|(keyspace, slot, _)| PlaceReport { keyspace: keyspace.clone(), slot: *slot }).collect()
}

impl CoreBackup {
    /// Whether the tool still hears of it; says now and then that the stream lives.
    pub(super) fn is_heard(&mut self, now_us: u64) -> bool {
        if now_us < self.said_us + IDLE_US {
            return true;
        }
        self.said_us = now_us;
        self.frames.send(FrameKind::Idle, &[])
    }
}
