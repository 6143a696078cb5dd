//! The first column of a block: what is known of each row besides its key and its bytes.

use crate::key::Kind;

const KIND_LIVE: u8 = 0;
const KIND_EXPIRING: u8 = 1;
const KIND_TOMBSTONE: u8 = 2;

/// A row in the first column of a block.
pub(super) struct Meta {
    pub(super) kind: Kind,
    pub(super) key_bytes: usize,
    pub(super) row_bytes: usize,
    /// From the row before.
    pub(super) sequence_difference: i64,
}

pub(super) fn push_meta(out: &mut Vec<u8>, row: &Meta) {
    out.push(match row.kind {
        Kind::Live => KIND_LIVE,
        Kind::Expiring { .. } => KIND_EXPIRING,
        Kind::Tombstone { .. } => KIND_TOMBSTONE,
    });
    push_varint(out, row.key_bytes as u64);
    push_varint(out, row.row_bytes as u64);
    push_varint(out, zigzag(row.sequence_difference));
    if let Some(purge_after_s) = row.kind.purge_after_s() {
        push_varint(out, zigzag(purge_after_s));
    }
}

#[inline]
pub(super) fn take_meta(rest: &mut &[u8]) -> Option<Meta> {
    let (&kind, after) = rest.split_first()?;
    *rest = after;
    let key_bytes = usize::try_from(take_varint(rest)?).ok()?;
    let row_bytes = usize::try_from(take_varint(rest)?).ok()?;
    let sequence_difference = unzigzag(take_varint(rest)?);
    let kind = match kind {
        KIND_LIVE => Kind::Live,
        KIND_EXPIRING => Kind::Expiring { purge_after_s: unzigzag(take_varint(rest)?) },
        KIND_TOMBSTONE => Kind::Tombstone { purge_after_s: unzigzag(take_varint(rest)?) },
        _ => return None,
    };
    Some(Meta { kind, key_bytes, row_bytes, sequence_difference })
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

fn unzigzag(word: u64) -> i64 {
    (word >> 1) as i64 ^ -((word & 1) as i64)
}

fn push_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[inline]
fn take_varint(rest: &mut &[u8]) -> Option<u64> {
    let (&first, after) = rest.split_first()?;
    *rest = after;
    if first < 0x80 {
        return Some(u64::from(first));
    }
    let mut number = u64::from(first & 0x7F);
    for shift in (7..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        // The tenth byte has one bit left.
        if shift == 63 && byte > 1 {
            return None;
        }
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_lengths_come_back() {
        for shift in 0..64 {
            for number in [1u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let mut bytes = Vec::new();
                push_varint(&mut bytes, number);
                assert_eq!(take_varint(&mut &bytes[..]), Some(number));
                assert_eq!(take_varint(&mut &bytes[..bytes.len() - 1]), None);
                assert_eq!(unzigzag(zigzag(number as i64)), number as i64);
            }
        }
        assert_eq!(take_varint(&mut &[0xFF; 11][..]), None);
    }
}
