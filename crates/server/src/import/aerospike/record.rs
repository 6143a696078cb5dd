//! A record as a scan gives it, and times as the protocol has them.

use aerospike::wire::{Message, Operations};
use std::time::{SystemTime, UNIX_EPOCH};

/// When the protocol's clock started: 2010-01-01, in seconds since 1970.
const EPOCH_S: u64 = 1_262_304_000;

/// Written as a time to live: for ever.
pub(super) const TTL_NEVER: u32 = u32::MAX;

pub(super) type Digest = [u8; 20];

/// A record.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) digest: &'a Digest,
    /// Empty for records without a set.
    pub(super) set: &'a [u8],
    /// As the application knows it, its type first, where that is stored.
    pub(super) key: Option<&'a [u8]>,
    /// Its last second, since 2010; 0 is never.
    pub(super) void_time: u32,
    pub(super) bins: Operations<'a>,
}

impl<'a> Record<'a> {
    /// That of a scan's message; none without a digest.
    pub(super) fn of(message: &Message<'a>) -> Option<Self> {
        let fields = &message.fields;
        Some(Self {
            digest: fields.digest?,
            set: fields.set.unwrap_or_default(),
            key: fields.key,
            void_time: message.attributes.ttl,
            bins: message.operations,
        })
    }
}

/// Now, as times of records are.
pub(super) fn now_s() -> u32 {
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    now_s.saturating_sub(EPOCH_S) as u32
}
