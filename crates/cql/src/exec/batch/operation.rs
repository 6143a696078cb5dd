//! The statements of a batch that one core runs together, as one operation: all or nothing.

use super::super::batch_log::{EntryPlace, LoggedBatch};
use super::super::bindings::{Bindings, Environment, OwnedValues};
use super::super::condition::outcome::{self, Outcome};
use super::super::execution::Options;
use super::super::failure::Failure;
use super::super::writer::Writer;
use super::super::{condition, modify, view};
use crate::CqlError;
use crate::plan::Modify;
use crate::reply;
use crate::wire::writer::{write_byte, write_int, write_long};
use crate::wire::{Reader, WireError};
use base::Token;
use model::operation::{Context, Operation, PartitionKey, RowStore, Stop, WriteSet};
use std::collections::BTreeSet;
use std::sync::Arc;

/// One statement on one of its partitions.
pub(super) struct BatchItem {
    pub(super) plan: Arc<Modify>,
    pub(super) values: Arc<OwnedValues>,
    pub(super) partition: Vec<u8>,
    pub(super) token: Token,
    /// How many bytes it writes, as a batch's limits count.
    pub(super) bytes: usize,
    /// Its statement's number in the batch.
    pub(super) item: usize,
    /// Its own number among all of the batch.
    pub(super) number: u32,
}

impl BatchItem {
    /// Whether both write to one partition key of one keyspace.
    pub(super) fn is_of_partition(&self, other: &Self) -> bool {
        self.partition == other.partition && self.plan.table.keyspace == other.plan.table.keyspace
    }
}

// How a part is described that runs statements: this, then what [`Described`] has.
const STATEMENTS: u8 = 0;
pub(super) const LOGGED_STATEMENTS: u8 = 1;

/// How a [`Run`] is described.
const TRIAL: u8 = 0;
const FIRST: u8 = 1;
const OTHER: u8 = 2;

/// The numbers of list elements of one statement of a logged batch, so that they do not depend on how the batch is cut into parts.
const LIST_NUMBERS_PER_ITEM: u32 = 24;

/// Statements that run on one core, together.
pub(super) struct ModifyMany {
    pub(super) items: Arc<[BatchItem]>,
    /// USING TIMESTAMP of the batch.
    pub(super) timestamp: Option<i64>,
    pub(super) options: Options,
    pub(super) conditions: Conditions,
    pub(super) logged: Option<Logged>,
}

/// Whether statements that run together have conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conditions {
    /// None has.
    None,
    /// The only one has, which is no batch.
    OfStatement,
    /// Some of a batch have.
    OfBatch,
}

/// What a part of a logged batch goes by.
pub(super) struct Logged {
    pub(super) batch: LoggedBatch,
    pub(super) run: Run,
}

/// Why a part of a logged batch runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Run {
    /// To see whether it can, and what timestamp it needs.
    Trial,
    /// To leave the entry, with the request.
    First(Arc<[u8]>),
    /// For what it does.
    Other,
}

/// What a part of a batch has described elsewhere ([`Operation::describe`]): the request's nonce, the batch's own timestamp, the numbers of its
/// items, and what it goes by if it is logged.
pub(super) struct Described {
    pub(super) nonce: u64,
    pub(super) timestamp: Option<i64>,
    pub(super) numbers: BTreeSet<u32>,
    pub(super) logged: Option<Logged>,
}

impl Described {
    pub(super) fn read(reader: &mut Reader<'_>, is_logged: bool, request: &[u8]) -> Result<Option<Self>, WireError> {
        let nonce = reader.long()?.cast_unsigned();
        let (has_timestamp, timestamp) = (reader.byte()? != 0, reader.long()?);
        let count = reader.int()?;
        let numbers = (0..count).map(|_| reader.int().map(i32::cast_unsigned)).collect::<Result<_, _>>()?;
        let mut described = Self { nonce, timestamp: has_timestamp.then_some(timestamp), numbers, logged: None };
        if is_logged {
            let run = match reader.byte()? {
                TRIAL => Run::Trial,
                FIRST => Run::First(request.into()),
                _ => Run::Other,
            };
            let Some(batch) = LoggedBatch::read(reader)? else { return Ok(None) };
            described.logged = Some(Logged { batch, run });
        }
        Ok(Some(described))
    }
}

impl Operation for ModifyMany {
    fn describe(&self, out: &mut Vec<u8>) -> bool {
        write_byte(out, if self.logged.is_some() { LOGGED_STATEMENTS } else { STATEMENTS });
        write_long(out, self.options.nonce.cast_signed());
        write_byte(out, self.timestamp.is_some().into());
        write_long(out, self.timestamp.unwrap_or(0));
        write_int(out, self.items.len() as i32);
        for item in &*self.items {
            write_int(out, item.number.cast_signed());
        }
        if let Some(logged) = &self.logged {
            write_byte(out, logged.run.code());
            logged.batch.write(out);
        }
        true
    }

    fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, out: &mut Vec<u8>) -> Result<(), Stop> {
        let start = out.len();
        match self.run_all(context, store, writes, out) {
            Ok(()) => {}
            Err(Failure::Stop(stop)) => return Err(stop),
            Err(Failure::Error(error)) => {
                out.truncate(start);
                writes.clear();
                reply::write_error(out, self.options.version, self.options.stream, &error);
            }
        }
        if self.items.iter().any(|item| !item.plan.views.is_empty()) {
            view::write_changed(context, self.items.iter().map(|item| &*item.plan), writes, out);
        }
        Ok(())
    }
}

