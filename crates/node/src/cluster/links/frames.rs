//! Bodies of the frames between nodes that are about slots, rows and clients' requests. Integers are little endian.
//!
//! | kind | from → to | body |
//! |---|---|---|
//! | 32 | primary → replica | `replica::Append` |
//! | 33 | any → primary | [`Forward`]: a request to run |
//! | 35 | former primary → primary | version, [`Slots`]: it has stepped down |
//! | 36 | primary → replica | version, [`Slots`]: a difference is not enough, ask for all |
//! | 37 | any → any | where a member listens that is not where the metadata says (`moved.rs`); since version 13 of the nodes' protocol |
//! | 64 | replica → primary | 8: all before this position of the stream is taken over |
//! | 65 | replica → primary | 8: items of an older term are refused by one with this version of the metadata |
//! | 66 | → who forwarded | [`Forwarded`] |
//! | 67 | replica → primary | version, 1: [`RebuildMethod`], then [`Slots`] to be rebuilt |
//! | 68 | replica → primary | version, keys of rows that the replica may have and the primary not |
//! | 69 | replica → primary | nothing: its device or its index is full, and what it is sent it cannot take; since version 5 of the nodes' protocol |
//! | 70 | replica → primary | version, [`Slots`] in which it is in sync and has damaged rows; since version 22 of the nodes' protocol |
//!
//! A version is that of the metadata by which the sender goes, 8 bytes: who goes by an older one keeps the frame until it knows more.
//! Those from 64 up travel against the direction in which the link was made.

use base::{Slot, TableId, Token};
use engine::Key;
use shard::{Refusal, ShardError};

pub(crate) const APPEND: u8 = 32;

pub(crate) const FORWARD: u8 = 33;

pub(crate) const STEPPED_DOWN: u8 = 35;

pub(crate) const FULL_COPY_NEEDED: u8 = 36;

pub(crate) const MOVED: u8 = 37;

pub(crate) const ACKNOWLEDGED: u8 = 64;

pub(crate) const REFUSED: u8 = 65;

pub(crate) const FORWARDED: u8 = 66;

pub(crate) const REBUILD: u8 = 67;

pub(crate) const FETCH: u8 = 68;

pub(crate) const FULL: u8 = 69;

pub(crate) const DAMAGED: u8 = 70;

/// Whether a link that speaks `version` has frames of this kind: to the other end those that came later are damage.
pub(crate) fn is_spoken(kind: u8, version: u16) -> bool {
    match kind {
        FULL => version >= 5,
        MOVED => version >= 13,
        DAMAGED => version >= 22,
        _ => true,
    }
}

/// A request, or what came of it, may have so many bytes to be sent on: less than a frame holds, for what goes with it.
pub(crate) const FORWARD_BYTES_MAX: usize = cluster::wire::BODY_BYTES_MAX - (64 << 10);

/// How a replica is rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RebuildMethod {
    /// With what has changed since it was in sync.
    CatchUp,
    /// With everything; it has forgotten what it had.
    Full,
}

/// Slots of keyspaces, each with an epoch: the primary's term, or, for a rebuild, the epoch that names it; or that of the assignment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slots(pub(crate) Vec<(String, Vec<(Slot, u64)>)>);

/// A request, or a part of one, that another member is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Forward<'a> {
    pub(crate) id: u32,
    /// The version of the metadata that the sender goes by.
    pub(crate) version: u64,
    /// The part's description; `None` for the whole request.
    pub(crate) part: Option<&'a [u8]>,
    pub(crate) request: &'a [u8],
}

/// What came of a [`Forward`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Forwarded<'a> {
    pub(crate) id: u32,
    pub(crate) outcome: RemoteOutcome<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RemoteOutcome<'a> {
    /// The reply.
    Done(&'a [u8]),
    /// Nothing was done: ask another.
    NotPrimary,
    /// Whether it was done is not known.
    Unknown,
    /// It was refused, and why.
    Failed(Refusal, &'a str),
}

/// Reads little-endian fields; `None` at the first that is not whole.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u8(&mut self) -> Option<u8> {
        Some(self.array::<1>()?[0])
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

/// The version that a frame starts with, if it is of a kind that has one, and what follows it.
pub(crate) fn split_version(kind: u8, body: &[u8]) -> Option<(u64, &[u8])> {
    if !matches!(kind, STEPPED_DOWN | FULL_COPY_NEEDED | REBUILD | FETCH | DAMAGED) {
        return None;
    }
    let mut fields = Fields(body);
    Some((fields.u64()?, fields.0))
}

pub(crate) fn read_u64(body: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(body.try_into().ok()?))
}

