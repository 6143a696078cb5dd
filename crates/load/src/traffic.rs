//! What one thread asks for and what it makes of the answers: chooses operations, settles replies. Knows no socket and no protocol.

mod replies;

use crate::choice::{Chooser, OperationChooser};
use crate::control::Control;
use crate::dataset::Dataset;
use crate::keys::KeyBytes;
use crate::newest_ring::NewestRing;
use crate::outcome::Verified;
use crate::plan::Plan;
use crate::recorder::Recorder;
use crate::tables::{Spread, Table};
use crate::target::{Request, RowKey, RowVersion, Session, Target, WriteKind};
use crate::values::ValueMaker;
use crate::versions::{Acknowledged, NO_VERSION, Versions, unaccounted};
use crate::workload::{Keys, Mix, OperationKind};
use base::Rng;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

/// Rows that are tried for a write when all have one in flight, before a read takes its place.
const FREE_ROWS_TRIED: u32 = 64;
/// Operations that a thread takes at a time from those that are left.
const TICKETS_MAX: u64 = 64;

/// What all threads of a load share.
#[derive(Debug)]
pub(crate) struct Common<'a> {
    pub(crate) dataset: &'a Dataset,
    pub(crate) plan: &'a Plan,
    pub(crate) control: &'a Control,
    /// Kept only by loads that verify.
    pub(crate) versions: Option<Arc<Versions>>,
    /// Operations that were taken.
    pub(crate) taken: AtomicU64,
    /// Of the sequential choice of keys.
    pub(crate) sequence: Arc<AtomicU64>,
    /// From the threads' common zero to the load's start; 0 before that.
    pub(crate) start_ns: AtomicU64,
    /// Microseconds since 1970 at the threads' common zero.
    pub(crate) zero_us: i64,
    /// From the threads' common zero to the last reply that any of them had.
    pub(crate) last_reply_ns: AtomicU64,
    /// No further requests, no further waiting.
    pub(crate) given_up: AtomicBool,
    /// Rows of one request: those of a block lie in one table.
    pub(crate) batch: u32,
    /// Whether reads bring all fields of a row.
    pub(crate) reads_all_fields: bool,
    /// Where the target is.
    pub(crate) addresses: &'a [SocketAddr],
    /// Where partitions are, of a load that sends requests there.
    pub(crate) newest_ring: Option<NewestRing>,
    /// What went wrong last with a connection.
    pub(crate) last_fault: Mutex<String>,
}

impl<'a> Common<'a> {
    /// The common zero of the load's threads is now.
    pub(crate) fn new(
        target: &'a dyn Target,
        (dataset, plan, control): (&'a Dataset, &'a Plan, &'a Control),
        versions: Option<Arc<Versions>>,
        newest_ring: Option<NewestRing>,
    ) -> Self {
        Self {
            dataset,
            plan,
            control,
            versions,
            taken: AtomicU64::new(0),
            sequence: Arc::new(AtomicU64::new(dataset.first_in_sequence())),
            start_ns: AtomicU64::new(0),
            zero_us: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64),
            last_reply_ns: AtomicU64::new(0),
            given_up: AtomicBool::new(false),
            batch: target.batch(),
            reads_all_fields: target.reads_all_fields(),
            addresses: target.addresses(),
            newest_ring,
            last_fault: Mutex::default(),
        }
    }
}

/// A request that is in flight, or about to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) kind: OperationKind,
    /// Whether a write is what is sent now; for a read-modify-write its second half.
    writes: bool,
    row: u64,
    /// The only field that is written.
    field: Option<u32>,
    version: u32,
    scan_rows: u32,
    /// When it should have been sent: from here its latency counts.
    pub(crate) due_ns: u64,
    /// When it was.
    pub(crate) sent_ns: u64,
}

/// What comes after a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing: the operation is over.
    Over,
    /// Its second half is to be sent.
    SecondHalf,
}