impl Run {
    fn code(&self) -> u8 {
        match self {
            Self::Trial => TRIAL,
            Self::First(_) => FIRST,
            Self::Other => OTHER,
        }
    }
}

impl ModifyMany {
    fn run_all(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, out: &mut Vec<u8>) -> Result<(), Failure> {
        if let Some(logged) = &self.logged {
            return self.run_logged(logged, context, store, writes, out);
        }
        let conditional_timestamp = if self.conditions != Conditions::None {
            match self.check_conditions(context, store, writes, out)? {
                Some(timestamp) => Some(timestamp),
                None => return Ok(()),
            }
        } else {
            None
        };
        let least = self.write(context, store, writes, conditional_timestamp, i64::MIN)?;
        if least > context.timestamp_us {
            // As for a statement alone: what is acknowledged must be seen, wherever the clock stands.
            writes.clear();
            self.write(context, store, writes, conditional_timestamp, least)?;
        }
        if self.conditions == Conditions::None {
            reply::write_void(out, self.options.version, self.options.stream);
        }
        Ok(())
    }

    fn run_logged(
        &self,
        logged: &Logged,
        context: &Context,
        store: &dyn RowStore,
        writes: &mut WriteSet,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let needed = self.write(context, store, writes, None, i64::MIN)?;
        match &logged.run {
            Run::Trial => {
                writes.clear();
                out.extend_from_slice(&needed.to_be_bytes());
                return Ok(());
            }
            Run::First(request) => {
                let Some(place) = self.items.first().map(BatchItem::entry_place) else { return Ok(()) };
                let lane = place.put(context, store, writes, &logged.batch, request)?;
                let full = || CqlError::Overloaded("too many logged batches are under way; try again later".to_owned());
                out.extend_from_slice(&lane.ok_or_else(full)?.to_be_bytes());
                return Ok(());
            }
            Run::Other => {}
        }
        reply::write_void(out, self.options.version, self.options.stream);
        Ok(())
    }

    /// Stages what all statements write, those without a timestamp with one of at least `least`. Gives the least one that is above all that
    /// these have written over.
    fn write(
        &self,
        context: &Context,
        store: &dyn RowStore,
        writes: &mut WriteSet,
        conditional_timestamp: Option<i64>,
        least: i64,
    ) -> Result<i64, Failure> {
        let now_s = match &self.logged {
            Some(_) => self.options.now_s(&self.options.fix(context, 0)),
            None => self.options.now_s(context),
        };
        let (mut list_sequence, mut above) = (0, i64::MIN);
        for item in &*self.items {
            let bindings = item.values.bindings();
            let mut context = self.options.fix(context, item.item);
            if let Some(logged) = &self.logged {
                context.timestamp_us = logged.batch.timestamp_us;
                list_sequence = u64::from(item.number) << LIST_NUMBERS_PER_ITEM;
            }
            let context = &context;
            let environment = Environment { bindings: &bindings, context };
            let own = modify::timestamp(item.plan.timestamp.as_ref(), &environment)?;
            let given = conditional_timestamp.or(own).or(self.timestamp).or(self.options.timestamp);
            let tracked = given.is_none().then_some(above);
            let mut writer = Writer { environment: &environment, store, writes: &mut *writes, now_s, list_sequence, least: tracked };
            writer.apply(&item.plan, &item.key(), given.unwrap_or(context.timestamp_us.max(least)))?;
            list_sequence = writer.list_sequence;
            above = writer.least.unwrap_or(above);
        }
        Ok(above)
    }

    /// Appends the outcome of the conditions and gives the timestamp to write with, if they hold.
    fn check_conditions(
        &self,
        context: &Context,
        store: &dyn RowStore,
        writes: &mut WriteSet,
        out: &mut Vec<u8>,
    ) -> Result<Option<i64>, Failure> {
        let now_s = self.options.now_s(context);
        let mut applied = true;
        let mut rows = Vec::new();
        let mut plans: Vec<&Modify> = Vec::new();
        for item in self.items.iter().filter(|item| item.plan.is_conditional()) {
            let bindings = item.values.bindings();
            let context = &self.options.fix(context, item.item);
            let environment = Environment { bindings: &bindings, context };
            let writer = Writer { environment: &environment, store, writes: &mut *writes, now_s, list_sequence: 0, least: None };
            let existing = condition::existing(&writer, &item.plan, &item.key())?;
            applied &= condition::holds(&writer, &item.plan, &existing)?;
            rows.push(existing);
            plans.push(&item.plan);
        }
        let bindings = Bindings::default();
        let environment = Environment { bindings: &bindings, context };
        let writer = Writer { environment: &environment, store, writes, now_s, list_sequence: 0, least: None };
        let statements: Vec<_> = plans.into_iter().zip(&rows).collect();
        if let Some(item) = self.items.first() {
            let plans: Vec<&Modify> = self.items.iter().map(|item| &*item.plan).collect();
            let outcome = Outcome { applied, is_batch: self.conditions == Conditions::OfBatch, plans: &plans, conditional: &statements };
            outcome::write(&writer, out, &self.options, &item.key(), &outcome)?;
        }
        Ok(applied.then(|| condition::next_timestamp(&writer, &rows)))
    }
}

impl BatchItem {
    pub(super) fn key(&self) -> PartitionKey<'_> {
        PartitionKey { table: self.plan.table.id, token: self.token, bytes: &self.partition }
    }

    pub(super) fn entry_place(&self) -> EntryPlace {
        EntryPlace { table: self.plan.table.id, token: self.token, number: self.number }
    }
}
