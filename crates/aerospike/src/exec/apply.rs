//! Applying a user's function to one record: what it leaves is one write, or none.

use super::aside::Aside;
use super::failure::Failure;
use super::request::{Request, Role};
use super::write::{TTL_DEFAULT, put};
use crate::ResultCode;
use crate::operate::Change;
use crate::record::{Bins, Record, UserKey, new_bin, timestamp_after, void_time, write_tombstone};
use crate::udf::{Action, Call, CalledRecord};
use crate::value::{Particle, ParticleType};
use crate::wire::{Attributes, MessageWriter};
use model::operation::{Context, RowStore, Stop, WriteSet, purge_after_s};
use model::record_set::set_name;

/// The bins of a reply.
const SUCCESS: &[u8] = b"SUCCESS";
const FAILURE: &[u8] = b"FAILURE";

impl Request<'_> {
    /// Runs the function and appends one message; none if bins have to be declared first, which the aside names.
    pub(super) fn apply(
        &self,
        call: &Call<'_>,
        context: &Context,
        store: &dyn RowStore,
        writes: &mut WriteSet,
        out: &mut Vec<u8>,
    ) -> Result<Aside, Stop> {
        let (start, mut aside) = (out.len(), Aside::default());
        if self.limits.role == Role::Plain {
            let mut reply = MessageWriter::begin(out);
            reply.number = self.index;
            let outcome = self.apply_to_record(call, context, store, writes, (&mut reply, &mut *out), &mut aside);
            self.end_reply(outcome, reply, start, out)?;
        } else {
            self.run_in_transaction(context, store, writes, out, &mut |row, writes, reply, out| {
                self.apply_over(row, call, context, writes, (reply, out), &mut aside)
            })?;
        }
        if !aside.bins.is_empty() {
            out.truncate(start);
        }
        Ok(aside)
    }

    fn apply_to_record(
        &self,
        call: &Call<'_>,
        context: &Context,
        store: &dyn RowStore,
        writes: &mut WriteSet,
        (reply, out): (&mut MessageWriter, &mut Vec<u8>),
        aside: &mut Aside,
    ) -> Result<ResultCode, Failure> {
        let partition = self.partition();
        let staged = writes.find(&partition, &[]).map(<[u8]>::to_vec);
        let row = match &staged {
            Some(row) => Some(row.as_slice()),
            None => store.get(&partition, &[])?,
        };
        self.refuse_locked(row, context, store)?;
        self.apply_over(row, call, context, writes, (reply, out), aside)
    }

    fn apply_over(
        &self,
        row: Option<&[u8]>,
        call: &Call<'_>,
        context: &Context,
        writes: &mut WriteSet,
        (reply, out): (&mut MessageWriter, &mut Vec<u8>),
        aside: &mut Aside,
    ) -> Result<ResultCode, Failure> {
        let old = row.and_then(|row| Record::of_row(row, context.now_s()));
        if old.is_none() && self.selection.is_some() {
            return Err(ResultCode::NOT_FOUND.into());
        }
        if let Some(record) = &old {
            self.check_key(record)?;
            self.check_filter(context, record)?;
            reply.attributes.generation = u32::from(record.generation);
            reply.attributes.ttl = void_time(record.stamp);
        }
        let ended = call.run(&self.called(context, old.as_ref())?);
        aside.log = ended.log;
        let (result, action) = match ended.result {
            Ok(ended) => ended,
            Err(message) => {
                reply.bin(out, FAILURE, ParticleType::String as u8, message.as_bytes());
                return Ok(ResultCode::UDF_BAD_RESPONSE);
            }
        };
        let timestamp = timestamp_after(row, context.timestamp_us);
        match action {
            Action::Keep => {}
            Action::Remove => self.remove(context, old.as_ref(), timestamp, writes),
            Action::Put { replaces, bins, ttl, drops_key } => {
                aside.bins = self.undeclared(&bins)?;
                if !aside.bins.is_empty() {
                    return Ok(ResultCode::OK);
                }
                let mut after = match &old {
                    Some(record) if !replaces => record.to_bins(self.set),
                    _ => Bins::new(),
                };
                for (name, value) in &bins {
                    let place = after.iter().position(|bin| bin.name == name.as_slice());
                    put(name, place, Change::Set(Particle::new(value.kind, &value.bytes)), &mut after);
                }
                // A record without bins is none.
                if after.is_empty() {
                    self.remove(context, old.as_ref(), timestamp, writes);
                } else {
                    let attributes = Attributes { ttl: ttl.unwrap_or(TTL_DEFAULT), ..self.attributes };
                    let stamp = Request { attributes, ..*self }.stamp(timestamp, old.as_ref(), context.now_s())?;
                    let generation = old.map_or(1, |record| record.next_generation());
                    let key = self.key.map(UserKey::of_wire).transpose()?.or_else(|| old.and_then(|record| record.key));
                    self.stage(stamp, generation, key.filter(|_| !drops_key), &after, writes)?;
                    reply.attributes.generation = u32::from(generation);
                    reply.attributes.ttl = void_time(stamp);
                }
            }
        }
        reply.bin(out, SUCCESS, result.kind as u8, &result.bytes);
        Ok(ResultCode::OK)
    }

    /// The record as the function finds it.
    fn called<'r>(&'r self, context: &Context, record: Option<&Record<'r>>) -> Result<CalledRecord<'r>, ResultCode> {
        let sent = self.key.map(UserKey::of_wire).transpose()?;
        let key = sent.or_else(|| record.and_then(|record| record.key)).map(|key| {
            let ([kind], value) = key.to_wire();
            (kind, value)
        });
        let absent = CalledRecord { set: set_name(&self.table.name), digest: self.digest, key, ..CalledRecord::default() };
        Ok(record.map_or(absent.clone(), |record| CalledRecord {
            exists: true,
            bins: record.bins(self.set).map(|(bin, value)| (bin.name.as_bytes(), bin.kind, value)).collect(),
            generation: record.generation,
            ttl_s: record.ttl_left_s(context.now_s()),
            updated_ms: record.updated_ms(),
            bytes: record.row_bytes,
            ..absent
        }))
    }

    /// Bins that are to be written and that the set lacks.
    fn undeclared(&self, bins: &[(Vec<u8>, Particle<'static>)]) -> Result<Vec<model::record_set::NewBin>, ResultCode> {
        let lacks = |(name, value): &&(Vec<u8>, Particle<'static>)| {
            value.kind != ParticleType::Null && self.set.column_after(None, name, value.kind as u8).is_none()
        };
        bins.iter().filter(lacks).map(|(name, value)| new_bin(name, value.kind)).collect()
    }

    fn remove(&self, context: &Context, old: Option<&Record<'_>>, timestamp: i64, writes: &mut WriteSet) {
        if old.is_some() {
            let kind = write_tombstone(timestamp, context.now_s(), writes.begin(&self.partition(), &[]));
            writes.end(purge_after_s(kind, self.grace_s(old, context.now_s())));
        }
    }
}
