//! From a message to what must happen.

use super::options::Options;
use super::request::{Limits, Role, is_write};
use super::sets::sets;
use super::single::{RecordRequest, What};
use super::target::{Asked, Target, check_served, digest_of, elsewhere, names, target};
use super::work::Work;
use super::{batch, scan};
use crate::ResultCode;
use crate::wire::{self, Fields, Message, info1, info3};
use model::Schema;
use model::operation::Operation;

/// How a reply looks when all it says is a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One message.
    One,
    /// Messages of which the last is marked.
    Many,
}

impl Shape {
    /// The shape of the reply to a request.
    #[must_use]
    pub fn of(message: &Message<'_>) -> Self {
        let fields = &message.fields;
        let is_one = fields.batch.is_none() && message.attributes.info1 & info1::BATCH == 0 && has_record(fields);
        if is_one { Self::One } else { Self::Many }
    }

    /// Appends a reply that says no.
    pub fn write(self, out: &mut Vec<u8>, code: ResultCode) {
        wire::write_result(out, code, if self == Self::One { 0 } else { info3::LAST });
    }
}

fn has_record(fields: &Fields<'_>) -> bool {
    fields.digest.is_some() || fields.key.is_some()
}

/// Decides how a request runs; `body` is what `message` was decoded from.
///
/// # Errors
/// What the client gets, as [`Shape::write`] appends it.
#[inline]
pub fn start<'a>(schema: &'a Schema, message: &Message<'a>, body: &'a [u8], options: &Options<'_>) -> Result<Work<'a>, ResultCode> {
    let fields = &message.fields;
    check_served(fields, &message.attributes)?;
    if let Some(field) = fields.batch {
        return batch::start(schema, field, fields.filter, options);
    }
    if message.attributes.info1 & info1::BATCH != 0 {
        return Err(ResultCode::UNSUPPORTED_FEATURE);
    }
    if fields.udf.is_asked() && has_record(fields) {
        return batch::start_one(schema, message, options);
    }
    let (namespace, set) = names(fields, options)?;
    if !has_record(fields) {
        if fields.transaction.id.is_some() || message.attributes.info4 != 0 {
            return Err(ResultCode::PARAMETER);
        }
        return scan::start(schema, message, namespace, set, options);
    }
    if wants_nothing(message) || fields.index.is_asked() {
        return Err(ResultCode::PARAMETER);
    }
    let asked = Asked { fields, attributes: &message.attributes, operations: &message.operations };
    let elsewhere = elsewhere(schema, namespace, &asked).filter(|_| fields.digest.is_some() && !options.is_forwarded);
    // A batch's parts say where the client may look, to other members too.
    if elsewhere.is_some() && (options.may_read.is_some() || options.is_primary.is_some()) {
        return batch::start_one(schema, message, options);
    }
    let (table, role) = match target(schema, namespace, set, &asked)? {
        Target::Table(table, role) => (table, role),
        Target::Nothing => match elsewhere.and_then(|keyspace| sets(keyspace).next()) {
            Some(table) => (table, Role::Plain),
            None => return Err(ResultCode::NOT_FOUND),
        },
        Target::Missing(needs) => return Ok(Work::Declare(needs)),
    };
    let digest = digest_of(fields, set).ok_or(ResultCode::PARAMETER)?;
    let limits = Limits { default_ttl_s: namespace.default_ttl_s, record_bytes_max: options.record_bytes_max, role };
    Ok(Work::Record(RecordRequest { table, what: What::of(message), body, digest, limits, elsewhere }))
}

/// Makes a part of a batch or scan again that another node has described (`model::operation::Operation::describe`); `message` is the
/// scan's, for batches it is not looked at. `None` if a set or bin has to be declared first, which this node has not heard of yet.
///
/// # Errors
/// A description that is none.
pub fn part(
    schema: &Schema,
    message: Option<&Message<'_>>,
    description: &[u8],
    options: &Options<'_>,
) -> Result<Option<Box<dyn Operation>>, ResultCode> {
    let Some(message) = message else { return batch::part(schema, description, None, options) };
    check_served(&message.fields, &message.attributes)?;
    let (namespace, set) = names(&message.fields, options)?;
    scan::part_of(schema, message, namespace, set, description, options)
}

/// Whether a read says neither which bins it wants nor that it wants none.
fn wants_nothing(message: &Message<'_>) -> bool {
    let says = info1::GET_ALL | info1::NO_BINS;
    !is_write(&message.attributes) && message.attributes.info1 & says == 0 && message.operations.is_empty()
}
