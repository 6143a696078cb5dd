//! Pages there and back, and damaged ones.

#![allow(clippy::unwrap_used)]
use super::*;
use base::Rng;

type Owned = (Vec<u8>, Kind, u64, Vec<u8>);

fn random_rows(rng: &mut Rng) -> Vec<Owned> {
    let count = rng.below(200);
    let mut rows: Vec<Owned> = (0..count)
        .map(|number| {
            let mut row = vec![0; rng.below(80) as usize];
            if rng.below(2) == 0 {
                rng.fill(&mut row);
            }
            let purge_after_s = rng.next_u64() as i64 >> rng.below(64);
            let kind = match rng.below(4) {
                0 => Kind::Expiring { purge_after_s },
                1 => Kind::Tombstone { purge_after_s },
                _ => Kind::Live,
            };
            let mut key = (number * 1000 + rng.below(1000)).to_be_bytes()[4..].to_vec();
            key.extend(std::iter::repeat_n(b'k', rng.below(300) as usize));
            (key, kind, rng.next_u64() >> 8 >> rng.below(50), row)
        })
        .collect();
    rows.sort_by(|left, right| left.0.cmp(&right.0));
    rows
}

const COMPRESSIONS: [Compression; 3] = [Compression::Lz4, Compression::Zstd { level: 3 }, Compression::None];

fn payload(rows: &[Owned], compression: Compression) -> Vec<u8> {
    let mut builder = PageBuilder::new();
    builder.set_compression(compression);
    for (key, kind, sequence, row) in rows {
        builder.push(key, &Row { kind: *kind, sequence: Sequence(*sequence), bytes: row });
    }
    let mut out = Vec::new();
    builder.finish(7, b"the end", &mut out);
    assert_eq!(builder.raw_bytes(), 0);
    out
}

fn rows_of(decoded: &Decoded) -> Vec<Owned> {
    (0..decoded.len())
        .map(|number| {
            let row = decoded.row(number);
            (decoded.key(number).to_vec(), row.kind, row.sequence.0, row.bytes.to_vec())
        })
        .collect()
}

#[test]
fn what_is_written_is_read() {
    let mut rng = Rng::new(1);
    let (mut decoded, mut decoder) = (Decoded::default(), Decoder::default());
    let mut in_place = 0;
    for round in 0..300 {
        let rows = random_rows(&mut rng);
        let bytes = payload(&rows, COMPRESSIONS[round % COMPRESSIONS.len()]);
        let page = PageView::parse(&bytes).unwrap();
        let purgeable = rows.iter().filter(|row| row.1 != Kind::Live).count();
        assert_eq!((page.rows as usize, page.purgeable as usize), (rows.len(), purgeable));
        assert_eq!((page.generation, page.high), (7, &b"the end"[..]));
        decoded.read(&page, &mut decoder).unwrap();
        assert_eq!(rows_of(&decoded), rows);
        assert_eq!(page.in_place.is_some(), bytes[0] == CODEC_DIRECTORY);
        in_place += usize::from(page.in_place.is_some());
        for (number, (key, ..)) in rows.iter().enumerate() {
            assert_eq!(decoded.search(key), Ok(number));
            let mut after = key.clone();
            after.push(0);
            assert_eq!(decoded.search(&after), Err(number + 1));
            if let Some(in_place) = page.in_place {
                assert_eq!(in_place.find(key), Some(Some(decoded.row(number))));
                assert_eq!((in_place.find(&after), in_place.find(&key[..3])), (Some(None), Some(None)));
            }
        }
    }
    assert!(in_place >= 100, "{in_place} pages have a directory");
}

/// The rows between two keys that are found where they lie, and neighbours of theirs.
fn located_rows(decoded: &mut Decoded, in_place: &InPlace<'_>, (from, to): (Bound<&[u8]>, Bound<&[u8]>)) -> Option<Vec<Owned>> {
    let Some(columns) = decoded.locate(in_place, from, to) else {
        assert_eq!(decoded.len(), 0);
        return None;
    };
    let row = |number| {
        let (key, row) = (decoded.key_in(columns, number), decoded.row_in(columns, number));
        (key.to_vec(), row.kind, row.sequence.0, row.bytes.to_vec())
    };
    Some((0..decoded.len()).map(row).collect())
}

