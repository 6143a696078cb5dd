//! What a part says of its slice of a stream: the function has been called for its records.
//!
//! | bytes | |
//! |---|---|
//! | 1 | 0: values; 1: values that may be joined; 2: it took too much; 3: it has failed |
//! | 4, … | length of what it has logged (`aside`), and that |
//! | … | values: type (1), length (4) and bytes of each; or the message |

use super::super::aside::Aside;
use crate::udf::{CalledRecord, Given, StreamCall, StreamFailure};
use crate::value::{Particle, ParticleType};
use crate::wire::Message;

const VALUES: u8 = 0;
const JOINABLE: u8 = 1;
const TOO_MUCH: u8 = 2;
const FAILED: u8 = 3;

/// What comes in front of a record's message on its way to the function: the time to live that is left (4), when it was written (8), its size (4).
const HEAD_BYTES: usize = 16;

pub(super) fn head(ttl_s: u32, updated_ms: i64, bytes: usize) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..4].copy_from_slice(&ttl_s.to_be_bytes());
    head[4..12].copy_from_slice(&updated_ms.to_be_bytes());
    head[12..].copy_from_slice(&(bytes as u32).to_be_bytes());
    head
}

/// A record as the function finds it.
fn called(found: &[u8]) -> Option<CalledRecord<'_>> {
    let (head, message) = found.split_first_chunk::<HEAD_BYTES>()?;
    let (message, _) = Message::read(message).ok()?;
    let fields = &message.fields;
    Some(CalledRecord {
        exists: true,
        bins: message.operations.iter().map(|bin| (bin.name, bin.particle, bin.value)).collect(),
        key: fields.key.and_then(|key| key.split_first()).map(|(kind, value)| (*kind, value)),
        set: std::str::from_utf8(fields.set.unwrap_or_default()).unwrap_or_default(),
        digest: fields.digest?,
        generation: message.attributes.generation as u16,
        ttl_s: u32::from_be_bytes(head[..4].try_into().ok()?),
        updated_ms: i64::from_be_bytes(head[4..12].try_into().ok()?),
        bytes: u32::from_be_bytes(head[12..].try_into().ok()?) as usize,
    })
}

/// Calls the function for the records that a part has found.
pub(super) fn run<'f>(call: &StreamCall, found: impl Iterator<Item = &'f [u8]>, now_ms: i64, reply: &mut Vec<u8>) {
    let records: Vec<CalledRecord<'_>> = found.filter_map(called).collect();
    if records.is_empty() {
        return;
    }
    let (given, log) = call.run(&records, now_ms);
    reply.push(match &given {
        Ok(given) if given.reduces => JOINABLE,
        Ok(_) => VALUES,
        Err(StreamFailure::TooMuch(_)) => TOO_MUCH,
        Err(StreamFailure::Other(_)) => FAILED,
    });
    let mut aside = Vec::new();
    Aside { bins: Vec::new(), log }.encode(&mut aside);
    reply.extend_from_slice(&(aside.len() as u32).to_be_bytes());
    reply.extend_from_slice(&aside);
    match given {
        Ok(Given { values, .. }) => {
            for value in values {
                reply.push(value.kind as u8);
                reply.extend_from_slice(&(value.bytes.len() as u32).to_be_bytes());
                reply.extend_from_slice(&value.bytes);
            }
        }
        Err(StreamFailure::TooMuch(message) | StreamFailure::Other(message)) => reply.extend_from_slice(message.as_bytes()),
    }
}

/// What [`run`] wrote, perhaps on another member.
pub(super) struct Said {
    /// Levels and lines.
    pub(super) log: Vec<(i64, String)>,
    pub(super) outcome: Outcome,
}

pub(super) enum Outcome {
    Values(Vec<Particle<'static>>),
    /// Those of several slices may be joined.
    Joinable(Vec<Particle<'static>>),
    /// It may do with fewer records.
    TooMuch(String),
    Failed(String),
}

impl Said {
    /// `None` of a slice without records.
    pub(super) fn read(said: &[u8]) -> Option<Self> {
        let (how, rest) = said.split_first()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (aside, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        let message = || String::from_utf8_lossy(rest).into_owned();
        let outcome = match *how {
            VALUES => Outcome::Values(read_values(rest)?),
            JOINABLE => Outcome::Joinable(read_values(rest)?),
            TOO_MUCH => Outcome::TooMuch(message()),
            _ => Outcome::Failed(message()),
        };
        Some(Self { log: Aside::decode(aside)?.log, outcome })
    }
}

fn read_values(mut rest: &[u8]) -> Option<Vec<Particle<'static>>> {
    let mut values = Vec::new();
    while let Some((kind, after)) = rest.split_first() {
        let (length, after) = after.split_first_chunk::<4>()?;
        let (bytes, after) = after.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        values.push(Particle::owned(ParticleType::from_wire(*kind)?, bytes.to_vec()));
        rest = after;
    }
    Some(values)
}