impl Slots {
    pub(crate) fn push(&mut self, keyspace: &str, slot: Slot, term: u64) {
        match self.0.last_mut() {
            Some((last, slots)) if last == keyspace => slots.push((slot, term)),
            _ => self.0.push((keyspace.to_owned(), vec![(slot, term)])),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Slot, u64)> {
        self.0.iter().flat_map(|(keyspace, slots)| slots.iter().map(|(slot, term)| (keyspace.as_str(), *slot, *term)))
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for (keyspace, slots) in &self.0 {
            out.extend_from_slice(&(keyspace.len() as u16).to_le_bytes());
            out.extend_from_slice(keyspace.as_bytes());
            out.extend_from_slice(&(slots.len() as u32).to_le_bytes());
            for (slot, term) in slots {
                out.extend_from_slice(&slot.0.to_le_bytes());
                out.extend_from_slice(&term.to_le_bytes());
            }
        }
    }

    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        let mut fields = Fields(body);
        let mut read = Self::default();
        while !fields.0.is_empty() {
            let length = fields.u16()?;
            let keyspace = std::str::from_utf8(fields.take(length.into())?).ok()?.to_owned();
            let count = fields.u32()?;
            let mut slots = Vec::new();
            for _ in 0..count {
                let slot = Slot(fields.u16()?);
                if u32::from(slot.0) >= base::SLOT_COUNT {
                    return None;
                }
                slots.push((slot, fields.u64()?));
            }
            read.0.push((keyspace, slots));
        }
        Some(read)
    }
}

impl<'a> Forward<'a> {
    pub(crate) fn bytes(&self) -> usize {
        self.part.map_or(0, <[u8]>::len) + self.request.len()
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.to_le_bytes());
        out.extend_from_slice(&self.version.to_le_bytes());
        out.push(self.part.is_some().into());
        let part = self.part.unwrap_or_default();
        out.extend_from_slice(&(part.len() as u32).to_le_bytes());
        out.extend_from_slice(part);
        out.extend_from_slice(self.request);
    }

    pub(crate) fn read(body: &'a [u8]) -> Option<Self> {
        let mut fields = Fields(body);
        let (id, version, has_part, length) = (fields.u32()?, fields.u64()?, fields.u8()? != 0, fields.u32()?);
        let part = fields.take(length as usize)?;
        Some(Self { id, version, part: has_part.then_some(part), request: fields.0 })
    }
}

impl<'a> Forwarded<'a> {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.to_le_bytes());
        match self.outcome {
            RemoteOutcome::Done(reply) => {
                out.push(0);
                out.extend_from_slice(reply);
            }
            RemoteOutcome::NotPrimary => out.push(1),
            RemoteOutcome::Unknown => out.push(2),
            RemoteOutcome::Failed(refusal, why) => {
                out.extend_from_slice(&[3, refusal as u8]);
                out.extend_from_slice(why.as_bytes());
            }
        }
    }

    pub(crate) fn read(body: &'a [u8]) -> Option<Self> {
        let mut fields = Fields(body);
        let (id, kind) = (fields.u32()?, fields.u8()?);
        let outcome = match kind {
            0 => RemoteOutcome::Done(fields.0),
            1 => RemoteOutcome::NotPrimary,
            2 => RemoteOutcome::Unknown,
            3 => {
                let refusal = Refusal::from_code(fields.u8()?);
                RemoteOutcome::Failed(refusal, std::str::from_utf8(fields.0).ok()?)
            }
            _ => return None,
        };
        Some(Self { id, outcome })
    }
}

impl RemoteOutcome<'_> {
    pub(crate) fn into_result(self) -> Result<Vec<u8>, ShardError> {
        match self {
            Self::Done(reply) => Ok(reply.to_vec()),
            Self::NotPrimary => Err(ShardError::NotPrimary),
            Self::Unknown => Err(ShardError::OutcomeUnknown),
            Self::Failed(refusal, message) => Err(ShardError::Elsewhere { refusal, message: message.to_owned() }),
        }
    }
}

pub(crate) fn write_rebuild(out: &mut Vec<u8>, method: RebuildMethod, slots: &Slots) {
    out.push(match method {
        RebuildMethod::CatchUp => 0,
        RebuildMethod::Full => 1,
    });
    slots.write(out);
}

