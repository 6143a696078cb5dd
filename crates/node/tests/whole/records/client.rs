//! A client of the Aerospike protocol, made of the bytes that its description gives.

use io::{ConnectionId, ListenerId};
use model::record_set::DIGEST_BYTES;
use sim::Machine;
use std::collections::BTreeMap;

/// The listener that speaks it.
const LISTENER: ListenerId = ListenerId(2);
const STEPS_MAX: usize = 200_000;

pub(super) const OK: u8 = 0;
pub(super) const NOT_FOUND: u8 = 2;
pub(super) const OUT_OF_MEMORY: u8 = 8;
pub(super) const DEVICE_OVERLOAD: u8 = 18;

const LAST: u8 = 1;
const INFO: u8 = 1;
const MESSAGE: u8 = 3;

pub(super) struct Client {
    pub(super) end: (u16, ConnectionId),
    received: Vec<u8>,
}

/// A message of a reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) info3: u8,
    pub(super) code: u8,
    pub(super) generation: u32,
    /// Names and values.
    pub(super) bins: BTreeMap<String, Vec<u8>>,
}

/// The record of a number, somewhere on the ring.
pub(super) fn digest(number: u32) -> [u8; DIGEST_BYTES] {
    let mut digest = [0; DIGEST_BYTES];
    base::Rng::new(u64::from(number)).fill(&mut digest);
    digest
}

fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = (body.len() as u64 | 2 << 56 | u64::from(kind) << 48).to_be_bytes().to_vec();
    out.extend_from_slice(body);
    out
}

/// A request: flags, fields, and operations as code, particle type, name and value.
fn request([info1, info2]: [u8; 2], fields: &[(u8, &[u8])], operations: &[(u8, u8, &str, &[u8])]) -> Vec<u8> {
    let mut body = vec![22, info1, info2, 0, 0, 0];
    body.extend_from_slice(&[0; 12]);
    body.extend_from_slice(&(fields.len() as u16).to_be_bytes());
    body.extend_from_slice(&(operations.len() as u16).to_be_bytes());
    for (kind, value) in fields {
        body.extend_from_slice(&(value.len() as u32 + 1).to_be_bytes());
        body.push(*kind);
        body.extend_from_slice(value);
    }
    for (code, particle, name, value) in operations {
        body.extend_from_slice(&(4 + name.len() as u32 + value.len() as u32).to_be_bytes());
        body.extend_from_slice(&[*code, *particle, 0, name.len() as u8]);
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(value);
    }
    framed(MESSAGE, &body)
}

fn of_record<'a>(set: &'a str, digest: &'a [u8; DIGEST_BYTES]) -> [(u8, &'a [u8]); 3] {
    [(0, b"test"), (1, set.as_bytes()), (4, digest)]
}

/// Writes bins: integers of 8 bytes.
pub(super) fn put(set: &str, number: u32, bins: &[(&str, i64)]) -> Vec<u8> {
    let values: Vec<[u8; 8]> = bins.iter().map(|(_, value)| value.to_be_bytes()).collect();
    let operations: Vec<(u8, u8, &str, &[u8])> = bins.iter().zip(&values).map(|((name, _), value)| (2, 1, *name, &value[..])).collect();
    request([0, 1], &of_record(set, &digest(number)), &operations)
}

/// Writes one bin of bytes.
pub(super) fn put_bytes(set: &str, number: u32, name: &str, value: &[u8]) -> Vec<u8> {
    request([0, 1], &of_record(set, &digest(number)), &[(2, 4, name, value)])
}

/// Reads all bins.
pub(super) fn get(set: &str, number: u32) -> Vec<u8> {
    request([3, 0], &of_record(set, &digest(number)), &[])
}

pub(super) fn delete(set: &str, number: u32) -> Vec<u8> {
    request([0, 3], &of_record(set, &digest(number)), &[])
}

/// All records of a set.
pub(super) fn scan(set: &str) -> Vec<u8> {
    let partitions: Vec<u8> = (0..4096u16).flat_map(u16::to_le_bytes).collect();
    request([3, 0], &[(0, b"test"), (1, set.as_bytes()), (11, &partitions)], &[])
}

/// One bin of each record of a set, as a batch.
pub(super) fn get_many(set: &str, numbers: std::ops::Range<u32>) -> Vec<u8> {
    let mut batch = (numbers.len() as u32).to_be_bytes().to_vec();
    batch.push(0);
    for (index, number) in (0u32..).zip(numbers) {
        batch.extend_from_slice(&index.to_be_bytes());
        batch.extend_from_slice(&digest(number));
        // Not as the one before; read all; two fields, no operations.
        batch.extend_from_slice(&[0, 3, 0, 2, 0, 0]);
        for (kind, value) in [(0u8, &b"test"[..]), (1, set.as_bytes())] {
            batch.extend_from_slice(&(value.len() as u32 + 1).to_be_bytes());
            batch.push(kind);
            batch.extend_from_slice(value);
        }
    }
    request([1 | 8, 0], &[(41, &batch)], &[])
}

