//! Writing one record: the operations run in order on its bins, then the whole row is replaced.

use super::failure::Failure;
use super::read::operand;
use super::request::Request;
use crate::ResultCode;
use crate::expression;
use crate::operate::{self, Change, code};
use crate::record::{BinValue, Bins, Record, UserKey, expires_at_s, kept_in, timestamp_after, void_time, write_record, write_tombstone};
use crate::value::{Particle, ParticleType};
use crate::wire::{BIN_NAME_BYTES_MAX, MessageWriter, Operation, info1, info2, info3};
use model::operation::{Context, RowStore, WriteSet, purge_after_s};
use model::row::Stamp;

/// How many bins a record may have.
const BINS_MAX: usize = 32_767;

/// Ten years, as the server has it.
const TTL_S_MAX: u32 = 10 * 365 * 24 * 3_600;

/// What a request has that asks for nothing.
pub(super) const TTL_DEFAULT: u32 = 0;
const TTL_NEVER: u32 = u32::MAX;
const TTL_KEEP: u32 = u32::MAX - 1;

impl Request<'_> {
    pub(super) fn write(
        &self,
        context: &Context,
        store: &dyn RowStore,
        writes: &mut WriteSet,
        reply: &mut MessageWriter,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let partition = self.partition();
        // A batch may have written this record already.
        let staged = writes.find(&partition, &[]).map(<[u8]>::to_vec);
        let row = match &staged {
            Some(row) => Some(row.as_slice()),
            None => store.get(&partition, &[])?,
        };
        let old = row.and_then(|row| Record::of_row(row, context.now_s()));
        if old.map_or_else(|| row.is_some_and(|row| kept_in(row).is_some()), |record| record.is_locked) {
            self.refuse_locked(row, context, store)?;
        }
        self.write_over(row, old, context, writes, reply, out)
    }

    /// Writes it over the row, of which `old` is the record.
    pub(super) fn write_over<'r>(
        &'r self,
        row: Option<&'r [u8]>,
        old: Option<Record<'r>>,
        context: &Context,
        writes: &mut WriteSet,
        reply: &mut MessageWriter,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let (partition, now_s) = (self.partition(), context.now_s());
        if let Some(record) = &old {
            self.check_filter(context, record)?;
        }
        self.check_policies(old.as_ref())?;
        let timestamp = timestamp_after(row, context.timestamp_us);
        let generation = old.map_or(1, |record| record.next_generation());

        let mut bins = match &old {
            Some(record) if !self.replaces() && !self.has(info2::DELETE) => record.to_bins(self.set),
            _ => Bins::new(),
        };
        if !self.has(info2::DELETE) {
            self.operate(context, old.as_ref(), &mut bins, reply, out)?;
        }
        if bins.is_empty() {
            // A record without bins is none.
            if old.is_none() {
                return Err(ResultCode::NOT_FOUND.into());
            }
            let kind = write_tombstone(timestamp, now_s, writes.begin(&partition, &[]));
            writes.end(purge_after_s(kind, self.grace_s(old.as_ref(), now_s)));
            return Ok(());
        }
        let stamp = self.stamp(timestamp, old.as_ref(), now_s)?;
        let key = match self.key {
            Some(sent) => Some(UserKey::of_wire(sent)?),
            None => old.and_then(|record| record.key),
        };
        self.stage(stamp, generation, key, &bins, writes)?;
        reply.attributes.generation = u32::from(generation);
        reply.attributes.ttl = void_time(stamp);
        Ok(())
    }

    /// Stages the whole record.
    pub(super) fn stage(
        &self,
        stamp: Stamp,
        generation: u16,
        key: Option<UserKey<'_>>,
        bins: &[BinValue<'_>],
        writes: &mut WriteSet,
    ) -> Result<(), ResultCode> {
        if bins.len() > BINS_MAX {
            return Err(ResultCode::BIN_NAME);
        }
        let row = writes.begin(&self.partition(), &[]);
        let start = row.len();
        // A row that was begun and not ended is forgotten.
        let kind = write_record(self.set, stamp, (generation, key), bins, None, row)?;
        if row.len() - start > self.limits.record_bytes_max as usize {
            return Err(ResultCode::RECORD_TOO_BIG);
        }
        writes.end(purge_after_s(kind, self.table.options.gc_grace_seconds));
        Ok(())
    }

    /// How long the engine remembers that a record is deleted. That is for transactions alone, and of what they may have found missing: no write comes with a
    /// timestamp of its own, so none can come late.
    pub(super) fn grace_s(&self, old: Option<&Record<'_>>, now_s: u32) -> u32 {
        let grace_s = self.table.options.gc_grace_seconds;
        let is_young = |record: &Record<'_>| record.stamp.timestamp / 1_000_000 >= i64::from(now_s.saturating_sub(grace_s));
        if old.is_some_and(is_young) { grace_s } else { 0 }
    }

    /// Whether the record's former bins are dropped.
    fn replaces(&self) -> bool {
        self.attributes.info3 & (info3::CREATE_OR_REPLACE | info3::REPLACE_ONLY) != 0
    }

    /// What the client expects of the record before it is written.
    fn check_policies(&self, old: Option<&Record<'_>>) -> Result<(), ResultCode> {
        let touches = self.operations.iter().any(|operation| operation.code == code::TOUCH);
        let must_exist = touches
            || self.selection.is_some()
            || self.has(info2::DELETE)
            || self.attributes.info3 & (info3::UPDATE_ONLY | info3::REPLACE_ONLY) != 0;
        if old.is_none() && must_exist {
            return Err(ResultCode::NOT_FOUND);
        }
        if old.is_some() && self.has(info2::CREATE_ONLY) {
            return Err(ResultCode::KEY_EXISTS);
        }
        let (expected, generation) = (self.attributes.generation, old.map_or(0, |record| u32::from(record.generation)));
        if self.has(info2::GENERATION) && expected != generation || self.has(info2::GENERATION_GREATER) && expected <= generation {
            return Err(ResultCode::GENERATION);
        }
        old.map_or(Ok(()), |record| self.check_key(record))
    }

    /// Runs the operations in order.
    fn operate<'b>(
        &'b self,
        context: &Context,
        old: Option<&Record<'b>>,
        bins: &mut Bins<'b>,
        reply: &mut MessageWriter,
        out: &mut Vec<u8>,
    ) -> Result<(), ResultCode> {
        if self.operations.is_empty() {
            return Err(ResultCode::PARAMETER);
        }
        for operation in self.operations.iter() {
            match operation.code {
                code::READ if operation.name.is_empty() => {
                    // All bins, or nothing but the record's header.
                    if self.attributes.info1 & info1::GET_ALL != 0 {
                        for bin in bins.iter() {
                            reply.bin(out, bin.name, bin.value.kind as u8, &bin.value.bytes);
                        }
                    }
                }
                code::TOUCH if self.replaces() => return Err(ResultCode::PARAMETER),
                code::TOUCH => self.answer(&operation, None, reply, out),
                code::DELETE => {
                    bins.clear();
                    self.answer(&operation, None, reply, out);
                }
                _ => {
                    if operation.name.len() > BIN_NAME_BYTES_MAX {
                        return Err(ResultCode::BIN_NAME);
                    }
                    let modifies = operate::is_write(operation.code) && operation.code != code::WRITE;
                    if operation.name.is_empty() || modifies && self.replaces() {
                        return Err(ResultCode::PARAMETER);
                    }
                    let result = match operation.code {
                        code::EXPRESSION_READ | code::EXPRESSION_MODIFY => self.express(context, old, &operation, bins)?,
                        _ => apply(operation.code, operation.name, &operand(&operation)?, bins)?,
                    };
                    self.answer(&operation, result.as_ref(), reply, out);
                }
            }
        }
        Ok(())
    }

    /// Runs an operation with an expression on the bins as they are by now; what it says is its answer.
    fn express<'b>(
        &'b self,
        context: &Context,
        old: Option<&Record<'b>>,
        operation: &Operation<'b>,
        bins: &mut Bins<'b>,
    ) -> Result<Option<Particle<'b>>, ResultCode> {
        let place = bins.iter().position(|bin| bin.name == operation.name);
        let change = {
            let subject = self.subject(context, old, bins);
            if operation.code == code::EXPRESSION_READ {
                return expression::read(operation.value, &subject);
            }
            expression::write(operation.value, place.is_some(), &subject)?
        };
        put(operation.name, place, change, bins);
        Ok(None)
    }

    /// When the record was written and when it expires.
    pub(super) fn stamp(&self, timestamp: i64, old: Option<&Record<'_>>, now_s: u32) -> Result<Stamp, ResultCode> {
        let ttl_s = match (self.attributes.ttl, old) {
            (TTL_KEEP, Some(record)) => return Ok(Stamp { timestamp, ..record.stamp }),
            (TTL_NEVER, _) => 0,
            (TTL_DEFAULT | TTL_KEEP, _) => self.limits.default_ttl_s,
            (ttl_s, _) if ttl_s <= TTL_S_MAX => ttl_s,
            _ => return Err(ResultCode::PARAMETER),
        };
        Ok(Stamp { timestamp, ttl_s, expires_at_s: expires_at_s(now_s, ttl_s) })
    }
}

/// Runs an operation on its bin; what it says is its answer.
fn apply<'a>(operation: u8, name: &'a [u8], operand: &Particle<'a>, bins: &mut Bins<'a>) -> Result<Option<Particle<'a>>, ResultCode> {
    let place = bins.iter().position(|bin| bin.name == name);
    let effect = operate::apply(operation, place.map(|place| &bins[place].value), operand)?;
    put(name, place, effect.bin, bins);
    Ok(effect.result)
}

/// Changes a bin, which is at `place` if the record has it.
pub(super) fn put<'a>(name: &'a [u8], place: Option<usize>, change: Change<'a>, bins: &mut Bins<'a>) {
    let change = match change {
        Change::Set(value) if value.kind == ParticleType::Null => Change::Remove,
        change => change,
    };
    match (change, place) {
        (Change::Set(value), Some(place)) => bins[place].set(value),
        (Change::Set(value), None) => bins.push(BinValue::new(name, value)),
        (Change::Remove, Some(place)) => drop(bins.remove(place)),
        (Change::Remove, None) | (Change::Keep, _) => {}
    }
}
