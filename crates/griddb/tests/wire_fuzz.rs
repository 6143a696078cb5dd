//! Mutated statements and answers: no panic, and no memory beyond what was received.
#![allow(clippy::unwrap_used)]

mod allocated;
#[path = "../../aerospike/tests/fuzzer/mod.rs"]
mod fuzzer;
mod memory_node;
mod wire_corpus;

use allocated::allocated;
use fuzzer::{fuzz, is_full_run};
use griddb::client;
use griddb::session::{Session, Verdict};
use griddb::wire::{FrameHeader, Reader, ReplyBody, Statement, error_of, statement};
use memory_node::Node;

const BODY_BYTES_MAX: u32 = 1 << 16;

/// What a statement may take whatever its length: rows and schemas that are there.
const FIXED_BYTES: usize = 160 << 10;
/// What it may take for each of its bytes: a count of one byte stands for a column, a row, a container.
const TIMES_MAX: usize = 256;
/// What a reply of 32 MiB takes as it grows, the largest that there is.
const REPLY_TAKES_MAX: usize = 160 << 20;

fn prepared() -> (Node, wire_corpus::Containers) {
    let mut node = Node::new();
    let containers = wire_corpus::prepare(&mut node);
    node.forgets = true;
    (node, containers)
}

/// Fails if what was received does not justify what was taken.
fn check_taken(taken: usize, received: &[u8]) {
    let samples = received.windows(8).any(|word| word.eq_ignore_ascii_case(b"sampling"))
        || received.windows(4).any(|word| word == statement::QUERY_TIME_SERIES_SAMPLING.to_le_bytes());
    // Its rows are made up.
    let most = if samples { REPLY_TAKES_MAX } else { FIXED_BYTES + TIMES_MAX * received.len() };
    assert!(taken <= most, "{} bytes have taken {taken}", received.len());
}

/// The reply, and what it has taken.
fn serve_and_count(node: &mut Node, body: &[u8]) -> (Vec<u8>, usize) {
    let mut out = Vec::new();
    let Ok(statement) = Statement::read(body, false) else { return (out, 0) };
    let ((), taken) = allocated(|| node.serve(&statement, body, &mut out));
    (out, taken)
}

fn serve(node: &mut Node, body: &[u8]) -> Vec<u8> {
    let (reply, taken) = serve_and_count(node, body);
    check_taken(taken, body);
    reply
}

#[test]
fn statements_are_done_as_they_are() {
    let (mut node, containers) = prepared();
    let all = wire_corpus::statements(&containers);
    // The connection itself answers the others.
    for sent in all.iter().filter(|(number, _)| *number > statement::GET_PARTITION_ADDRESS) {
        let refused = error_of(&serve(&mut node, &wire_corpus::body(sent)), false);
        assert_eq!(refused, None, "statement {}", sent.0);
    }
}

#[test]
fn sessions_survive_mutated_connections() {
    let (mut node, containers) = prepared();
    let frames: Vec<_> = wire_corpus::statements(&containers).iter().map(|sent| wire_corpus::frame(&wire_corpus::body(sent))).collect();
    let logged_in = frames[..2].concat();
    fuzz("wire_fuzz sessions", &frames, |bytes, rng| {
        let all = if rng.below(8) == 0 { bytes.to_vec() } else { [&logged_in, bytes].concat() };
        let mut session = Session::new(([127, 0, 0, 1], 1).into(), BODY_BYTES_MAX);
        let (mut out, mut rest) = (Vec::new(), &all[..]);
        let ((), taken) = allocated(|| {
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(rest.len().min(1 + rng.below(500) as usize));
                rest = after;
                let verdict = session.receive(piece, &mut out, usize::MAX, &mut node);
                if verdict == Verdict::Close {
                    break;
                }
            }
        });
        check_taken(taken, &all);
        session.take_transactions().for_each(|open| drop(serve(&mut node, &open.abort_body())));
    });
    assert!(node.done > 1_000 || !is_full_run(), "{} done", node.done);
}

/// The header is right, so that every mutation reaches what reads the statement.
#[test]
fn statements_survive_mutated_bodies() {
    let (mut node, containers) = prepared();
    let bodies: Vec<_> = wire_corpus::statements(&containers).iter().map(wire_corpus::body).collect();
    fuzz("wire_fuzz statements", &bodies, |body, _| drop(serve(&mut node, body)));
    assert!(node.done > 1_000 || !is_full_run(), "{} done", node.done);
}

/// Short statements that would take gigabytes: they are refused before they have taken what the largest reply takes.
#[test]
fn what_is_said_once_and_meant_often_is_refused() {
    let (mut node, containers) = prepared();
    node.forgets = false;
    for ((number, arguments), expected) in wire_corpus::repeated(&mut node, &containers) {
        let (reply, taken) = serve_and_count(&mut node, &wire_corpus::body(&(number, arguments)));
        assert_eq!(error_of(&reply, false).map(|error| error.code), Some(expected), "statement {number}");
        assert!(taken < REPLY_TAKES_MAX, "statement {number} has taken {taken}");
    }
}

/// What this project's own clients read may come from another server.
#[test]
fn clients_survive_mutated_answers() {
    let (mut node, containers) = prepared();
    let bodies = wire_corpus::statements(&containers);
    let replies: Vec<_> = bodies.iter().map(|sent| serve(&mut node, &wire_corpus::body(sent))).filter(|reply| !reply.is_empty()).collect();
    let mut read = 0;
    fuzz("wire_fuzz answers", &replies, |reply, _| {
        let ((), taken) = allocated(|| read += read_answer(reply));
        check_taken(taken, reply);
    });
    assert!(read > 4_000 || !is_full_run(), "{read} read");
}

/// Reads a reply as every answer that it may be; how often it was one.
fn read_answer(reply: &[u8]) -> usize {
    let _ = error_of(reply, false);
    let Ok(Some(header)) = FrameHeader::read(reply, false, reply.len()) else { return 0 };
    let Some(body) = reply.get(header.bytes..) else { return 0 };
    let Ok(ReplyBody { outcome: Ok(reader), .. }) = ReplyBody::read(body) else { return 0 };
    let of = |read: fn(&mut Reader<'_>) -> bool| usize::from(read(&mut { reader }));
    of(|reader| client::read_connected(reader).is_ok())
        + of(|reader| client::read_master(reader).is_ok())
        + of(|reader| client::read_container(reader).is_ok())
        + of(|reader| client::read_names(reader).is_ok())
        + of(|reader| client::read_properties(reader).is_ok())
        + of(|reader| client::read_part(reader).is_ok())
        + of(|reader| client::read_aggregated_part(reader).is_ok())
        + of(|reader| client::read_row_count(reader).is_ok())
        + of(|reader| client::read_rows_head(reader).is_ok())
}

/// A reader that believes a count: what the fuzzer is there to find.
#[test]
fn the_fuzzer_finds_a_planted_bug() {
    let (_, containers) = prepared();
    let bodies: Vec<_> = wire_corpus::statements(&containers).iter().map(wire_corpus::body).collect();
    let believe = |body: &[u8]| {
        let Some(length) = body.get(54..58).and_then(|length| length.first_chunk()) else { return };
        let (_, taken) = allocated(|| Vec::<u8>::with_capacity(u32::from_le_bytes(*length) as usize & 0x7FF_FFFF));
        check_taken(taken, body);
    };
    assert!(std::panic::catch_unwind(|| fuzz("wire_fuzz planted_bug", &bodies, |body, _| believe(body))).is_err());
}