/// Writes a bin of each record of a set, as a batch.
pub(super) fn put_many(set: &str, numbers: std::ops::Range<u32>, bin: &str, value: i64) -> Vec<u8> {
    let mut batch = (numbers.len() as u32).to_be_bytes().to_vec();
    batch.push(0);
    for (index, number) in (0u32..).zip(numbers) {
        batch.extend_from_slice(&index.to_be_bytes());
        batch.extend_from_slice(&digest(number));
        if index > 0 {
            // As the one before.
            batch.push(1);
            continue;
        }
        // With all flags: write; two fields, an operation.
        batch.extend_from_slice(&[2, 0, 1, 0, 0, 2, 0, 1]);
        for (kind, value) in [(0u8, &b"test"[..]), (1, set.as_bytes())] {
            batch.extend_from_slice(&(value.len() as u32 + 1).to_be_bytes());
            batch.push(kind);
            batch.extend_from_slice(value);
        }
        batch.extend_from_slice(&(4 + bin.len() as u32 + 8).to_be_bytes());
        batch.extend_from_slice(&[2, 1, 0, bin.len() as u8]);
        batch.extend_from_slice(bin.as_bytes());
        batch.extend_from_slice(&value.to_be_bytes());
    }
    request([8, 0], &[(41, &batch)], &[])
}

impl Client {
    pub(super) fn connect(machine: &mut Machine, core: u16) -> Self {
        Self { end: machine.accept_on(core, LISTENER), received: Vec::new() }
    }

    pub(super) fn send(&self, machine: &mut Machine, bytes: &[u8]) {
        if let Some(connection) = machine.connection(self.end) {
            connection.to_core.extend(bytes);
        }
    }

    /// Sends a request and gives its reply: all messages up to the last.
    pub(super) fn call(&mut self, machine: &mut Machine, bytes: &[u8]) -> Vec<Message> {
        self.send(machine, bytes);
        self.reply(machine)
    }

    /// Sends a request that is answered with one message.
    pub(super) fn one(&mut self, machine: &mut Machine, bytes: &[u8]) -> Message {
        self.send(machine, bytes);
        let (_, body) = self.wait(machine);
        let mut messages = messages(&body);
        assert_eq!(messages.len(), 1, "{messages:?}");
        messages.remove(0)
    }

    /// The value of a command.
    pub(super) fn info(&mut self, machine: &mut Machine, name: &str) -> String {
        self.send(machine, &framed(INFO, format!("{name}\n").as_bytes()));
        let (kind, body) = self.wait(machine);
        assert_eq!(kind, INFO);
        let text = String::from_utf8(body).unwrap();
        text.strip_prefix(name).and_then(|text| text.strip_prefix('\t')).and_then(|text| text.strip_suffix('\n')).unwrap().to_owned()
    }

    /// A reply of many messages.
    pub(super) fn reply(&mut self, machine: &mut Machine) -> Vec<Message> {
        let mut all = Vec::new();
        loop {
            let (_, body) = self.wait(machine);
            all.extend(messages(&body));
            if let Some(last) = all.pop_if(|last| last.info3 & LAST != 0) {
                assert_eq!(last.code, OK);
                return all;
            }
        }
    }

    fn wait(&mut self, machine: &mut Machine) -> (u8, Vec<u8>) {
        for _ in 0..STEPS_MAX {
            if let Some(frame) = self.poll(machine) {
                return frame;
            }
            machine.step();
        }
        panic!("no reply within {STEPS_MAX} steps: {}", machine.describe());
    }

    /// The next whole frame, if it is there: its kind and body.
    pub(super) fn poll(&mut self, machine: &mut Machine) -> Option<(u8, Vec<u8>)> {
        if let Some(connection) = machine.connection(self.end) {
            self.received.append(&mut connection.to_client);
        }
        let head = u64::from_be_bytes(*self.received.first_chunk()?);
        assert_eq!(head >> 56, 2, "a reply of another version");
        let end = 8 + (head & 0xFFFF_FFFF_FFFF) as usize;
        let body = self.received.get(8..end)?.to_vec();
        self.received.drain(..end);
        Some(((head >> 48) as u8, body))
    }
}

fn messages(mut body: &[u8]) -> Vec<Message> {
    let mut messages = Vec::new();
    while let Some((header, rest)) = body.split_first_chunk::<22>() {
        let number = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let mut message = Message {
            info3: header[3],
            code: header[5],
            generation: u32::from_be_bytes([header[6], header[7], header[8], header[9]]),
            bins: BTreeMap::new(),
        };
        body = rest;
        let mut take = || {
            let (length, rest) = body.split_first_chunk::<4>().unwrap();
            let (item, rest) = rest.split_at(u32::from_be_bytes(*length) as usize);
            body = rest;
            item
        };
        for _ in 0..number(18) {
            take();
        }
        for _ in 0..number(20) {
            let item = take();
            let (name, value) = item[4..].split_at(usize::from(item[3]));
            message.bins.insert(String::from_utf8(name.to_vec()).unwrap(), value.to_vec());
        }
        messages.push(message);
    }
    assert!(body.is_empty());
    messages
}