/// One thread's traffic.
pub(crate) struct Traffic<'a> {
    common: &'a Common<'a>,
    mix: &'a Mix,
    keys: Keys,
    spread: Spread,
    /// Where the rows of the batch are that is being made, if these are to be in one table.
    table: Option<Table>,
    batches: u64,
    fields: u32,
    operations: OperationChooser,
    chooser: Chooser,
    /// Of what is not a row.
    rng: Rng,
    values: ValueMaker,
    tickets: u64,
    tickets_at_once: u64,
    pub(crate) recorder: Recorder,
    verified: Verified,
    timestamp_us: i64,
    scratch: Vec<u8>,
}

impl<'a> Traffic<'a> {
    pub(crate) fn new(common: &'a Common<'a>, thread: u64) -> Self {
        let plan = common.plan;
        let rows = common.dataset.rows();
        let operations = OperationChooser::new(&plan.mix);
        let mut rng = Rng::new(plan.seed ^ (thread + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ common.dataset.share().index << 32);
        let inserts = plan.end.operations.unwrap_or(0) as f64 * operations.share(OperationKind::Insert);
        let seeded = Rng::new(rng.next_u64());
        // YCSB draws from the rows that were loaded; its newest-first choices follow what is inserted.
        let there = if common.dataset.row_count() == 0 { 1 } else { rows.count.min(common.dataset.row_count()) };
        let chooser = Chooser::new(&plan.mix.keys, there, inserts as u64, &common.sequence, seeded);
        let threads = u64::from(plan.clients.threads.max(1));
        let tickets_at_once = (plan.end.operations.unwrap_or(u64::MAX) / threads / 1_000).clamp(1, TICKETS_MAX);
        Self {
            recorder: Recorder::new(operations.kinds()),
            common,
            mix: &plan.mix,
            keys: rows.keys,
            spread: Spread::new(rows.tables, common.batch),
            table: None,
            // Threads begin with tables of their own.
            batches: thread,
            fields: rows.fields,
            operations,
            chooser,
            rng,
            values: ValueMaker::new(rows),
            tickets: 0,
            tickets_at_once,
            verified: Verified::default(),
            timestamp_us: 0,
            scratch: Vec::new(),
        }
    }

    /// Takes one of the operations that are left; `false` when none is.
    pub(crate) fn take_ticket(&mut self) -> bool {
        if self.tickets == 0 {
            let Some(total) = self.common.plan.end.operations else { return true };
            let taken = self.common.taken.fetch_add(self.tickets_at_once, Relaxed);
            self.tickets = total.saturating_sub(taken).min(self.tickets_at_once);
            if self.tickets == 0 {
                // The counter must not go round, however often threads look.
                self.common.taken.fetch_sub(self.tickets_at_once, Relaxed);
                return false;
            }
        }
        self.tickets -= 1;
        true
    }

    /// Whether operations are left to any thread.
    pub(crate) fn has_tickets(&self) -> bool {
        self.tickets > 0 || self.common.plan.end.operations.is_none_or(|total| self.common.taken.load(Relaxed) < total)
    }

    /// A connection is about to be given a batch: its rows are in one table, in the next one's turn.
    pub(crate) fn begin_batch(&mut self) {
        if self.common.batch > 1 {
            self.table = Some(self.spread.tables().in_turn(self.batches));
            self.batches += 1;
        }
    }

    /// The operation for a ticket.
    pub(crate) fn next(&mut self, due_ns: u64, now_ns: u64) -> Pending {
        let kind = self.operations.next(&mut self.rng);
        let mut pending = Pending { kind, writes: false, row: 0, field: None, version: 0, scan_rows: 0, due_ns, sent_ns: now_ns };
        match kind {
            OperationKind::Insert => {
                pending.row = self.common.dataset.next_insert();
                pending.writes = true;
                self.take_version(&mut pending);
            }
            OperationKind::Update | OperationKind::ReadModifyWrite => {
                pending.writes = kind == OperationKind::Update;
                if !self.mix.update_all_fields && self.fields > 1 {
                    pending.field = Some(self.rng.below(u64::from(self.fields)) as u32);
                }
                self.choose_free_row(&mut pending);
            }
            OperationKind::Read => pending.row = self.choose_row(),
            OperationKind::Scan => {
                pending.row = self.choose_row();
                pending.scan_rows = 1 + self.rng.below(u64::from(self.mix.scan_rows_max)) as u32;
            }
        }
        pending
    }

    /// The key that a request is about.
    #[inline]
    pub(crate) fn key(&self, pending: &Pending) -> KeyBytes {
        self.keys.spell(pending.row)
    }

    fn choose_row(&mut self) -> u64 {
        let dataset = self.common.dataset;
        let mut row = self.chooser.next(dataset.last());
        if let Some(table) = self.table {
            row = self.spread.nearest(row, table, dataset.last());
        }
        let share = dataset.share();
        let others = share.of > 1 && (self.mix.verify || row >= dataset.rows().count);
        if !others {
            return row;
        }
        // Other load machines' rows: their versions, and whether the newest are there, are known only to them.
        let own = share.nearest(row);
        if own < dataset.row_count().min(dataset.rows().count.max(row)) { own } else { own.saturating_sub(share.of).max(share.index) }
    }

    /// A row without a write in flight, if versions are kept.
    fn choose_free_row(&mut self, pending: &mut Pending) {
        for _ in 0..FREE_ROWS_TRIED {
            pending.row = self.choose_row();
            if self.take_version(pending) {
                return;
            }
        }
        // All of a few rows are being written: a read can always be sent, and it stays one of its kind in the books.
        pending.writes = false;
        pending.version = NO_VERSION;
    }

    fn take_version(&mut self, pending: &mut Pending) -> bool {
        match &self.common.versions {
            Some(versions) if pending.row < versions.rows() => match versions.issue(pending.row) {
                Some(version) => pending.version = version,
                None => return false,
            },
            Some(_) => pending.version = unaccounted(self.rng.next_u64()),
            // Every row begins with version 0, so that a later load can verify it.
            None if pending.kind == OperationKind::Insert => {}
            None => {
                self.common.dataset.updated_unaccounted();
                pending.version = unaccounted(self.rng.next_u64());
            }
        }
        true
    }

    /// Appends the request; `known` is where to keep what a reply is compared with.
    pub(crate) fn send(
        &mut self,
        session: &mut dyn Session,
        stream: u16,
        pending: &Pending,
        known: &mut [Acknowledged],
        out: &mut Vec<u8>,
    ) {
        let key = self.key(pending);
        let key = RowKey { number: pending.row, table: self.spread.of_row(pending.row), bytes: key.as_slice() };
        if pending.writes {
            let now_us = self.common.zero_us + (pending.sent_ns / 1_000).cast_signed();
            self.timestamp_us = now_us.max(self.timestamp_us + 1);
            let row = RowVersion { key, version: pending.version };
            let kind = if pending.kind == OperationKind::Insert { WriteKind::Insert } else { WriteKind::Update };
            session.request(stream, &Request::Write { row, field: pending.field, kind, timestamp_us: self.timestamp_us }, out);
        } else if pending.kind == OperationKind::Scan {
            session.request(stream, &Request::Scan { key, rows: pending.scan_rows }, out);
        } else {
            if let Some(versions) = self.versions_of(pending.row) {
                versions.snapshot(pending.row, known);
            }
            session.request(stream, &Request::Read { key }, out);
        }
    }

    #[inline]
    fn versions_of(&self, row: u64) -> Option<&'a Versions> {
        self.common.versions.as_deref().filter(|versions| row < versions.rows())
    }

    /// Whether a mix changes what rows hold.
    pub(crate) fn writes(mix: &Mix) -> bool {
        let is_read = |kind: &OperationKind| matches!(kind, OperationKind::Read | OperationKind::Scan);
        mix.operations.iter().any(|(kind, weight)| !is_read(kind) && *weight > 0.0)
    }

    /// Whether a mix asks for rows that are there.
    pub(crate) fn needs_rows(mix: &Mix) -> bool {
        mix.operations.iter().any(|(kind, weight)| *kind != OperationKind::Insert && *weight > 0.0)
    }
}

impl std::fmt::Debug for Traffic<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Traffic").field("keys", &self.keys).field("fields", &self.fields).finish_non_exhaustive()
    }
}
