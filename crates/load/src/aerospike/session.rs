//! One connection without its socket.
//!
//! ```text
//! open ─► "namespaces" ─► ready, if the target's is among them ─► requests
//! ```
//! Replies say nothing of what they answer; they come in the order of the requests. More than one is under way on a connection only after
//! one has been given up.

use super::client::{append_info, values};
use super::{PROTOCOL, check_namespace, wire};
use crate::target::{Replies, Request, RowKey, RowVersion, Session, TargetError, WriteKind};
use crate::values::ValueMaker;
use ::aerospike::operate::code;
use ::aerospike::value::ParticleType;
use ::aerospike::wire::{Attributes, HEADER_BYTES, Header, Kind, Message, MessageWriter, Operation, Proto, field, info1, info2, info3};
use ::aerospike::{ResultCode, digest};
use std::collections::VecDeque;
use std::sync::Arc;

/// Longest reply: the protocol's own bound.
const REPLY_BYTES_MAX: usize = 128 << 20;

/// What all sessions of a target have in common.
#[derive(Debug)]
pub(super) struct SessionSetup {
    pub(super) namespace: String,
    /// Names of the sets, by table.
    pub(super) sets: Vec<String>,
    /// The type of keys.
    pub(super) key: ParticleType,
    /// The type of values.
    pub(super) value: ParticleType,
    /// Names of the fields.
    pub(super) fields: Vec<String>,
    pub(super) values: ValueMaker,
}

/// What a reply will be to.
#[derive(Clone, Copy, Debug)]
struct Asked {
    stream: u16,
    reads: bool,
}

/// The session of one connection.
#[derive(Debug)]
pub(super) struct AerospikeSession {
    setup: Arc<SessionSetup>,
    is_ready: bool,
    /// What has come of a message whose end has not.
    partial: Vec<u8>,
    asked: VecDeque<Asked>,
    scratch: Vec<u8>,
}

impl AerospikeSession {
    pub(super) fn new(setup: Arc<SessionSetup>) -> Self {
        Self { setup, is_ready: false, partial: Vec::new(), asked: VecDeque::new(), scratch: Vec::new() }
    }

    /// Starts a message about a record.
    fn begin(&mut self, key: RowKey<'_>, out: &mut Vec<u8>) -> MessageWriter {
        let setup = &*self.setup;
        let set = setup.sets[key.table.index()].as_bytes();
        self.scratch.clear();
        self.scratch.push(setup.key as u8);
        self.scratch.extend_from_slice(key.bytes);
        let mut message = MessageWriter::begin(out);
        message.field(out, field::NAMESPACE, setup.namespace.as_bytes(), &[]);
        message.field(out, field::SET, set, &[]);
        message.field(out, field::DIGEST, &digest(set, &self.scratch), &[]);
        message
    }

    /// Appends a request that removes a record.
    pub(super) fn remove(&mut self, key: RowKey<'_>, out: &mut Vec<u8>) {
        let proto = Proto::begin(out, Kind::Message);
        let mut message = self.begin(key, out);
        message.attributes.info2 = info2::WRITE | info2::DELETE;
        message.end(out, ResultCode::OK);
        proto.end(out);
    }

    fn write_field(&mut self, message: &mut MessageWriter, row: &RowVersion<'_>, field: u32, out: &mut Vec<u8>) {
        let setup = &*self.setup;
        self.scratch.clear();
        setup.values.append(row.key.number, field, row.version, &mut self.scratch);
        let name = setup.fields[field as usize].as_bytes();
        message.operation(out, &Operation { code: code::WRITE, particle: setup.value as u8, name, value: &self.scratch });
    }

