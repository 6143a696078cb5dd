//! What a batch asks for: its records, and what is done with each.

use super::super::elsewhere::{Elsewhere, readable};
use super::super::need::Need;
use super::super::options::Options;
use super::super::request::{Limits, Role, Selection};
use super::super::target::{Asked, Target, check_served, elsewhere, names, target, target_of_call};
use crate::ResultCode;
use crate::udf::{Call, Modules};
use crate::wire::{Attributes, BatchEntries, BatchEntry, Fields, TransactionFields};
use base::TableId;
use model::record_set::DIGEST_BYTES;
use model::{Keyspace, Schema, Table};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// How many records a part reads.
pub(super) const PART_READS_MAX: usize = 8;

pub(super) const INDEX_BYTES: usize = 4;

/// What a batch asks for.
#[derive(Clone)]
pub(super) struct Plan {
    /// The field as it came.
    pub(super) bytes: Arc<[u8]>,
    /// What records have to meet whose requests say nothing of their own.
    pub(super) filter: Option<Arc<[u8]>>,
    pub(super) kinds: Arc<[RequestKind]>,
    pub(super) entries: Vec<Entry>,
    pub(super) modules: Modules,
    /// Of a job in the background: what its records have to be.
    pub(super) selection: Option<Arc<Selection>>,
    /// The only sets in which records are looked for that are named by their digests alone, if the client may not read all.
    pub(super) only: Option<Arc<[TableId]>>,
}

/// What records in a row have in common.
pub(super) struct RequestKind {
    pub(super) table: Result<Arc<Table>, ResultCode>,
    pub(super) attributes: Attributes,
    pub(super) key: Option<Range<usize>>,
    pub(super) filter: Option<Range<usize>>,
    pub(super) operations: Range<usize>,
    pub(super) operation_count: u16,
    pub(super) call: Option<CallRanges>,
    pub(super) limits: Limits,
    pub(super) transaction: TransactionFields,
    /// In whose sets the records are looked for that are named by their digests alone.
    pub(super) elsewhere: Option<Arc<Keyspace>>,
    /// What the field says of the first of them, but for index and digest.
    pub(super) said: Range<usize>,
}

/// Where a function's module, name and arguments are.
pub(super) struct CallRanges([Range<usize>; 3]);

#[derive(Clone)]
pub(super) struct Entry {
    pub(super) index: u32,
    pub(super) digest: [u8; DIGEST_BYTES],
    pub(super) kind: u32,
}

/// Positions in [`Plan::entries`].
pub(super) type Positions = SmallVec<[u32; PART_READS_MAX]>;

pub(super) enum Planned {
    Plan(Plan),
    Missing(Vec<Need>),
}

pub(super) fn plan(schema: &Schema, field: &[u8], filter: Option<&[u8]>, options: &Options<'_>) -> Result<Planned, ResultCode> {
    let malformed = |_| ResultCode::PARAMETER;
    let mut batch = BatchEntries::read(field).map_err(malformed)?;
    let (mut kinds, mut entries, mut needs) = (Vec::new(), Vec::with_capacity(batch.len()), Vec::new());
    let mut only = None;
    let within = |part: &[u8]| {
        let start = part.as_ptr() as usize - field.as_ptr() as usize;
        start..start + part.len()
    };
    loop {
        let start = field.len() - batch.rest().len();
        let Some(entry) = batch.next() else { break };
        let entry = entry.map_err(malformed)?;
        if !entry.repeats {
            check_served(&entry.fields, &entry.attributes)?;
            let located = match locate(schema, &entry, options, &mut only) {
                Ok(located) => located,
                Err(missing) => {
                    missing.into_iter().for_each(|need| {
                        if !needs.contains(&need) {
                            needs.push(need);
                        }
                    });
                    continue;
                }
            };
            let Located { table, role, default_ttl_s, elsewhere } = located;
            kinds.push(RequestKind {
                table,
                attributes: entry.attributes,
                key: entry.fields.key.map(within),
                filter: entry.fields.filter.map(within),
                operations: if entry.operations.is_empty() { 0..0 } else { within(entry.operations.bytes()) },
                operation_count: entry.operations.len() as u16,
                call: call_in(&entry.fields, within),
                limits: Limits { default_ttl_s, record_bytes_max: options.record_bytes_max, role },
                transaction: entry.fields.transaction,
                elsewhere: elsewhere.cloned(),
                said: start + INDEX_BYTES + DIGEST_BYTES..field.len() - batch.rest().len(),
            });
        }
        if needs.is_empty() {
            let kind = kinds.len() as u32 - 1;
            entries.push(Entry { index: entry.index, digest: *entry.digest, kind });
        }
    }
    if !needs.is_empty() {
        return Ok(Planned::Missing(needs));
    }
    let (bytes, filter, modules) = (field.into(), filter.map(Into::into), Modules::of(schema));
    Ok(Planned::Plan(Plan { bytes, filter, kinds: kinds.into(), entries, modules, selection: None, only }))
}

