#![allow(clippy::unwrap_used)]

mod cluster;
mod database;
mod elsewhere;
mod geo;
mod jobs;
mod many;
mod policies;
mod streams;
mod transactions;

use crate::wire::{Attributes, Operation, field};

/// A request in the making.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) attributes: Attributes,
    pub(super) fields: Vec<(u8, Vec<u8>)>,
    pub(super) operations: Vec<(u8, u8, Vec<u8>, Vec<u8>)>,
}

impl Ask {
    /// About the record `key` of the set `s`.
    pub(super) fn of(key: u8) -> Self {
        Self::about(&[(field::NAMESPACE, b"test"), (field::SET, b"s"), (field::DIGEST, &digest_of(key))])
    }

    pub(super) fn about(fields: &[(u8, &[u8])]) -> Self {
        let fields = fields.iter().map(|(kind, data)| (*kind, data.to_vec())).collect();
        Self { attributes: Attributes::default(), fields, operations: Vec::new() }
    }

    pub(super) fn info(mut self, info1: u8, info2: u8, info3: u8) -> Self {
        self.attributes.info1 |= info1;
        self.attributes.info2 |= info2;
        self.attributes.info3 |= info3;
        self
    }

    pub(super) fn info4(mut self, info4: u8) -> Self {
        self.attributes.info4 |= info4;
        self
    }

    pub(super) fn generation(mut self, generation: u32) -> Self {
        self.attributes.generation = generation;
        self
    }

    pub(super) fn ttl(mut self, ttl: u32) -> Self {
        self.attributes.ttl = ttl;
        self
    }

    pub(super) fn field(mut self, kind: u8, data: &[u8]) -> Self {
        self.fields.push((kind, data.to_vec()));
        self
    }

    pub(super) fn operation(mut self, code: u8, particle: u8, name: &str, value: &[u8]) -> Self {
        self.operations.push((code, particle, name.into(), value.to_vec()));
        self
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut message = crate::wire::MessageWriter::begin(&mut out);
        message.attributes = self.attributes;
        for (kind, data) in &self.fields {
            message.field(&mut out, *kind, data, &[]);
        }
        for (code, particle, name, value) in &self.operations {
            message.operation(&mut out, &Operation { code: *code, particle: *particle, name, value });
        }
        message.end(&mut out, crate::ResultCode::OK);
        out
    }
}

/// A digest whose slot is `16 * key`.
pub(super) fn digest_of(key: u8) -> [u8; 20] {
    let mut digest = [key; 20];
    digest[..2].copy_from_slice(&(16 * u16::from(key)).to_le_bytes());
    digest
}

pub(super) fn integer(value: i64) -> [u8; 8] {
    value.to_be_bytes()
}