    /// Takes whole messages; says how many bytes they had.
    fn take(&mut self, received: &[u8], replies: &mut dyn Replies) -> Result<usize, TargetError> {
        let mut taken = 0;
        while let Some(header) = Header::read(&received[taken..], REPLY_BYTES_MAX).map_err(wire)? {
            let Some(body) = received[taken + HEADER_BYTES..].get(..header.body_bytes) else { break };
            taken += HEADER_BYTES + body.len();
            match (header.kind, self.is_ready) {
                (Kind::Info, false) => {
                    let named = values(body).find(|(name, _)| *name == "namespaces").map_or("", |(_, value)| value);
                    check_namespace(&self.setup.namespace, named)?;
                    self.is_ready = true;
                }
                (Kind::Message, true) => self.reply(&Message::decode(body).map_err(wire)?, replies)?,
                _ => return Err(unexpected("a message of a kind that was not asked for")),
            }
        }
        Ok(taken)
    }

    fn reply(&mut self, message: &Message<'_>, replies: &mut dyn Replies) -> Result<(), TargetError> {
        let Asked { stream, reads } = self.asked.pop_front().ok_or_else(|| unexpected("a reply to nothing"))?;
        match message.result {
            ResultCode::OK if reads => {
                let mut bins = message.operations.iter();
                let names = self.setup.fields.iter().map(String::as_bytes);
                // Bins usually come in the order in which they were written.
                let mut fields = names.map(|name| {
                    let next = bins.next().filter(|bin| bin.name == name);
                    next.or_else(|| message.operations.iter().find(|bin| bin.name == name)).map(|bin| bin.value)
                });
                replies.rows(stream, 1, &mut fields);
            }
            ResultCode::OK => replies.written(stream),
            ResultCode::NOT_FOUND if reads => replies.rows(stream, 0, &mut std::iter::empty()),
            code => replies.refused(stream, if code.name().is_empty() { "other error" } else { code.name() }, &code.to_string()),
        }
        Ok(())
    }
}

impl Session for AerospikeSession {
    fn open(&mut self, out: &mut Vec<u8>) {
        self.is_ready = false;
        self.partial.clear();
        self.asked.clear();
        append_info(out, &["namespaces"]);
    }

    fn is_ready(&self) -> bool {
        self.is_ready
    }

    fn request(&mut self, stream: u16, request: &Request<'_>, out: &mut Vec<u8>) {
        let proto = Proto::begin(out, Kind::Message);
        let message = match *request {
            Request::Read { key } => {
                let mut message = self.begin(key, out);
                message.attributes.info1 = info1::READ | info1::GET_ALL;
                message
            }
            Request::Write { row, field, kind, timestamp_us: _ } => {
                let mut message = self.begin(row.key, out);
                message.attributes = attributes(kind, field);
                match field {
                    Some(field) => self.write_field(&mut message, &row, field, out),
                    None => (0..self.setup.fields.len() as u32).for_each(|field| self.write_field(&mut message, &row, field, out)),
                }
                message
            }
            Request::Scan { .. } => unreachable!("a mix with scans has no sessions"),
        };
        message.end(out, ResultCode::OK);
        proto.end(out);
        self.asked.push_back(Asked { stream, reads: matches!(request, Request::Read { .. }) });
    }

    fn flush(&mut self, _out: &mut Vec<u8>) {}

    fn receive(&mut self, bytes: &[u8], _out: &mut Vec<u8>, replies: &mut dyn Replies) -> Result<(), TargetError> {
        if self.partial.is_empty() {
            let taken = self.take(bytes, replies)?;
            self.partial.extend_from_slice(&bytes[taken..]);
            return Ok(());
        }
        let mut partial = std::mem::take(&mut self.partial);
        partial.extend_from_slice(bytes);
        let taken = self.take(&partial, replies)?;
        partial.drain(..taken);
        self.partial = partial;
        Ok(())
    }
}

/// What a write expects of the record.
fn attributes(kind: WriteKind, field: Option<u32>) -> Attributes {
    let (create, update) = match (kind, field) {
        (WriteKind::Insert, _) => (info2::CREATE_ONLY, 0),
        (WriteKind::Update, Some(_)) => (0, info3::UPDATE_ONLY),
        (WriteKind::Update, None) => (0, info3::REPLACE_ONLY),
    };
    Attributes { info2: info2::WRITE | create, info3: update, ..Attributes::default() }
}

fn unexpected(what: &'static str) -> TargetError {
    TargetError::Protocol { protocol: PROTOCOL, what: what.into() }
}
