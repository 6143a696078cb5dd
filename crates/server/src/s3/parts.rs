//! How a stream of unknown length is cut into parts, and how it ends where it was marked: pure, without S3.
//!
//! What follows a mark may be in parts that were sent already. Then the part in which the mark is gets its number again, with what was before the
//! mark, and later parts are left out when the upload is completed.

/// Parts grow with the file: 10,000 of them come to 402 GB.
const SIZES: [(usize, usize); 3] = [(2_000, 8 << 20), (5_000, 16 << 20), (usize::MAX, 64 << 20)];

/// What of a stream is not sent yet, and where it was marked.
pub(super) struct Parts {
    /// Of all parts alike, where that is asked for.
    fixed: Option<usize>,
    sent: usize,
    pending: Vec<u8>,
    mark: Option<Mark>,
}

/// Where a stream may end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// How long it is then.
    pub(super) bytes: u64,
    /// Parts that are whole then.
    pub(super) parts: usize,
    /// What follows them.
    pub(super) tail: Vec<u8>,
}

impl Parts {
    pub(super) fn new(fixed: Option<usize>) -> Self {
        Self { fixed, sent: 0, pending: Vec::new(), mark: None }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// The next part to be sent, once there is one.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        let bytes = self.part_bytes();
        if self.pending.len() < bytes {
            return None;
        }
        self.sent += 1;
        let rest = self.pending.split_off(bytes);
        Some(std::mem::replace(&mut self.pending, rest))
    }

    fn part_bytes(&self) -> usize {
        self.fixed.unwrap_or_else(|| whole_part_bytes(self.sent) as usize)
    }

    /// The stream may end here. Earlier marks do not count any more.
    pub(super) fn mark(&mut self, bytes: u64) {
        self.mark = Some(Mark { bytes, parts: self.sent, tail: self.pending.clone() });
    }

    /// It ends at the last mark, which is so many bytes from its begin.
    pub(super) fn end(&mut self, bytes: u64) -> Option<Mark> {
        self.mark.take().filter(|mark| mark.bytes == bytes)
    }
}

/// The bytes of a part, of those that grow; the first one has index 0.
pub(super) fn whole_part_bytes(index: usize) -> u64 {
    SIZES.iter().find(|(until, _)| index < *until).map_or(64 << 20, |(_, bytes)| *bytes as u64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// What S3 has after an upload that ends where `marked` is.
    fn uploaded(pushes: &[usize], marked: usize) -> Option<Vec<u8>> {
        let (mut parts, mut sent, mut bytes) = (Parts::new(Some(10)), Vec::new(), 0u64);
        for (index, length) in pushes.iter().enumerate() {
            parts.push(&vec![index as u8; *length]);
            bytes += *length as u64;
            while let Some(part) = parts.take() {
                assert_eq!(part.len(), 10);
                sent.push(part);
            }
            if index <= marked {
                parts.mark(bytes);
            }
        }
        let end: u64 = pushes[..=marked].iter().map(|length| *length as u64).sum();
        let mark = parts.end(end)?;
        sent.truncate(mark.parts);
        sent.push(mark.tail);
        Some(sent.concat())
    }

    #[test]
    fn a_stream_ends_where_it_was_marked_whatever_was_sent_since() {
        for pushes in [&[3, 4, 50, 2][..], &[10, 10, 10], &[0, 25, 0, 0], &[9, 1, 100]] {
            for marked in 0..pushes.len() {
                let wanted: Vec<u8> = (0..=marked).flat_map(|index| vec![index as u8; pushes[index]]).collect();
                assert_eq!(uploaded(pushes, marked).unwrap(), wanted, "{pushes:?} until {marked}");
            }
        }
    }

    #[test]
    fn a_stream_without_that_mark_does_not_end() {
        let mut parts = Parts::new(None);
        assert_eq!(parts.end(0), None);
        parts.push(b"abc");
        parts.mark(3);
        assert_eq!(parts.end(2), None);
    }

    #[test]
    fn parts_grow_and_stay_within_what_s3_takes() {
        let mut total = 0u64;
        for sent in 0..super::super::multipart::PARTS_MAX {
            let parts = Parts { sent, ..Parts::new(None) };
            total += parts.part_bytes() as u64;
        }
        assert!(total > 400_000_000_000, "{total}");
        assert_eq!(Parts::new(Some(5 << 20)).part_bytes(), 5 << 20);
    }
}