/// An end of a range of keys: one of the rows' keys or one beside it, included or not.
fn random_bound(rng: &mut Rng, rows: &[Owned]) -> Bound<Vec<u8>> {
    if rows.is_empty() || rng.below(8) == 0 {
        return Bound::Unbounded;
    }
    let mut key = rows[rng.below(rows.len() as u64) as usize].0.clone();
    match rng.below(4) {
        0 => key.push(0),
        1 => key.truncate(3),
        _ => {}
    }
    if rng.below(2) == 0 { Bound::Included(key) } else { Bound::Excluded(key) }
}

#[test]
fn a_part_of_a_page_has_all_rows_between_its_bounds() {
    let mut rng = Rng::new(3);
    let mut decoded = Decoded::default();
    let (mut parts, mut read, mut wanted) = (0, 0, 0);
    for _ in 0..200 {
        let rows = random_rows(&mut rng);
        let bytes = payload(&rows, Compression::None);
        let page = PageView::parse(&bytes).unwrap();
        for _ in 0..40 {
            let (from, to) = (random_bound(&mut rng, &rows), random_bound(&mut rng, &rows));
            let bounds = (from.as_ref().map(Vec::as_slice), to.as_ref().map(Vec::as_slice));
            let found = located_rows(&mut decoded, &page.in_place.expect("not compressed"), bounds).expect("a page");
            assert!(found.is_empty() || rows.windows(found.len()).any(|window| window == found), "neighbours as they are");
            let between = |row: &&Owned| std::ops::RangeBounds::contains(&bounds, row.0.as_slice());
            let expected: Vec<&Owned> = rows.iter().filter(between).collect();
            assert_eq!(found.iter().filter(between).collect::<Vec<_>>(), expected);
            (parts, read, wanted) = (parts + 1, read + found.len(), wanted + expected.len());
        }
    }
    assert!(parts > 2_000 && read < wanted + parts * 2 * 16, "{parts} parts of {read} rows for {wanted}");
}

#[test]
fn a_regular_series_shrinks_to_a_fraction() {
    let rows: Vec<Owned> = (0..128u64).map(|number| (number.to_be_bytes().to_vec(), Kind::Live, 500 + number, vec![7; 40])).collect();
    let [lz4, zstd, none] = COMPRESSIONS.map(|compression| payload(&rows, compression).len());
    assert!(lz4 < 128 * 10 && zstd < lz4 && none > 128 * 48, "{lz4}, {zstd} and {none} bytes for 128 rows of 48");
}

#[test]
fn any_bytes_are_rows_or_an_error() {
    let mut rng = Rng::new(2);
    let (mut decoded, mut decoder) = (Decoded::default(), Decoder::default());
    let mut pages = [0; COMPRESSIONS.len()];
    let mut refused = pages;
    for round in 0..30_000 {
        // Without compression more of what is wrong gets past the decompressor.
        let codec = round % COMPRESSIONS.len();
        let mut bytes = payload(&random_rows(&mut rng), COMPRESSIONS[codec]);
        for _ in 0..1 + rng.below(4) {
            let at = rng.below(bytes.len() as u64) as usize;
            match rng.below(4) {
                0 => bytes[at] ^= 1 << rng.below(8),
                1 => bytes[at] = [0, 0x7F, 0x80, 0xFF][rng.below(4) as usize],
                2 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, rng.next_u64() as u8),
            }
        }
        let Some(page) = PageView::parse(&bytes) else {
            refused[codec] += 1;
            continue;
        };
        if let Some(in_place) = page.in_place {
            let key = rng.below(200_000).to_be_bytes();
            let found = in_place.find(&key[4..]);
            assert!(found.flatten().is_none_or(|row| row.bytes.len() <= page.raw_bytes()));
            let after = rng.below(200_000).to_be_bytes();
            let bounds = (Bound::Included(&key[4..]), Bound::Excluded(&after[4..]));
            assert!(located_rows(&mut decoded, &in_place, bounds).is_none_or(|rows| rows.len() <= page.rows as usize));
        }
        match decoded.read(&page, &mut decoder) {
            Some(()) => {
                pages[codec] += 1;
                assert_eq!(rows_of(&decoded).len(), page.rows as usize);
            }
            None => {
                refused[codec] += 1;
                assert_eq!(decoded.len(), 0);
            }
        }
        assert!(decoded.heap_bytes() <= 2 * RAW_BYTES_MAX * (1 + size_of::<Entry>() / META_BYTES_MIN));
    }
    assert!(pages.iter().chain(&refused).all(|count| *count > 500), "{pages:?} pages, {refused:?} refused");
}
