//! Operations on what is inside lists and maps.

use super::{bin, changes, reads, refusals, run};
use crate::ResultCode;
use crate::operate::{Change, apply, code};
use crate::value::msgpack::notation::bytes;
use crate::value::{Particle, ParticleType};

#[test]
fn reads_follow_the_path() {
    reads(
        "{\"first\": {\"greet\": \"hi\", \"numbers\": [3, 1, 2]}, \"second\": [[1, 2], [0, 5], []]}",
        &[
            ("[255, [34, \"first\"], [97, 7, \"greet\"]]", "\"hi\""),
            ("[255, [32, 0], [96]]", "2"),
            ("[255, [34, \"first\", 34, \"numbers\"], [21, 7, 0]]", "1"),
            ("[255, [32, -1], [16]]", "3"),
            ("[255, [34, \"second\", 17, -1], [17, 0]]", "1"),
            ("[255, [34, \"second\", 19, [0, 5]], [17, 1]]", "5"),
            ("[255, [35, [[1, 2], [0, 5], []], 16, 0], [18, 0]]", "[1, 2]"),
            ("[255, [33, 0, 16, 0], [16]]", "2"),
            // A step that may make its place: nothing is made by a read.
            ("[255, [98, \"third\"], [96]]", "-"),
        ],
    );
    reads("-", &[("[255, [16, 0], [16]]", "-"), ("[16]", "-"), ("[96]", "-")]);
}

#[test]
fn changes_follow_the_path() {
    changes(&[
        ("[[7, 9, 5], [1, 2, 3], [6, 5, 4, 1]]", "[255, [16, -1], [1, 11]]", "[[7, 9, 5], [1, 2, 3], [6, 5, 4, 1, 11]]", "5"),
        (
            "{\"key1\": [[7, 9, 5], [13]], \"key2\": [[9], [2, 4], [6, 1, 9]]}",
            "[255, [34, \"key2\", 17, 0], [1, 11]]",
            "{\"key1\": [[7, 9, 5], [13]], \"key2\": [[9], [2, 4, 11], [6, 1, 9]]}",
            "3",
        ),
        (
            "{\"key1\": {\"key11\": {\"key111\": 1}, \"key12\": {\"key121\": 5}}}",
            "[255, [34, \"key1\", 33, -1], [67, \"key121\", 11, 0]]",
            "{\"key1\": {\"key11\": {\"key111\": 1}, \"key12\": {\"key121\": 11}}}",
            "1",
        ),
        ("[\"a\", [\"numbers\", [1, 2, 3]]]", "[255, [16, 1, 19, [1, 2, 3]], [5, -1]]", "[\"a\", [\"numbers\", [1, 2]]]", "3"),
        // An ordered list takes what changed to its new place.
        ("<[[1], [2], [3]]", "[255, [16, 0], [9, 0, 9]]", "<[[2], [3], [9]]", "-"),
        ("[{2000: 1, 1000: 2}]", "[255, [16, -1], [64, 1]]", "[<{1000: 2, 2000: 1}]", "-"),
    ]);
}

#[test]
fn steps_make_what_is_missing() {
    changes(&[
        // On a bin that is missing.
        ("-", "[255, [80, 0], [0, 0]]", "[[]]", "-"),
        ("-", "[255, [208, 3], [0, 0]]", "<[[]]", "-"),
        ("-", "[255, [144, 3], [1, 1, 1, 0]]", "[null, null, null, <[1]]", "1"),
        ("-", "[255, [144, 2, 144, 1], [1, 1]]", "[null, null, [null, [1]]]", "1"),
        ("-", "[255, [98, \"a\", 162, \"b\"], [67, \"k\", 11, 0]]", "{\"a\": <{\"b\": {\"k\": 11}}}", "1"),
        ("-", "[255, [226, \"9\"], [1, 700]]", "<<{\"9\": [700]}", "1"),
        // In what is there: the order is that of the container, whatever the step says.
        ("<[[1, 2, 3], [6, 5, 4, 1], [7, 9, 5]]", "[255, [208, 3], [1, 2]]", "<[[1, 2, 3], [2], [6, 5, 4, 1], [7, 9, 5]]", "1"),
        ("[null, <[1]]", "[255, [144, 1, 144, 3], [1, 2]]", "[null, <[1, [2]]]", "1"),
        ("[[1], [2]]", "[255, [80, 2], [1, 3]]", "[[1], [2], [3]]", "1"),
        ("{\"key1\": {}}", "[255, [162, \"key3\"], [64, 1]]", "{\"key1\": {}, \"key3\": <{}}", "-"),
        ("{\"key3\": <{}}", "[255, [34, \"key3\"], [67, \"key31\", 99, 0]]", "{\"key3\": <{\"key31\": 99}}", "1"),
        // What removes makes nothing.
        ("-", "[255, [208, 3], [11]]", "-", "-"),
        ("<[[], [1]]", "[255, [208, 4, 80, 0, 80, 0], [11]]", "<[[], [1]]", "-"),
        ("<[[], [1]]", "[255, [208, 4, 80, 0, 80, 0], [0, 1]]", "<[[], [1], [[<[]]]]", "-"),
    ]);
    refusals(&[
        ("-", "[255, [16, 0], [1, 1]]", ResultCode::OP_NOT_APPLICABLE),
        ("-", "[255, [98, \"a\", 34, \"b\"], [67, 1, 1, 0]]", ResultCode::OP_NOT_APPLICABLE),
        ("[[1]]", "[255, [80, 2], [1, 1]]", ResultCode::OP_NOT_APPLICABLE),
        ("[[1]]", "[255, [208, 10], [1, 1]]", ResultCode::OP_NOT_APPLICABLE),
        ("[[1]]", "[255, [144, 9000000], [1, 1]]", ResultCode::RECORD_TOO_BIG),
        ("[[1]]", "[255, [81, 2], [1, 1]]", ResultCode::PARAMETER),
        ("{}", "[255, [98, null], [1, 1]]", ResultCode::PARAMETER),
    ]);
}

