#![allow(clippy::unwrap_used)]

use super::*;
use crate::wire::{ReplyBody, put_i32, put_i64};

const CONTAINER: i64 = 77;
const MALFORMED: i32 = 10_038;
const INVALID: i32 = 60_132;

fn resume(more: usize) -> Vec<u8> {
    [&CONTAINER.to_le_bytes()[..], &vec![9; more]].concat()
}

fn header(number: i32) -> ReplyHeader {
    ReplyHeader { statement: number, id: 5, is_ipv6: false, is_repeatable: true }
}

/// The results of a query of `total` rows, the first of which are given.
fn results(given: i64, total: i64, resume: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut put = |kind: u8, bytes: &[u8]| {
        out.push(kind);
        put_i32(&mut out, bytes.len() as i32);
        out.extend_from_slice(bytes);
    };
    put(0, &[&given.to_le_bytes()[..], b"rows"].concat());
    if total > given {
        put(3, &[total.to_le_bytes(), [0; 8]].concat());
        put(RESUME, resume);
    }
    let count: u32 = if total > given { 3 } else { 1 };
    [&count.to_le_bytes()[..], &out].concat()
}

fn followed(row_sets: &mut RowSets, number: i32, results: &[u8]) -> Result<Vec<u8>, i32> {
    let mut out = b"earlier".to_vec();
    let reply = header(number).begin(Status::Success, &mut out);
    out.extend_from_slice(results);
    reply.end(&mut out);
    row_sets.follow(7, false, &mut out);
    let frame = FrameHeader::read(&out[7..], false, out.len()).unwrap().unwrap();
    assert_eq!(7 + frame.bytes + frame.body_bytes, out.len(), "the length is that of the reply");
    let body = ReplyBody::read(&out[7 + frame.bytes..]).unwrap();
    assert_eq!(body.id, 5);
    body.outcome.map(|reader| reader.rest().to_vec()).map_err(|(_, error)| error.code.0)
}

fn part(is_over: bool, rows: i64, resume: &[u8]) -> Vec<u8> {
    let mut out = vec![u8::from(is_over)];
    put_i64(&mut out, 0);
    put_i64(&mut out, rows);
    out.extend_from_slice(b"rows");
    if !is_over {
        out.extend_from_slice(resume);
        put_i32(&mut out, resume.len() as i32);
    }
    out
}

/// The body of FETCH_ROW_SET, and what comes of it.
fn fetch(row_sets: &mut RowSets, container: i64, id: i64, position: i64) -> Result<Vec<u8>, i32> {
    let mut frame = Vec::new();
    header(statement::FETCH_ROW_SET).write_request(3, &mut frame, |out| {
        put_i64(out, container);
        out.extend_from_slice(&[0; 8 + 16 + 4 + 2]);
        put_i32(out, 0);
        [id, position, 10].iter().for_each(|number| put_i64(out, *number));
        // What no client sends.
        out.extend_from_slice(b"forged");
    });
    let body = &frame[20..];
    let made = row_sets.fetch(&Statement::read(body, false).unwrap(), body).map_err(|error| error.code.0)?;
    let sent = body.len() - b"forged".len();
    assert_eq!(made[..sent], body[..sent]);
    Ok(made[sent..].to_vec())
}

fn close(row_sets: &mut RowSets, id: i64) {
    let arguments = [&CONTAINER.to_le_bytes()[..], &[0; 4], &id.to_le_bytes()].concat();
    row_sets.close(Reader::new(&arguments)).unwrap();
}

/// What the client gets of such a query.
fn shown(given: i64, total: i64, id: i64) -> Vec<u8> {
    let mut shown = results(given, total, &[]);
    shown.truncate(shown.len() - RESULT_HEAD_BYTES);
    shown[0] = 2;
    let at = shown.len() - 8;
    shown[at..].copy_from_slice(&id.to_le_bytes());
    shown
}

#[test]
fn a_row_set_goes_on_where_it_is() {
    let mut row_sets = RowSets::default();
    let whole = results(5, 5, &[]);
    assert_eq!(followed(&mut row_sets, statement::QUERY_TQL, &whole), Ok(whole.clone()), "all rows at once");
    assert_eq!(row_sets.bytes(), 0);
    assert_eq!(followed(&mut row_sets, statement::QUERY_TQL, &results(5, 25, &resume(3))), Ok(shown(5, 25, 1)));
    assert_eq!(fetch(&mut row_sets, CONTAINER, 1, 5), Ok(resume(3)));
    assert_eq!(fetch(&mut row_sets, CONTAINER, 1, 5), Ok(resume(3)), "again, as the first one failed");
    assert_eq!(followed(&mut row_sets, statement::FETCH_ROW_SET, &part(false, 10, &resume(4))), Ok(part(false, 10, &[])[..21].to_vec()));
    assert_eq!(fetch(&mut row_sets, CONTAINER, 1, 15), Ok(resume(4)));
    assert_eq!(followed(&mut row_sets, statement::FETCH_ROW_SET, &part(true, 10, &[])), Ok(part(true, 10, &[])));
    assert_eq!((fetch(&mut row_sets, CONTAINER, 1, 25), row_sets.bytes()), (Err(INVALID), 0), "it is over");
}

