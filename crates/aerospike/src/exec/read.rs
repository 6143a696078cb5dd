//! Reading one record.

use super::failure::Failure;
use super::request::Request;
use crate::ResultCode;
use crate::expression;
use crate::operate::{self, code};
use crate::record::{self, Known, Record, UserKey, void_time};
use crate::value::{Particle, ParticleType};
use crate::wire::{MessageWriter, Operation, info1, info2};
use model::operation::{Context, RowStore, WriteSet};
use model::row::Stamp;
use std::ops::RangeInclusive;

/// A read with a time to live that is one of these renews the record's life, when less than so many percent of it are left.
pub(super) const RENEWAL_PERCENT: RangeInclusive<u32> = 1..=100;

impl Request<'_> {
    pub(super) fn read(
        &self,
        context: &Context,
        store: &dyn RowStore,
        writes: &mut WriteSet,
        reply: &mut MessageWriter,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let row = store.get(&self.partition(), &[])?;
        let record = row.and_then(|row| Record::of_row(row, context.now_s())).ok_or(ResultCode::NOT_FOUND)?;
        self.check_key(&record)?;
        self.check_filter(context, &record)?;
        self.give(context, &record, reply, out)?;
        if let Some(stamp) = self.renewed(&record, context).filter(|_| !record.is_locked) {
            self.stage(stamp, record.generation, record.key, &record.to_bins(self.set), writes)?;
            reply.attributes.ttl = void_time(stamp);
        }
        Ok(())
    }

    /// The record's stamp with its whole life before it, if the client wants that when so little is left.
    fn renewed(&self, record: &Record<'_>, context: &Context) -> Option<Stamp> {
        let Stamp { timestamp, ttl_s, expires_at_s } = record.stamp;
        let percent = self.attributes.ttl;
        let left_s = u64::from(expires_at_s.saturating_sub(1 + context.now_s()));
        let is_little = ttl_s > 0 && RENEWAL_PERCENT.contains(&percent) && left_s * 100 <= u64::from(ttl_s) * u64::from(percent);
        is_little.then(|| Stamp {
            timestamp: context.timestamp_us.max(timestamp.saturating_add(1)),
            ttl_s,
            expires_at_s: record::expires_at_s(context.now_s(), ttl_s),
        })
    }

    /// Appends what was asked for.
    pub(super) fn give(&self, context: &Context, record: &Record<'_>, reply: &mut MessageWriter, out: &mut Vec<u8>) -> Result<(), Failure> {
        reply.attributes.generation = u32::from(record.generation);
        reply.attributes.ttl = void_time(record.stamp);
        if self.attributes.info1 & info1::NO_BINS != 0 {
            return Ok(());
        }
        if self.attributes.info1 & info1::GET_ALL != 0 || self.operations.is_empty() {
            for (bin, value) in record.bins(self.set) {
                reply.bin(out, bin.name.as_bytes(), bin.kind, value);
            }
            return Ok(());
        }
        for operation in self.operations.iter() {
            if operate::is_write(operation.code) {
                return Err(ResultCode::PARAMETER.into());
            }
            let result = match operation.code {
                code::EXPRESSION_READ => expression::read(operation.value, &self.subject(context, Some(record), &Known(record, self.set)))?,
                code::READ => record.bin(self.set, operation.name),
                _ => operate::apply(operation.code, record.bin(self.set, operation.name).as_ref(), &operand(&operation)?)?.result,
            };
            self.answer(&operation, result.as_ref(), reply, out);
        }
        Ok(())
    }

    /// Refuses a request whose key is not the one that the record was stored with: two keys with one digest, or the wrong set.
    pub(super) fn check_key(&self, record: &Record<'_>) -> Result<(), ResultCode> {
        match (self.key, record.key) {
            (Some(sent), Some(stored)) if UserKey::of_wire(sent)? != stored => Err(ResultCode::KEY_MISMATCH),
            _ => Ok(()),
        }
    }

    /// Appends what an operation has to say, or that it has nothing to say, if the client wants to hear of that.
    pub(super) fn answer(&self, operation: &Operation<'_>, result: Option<&Particle<'_>>, reply: &mut MessageWriter, out: &mut Vec<u8>) {
        match result {
            Some(value) => reply.bin(out, operation.name, value.kind as u8, &value.bytes),
            None if self.has(info2::RESPOND_ALL_OPS) => reply.bin(out, operation.name, ParticleType::Null as u8, &[]),
            None => {}
        }
    }
}

/// An operation's value with its type.
pub(super) fn operand<'a>(operation: &Operation<'a>) -> Result<Particle<'a>, ResultCode> {
    let kind = ParticleType::from_wire(operation.particle).ok_or(ResultCode::PARAMETER)?;
    Ok(Particle::new(kind, operation.value))
}