#[test]
fn a_path_that_leads_nowhere_is_refused() {
    refusals(&[
        ("[[1], 2]", "[255, [16, 2], [1, 1]]", ResultCode::OP_NOT_APPLICABLE),
        ("[[1], 2]", "[255, [16, 4], [16]]", ResultCode::OP_NOT_APPLICABLE),
        ("[[1], 2]", "[255, [19, [9]], [16]]", ResultCode::OP_NOT_APPLICABLE),
        ("[[1], 2]", "[255, [16, 1], [16]]", ResultCode::BIN_TYPE),
        ("[[1], 2]", "[255, [16, 1], [1, 1]]", ResultCode::BIN_TYPE),
        ("[[1], 2]", "[255, [16, 1, 16, 0], [16]]", ResultCode::OP_NOT_APPLICABLE),
        ("[[1], 2]", "[255, [34, 1], [16]]", ResultCode::OP_NOT_APPLICABLE),
        ("{1: [1]}", "[255, [34, 2], [16]]", ResultCode::OP_NOT_APPLICABLE),
        ("{1: [1]}", "[255, [32, 3], [75]]", ResultCode::OP_NOT_APPLICABLE),
        ("{1: [1]}", "[255, [35, [2]], [75]]", ResultCode::OP_NOT_APPLICABLE),
        ("[[1]]", "[255, [], [16]]", ResultCode::PARAMETER),
        ("[[1]]", "[255, [16], [16]]", ResultCode::PARAMETER),
        ("[[1]]", "[255, [16, \"a\"], [16]]", ResultCode::PARAMETER),
        ("[[1]]", "[255, [1, 0], [16]]", ResultCode::PARAMETER),
        ("[[1]]", "[255, [4, 0], [16]]", ResultCode::PARAMETER),
        ("[[1]]", "[255, [18, 0], [16]]", ResultCode::UNSUPPORTED_FEATURE),
        ("[[1]]", "[255]", ResultCode::UNSUPPORTED_FEATURE),
    ]);
}

#[test]
fn values_are_stored_no_deeper_than_they_can_be_read() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(run("[[]]", &format!("[255, [16, 0], [1, {}]]", deep(126))).is_ok());
    assert_eq!(run("[[]]", &format!("[255, [16, 0], [1, {}]]", deep(127))).err(), Some(ResultCode::PARAMETER));
}

#[test]
fn old_clients_write_the_code_in_two_bytes() {
    let cases: [(&[u8], &str); 3] = [(&[0, 16], "3"), (&[0, 17, 0x91, 1], "2"), (&[0, 18, 0x92, 1, 5], "[2, 3]")];
    let list = bin("[1, 2, 3]");
    for (operand, expected) in cases {
        let effect = apply(code::CDT_READ, list.as_ref(), &Particle::new(ParticleType::Blob, operand)).expect("a read");
        assert_eq!(super::show(effect.result.as_ref()), expected);
    }
    let append = apply(code::CDT_MODIFY, None, &Particle::new(ParticleType::Blob, &[0, 1, 0x91, 7])).expect("a change");
    assert_eq!(append.bin, Change::Set(Particle::owned(ParticleType::List, bytes("[7]"))));
}

#[test]
fn reads_and_changes_are_told_apart() {
    let list = bin("[1]");
    let operand = |notation| Particle::owned(ParticleType::Blob, bytes(notation));
    assert_eq!(apply(code::CDT_READ, list.as_ref(), &operand("[11]")), Err(ResultCode::PARAMETER));
    assert_eq!(apply(code::CDT_MODIFY, list.as_ref(), &operand("[16]")), Err(ResultCode::PARAMETER));
    assert_eq!(apply(code::CDT_READ, None, &operand("[11]")), Err(ResultCode::PARAMETER));
    let integer = Particle::new(ParticleType::Integer, &[0; 8]);
    assert_eq!(apply(code::CDT_READ, Some(&integer), &operand("[16]")), Err(ResultCode::BIN_TYPE));
    assert_eq!(apply(code::CDT_READ, Some(&integer), &operand("[255, [16, 0], [16]]")), Err(ResultCode::BIN_TYPE));
}
