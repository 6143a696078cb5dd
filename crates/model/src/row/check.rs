//! Whether bytes that came from another member are a row, so that reading it cannot fail.

use super::{
    CELL_HEADER_BYTES, COMPLEX, COMPLEX_HEADER_BYTES, DELETION, ELEMENT_HEADER_BYTES, EXPIRING, LIVENESS, OWN_EXPIRY, OWN_TIMESTAMP,
    ROW_HEADER_BYTES, TOMBSTONE,
};

/// Bytes not looked at yet.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(length)?;
        self.0 = tail;
        Some(head)
    }

    /// What flags say comes before the content of a cell or an element.
    fn skip_stamp(&mut self, flags: u8) -> Option<()> {
        let of = |flag: u8, bytes: usize| if flags & flag == 0 { 0 } else { bytes };
        self.take(of(OWN_TIMESTAMP, 8) + of(OWN_EXPIRY, 8) + of(TOMBSTONE, 4)).map(|_| ())
    }
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize
}

/// Whether the lengths in a row fit its bytes, all flags are known, and cells and elements are in order.
#[must_use]
pub fn is_well_formed(row: &[u8]) -> bool {
    check(row).is_some()
}

fn check(row: &[u8]) -> Option<()> {
    let mut rest = Rest(row);
    let header = rest.take(ROW_HEADER_BYTES)?;
    let (flags, count) = (header[0], u16::from_le_bytes([header[2], header[3]]));
    let of = |flag: u8, bytes: usize| if flags & flag == 0 { 0 } else { bytes };
    if flags & !(LIVENESS | DELETION | EXPIRING) != 0 || header[1] != 0 {
        return None;
    }
    rest.take(of(EXPIRING, 8) + of(DELETION, 12))?;
    let mut last = None;
    for _ in 0..count {
        let header = rest.take(CELL_HEADER_BYTES)?;
        let (column, flags, length) = (u16::from_le_bytes([header[0], header[1]]), header[2], u32_at(header, 3));
        let is_known =
            flags & !(OWN_TIMESTAMP | OWN_EXPIRY | TOMBSTONE | COMPLEX) == 0 && flags & (TOMBSTONE | COMPLEX) != TOMBSTONE | COMPLEX;
        if !is_known || last.is_some_and(|last| last >= column) || (flags & TOMBSTONE != 0 && length != 0) {
            return None;
        }
        last = Some(column);
        rest.skip_stamp(flags)?;
        let value = rest.take(length)?;
        if flags & COMPLEX != 0 {
            check_complex(value)?;
        }
    }
    rest.0.is_empty().then_some(())
}

fn check_complex(value: &[u8]) -> Option<()> {
    let mut rest = Rest(value);
    let count = u32_at(rest.take(COMPLEX_HEADER_BYTES)?, 12);
    // Each takes bytes, so more than there are end the loop early.
    for _ in 0..count {
        let header = rest.take(ELEMENT_HEADER_BYTES)?;
        let (flags, path, length) = (header[0], u32_at(header, 1), u32_at(header, 5));
        if flags & !(OWN_TIMESTAMP | OWN_EXPIRY | TOMBSTONE) != 0 {
            return None;
        }
        rest.skip_stamp(flags)?;
        rest.take(path)?;
        rest.take(length)?;
    }
    rest.0.is_empty().then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ColumnId;
    use crate::row::{Content, Deletion, RowView, RowWriter, Stamp};
    use base::Rng;

    fn sample() -> Vec<u8> {
        let mut row = Vec::new();
        let shared = Stamp { timestamp: 5, ttl_s: 7, expires_at_s: 9 };
        let deletion = Deletion { timestamp: 1, deleted_at_s: 2 };
        let mut writer = RowWriter::new(&mut row, shared, true, Some(deletion));
        writer.value(ColumnId(1), shared, b"value");
        writer.value(ColumnId(2), Stamp::at(3), b"");
        writer.tombstone(ColumnId(3), 4, 5);
        let mut complex = writer.complex(ColumnId(4), Some(deletion));
        complex.value(b"a", shared, b"one");
        complex.tombstone(b"b", 8, 9);
        complex.value(b"c", Stamp { timestamp: 1, ttl_s: 2, expires_at_s: 3 }, b"");
        complex.finish();
        writer.finish();
        row
    }

    /// Reads all there is; panics if it is no row.
    fn read(row: &[u8]) -> usize {
        let cells = RowView::new(row).cells();
        cells.map(|cell| if let Content::Complex(complex) = cell.content { complex.elements().count() } else { 1 }).sum()
    }

    #[test]
    fn what_a_writer_makes_is_well_formed_and_no_part_of_it_is() {
        let row = sample();
        assert!(is_well_formed(&row));
        assert_eq!(read(&row), 6);
        for cut in 0..row.len() {
            assert!(!is_well_formed(&row[..cut]), "cut at {cut}");
        }
        assert!(!is_well_formed(&[&row[..], &[0]].concat()));
    }

    #[test]
    fn what_is_well_formed_can_be_read_whatever_it_is() {
        let (row, mut rng, mut formed) = (sample(), Rng::new(1), 0);
        for _ in 0..50_000 {
            let mut row = row.clone();
            for _ in 0..=rng.below(3) {
                let at = rng.below(row.len() as u64) as usize;
                row[at] = if rng.below(2) == 0 { rng.below(256) as u8 } else { row[at] ^ (1 << rng.below(8)) };
            }
            if is_well_formed(&row) {
                formed += 1;
                read(&row);
            }
        }
        assert!((5_000..45_000).contains(&formed), "{formed}");
    }
}
