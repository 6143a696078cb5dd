//! The streams of CDC logs: one for each slot, the same for all tables and all members.
//!
//! A stream's id is the partition key of its rows. Its token lies in the slot whose changes it has, so that both have the same replicas. The id has ScyllaDB's
//! form (version 1), from which libraries read the group of a stream: streams of a group are read together.
//!
//! | bits | of an id, from the highest |
//! |---|---|
//! | 64 | a token of the group's part of the ring |
//! | 38 | a number that makes the id's own token fall into the slot |
//! | 22 | the group |
//! | 4 | version, 1 |

use crate::value;
use base::{SLOT_COUNT, Slot, Token};
use std::sync::LazyLock;

/// As many groups as a node of ScyllaDB has parts of the ring: each is a task of a library.
pub const GROUPS: u16 = 256;
/// How many streams a group has.
const GROUP_STREAMS: usize = SLOT_COUNT as usize / GROUPS as usize;

/// Bytes of an id.
pub type StreamId = [u8; 16];

/// A stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The partition key of its rows.
    pub id: StreamId,
    /// The id's token.
    pub token: Token,
}

static STREAMS: LazyLock<Vec<Stream>> = LazyLock::new(|| (0..GROUPS).flat_map(group).collect());

/// The stream of a slot's changes.
#[must_use]
pub fn of_slot(slot: Slot) -> &'static Stream {
    &STREAMS[usize::from(slot.0)]
}

/// All streams, group by group.
pub fn groups() -> impl Iterator<Item = &'static [Stream]> {
    STREAMS.chunks(GROUP_STREAMS)
}

/// The last token of the part of the ring that a group is of.
#[must_use]
pub fn last_token(group: u16) -> Token {
    Slot((group + 1) * GROUP_STREAMS as u16 - 1).last_token()
}

/// Tries numbers until each slot of the group has an id.
fn group(group: u16) -> [Stream; GROUP_STREAMS] {
    let first_slot = group * GROUP_STREAMS as u16;
    let of_group = Slot(first_slot).first_token().0 | 1;
    let mut found = [None; GROUP_STREAMS];
    let mut left = GROUP_STREAMS;
    for number in 0u64..1 << 38 {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&of_group.to_be_bytes());
        id[8..].copy_from_slice(&(number << 26 | u64::from(group) << 4 | 1).to_be_bytes());
        let token = value::token(&id);
        let place = usize::from(token.slot().0).checked_sub(usize::from(first_slot)).and_then(|index| found.get_mut(index));
        if let Some(place) = place.filter(|place| place.is_none()) {
            *place = Some(Stream { id, token });
            left -= 1;
            if left == 0 {
                break;
            }
        }
    }
    found.map(|stream| stream.expect("2^38 tries, of which one in 4,096 falls into a slot, find it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_has_a_stream_of_its_own() {
        let streams: Vec<&Stream> = groups().flatten().collect();
        assert_eq!(streams.len(), SLOT_COUNT as usize);
        for (slot, stream) in streams.iter().enumerate() {
            assert_eq!(usize::from(stream.token.slot().0), slot);
            assert_eq!(value::token(&stream.id), stream.token);
            assert_eq!(of_slot(Slot(slot as u16)), *stream);
            let low = u64::from_be_bytes(stream.id[8..].try_into().expect("eight bytes"));
            assert_eq!((low & 0xF, low >> 4 & 0x3F_FFFF), (1, slot as u64 / 16));
            let high = Token(i64::from_be_bytes(stream.id[..8].try_into().expect("eight bytes")));
            assert_eq!(high.slot().0 / 16, slot as u16 / 16);
        }
        assert_eq!((last_token(0), last_token(GROUPS - 1)), (Slot(15).last_token(), Token(i64::MAX)));
    }

    #[test]
    fn ids_are_the_same_for_ever() {
        // Positions that applications keep are of these.
        let id = |slot| of_slot(Slot(slot)).id.map(|byte| format!("{byte:02x}")).concat();
        assert_eq!([id(0), id(4095)], ["8000000000000001000000dd94000001", "7f00000000000001000000bf60000ff1"]);
    }
}