pub(crate) fn read_rebuild(body: &[u8]) -> Option<(RebuildMethod, Slots)> {
    let (method, slots) = body.split_first()?;
    let method = match method {
        0 => RebuildMethod::CatchUp,
        1 => RebuildMethod::Full,
        _ => return None,
    };
    Some((method, Slots::read(slots)?))
}

pub(crate) fn write_key(out: &mut Vec<u8>, key: &Key<'_>) {
    out.extend_from_slice(&key.table.0.to_le_bytes());
    out.extend_from_slice(&key.token.0.to_le_bytes());
    for part in [key.partition, key.clustering] {
        out.extend_from_slice(&(part.len() as u16).to_le_bytes());
        out.extend_from_slice(part);
    }
}

/// The first key in `body`, which is cut to what follows.
pub(crate) fn read_key<'a>(body: &mut &'a [u8]) -> Option<Key<'a>> {
    let mut fields = Fields(body);
    let (table, token) = (TableId(fields.u32()?), Token(fields.u64()?.cast_signed()));
    let length = fields.u16()?;
    let partition = fields.take(length.into())?;
    let length = fields.u16()?;
    let clustering = fields.take(length.into())?;
    *body = fields.0;
    Some(Key { table, token, partition, clustering })
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Rng;

    fn garbled(body: &[u8], mut read: impl FnMut(&[u8])) {
        let mut rng = Rng::new(1);
        for length in 0..=body.len() {
            read(&body[..length]);
        }
        for _ in 0..5_000 {
            let mut body = body.to_vec();
            let at = rng.below(body.len() as u64) as usize;
            body[at] = rng.next_u64() as u8;
            read(&body);
        }
    }

    #[test]
    fn a_link_has_no_frames_of_later_versions() {
        assert!(is_spoken(APPEND, 4) && is_spoken(FULL, 5) && is_spoken(MOVED, 13) && is_spoken(DAMAGED, 22));
        assert!(!is_spoken(DAMAGED, 21) && !is_spoken(FULL, 4) && !is_spoken(MOVED, 12), "a program of version 4 would close the link");
    }

    #[test]
    fn slots_come_out_as_they_went_in() {
        let mut slots = Slots::default();
        for (keyspace, slot) in [("one", 0), ("one", 4095), ("two", 7)] {
            slots.push(keyspace, Slot(slot), u64::from(slot) + 1);
        }
        let mut body = Vec::new();
        slots.write(&mut body);
        assert_eq!(Slots::read(&body).as_ref(), Some(&slots));
        assert_eq!(slots.iter().count(), 3);
        garbled(&body, |body| {
            let _ = Slots::read(body);
        });
    }

    #[test]
    fn requests_and_what_came_of_them_travel() {
        for part in [None, Some(&b"part"[..]), Some(&b""[..])] {
            let forward = Forward { id: 7, version: 9, part, request: b"request" };
            let mut body = Vec::new();
            forward.write(&mut body);
            assert_eq!(Forward::read(&body), Some(forward));
            garbled(&body, |body| {
                let _ = Forward::read(body);
            });
        }
        let failed = Refusal::ALL.map(|refusal| RemoteOutcome::Failed(refusal, "why"));
        for outcome in [RemoteOutcome::Done(b"reply"), RemoteOutcome::NotPrimary, RemoteOutcome::Unknown].into_iter().chain(failed) {
            let mut body = Vec::new();
            Forwarded { id: 3, outcome }.write(&mut body);
            assert_eq!(Forwarded::read(&body), Some(Forwarded { id: 3, outcome }));
            garbled(&body, |body| {
                let _ = Forwarded::read(body);
            });
        }
    }

    #[test]
    fn keys_follow_one_another() {
        let keys = [("a", "b"), ("", ""), ("long key", "x")].map(|(partition, clustering)| Key {
            table: TableId(3),
            token: Token(-4),
            partition: partition.as_bytes(),
            clustering: clustering.as_bytes(),
        });
        let mut body = Vec::new();
        keys.iter().for_each(|key| write_key(&mut body, key));
        let mut rest = &*body;
        for key in keys {
            assert_eq!(read_key(&mut rest), Some(key));
        }
        assert!(rest.is_empty());
        garbled(&body, |mut body| while read_key(&mut body).is_some() {});
    }
}