#[test]
fn wrong_numbers_are_refused() {
    let mut row_sets = RowSets::default();
    followed(&mut row_sets, statement::QUERY_TIME_SERIES_RANGE, &results(5, 25, &resume(3))).unwrap();
    for (container, id, position) in
        [(CONTAINER, 2, 5), (CONTAINER, 0, 5), (CONTAINER, -1, 5), (CONTAINER + 1, 1, 5), (CONTAINER, 1, 6), (CONTAINER, 1, -5)]
    {
        assert_eq!(fetch(&mut row_sets, container, id, position), Err(INVALID), "{container} {id} {position}");
    }
    assert!(fetch(&mut row_sets, CONTAINER, 1, 5).is_ok());
    close(&mut row_sets, 2);
    close(&mut row_sets, 1);
    close(&mut row_sets, 1);
    assert_eq!((fetch(&mut row_sets, CONTAINER, 1, 5), row_sets.bytes()), (Err(INVALID), 0));
    assert_eq!(row_sets.close(Reader::new(&[0; 12])).map_err(|error| error.code.0), Err(MALFORMED));
    followed(&mut row_sets, statement::QUERY_TQL, &results(5, 25, &resume(3))).unwrap();
    row_sets.clear();
    assert_eq!((fetch(&mut row_sets, CONTAINER, 2, 5), row_sets.bytes()), (Err(INVALID), 0), "of who has logged out");
}

#[test]
fn several_queries_have_a_row_set_each() {
    let mut row_sets = RowSets::default();
    let sized = |results: Vec<u8>| [&(results.len() as i64).to_le_bytes()[..], &results].concat();
    let sent = [
        &4_i32.to_le_bytes()[..],
        &sized(results(5, 25, &resume(3))),
        &sized(results(1, 1, &[])),
        &sized(results(0, 7, &resume(9))),
        &sized(vec![0; 4]),
    ]
    .concat();
    let expected =
        [&4_i32.to_le_bytes()[..], &sized(shown(5, 25, 1)), &sized(results(1, 1, &[])), &sized(shown(0, 7, 2)), &sized(vec![0; 4])]
            .concat();
    assert_eq!(followed(&mut row_sets, statement::EXECUTE_MULTIPLE_QUERIES, &sent), Ok(expected));
    assert_eq!((fetch(&mut row_sets, CONTAINER, 1, 5), fetch(&mut row_sets, CONTAINER, 2, 0)), (Ok(resume(3)), Ok(resume(9))));
}

#[test]
fn open_row_sets_are_bounded() {
    let mut row_sets = RowSets::default();
    for _ in 0..OPEN_MAX {
        followed(&mut row_sets, statement::QUERY_TQL, &results(5, 25, &resume(3))).unwrap();
    }
    let bytes = row_sets.bytes();
    assert_eq!(followed(&mut row_sets, statement::QUERY_TQL, &results(5, 25, &resume(3))), Err(1_008));
    assert_eq!(row_sets.bytes(), bytes);
    close(&mut row_sets, 7);
    // The first of two has room, and is forgotten with the second.
    let sized = |results: Vec<u8>| [&(results.len() as i64).to_le_bytes()[..], &results].concat();
    let two = [&2_i32.to_le_bytes()[..], &sized(results(5, 25, &resume(3))), &sized(results(5, 25, &resume(3)))].concat();
    assert_eq!(followed(&mut row_sets, statement::EXECUTE_MULTIPLE_QUERIES, &two), Err(1_008));
    assert!(row_sets.bytes() < bytes);
    assert!(followed(&mut row_sets, statement::QUERY_TQL, &results(5, 25, &resume(3))).is_ok());
    row_sets.clear();
    assert_eq!(followed(&mut row_sets, statement::QUERY_TQL, &results(5, 25, &resume(BYTES_MAX))), Err(1_008));
    assert_eq!(row_sets.bytes(), 0);
}

#[test]
fn refusals_pass() {
    let mut row_sets = RowSets::default();
    followed(&mut row_sets, statement::QUERY_TQL, &results(5, 25, &resume(3))).unwrap();
    fetch(&mut row_sets, CONTAINER, 1, 5).unwrap();
    let mut out = Vec::new();
    header(statement::FETCH_ROW_SET).write_error(Status::StatementError, &GridError::malformed("anything"), &mut out);
    let before = out.clone();
    row_sets.follow(0, false, &mut out);
    assert_eq!(out, before);
    assert!(fetch(&mut row_sets, CONTAINER, 1, 5).is_ok(), "the part may be asked for again");
}
