//! A row's key as bytes whose order is that of rows: token, partition, clustering key.
//!
//! | bytes | key |
//! |---|---|
//! | 8 | the token, biased, big-endian |
//! | 2 | length of the partition key |
//! | … | the partition key |
//! | … | the clustering key |

use base::Token;

/// The key of a row.
pub(super) fn encode_key(token: Token, partition: &[u8], clustering: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(10 + partition.len() + clustering.len());
    key.extend_from_slice(&(token.0.cast_unsigned() ^ 1 << 63).to_be_bytes());
    key.extend_from_slice(&(partition.len() as u16).to_be_bytes());
    key.extend_from_slice(partition);
    key.extend_from_slice(clustering);
    key
}

/// The inverse of [`encode_key`]; `None` for bytes that are no key.
pub(super) fn decode_key(key: &[u8]) -> Option<(Token, &[u8], &[u8])> {
    let (token, rest) = key.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (partition, clustering) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    Some((Token((u64::from_be_bytes(*token) ^ 1 << 63).cast_signed()), partition, clustering))
}

/// The numbers of a vector as it is stored.
pub(super) fn floats(bytes: &[u8]) -> impl ExactSizeIterator<Item = f32> + Clone + '_ {
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_and_are_in_the_order_of_rows() {
        let rows: [(i64, &[u8], &[u8]); 6] = [
            (i64::MIN, b"z", b""),
            (-5, b"a", b"\x10"),
            (-5, b"a", b"\x10\x01"),
            (-5, b"b", b""),
            (0, b"", b""),
            (i64::MAX, b"a", b"\x20"),
        ];
        let keys: Vec<Vec<u8>> =
            rows.iter().map(|(token, partition, clustering)| encode_key(Token(*token), partition, clustering)).collect();
        assert!(keys.is_sorted());
        for (key, (token, partition, clustering)) in keys.iter().zip(rows) {
            assert_eq!(decode_key(key), Some((Token(token), partition, clustering)));
        }
        assert_eq!(decode_key(&keys[1][..9]), None);
        assert_eq!(decode_key(&keys[1][..10]), None);
    }
}
