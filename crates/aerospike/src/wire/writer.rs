//! Messages, appended to a connection's output.

use super::{Attributes, HEADER_BYTES, Header, Kind, MESSAGE_HEADER_BYTES, Operation};
use crate::ResultCode;
use crate::geo;
use crate::operate::code;
use crate::value::ParticleType;
use std::borrow::Cow;

/// A header and what follows it, in the making: its header is filled in when it ends.
#[derive(Debug)]
#[must_use = "its length is written by `end`"]
pub struct Proto {
    start: usize,
    kind: Kind,
}

impl Proto {
    /// Starts one; its body is to be appended.
    #[inline]
    pub fn begin(out: &mut Vec<u8>, kind: Kind) -> Self {
        let start = out.len();
        out.extend_from_slice(&[0; HEADER_BYTES]);
        Self { start, kind }
    }

    /// Fills in the length.
    #[inline]
    pub fn end(self, out: &mut [u8]) {
        let body_bytes = out.len() - self.start - HEADER_BYTES;
        out[self.start..self.start + HEADER_BYTES].copy_from_slice(&Header { kind: self.kind, body_bytes }.to_bytes());
    }

    /// Fills in the length, or takes the header back if nothing follows it: some clients take that for the end of a reply.
    pub fn end_unless_empty(self, out: &mut Vec<u8>) {
        if out.len() == self.start + HEADER_BYTES { out.truncate(self.start) } else { self.end(out) }
    }
}

/// One message in the making, a request or a part of a reply.
#[derive(Debug)]
#[must_use = "its header is written by `end`"]
pub struct MessageWriter {
    start: usize,
    fields: u16,
    operations: u16,
    /// Flags; the record's generation; when it expires.
    pub attributes: Attributes,
    /// A request's timeout; the record's index in its batch.
    pub number: u32,
}

impl MessageWriter {
    /// Starts a message; fields must come before operations.
    #[inline]
    pub fn begin(out: &mut Vec<u8>) -> Self {
        let start = out.len();
        out.extend_from_slice(&[0; MESSAGE_HEADER_BYTES]);
        Self { start, fields: 0, operations: 0, attributes: Attributes::default(), number: 0 }
    }

    /// Appends a field, given in two parts.
    pub fn field(&mut self, out: &mut Vec<u8>, kind: u8, head: &[u8], tail: &[u8]) {
        assert_eq!(self.operations, 0);
        append_field(out, kind, head, tail);
        self.fields += 1;
    }

    /// Puts a field in front of all that was appended.
    pub fn first_field(&mut self, out: &mut Vec<u8>, kind: u8, data: &[u8]) {
        let mut field = Vec::new();
        append_field(&mut field, kind, data, &[]);
        let start = self.start + MESSAGE_HEADER_BYTES;
        out.splice(start..start, field);
        self.fields += 1;
    }

    /// Appends a bin's value to a reply.
    #[inline]
    pub fn bin(&mut self, out: &mut Vec<u8>, name: &[u8], particle: u8, value: &[u8]) {
        let is_text = particle == ParticleType::GeoJson as u8 && geo::text(value) == Some(value);
        let value = if is_text { Cow::Owned(geo::with_head(value)) } else { Cow::Borrowed(value) };
        self.operation(out, &Operation { code: code::READ, particle, name, value: &value });
    }

    /// Appends an operation. Beyond 65,535 there is no room in the header: such are left out.
    #[inline]
    pub fn operation(&mut self, out: &mut Vec<u8>, operation: &Operation<'_>) {
        let Some(operations) = self.operations.checked_add(1) else { return };
        self.operations = operations;
        append_operation(out, operation);
    }

    /// Fills in the header.
    #[inline]
    pub fn end(self, out: &mut [u8], result: ResultCode) {
        let Attributes { info1, info2, info3, info4, generation, ttl } = self.attributes;
        let mut header = [0; MESSAGE_HEADER_BYTES];
        header[..6].copy_from_slice(&[MESSAGE_HEADER_BYTES as u8, info1, info2, info3, info4, result.0]);
        header[6..10].copy_from_slice(&generation.to_be_bytes());
        header[10..14].copy_from_slice(&ttl.to_be_bytes());
        header[14..18].copy_from_slice(&self.number.to_be_bytes());
        header[18..20].copy_from_slice(&self.fields.to_be_bytes());
        header[20..22].copy_from_slice(&self.operations.to_be_bytes());
        out[self.start..self.start + MESSAGE_HEADER_BYTES].copy_from_slice(&header);
    }
}

/// Appends a field, given in two parts.
pub(super) fn append_field(out: &mut Vec<u8>, kind: u8, head: &[u8], tail: &[u8]) {
    out.extend_from_slice(&((head.len() + tail.len() + 1) as u32).to_be_bytes());
    out.push(kind);
    out.extend_from_slice(head);
    out.extend_from_slice(tail);
}

/// Appends an operation.
#[inline]
pub(super) fn append_operation(out: &mut Vec<u8>, operation: &Operation<'_>) {
    let Operation { code, particle, name, value } = *operation;
    let [a, b, c, d] = ((4 + name.len() + value.len()) as u32).to_be_bytes();
    out.extend_from_slice(&[a, b, c, d, code, particle, 0, name.len() as u8]);
    out.extend_from_slice(name);
    out.extend_from_slice(value);
}

/// Appends a reply that is nothing but a result; `info3` says whether it ends a reply of many messages.
pub fn write_result(out: &mut Vec<u8>, result: ResultCode, info3: u8) {
    let proto = Proto::begin(out, Kind::Message);
    let mut message = MessageWriter::begin(out);
    message.attributes.info3 = info3;
    message.end(out, result);
    proto.end(out);
}