/// Where the records of a request are.
struct Located<'s> {
    table: Result<Arc<Table>, ResultCode>,
    role: Role,
    default_ttl_s: u32,
    /// See [`RequestKind::elsewhere`].
    elsewhere: Option<&'s Arc<Keyspace>>,
}

/// Finds the table that an entry is about, or says what has to be declared first. `only` is filled in with the first that is looked for elsewhere.
fn locate<'s>(
    schema: &'s Schema,
    entry: &BatchEntry<'_>,
    options: &Options<'_>,
    only: &mut Option<Arc<[TableId]>>,
) -> Result<Located<'s>, Vec<Need>> {
    let (namespace, set) = match names(&entry.fields, options) {
        Ok(names) => names,
        Err(code) => return Ok(Located { table: Err(code), role: Role::Plain, default_ttl_s: 0, elsewhere: None }),
    };
    let asked = Asked { fields: &entry.fields, attributes: &entry.attributes, operations: &entry.operations };
    let keyspace = elsewhere(schema, namespace, &asked);
    if keyspace.is_some() && only.is_none() {
        *only = readable(schema, options);
    }
    let target = match entry.fields.udf.is_asked() {
        true => target_of_call(schema, namespace, set, &asked),
        false => target(schema, namespace, set, &asked),
    };
    let mut role = Role::Plain;
    let table = match target {
        Ok(Target::Table(table, its)) => {
            role = its;
            Ok(Arc::clone(table))
        }
        Ok(Target::Nothing) => {
            let elsewhere = keyspace.map(|keyspace| Elsewhere { keyspace, only: only.as_deref() });
            let table = elsewhere.and_then(|elsewhere| elsewhere.tables().next());
            table.cloned().ok_or(ResultCode::NOT_FOUND)
        }
        Ok(Target::Missing(missing)) => return Err(missing),
        Err(code) => Err(code),
    };
    Ok(Located { table, role, default_ttl_s: namespace.default_ttl_s, elsewhere: keyspace })
}

fn call_in<'a>(fields: &Fields<'a>, within: impl Fn(&'a [u8]) -> Range<usize>) -> Option<CallRanges> {
    let (module, function) = fields.udf.module.zip(fields.udf.function)?;
    Some(CallRanges([within(module), within(function), fields.udf.arguments.map_or(0..0, within)]))
}

impl Plan {
    pub(super) fn kind(&self, entry: &Entry) -> &RequestKind {
        &self.kinds[entry.kind as usize]
    }

    /// The function that is applied to an entry.
    pub(super) fn call(&self, kind: &RequestKind, now_ms: i64) -> Option<Call<'_>> {
        let CallRanges([module, name, arguments]) = kind.call.as_ref()?;
        let part = |range: &Range<usize>| &self.bytes[range.clone()];
        Some(Call { modules: &self.modules, module: part(module), name: part(name), arguments: part(arguments), now_ms })
    }

    /// The table of an entry that has one.
    pub(super) fn table(&self, position: u32) -> TableId {
        self.kind(&self.entries[position as usize]).table.as_ref().map_or(TableId(0), |table| table.id)
    }
}
